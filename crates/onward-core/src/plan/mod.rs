//! Plans: what the author wrote, turned into [`Plan`] or into diagnostics.
//!
//! The way is `parse`: text → tree, checked against the tables in `keys` (both in [`crate::document`]) → `short_forms` written
//! out → `read` into the `model` → `meaning`. A plan in Markdown ([`crate::markdown`]) becomes a [`Plan`] in `from_markdown`.

mod block_checks;
mod concurrency;
mod digest;
pub mod expand;
mod freshness;
mod from_markdown;
pub mod globs;
pub mod graph;
pub mod inputs;
mod keys;
mod lint;
mod listed_phases;
mod model;
mod names;
mod no_effect;
mod parse;
mod parts;
mod plan_checks;
mod read;
mod references;
mod reported_only;
mod short_forms;

pub use crate::document::tree::{DEPTH_MAX, EXPANDED_BYTES_MAX, NODES_MAX, TEXT_BYTES_MAX};
pub use digest::{definition_digest, digest, digest_of_all, phase_digest};
pub use freshness::{Freshness, GitFreshness, IfAhead, IfChanged, Issue, IssueSync, Probe, ProbeOf};
pub use from_markdown::parse_markdown;
pub(crate) use keys::keys_in_short;
pub use keys::{json_schema, reference_page};
pub use model::*;
pub use names::{phase_meant, shown_names, shown_title, with_shown_names};
pub use parse::{Parsed, PhaseOutline, parse};
pub use parts::*;
pub use reported_only::reported_only;
