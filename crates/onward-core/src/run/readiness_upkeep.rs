//! The readiness of every phase, kept up to date as phases change. [`super::readiness`] has the rules; here they are asked again
//! where an answer may have changed, and nowhere else.

use super::derived_state::CountedPhase;
use super::readiness::{NeedOutcome, Readiness, is_cut_short, readiness, readiness_of_finally};
use super::state::{Before, PhaseStatus, Run};
use crate::event::RunResult;
use crate::expression::{Condition, Past, Reference};
use crate::mutant::{self, Mutant};
use crate::plan::expand::{is_compound, normal};
use crate::plan::{Body, Phase, PlanFailure};

impl Run {
    /// Whether the phase consists of others, known or not: then it is never tried itself.
    pub(super) fn is_whole(&self, at: usize) -> bool {
        let phase = &self.plan().phases[at];
        phase.children.is_some() || is_compound(phase)
    }

    /// The fate of a phase, as those see it that wait for it.
    pub(super) fn fate(&self, at: usize) -> NeedOutcome {
        let state = &self.phases[at];
        match state.status {
            PhaseStatus::Completed => NeedOutcome::Completed,
            PhaseStatus::Skipped => NeedOutcome::Skipped,
            PhaseStatus::Failed => NeedOutcome::Failed,
            PhaseStatus::Running | PhaseStatus::Waiting => NeedOutcome::Open,
            PhaseStatus::Pending | PhaseStatus::Interrupted => {
                let never = self.derived.readiness[at] == Readiness::Never && !state.in_doubt && state.probe.is_none();
                if never { NeedOutcome::Unreachable } else { NeedOutcome::Open }
            }
        }
    }

    /// A phase has changed: its own turn, and that of all that looks at it.
    pub(super) fn spread(&mut self, at: usize, fate: NeedOutcome, before: &CountedPhase) {
        let index = self.derived.index.clone();
        let mut next = Vec::new();
        if self.phases[at].status != before.status {
            next.extend(&index.watchers[at]);
        }
        let after = self.fate(at);
        if after != fate {
            next.extend(&index.dependents[at]);
        }
        if after != fate || self.phases[at].opened != before.opened {
            next.extend(&index.children[at]);
        }
        // One part that failed may keep the others from starting.
        if let Some(parent) =
            index.parent[at].filter(|_| (after == NeedOutcome::Failed) != (fate == NeedOutcome::Failed))
        {
            next.extend(&index.children[parent]);
        }
        next.push(at);
        self.spread_to(next);
    }

    /// Asks for each of these whether it is its turn, and goes on where the answer is a new one. Phases wait for each other
    /// without a circle, so this comes to an end, and in whatever order it goes, at the same answers.
    pub(super) fn spread_to(&mut self, mut next: Vec<usize>) {
        let index = self.derived.index.clone();
        while let Some(at) = next.pop() {
            let (turn, fate) = (self.derived.readiness[at], self.fate(at));
            self.derived.readiness[at] = self.judge(at);
            self.refresh(at);
            if self.fate(at) != fate {
                next.extend(&index.dependents[at]);
            }
            if self.derived.readiness[at] != turn {
                next.extend(&index.children[at]);
            }
        }
    }

    fn judge(&self, at: usize) -> Readiness {
        let (phase, state) = (&self.plan().phases[at], &self.phases[at]);
        if let Some(turn) = self.derived.index.parent[at].and_then(|parent| self.as_a_part(at, parent)) {
            return turn;
        }
        let mut fates: Vec<NeedOutcome> = self.derived.index.needs[at].iter().map(|&need| self.fate(need)).collect();
        if mutant::is(Mutant::IgnoreOneNeed)
            && let Some(open) = fates.iter_mut().find(|fate| **fate == NeedOutcome::Open)
        {
            *open = NeedOutcome::Completed;
        }
        let context = self.context(phase);
        let context = |reference: &Reference| context.value(reference);
        let turn = match (phase.closing, self.main_ended) {
            (false, _) => readiness(phase, &fates, &context),
            (true, None) => return Readiness::NotYet,
            (true, Some(RunResult::Completed)) => readiness_of_finally(phase, &fates, Past::Good, &context),
            (true, Some(RunResult::Failed)) => readiness_of_finally(phase, &fates, Past::Failed, &context),
        };
        // The condition is asked before the first attempt, not between two.
        let begun = state.opened || state.last_end.is_some_and(|end| end != Before::Redone);
        if turn == Readiness::Skip && begun { Readiness::Run } else { turn }
    }

    /// The readiness of a part that follows from the whole; none where its own needs decide.
    fn as_a_part(&self, at: usize, parent: usize) -> Option<Readiness> {
        let whole = &self.phases[parent];
        if whole.is_finished() {
            return Some(Readiness::Skip);
        }
        match self.derived.readiness[parent] {
            Readiness::Never => Some(Readiness::Never),
            Readiness::NotYet | Readiness::Skip => Some(Readiness::NotYet),
            Readiness::Run if !whole.opened => Some(Readiness::NotYet),
            Readiness::Run => {
                let untouched = self.phases[at].attempts == 0 && !self.phases[at].opened;
                let phase = &self.plan().phases[at];
                (untouched && !judges_the_past(phase) && self.is_cut_short(parent)).then_some(Readiness::Never)
            }
        }
    }

    /// Whether parts that have not started never will. A plan inside goes on after a failure if it says `continue`.
    fn is_cut_short(&self, parent: usize) -> bool {
        let phase = &self.plan().phases[parent];
        let goes_on = match &phase.body {
            _ if phase.matrix.is_some() => true,
            Body::Uses(uses) => {
                self.plan().used.get(&normal(&uses.path)).is_none_or(|plan| plan.on_failure == PlanFailure::Continue)
            }
            Body::Run { .. } | Body::Agent(_) | Body::Approval(_) | Body::External(_) => true,
        };
        let fates: Vec<NeedOutcome> =
            self.derived.index.children[parent].iter().map(|&child| self.fate(child)).collect();
        is_cut_short(phase, &fates) || (!goes_on && fates.contains(&NeedOutcome::Failed))
    }
}

pub(super) fn judges_the_past(phase: &Phase) -> bool {
    phase.condition.as_ref().is_some_and(Condition::judges_the_past)
}
