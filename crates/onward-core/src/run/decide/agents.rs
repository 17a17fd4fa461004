//! An agent's attempt is over: what its own account of it means.

use jiff::Timestamp;

use super::ended::{failed_for_good, failure_of, is_another_failure, retried_or_failed};
use super::limited;
use crate::event::{AgentEnded, AgentHow, Event, Outcome, PhaseError, StopRequest};
use crate::failure::FailureCode;
use crate::id::Attempt;
use crate::input::AttemptEnd;
use crate::mutant::{self, Mutant};
use crate::plan::{Phase, RetryWhen};
use crate::replan::EXIT_REPLAN;
use crate::run::agent_calls::{self, CallEnd};
use crate::run::agents::{HAND_OFFS_MAX, REMAINING_OUTPUT, ROUNDS_MAX, hands_off, is_a_round, spent};
use crate::run::failed_attempts::stuck;
use crate::run::iteration::{self, NextRound, nothing_remains};
use crate::run::state::{PhaseState, Run};
use crate::run::{transient, verification};

/// Of what remains that is kept and told.
const REMAINING_BYTES_MAX: usize = 2_000;

/// The account with what only the run knows: how much of the session's use was this attempt's.
pub(super) fn account(state: &PhaseState, end: &AttemptEnd) -> Option<Box<AgentEnded>> {
    let mut ended = end.agent.clone()?;
    if let Some(all) = ended.session_tokens {
        let before = state.agent.as_deref().map_or(0, |agent| agent.session_tokens);
        ended.tokens = all.saturating_sub(before);
    }
    ended.remaining = remaining(end);
    Some(ended)
}

/// Whether a person's answer to a call of the agent is still to be handed over.
pub(super) fn has_an_answer(state: &PhaseState) -> bool {
    let open = state.agent.as_deref().and_then(|agent| agent.calls.open.as_ref());
    open.is_some_and(|call| call.answer.is_some())
}

/// Whether an end like this is counted as a failure.
pub(in crate::run) fn counts_as_failure(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Exited { code } => *code != 0 && *code != EXIT_REPLAN,
        Outcome::Killed { .. } | Outcome::TimedOut | Outcome::CouldNotStart { .. } => true,
        Outcome::Stopped { .. } | Outcome::Unknown | Outcome::NeverRan => false,
    }
}

/// Whether an agent says that it is done, and nothing contradicts it.
pub(super) fn says_done(phase: &Phase, end: &AttemptEnd) -> bool {
    let done = |ended: &AgentEnded| ended.how == AgentHow::Done && failure(phase, &end.outcome, ended).is_none();
    end.agent.as_deref().is_none_or(done) && (remaining(end).is_none() || mutant::is(Mutant::BelieveEveryDone))
}

/// The work that is left by an agent's own word, or by the boxes that it left open.
pub(super) fn remaining(end: &AttemptEnd) -> Option<String> {
    let ended = end.agent.as_deref()?;
    let said = end.outputs.as_ref().ok()?.get(REMAINING_OUTPUT);
    let left = said.into_iter().chain(&ended.remaining).find(|text| !nothing_remains(text))?.trim();
    Some(left[..left.floor_char_boundary(REMAINING_BYTES_MAX)].to_owned())
}

