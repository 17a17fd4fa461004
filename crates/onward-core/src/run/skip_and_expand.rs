//! Skipping, expanding and completing phases without an attempt.

use super::compound::is_taken_apart_late;
use super::readiness::{NeedOutcome, whole};
use super::redacted_values::uses_what_was_cut;
use super::settle::{is_wanted, may_start, may_start_once_git_is_done};
use super::state::{PhaseStatus, Run};
use crate::event::{Event, PhaseError, RunResult, SkippedBy};
use crate::failure::FailureCode;
use crate::id::Generation;
use crate::plan::expand::{PHASES_MAX, children, outputs};
use crate::plan::{Phase, PhaseFailure};

/// The next fact about a phase that needs no attempt.
pub(super) fn follows(run: &Run) -> Option<Event> {
    if run.epoch == 0 {
        return None;
    }
    let parts = || over_with_its_parts(run).or_else(|| left_out(run, may_start)).or_else(|| taken_apart(run));
    after_a_failure(run).or_else(parts)
}

/// The same, of what follows before anything is started, and does not hang on what that will bring.
pub(super) fn follows_at_once(run: &Run) -> Option<Event> {
    let left_out = || left_out(run, may_start_once_git_is_done);
    let of_parts = || over_with_its_parts(run).or_else(left_out).or_else(|| opened_with_known_parts(run));
    after_a_failure(run).or_else(of_parts)
}

/// The turn of a phase has come whose parts are known since the start.
fn opened_with_known_parts(run: &Run) -> Option<Event> {
    let known = |at: &&usize| !is_taken_apart_late(&run.plan().phases[**at]) && is_wanted(run, **at);
    let at = *run.derived.to_open.iter().find(known).filter(|_| may_start_once_git_is_done(run))?;
    Some(Event::PhaseExpanded { phase: run.plan().phases[at].id.clone(), children: Vec::new() })
}

/// `on-failure: skip` of a phase. What asks for another plan instead of failing never comes here.
fn after_a_failure(run: &Run) -> Option<Event> {
    let skips = |at: &&usize| {
        let (phase, state) = (&run.plan().phases[**at], &run.phases[**at]);
        state.status == PhaseStatus::Failed && !state.parked && phase.on_failure == Some(PhaseFailure::Skip)
    };
    let at = *run.derived.with_error.iter().find(skips)?;
    Some(skipped(run, at, SkippedBy::Failure))
}

fn over_with_its_parts(run: &Run) -> Option<Event> {
    let open = |at: &usize| {
        let state = &run.phases[*at];
        state.opened && matches!(state.status, PhaseStatus::Pending | PhaseStatus::Interrupted)
    };
    run.derived.index.with_parts.iter().copied().filter(open).find_map(|at| {
        let parts = &run.derived.index.children[at];
        let fates: Vec<NeedOutcome> = parts.iter().map(|&part| run.fate(part)).collect();
        let phase = &run.plan().phases[at];
        match whole(&fates)? {
            NeedOutcome::Completed => Some(Event::PhaseCompleted {
                phase: phase.id.clone(),
                summary: None,
                outputs: outputs(phase, parts.iter().map(|&part| &run.phases[part].outputs)),
                adopted: false,
                adoption: None,
                seen: None,
                artifacts: Vec::new(),
            }),
            NeedOutcome::Skipped => Some(skipped(run, at, SkippedBy::Parts)),
            NeedOutcome::Failed => Some(Event::PhaseFailed { phase: phase.id.clone(), error: part_failed(run, parts) }),
            NeedOutcome::Open | NeedOutcome::Unreachable => None,
        }
    })
}

