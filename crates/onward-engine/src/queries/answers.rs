//! Answers of the queries: runs in a list, checkpoints in a log, a run in full, the output of an attempt.

use std::collections::BTreeMap;
use std::fs::File;

use jiff::Timestamp;
use onward_core::checkpoint::Checkpoint;
use onward_core::chronicle::Chronicle;
use onward_core::id::{Attempt, CheckpointId, PhaseId, RunId};
use onward_core::run::Run;
use onward_core::run::counting::PhasesCounted;
use onward_core::view::asks::PhaseAsks;
use onward_core::view::durations::PhaseDurations;
use onward_core::view::{PhaseRecord, RunQuery, SavedProgress, StatusView};
use serde::Serialize;

use crate::attendant::Output;

/// Which runs to list.
#[derive(Clone, Debug, Default)]
pub struct ListFilter {
    /// Archived ones too.
    pub all: bool,
    pub kind: Option<String>,
    pub project: Option<String>,
    pub query: RunQuery,
}

/// A run in a list.
#[derive(Clone, Debug, Serialize)]
pub struct ListItem {
    pub run: RunId,
    #[serde(rename = "type")]
    pub kind: String,
    pub project: String,
    pub title: String,
    pub plan: String,
    /// A `RunStatus`, or `unreadable`.
    pub status: String,
    pub created_at: Option<Timestamp>,
    pub updated_at: Option<Timestamp>,
    pub phases_total: usize,
    /// Skipped ones are among them.
    pub phases_completed: usize,
    pub phases_skipped: usize,
    /// The phases that the author wrote, for people.
    #[serde(skip)]
    pub counted: PhasesCounted,
    pub branch: Option<String>,
    pub resumable: bool,
    /// How far a saved state says that its work is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saved: Option<SavedProgress>,
    /// The last error, or why the row cannot be read.
    pub error: Option<String>,
    /// The findings of the last driver's start, with their age.
    pub findings: Vec<String>,
    /// Phases that wait for a person to decide.
    pub asks: Vec<PhaseAsks>,
}

/// How long the phases of a plan took over its runs, where there are enough of them to tell.
#[derive(Clone, Debug, Serialize)]
pub struct PlanDurations {
    pub plan: String,
    pub phases: Vec<PhaseDurations>,
}

/// A checkpoint in a log.
#[derive(Clone, Debug, Serialize)]
pub struct LogItem {
    pub id: CheckpointId,
    pub seq: u64,
    pub trigger: String,
    pub triggers: Vec<String>,
    pub phase: Option<PhaseId>,
    pub created_at: Option<Timestamp>,
    pub name: Option<String>,
    pub can_resume: bool,
    pub bytes: u64,
    /// The working tree at that moment; none where it was not kept.
    pub snapshot: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub damage: Option<String>,
}

/// The answer of `show`.
#[derive(Debug)]
pub enum Shown {
    Checkpoint(Box<Checkpoint>),
    Run(Box<RunShown>),
}

/// A run as a whole.
#[derive(Debug, Serialize)]
pub struct RunShown {
    #[serde(rename = "status")]
    pub view: StatusView,
    pub inputs: BTreeMap<String, String>,
    pub plan: serde_json::Value,
    pub description: Option<String>,
    /// The free-form state of the run.
    pub state: serde_json::Value,
    /// Phases that the plan no longer has, with what is on record of them.
    pub removed: Vec<PhaseRecord>,
    pub batches: Vec<Vec<PhaseId>>,
    /// How long its phases took in all runs of its plan, where there are enough of them to tell.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub durations: Vec<PhaseDurations>,
    pub checkpoints: Vec<LogItem>,
}

/// A run as a whole, with the course that it took.
#[derive(Debug)]
pub struct RunTold {
    pub run: Run,
    pub shown: RunShown,
    pub chronicle: Chronicle,
}

/// The output of one attempt.
pub struct Logged {
    pub phase: PhaseId,
    pub attempt: Attempt,
    pub output: Output,
    /// The output of its checks, each behind its command.
    pub checks: Option<File>,
}
