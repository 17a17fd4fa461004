//! A worktree was made, its files were to come into the project, or it was removed.

use jiff::Timestamp;

use super::agents;
use crate::event::{Event, PhaseError, ProbeAnswer, WorktreeConflict, WorktreeFact};
use crate::failure::FailureCode;
use crate::id::{Attempt, PhaseId};
use crate::mutant::{self, Mutant};
use crate::run::state::{PhaseState, ProbeDue, Run};
use crate::run::worktrees::{CALLED_OFF_MAX, WorktreeStage};

/// The facts that follow, or none where the phase stands otherwise by now.
pub(super) fn found(run: &Run, id: &PhaseId, found: &Result<Box<WorktreeFact>, String>, now: Timestamp) -> Vec<Event> {
    let Some(state) = run.phase_state(id) else { return Vec::new() };
    let on_record = |fact: WorktreeFact| vec![Event::WorktreeChanged { phase: id.clone(), fact: Box::new(fact) }];
    match found {
        // A commit was begun in the same moment, and goes first: the files are brought together anew.
        Ok(fact) if comes_in(fact) && run.vcs.begun.is_some() && stage(state) == Some(&WorktreeStage::Due) => {
            Vec::new()
        }
        Ok(fact) if fits(state, fact) => on_record(asked_in_the_end(state, fact)),
        Err(reason) if is_on_its_way(state) => not_integrated(run, id, state, reason, now),
        Ok(_) | Err(_) => Vec::new(),
    }
}

fn stage(state: &PhaseState) -> Option<&WorktreeStage> {
    state.own.as_deref().map(|own| &own.stage)
}

fn comes_in(fact: &WorktreeFact) -> bool {
    matches!(fact, WorktreeFact::IntegrationBegun { .. } | WorktreeFact::Integrated { .. })
}

fn is_on_its_way(state: &PhaseState) -> bool {
    match stage(state) {
        // What was begun has an end, also where the plan has become another one since.
        Some(WorktreeStage::Begun(_)) => true,
        Some(WorktreeStage::Due) => state.probe.is_some(),
        Some(WorktreeStage::AtWork | WorktreeStage::Conflict(_) | WorktreeStage::Integrated { .. }) | None => false,
    }
}

/// Whether a fact is about the phase as it stands.
fn fits(state: &PhaseState, fact: &WorktreeFact) -> bool {
    match fact {
        WorktreeFact::Begun { attempt, .. } => state.attempt.as_ref().is_some_and(|running| running.number == *attempt),
        WorktreeFact::IntegrationBegun { .. } => is_on_its_way(state) && stage(state) == Some(&WorktreeStage::Due),
        WorktreeFact::Integrated { .. } | WorktreeFact::CalledOff { .. } | WorktreeFact::Conflict(_) => {
            is_on_its_way(state)
        }
        WorktreeFact::Removed { .. } => state.is_done_with_its_worktree(),
    }
}

/// Where the project changes again and again in the moment in which files are put into it, a person is asked.
fn asked_in_the_end(state: &PhaseState, fact: &WorktreeFact) -> WorktreeFact {
    if let (WorktreeFact::Conflict(conflict), true) = (fact, mutant::is(Mutant::OverlookAConflict)) {
        return WorktreeFact::Integrated { result: conflict.result.clone(), left_out: Vec::new(), seen: None };
    }
    let times = state.own.as_deref().map_or(0, |own| own.called_off) + 1;
    match fact {
        // The phase claims nothing any more: there is nothing that a person could settle.
        WorktreeFact::Conflict(conflict) if state.probe.is_none() => {
            WorktreeFact::CalledOff { reason: conflict.told.join("; "), paths: conflict.paths.clone() }
        }
        WorktreeFact::CalledOff { .. } if state.probe.is_none() => fact.clone(),
        WorktreeFact::CalledOff { reason, paths } if times >= CALLED_OFF_MAX => {
            let result = match stage(state) {
                Some(WorktreeStage::Begun(begun)) => begun.result.clone(),
                Some(
                    WorktreeStage::AtWork
                    | WorktreeStage::Due
                    | WorktreeStage::Conflict(_)
                    | WorktreeStage::Integrated { .. },
                )
                | None => String::new(),
            };
            WorktreeFact::Conflict(WorktreeConflict {
                result,
                paths: paths.clone(),
                more: 0,
                told: vec![format!("{times} times: {reason}")],
            })
        }
        other => other.clone(),
    }
}

fn not_integrated(run: &Run, id: &PhaseId, state: &PhaseState, reason: &str, now: Timestamp) -> Vec<Event> {
    let message = format!("its files do not come into the project: {reason}");
    let error = PhaseError { code: FailureCode::NotIntegrated, message };
    let phase = &run.plan().phases[run.at(id)];
    let probed = Event::PhaseProbed { phase: id.clone(), answer: ProbeAnswer::NotDone, error: Some(error.clone()) };
    if state.probe.is_none() {
        return vec![probed];
    }
    // The end of an attempt that was cut short was counted when it was recorded.
    let counted = matches!(state.probe, Some(ProbeDue::AfterACut(_)));
    let before = PhaseState { failures: state.failures.saturating_sub(u32::from(counted)), ..state.clone() };
    let next = agents::after(run, phase, &before, error, Attempt(state.attempts), now);
    vec![probed, next]
}
