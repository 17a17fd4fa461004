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
mod run_started;
mod shared;
mod stop;
mod tree;
mod worktree;

use std::collections::{BTreeMap, BTreeSet};

pub use agent::{AgentBegun, AgentEnded, AgentHow, CallAnswer, nano_usd, usd};
pub use attempt_end::{Claimed, LeftRunning, Outcome};
pub use external_report::ExternalReport;
pub use imported::RunImported;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
pub use shared::{EVERYBODY, MessageKind, MessagePriority, MessageText, SharedFact};
pub use stop::{StopReason, StopRequest, Urgency};
pub use tree::{CommitRule, FilesBack, NoCommit, PhaseBack, RestoredState, RewindBegun, RunRewound, SnapshotRef};
pub use worktree::{WorktreeConflict, WorktreeFact};

use crate::checkpoint::{FileFormat, FileModified, Trigger};
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
    /// A process took the run in hand. Attempts of an earlier epoch are somebody else's until they were looked at.
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
    /// The world around the run as a driver found it when it began, with the findings from it.
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
    /// It was looked whether what the plan requires is there, or what one of its phases requires.
    RequirementsSeen {
        phase: Option<PhaseId>,
        seen: Vec<RequirementSeen>,
    },
    /// The issue says by its labels that a phase has started.
    IssueLabelled {
        phase: PhaseId,
        /// The labels that were set for it; none where they were there.
        added: Vec<String>,
        removed: Vec<String>,
        /// All labels of the issue afterwards.
        labels: Vec<String>,
    },
    /// The issue could not be made to say so. It is tried again with the next phase, or when the run goes on.
    IssueNotLabelled {
        phase: PhaseId,
        reason: String,
    },
    /// Another run of its group is at work, or a phase of that one: nothing is started before it is this one's turn.
    GroupAwaited {
        group: String,
        /// The run that is at work, where it has said who it is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<RunId>,
    },
    /// It was the run's turn in its group.
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
        /// The agent's client was given a person's answer to the call that had waited: it is used up.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        answer_given: bool,
    },
    /// The probe `done-when` of a phase was asked.
    PhaseProbed {
        phase: PhaseId,
        answer: ProbeAnswer,
        /// The error, where the effect is missing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<PhaseError>,
    },
    /// A phase is done, and what it gave out.
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
    /// The person said what is to be, or nobody did in time and the plan says what that means.
    ApprovalAnswered {
        phase: PhaseId,
        choice: String,
        by: String,
    },
    /// A person is asked whether the agent of a phase may make the tool call with which its last attempt ended.
    CallAsked {
        phase: PhaseId,
    },
    /// The person said so. The agent goes on in the same session.
    CallAnswered {
        phase: PhaseId,
        answer: CallAnswer,
        by: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Whoever does an external phase was heard, or not heard for too long.
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
    /// The attempt that just ended was turned away by a limit: it has not failed and uses no retry. Or another run was.
    LimitHit(Box<LimitHit>),
    /// The driver let go of the run, which goes on when it is started again, not before `until` where that is known.
    RunPaused {
        reason: StopReason,
        until: Option<Timestamp>,
    },
    /// Nobody knows whether the outward effect of a phase happened; only a person can tell.
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
    /// The turn of a phase that consists of others has come: what it needs is there and its `if` holds, so they may start.
    PhaseExpanded {
        phase: PhaseId,
        /// Those that could not be known when the run started; they take the place of what it was taken apart into before.
        #[schemars(with = "Vec<serde_json::Value>")]
        children: Vec<Phase>,
    },
    /// All but the phases of `finally` has come to its end: their turn has come.
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
    /// The driver let go of the run before its end.
    RunStopped {
        reason: StopReason,
    },
    /// Nothing is left to do, or nothing that can be done.
    RunEnded {
        result: RunResult,
    },
    /// The run was put away; it is kept, but no longer in anybody's way.
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
    /// A phase wants another plan. It has neither failed nor is it tried again before one is there.
    ReplanAsked {
        phase: PhaseId,
        reason: String,
        cause: ReplanCause,
    },
    /// A person lets one more revision through, whatever the limits say.
    ReplanAllowed,
    /// Another plan is there, and waits for a person.
    ReplanProposed {
        phase: PhaseId,
        #[schemars(with = "serde_json::Value")]
        plan: Box<Plan>,
    },
    /// No other plan came of it: only a person can say how it goes on.
    ReplanRefused {
        phase: PhaseId,
        because: Because,
        why: String,
    },
    /// Another plan counts from here on. What is finished stays finished.
    Replanned(Box<Replanned>),
    /// The plan in Markdown said when the run was started how far it was: these phases were done, and these left out.
    MarkersTaken {
        completed: Vec<PhaseId>,
        skipped: Vec<PhaseId>,
    },
    /// The plan's file in Markdown says that a phase is done: its marker is set and its boxes are ticked.
    PhaseMarked {
        phase: PhaseId,
    },
    /// The plan's file in Markdown could not be made to say so. It is tried again when the run goes on.
    PhaseNotMarked {
        phase: PhaseId,
        reason: String,
    },
    /// A person has seen that the plan's file says this of phases of which the run knows something else, and the run goes on
    /// with what it knows.
    MarkersSettled {
        marks: Vec<PhaseMark>,
    },
    /// The run was branched off a checkpoint of another: what it starts with.
    RunForked {
        from: RunId,
        checkpoint: CheckpointId,
        restored: RestoredState,
    },
    /// The run was taken over from a file of another format: how it stands there, with all that the file says. Once for
    /// every file of a folder, the oldest first.
    RunImported(Box<RunImported>),
    /// Files are no longer as the commit that is checked out has them, or are so again: the difference to what was known.
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
    /// Something has happened to the git worktree in which a phase works.
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
    /// The phase that was turned away; none where it was one of another run, or whoever makes another plan.
    pub phase: Option<PhaseId>,
    /// The limits that are closed by it; empty where only the phase itself has to wait.
    pub limits: BTreeSet<String>,
    pub until: Timestamp,
    /// The time was told; otherwise it is a guess.
    pub told: bool,
    /// The line that said so; empty where only the exit code did.
    pub said: String,
    /// The phase for which an agent was to make another plan when it was turned away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replan: Option<PhaseId>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunStarted {
    pub run: RunId,
    /// The key of "the same work": plan path and inputs.
    pub work: String,
    #[schemars(with = "serde_json::Value")]
    pub plan: Plan,
    pub plan_path: String,
    pub plan_digest: String,
    /// The hash of the plan's text: a file with the same text needs no reading to be known. Where it uses others, theirs are
    /// part of it, and their paths follow, a line each.
    #[serde(default)]
    pub plan_text: String,
    pub inputs: BTreeMap<String, String>,
    /// The inputs as they were given, before defaults.
    #[serde(default)]
    pub given: BTreeMap<String, String>,
    pub project: String,
    pub title: String,
    pub branch: Option<String>,
    /// The triggers that take a checkpoint in this run.
    pub triggers: Vec<Trigger>,
    /// Whether checkpoints come with a snapshot of the working tree.
    #[serde(default)]
    pub snapshots: bool,
    #[serde(default)]
    pub commits: Option<CommitRule>,
    /// Formats of other tools that are kept alongside.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mirrors: Vec<FileFormat>,
    /// The folder of those that are folders; `{issue}` stands for the issue, else the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mirror_folder: Option<String>,
    /// Where phases run, if not at the top of the project: a working tree of the run's own.
    #[serde(default)]
    pub worktree: Option<String>,
    /// Files that were not as HEAD has them when the run began. None where nobody looked: it makes no commits, or git gave no
    /// answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_before: Option<ChangedBefore>,
}

/// Changes that are none of a run's work: modified, staged or untracked before it began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedBefore {
    /// By the path from the top of the project; the value changes when somebody writes to the file.
    pub paths: BTreeMap<String, String>,
    /// There were more than are kept: then nothing is known of the others.
    #[serde(default)]
    pub too_many: bool,
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
