//! Facts that follow from the state and are not yet on record: the next one, until there is none.

use jiff::{SignedDuration, Timestamp};

use super::agents;
use super::deadline;
use super::decide::ended::failed_for_good;
use super::derived_state::batch_number;
use super::external_phases;
use super::redacted_values::uses_what_was_cut;
use super::replans::Waits;
use super::schedule;
use super::skip_and_expand::{follows, over};
use super::state::{Before, Ending, PhaseState, PhaseStatus, Run};
use super::worktrees::works_apart;
use crate::event::{Event, RunResult, StopReason, StopRequest, Urgency};
use crate::id::{Attempt, PhaseId};
use crate::ids_and_keys::checkpoint_id;
use crate::plan::{OnInterrupt, Phase, PhaseFailure, PlanFailure};

/// Phases that are asked to end are interrupted, told after five seconds and killed after three more. What is not over a moment
/// after that will not be soon.
const STOP_PATIENCE: SignedDuration = SignedDuration::from_millis(9_200);
/// The same after the order to kill.
const KILL_PATIENCE: SignedDuration = SignedDuration::from_millis(2_500);

pub(super) fn settle(run: &Run, now: Timestamp) -> Option<Event> {
    if let Some(taken) = run.marks_of_the_start() {
        return Some(taken);
    }
    if run.archived || (run.ending().is_some() && !run.waits_for_others()) {
        return due_checkpoint(run, now).or_else(|| put_away(run));
    }
    if run.waits_for_others() {
        // Nobody drives: what others say is written down, and what is theirs to do next; nothing is started.
        return books(run, now)
            .or_else(|| external_phases::settle(run, now))
            .or_else(|| run.too_many_tasks())
            .or_else(|| external_phases::end(run));
    }
    books(run, now)
        .or_else(|| external_phases::settle(run, now))
        .or_else(|| run.too_many_tasks())
        .or_else(|| run.replan_is_hopeless())
        .or_else(|| follows(run))
        .or_else(|| stop_of_the_others(run))
        .or_else(|| deadline::stop(run, now))
        .or_else(|| commit(run))
        .or_else(|| end(run, now))
        .or_else(|| next_attempt(run, now))
}

/// Records about the last facts, written before anything else: a completed batch, a due checkpoint.
pub(super) fn books(run: &Run, now: Timestamp) -> Option<Event> {
    completed_batch(run).or_else(|| due_checkpoint(run, now))
}

fn completed_batch(run: &Run) -> Option<Event> {
    let last = run.settled_last.as_ref()?;
    let batch = run.derived.index.batch_of[run.at(last)];
    let number = batch_number(batch);
    let complete = run.derived.batch_left[batch] == 0 && !run.batches_recorded.contains(&number);
    complete.then_some(Event::BatchCompleted { batch: number })
}

fn due_checkpoint(run: &Run, now: Timestamp) -> Option<Event> {
    let with_the_tree = !run.snapshot_is_wanted() && !run.commit_goes_first();
    let due = run.due.iter().find(|due| !due.waits || with_the_tree)?;
    let (triggers, phase) = (due.triggers.clone(), due.phase.clone());
    let id = checkpoint_id(&run.id, phase.as_ref(), run.seq.next(), now, run.ids);
    Some(Event::CheckpointTaken { id, triggers, phase, name: None })
}

/// The commit of the last phases, once enough are done and nobody writes beside it.
fn commit(run: &Run) -> Option<Event> {
    let wanted = run.epoch > 0 && run.stop.is_none() && !run.snapshot_is_wanted() && run.vcs.begun.is_none();
    (wanted && run.commit_is_possible()).then(|| run.begin_commit())
}

/// `on-failure: stop` ends the phases that are at work beside a failed one.
fn stop_of_the_others(run: &Run) -> Option<Event> {
    let at_work = run.stop.is_none() && !run.derived.running.is_empty() && run.main_ended.is_none();
    let wanted = at_work
        && run.derived.failed > 0
        && !run.failures_are_of_others()
        && (run.plan().on_failure == PlanFailure::Stop || a_failure_stops(run));
    wanted.then_some(Event::StopAsked { by: StopRequest::Failure, urgency: Urgency::Ask })
}

/// `on-failure: stop` of a phase that failed, whatever the plan says of the others.
pub(super) fn a_failure_stops(run: &Run) -> bool {
    failed(run).any(|phase| phase.on_failure == Some(PhaseFailure::Stop))
}

