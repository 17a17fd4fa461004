//! Inputs: what the world tells the core.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::checkpoint::{FileModified, Trigger};
use crate::event::{
    AgentEnded, LeftRunning, NoCommit, Orphans, Outcome, PlanRevised, PlanningBill, RestoredState, RewindBegun,
    RunImported, RunResult, RunRewound, SharedFact, SnapshotRef, StopRequest, WorktreeFact,
};
use crate::evidence::{Around, Evidence, RequirementSeen, WorldSeen};
use crate::id::{Attempt, CheckpointId, PhaseId, RunId};
use crate::patch::Op;
use crate::plan::{PhaseMark, Plan};
use crate::replan::{Because, ReplanLimits};
use crate::resume::Finding;
use crate::run::verification::Proof;

#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// A driver has the lease and begins, or goes on.
    Begin(Begin),
    /// An attempt of an earlier driver was looked at.
    AttemptFound {
        phase: PhaseId,
        attempt: Attempt,
        alive: bool,
    },
    AttemptEnded {
        phase: PhaseId,
        attempt: Attempt,
        end: AttemptEnd,
    },
    /// The probe `done-when` of a phase has answered.
    Probed {
        phase: PhaseId,
        proof: Box<Proof>,
    },
    /// The requirements of a phase were checked.
    Required {
        phase: PhaseId,
        seen: Vec<RequirementSeen>,
    },
    /// The issue was to say that a phase has started.
    IssueLabelled {
        phase: PhaseId,
        set: Result<LabelsSet, String>,
    },
    /// The plan that was asked for by a replan, or why there is none.
    Replan {
        phase: PhaseId,
        plan: Result<Box<Plan>, String>,
    },
    /// The bill of an agent that was asked for another plan, with the answer: nothing is started between the two.
    PlanningPaid {
        phase: PhaseId,
        bill: PlanningBill,
        answer: Box<Input>,
    },
    /// The agent that was to make another plan was rate-limited; none: nobody said until when.
    ReplanLimited {
        phase: PhaseId,
        agent: String,
        until: Option<Timestamp>,
        said: String,
    },
    /// Nobody drives the run, though nobody said so: whoever notices it writes it down.
    DriverGone,
    /// A signal, or a second one of the same kind.
    StopAsked {
        by: StopRequest,
    },
    /// The files that are not as the commit that is checked out has them, as the next snapshot will show them.
    TreeSeen {
        files: Vec<FileModified>,
    },
    /// A new run is taken over from a file.
    Import(Box<ImportStep>),
    /// Mirrors are not as they should be.
    Mirrored {
        told: Vec<MirrorTold>,
    },
    /// The working tree was to be kept.
    Snapshotted(Result<SnapshotRef, String>),
    /// The working tree was kept before an attempt puts back what its phase writes.
    KeptBeforeClean {
        phase: PhaseId,
        attempt: Attempt,
        snapshot: SnapshotRef,
    },
    /// A worktree was made, its files were to come into the project, or it was to be removed: what came of it, or why nothing did.
    Worktree {
        phase: PhaseId,
        found: Result<Box<WorktreeFact>, String>,
    },
    /// The commit that was begun was to be made.
    Committed {
        number: u32,
        made: Result<Made, NoCommit>,
    },
    /// The plan's file in Markdown was to say that a phase is done.
    PhaseMarked {
        phase: PhaseId,
        marked: Result<(), String>,
    },
    /// People were to be told of an event.
    Notified {
        notice: u32,
        sent: Result<(), String>,
    },
    /// Somebody wants to go back to a checkpoint.
    Rewind(RewindBegun),
    /// The files are back, or as they were before; the checkpoint says what the run is to be.
    Rewound(Result<Box<RunRewound>, String>),
    /// A new run begins where a checkpoint of another one stood.
    Forked {
        from: RunId,
        checkpoint: CheckpointId,
        restored: Box<RestoredState>,
    },
    /// Another run has hit a limit that this one may draw on.
    LimitElsewhere(ClosedElsewhere),
    /// The group that the run waits for was checked: whether its turn has come.
    GroupSeen(GroupSeen),
    /// Time has passed; what was waiting for it may go on.
    Tick,
    /// A message from another process.
    Posted(Posted),
}

/// The labels of an issue after they were set, and what was changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelsSet {
    pub added: Vec<String>,
    pub removed: Vec<String>,
    pub labels: Vec<String>,
}

/// A mirror, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MirrorTold {
    /// From the top of the project.
    pub path: String,
    pub what: String,
}

