//! Configuration: what files set, laid over each other and over the defaults, each value with its origin.
//!
//! The way is `read`: text → tree → check against the tables in `keys` → a [`Layer`]; then `merge`.

mod defaults;
mod keys;
mod merge;
mod read;

pub use defaults::DEFAULT_FILE;
pub use keys::{json_schema, reference_page};
pub use merge::{Compression, Config, ConfigValue, OnNetwork, merge};
pub(crate) use read::as_written;
pub use read::{Layer, ParsedConfig, Setting, parse};
