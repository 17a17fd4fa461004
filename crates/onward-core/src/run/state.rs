//! The state of a run at one position of its journal.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::agents::AgentState;
use super::external_phases::ExternalState;
use super::index::PlanIndex;
use super::issue_labels::IssueLabels;
use super::limits::LimitState;
use super::notices::Outbox;
use super::plan_marks::PlanMarks;
use super::readiness::Readiness;
use super::replans::Replans;
use super::requirements::RequirementState;
use super::vcs::Vcs;
use crate::checkpoint::{PatchDebt, Sections, Trigger};
use crate::data_size::Size;
use crate::event::{
    ArtifactSeen, Claimed, Event, LeftRunning, Orphans, PhaseError, Recorded, RunResult, RunStarted, StopReason,
    StopRequest, Urgency,
};
use crate::evidence::{Evidence, LastLook};
use crate::id::{Attempt, CheckpointId, Generation, PhaseId, RunId, Seq};
use crate::ids_and_keys::IdTry;
use crate::patch::Op;
use crate::plan::{Phase, Plan};

/// A run, folded from its journal. What is stored of it, in the fold cache, is all but the fields that are skipped.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Run {
    pub id: RunId,
    pub seq: Seq,
    #[serde(with = "super::cache::by_name")]
    pub started: Arc<RunStarted>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub archived: bool,
    /// Set by [`Event::RunEnded`], cleared when a driver goes on.
    pub result: Option<RunResult>,
    /// Set when told to stop, cleared when a driver goes on.
    pub stop: Option<(StopRequest, Urgency)>,
    /// When that was last said.
    pub(super) stop_asked_at: Option<Timestamp>,
    /// The driver let go.
    pub stopped: Option<StopReason>,
    /// The epoch of the driver that has the run, or had it last.
    pub epoch: u64,
    pub boot: String,
    /// Variables of the last driver's process, as far as decisions ask for them.
    pub environment: BTreeMap<String, String>,
    pub jobs: Option<u32>,
    pub orphans: Orphans,
    pub last_checkpoint: Option<CheckpointId>,
    /// The one phase that this driver is to do.
    pub(super) only: Option<PhaseId>,
    /// How all but the phases of `finally` ended, from then on until something of it is opened again.
    pub(super) main_ended: Option<RunResult>,
    /// The findings of the last driver's start.
    pub(super) look: Option<Arc<LastLook>>,
    /// Records of phases that the plan no longer has; they come back if the phase does.
    pub(super) removed: BTreeMap<PhaseId, PhaseState>,
    /// Free-form: what scripts and agents want to find again. Always an object.
    pub state: Value,
    /// The stored sections of a checkpoint.
    pub(super) sections: Sections,
    /// The last trouble with each mirror, by its path.
    pub(super) mirror_troubles: BTreeMap<String, String>,
    /// The changes since the last checkpoint: the next one is a patch of just this.
    pub(crate) dirty: Dirty,
    pub(super) phases: Vec<PhaseState>,
    /// The plan is another one than at the last checkpoint: the next one is whole.
    pub(crate) whole_is_due: bool,
    /// Snapshots and mini-commits of the run.
    pub vcs: Vcs,
    /// The markers: what is to be said in the plan's file in Markdown, and what it said last.
    #[serde(default)]
    pub marks: PlanMarks,
    /// Notices to people that are still to be sent.
    #[serde(default)]
    pub(super) outbox: Outbox,
    /// Labels that the issue is still to be given.
    #[serde(default)]
    pub labels: IssueLabels,
    /// Other plans that were asked for, and those that were made.
    pub replans: Replans,
    /// Which limits are closed, and how long this driver may wait.
    pub limits: LimitState,
    /// Checkpoints that are to be taken, the oldest first.
    pub(super) due: VecDeque<Due>,
    /// The phase that was settled last.
    pub(super) settled_last: Option<PhaseId>,
    pub(super) batches_recorded: BTreeSet<u32>,
    /// Not folded: the caller tells it after each append, so that small documents are whole now and then.
    #[serde(skip)]
    pub behind: PatchDebt,
    /// Not folded: raised while an append is tried again whose checkpoints had ids that are taken.
    #[serde(skip)]
    pub ids: IdTry,
    #[serde(skip)]
    pub(super) derived: DerivedState,
}

