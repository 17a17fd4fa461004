//! The first fact of a run: what is to be done, where, with which inputs and settings.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::CommitRule;
use crate::checkpoint::{FileFormat, Trigger};
use crate::id::RunId;
use crate::plan::{self, Plan};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunStarted {
    pub run: RunId,
    /// The key of "the same work": plan path and inputs.
    pub work: String,
    #[schemars(with = "serde_json::Value")]
    pub plan: Plan,
    pub plan_path: String,
    pub plan_digest: String,
    /// The hash of the plan's text: a file with the same text needs no reading to be known. Where it uses others, theirs are
    /// part of it, and their paths follow, a line each.
    #[serde(default)]
    pub plan_text: String,
    pub inputs: BTreeMap<String, String>,
    /// The inputs as they were given, before defaults.
    #[serde(default)]
    pub given: BTreeMap<String, String>,
    pub project: String,
    pub title: String,
    pub branch: Option<String>,
    /// The triggers that take a checkpoint in this run.
    pub triggers: Vec<Trigger>,
    /// Whether checkpoints come with a snapshot of the working tree.
    #[serde(default)]
    pub snapshots: bool,
    #[serde(default)]
    pub commits: Option<CommitRule>,
    /// Formats of other tools that are kept alongside.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mirrors: Vec<FileFormat>,
    /// The folder of those that are folders; `{issue}` stands for the issue, else the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mirror_folder: Option<String>,
    /// Where phases run, if not at the top of the project: a working tree of the run's own.
    #[serde(default)]
    pub worktree: Option<String>,
    /// Files that were not as HEAD has them when the run began. None where nobody looked: it makes no commits, or git gave no
    /// answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_before: Option<ChangedBefore>,
}

/// Changes that are none of a run's work: modified, staged or untracked before it began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedBefore {
    /// By the path from the top of the project; the value changes when somebody writes to the file.
    pub paths: BTreeMap<String, String>,
    /// There were more than are kept: then nothing is known of the others.
    #[serde(default)]
    pub too_many: bool,
}

impl RunStarted {
    /// A run of this plan in this project, without a file, inputs, checkpoints, snapshots or commits.
    pub fn bare(run: RunId, work: &str, plan: Plan, project: &str) -> Self {
        Self {
            run,
            work: work.to_owned(),
            plan_digest: plan::digest(&plan),
            plan,
            plan_path: String::new(),
            plan_text: String::new(),
            inputs: BTreeMap::new(),
            given: BTreeMap::new(),
            project: project.to_owned(),
            title: project.to_owned(),
            branch: None,
            triggers: Vec::new(),
            snapshots: false,
            commits: None,
            mirrors: Vec::new(),
            mirror_folder: None,
            worktree: None,
            changed_before: None,
        }
    }
}
