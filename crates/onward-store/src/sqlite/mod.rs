//! The store of one machine: a `SQLite` database in the project's `.onward` folder.

mod append;
mod backfill;
mod checkpoints;
mod copy;
mod fault;
mod health;
mod inbox;
mod journal;
mod leases;
mod open;
mod prune;
mod runs;
mod schema;
mod store;
mod values;
mod verify;
mod write;

pub use store::{OpenMode, SqliteStore};