/// One file that a new run is taken over from.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportStep {
    pub imported: RunImported,
    /// The free-form state, where the file has one.
    pub state: Option<Map<String, Value>>,
    /// The checkpoint that the file is, under its own name where it has one.
    pub checkpoint: Option<CheckpointId>,
    pub triggers: Vec<Trigger>,
    pub phase: Option<PhaseId>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Begin {
    pub epoch: u64,
    pub host: String,
    pub pid: u32,
    pub boot: String,
    pub jobs: Option<u32>,
    pub orphans: Orphans,
    /// The commit that is checked out.
    pub head: Option<String>,
    /// Variables of the process, as [`crate::run::context::variables_asked_for`] names them.
    pub environment: BTreeMap<String, String>,
    /// Failed phases are tried again with their retries renewed.
    pub renew: bool,
    pub choices: Vec<(PhaseId, Choice)>,
    pub resumption: Resumption,
    pub bounds: Bounds,
    /// Limits that other runs have hit and that are still closed.
    pub closed: Vec<ClosedElsewhere>,
    /// The group of the run, where another one of it is at work.
    pub busy: Option<Box<BusyGroup>>,
}

/// The state of a group of runs, as one that waits for it finds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupSeen {
    /// It is this one's turn.
    Entered,
    /// Another run is at work, perhaps without having said who it is.
    Busy { by: Option<RunId> },
}

/// A group that is busy when a driver begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BusyGroup {
    pub group: String,
    pub by: Option<RunId>,
}

/// A limit that another run has hit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClosedElsewhere {
    pub limit: String,
    pub until: Timestamp,
    /// The time was told; otherwise it is a guess.
    pub told: bool,
}

/// How long a driver may wait and work, and what the run may cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Bounds {
    /// The longest wait for a limit; none: as the plan says.
    #[serde(default)]
    pub wait_limit: Option<Duration>,
    /// Then it stops, whatever is left.
    #[serde(default)]
    pub deadline: Option<Timestamp>,
    /// The largest cost of all agents of the run, all attempts ever; none: as an earlier start said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_nano_usd: Option<u64>,
}

impl Bounds {
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The findings of a start and the answers that were given, for the run that is resumed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Resumption {
    /// The edited plan, where it is to count.
    pub revised: Option<Box<PlanRevised>>,
    pub world: Option<Box<WorldSeen>>,
    pub findings: Vec<Finding>,
    /// Whether what the plan requires is there.
    pub requirements: Vec<RequirementSeen>,
    /// Finished phases that have changed and are kept, with what they are compared with from now on.
    pub accepted: Vec<(PhaseId, Evidence)>,
    /// Finished phases that are to be done again.
    pub rerun: Vec<PhaseId>,
    /// This one, and all that needs it, is to be done again.
    pub from: Option<PhaseId>,
    /// No other phase is to be started.
    pub only: Option<PhaseId>,
    /// Whether one revision is let through that the limits forbid.
    pub replan_limits: ReplanLimits,
    /// The words of the plan's file in Markdown about phases of which the record says something else.
    pub marks: Vec<PhaseMark>,
    /// Attempts that are over and that nobody has recorded: they are judged by the plan under which they were started, before the
    /// edited one counts.
    pub ends: Vec<EndFound>,
}

/// The end of an attempt, found while nobody drove its run.
#[derive(Clone, Debug, PartialEq)]
pub struct EndFound {
    pub phase: PhaseId,
    pub attempt: Attempt,
    pub end: AttemptEnd,
}

/// A person's answer about one phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    Retry,
    /// The same, after what it writes was put back.
    RetryClean,
    Skip,
    Adopt,
}

/// Everything the attendant's record and the attempt's files tell about its end.
#[derive(Clone, Debug, PartialEq)]
pub struct AttemptEnd {
    pub outcome: Outcome,
    pub ended_at: Option<Timestamp>,
    pub duration_ms: Option<u64>,
    pub note: Option<String>,
    pub summary: Option<String>,
    /// The outputs of the phase, or why they cannot be read.
    pub outputs: Result<BTreeMap<String, String>, String>,
    /// The files it was done with and left behind.
    pub seen: Option<Box<Evidence>>,
    /// The commit that is checked out now.
    pub head: Option<String>,
    /// Branch and issue, where somebody looked.
    pub around: Option<Box<Around>>,
    /// The end of its output, where it failed.
    pub last_words: Option<Box<LastWords>>,
    /// Processes that it left behind.
    pub left_running: Vec<LeftRunning>,
    /// The account of the agent that did it.
    pub agent: Option<Box<AgentEnded>>,
    /// Its client was given the answer to the call that had waited, or may have been.
    pub answer_given: bool,
    /// The damage of the record that would tell how it ended.
    pub damage: Option<String>,
}