/// The failure that an account tells, as far as it can be told without the plan.
pub(in crate::run) fn agent_failure(outcome: &Outcome, ended: &AgentEnded) -> Option<PhaseError> {
    let error = |code, message: String| Some(PhaseError { code, message });
    match (&ended.how, outcome) {
        // Whoever ends it does not call that a failure, and nobody calls a lost end one. A limit and an overloaded service are
        // waited for, a tool that waits for a person is no failure, and other ends of the process have their own words.
        (_, Outcome::Stopped { .. } | Outcome::Unknown | Outcome::NeverRan)
        | (AgentHow::Limited { .. } | AgentHow::Overloaded { .. } | AgentHow::Deferred { .. }, _)
        | (
            AgentHow::Done,
            Outcome::Exited { code: 0 } | Outcome::Killed { .. } | Outcome::TimedOut | Outcome::CouldNotStart { .. },
        )
        | (AgentHow::NoResult, Outcome::TimedOut | Outcome::CouldNotStart { .. }) => None,
        (AgentHow::Done, Outcome::Exited { code }) => {
            let message = format!("said that it was done, and exited with code {code}");
            error(FailureCode::AgentFailed, message)
        }
        (AgentHow::Exhausted, _) => {
            let message = format!("its context is full again, and {HAND_OFFS_MAX} new sessions have taken over before");
            error(FailureCode::AgentFailed, message)
        }
        (AgentHow::SessionUnknown, _) => {
            error(FailureCode::AgentFailed, "its client knows none of its sessions any more".to_owned())
        }
        (AgentHow::SessionInUse, _) => {
            error(FailureCode::AgentFailed, "another process works in its session".to_owned())
        }
        (AgentHow::Interrupted | AgentHow::NoResult, Outcome::Killed { signal }) => {
            error(FailureCode::Signal, format!("was killed by signal {signal}"))
        }
        (AgentHow::Interrupted, _) => error(FailureCode::Signal, "was interrupted".to_owned()),
        (AgentHow::MaxTurns, _) => error(FailureCode::MaxTurns, format!("took all its turns ({})", ended.turns)),
        (AgentHow::Budget, _) => error(FailureCode::Budget, format!("spent its budget (${:.4})", ended.cost_usd())),
        (AgentHow::NotLoggedIn { message }, _) => error(FailureCode::NotLoggedIn, message.clone()),
        (AgentHow::Failed { message }, _) => error(FailureCode::AgentFailed, message.clone()),
        (AgentHow::NoResult, Outcome::Exited { code }) => {
            let said = ended.text.as_deref().filter(|said| !said.is_empty());
            let said = said.map(|said| format!(": {said}")).unwrap_or_default();
            error(FailureCode::AgentFailed, format!("ended with code {code} and without a result{said}"))
        }
    }
}

/// The same with what the plan asks for.
pub(super) fn failure(phase: &Phase, outcome: &Outcome, ended: &AgentEnded) -> Option<PhaseError> {
    let denied = ended.how == AgentHow::Done && !ended.denied.is_empty() && !verification::is_wanted(phase);
    let denied = denied.then(|| PhaseError {
        code: FailureCode::Denied,
        message: format!(
            "was not allowed to use {}, and nothing in the plan proves that it did without",
            ended.denied.join(", ")
        ),
    });
    agent_failure(outcome, ended).or(denied)
}

/// Why an attempt counts as failed although its process ended well.
pub(super) fn failed_all_the_same(phase: &Phase, end: &AttemptEnd) -> Option<PhaseError> {
    let ended = end.agent.as_deref().filter(|_| end.outcome == Outcome::Exited { code: 0 })?;
    let turned_away = || {
        let message = ended.how.turned_away()?.to_owned();
        Some(PhaseError { code: FailureCode::AgentFailed, message })
    };
    failure(phase, &end.outcome, ended).or_else(turned_away)
}

