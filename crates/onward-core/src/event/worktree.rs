//! A phase in a git worktree of its own: where it begins, and how its files come into the project.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::evidence::Evidence;
use crate::id::Attempt;

/// One fact about the worktree of a phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum WorktreeFact {
    /// From here on the attempts work there.
    Begun {
        /// The attempt for which it was made, or made anew.
        attempt: Attempt,
        /// A snapshot of the project as it was then. The work of the phase is the difference to it.
        base: String,
        /// The files that it begins with, where they are not those of the base: an earlier result of the phase, brought together with
        /// the project.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<String>,
        /// Files of which two versions stand in it, between git's conflict marks.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unresolved: Vec<String>,
    },
    /// Its files are about to be put into the project: the intent, durable before the first of them is touched.
    IntegrationBegun {
        /// A snapshot of the worktree.
        result: String,
        /// A snapshot of the project.
        before: String,
        /// Both together, as a commit.
        merged: String,
    },
    /// Its files are in the project.
    Integrated {
        result: String,
        /// Files that are in the worktree and in no snapshot of it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        left_out: Vec<String>,
        /// The files that the phase writes, as they are in the project now.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seen: Option<Box<Evidence>>,
    },
    /// Nothing was put into the project, since that changed in the same moment. It is tried again.
    CalledOff {
        reason: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        paths: Vec<String>,
    },
    /// The phase and others have changed the same: a person has to say how it goes on. Nothing was put into the project.
    Conflict(WorktreeConflict),
    /// It is not needed any more. It is there all the same where a reason is told.
    Removed {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kept: Option<String>,
        /// The commit that keeps its files, where they did not come into the project: a person has left them out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        put_away: Option<String>,
    },
}

/// Two versions of the same files, one in the worktree of a phase and one in the project. The run keeps it as it is, told apart by
/// place, so no field may be left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorktreeConflict {
    /// A snapshot of the worktree.
    pub result: String,
    /// The files, from the top of the project; no more than can be read.
    pub paths: Vec<String>,
    /// How many more there are.
    #[serde(default)]
    pub more: u64,
    /// The conflicts in git's words.
    #[serde(default)]
    pub told: Vec<String>,
}
