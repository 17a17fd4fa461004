//! Looking at the world before a run goes on: files, git, and what the commands of the stored plan say.
//!
//! Only `run` and `resume` come here. Whoever merely looks is shown what was found the last time, and what git says now.

mod answer;
mod artifact;
pub(crate) mod artifact_copies;
pub(crate) mod background_probe;
pub(crate) mod command;
mod declared_artifact;
mod files;
mod git;
pub(crate) mod issue;
mod issue_provider;
pub(crate) mod phase;
pub(crate) mod probe_lock;
pub(crate) mod requirement;
mod surroundings;
pub(crate) mod surroundings_at_end;
pub(crate) mod verification;

pub(crate) use files::text;
pub(crate) use git::world_seen as git_seen;
pub(crate) use surroundings::{changed_since_interrupted, finished, world};