/// `on-failure: ask`: a person is to say what becomes of it before the run counts as failed.
pub(super) fn a_failure_asks(run: &Run) -> Option<&PhaseId> {
    failed(run).find(|phase| phase.on_failure == Some(PhaseFailure::Ask)).map(|phase| &phase.id)
}

fn failed(run: &Run) -> impl Iterator<Item = &Phase> {
    let failed = |at: &&usize| run.phases[**at].status == PhaseStatus::Failed;
    run.derived.with_error.iter().filter(failed).map(|&at| &run.plan().phases[at])
}

/// A run that was cancelled is archived once its phases have ended.
fn put_away(run: &Run) -> Option<Event> {
    let cancelled = run.ending() == Some(Ending::Stopped(StopReason::Cancel)) && !run.archived;
    cancelled.then_some(Event::RunArchived)
}

fn end(run: &Run, now: Timestamp) -> Option<Event> {
    if let Some((StopRequest::Hangup, _)) = run.stop {
        return Some(Event::RunStopped { reason: StopReason::Hangup });
    }
    if let Some(reason) = out_of_patience(run, now) {
        return Some(Event::RunStopped { reason });
    }
    // A rewind does not wait for a commit of what it is about to leave behind.
    let commits = run.vcs.begun.is_some() && !run.gives_git_up() && !matches!(run.stop, Some((StopRequest::Rewind, _)));
    let git_first = run.snapshot_is_wanted() || commits || run.vcs.rewinding.is_some();
    // Nor for the file of its plan, which it may put back; but no run is over before that file says so.
    let marks_left = run.marks_wanted().next().is_some();
    let marks_first = marks_left && !matches!(run.stop, Some((StopRequest::Rewind, _)));
    let removals = run.stop.is_none() && run.worktrees_to_remove().next().is_some();
    // A cancelled run is put away, and then nobody would end what was begun with the files of a worktree.
    let nobody_after = matches!(run.stop, None | Some((StopRequest::Cancel, _)));
    let halfway = nobody_after && run.integration_begun().is_some();
    let outside_first = git_first || removals || halfway || marks_first || run.label_wanted().is_some();
    if run.epoch == 0 || !run.derived.running.is_empty() || outside_first {
        return None;
    }
    let last = run.main_ended.is_some() || !run.derived.index.closing.contains(&true);
    let given_up = matches!(run.stop, Some((StopRequest::Cancel, _)));
    if run.derived.finished == run.phases.len() && last && !given_up && !marks_left && !run.labels_are_left() {
        return Some(Event::RunEnded { result: RunResult::Completed });
    }
    if let Some(reason) = run.stop.and_then(|(by, _)| by.reason()) {
        let paused = reason.is_a_pause();
        return Some(if paused { Event::RunPaused { reason, until: None } } else { Event::RunStopped { reason } });
    }
    if run.awaited_group().is_some() {
        return None;
    }
    if run.stop.is_none() && !run.derived.probing.is_empty() {
        return None;
    }
    if run.stop.is_none() && run.replan_wanted().is_some() {
        return schedule::pause_before_a_plan(run, now);
    }
    if !run.derived.in_doubt.is_empty() || run.replan_waits_for_a_person(Waits::NothingElseStarts) {
        return Some(Event::RunStopped { reason: StopReason::Question });
    }
    if only_that_is_finished(run) {
        return Some(Event::RunStopped { reason: StopReason::OnlyThat });
    }
    let none_is_left = || ready(run).next().is_none() && delayed(run).next().is_none();
    let nothing_can_start = !may_start(run) || none_is_left() || schedule::all_wait_for_others(run, now);
    if nothing_can_start && run.something_is_for_others() {
        return Some(Event::RunStopped { reason: StopReason::Waiting });
    }
    let asks = (run.main_ended.is_none() && a_failure_asks(run).is_some())
        || run.replan_waits_for_a_person(Waits::TheRestGoesOn);
    if nothing_can_start && asks {
        return Some(Event::RunStopped { reason: StopReason::Question });
    }
    if nothing_can_start && !run.derived.unmet.is_empty() && run.derived.failed == 0 {
        return Some(Event::RunStopped { reason: StopReason::Requirement });
    }
    if nothing_can_start {
        return Some(over(run));
    }
    schedule::pause(run, now)
}

