//! Configuration: what files set, laid over each other and over the defaults, each value with its origin.
//!
//! The way is `read`: text → tree → check against the tables in `keys` → a [`Layer`]; then `merge`. Every key stands in
//! `keys`, what it is worth where nobody sets it in `defaults`, and in `support` if nothing acts on it yet.

mod defaults;
mod keys;
mod merge;
mod read;
mod schema;
mod support;

pub use defaults::DEFAULT_FILE;
pub use merge::{Config, ConfigValue, OnNetwork, merge};
pub use read::{Layer, ParsedConfig, Setting, parse};
pub use schema::schema;
