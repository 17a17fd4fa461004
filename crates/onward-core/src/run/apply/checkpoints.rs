//! Facts about checkpoints: which one is due, and that it was taken.

use crate::checkpoint::Trigger;
use crate::id::{CheckpointId, PhaseId};
use crate::run::state::{Dirty, Due, Run};

impl Run {
    pub(super) fn checkpoint_taken(&mut self, id: &CheckpointId, triggers: &[Trigger], phase: Option<&PhaseId>) {
        self.last_checkpoint = Some(id.clone());
        self.dirty = Dirty::default();
        self.whole_is_due = false;
        let same = |due: &Due| due.triggers == *triggers && due.phase.as_ref() == phase;
        if let Some(place) = self.due.iter().position(same) {
            self.due.remove(place);
        }
    }

    /// A checkpoint becomes due: one for each phase that is settled, with whatever else is due at the same moment.
    pub(in crate::run) fn make_due(&mut self, trigger: Trigger, phase: Option<&PhaseId>) {
        if phase.is_some() {
            self.settled_last = phase.cloned();
        }
        if !self.started.triggers.contains(&trigger) {
            return;
        }
        let joins = |due: &&mut Due| match trigger {
            Trigger::BatchComplete => due.waits,
            Trigger::AgentComplete => due.phase.as_ref() == phase,
            Trigger::PhaseTransition
            | Trigger::RunStart
            | Trigger::ConflictStart
            | Trigger::ConflictResolved
            | Trigger::Manual => false,
            // A stop is not kept waiting by git.
            Trigger::UserInterrupt | Trigger::SessionEnd => !due.waits,
        };
        if let Some(due) = self.due.back_mut().filter(joins) {
            if !due.triggers.contains(&trigger) {
                due.triggers.push(trigger);
            }
            return;
        }
        let waits = !matches!(trigger, Trigger::UserInterrupt | Trigger::SessionEnd);
        let phase = if trigger == Trigger::BatchComplete { self.settled_last.clone() } else { phase.cloned() };
        self.due.push_back(Due { triggers: vec![trigger], phase, waits });
    }
}
