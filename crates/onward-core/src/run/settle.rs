//! What follows from the state and is not yet on record: the next fact, until there is none.

use jiff::Timestamp;

use super::apply::batch_number;
use super::replans::Waits;
use super::schedule;
use super::state::{Before, Ending, Kill, PhaseState, Run};
use crate::event::{Event, RunResult, StopBy};
use crate::id::Attempt;
use crate::naming::checkpoint_id;
use crate::plan::{OnInterrupt, Phase, PlanFailure};

pub(super) fn settle(run: &Run, now: Timestamp) -> Option<Event> {
    if run.archived || run.ending().is_some() {
        return due_checkpoint(run, now).or_else(|| put_away(run));
    }
    books(run, now)
        .or_else(|| run.replan_is_hopeless())
        .or_else(|| stop_of_the_others(run))
        .or_else(|| schedule::deadline(run, now))
        .or_else(|| commit(run))
        .or_else(|| end(run, now))
        .or_else(|| next_attempt(run, now))
}

/// What is to be written down about what was just recorded, before anything else is.
pub(super) fn books(run: &Run, now: Timestamp) -> Option<Event> {
    completed_batch(run).or_else(|| due_checkpoint(run, now))
}

fn completed_batch(run: &Run) -> Option<Event> {
    let last = run.settled_last.as_ref()?;
    let batch = run.index.batch_of[run.at(last)];
    let number = batch_number(batch);
    let complete = run.batch_left[batch] == 0 && !run.batches_recorded.contains(&number);
    complete.then_some(Event::BatchCompleted { batch: number })
}

fn due_checkpoint(run: &Run, now: Timestamp) -> Option<Event> {
    let with_the_tree = !run.snapshot_is_wanted() && !run.commit_goes_first();
    let due = run.due.iter().find(|due| !due.waits || with_the_tree)?;
    let (triggers, phase) = (due.triggers.clone(), due.phase.clone());
    let id = checkpoint_id(&run.id, phase.as_ref(), run.seq.next(), now);
    Some(Event::CheckpointTaken { id, triggers, phase, name: None })
}

/// The commit of the last phases, once enough are done and nobody writes beside it.
fn commit(run: &Run) -> Option<Event> {
    let wanted = run.epoch > 0 && run.stop.is_none() && !run.snapshot_is_wanted() && run.vcs.begun.is_none();
    (wanted && run.commit_is_possible()).then(|| run.begin_commit())
}

/// `on-failure: stop` ends the phases that are at work beside a failed one.
fn stop_of_the_others(run: &Run) -> Option<Event> {
    let wanted =
        run.plan().on_failure == PlanFailure::Stop && run.failed > 0 && run.stop.is_none() && !run.running.is_empty();
    wanted.then_some(Event::StopAsked { by: StopBy::Failure, kill: false })
}

/// A run that was cancelled is archived once its phases have ended.
fn put_away(run: &Run) -> Option<Event> {
    let cancelled = run.ending() == Some(Ending::Stopped(StopBy::Cancel)) && !run.archived;
    cancelled.then_some(Event::RunArchived)
}

fn end(run: &Run, now: Timestamp) -> Option<Event> {
    if let Some((StopBy::Hangup, _)) = run.stop {
        return Some(Event::RunStopped { by: StopBy::Hangup });
    }
    // A rewind does not wait for a commit of what it is about to leave behind.
    let commits = run.vcs.begun.is_some() && !matches!(run.stop, Some((StopBy::Rewind, _)));
    let git_first = run.snapshot_is_wanted() || commits || run.vcs.rewinding.is_some();
    if run.epoch == 0 || !run.running.is_empty() || git_first {
        return None;
    }
    if run.finished == run.phases.len() {
        return Some(Event::RunEnded { result: RunResult::Completed });
    }
    match run.stop {
        Some((
            by @ (StopBy::Interrupt | StopBy::SessionEnd | StopBy::Rewind | StopBy::Cancel),
            Kill::Ask | Kill::Now,
        )) => {
            return Some(Event::RunStopped { by });
        }
        Some((by @ (StopBy::Deadline | StopBy::Pause | StopBy::Limit), _)) => {
            return Some(Event::RunPaused { by, until: None });
        }
        Some((
            StopBy::Failure
            | StopBy::Hangup
            | StopBy::OrphanKill
            | StopBy::Question
            | StopBy::OnlyThat
            | StopBy::DriverGone,
            _,
        ))
        | None => {}
    }
    if run.stop.is_none() && (!run.probing.is_empty() || run.replan_wanted().is_some()) {
        return None;
    }
    if !run.in_doubt.is_empty() || run.replan_waits_for_a_person(Waits::NothingElseStarts) {
        return Some(Event::RunStopped { by: StopBy::Question });
    }
    if only_that_is_finished(run) {
        return Some(Event::RunStopped { by: StopBy::OnlyThat });
    }
    let nothing_can_start = !may_start(run) || (ready(run).next().is_none() && delayed(run).next().is_none());
    if nothing_can_start && run.replan_waits_for_a_person(Waits::TheRestGoesOn) {
        return Some(Event::RunStopped { by: StopBy::Question });
    }
    if nothing_can_start {
        return Some(Event::RunEnded { result: RunResult::Failed });
    }
    schedule::pause(run, now)
}

/// Whether anything may be started at all: nobody said stop, nothing is unclear, no failure forbids it.
pub(super) fn may_start(run: &Run) -> bool {
    let recovered =
        run.running.iter().all(|&at| run.phases[at].attempt.as_ref().is_some_and(|attempt| attempt.epoch == run.epoch));
    let failure_allows = run.failed == 0 || run.plan().on_failure == PlanFailure::Continue;
    let free = run.stop.is_none() && run.in_doubt.is_empty() && !run.git_comes_first() && !run.replan_comes_first();
    run.epoch > 0 && free && recovered && failure_allows
}

fn only_that_is_finished(run: &Run) -> bool {
    run.only.as_ref().is_some_and(|only| run.phase_state(only).is_none_or(PhaseState::is_finished))
}

/// Phases that may be started now, best first; where only one is wanted, no other.
pub(super) fn ready(run: &Run) -> impl Iterator<Item = usize> {
    run.ready.iter().map(|&(_, _, at)| at).filter(|&at| is_wanted(run, at))
}

/// The same, of those that wait for a time.
pub(super) fn delayed(run: &Run) -> impl Iterator<Item = (Timestamp, usize)> {
    run.delayed.iter().copied().filter(|&(_, at)| is_wanted(run, at))
}

fn is_wanted(run: &Run, at: usize) -> bool {
    run.only.as_ref().is_none_or(|only| *only == run.plan().phases[at].id)
}

fn next_attempt(run: &Run, now: Timestamp) -> Option<Event> {
    let at = schedule::next(run, now)?;
    let (phase, state) = (&run.plan().phases[at], &run.phases[at]);
    Some(Event::AttemptStarted {
        phase: phase.id.clone(),
        attempt: Attempt(state.attempts + 1),
        generation: state.generation,
        epoch: run.epoch,
        boot: run.boot.clone(),
        clean: clean(phase, state),
    })
}

/// The snapshot from which the next attempt puts its files back first, where that is asked for.
fn clean(phase: &Phase, state: &PhaseState) -> Option<String> {
    let half_done = matches!(state.last_end, Some(Before::Interrupted | Before::Unknown));
    let by_policy = half_done && phase.on_interrupt == Some(OnInterrupt::RerunClean);
    state.base.clone().filter(|_| state.clean || by_policy)
}
