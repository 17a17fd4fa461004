//! A new database from what can still be read of a damaged one.
//!
//! The caller reads the old runs one by one and writes what is left of them into a new store, as any caller writes;
//! what its bytes mean only it knows. The old files are copied aside first, with every byte. The new store is read from
//! end to end before one rename puts it in the place of the old one, so a kill at any moment leaves the one or the
//! other.

mod closed;
mod log;
mod rebuild;
mod remains;
mod swap;
mod transplant;
mod wreck;

pub use rebuild::Salvage;
pub use remains::{Journal, Letter, Naming, OldCheckpoint, OldRun};
