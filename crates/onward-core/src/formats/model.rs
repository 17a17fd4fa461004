//! A run as a file has it.

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::checkpoint::FileFormat;
use crate::event::RunStarted;
use crate::id::{PhaseId, RunId};
use crate::ids_and_keys;
use crate::input::ImportStep;
use crate::plan::Plan;

/// Why a file is not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadFile {
    #[error("its version is {0}, which is newer than this program knows")]
    Newer(String),
    #[error("{0}")]
    Damaged(String),
}

/// All that a run is begun with when it is taken over from a file.
#[derive(Clone, Debug, PartialEq)]
pub struct TakenRun {
    pub format: FileFormat,
    /// The id that the file gives the run.
    pub run: Option<RunId>,
    pub kind: String,
    /// None where the file names no project.
    pub project: Option<String>,
    pub title: String,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub plan: Plan,
    pub plan_path: Option<String>,
    pub branch: Option<String>,
    pub step: ImportStep,
}

impl TakenRun {
    /// An index counts where the file itself does not say it.
    pub fn by_index(&mut self, entry: Option<&Map<String, Value>>) {
        if let Some(trigger) = super::crunch::trigger(entry.and_then(|entry| entry.get("trigger"))) {
            self.step.triggers = vec![trigger];
        }
        let phase = entry.and_then(|entry| entry.get("phase")).and_then(Value::as_str);
        self.step.phase = phase.map(PhaseId::new).or(self.step.phase.take());
    }

    /// The first fact of the run. Whoever begins it adds what only the place knows.
    pub fn started(&self, run: RunId, project: &str) -> RunStarted {
        let plan_path = self.plan_path.clone().unwrap_or_default();
        let work = ids_and_keys::work_key(&format!("import {run}"), []);
        RunStarted {
            plan_path,
            project: ids_and_keys::word(self.project.as_deref().unwrap_or(project)),
            title: self.title.clone(),
            branch: self.branch.clone(),
            ..RunStarted::bare(run, &work, self.plan.clone(), project)
        }
    }
}
