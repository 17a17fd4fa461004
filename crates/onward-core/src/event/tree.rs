//! The part of the facts that is about the working tree: snapshots, commits along the way, rewinds.

use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ArtifactSeen, PhaseError, RunResult};
use crate::checkpoint::Sections;
use crate::id::{CheckpointId, Generation, PhaseId};
use crate::patch::Op;
use crate::run::{AdoptedPhase, PhaseStatus};

/// A commit of the working tree under `refs/onward/RUN/NUMBER`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SnapshotRef {
    pub commit: String,
    pub number: u64,
    /// Files of the working tree that are not in the snapshot, each with the reason.
    pub left_out: Vec<String>,
    /// The commit that was checked out.
    pub head: Option<String>,
}

/// Why a commit that was due was not made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum NoCommit {
    NothingChanged {
        /// Changed files that were left out of the commit, each with the reason.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        left_out: Vec<String>,
    },
    /// It may be possible later: with the next phase that is completed, or by the next driver.
    NotNow { reason: String },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RewindBegun {
    pub to: CheckpointId,
    /// The checkpoint that was taken of what is now left behind.
    pub before: CheckpointId,
    /// The files to be put back, unless only the state is rewound.
    pub files: Option<FilesBack>,
    pub state: bool,
    /// It takes an earlier rewind back.
    pub undoes: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FilesBack {
    /// The commit to go back to.
    pub to: String,
    /// Snapshots taken since: only what they added may be removed.
    pub later: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunRewound {
    pub to: CheckpointId,
    /// None where only files were put back.
    pub restored: Option<RestoredState>,
    pub result: Option<RunResult>,
}

/// Phases and state of a checkpoint, as far as they differ from the run as it stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RestoredState {
    pub phases: Vec<PhaseBack>,
    pub state: Vec<Op>,
    /// The sections, where they are not the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sections: Option<Box<Sections>>,
}

/// A phase as it stood at a checkpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseBack {
    pub phase: PhaseId,
    pub status: PhaseStatus,
    pub in_doubt: bool,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    pub duration_ms: Option<u64>,
    pub note: Option<String>,
    pub summary: Option<String>,
    pub outputs: BTreeMap<String, String>,
    pub commit_sha: Option<String>,
    pub error: Option<PhaseError>,
    /// The word of a person that the phase was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adopted: Option<AdoptedPhase>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<ArtifactSeen>,
    /// The generation it goes on in; where none is told, the next one. What was done outside is not undone by going back, so
    /// whatever has outward effects keeps its own, and with it the idempotency key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<Generation>,
    /// The last attempt that counts again, where later ones are taken back with what they did. Their numbers stay theirs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
}

/// When the work in hand is committed, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommitRule {
    /// Completed phases per commit.
    pub every: u32,
    /// The subject; `{first}` and `{last}` are the ids of the first and the last of its phases, `{places}` is where they stand in
    /// the plan.
    pub message: String,
    pub trailers: Vec<String>,
    /// The agents that did its phases stand below it: nobody said which trailers it has.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub names_agents: bool,
    /// Whether the repository's own hooks have a say.
    pub hooks: bool,
}
