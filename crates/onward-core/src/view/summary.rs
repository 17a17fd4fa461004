//! The row of a run in lists, and the runs that somebody looks for by what they are about.

use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::asks::{self, PhaseAsks};
use super::{SavedProgress, error_told, findings, saved_progress};
use crate::id::RunId;
use crate::retention::RunRetention;
use crate::run::context::ExpressionContext;
use crate::run::counting::PhasesCounted;
use crate::run::{Run, RunStatus};

/// The row of a run in lists: kept beside the journal, so that a list reads no journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    pub run: RunId,
    pub title: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub project: String,
    pub plan: String,
    pub status: RunStatus,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub phases_total: usize,
    /// Skipped ones are among them.
    pub phases_completed: usize,
    #[serde(default)]
    pub phases_skipped: usize,
    pub branch: Option<String>,
    pub error: Option<String>,
    /// By these a start knows the run of the same work without reading the plan.
    #[serde(default)]
    pub plan_text: String,
    #[serde(default)]
    pub given: BTreeMap<String, String>,
    /// Findings of the last driver's start that are worth a line.
    #[serde(default)]
    pub findings: Vec<String>,
    #[serde(default)]
    pub looked_at: Option<Timestamp>,
    /// A rewind was begun and has not ended.
    #[serde(default)]
    pub rewinding: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved: Option<SavedProgress>,
    /// It was taken over from a file of another tool, and is as old as the file says.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub imported: bool,
    /// When it was imported, until something happens to it here: what is old is not put away by itself on the day it arrives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrived_at: Option<Timestamp>,
    /// The working tree of its own, of a fork that has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// With defaults.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inputs: BTreeMap<String, String>,
    /// The number of the issue that the work belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue: Option<String>,
    /// The phases that the author wrote, where some of them consist of others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<PhasesCounted>,
    /// Phases that wait for a person to decide, the first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<PhaseAsks>,
    /// How long it and its checkpoints are kept, as far as the plan says it.
    #[serde(default, skip_serializing_if = "RunRetention::is_empty")]
    pub keep: RunRetention,
}

impl Summary {
    /// The phases as the author counts them.
    pub fn phases_counted(&self) -> PhasesCounted {
        self.counted.unwrap_or(PhasesCounted {
            total: self.phases_total,
            finished: self.phases_completed,
            skipped: self.phases_skipped,
        })
    }
}

/// The runs that somebody looks for by what they are about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunQuery {
    pub inputs: Vec<(String, String)>,
    /// Words of title, description or plan.
    pub words: Option<String>,
    pub issue: Option<String>,
}

impl RunQuery {
    /// Nothing is asked for.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether a run is one of them: all that is asked for holds, in small letters or capitals.
    pub fn fits(&self, summary: &Summary) -> bool {
        let told = [&summary.title, &summary.plan, summary.description.as_ref().unwrap_or(&summary.title)];
        let told = told.map(|text| text.to_lowercase());
        let is_told = |word: &str| told.iter().any(|text| text.contains(&word.to_lowercase()));
        self.inputs.iter().all(|(name, value)| summary.inputs.get(name) == Some(value))
            && self.words.iter().flat_map(|words| words.split_whitespace()).all(is_told)
            && self.issue.as_ref().is_none_or(|issue| summary.issue.as_ref() == Some(issue))
    }
}

pub fn summary(run: &Run) -> Summary {
    Summary {
        run: run.id.clone(),
        title: run.started.title.clone(),
        kind: run.plan().kind.clone(),
        project: run.started.project.clone(),
        plan: run.started.plan_path.clone(),
        status: run.status(),
        created_at: run.created_at,
        updated_at: run.updated_at,
        phases_total: run.phases_total(),
        phases_completed: run.phases_finished(),
        phases_skipped: run.phases_skipped(),
        branch: run.branch().map(str::to_owned),
        error: error_told(run),
        plan_text: run.started.plan_text.clone(),
        given: run.started.given.clone(),
        findings: findings(run, None),
        looked_at: run.last_look().map(|look| look.at),
        rewinding: run.vcs.rewinding.is_some(),
        saved: saved_progress(run),
        imported: run.sections().imported.is_some(),
        arrived_at: None,
        worktree: run.started.worktree.clone(),
        description: run.plan().description.clone(),
        inputs: run.started.inputs.clone(),
        issue: issue_number(run),
        counted: Some(run.phases_counted()).filter(|counted| counted.total != run.phases_total()),
        asks: asks::listed(run),
        keep: run.plan().keep.clone(),
    }
}

/// The issue of a run, as far as what is on record fills its number in.
fn issue_number(run: &Run) -> Option<String> {
    let issue = run.plan().issue.as_ref()?;
    ExpressionContext::of_plan(run, &run.environment).fill(&issue.number).map(|number| number.trim().to_owned())
}
