//! The facts of a run, in the past tense. A run is nothing but the fold of these: read this file first.
//!
//! To add one: a variant here with what cannot be derived from earlier events; then what it does to the run
//! (`run/apply/`), who records it (`run/decide/` for what the outside reports, `run/settle.rs` for what follows from
//! the state), what it makes us want (`run/wanted.rs`), how it is shown (`view.rs` and the binary's `render/`), its
//! schema (`schemas/event.json`, generated), and what the simulator's oracle says of it.

mod agent;
mod attempt_end;
mod external_report;
mod imported;
mod messages_and_knowledge;
mod run_started;
mod stop;
mod tree;
mod worktree;

use std::collections::{BTreeMap, BTreeSet};

pub use agent::{AgentBegun, AgentEnded, AgentHow, CallAnswer, PlanningBill, nano_usd, usd};
pub use attempt_end::{Claimed, LeftRunning, Outcome};
pub use external_report::ExternalReport;
pub use imported::RunImported;
use jiff::Timestamp;
pub use messages_and_knowledge::{EVERYBODY, MessageKind, MessagePriority, MessageText, SharedFact};
pub use run_started::{ChangedBefore, RunStarted};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
pub use stop::{StopReason, StopRequest, Urgency};
pub use tree::{CommitRule, FilesBack, NoCommit, PhaseBack, RestoredState, RewindBegun, RunRewound, SnapshotRef};
pub use worktree::{WorktreeConflict, WorktreeFact};

use crate::checkpoint::{FileModified, Trigger};
use crate::evidence::{Around, Evidence, RequirementSeen, WorldSeen};
use crate::failure::FailureCode;
use crate::id::{Attempt, CheckpointId, Generation, PhaseId, RunId, Seq};
use crate::input::Bounds;
use crate::patch::Op;
use crate::plan::{Phase, PhaseMark, Plan};
use crate::replan::{Because, ReplanCause, Replanned};
use crate::resume::Finding;

/// An event with its place in the journal: when it happened and by whose hand.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    pub seq: Seq,
    pub at: Timestamp,
    pub actor: String,
    pub event: Event,
}

