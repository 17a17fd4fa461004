//! An attempt is over: done, failed, to be tried again, or in doubt.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{agents, backoff, replan};
use crate::event::{AgentEnded, AgentHow, Claimed, Event, Outcome, PhaseError, StopRequest};
use crate::evidence::Evidence;
use crate::failure::FailureCode;
use crate::id::{Attempt, PhaseId};
use crate::input::AttemptEnd;
use crate::mutant::{self, Mutant};
use crate::patterns;
use crate::plan::{Effects, OnInterrupt, Phase, RetryWhen, definition_digest};
use crate::replan::EXIT_REPLAN;
use crate::run::agent_calls;
use crate::run::state::{PhaseState, Run};
use crate::run::transient;
use crate::run::verification;
use crate::run::worktrees::works_apart;
use crate::tail;

/// Of the last line that is kept.
const SAID_BYTES_MAX: usize = 400;

const ASKS_FOR_A_PLAN: Outcome = Outcome::Exited { code: EXIT_REPLAN };
/// The third unknown end in a row parks a phase.
const UNKNOWNS_IN_A_ROW_MAX: u32 = 3;

pub(super) fn ended(run: &Run, id: &PhaseId, attempt: Attempt, end: &AttemptEnd, now: Timestamp) -> Vec<Event> {
    let phase = &run.plan().phases[run.at(id)];
    let state = run.phase_state(id).expect("the caller has seen the attempt at work");
    let asks = agent_calls::waits(end.agent.as_deref());
    let first = Event::AttemptEnded {
        phase: id.clone(),
        attempt,
        outcome: end.outcome.clone(),
        ended_at: end.ended_at,
        duration_ms: end.duration_ms,
        note: end.note.clone(),
        claimed: claimed(run, phase, end),
        error: agents::failed_all_the_same(phase, end).or_else(|| unreadable(end).filter(|_| !asks)),
        head: end.head.clone(),
        left_running: end.left_running.clone(),
        around: end.around.clone().filter(|around| !run.is_seen(around)),
        agent: agents::account(state, end),
        said: last_line(phase, end),
        damage: end.damage.clone(),
        answer_given: (end.answer_given || agent_calls::was_given(state)) && agents::has_an_answer(state),
    };
    let next = match &end.outcome {
        // It asked for another plan while it worked. That one comes first, whatever it says now.
        Outcome::Exited { .. } if run.replans.asked_by(id).is_some() => None,
        // However it ended: the client was kept from a call, and a person is asked about it.
        _ if asks => Some(Event::CallAsked { phase: id.clone() }),
        // What an agent says of its end counts, never the code of its process alone.
        outcome @ (Outcome::Exited { .. } | Outcome::Killed { .. })
            if *outcome != ASKS_FOR_A_PLAN && !agents::says_done(phase, end) && !is_cut_short(phase, outcome) =>
        {
            let agent = end.agent.as_deref().expect("an agent has said that it is not done");
            agents::next(run, phase, state, (end, agent), attempt, now)
        }
        // What has to prove that it is done is done when it has.
        Outcome::Exited { code: 0 } if end.outputs.is_ok() && verification::is_looked_at(phase) => None,
        Outcome::Exited { code: 0 } => Some(completed_or_not(run, phase, state, end, attempt, now)),
        Outcome::Exited { code: EXIT_REPLAN } => Some(replan::asked(phase, end.last_words.as_deref())),
        outcome if is_cut_short(phase, outcome) && has_probe(phase) => None,
        outcome if is_cut_short(phase, outcome) => {
            doubt(phase, state).or_else(|| Some(retried(run, phase, state, end, attempt, now)))
        }
        Outcome::Exited { .. } | Outcome::Killed { .. } | Outcome::TimedOut | Outcome::CouldNotStart { .. } => {
            let limited = super::limited::limited(run, phase, end, now);
            limited.or_else(|| Some(retried(run, phase, state, end, attempt, now)))
        }
        // It was asked to end and came to its own end all the same.
        Outcome::Stopped { .. } if says_done(end) && verification::is_looked_at(phase) => None,
        Outcome::Stopped { .. } if says_done(end) && doubt_of_an_effect(phase).is_none() => {
            Some(completed(run, phase, end))
        }
        // Whether an outward effect happened cannot be told from an end that we asked for, however the phase took it.
        // One that says all the same that it is done is asked about, whatever was said of it before.
        Outcome::Stopped { said_done: false, .. } if is_answered_for(state) => None,
        Outcome::Stopped { .. } => doubt(phase, state),
        Outcome::NeverRan => crash_loop(phase, state),
        Outcome::Unknown if is_answered_for(state) => crash_loop(phase, state),
        Outcome::Unknown => crash_loop(phase, state).or_else(|| doubt(phase, state)),
    };
    std::iter::once(first).chain(next).collect()
}