/// Worked out from the rest of a run, and kept up to date for speed only.
#[derive(Clone, Debug, Default)]
pub(super) struct DerivedState {
    pub(super) index: Arc<PlanIndex>,
    /// How large the free-form state is.
    pub(super) state_size: Size,
    /// Phases that could start now, in the order in which they should.
    pub(super) ready: BTreeSet<(u8, u8, usize)>,
    pub(super) delayed: BTreeSet<(Timestamp, usize)>,
    /// Phases that require something that is not there.
    pub(super) unmet: BTreeSet<usize>,
    pub(super) running: BTreeSet<usize>,
    pub(super) in_doubt: BTreeSet<usize>,
    /// Phases that wait for their probe.
    pub(super) probing: BTreeSet<usize>,
    /// Phases that others could take in hand now.
    pub(super) for_others: BTreeSet<usize>,
    /// Phases that wait for a person, or at which somebody else is at work.
    pub(super) external: BTreeSet<usize>,
    pub(super) with_error: BTreeSet<usize>,
    /// Whether it is the turn of each phase.
    pub(super) readiness: Vec<Readiness>,
    /// Phases that will not be done, and those that consist of others whose turn has come.
    pub(super) to_skip: BTreeSet<usize>,
    pub(super) to_open: BTreeSet<usize>,
    pub(super) batch_left: Vec<u32>,
    pub(super) finished: usize,
    /// Those of the finished ones that were skipped.
    pub(super) skipped: usize,
    pub(super) failed: usize,
}

/// The changes since the last checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Dirty {
    pub(crate) phases: BTreeSet<usize>,
    pub(crate) state: Vec<Op>,
    /// Below the sections.
    pub(crate) sections: Vec<Op>,
}

/// A checkpoint that is to be taken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Due {
    pub(super) triggers: Vec<Trigger>,
    pub(super) phase: Option<PhaseId>,
    /// It comes with a snapshot of the working tree, where there is one to be had.
    pub(super) waits: bool,
}

#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own, and any of them may hold beside the others"
)]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseState {
    pub status: PhaseStatus,
    pub generation: Generation,
    /// The number of the last attempt; 0 before the first.
    pub attempts: u32,
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
    pub not_before: Option<Timestamp>,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    pub duration_ms: Option<u64>,
    pub note: Option<String>,
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
    /// Whether what it requires is there.
    #[serde(default)]
    pub requirements: RequirementState,
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    Running,
    /// It goes on when it is started again, and should be.
    Paused,
    /// The rest is for others to do.
    Waiting,
    Interrupted,
    Failed,
    Completed,
    Archived,
}

/// Why a driver has nothing more to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    Completed,
    Failed,
    Stopped(StopReason),
}

impl Run {
    pub(super) fn from_first(first: &Recorded) -> Option<Self> {
        let Event::RunStarted(started) = &first.event else { return None };
        let mut run = Self {
            id: started.run.clone(),
            seq: first.seq,
            created_at: first.at,
            updated_at: first.at,
            archived: false,
            result: None,
            stop: None,
            stop_asked_at: None,
            stopped: None,
            epoch: 0,
            boot: String::new(),
            environment: BTreeMap::new(),
            jobs: None,
            orphans: Orphans::Wait,
            last_checkpoint: None,
            only: None,
            main_ended: None,
            look: None,
            removed: BTreeMap::new(),
            state: Value::Object(Map::new()),
            sections: Sections { artifact_paths: started.plan.paths.clone(), ..Sections::default() },
            mirror_troubles: BTreeMap::new(),
            dirty: Dirty::default(),
            phases: vec![PhaseState::new(); started.plan.phases.len()],
            whole_is_due: false,
            vcs: Vcs::default(),
            marks: PlanMarks::of(&started.plan),
            outbox: Outbox::default(),
            labels: IssueLabels::default(),
            replans: Replans::default(),
            limits: LimitState::default(),
            due: VecDeque::new(),
            settled_last: None,
            batches_recorded: BTreeSet::new(),
            behind: PatchDebt::default(),
            ids: IdTry::FIRST,
            derived: DerivedState::default(),
            started: Arc::new((**started).clone()),
        };
        run.derive();
        run.name_the_team();
        run.make_due(Trigger::RunStart, None);
        Some(run)
    }

    /// Phases that changed since the last checkpoint, with their place in the plan.
    pub(crate) fn dirty_phases(&self) -> impl Iterator<Item = (usize, &Phase, &PhaseState)> {
        self.dirty.phases.iter().map(|&at| (at, &self.plan().phases[at], &self.phases[at]))
    }

    /// Whether the newest checkpoint does not tell how the run stands.
    pub fn is_changed_since_checkpoint(&self) -> bool {
        let dirty = !self.dirty.phases.is_empty() || !self.dirty.state.is_empty() || !self.dirty.sections.is_empty();
        dirty || self.whole_is_due || self.last_checkpoint.is_none()
    }

    pub(crate) fn dirty_state(&self) -> &[Op] {
        &self.dirty.state
    }

    pub(crate) fn dirty_sections(&self) -> &[Op] {
        &self.dirty.sections
    }

    pub fn plan(&self) -> &Plan {
        &self.started.plan
    }

    pub fn phase_state(&self, id: &PhaseId) -> Option<&PhaseState> {
        self.derived.index.by_id.get(id).map(|&at| &self.phases[at])
    }

    /// Phases of the plan with what is known of them, in the order of the plan.
    pub fn phases(&self) -> impl Iterator<Item = (&Phase, &PhaseState)> {
        self.plan().phases.iter().zip(&self.phases)
    }

