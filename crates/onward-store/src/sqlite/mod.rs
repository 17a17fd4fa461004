//! The store of one machine: a `SQLite` database in the project's `.onward` folder.

mod append;
mod backfill;
mod backup;
mod checkpoints;
mod contents;
mod copy;
mod durations;
mod fault;
mod flush;
mod folds;
mod health;
mod inbox;
mod inspect;
mod into_chains;
mod journal;
mod keyframes;
mod leases;
mod open;
mod place;
mod prune;
mod runs;
mod salvage;
mod schema;
mod store;
mod sweep;
mod values;
mod verify;
mod write;

pub use salvage::{Journal, Letter, Naming, OldCheckpoint, OldRun, Salvage};
pub(crate) use store::SqliteStore;
