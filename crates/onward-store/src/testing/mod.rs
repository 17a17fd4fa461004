//! For tests only, behind the feature `testing`: the contract as a suite, and a store in memory that is stricter than the real
//! ones.

pub mod conformance;
mod memory;

pub use memory::MemoryStore;
