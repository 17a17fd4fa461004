//! Freshness settings of a plan: changes of a phase's inputs, of the branch, of anything that a probe can see.

use serde::{Deserialize, Serialize};

use crate::document::word::words;

use crate::id::PhaseId;

/// The checks made on every resume.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Freshness {
    #[serde(default)]
    pub git: GitFreshness,
    #[serde(default)]
    pub probes: Vec<Probe>,
}

impl Freshness {
    /// Nothing is said about it.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Names may hold `${{ }}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitFreshness {
    pub branch: Option<String>,
    pub base: Option<String>,
    pub if_branch_gone: Option<IfChanged>,
    pub if_base_moved: Option<IfChanged>,
    pub if_dirty: Option<IfChanged>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    pub name: String,
    pub of: ProbeOf,
    pub if_changed: IfChanged,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProbeOf {
    /// The output of a command.
    Command(String),
    /// The content of files.
    Files(Vec<String>),
    /// The text of an issue.
    Issue(String),
}

words! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum IfChanged {
        Ignore = "ignore",
        Warn = "warn",
        Ask = "ask",
        Stop = "stop",
        Rerun = "rerun",
    }
}

/// The issue that the work belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issue {
    pub number: String,
    /// The program that is asked; `gh` where nothing is said.
    pub provider: Option<String>,
    /// Labels and the phase that each stands for.
    pub states: Vec<(String, PhaseId)>,
    /// The facts that the run tells the issue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sync: Option<IssueSync>,
    /// None where nothing is said: a label that is ahead of the run is a warning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub if_ahead: Option<IfAhead>,
}

words! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum IssueSync {
        /// The label of a phase is set when the phase starts.
        Labels = "labels",
    }
}

words! {
    /// The answer to a label that stands for a phase which is still ahead.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum IfAhead {
        Warn = "warn",
        Ask = "ask",
    }
}
