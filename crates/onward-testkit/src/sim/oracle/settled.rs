//! Phases that people left out, or took as done, as a whole: they stay so until somebody asks for them again.

use onward_core::id::{Generation, PhaseId};
use onward_core::input::Begin;
use onward_core::run::Run;

use super::Oracle;
use crate::sim::compound::{ancestors, belongs_to_the_end, is_whole};

impl Oracle {
    /// Notes what is over and what nobody wants again, before a driver begins.
    pub(in crate::sim) fn a_driver_begins(&mut self, run: &Run, begin: &Begin) {
        let told = &begin.resumption;
        if told.revised.is_none() {
            self.no_edit_comes();
        }
        self.settled.clear();
        // These speak of many phases at once.
        if told.from.is_some() || told.revised.is_some() || !told.marks.is_empty() {
            return;
        }
        let plan = &self.plan;
        let is_about = |whole: &PhaseId, id: &PhaseId| {
            id == whole || ancestors(plan, id).contains(whole) || ancestors(plan, whole).contains(id)
        };
        let named = |whole: &PhaseId| begin.choices.iter().any(|(id, _)| is_about(whole, id));
        let over = run.phases().filter(|(phase, state)| {
            let is_one = state.is_finished() && is_whole(plan, &phase.id) && !belongs_to_the_end(plan, &phase.id);
            is_one && !named(&phase.id)
        });
        self.settled = over.map(|(phase, _)| phase.id.clone()).collect();
    }

    /// A part of what is settled is not opened by itself, as one that failed is: only deliberately, in another generation.
    pub(super) fn was_not_settled(&mut self, phase: &PhaseId, generation: Generation) {
        let wholes = ancestors(&self.plan, phase);
        if generation > Generation(self.facts[phase].generation) {
            self.settled.retain(|whole| whole != phase && !wholes.contains(whole));
        }
        let settled = wholes.into_iter().find(|whole| self.settled.contains(whole));
        assert!(settled.is_none(), "P2: {phase} is tried again, and {settled:?}, of which it is a part, is over");
    }
}