/// The next step after an attempt of an agent that is not done.
pub(super) fn next(
    run: &Run,
    phase: &Phase,
    state: &PhaseState,
    (end, ended): (&AttemptEnd, &AgentEnded),
    attempt: Attempt,
    now: Timestamp,
) -> Option<Event> {
    let stopping = run.stop.is_some_and(|(by, _)| by != StopRequest::Pause);
    let answer_given = end.answer_given || agent_calls::was_given(state);
    let call = CallEnd { outcome: &end.outcome, agent: Some(ended), answer_given };
    let not_taken = agent_calls::was_not_taken(state.agent.as_deref(), call);
    if not_taken || hands_off(&ended.how, state.agent.as_deref()) {
        // The next attempt begins a new session. It is no retry, and waits for nothing.
        return (!stopping).then(|| Event::RetryScheduled { phase: phase.id.clone(), not_before: now });
    }
    if run.ended_for_shared_money(phase, ended) {
        // It has not failed: it goes on once there is more.
        return (!stopping).then(|| Event::RetryScheduled { phase: phase.id.clone(), not_before: now });
    }
    if let AgentHow::Overloaded { message } = &ended.how {
        let why = (FailureCode::AgentFailed, message.clone());
        let when =
            if phase.retry.when.contains(&RetryWhen::Transient) { RetryWhen::Transient } else { RetryWhen::Failed };
        return Some(retried_or_failed(run, phase, state.failures, when, why, attempt, now));
    }
    if let Some(hit) = limited::limited(run, phase, end, now) {
        return Some(hit);
    }
    let Some(error) = failure(phase, &end.outcome, ended) else {
        if let Some(account) = account(state, end).filter(|account| is_a_round(&end.outcome, account)) {
            return (!stopping).then(|| next_round(run, phase, state, account.remaining, now));
        }
        let (when, code, message) = failure_of(phase, &end.outcome)?;
        // The plan does not wait for this limit.
        let (code, message) = if let AgentHow::Limited { said, .. } = &ended.how {
            (FailureCode::AgentFailed, said.clone())
        } else {
            (code, message)
        };
        return Some(retried_or_failed(run, phase, state.failures, when, (code, message), attempt, now));
    };
    Some(after(run, phase, state, error, attempt, now))
}

/// An agent that says it is done and names what remains is sent back to it, in the same session. That is no retry.
fn next_round(run: &Run, phase: &Phase, state: &PhaseState, remaining: Option<String>, now: Timestamp) -> Event {
    let before = state.agent.as_deref().map_or(0, |agent| agent.rounds);
    let remained: Vec<String> = state.rounds.iter().cloned().chain(remaining).collect();
    match iteration::next(&remained, before + 1, ROUNDS_MAX) {
        NextRound::Done | NextRound::Overruled { .. } => {
            Event::RetryScheduled { phase: phase.id.clone(), not_before: now }
        }
        NextRound::Stuck { .. } | NextRound::LimitReached { .. } if mutant::is(Mutant::GoRoundForEver) => {
            Event::RetryScheduled { phase: phase.id.clone(), not_before: now }
        }
        NextRound::Stuck { remaining } => {
            let message = format!("stuck: what remains has not changed: {remaining}");
            failed_for_good(run, phase, FailureCode::Stuck, message)
        }
        NextRound::LimitReached { remaining } => {
            let message = format!("said {ROUNDS_MAX} times that it was done, and this remains: {remaining}");
            failed_for_good(run, phase, FailureCode::AgentFailed, message)
        }
    }
}

/// The next step after a failure: stuck, spent, tried again, or failed.
pub(super) fn after(
    run: &Run,
    phase: &Phase,
    state: &PhaseState,
    error: PhaseError,
    attempt: Attempt,
    now: Timestamp,
) -> Event {
    if transient::is_transient(error.message.as_bytes()) {
        let when = transient::kind(phase, RetryWhen::Failed, &error.message);
        return retried_or_failed(run, phase, state.failures, when, (error.code, error.message), attempt, now);
    }
    if let Some(stuck) = stuck(state, &error) {
        return failed_for_good(run, phase, stuck.code, stuck.message);
    }
    let PhaseError { code, message } = error;
    let final_code = matches!(code, FailureCode::MaxTurns | FailureCode::Budget | FailureCode::NotLoggedIn);
    if final_code || is_another_failure(phase, &message) || spent(phase, state.agent.as_deref()).is_some() {
        return failed_for_good(run, phase, code, message);
    }
    // A signal that was not ours is a matter of the machine, as for any other phase.
    let when = if code == FailureCode::Signal { RetryWhen::Infra } else { RetryWhen::Failed };
    retried_or_failed(run, phase, state.failures, when, (code, message), attempt, now)
}
