//! The state of a run at one position of its journal.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::phase::PhaseState;
use crate::checkpoint::{PatchDebt, Sections, Trigger};
use crate::event::{Event, Orphans, PhaseError, Recorded, RunResult, RunStarted, StopReason, StopRequest, Urgency};
use crate::evidence::LastLook;
use crate::id::{CheckpointId, PhaseId, RunId, Seq};
use crate::ids_and_keys::{self, IdTry};
use crate::mutant::{self, Mutant};
use crate::patch::Op;
use crate::plan::{Phase, Plan};
use crate::run::agents::AgentState;
use crate::run::derived_state::DerivedState;
use crate::run::groups::AwaitedGroup;
use crate::run::issue_labels::IssueLabels;
use crate::run::limits::LimitState;
use crate::run::notices::Outbox;
use crate::run::plan_marks::PlanMarks;
use crate::run::replans::Replans;
use crate::run::vcs::Vcs;

/// A run, folded from its journal. What is stored of it, in the fold cache, is all but the fields that are skipped.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Run {
    pub id: RunId,
    pub seq: Seq,
    #[serde(with = "crate::run::cache::by_name")]
    pub started: Arc<RunStarted>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub archived: bool,
    /// Set by [`Event::RunEnded`], cleared when a driver goes on.
    pub result: Option<RunResult>,
    /// Set when told to stop, cleared when a driver goes on.
    pub stop: Option<(StopRequest, Urgency)>,
    /// When that was last said.
    pub(in crate::run) stop_asked_at: Option<Timestamp>,
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
    pub(in crate::run) only: Option<PhaseId>,
    /// How all but the phases of `finally` ended, from then on until something of it is opened again.
    pub(in crate::run) main_ended: Option<RunResult>,
    /// The findings of the last driver's start.
    pub(in crate::run) look: Option<Arc<LastLook>>,
    /// Records of phases that the plan no longer has; they come back if the phase does.
    pub(in crate::run) removed: BTreeMap<PhaseId, PhaseState>,
    /// The costs of agents of removed phases whose ids others have by now.
    pub(in crate::run) displaced_agents: Vec<AgentState>,
    /// Free-form: what scripts and agents want to find again. Always an object.
    pub state: Value,
    /// The stored sections of a checkpoint.
    pub(in crate::run) sections: Sections,
    /// The last trouble with each mirror, by its path.
    pub(in crate::run) mirror_troubles: BTreeMap<String, String>,
    /// The changes since the last checkpoint: the next one is a patch of just this.
    pub(crate) dirty: Dirty,
    pub(in crate::run) phases: Vec<PhaseState>,
    /// The plan is another one than at the last checkpoint: the next one is whole.
    pub(crate) whole_is_due: bool,
    /// Snapshots and mini-commits of the run.
    pub vcs: Vcs,
    /// The markers: what is to be said in the plan's file in Markdown, and what it said last.
    #[serde(default)]
    pub marks: PlanMarks,
    /// Notices to people that are still to be sent.
    #[serde(default)]
    pub(in crate::run) outbox: Outbox,
    /// Labels that the issue is still to be given.
    #[serde(default)]
    pub labels: IssueLabels,
    /// Other plans that were asked for, and those that were made.
    pub replans: Replans,
    /// The group that it waits for.
    #[serde(default)]
    pub(in crate::run) group: Option<AwaitedGroup>,
    /// Which limits are closed, and how long this driver may wait.
    pub limits: LimitState,
    /// Checkpoints that are to be taken, the oldest first.
    pub(in crate::run) due: VecDeque<Due>,
    /// The phase that was settled last.
    pub(in crate::run) settled_last: Option<PhaseId>,
    /// The phase whose attempt failed last, where nobody else was at work and nothing was begun since.
    pub(in crate::run) failed_alone: Option<PhaseId>,
    pub(in crate::run) batches_recorded: BTreeSet<u32>,
    /// Not folded: the caller tells it after each append, so that small documents are whole now and then.
    #[serde(skip)]
    pub behind: PatchDebt,
    /// Not folded: raised while an append is tried again whose checkpoints had ids that are taken.
    #[serde(skip)]
    pub ids: IdTry,
    #[serde(skip)]
    pub(in crate::run) derived: DerivedState,
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
pub(in crate::run) struct Due {
    pub(in crate::run) triggers: Vec<Trigger>,
    pub(in crate::run) phase: Option<PhaseId>,
    /// It comes with a snapshot of the working tree, where there is one to be had.
    pub(in crate::run) waits: bool,
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
    pub(in crate::run) fn from_first(first: &Recorded) -> Option<Self> {
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
            displaced_agents: Vec::new(),
            state: Value::Object(Map::new()),
            sections: Sections { artifact_paths: started.plan.paths.clone(), ..Sections::default() },
            mirror_troubles: BTreeMap::new(),
            dirty: Dirty::default(),
            phases: vec![PhaseState::new(); started.plan.phases.len()],
            whole_is_due: false,
            vcs: Vcs::default(),
            marks: PlanMarks::from_plan(&started.plan),
            outbox: Outbox::default(),
            labels: IssueLabels::default(),
            replans: Replans::default(),
            group: None,
            limits: LimitState::default(),
            due: VecDeque::new(),
            settled_last: None,
            failed_alone: None,
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

    /// The idempotency key of a phase of the plan: the same for every attempt until it is deliberately done anew.
    pub fn attempt_key(&self, id: &PhaseId) -> String {
        let state = self.phase_state(id).expect("the phase is one of this run");
        let earlier = state.earlier_key.as_ref().filter(|key| key.holds_in == state.generation);
        let earlier = earlier.filter(|_| !mutant::is(Mutant::NewKeyAfterARename));
        let (phase, generation) = earlier.map_or((id, state.generation), |key| (&key.phase, key.generation));
        ids_and_keys::attempt_key(&self.id, phase, generation)
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