/// The last line of an attempt that failed; an agent has words of its own.
fn last_line(phase: &Phase, end: &AttemptEnd) -> Option<String> {
    let fails = failure_of(phase, &end.outcome).is_some() && end.outcome != (Outcome::Exited { code: 0 });
    let words = end.last_words.as_deref().filter(|_| fails && end.agent.is_none())?;
    let mut line = tail::last_line(words.text.as_bytes())?;
    line.truncate(line.floor_char_boundary(SAID_BYTES_MAX));
    Some(line)
}

pub(super) fn has_probe(phase: &Phase) -> bool {
    !phase.done_when.is_empty()
}

/// Whether an attempt that was asked to end has done its work: its code says so, and what it gives out can be read.
fn says_done(end: &AttemptEnd) -> bool {
    let done = |agent: &AgentEnded| agent.how == AgentHow::Done && agents::remaining(end).is_none();
    let agent_agrees = end.agent.as_deref().is_none_or(done);
    let done = matches!(end.outcome, Outcome::Stopped { said_done: true, .. }) && end.outputs.is_ok() && agent_agrees;
    done && !mutant::is(Mutant::ThrowAwayWhatIsDone)
}

/// Whether an attempt ended in the middle of something that must not be repeated unasked: by a signal that was not ours, in its
/// main process or in a child whose shell says so, or because its time was up. What such a phase did outside nobody knows.
pub(in crate::run) fn is_cut_short(phase: &Phase, outcome: &Outcome) -> bool {
    let outward = phase.effects == Effects::External;
    let cut = match outcome {
        Outcome::Killed { .. } => outward || phase.on_interrupt == Some(OnInterrupt::Ask),
        Outcome::TimedOut => outward,
        Outcome::Exited { code } => outward && tells_of_a_signal(*code),
        Outcome::CouldNotStart { .. } | Outcome::NeverRan | Outcome::Stopped { .. } | Outcome::Unknown => false,
    };
    cut && !mutant::is(Mutant::RepeatAnOutwardEffect)
}

/// Whether a shell says with this code that a signal ended what it had started.
pub(super) fn tells_of_a_signal(code: i32) -> bool {
    const SIGNALS: std::ops::RangeInclusive<i32> = 1..=64;
    code.checked_sub(128).is_some_and(|signal| SIGNALS.contains(&signal))
}

/// The claimed result, which counts only once it was verified or the probe has answered.
fn claimed(run: &Run, phase: &Phase, end: &AttemptEnd) -> Option<Box<Claimed>> {
    let claims = match &end.outcome {
        Outcome::Exited { .. } if run.replans.asked_by(&phase.id).is_some() => false,
        _ if agent_calls::waits(end.agent.as_deref()) => false,
        Outcome::Exited { code: 0 } => verification::is_looked_at(phase) && agents::says_done(phase, end),
        Outcome::Stopped { .. } => has_probe(phase) || (says_done(end) && verification::is_looked_at(phase)),
        Outcome::Unknown => has_probe(phase),
        outcome @ (Outcome::Exited { .. } | Outcome::Killed { .. } | Outcome::TimedOut) => {
            has_probe(phase) && is_cut_short(phase, outcome)
        }
        Outcome::CouldNotStart { .. } | Outcome::NeverRan => false,
    };
    let outputs = match &end.outputs {
        _ if !claims => return None,
        Ok(outputs) => outputs.clone(),
        // What it gave out is lost; whether its effect is there is asked all the same.
        Err(_) if end.outcome != (Outcome::Exited { code: 0 }) => BTreeMap::new(),
        Err(_) => return None,
    };
    Some(Box::new(Claimed {
        summary: end.summary.clone(),
        outputs,
        seen: Some(Box::new(seen(run, phase, end.seen.as_deref()))),
    }))
}

