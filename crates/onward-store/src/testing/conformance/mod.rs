//! The contract of [`Store`](crate::Store) as clauses that every backend and every wrapper around one must pass.
//!
//! Each clause is a function named after what it demands and gets a fresh, empty store. [`run`] tries them all.
//! [`sequence`] plays the same random calls on two stores and compares every answer.

mod chains;
mod folds;
mod inbox;
mod journal;
mod kit;
mod leases;
mod lists;
mod prune;
pub mod sequence;
mod suite;

pub use suite::{Clause, Fixture, clauses, run};