/// The cause of a stop whose phases do not end in time: a person is not kept waiting. Phases that still run are found
/// by the next driver, as after a hangup.
fn out_of_patience(run: &Run, now: Timestamp) -> Option<StopReason> {
    let asked_at = run.stop_asked_at?;
    let (reason, patience) = match run.stop? {
        (by @ (StopRequest::Interrupt | StopRequest::SessionEnd), Urgency::Ask) => (by.reason()?, STOP_PATIENCE),
        (by @ (StopRequest::Interrupt | StopRequest::SessionEnd), Urgency::Kill) => (by.reason()?, KILL_PATIENCE),
        _ => return None,
    };
    (now.duration_since(asked_at) >= patience).then_some(reason)
}

/// Whether anything may be started at all: nobody said stop, nothing is unclear, no failure forbids it.
pub(super) fn may_start(run: &Run) -> bool {
    may_start_once_git_is_done(run) && !run.git_comes_first() && run.awaited_group().is_none()
}

/// The same once git has done what comes first, and other runs let this one in: neither changes which phases are done.
pub(super) fn may_start_once_git_is_done(run: &Run) -> bool {
    let recovered = run
        .derived
        .running
        .iter()
        .all(|&at| run.phases[at].attempt.as_ref().is_some_and(|attempt| attempt.epoch == run.epoch));
    let free = run.stop.is_none() && run.derived.in_doubt.is_empty() && !run.replan_comes_first();
    run.epoch > 0 && free && recovered && run.failure_allows()
}

fn only_that_is_finished(run: &Run) -> bool {
    run.only.as_ref().is_some_and(|only| run.phase_state(only).is_none_or(PhaseState::is_finished))
}

/// Phases that may be started now, best first; where only one is wanted, no other.
pub(super) fn ready(run: &Run) -> impl Iterator<Item = usize> {
    run.derived.ready.iter().map(|&(_, _, at)| at).filter(|&at| is_wanted(run, at))
}

/// The same, of those that wait for a time.
pub(super) fn delayed(run: &Run) -> impl Iterator<Item = (Timestamp, usize)> {
    run.derived.delayed.iter().copied().filter(|&(_, at)| is_wanted(run, at))
}

/// Whether anything may happen to this phase now: it is the one that is wanted, or a part of it, where only one is; and
/// once the end has begun only what belongs to it goes on.
pub(super) fn is_wanted(run: &Run, at: usize) -> bool {
    let id = &run.plan().phases[at].id;
    // What it is a part of has to have its turn, too: it is taken apart, and nothing else of it is done.
    let named = |only: &PhaseId| run.is_within(id, only) || run.is_part_of(only).any(|whole| whole == id);
    run.only.as_ref().is_none_or(named) && run.main_ended.is_some() == run.derived.index.closing[at]
}

fn next_attempt(run: &Run, now: Timestamp) -> Option<Event> {
    let at = schedule::next(run, now)?;
    let (phase, state) = (&run.plan().phases[at], &run.phases[at]);
    if let Some(why) = uses_what_was_cut(run, phase).or_else(|| agents::spent(phase, state.agent.as_deref())) {
        return Some(failed_for_good(run, phase, why.code, why.message));
    }
    Some(Event::AttemptStarted {
        phase: phase.id.clone(),
        attempt: Attempt(state.attempts + 1),
        generation: state.generation,
        epoch: run.epoch,
        boot: run.boot.clone(),
        clean: clean(phase, state),
        agent: agents::begun(run, phase, state),
    })
}

impl Run {
    /// Whether the next attempt at some phase begins with putting its files back.
    pub fn will_put_files_back(&self) -> bool {
        self.phases()
            .any(|(phase, state)| !state.is_finished() && state.attempt.is_none() && clean(phase, state).is_some())
    }
}

/// The snapshot from which the next attempt puts its files back first, where that is asked for.
fn clean(phase: &Phase, state: &PhaseState) -> Option<String> {
    let half_done = matches!(state.last_end, Some(Before::Interrupted | Before::Unknown));
    let by_policy = half_done && phase.on_interrupt == Some(OnInterrupt::RerunClean);
    // In a worktree of its own nothing of the project is put back.
    state.base.clone().filter(|_| (state.clean || by_policy) && !works_apart(phase))
}
