//! Finished work that is to be done again, and work of which only one phase is wanted.

use super::Refusal;
use super::begin::reopened;
use crate::event::Event;
use crate::id::{Generation, PhaseId};
use crate::input::Choice;
use crate::mutant::{self, Mutant};
use crate::plan::Need;
use crate::run::state::{PhaseState, PhaseStatus, Run};

/// A phase and all that needs it is undone: what is finished gets a new generation, what failed its retries back.
pub(super) fn from(run: &Run, phase: &PhaseId) -> Result<Vec<Event>, Refusal> {
    if run.phase_state(phase).is_none() {
        return Err(Refusal::NoSuchPhase(phase.clone()));
    }
    let all = run.with_dependents(phase);
    Ok(all.iter().filter_map(|id| undone(id, run.phase_state(id)?)).collect())
}

/// One finished phase is undone.
pub(super) fn again(run: &Run, phase: &PhaseId) -> Option<Event> {
    let state = run.phase_state(phase)?;
    state.is_finished().then(|| reopened(phase, raised(state), Choice::Retry))
}

/// Why this phase alone cannot be done.
pub(super) fn demand_it_can_be_the_only_one(
    run: &Run,
    phase: &PhaseId,
    undone: impl Fn(&PhaseId) -> bool,
) -> Result<(), Refusal> {
    let state = run.phase_state(phase).ok_or_else(|| Refusal::NoSuchPhase(phase.clone()))?;
    let met = |need: &Need| match run.phase_state(&need.phase).map(|state| state.status) {
        Some(PhaseStatus::Completed) => true,
        Some(PhaseStatus::Skipped) => !need.must_be_completed,
        _ => false,
    };
    let illegal = |why: String| Err(Refusal::Illegal("--only", phase.clone(), why));
    if let Some(whole) = run.is_part_of(phase).find(|whole| run.phase_state(whole).is_some_and(|s| !s.opened)) {
        return illegal(format!("it is a part of {whole}, whose turn has not come"));
    }
    if run.plan().phases[run.at(phase)].closing {
        return illegal("it belongs to the end of the run".to_owned());
    }
    let needs = &run.plan().phases[run.at(phase)].needs;
    match needs.iter().find(|need| !met(need) || undone(&need.phase)) {
        Some(need) if !state.is_finished() => illegal(format!("it needs {}, which is not done", need.phase)),
        Some(_) | None => Ok(()),
    }
}

fn undone(phase: &PhaseId, state: &PhaseState) -> Option<Event> {
    match state.status {
        PhaseStatus::Completed | PhaseStatus::Skipped => Some(reopened(phase, raised(state), Choice::Retry)),
        PhaseStatus::Waiting | PhaseStatus::Failed | PhaseStatus::Interrupted => {
            Some(reopened(phase, state.generation, Choice::Retry))
        }
        // Its end is waited for or caused; it is not asked about.
        PhaseStatus::Running if state.attempt.is_some() => Some(reopened(phase, state.generation, Choice::Retry)),
        PhaseStatus::Pending | PhaseStatus::Running => None,
    }
}

pub(super) fn raised(state: &PhaseState) -> Generation {
    Generation(state.generation.0 + u32::from(!mutant::is(Mutant::ReuseAGeneration)))
}
