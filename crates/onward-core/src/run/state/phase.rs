//! The state of one phase, and of the attempt that is at work on it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent_failures::FailedTry;
use crate::event::{ArtifactSeen, Claimed, LeftRunning, PhaseError};
use crate::evidence::Evidence;
use crate::id::{Attempt, Generation, PhaseId};
use crate::run::agents::AgentState;
use crate::run::external_phases::ExternalState;
use crate::run::requirements::RequirementState;
use crate::run::worktrees::OwnWorktree;

#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own, and any of them may hold beside the others"
)]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseState {
    pub status: PhaseStatus,
    pub generation: Generation,
    /// The key under which the world outside knows its work, where it had another id when that was begun.
    #[serde(default)]
    pub earlier_key: Option<EarlierKey>,
    /// The number of the last attempt; 0 before the first.
    pub attempts: u32,
    /// The last attempt that counts, where a way back took later ones with it.
    #[serde(default)]
    pub attempts_told: Option<u32>,
    /// Failures that count against the retries.
    pub failures: u32,
    /// Ends of attempts that we caused.
    pub interruptions: u32,
    /// Ends that nobody knows, since the last known one.
    pub unknowns_in_a_row: u32,
    pub attempt: Option<RunningAttempt>,
    pub in_doubt: bool,
    /// Left alone until a person orders a retry.
    pub parked: bool,
    /// A person left it out; the end of the run does not bring it back.
    #[serde(default)]
    pub left_out: bool,
    pub not_before: Option<Timestamp>,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    pub duration_ms: Option<u64>,
    pub note: Option<String>,
    /// The damage of the record of its last attempt, because of which nobody knows how that ended.
    pub damage: Option<String>,
    pub summary: Option<String>,
    pub outputs: BTreeMap<String, String>,
    pub commit_sha: Option<String>,
    pub error: Option<PhaseError>,
    /// The word of a person that the phase is done, where that is why it is.
    #[serde(default)]
    pub adopted: Option<AdoptedPhase>,
    /// How the last attempt ended, as the next one is told it.
    pub last_end: Option<Before>,
    /// The snapshot before the first attempt of this generation.
    pub base: Option<String>,
    /// The files it writes are restored before the next attempt.
    pub clean: bool,
    /// It consists of others, and they may start.
    pub opened: bool,
    /// The evidence of the finished phase.
    pub seen: Option<Box<Evidence>>,
    /// Its probe has to speak before anything else happens to it.
    pub probe: Option<ProbeDue>,
    /// The artifacts of the finished phase.
    pub artifacts: Vec<ArtifactSeen>,
    /// Where it stands with the person or the worker it waits for.
    pub external: Option<ExternalState>,
    /// The remaining work as reported since it was begun, the newest last.
    pub rounds: Vec<String>,
    /// Processes that its last attempt left behind.
    pub left_running: Vec<LeftRunning>,
    /// The agent that does it, from its first attempt on.
    pub agent: Option<Box<AgentState>>,
    /// Attempts that failed since it was begun, the newest last.
    #[serde(default)]
    pub tries: Vec<FailedTry>,
    /// Whether what it requires is there.
    #[serde(default)]
    pub requirements: RequirementState,
    /// The git worktree in which it works.
    #[serde(default)]
    pub own: Option<Box<OwnWorktree>>,
}

/// The id and generation in which the work of a phase was begun that has another id now. Its key is made of them until it is
/// deliberately done anew.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlierKey {
    pub phase: PhaseId,
    pub generation: Generation,
    /// The generation that this work has under the present id.
    pub holds_in: Generation,
}

/// A phase that was taken as done: by whose word, when, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AdoptedPhase {
    pub by: String,
    pub at: Timestamp,
    /// The person's own words, where there are any.
    pub reason: Option<String>,
}

/// The question that a due probe answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ProbeDue {
    /// The attempt says that it is done.
    AfterTheRun(Box<Claimed>),
    /// The attempt was interrupted, or nobody knows how it ended.
    BeforeARerun(Box<Claimed>),
    /// The attempt was asked to end, and says that it is done.
    AfterAStop(Box<Claimed>),
    /// The attempt was cut short in the middle of an outward effect. If that is not there, this is its failure.
    AfterACut(Box<(Claimed, PhaseError)>),
}

/// The reason of the last end, for the next attempt: the value of `ONWARD_RESUME_REASON`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Before {
    Failed,
    TimedOut,
    CouldNotStart,
    NeverRan,
    Interrupted,
    Unknown,
    /// It was done, and is deliberately done anew.
    Redone,
    /// It asked for another plan, and there is one.
    Replanned,
    /// It was told to come back later.
    Limited,
    /// It had waited for a person's answer to a tool call, and there is one.
    Answered,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunningAttempt {
    pub number: Attempt,
    pub epoch: u64,
    pub boot: String,
    /// It outlived the driver that started it.
    pub adopted: bool,
    /// None on a first attempt.
    pub before: Option<Before>,
    /// The commit that was checked out when it began.
    pub head: Option<String>,
    /// Other phases were at work meanwhile: a commit that appeared may be theirs.
    pub beside_others: bool,
    /// The snapshot from which its files are put back first.
    pub clean: Option<String>,
    /// The snapshot of what was there before that.
    #[serde(default)]
    pub kept: Option<String>,
    /// A person wants it done once more: an end that nobody knows, or that we cause, is not asked about.
    #[serde(default)]
    pub redo: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PhaseStatus {
    Pending,
    Running,
    /// A person has to decide.
    Waiting,
    Completed,
    Failed,
    Skipped,
    Interrupted,
}

impl PhaseState {
    /// Whether its last attempt ended and left no record of that.
    pub fn ended_unknown(&self) -> bool {
        self.last_end == Some(Before::Unknown)
    }

    /// The number of the last attempt that counts, as people are told it.
    pub fn attempts_that_count(&self) -> u32 {
        self.attempts_told.unwrap_or(self.attempts)
    }

    pub(in crate::run) fn new() -> Self {
        Self {
            status: PhaseStatus::Pending,
            generation: Generation(1),
            earlier_key: None,
            attempts: 0,
            attempts_told: None,
            failures: 0,
            interruptions: 0,
            unknowns_in_a_row: 0,
            attempt: None,
            in_doubt: false,
            parked: false,
            left_out: false,
            not_before: None,
            started_at: None,
            ended_at: None,
            duration_ms: None,
            note: None,
            damage: None,
            summary: None,
            outputs: BTreeMap::new(),
            commit_sha: None,
            error: None,
            adopted: None,
            last_end: None,
            seen: None,
            probe: None,
            artifacts: Vec::new(),
            external: None,
            rounds: Vec::new(),
            left_running: Vec::new(),
            agent: None,
            tries: Vec::new(),
            requirements: RequirementState::default(),
            own: None,
            base: None,
            clean: false,
            opened: false,
        }
    }

    /// Completed or skipped: nothing is left to do here.
    pub fn is_finished(&self) -> bool {
        matches!(self.status, PhaseStatus::Completed | PhaseStatus::Skipped)
    }
}

impl Before {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::TimedOut => "timed-out",
            Self::CouldNotStart => "could-not-start",
            Self::NeverRan => "never-ran",
            Self::Interrupted => "interrupted",
            Self::Unknown => "unknown",
            Self::Redone => "redone",
            Self::Replanned => "replanned",
            Self::Limited => "rate-limited",
            Self::Answered => "answered",
        }
    }
}

impl PhaseStatus {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::Interrupted => "interrupted",
        }
    }
}
