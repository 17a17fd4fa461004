//! The document. Every section that a checkpoint will ever have stands here, empty until something fills it, so that
//! readers need not guess what is missing and what is merely none.

use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::sections::{
    AgentConflict, AgentMessage, AgentOutput, ImportedDocument, IssueSnapshot, KeyDecision, KnowledgeEntry,
    Prerequisite, Sections, Team,
};
use crate::event::PhaseError;
use crate::id::{CheckpointId, PhaseId, RunId, Seq};
use crate::replan::RevisionRecord;
use crate::run::{PhaseStatus, RunStatus};
use crate::view::PhaseRecord;

/// The version of this document; a reader refuses what it does not know. 0 has the same form and was written before the first
/// release.
pub const FORMAT: u32 = 1;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Checkpoint {
    /// The format version of the document.
    pub onward: u32,
    pub id: CheckpointId,
    pub run: RunId,
    /// The position in the journal.
    pub seq: Seq,
    pub triggers: Vec<Trigger>,
    /// The phase that it is about, if there is one.
    pub phase: Option<PhaseId>,
    pub name: Option<String>,
    pub created_at: Timestamp,
    /// The agent session that was at work.
    pub session: Option<String>,
    /// A word for where the work stands.
    pub label: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub project: String,
    pub description: Option<String>,
    pub run_created_at: Timestamp,
    pub updated_at: Timestamp,
    pub status: RunStatus,
    pub current_phases: Vec<PhaseId>,
    pub phases_total: usize,
    pub completed_phases: Vec<PhaseId>,
    pub phases: Vec<PhaseRecord>,
    /// Free-form state of the run.
    pub state: Map<String, Value>,
    pub replans: ReplanSummary,
    pub artifacts: Vec<ArtifactRecord>,
    pub context: WorkContext,
    /// Named folders of the run.
    #[serde(default)]
    pub artifact_paths: BTreeMap<String, String>,
    /// The issue as it was last seen.
    pub issue: Option<IssueSnapshot>,
    pub team: Team,
    pub graph: PlanGraph,
    /// Outputs of agents, by agent and by what it was asked for.
    pub agents: BTreeMap<String, BTreeMap<String, AgentOutput>>,
    pub messages: Messages,
    pub knowledge: Knowledge,
    pub files_modified: Vec<FileModified>,
    /// The working tree, where it was kept.
    #[serde(default)]
    pub snapshot: Option<KeptTree>,
    pub recovery: Recovery,
    pub error: Option<LastError>,
    /// The document of another format that the run was taken over from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<ImportedDocument>,
    /// All of the above that is stored and not worked out, as it is stored: for whoever puts a run back.
    #[serde(skip)]
    pub sections: Sections,
}

/// The working tree of a checkpoint: a commit under a hidden ref.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeptTree {
    pub commit: String,
    /// The last part of the ref's name.
    pub number: u64,
    /// Phases that may have been writing while it was taken.
    pub mixed: Vec<PhaseId>,
}

/// Why a checkpoint is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    RunStart,
    PhaseTransition,
    BatchComplete,
    AgentComplete,
    ConflictStart,
    ConflictResolved,
    UserInterrupt,
    SessionEnd,
    Manual,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReplanSummary {
    /// Every revision of the plan, the oldest first, edits of its file included.
    pub history: Vec<RevisionRecord>,
    /// How many revisions each phase has asked for and got.
    pub counts: BTreeMap<String, u32>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArtifactRecord {
    pub phase: PhaseId,
    pub name: String,
    pub path: String,
    pub bytes: u64,
    pub digest: String,
    /// A copy of it was put into the store.
    #[serde(default)]
    pub kept: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkContext {
    pub branch: Option<String>,
    pub decisions: Vec<KeyDecision>,
    /// Files that the work has made or changed.
    pub files: Vec<String>,
    pub research_reports: Vec<String>,
    pub plan: PlanReference,
    /// Facts about the plan that an imported file tells.
    #[serde(default)]
    pub plan_metadata: Option<Value>,
    pub inputs: BTreeMap<String, String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanReference {
    pub name: String,
    pub path: String,
    pub digest: String,
}

/// The graph of the plan as it stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanGraph {
    pub batches: Vec<Vec<PhaseId>>,
    pub batches_completed: usize,
    pub nodes: BTreeMap<PhaseId, PhaseStatus>,
}

/// Messages between agents and their conflicts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Messages {
    /// Ids of messages that somebody has not acknowledged yet.
    pub pending: Vec<String>,
    /// Ids of messages whose sender waits for an answer.
    pub awaiting: Vec<String>,
    /// All messages, in the order in which they were sent.
    pub sent: Vec<AgentMessage>,
    pub conflicts: Vec<AgentConflict>,
}

/// Knowledge entries, and the ids of those that were handed out, learned, and are still to be captured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Knowledge {
    pub injected: Vec<String>,
    pub captured: Vec<String>,
    pub pending: Vec<String>,
    pub entries: Vec<KnowledgeEntry>,
}

/// A file that is not as the commit that is checked out has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileModified {
    pub path: String,
    /// `added`, `modified` or `deleted`.
    pub status: String,
    /// It is in git's index.
    pub staged: bool,
    /// The name that git gives its content; none where it is gone.
    pub digest: Option<String>,
}

/// Whether and where a later start can go on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Recovery {
    pub can_resume: bool,
    /// Phases that were begun and are not done, and those that could begin.
    pub resume_from: Vec<PhaseId>,
    pub prerequisites: Vec<Prerequisite>,
    /// None of them is known to be missing.
    pub prerequisites_met: bool,
    pub warnings: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LastError {
    /// The phase that failed, where it was one.
    pub phase: Option<PhaseId>,
    pub error: PhaseError,
}

/// The facts about a checkpoint that are known without reading its document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckpointMeta {
    pub triggers: Vec<Trigger>,
    pub phase: Option<PhaseId>,
    /// The wave that it ended, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<u32>,
    pub created_at: Timestamp,
    pub name: Option<String>,
    pub can_resume: bool,
    #[serde(default)]
    pub snapshot: Option<KeptTree>,
}

impl Trigger {
    pub const ALL: [Self; 9] = [
        Self::RunStart,
        Self::PhaseTransition,
        Self::BatchComplete,
        Self::AgentComplete,
        Self::ConflictStart,
        Self::ConflictResolved,
        Self::UserInterrupt,
        Self::SessionEnd,
        Self::Manual,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::RunStart => "run_start",
            Self::PhaseTransition => "phase_transition",
            Self::BatchComplete => "batch_complete",
            Self::AgentComplete => "agent_complete",
            Self::ConflictStart => "conflict_start",
            Self::ConflictResolved => "conflict_resolved",
            Self::UserInterrupt => "user_interrupt",
            Self::SessionEnd => "session_end",
            Self::Manual => "manual",
        }
    }
}
