//! A store in memory, for tests.
//!
//! It is stricter than the real ones: what they would let pass, though no caller should do it, panics here. Clones are
//! further handles to the same store and behave as other processes do.

mod pieces;
mod shared;
mod store;

pub use store::MemoryStore;