/// The evidence, with the digest of the definition that counts now.
pub(in crate::run) fn seen(run: &Run, phase: &Phase, seen: Option<&Evidence>) -> Evidence {
    let definition = definition_digest(run.plan(), phase);
    Evidence { definition, ..seen.cloned().unwrap_or_default() }
}

/// Why an attempt that says it is done has failed all the same: nobody can read what it gave out.
fn unreadable(end: &AttemptEnd) -> Option<PhaseError> {
    let why = end.outputs.as_ref().err().filter(|_| end.outcome == Outcome::Exited { code: 0 })?;
    let message = format!("its outputs cannot be read: {why}");
    Some(PhaseError { code: FailureCode::BadOutputs, message })
}

fn completed_or_not(
    run: &Run,
    phase: &Phase,
    state: &PhaseState,
    end: &AttemptEnd,
    attempt: Attempt,
    now: Timestamp,
) -> Event {
    if let Some(PhaseError { code, message }) = unreadable(end) {
        if mutant::is(Mutant::BadOutputsAreFinal) {
            return failed(phase, code, message);
        }
        // Its effect is there, by its own word: only a person can say that it is to happen once more.
        if let Some(asked) = doubt_of_an_effect(phase) {
            return asked;
        }
        return if is_another_failure(phase, &message) {
            failed_for_good(run, phase, code, message)
        } else {
            retried_or_failed(run, phase, state.failures, RetryWhen::Failed, (code, message), attempt, now)
        };
    }
    completed(run, phase, end)
}

fn completed(run: &Run, phase: &Phase, end: &AttemptEnd) -> Event {
    Event::PhaseCompleted {
        phase: phase.id.clone(),
        summary: end.summary.clone(),
        outputs: end.outputs.clone().unwrap_or_default(),
        adopted: false,
        adoption: None,
        seen: Some(Box::new(seen(run, phase, end.seen.as_deref()))),
        artifacts: Vec::new(),
    }
}

fn retried(run: &Run, phase: &Phase, state: &PhaseState, end: &AttemptEnd, attempt: Attempt, now: Timestamp) -> Event {
    let (when, code, message) = failure_of(phase, &end.outcome).expect("only failures are retried");
    let said = end.last_words.as_ref().map_or("", |words| words.text.as_str());
    if is_another_failure(phase, said) {
        return failed_for_good(run, phase, code, message);
    }
    let when = transient::kind(phase, when, said);
    retried_or_failed(run, phase, state.failures, when, (code, message), attempt, now)
}

/// The kind of failure that an end is, with its code and its words; none if it is no failure.
pub(in crate::run) fn failure_of(phase: &Phase, outcome: &Outcome) -> Option<(RetryWhen, FailureCode, String)> {
    Some(match outcome {
        Outcome::Exited { code } => (RetryWhen::Failed, FailureCode::ExitCode, format!("exited with code {code}")),
        Outcome::Killed { signal } => (RetryWhen::Infra, FailureCode::Signal, format!("was killed by signal {signal}")),
        Outcome::TimedOut => (RetryWhen::TimedOut, FailureCode::TimedOut, timed_out(phase)),
        Outcome::CouldNotStart { reason } => (RetryWhen::Infra, FailureCode::CouldNotStart, reason.clone()),
        Outcome::Stopped { .. } | Outcome::Unknown | Outcome::NeverRan => return None,
    })
}