/// A durable fact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// The first event of every run: what is to be done, where, with which inputs.
    RunStarted(Box<RunStarted>),
    /// A driver started. It checks attempts of earlier epochs before it counts on them.
    DriverStarted {
        epoch: u64,
        host: String,
        pid: u32,
        boot: String,
        /// How many phases this driver runs side by side, where it was told.
        jobs: Option<u32>,
        orphans: Orphans,
        /// It was told to do this phase and no other.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        only: Option<PhaseId>,
        /// The commit that was checked out.
        #[serde(default)]
        head: Option<String>,
        /// How long it may wait and work.
        #[serde(default, skip_serializing_if = "Bounds::is_default")]
        bounds: Bounds,
        /// Variables of its process that decisions about the plan ask for.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        environment: BTreeMap<String, String>,
    },
    /// The state of the world (branch, probes, issue) when a driver began, with its findings.
    WorldSeen {
        world: Box<WorldSeen>,
        findings: Vec<Finding>,
    },
    /// The edited plan counts from here on. Phases keep their records by their ids.
    PlanRevised(Box<PlanRevised>),
    /// A finished phase whose files or definition have changed is kept as it is: this is what it is compared with now.
    StaleAccepted {
        phase: PhaseId,
        seen: Box<Evidence>,
    },
    /// The requirements of the plan, or of one of its phases, were checked.
    RequirementsSeen {
        phase: Option<PhaseId>,
        seen: Vec<RequirementSeen>,
    },
    /// The issue got the label of a phase that started.
    IssueLabelled {
        phase: PhaseId,
        /// The labels that were set for it; none where they were there.
        added: Vec<String>,
        removed: Vec<String>,
        /// All labels of the issue afterwards.
        labels: Vec<String>,
    },
    /// The labels of the issue could not be set. They are tried again with the next phase, or when the run goes on.
    IssueNotLabelled {
        phase: PhaseId,
        reason: String,
    },
    /// The run waits for another run of its group that is at work, or for a phase of that run.
    GroupAwaited {
        group: String,
        /// The run that is at work, where it has said who it is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<RunId>,
    },
    /// The run has its group to itself and may start phases.
    GroupEntered {
        group: String,
    },
    /// The intent to try a phase; durable before anything is started.
    AttemptStarted {
        phase: PhaseId,
        attempt: Attempt,
        generation: Generation,
        epoch: u64,
        boot: String,
        /// The snapshot from which the files that the phase writes are put back first.
        #[serde(default)]
        clean: Option<String>,
        /// The agent that does it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<Box<AgentBegun>>,
    },
    /// An attempt of an earlier driver still lives, or never began: this driver has it now.
    AttemptAdopted {
        phase: PhaseId,
        attempt: Attempt,
        epoch: u64,
        alive: bool,
    },
    /// An attempt is over, one way or another.
    AttemptEnded {
        phase: PhaseId,
        attempt: Attempt,
        outcome: Outcome,
        ended_at: Option<Timestamp>,
        duration_ms: Option<u64>,
        note: Option<String>,
        /// Its outputs, as far as they count only once its probe has answered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        claimed: Option<Box<Claimed>>,
        /// Why it has failed although it ended well: what it gave out cannot be read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<PhaseError>,
        /// The commit that was checked out when it ended.
        #[serde(default)]
        head: Option<String>,
        /// Processes that it left behind.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        left_running: Vec<LeftRunning>,
        /// Branch and issue when it ended, where they are not as they were last seen: what the run did itself is no change from
        /// outside.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        around: Option<Box<Around>>,
        /// The account of the agent that did it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<Box<AgentEnded>>,
        /// The last line that it printed, where it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        said: Option<String>,
        /// Why nobody knows how it ended although there is a record of it: the record is damaged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        damage: Option<String>,
        /// The agent's client was given a person's answer to the call that had waited: it is used up.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        answer_given: bool,
    },
    /// The `done-when` probe of a phase was run.
    PhaseProbed {
        phase: PhaseId,
        answer: ProbeAnswer,
        /// The error, where the effect is missing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<PhaseError>,
    },
    /// A phase is done, with its outputs and artifacts.
    PhaseCompleted {
        phase: PhaseId,
        summary: Option<String>,
        outputs: BTreeMap<String, String>,
        /// A person did it by hand and said so.
        adopted: bool,
        /// The person and the reason, where there is more to tell than who recorded it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        adoption: Option<Box<Adoption>>,
        /// The evidence it was done with; none where it was not gathered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seen: Option<Box<Evidence>>,
        /// The artifacts of the phase, as they were found.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        artifacts: Vec<ArtifactSeen>,
    },
    /// A person is asked whether the run may go on past a phase.
    ApprovalAsked {
        phase: PhaseId,
    },
    /// A person answered an approval, or nobody did in time and the plan gave the answer.
    ApprovalAnswered {
        phase: PhaseId,
        choice: String,
        by: String,
    },
    /// A person is asked whether the agent of a phase may make the tool call with which its last attempt ended.
    CallAsked {
        phase: PhaseId,
    },
    /// A person answered a tool call. The agent goes on in the same session.
    CallAnswered {
        phase: PhaseId,
        answer: CallAnswer,
        by: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// The answer to a tool call is handed to the agent's client: on record before the client hears it, so that it is good once.
    CallAnswerGiven {
        phase: PhaseId,
        attempt: Attempt,
    },
    /// A report about an external phase arrived, or none arrived for too long.
    Reported {
        phase: PhaseId,
        by: String,
        report: ExternalReport,
    },
    /// A phase has failed for good, as far as its retries go.
    PhaseFailed {
        phase: PhaseId,
        error: PhaseError,
    },
    /// A failed attempt is to be followed by another, not before this time.
    RetryScheduled {
        phase: PhaseId,
        not_before: Timestamp,
    },
    /// The attempt that just ended was rate-limited: it has not failed and uses no retry. Or another run was.
    LimitHit(Box<LimitHit>),
    /// The driver paused the run and ended; the run goes on when it is started again, not before `until` where that is known.
    RunPaused {
        reason: StopReason,
        until: Option<Timestamp>,
    },
    /// It is not known whether the outward effect of a phase happened; a person has to tell.
    PhaseInDoubt {
        phase: PhaseId,
    },
    /// A phase is open again with its counts renewed; a higher generation means its finished work is to be redone.
    PhaseReopened {
        phase: PhaseId,
        generation: Generation,
        /// The files it writes are restored before the next attempt.
        #[serde(default)]
        clean: bool,
    },
    /// A phase will not be done.
    PhaseSkipped {
        phase: PhaseId,
        #[serde(default)]
        by: SkippedBy,
    },
    /// A compound phase is ready: its needs are done and its `if` holds, so its children may start.
    PhaseExpanded {
        phase: PhaseId,
        /// Those that could not be known when the run started; they take the place of what it was taken apart into before.
        #[schemars(with = "Vec<serde_json::Value>")]
        children: Vec<Phase>,
    },
    /// All phases but those of `finally` have ended: the latter may start.
    MainPartEnded {
        result: RunResult,
    },
    /// All phases of a batch are finished.
    BatchCompleted {
        batch: u32,
    },
    /// The run was told to stop.
    StopAsked {
        by: StopRequest,
        urgency: Urgency,
    },
    /// The driver ended before the run did.
    RunStopped {
        reason: StopReason,
    },
    /// Nothing is left to do, or nothing that can be done.
    RunEnded {
        result: RunResult,
    },
    /// The run was archived: it is kept, and no start offers it.
    RunArchived,
    /// The free-form state of the run changed, by path.
    StateChanged {
        ops: Vec<Op>,
    },
    /// A checkpoint was taken of the run as it stands here.
    CheckpointTaken {
        id: CheckpointId,
        triggers: Vec<Trigger>,
        phase: Option<PhaseId>,
        name: Option<String>,
    },
    /// The working tree is kept under a hidden ref, for the checkpoints that waited for it.
    SnapshotTaken(SnapshotRef),
    /// The working tree could not be kept; the checkpoints that waited for it go without.
    SnapshotMissed {
        reason: String,
    },
    /// A commit of the last phases is due: the intent, durable before git is touched.
    CommitBegun {
        number: u32,
        /// Marks the lock on git's index as ours.
        token: String,
        head: Option<String>,
    },
    CommitMade {
        number: u32,
        commit: String,
        left_out: Vec<String>,
    },
    /// No commit was made.
    CommitLeft {
        number: u32,
        why: NoCommit,
    },
    /// A rewind was asked for: from here until it has ended nothing is started.
    RewindBegun(RewindBegun),
    /// The run stands where a checkpoint says it stood.
    RunRewound(RunRewound),
    /// The files could not be put back and are as they were before.
    RewindFailed {
        reason: String,
    },
    /// A phase asked for a revised plan. It has not failed, and is not tried again before there is one.
    ReplanAsked {
        phase: PhaseId,
        reason: String,
        cause: ReplanCause,
    },
    /// An agent was asked for a revised plan: its cost.
    PlanningPaid {
        phase: PhaseId,
        bill: PlanningBill,
    },
    /// A person allowed one more revision beyond the limits.
    ReplanAllowed,
    /// A revised plan waits for a person's approval.
    ReplanProposed {
        phase: PhaseId,
        #[schemars(with = "serde_json::Value")]
        plan: Box<Plan>,
    },
    /// No revised plan came of a request: a person has to decide.
    ReplanRefused {
        phase: PhaseId,
        because: Because,
        why: String,
    },
    /// A revised plan counts from here on. Finished phases stay finished.
    Replanned(Box<Replanned>),
    /// The plan in Markdown had phases marked as done or skipped when the run was started.
    MarkersTaken {
        completed: Vec<PhaseId>,
        skipped: Vec<PhaseId>,
    },
    /// The Markdown plan file was marked: a phase is done, its marker is set and its boxes are ticked.
    PhaseMarked {
        phase: PhaseId,
    },
    /// The Markdown plan file could not be marked. It is tried again when the run goes on.
    PhaseNotMarked {
        phase: PhaseId,
        reason: String,
    },
    /// A person accepted that markers in the plan file differ from the record; the record counts.
    MarkersSettled {
        marks: Vec<PhaseMark>,
    },
    /// The run was branched off a checkpoint of another: what it starts with.
    RunForked {
        from: RunId,
        checkpoint: CheckpointId,
        restored: RestoredState,
    },
    /// The run was imported from a file of another format, with all that the file says. One event for each file of a folder, the
    /// oldest first.
    RunImported(Box<RunImported>),
    /// Files changed against HEAD, or agree with it again: the difference to the last such event.
    FilesModified {
        changed: Vec<FileModified>,
        /// Paths that are as in the commit again.
        as_committed: Vec<String>,
        /// How many more are modified than are named.
        more: u64,
    },
    /// An agent shares something with the others.
    Shared {
        fact: Box<SharedFact>,
    },
    /// The git worktree of a phase was made, changed or removed.
    WorktreeChanged {
        phase: PhaseId,
        fact: Box<WorktreeFact>,
    },
    /// A mirror is not as it should be, or was changed by somebody else.
    MirrorTroubled {
        path: String,
        what: String,
    },
    /// People were told of an event, as the plan asks for. Which one follows from the number.
    NoticeSent {
        notice: u32,
    },
    /// People could not be told of an event: it is tried again at this time, or given up.
    NoticeFailed {
        notice: u32,
        reason: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_at: Option<Timestamp>,
    },
}

