//! The plan as the rest of onward sees it: checked, with defaults filled in, immutable.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::freshness::{Checks, Freshness, Issue};
use crate::id::PhaseId;

/// Phases that run side by side where neither plan nor command line says otherwise.
pub const MAX_PARALLEL_DEFAULT: u32 = 4;

/// A checked plan. Serialised as part of the journal: a field added here needs `#[serde(default)]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub name: String,
    pub run_name: Option<String>,
    pub description: Option<String>,
    /// The workflow type of run ids: `run` where nothing is said.
    #[serde(rename = "type")]
    pub kind: String,
    pub inputs: BTreeMap<String, InputSpec>,
    /// Variables of every phase, in the order written; values may hold `${{ }}`.
    pub env: Vec<(String, String)>,
    pub max_parallel: u32,
    pub on_failure: PlanFailure,
    /// In the order written. `needs` of every phase name phases that are here, without cycles.
    pub phases: Vec<Phase>,
    /// Phases for the end of the run, whatever happened. No id is also one of `phases`.
    #[serde(default)]
    pub finally: Vec<Phase>,
    #[serde(default)]
    pub freshness: Freshness,
    #[serde(default)]
    pub issue: Option<Issue>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    pub id: PhaseId,
    pub name: Option<String>,
    pub description: Option<String>,
    pub needs: Vec<Need>,
    pub body: Body,
    pub env: Vec<(String, String)>,
    /// Relative to the top of the project.
    pub working_directory: Option<String>,
    pub timeout: Option<Duration>,
    pub retry: Retry,
    /// Names of outputs and what they are for.
    pub outputs: BTreeMap<String, String>,
    /// Globs, relative to the top of the project.
    pub writes: Vec<String>,
    pub effects: Effects,
    pub priority: Priority,
    pub value: Option<Value>,
    pub on_interrupt: Option<OnInterrupt>,
    #[serde(default)]
    pub checks: Checks,
}

/// How a phase is done. Exactly one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Body {
    /// A shell script; `shell` is the words before `-c SCRIPT`.
    Run { script: String, shell: Vec<String> },
    /// A coding agent: the block as written and checked, with `defaults` filled in.
    Agent(serde_json::Value),
    /// A person who says yes.
    Approval(serde_json::Value),
    /// Someone else, who reports in.
    External(serde_json::Value),
    /// Another plan and its inputs: `{"uses": PATH, "with": {...}}`.
    Uses(serde_json::Value),
}

impl Body {
    /// The key that says how the phase is done.
    pub fn kind(&self) -> &'static str {
        match self {
            Body::Run { .. } => "run",
            Body::Agent(_) => "agent",
            Body::Approval(_) => "approval",
            Body::External(_) => "external",
            Body::Uses(_) => "uses",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Need {
    pub phase: PhaseId,
    /// A skipped need counts as met unless this is set.
    pub must_be_completed: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Retry {
    /// Retries, not attempts: 2 is three attempts.
    pub max: u32,
    pub when: Vec<RetryWhen>,
    pub backoff: Backoff,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RetryWhen {
    Failed,
    TimedOut,
    Infra,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Backoff {
    pub initial: Duration,
    pub factor: f64,
    pub max: Duration,
    pub jitter: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlanFailure {
    /// Ends the phases at work.
    Stop,
    /// Lets them end and starts no other.
    Finish,
    /// Does all that does not need the failed one.
    Continue,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effects {
    None,
    Files,
    External,
}

/// Highest first, so that the derived order is the order of starting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Priority {
    Critical,
    High,
    Normal,
    Low,
}

/// What would be lost, hardest to reconstruct first: the key `kind` of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Value {
    Issue,
    Commit,
    Code,
    Docs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnInterrupt {
    Continue,
    Rerun,
    RerunClean,
    Ask,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InputSpec {
    #[serde(rename = "type")]
    pub kind: InputKind,
    pub required: bool,
    pub default: Option<String>,
    pub description: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InputKind {
    String,
    Integer,
    Number,
    Boolean,
    Date,
    Choice { choices: Vec<String> },
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            max: 0,
            when: vec![RetryWhen::Failed, RetryWhen::TimedOut, RetryWhen::Infra],
            backoff: Backoff::default(),
        }
    }
}

impl Default for Backoff {
    fn default() -> Self {
        Self { initial: Duration::from_secs(10), factor: 2.0, max: Duration::from_mins(5), jitter: true }
    }
}

impl Plan {
    pub fn phase(&self, id: &PhaseId) -> Option<&Phase> {
        self.phases.iter().find(|phase| &phase.id == id)
    }
}

impl Phase {
    /// What people see: the name, or the id where there is none.
    pub fn title(&self) -> &str {
        self.name.as_deref().unwrap_or(self.id.as_str())
    }
}