/// Whether the plan wants to repeat a certain failure only, and this is not the one. What counts is what the attempt printed
/// last, or what the check said that it did not pass.
pub(super) fn is_another_failure(phase: &Phase, said: &str) -> bool {
    phase.retry.output_matches.as_deref().is_some_and(|pattern| !patterns::matches(pattern, said))
}

pub(in crate::run) fn failed_for_good(run: &Run, phase: &Phase, code: FailureCode, message: String) -> Event {
    replan::instead_of_failing(run, phase, code, &message).unwrap_or_else(|| failed(phase, code, message))
}

/// Another attempt, if the plan has one left after so many failures before this one.
pub(in crate::run) fn retried_or_failed(
    run: &Run,
    phase: &Phase,
    failures: u32,
    when: RetryWhen,
    (code, message): (FailureCode, String),
    attempt: Attempt,
    now: Timestamp,
) -> Event {
    let stopping = run.stop.is_some_and(|(by, _)| by != StopRequest::Pause);
    if failures >= phase.retry.max || !phase.retry.when.contains(&when) || stopping {
        return failed_for_good(run, phase, code, message);
    }
    let wait = backoff::wait(&phase.retry.backoff, failures, backoff::jitter_seed(run, &phase.id, attempt));
    Event::RetryScheduled { phase: phase.id.clone(), not_before: now + wait }
}

fn timed_out(phase: &Phase) -> String {
    match phase.timeout {
        Some(limit) => format!("did not end within its timeout of {}", crate::words::duration(limit)),
        None => "did not end in time".to_owned(),
    }
}

/// A phase that ends without a trace again and again is left alone, so that the rest can go on.
fn crash_loop(phase: &Phase, state: &PhaseState) -> Option<Event> {
    let times = state.unknowns_in_a_row + 1;
    let message = format!(
        "{}: {times} attempts in a row ended without a trace; it is left alone until a resume has --retry {}",
        FailureCode::CrashLoop.as_str(),
        phase.id
    );
    (times >= UNKNOWNS_IN_A_ROW_MAX).then(|| failed(phase, FailureCode::CrashLoop, message))
}

/// Whether only a person can say what becomes of a phase whose end nobody saw.
fn doubt(phase: &Phase, state: &PhaseState) -> Option<Event> {
    let asks = match phase.on_interrupt {
        _ if has_probe(phase) => false,
        Some(OnInterrupt::Ask) => true,
        Some(OnInterrupt::Rerun | OnInterrupt::Continue) => false,
        Some(OnInterrupt::RerunClean) => return nothing_to_put_back(phase, state),
        None => phase.effects == Effects::External,
    };
    asks.then(|| Event::PhaseInDoubt { phase: phase.id.clone() })
}

/// Whether a person has said already that the phase is to be done once more.
fn is_answered_for(state: &PhaseState) -> bool {
    state.attempt.as_ref().is_some_and(|attempt| attempt.redo) && !mutant::is(Mutant::AskAgain)
}

/// The same where the phase says that its outward effect is there, and something else is amiss.
fn doubt_of_an_effect(phase: &Phase) -> Option<Event> {
    let may_repeat = matches!(phase.on_interrupt, Some(OnInterrupt::Rerun | OnInterrupt::Continue));
    let asks = phase.effects == Effects::External && !may_repeat && !mutant::is(Mutant::RepeatAnOutwardEffect);
    asks.then(|| Event::PhaseInDoubt { phase: phase.id.clone() })
}

/// A phase that wants its files put back before it is run again, where no snapshot has them: a person has to say.
fn nothing_to_put_back(phase: &Phase, state: &PhaseState) -> Option<Event> {
    let without = phase.on_interrupt == Some(OnInterrupt::RerunClean) && state.base.is_none() && !works_apart(phase);
    without.then(|| Event::PhaseInDoubt { phase: phase.id.clone() })
}

fn failed(phase: &Phase, code: FailureCode, message: String) -> Event {
    Event::PhaseFailed { phase: phase.id.clone(), error: PhaseError { code, message } }
}