/// The last lines that a failed attempt printed; secrets are cut out, the length is limited.
#[derive(Clone, Debug, PartialEq)]
pub struct LastWords {
    pub text: String,
    /// For clock times without a zone.
    pub local: TimeZone,
}

/// A commit of the last phases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    pub commit: String,
    pub left_out: Vec<String>,
}

impl AttemptEnd {
    /// An end of which nothing but the manner is known.
    pub fn bare(outcome: Outcome) -> Self {
        Self {
            outcome,
            ended_at: None,
            duration_ms: None,
            note: None,
            summary: None,
            outputs: Ok(BTreeMap::new()),
            seen: None,
            head: None,
            around: None,
            last_words: None,
            left_running: Vec::new(),
            agent: None,
            answer_given: false,
            damage: None,
        }
    }
}

/// Requests of other processes to the driver; stored in the inbox until they are answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub enum Posted {
    Checkpoint {
        name: Option<String>,
    },
    /// An agent is about to lose what it knows: a checkpoint without the files, where anything changed since the last one.
    SessionEnd,
    Archive,
    /// Start nothing more; what is at work comes to its end.
    Pause,
    /// End what is at work, and put the run away.
    Cancel,
    /// A person's answer about one phase.
    Choose {
        phase: PhaseId,
        choice: Choice,
        /// The person; none where it is whoever records it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// Why, in the person's own words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A wish for another plan by the one who does a phase; without a plan the command that makes plans is asked for one.
    Replan {
        phase: PhaseId,
        reason: String,
        plan: Option<Box<Plan>>,
    },
    /// A person's answer about a plan that was proposed.
    SettleReplan {
        phase: PhaseId,
        answer: Consent,
    },
    /// Merges into the free-form state (RFC 7396).
    Merge {
        patch: Map<String, Value>,
    },
    /// Changes the free-form state by path, and takes a checkpoint. A run without phases may end with it.
    Change {
        ops: Vec<Op>,
        ends: Option<RunResult>,
    },
    /// Replaces the free-form state, and takes a checkpoint. A `status` of `completed` or `failed` in it ends the run.
    Save {
        state: Map<String, Value>,
    },
    /// A person's answer to an approval, or to the tool call that an agent waits for.
    Answer {
        phase: PhaseId,
        /// The answer as it was typed; the plan knows which choice that is.
        choice: String,
        by: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// The tool call that was shown, where it is one that is answered: another one is not meant.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<String>,
    },
    /// The hook of an agent's client is about to hand over the answer to a tool call.
    GiveCallAnswer {
        phase: PhaseId,
        attempt: Attempt,
    },
    /// An agent shares something with the others.
    Share {
        fact: Box<SharedFact>,
    },
    /// A report about an external phase.
    Report {
        phase: PhaseId,
        by: String,
        says: Says,
        /// How hard the phase turned out to be, where they say so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        complexity: Option<u32>,
    },
}

/// A report of somebody else about an external phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Says {
    Start,
    Progress { note: Option<String> },
    Done(Box<DoneSaid>),
    Fail { reason: String },
}

/// A claim to be done, with what a program saw when it looked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DoneSaid {
    pub summary: Option<String>,
    pub outputs: BTreeMap<String, String>,
    pub commit: Option<String>,
    #[serde(default)]
    pub commit_is: CommitIs,
    /// The remaining work, in the reporter's words.
    pub remaining: String,
    pub proof: Proof,
    /// The files it was done with and left behind.
    #[serde(default)]
    pub seen: Option<Box<Evidence>>,
}

/// Whether a commit that somebody names is one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommitIs {
    /// It is in the repository; or nothing was claimed that had to be looked at.
    #[default]
    Known,
    Unknown,
    /// There is no repository that could know it.
    NoRepository,
}

/// Whether a person agrees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Consent {
    Yes,
    No,
}

/// The driver's reply to a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Reply {
    Checkpoint {
        id: String,
    },
    Done,
    Refused {
        reason: String,
    },
    /// The request cannot be stored: it, or its result, is too large, too deep, or would not read back as it was sent.
    Unfit {
        reason: String,
    },
    /// A claim does not hold: the phase stays open.
    Overruled {
        reason: String,
    },
    /// No other plan counts, at least not yet; `because` is none where the plan waits for a person.
    NotReplanned {
        because: Option<Because>,
        why: String,
    },
}