impl Event {
    /// The word for its kind, as it is stored.
    pub fn kind(&self) -> String {
        let stored = serde_json::to_value(self).unwrap_or_default();
        stored["type"].as_str().unwrap_or_default().to_owned()
    }
}

/// A limit was hit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LimitHit {
    /// The phase that was rate-limited; none where it was one of another run, or whoever makes another plan.
    pub phase: Option<PhaseId>,
    /// The limits that are closed by it; empty where only the phase itself has to wait.
    pub limits: BTreeSet<String>,
    pub until: Timestamp,
    /// The time was told; otherwise it is a guess.
    pub told: bool,
    /// The line that said so; empty where only the exit code did.
    pub said: String,
    /// The phase for which an agent was to make another plan when it was rate-limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replan: Option<PhaseId>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanRevised {
    #[schemars(with = "serde_json::Value")]
    pub plan: Plan,
    pub plan_digest: String,
    pub plan_text: String,
    /// Phases that keep their record under another id: the old one and the new one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub renamed: Vec<(PhaseId, PhaseId)>,
}

/// A file or folder that a phase left behind, inside the project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArtifactSeen {
    pub name: String,
    pub path: String,
    pub bytes: u64,
    /// BLAKE3 of its content.
    pub digest: String,
    /// It is a research report.
    #[serde(default)]
    pub report: bool,
    /// A copy of it was put into the store.
    #[serde(default)]
    pub kept: bool,
    /// How long the copy stays, where it does not stay as long as the run.
    #[serde(default)]
    pub kept_until: Option<Timestamp>,
    /// Why there is no copy, although the plan asks for one.
    #[serde(default)]
    pub not_kept: Option<String>,
}

/// The answer of a probe to the question whether the effect of a phase is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProbeAnswer {
    Done,
    NotDone,
    CannotTell,
}

/// A person's word that a phase counts as done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Adoption {
    /// The person; none where it is whoever recorded the event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The cause why a phase is skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SkippedBy {
    #[default]
    Person,
    /// Its `if` does not hold.
    Condition,
    /// The phase that it is a part of is over.
    Parent,
    /// All its parts were skipped.
    Parts,
    /// It failed, and says `on-failure: skip`.
    Failure,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunResult {
    Completed,
    Failed,
}

/// The treatment of attempts that outlived their driver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Orphans {
    #[default]
    Wait,
    Kill,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseError {
    pub code: FailureCode,
    pub message: String,
}
