//! The stored sections of a checkpoint: what is known of a run beside its phases and its free-form state. Each is filled by
//! events, never by constants, and stays empty until one fills it.
//!
//! To fill one: an event (`event.rs`) and its arm in `run/sections.rs`, which changes the section and notes that change as a patch,
//! so that the next checkpoint stores just that.

use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::model::FileModified;

/// All sections. Stored as one object of a checkpoint, and in the fold cache.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Sections {
    /// The agent session that was at work last.
    pub session: Option<String>,
    /// A word for where the work stands, where somebody gave one.
    pub label: Option<String>,
    pub issue: Option<IssueSnapshot>,
    pub team: Team,
    /// Outputs of agents, by agent and by what it was asked for.
    pub agents: BTreeMap<String, BTreeMap<String, AgentOutput>>,
    /// Messages between agents, in the order in which they were sent.
    pub messages: Vec<AgentMessage>,
    pub conflicts: Vec<AgentConflict>,
    /// Knowledge entries, in the order in which they came.
    pub knowledge: Vec<KnowledgeEntry>,
    pub decisions: Vec<KeyDecision>,
    pub files_modified: BTreeMap<String, FileModified>,
    /// How many more files are modified than stand in the list.
    pub more_files_modified: u64,
    pub context: ToldContext,
    /// Named folders of the run.
    pub artifact_paths: BTreeMap<String, String>,
    pub recovery: ToldRecovery,
    /// Revisions of the plan by phase, of which nothing but their number is known.
    pub earlier_revisions: BTreeMap<String, u32>,
    /// The document that the run was taken over from.
    pub imported: Option<ImportedDocument>,
}

/// The issue that the work belongs to, as it was last read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct IssueSnapshot {
    pub number: Option<String>,
    pub title: String,
    pub body: String,
    pub labels: Vec<String>,
    pub assignees: Vec<String>,
    /// The branch that belongs to it.
    pub branch: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Team {
    pub id: Option<String>,
    pub members: Vec<TeamMember>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TeamMember {
    pub agent: String,
    pub role: Option<String>,
    pub status: Option<String>,
    pub tasks_completed: u64,
    pub tasks_pending: u64,
}

/// The result of something that an agent was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AgentOutput {
    pub completed_at: Option<Timestamp>,
    pub summary: Option<String>,
    /// Where it lies.
    pub location: Option<String>,
}

/// A message between agents.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AgentMessage {
    pub id: String,
    /// `request`, `response`, `handoff`, `escalate`, `broadcast`, `vote`.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    pub from: Option<String>,
    /// An agent, or `*` for all.
    pub to: Option<String>,
    pub body: Option<String>,
    pub sent_at: Option<Timestamp>,
    /// Agents that have acknowledged it.
    pub acknowledged_by: Vec<String>,
    /// Somebody it is for has not acknowledged it.
    pub pending: bool,
    /// The sender waits for an answer.
    pub awaits_response: bool,
    /// `critical`, `high`, `normal` or `low`; none where nobody said.
    pub priority: Option<String>,
    /// The message that it belongs to, by its id.
    pub correlation: Option<String>,
}

/// A conflict between agents.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AgentConflict {
    pub id: String,
    pub between: Vec<String>,
    pub topic: Option<String>,
    pub started_at: Option<Timestamp>,
    pub rounds: Vec<String>,
    /// How it was resolved; none while it goes on.
    pub resolution: Option<String>,
    pub resolved_at: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KnowledgeEntry {
    pub id: String,
    #[serde(rename = "type", default)]
    pub kind: Option<String>,
    #[serde(default)]
    pub title: Option<String>,
    #[serde(default)]
    pub body: Option<String>,
    #[serde(default)]
    pub added_at: Option<Timestamp>,
    pub state: KnowledgeState,
}

/// Where an entry comes from, or goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KnowledgeState {
    /// It was handed to the agents.
    Injected,
    /// It was learned in this run.
    Captured,
    /// It is still to be captured.
    Pending,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct KeyDecision {
    pub text: String,
    pub at: Option<Timestamp>,
    pub by: Option<String>,
}

/// The context as it was told; what onward itself knows of it is added when a checkpoint is read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ToldContext {
    pub files: Vec<String>,
    pub research_reports: Vec<String>,
    /// Facts about the plan.
    pub plan: Option<Value>,
}

/// The part of the recovery information that cannot be worked out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ToldRecovery {
    /// The record says that it cannot be resumed.
    pub forbidden: bool,
    /// Where to go on, as the record says.
    pub resume_from: Option<String>,
    /// Prerequisites, each with whether it was met when it was last looked at.
    pub prerequisites: Vec<Prerequisite>,
    pub warnings: Vec<String>,
    /// The last error, where it belongs to no phase.
    pub last_error: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Prerequisite {
    pub name: String,
    pub met: bool,
}

/// The document of another format that a run was taken over from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ImportedDocument {
    pub format: FileFormat,
    /// The name that the file gives the work, where it is not the run's id.
    pub name: Option<String>,
    pub version: Option<String>,
    pub document: Map<String, Value>,
}

/// The formats of files that people bring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FileFormat {
    /// `{workflow_id}.json`.
    Workflow,
    /// `{type}_{project}_{time}.json`.
    Checkpoint,
    /// `pipeline-state.json`.
    PipelineState,
    /// A folder of `CP-*.yaml` with `index.yaml`.
    Crunch,
}

impl FileFormat {
    pub const ALL: [Self; 4] = [Self::Workflow, Self::Checkpoint, Self::PipelineState, Self::Crunch];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Workflow => "workflow",
            Self::Checkpoint => "checkpoint",
            Self::PipelineState => "pipeline-state",
            Self::Crunch => "crunch",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.as_str() == text)
    }
}
