//! Facts that a repair may add to a journal whose end is lost. It never claims that work was done: an effect that may
//! have happened is in doubt.

use super::Run;
use crate::event::Event;
use crate::plan::Effects;

impl Run {
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
