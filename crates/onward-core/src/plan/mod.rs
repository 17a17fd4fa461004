//! Plans: what the author wrote, turned into [`Plan`] or into diagnostics.
//!
//! The way is `parse`: text → `tree` (from `yaml` or `json`) → `check` against the tables in `keys` → `read` into the `model`
//! → `meaning`. What a plan may say but nobody acts on yet stands in `support`.

pub(crate) mod check;
pub(crate) mod check_scalar;
mod digest;
pub mod expand;
mod freshness;
pub mod glob_match;
pub mod globs;
pub mod graph;
pub mod inputs;
mod json;
mod keys;
mod lint;
mod meaning;
mod meaning_parts;
mod model;
mod no_effect;
mod parse;
mod parts;
mod read;
mod read_parts;
mod references;
mod schema;
pub(crate) mod shape;
mod suggest;
mod support;
pub(crate) mod tree;
pub mod units;
pub(crate) mod yaml;

pub use digest::{definition_digest, digest, digest_of_all, phase_digest};
pub use freshness::{Freshness, GitFreshness, IfChanged, Issue, Probe, ProbeOf};
pub use model::*;
pub use parse::{Parsed, PhaseOutline, parse};
pub use parts::*;
pub use schema::schema;
pub use tree::{DEPTH_MAX, EXPANDED_BYTES_MAX, NODES_MAX, TEXT_BYTES_MAX};
