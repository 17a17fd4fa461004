//! The first fact of a run, as it is where nobody adds anything to the plan.

use std::collections::BTreeMap;

use super::RunStarted;
use crate::id::RunId;
use crate::plan::{self, Plan};

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
