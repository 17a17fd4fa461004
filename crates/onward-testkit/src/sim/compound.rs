//! The oracle's account of compound phases, conditions and `finally`.

use std::collections::BTreeSet;

use onward_core::id::PhaseId;
use onward_core::plan::expand::{is_compound, is_known};
use onward_core::plan::{Body, Phase, Plan};

#[derive(Debug, Default)]
pub(super) struct Composed {
    /// Phases whose parts may start.
    opened: BTreeSet<PhaseId>,
    pub(super) main_ended: bool,
}

impl Composed {
    /// The parts stand in the plan from here on, in place of what stood there before.
    pub(super) fn expanded(&mut self, plan: &mut Plan, whole: &PhaseId, parts: &[Phase]) {
        assert!(is_whole(plan, whole), "{whole} is taken apart and consists of nothing");
        self.opened.insert(whole.clone());
        // One that was taken apart when the run began has its parts already; one that waited for a list may get an empty one.
        let late = plan.phase(whole).is_some_and(|phase| is_compound(phase) || !is_known(phase));
        if parts.is_empty() && !late {
            let known = plan.phases.iter_mut().filter(|phase| phase.id == *whole);
            known.for_each(|phase| phase.children = phase.children.take().or(Some(Vec::new())));
            return;
        }
        let below = |phase: &Phase| ancestors(plan, &phase.id).contains(whole);
        let gone: BTreeSet<PhaseId> = plan.phases.iter().filter(|phase| below(phase)).map(|p| p.id.clone()).collect();
        plan.phases.retain(|phase| !gone.contains(&phase.id));
        let known = plan.phases.iter_mut().filter(|phase| phase.id == *whole);
        known.for_each(|phase| phase.children = Some(parts.iter().map(|part| part.id.clone()).collect()));
        plan.phases.extend(parts.iter().cloned());
    }

    /// The phase is to be done again.
    pub(super) fn reopened(&mut self, plan: &Plan, phase: &PhaseId) {
        self.opened.remove(phase);
        self.main_ended &= belongs_to_the_end(plan, phase);
    }

    /// Records that a phase was settled: one of the main part puts `finally` off again.
    pub(super) fn finished(&mut self, plan: &Plan, phase: &PhaseId) {
        self.main_ended &= belongs_to_the_end(plan, phase);
    }

    /// The record of a phase goes to another id.
    pub(super) fn renamed(&mut self, old: &PhaseId, new: &PhaseId) {
        if self.opened.remove(old) {
            self.opened.insert(new.clone());
        }
    }

    pub(super) fn revised(&mut self, plan: &Plan) {
        self.main_ended = false;
        self.opened.retain(|id| plan.phase(id).is_none_or(|phase| phase.children.is_some()));
    }

    /// Checks that hold when an attempt starts, beside those of its needs.
    pub(super) fn may_start(&self, plan: &Plan, phase: &PhaseId) {
        assert!(!is_whole(plan, phase), "{phase} is tried and consists of others");
        for whole in ancestors(plan, phase) {
            assert!(self.opened.contains(&whole), "{phase} starts before the turn of {whole}, which it is a part of");
        }
        assert_eq!(belongs_to_the_end(plan, phase), self.main_ended, "{phase} starts at the wrong end of the run");
    }
}

/// The ancestors of a child phase, the nearest first.
pub(super) fn ancestors(plan: &Plan, phase: &PhaseId) -> Vec<PhaseId> {
    let above = |id: &PhaseId| plan.phase(id).and_then(|phase| phase.situation.parent.clone());
    std::iter::successors(above(phase), above).collect()
}

pub(super) fn is_whole(plan: &Plan, phase: &PhaseId) -> bool {
    let phase = plan.phase(phase).expect("of the plan");
    phase.children.is_some() || phase.matrix.is_some() || matches!(phase.body, Body::Uses(_))
}

/// The condition says itself what a failure before the phase means.
pub(super) fn judges(phase: &Phase) -> bool {
    phase
        .condition
        .as_ref()
        .is_some_and(|condition| ["always()", "failure()"].iter().any(|word| condition.as_str().contains(word)))
}

pub(super) fn belongs_to_the_end(plan: &Plan, phase: &PhaseId) -> bool {
    let top = ancestors(plan, phase).pop().unwrap_or_else(|| phase.clone());
    plan.phase(&top).is_some_and(|phase| phase.closing)
}
