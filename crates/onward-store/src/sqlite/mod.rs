//! The store of one machine: a `SQLite` database in the project's `.onward` folder.

mod append;
mod backfill;
mod checkpoints;
mod contents;
mod copy;
mod fault;
mod folds;
mod health;
mod inbox;
mod into_chains;
mod journal;
mod keyframes;
mod leases;
mod open;
mod prune;
mod runs;
mod schema;
mod store;
mod sweep;
mod values;
mod verify;
mod write;

pub use store::{OpenMode, SqliteStore};
