//! What a repair may add to a journal whose end is lost. Nothing here claims that work was done: a start that has left its
//! record is on record again, and an effect that may have happened is in doubt.

use super::Run;
use super::turn::Turn;
use crate::event::Event;
use crate::id::{Attempt, PhaseId};
use crate::plan::Effects;

impl Run {
    /// The start of an attempt that the journal has lost and whose folder is there, if it is the next one of its phase. What
    /// became of it is learned as always: from its folder, by whoever goes on.
    pub fn lost_start(&self, phase: &PhaseId, attempt: Attempt, boot: &str) -> Option<Event> {
        let at = self.phases().position(|(known, _)| known.id == *phase)?;
        let state = &self.phases[at];
        let is_next = state.attempt.is_none() && !state.is_finished() && attempt.0 == state.attempts + 1;
        let may = self.turns[at] == Turn::Run && !self.is_whole(at) && !self.git_comes_first();
        (is_next && may && self.is_unfinished()).then(|| Event::AttemptStarted {
            phase: phase.clone(),
            attempt,
            generation: state.generation,
            epoch: self.epoch,
            boot: boot.to_owned(),
            clean: None,
        })
    }

    /// Phases that may have had their effect outside since the journal ends, where nothing is left that could tell.
    pub fn lost_effects(&self) -> Vec<Event> {
        let may_have = self.phases().filter(|(phase, state)| {
            let open = !state.is_finished() && state.attempt.is_none() && !state.in_doubt;
            open && phase.effects == Effects::External
        });
        let unfinished = self.is_unfinished();
        may_have.filter(|_| unfinished).map(|(phase, _)| Event::PhaseInDoubt { phase: phase.id.clone() }).collect()
    }
}
