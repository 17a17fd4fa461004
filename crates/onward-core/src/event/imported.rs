//! A run that was taken over from a file of another format.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{PhaseBack, RunResult};
use crate::checkpoint::{Sections, Trigger};
use crate::evidence::WorldSeen;
use crate::replan::RevisionRecord;

/// How a run stands in the file that it is taken over from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunImported {
    /// The file as it was named.
    pub file: String,
    /// Phases that do not stand as in a run that has just begun.
    pub phases: Vec<PhaseBack>,
    /// Revisions of the plan, the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub revisions: Vec<RevisionRecord>,
    /// The sections, the document itself among them.
    pub sections: Sections,
    /// The triggers that take a checkpoint from here on.
    pub triggers: Vec<Trigger>,
    /// None where something is left to be done.
    pub result: Option<RunResult>,
    /// Branch and issue as the file has them, for later looks to be compared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub world: Option<Box<WorldSeen>>,
}
