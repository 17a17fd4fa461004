//! Phases that consist of others, and the phases at the very end: what the facts about them do to a run.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::state::{PhaseStatus, Run};
use crate::event::{RunResult, StopRequest};
use crate::id::{Generation, PhaseId};
use crate::plan::Phase;
use crate::plan::expand::{is_compound, is_known, replaced};

impl Run {
    pub(super) fn phase_expanded(&mut self, phase: &PhaseId, children: &[Phase], at: Timestamp) {
        let whole = &self.plan().phases[self.at(phase)];
        if is_taken_apart_late(whole) {
            let plan = replaced(self.plan(), phase, children.to_vec()).expect("the phase is one of the plan");
            self.put_plan(plan, &[]);
        }
        self.change(phase, |state| {
            assert!(!state.is_finished() && state.attempt.is_none(), "{phase} is open when its turn comes");
            state.opened = true;
            (state.started_at, state.ended_at, state.duration_ms) = (Some(at), None, None);
        });
    }

    pub(super) fn main_part_ended(&mut self, result: RunResult) {
        assert!(self.main_ended.is_none(), "the main part of run {} ends once", self.id);
        self.main_ended = Some(result);
        // What a failure put an end to has come to it: the rest is to run.
        self.stop = self.stop.take().filter(|(by, _)| *by != StopRequest::Failure);
        self.spread_to((0..self.phases.len()).filter(|&at| self.derived.index.closing[at]).collect());
    }

    /// Where a part is open again the whole is too; and where anything is that does not belong to the end, the end is off.
    pub(super) fn reopened_a_part(&mut self, phase: &PhaseId) {
        let at = self.at(phase);
        let above: Vec<usize> = self.derived.index.with_ancestors(at).skip(1).collect();
        for whole in above {
            let id = self.plan().phases[whole].id.clone();
            self.change(&id, |state| {
                if state.is_finished() {
                    state.generation = Generation(state.generation.0 + 1);
                    state.outputs.clear();
                }
                if state.is_finished() || state.status == PhaseStatus::Failed {
                    (state.status, state.ended_at, state.error) = (PhaseStatus::Pending, None, None);
                }
            });
        }
        self.finished_before_the_end(phase);
    }

    /// Somebody settled what was not done when the end began: others may have their turn now.
    pub(super) fn finished_before_the_end(&mut self, phase: &PhaseId) {
        if !self.derived.index.closing[self.at(phase)] {
            self.end_is_off();
        }
    }

    /// There is something to do again before the end.
    pub(super) fn end_is_off(&mut self) {
        if self.main_ended.take().is_some() {
            self.spread_to((0..self.phases.len()).filter(|&at| self.derived.index.closing[at]).collect());
        }
    }

    /// A phase and all that needs it, by whatever way, in the order of the plan: with the parts of each, and with what each
    /// is a part of.
    pub fn with_dependents(&self, phase: &PhaseId) -> Vec<PhaseId> {
        let (mut found, mut with_parts) = (BTreeSet::new(), BTreeSet::new());
        let mut next: Vec<(usize, ReachedBy)> =
            self.derived.index.by_id.get(phase).map(|&at| (at, ReachedBy::Directly)).into_iter().collect();
        while let Some((at, reached)) = next.pop() {
            if found.insert(at) {
                next.extend(self.derived.index.dependents[at].iter().map(|&at| (at, ReachedBy::Directly)));
                next.extend(self.derived.index.parent[at].map(|at| (at, ReachedBy::FromAPart)));
            }
            if reached == ReachedBy::Directly && with_parts.insert(at) {
                next.extend(self.derived.index.children[at].iter().map(|&at| (at, ReachedBy::Directly)));
            }
        }
        found.into_iter().map(|at| self.plan().phases[at].id.clone()).collect()
    }

    /// The ancestors of a child phase, the nearest first.
    pub(super) fn is_part_of(&self, phase: &PhaseId) -> impl Iterator<Item = &PhaseId> {
        let at = self.derived.index.by_id.get(phase).copied();
        let above = at.into_iter().flat_map(|at| self.derived.index.with_ancestors(at).skip(1));
        above.map(|at| &self.plan().phases[at].id)
    }

    /// Whether a phase is this one, or one that it consists of.
    pub fn is_within(&self, phase: &PhaseId, whole: &PhaseId) -> bool {
        phase == whole || self.is_part_of(phase).any(|outer| outer == whole)
    }

    /// All that a phase consists of, parts of parts included.
    pub(super) fn parts(&self, at: usize) -> Vec<usize> {
        let mut found = Vec::new();
        let mut next = self.derived.index.children[at].clone();
        while let Some(part) = next.pop() {
            next.extend(&self.derived.index.children[part]);
            found.push(part);
        }
        found.sort_unstable();
        found
    }
}

/// How the search for dependents came to a phase: of what is reached from one of its parts the other parts stay.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ReachedBy {
    Directly,
    FromAPart,
}

/// Whether its parts are known only when its turn comes.
pub(super) fn is_taken_apart_late(phase: &Phase) -> bool {
    is_compound(phase) || !is_known(phase)
}