    /// Every phase that was ever tried, with the number of its last attempt; those too that the plan no longer has.
    pub fn tried(&self) -> impl Iterator<Item = (&PhaseId, u32)> {
        let present = self.phases().map(|(phase, state)| (&phase.id, state));
        let all = present.chain(&self.removed).map(|(id, state)| (id, state.attempts));
        all.filter(|(_, attempts)| *attempts > 0)
    }

    /// Phases that the plan no longer has, with what is known of them.
    pub fn removed(&self) -> impl Iterator<Item = (&PhaseId, &PhaseState)> {
        self.removed.iter()
    }

    /// Phases at work, in the order of the plan.
    pub fn running(&self) -> impl Iterator<Item = (&Phase, &PhaseState)> {
        self.derived.running.iter().map(|&at| (&self.plan().phases[at], &self.phases[at]))
    }

    /// Phases that only a person can settle.
    pub fn in_doubt(&self) -> impl Iterator<Item = &PhaseId> {
        self.derived.in_doubt.iter().map(|&at| &self.plan().phases[at].id)
    }

    /// The findings of the last driver's start.
    pub fn last_look(&self) -> Option<&LastLook> {
        self.look.as_deref()
    }

    /// The branch on which the run was last seen: at the end of its last attempt, or when a driver began. None where HEAD was
    /// detached.
    pub fn branch(&self) -> Option<&str> {
        match &self.look {
            Some(look) => look.world.branch.as_deref(),
            None => self.started.branch.as_deref(),
        }
    }

    pub fn phases_total(&self) -> usize {
        self.phases.len()
    }

    /// Completed and skipped phases.
    pub fn phases_finished(&self) -> usize {
        self.derived.finished
    }

    pub fn phases_skipped(&self) -> usize {
        self.derived.skipped
    }

    /// Batches of the plan as phase ids.
    pub fn batches(&self) -> Vec<Vec<PhaseId>> {
        self.derived
            .index
            .batches
            .iter()
            .map(|b| b.iter().map(|&at| self.plan().phases[at].id.clone()).collect())
            .collect()
    }

    /// Batches of which all phases are finished.
    pub fn batches_completed(&self) -> usize {
        self.derived.batch_left.iter().filter(|left| **left == 0).count()
    }

    /// The status as the journal knows it. Whether a driver really lives is not in the journal: a run that is
    /// `Running` here and that nobody drives is interrupted.
    pub fn status(&self) -> RunStatus {
        if self.vcs.rewinding.is_some() && !self.archived {
            // Whatever it was before: it is on its way to something else.
            return RunStatus::Interrupted;
        }
        match (self.archived, self.result, self.stopped) {
            (true, _, _) => RunStatus::Archived,
            (false, Some(RunResult::Completed), _) => RunStatus::Completed,
            (false, Some(RunResult::Failed), _) => RunStatus::Failed,
            (false, None, Some(reason)) if reason.is_a_pause() => RunStatus::Paused,
            (false, None, Some(StopReason::Waiting)) => RunStatus::Waiting,
            (false, None, Some(StopReason::Question)) if self.replans.only_wait_for_approval() => RunStatus::Waiting,
            (false, None, Some(_)) => RunStatus::Interrupted,
            (false, None, None) if self.others_are_at_work() => RunStatus::Waiting,
            (false, None, None) => RunStatus::Running,
        }
    }

    /// The last error on record, the newest phase first.
    pub fn error(&self) -> Option<(&PhaseId, &PhaseError)> {
        let failed = self.derived.with_error.iter().map(|&at| (&self.plan().phases[at].id, &self.phases[at]));
        let (phase, state) = failed.max_by_key(|(_, state)| state.ended_at)?;
        Some((phase, state.error.as_ref()?))
    }

    /// Why a driver may let go, if it may.
    pub fn ending(&self) -> Option<Ending> {
        match (self.result, self.stopped) {
            (Some(RunResult::Completed), _) => Some(Ending::Completed),
            (Some(RunResult::Failed), _) => Some(Ending::Failed),
            (None, Some(by)) => Some(Ending::Stopped(by)),
            (None, None) => None,
        }
    }

    /// Whether there is work that a later start could do.
    pub fn is_unfinished(&self) -> bool {
        !self.archived && self.result != Some(RunResult::Completed)
    }
}

impl PhaseState {
    pub(super) fn new() -> Self {
        Self {
            status: PhaseStatus::Pending,
            generation: Generation(1),
            attempts: 0,
            failures: 0,
            interruptions: 0,
            unknowns_in_a_row: 0,
            attempt: None,
            in_doubt: false,
            parked: false,
            not_before: None,
            started_at: None,
            ended_at: None,
            duration_ms: None,
            note: None,
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
            requirements: RequirementState::default(),
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

impl RunStatus {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Waiting => "waiting",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
            Self::Completed => "completed",
            Self::Archived => "archived",
        }
    }
}
