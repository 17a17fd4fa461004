//! The phases that a person can choose to start from.

use crate::plan::Phase;
use crate::run::{PhaseState, Run};

/// Phases in the order in which they are offered: the remaining ones first, in the order of the plan, then those that are finished.
/// Children of a finished phase are done again with it, and are not offered one by one.
pub fn pickable(run: &Run) -> Vec<(&Phase, &PhaseState)> {
    let (mut remaining, mut finished) = (Vec::new(), Vec::new());
    for (phase, state) in run.phases() {
        let parent = phase.situation.parent.as_ref().and_then(|parent| run.phase_state(parent));
        if !state.is_finished() {
            remaining.push((phase, state));
        } else if !parent.is_some_and(PhaseState::is_finished) {
            finished.push((phase, state));
        }
    }
    remaining.append(&mut finished);
    remaining
}

/// The phase that was picked: by its place in the list, from 1, or by a name that is no number.
pub fn picked<'a>(offered: &[(&'a Phase, &PhaseState)], run: &'a Run, typed: &str) -> Option<&'a Phase> {
    let by_name = || {
        let id = crate::plan::phase_meant(run.plan(), typed)?;
        run.plan().phase(&id)
    };
    match typed.parse::<usize>() {
        Ok(number) => number.checked_sub(1).and_then(|at| offered.get(at)).map(|(phase, _)| *phase),
        Err(_) => by_name(),
    }
}