fn part_failed(run: &Run, parts: &[usize]) -> PhaseError {
    /// More are counted, not named.
    const NAMED_MAX: usize = 3;
    let failed: Vec<&str> = parts
        .iter()
        .filter(|&&part| run.phases[part].status == PhaseStatus::Failed)
        .map(|&part| run.plan().phases[part].id.as_str())
        .collect();
    let named = failed.iter().take(NAMED_MAX).copied().collect::<Vec<_>>().join(", ");
    let more = failed.len().saturating_sub(NAMED_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let message = match failed.len() {
        0 => "not all of its parts can be done".to_owned(),
        1 => format!("its part {named} failed"),
        count => format!("{count} of its {} parts failed: {named}{more}", parts.len()),
    };
    PhaseError { code: FailureCode::PartFailed, message }
}

/// The next phase that will not be done; `may` tells whether phases have their turn.
fn left_out(run: &Run, may: fn(&Run) -> bool) -> Option<Event> {
    let of_a_finished_whole =
        |at: usize| run.derived.index.parent[at].is_some_and(|parent| run.phases[parent].is_finished());
    let orphan = run.derived.to_skip.iter().find(|&&at| of_a_finished_whole(at));
    if let Some(&at) = orphan {
        return Some(skipped(run, at, SkippedBy::Parent));
    }
    let at = *run.derived.to_skip.iter().find(|&&at| is_wanted(run, at)).filter(|_| may(run))?;
    Some(skipped(run, at, SkippedBy::Condition))
}

fn taken_apart(run: &Run) -> Option<Event> {
    let at_work = |at: usize| run.parts(at).iter().any(|&part| run.phases[part].attempt.is_some());
    let may = |at: &&usize| is_wanted(run, **at) && has_a_place(run, **at) && !at_work(**at);
    let at = *run.derived.to_open.iter().find(may).filter(|_| may_start(run))?;
    let phase = &run.plan().phases[at];
    if let Some(error) = uses_what_was_cut(run, phase) {
        return Some(Event::PhaseFailed { phase: phase.id.clone(), error });
    }
    if !is_taken_apart_late(phase) {
        return Some(Event::PhaseExpanded { phase: phase.id.clone(), children: Vec::new() });
    }
    let bare = Phase { children: None, ..phase.clone() };
    let context = run.context(phase);
    let found = children(&bare, &run.plan().used, &|reference| context.of_the_run(reference));
    let found = found.map_err(|why| why.to_string()).and_then(|children| {
        let fits = children.len() + run.phases.len() <= PHASES_MAX;
        if fits { Ok(children) } else { Err(format!("with its parts the plan has more than {PHASES_MAX} phases")) }
    });
    Some(match found {
        Ok(children) => Event::PhaseExpanded { phase: phase.id.clone(), children },
        Err(message) => {
            let error = PhaseError { code: FailureCode::CannotExpand, message };
            Event::PhaseFailed { phase: phase.id.clone(), error }
        }
    })
}

/// Whether the matrix that a phase is a part of lets one more of its parts begin.
pub(super) fn has_a_place(run: &Run, at: usize) -> bool {
    let Some(parent) = run.derived.index.parent[at] else { return true };
    let limit = run.plan().phases[parent].matrix.as_ref().and_then(|matrix| matrix.max_parallel);
    let Some(limit) = limit else { return true };
    let busy = |&&part: &&usize| {
        let state = &run.phases[part];
        let open = matches!(state.status, PhaseStatus::Pending | PhaseStatus::Interrupted);
        state.status == PhaseStatus::Running || (state.opened && open)
    };
    run.derived.index.children[parent].iter().filter(busy).count() < limit.max(1) as usize
}

fn skipped(run: &Run, at: usize, by: SkippedBy) -> Event {
    Event::PhaseSkipped { phase: run.plan().phases[at].id.clone(), by }
}

/// Nothing more can be started: what comes after everything else has its turn, or the run is over.
pub(super) fn over(run: &Run) -> Event {
    // Where one phase alone is wanted the end is not.
    if !run.derived.index.closing.contains(&true) || run.only.is_some() || run.main_ended.is_some() {
        let done = run.derived.finished == run.phases.len();
        return Event::RunEnded { result: if done { RunResult::Completed } else { RunResult::Failed } };
    }
    if let Some(reopened) = closed_before(run) {
        return reopened;
    }
    let main_is_done = (0..run.phases.len()).all(|at| run.derived.index.closing[at] || run.phases[at].is_finished());
    Event::MainPartEnded { result: if main_is_done { RunResult::Completed } else { RunResult::Failed } }
}

/// A phase of the end that was done after an earlier one, where there is something new to close: it is done once more.
pub(super) fn closed_before(run: &Run) -> Option<Event> {
    if run.only.is_some() || run.main_ended.is_some() {
        return None;
    }
    let closing = |at: &usize| run.derived.index.closing[*at];
    let at = (0..run.phases.len()).filter(closing).find(|&at| is_over(run, at))?;
    let generation = Generation(run.phases[at].generation.0 + 1);
    Some(Event::PhaseReopened { phase: run.plan().phases[at].id.clone(), generation, clean: false })
}

/// Whether a phase was done at an earlier end; one that a person left out stays left out, and so do its parts.
fn is_over(run: &Run, at: usize) -> bool {
    let state = &run.phases[at];
    let of_a_whole = || run.is_part_of(&run.plan().phases[at].id).any(|whole| run.phases[run.at(whole)].left_out);
    (state.is_finished() || state.status == PhaseStatus::Failed) && !state.left_out && !of_a_whole()
}
