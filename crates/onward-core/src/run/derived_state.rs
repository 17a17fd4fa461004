//! Changing one phase, with everything derived from it kept up to date: counts, and the sets a phase belongs to.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;

use super::external_phases::is_for_others;
use super::index::PlanIndex;
use super::readiness::Readiness;
use super::requirements::RequirementState;
use super::state::{PhaseState, PhaseStatus, Run};
use crate::data_size::{Size, size};
use crate::failure::FailureCode;
use crate::id::PhaseId;

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
    /// Phases that have a worktree.
    pub(super) worktrees: BTreeSet<usize>,
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

impl Run {
    pub(super) fn at(&self, phase: &PhaseId) -> usize {
        *self.derived.index.by_id.get(phase).unwrap_or_else(|| panic!("run {} has no phase {phase}", self.id))
    }

    /// Whether a phase may not be begun yet, or not at all.
    pub fn is_blocked(&self, phase: &PhaseId) -> bool {
        self.derived.readiness[self.at(phase)] != Readiness::Run
    }

    /// Changes one phase and brings everything derived from it up to date.
    pub(super) fn change(&mut self, phase: &PhaseId, change: impl FnOnce(&mut PhaseState)) {
        let at = self.at(phase);
        let before = CountedPhase::new(&self.phases[at]);
        let fate = self.fate(at);
        change(&mut self.phases[at]);
        self.dirty.phases.insert(at);
        if let Some(time) = before.not_before {
            self.derived.delayed.remove(&(time, at));
        }
        self.count(at, &before);
        self.spread(at, fate, &before);
        if before.status != self.phases[at].status {
            self.keep_the_team_current(at);
        }
    }

    /// Counts that change when a phase becomes finished or failed, or stops being so.
    fn count(&mut self, at: usize, before: &CountedPhase) {
        let after = CountedPhase::new(&self.phases[at]);
        if self.derived.index.counts_for_the_plan(at) {
            match (before.failed, after.failed) {
                (false, true) => self.derived.failed += 1,
                (true, false) => self.derived.failed -= 1,
                (true, true) | (false, false) => {}
            }
        }
        match (before.is_skipped(), after.is_skipped()) {
            (false, true) => self.derived.skipped += 1,
            (true, false) => self.derived.skipped -= 1,
            (true, true) | (false, false) => {}
        }
        let batch = self.derived.index.batch_of[at];
        match (before.finished, after.finished) {
            (false, true) => {
                (self.derived.finished, self.derived.batch_left[batch]) =
                    (self.derived.finished + 1, self.derived.batch_left[batch] - 1);
            }
            (true, false) => {
                (self.derived.finished, self.derived.batch_left[batch]) =
                    (self.derived.finished - 1, self.derived.batch_left[batch] + 1);
                self.batches_recorded.remove(&batch_number(batch));
            }
            (true, true) | (false, false) => {}
        }
    }

    /// Works out everything that is derived, from nothing but the rest.
    pub(super) fn derive(&mut self) {
        let index = Arc::new(PlanIndex::new(&self.started.plan));
        self.derived = DerivedState { index, state_size: size(&self.state), ..DerivedState::default() };
        let standings: Vec<CountedPhase> = self.phases.iter().map(CountedPhase::new).collect();
        self.derived.finished = standings.iter().filter(|standing| standing.finished).count();
        self.derived.skipped = standings.iter().filter(|standing| standing.is_skipped()).count();
        let counts = |at: &usize| standings[*at].failed && self.derived.index.counts_for_the_plan(*at);
        self.derived.failed = (0..standings.len()).filter(counts).count();
        let left = |batch: &Vec<usize>| batch.iter().filter(|at| !standings[**at].finished).count();
        self.derived.batch_left = self.derived.index.batches.iter().map(|batch| batch_number(left(batch))).collect();
        self.derived.readiness = vec![Readiness::NotYet; self.phases.len()];
        self.spread_to((0..self.phases.len()).rev().collect());
    }

    /// Puts a phase into the sets it belongs to, and takes it out of the others.
    pub(super) fn refresh(&mut self, at: usize) {
        let state = &self.phases[at];
        let rank = self.derived.index.rank[at];
        let open = matches!(state.status, PhaseStatus::Pending | PhaseStatus::Interrupted) && !state.in_doubt;
        let turn = self.derived.readiness[at];
        let whole = self.is_whole(at);
        let skips = turn == Readiness::Skip && !state.is_finished() && state.status != PhaseStatus::Running;
        let could_start = open && turn == Readiness::Run && state.probe.is_none() && !self.asks_for_a_plan(at);
        let for_others = is_for_others(&self.started.plan.phases[at]) && !whole;
        let unmet = matches!(state.requirements, RequirementState::Unmet(_));
        let startable = could_start && !for_others && !unmet;
        let is_running = state.status == PhaseStatus::Running && state.external.is_none();
        let derived = &mut self.derived;
        let sets = [
            (&mut derived.for_others, could_start && for_others),
            (&mut derived.unmet, could_start && !for_others && unmet),
            (&mut derived.to_open, startable && whole && !state.opened),
            (&mut derived.to_skip, skips),
            (&mut derived.running, is_running),
            (&mut derived.external, state.external.is_some()),
            (&mut derived.in_doubt, state.in_doubt),
            (&mut derived.probing, state.probe.is_some() && !state.in_doubt),
            (&mut derived.with_error, state.error.is_some()),
            (&mut derived.worktrees, state.own.is_some()),
        ];
        for (set, belongs) in sets {
            if belongs {
                set.insert(at);
            } else {
                set.remove(&at);
            }
        }
        let place = (rank.0, rank.1, at);
        if startable && !whole && state.not_before.is_none() {
            derived.ready.insert(place);
        } else {
            derived.ready.remove(&place);
        }
        let later = state.not_before.map(|time| (time, at));
        if startable && !whole {
            derived.delayed.extend(later);
        } else if let Some(later) = later {
            derived.delayed.remove(&later);
        }
    }
}

/// The part of a phase's state that the counts of the run depend on.
pub(super) struct CountedPhase {
    pub(super) status: PhaseStatus,
    finished: bool,
    /// A parked phase does not keep the others from going on, so it does not count here.
    failed: bool,
    pub(super) opened: bool,
    not_before: Option<Timestamp>,
}

impl CountedPhase {
    fn new(state: &PhaseState) -> Self {
        Self {
            status: state.status,
            finished: state.is_finished(),
            failed: state.status == PhaseStatus::Failed && (!state.parked || was_rejected(state)),
            opened: state.opened,
            not_before: state.not_before,
        }
    }

    fn is_skipped(&self) -> bool {
        self.status == PhaseStatus::Skipped
    }
}

pub(super) fn batch_number(batch: usize) -> u32 {
    u32::try_from(batch).expect("a plan has fewer phases than 4 billion")
}

fn was_rejected(state: &PhaseState) -> bool {
    state.error.as_ref().is_some_and(|error| error.code == FailureCode::Rejected)
}
