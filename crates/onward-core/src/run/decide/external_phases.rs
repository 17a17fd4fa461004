//! A person answers, or whoever does an external phase reports.

use jiff::Timestamp;

use super::Refusal;
use super::ended::{failed_for_good, retried_or_failed, seen};
use super::revise;
use crate::event::{CallAnswer, Event, ExternalReport, PhaseError, RunResult, StopReason};
use crate::failure::FailureCode;
use crate::id::{Attempt, PhaseId};
use crate::input::{CommitIs, DoneSaid, Says};
use crate::mutant::{self, Mutant};
use crate::plan::{APPROVE, Body, Phase, REJECT, RetryWhen};
use crate::run::agent_calls::{self, AgentCall};
use crate::run::agents::AgentState;
use crate::run::external_phases::{ExternalState, answered, as_approval, as_external};
use crate::run::failed_attempts;
use crate::run::iteration::{self, NextRound, nothing_remains};
use crate::run::redacted_values::uses_what_was_cut;
use crate::run::schedule;
use crate::run::skip_and_expand::has_a_place;
use crate::run::state::{PhaseState, PhaseStatus, Run};
use crate::run::transient;
use crate::run::verification::{self, Judgement};
use crate::words;

/// A person's answer, as it was typed.
#[derive(Clone, Copy, Debug)]
pub(super) struct PersonSaid<'a> {
    pub(super) choice: &'a str,
    pub(super) by: &'a str,
    pub(super) reason: Option<&'a str>,
    /// The tool call that was shown.
    pub(super) call: Option<&'a str>,
}

/// A run that had failed waits again where a person's word about a phase leaves others something to do, and a driver nothing.
pub(super) fn open_for_others_again(run: &Run, mut events: Vec<Event>) -> Vec<Event> {
    if run.result == Some(RunResult::Failed) {
        let ahead = revise::ahead(run, events.iter(), run.updated_at);
        let derived = &ahead.derived;
        let for_a_driver = [derived.ready.is_empty(), derived.delayed.is_empty(), derived.to_open.is_empty()];
        if ahead.something_is_for_others() && !for_a_driver.contains(&false) {
            events.push(Event::RunStopped { reason: StopReason::Waiting });
        }
    }
    events
}

pub(super) fn answer(run: &Run, id: &PhaseId, answer: PersonSaid<'_>) -> Result<Vec<Event>, Refusal> {
    let (phase, state) = found(run, id)?;
    let PersonSaid { choice: said, by, reason, call } = answer;
    let no = |why: String| Err(Refusal::NotTheirs(id.clone(), why));
    if let Some(agent) = state.agent.as_deref().filter(|_| matches!(phase.body, Body::Agent(_))) {
        return about_a_call(id, (state, agent), answer);
    }
    if let Some(call) = call {
        return no(format!("phase {id} is no agent's, and has no call {call}"));
    }
    if reason.is_some() {
        return no(format!("phase {id} is no agent's, and takes no reason with its answer"));
    }
    let Some(approval) = as_approval(phase) else { return no(format!("phase {id} is no approval")) };
    let Some(choice) = approval.choice(said) else {
        return no(format!("phase {id} knows no choice {said}: {}", approval.choices.join(", ")));
    };
    let name = by.split('@').next().unwrap_or(by);
    if !approval.who.is_empty() && !approval.who.iter().any(|who| who == by || who == name) {
        return no(format!("phase {id} is for {} to decide, not for {name}", approval.who.join(", ")));
    }
    match state.status {
        PhaseStatus::Waiting => {
            let told = Event::ApprovalAnswered { phase: id.clone(), choice: choice.to_owned(), by: by.to_owned() };
            Ok(vec![told, answered(run, phase, choice)])
        }
        // The same answer again changes nothing.
        PhaseStatus::Completed if state.outputs.values().any(|given| given == choice) => Ok(Vec::new()),
        PhaseStatus::Failed if choice == crate::plan::REJECT && state.parked => Ok(Vec::new()),
        PhaseStatus::Completed => no(format!("phase {id} is decided")),
        PhaseStatus::Failed => no(format!("phase {id} was rejected: retry {id} asks again")),
        PhaseStatus::Skipped => no(format!("phase {id} was skipped")),
        PhaseStatus::Pending | PhaseStatus::Running | PhaseStatus::Interrupted => {
            no(format!("nobody is asked about phase {id} yet: what it needs is not done"))
        }
    }
}

/// The answer to a tool call. It is for the one that was shown and for no other: between look and answer somebody else may have
/// answered, and the agent may want something else by now.
fn about_a_call(
    id: &PhaseId,
    (state, agent): (&PhaseState, &AgentState),
    answer: PersonSaid<'_>,
) -> Result<Vec<Event>, Refusal> {
    let no = |why: String| Err(Refusal::NotTheirs(id.clone(), why));
    let answered = match answer.choice {
        APPROVE => CallAnswer::Approved,
        REJECT => CallAnswer::Rejected,
        _ => return no(format!("a call of phase {id} is approved or rejected, and has no choices")),
    };
    let is_meant = |known: &AgentCall| answer.call == Some(&known.id) || mutant::is(Mutant::AnswerAnyCall);
    if let Some(waits) = agent_calls::waiting_call(state) {
        if is_meant(waits) {
            return Ok(vec![agent_calls::answer_event(id, answered, answer.by, answer.reason)]);
        }
        let (now, words) = (&waits.id, waits.in_words());
        return no(match answer.call {
            Some(call) => format!("the call {call} of phase {id} does not wait any more; now {now} does: {words}"),
            None => {
                format!("a call of phase {id} waits, and the answer does not say that it is for it ({now}): {words}")
            }
        });
    }
    let open = agent.calls.open.as_ref();
    let given = open.filter(|open| answer.call.is_none() || is_meant(open)).and_then(|open| open.answer.as_ref());
    match (given, answer.call) {
        // The same answer again changes nothing.
        (Some(given), _) if given.is == answered => Ok(Vec::new()),
        (Some(given), _) => no(format!("the call of phase {id} is {} already", given.is.as_str())),
        (None, Some(call)) => no(format!("the call {call} of phase {id} does not wait for an answer")),
        (None, None) => no(format!("no call of phase {id} waits for an answer")),
    }
}

/// Uses up the answer to a tool call: it is good for one call of the attempt that is at work.
pub(super) fn give_call_answer(run: &Run, id: &PhaseId, attempt: Attempt) -> Result<Vec<Event>, Refusal> {
    let (_, state) = found(run, id)?;
    let no = |why: String| Err(Refusal::NotTheirs(id.clone(), why));
    if state.attempt.as_ref().is_none_or(|at_work| at_work.number != attempt) {
        return no(format!("attempt {attempt} of phase {id} is not under way"));
    }
    let open = state.agent.as_deref().and_then(|agent| agent.calls.open.as_ref());
    if open.is_some_and(|call| call.answer.is_some() && !call.given) {
        return Ok(vec![Event::CallAnswerGiven { phase: id.clone(), attempt }]);
    }
    no(format!("no answer to a call of phase {id} is left to be given"))
}

pub(super) fn report(run: &Run, id: &PhaseId, by: &str, says: &Says, now: Timestamp) -> Result<Vec<Event>, Refusal> {
    let (phase, state) = found(run, id)?;
    if as_external(phase).is_none() {
        return Err(Refusal::NotTheirs(id.clone(), format!("phase {id} is not for others to do")));
    }
    if is_a_repetition(state, says, now) {
        return Ok(Vec::new());
    }
    let begun = begun(run, phase, state, by)?;
    // What is over is written down, whatever it was done beside; what only begins has to wait.
    let begins = begun.is_some() && matches!(says, Says::Start | Says::Progress { .. });
    if let Some(obstacle) = schedule::taken_by_another(run, run.at(id)).filter(|_| begins) {
        return Err(Refusal::NotTheirs(id.clone(), format!("phase {id} is not begun: {}", obstacle.words(now))));
    }
    if begins && state.probe.is_some() {
        let why =
            format!("phase {id} cannot begin yet: first its probe is asked whether its last attempt did the work");
        return Err(Refusal::NotTheirs(id.clone(), why));
    }
    let tell = |report| Event::Reported { phase: id.clone(), by: by.to_owned(), report };
    Ok(match says {
        Says::Start => begun.into_iter().collect(),
        Says::Progress { note } => {
            begun.into_iter().chain([tell(ExternalReport::Progress { note: note.clone() })]).collect()
        }
        Says::Fail { reason } => {
            let attempt = Attempt(state.attempts + u32::from(begun.is_some()));
            let error = PhaseError { code: FailureCode::Reported, message: reason.clone() };
            let when = transient::kind(phase, RetryWhen::Failed, reason);
            let next = match failed_attempts::stuck(state, &error).filter(|_| when != RetryWhen::Transient) {
                Some(stuck) => failed_for_good(run, phase, stuck.code, stuck.message),
                None => retried_or_failed(run, phase, state.failures, when, (error.code, error.message), attempt, now),
            };
            begun.into_iter().chain([tell(ExternalReport::Failed { reason: reason.clone() }), next]).collect()
        }
        Says::Done(said) => {
            if let Some(reason) = overruled(phase, said) {
                let remaining = Some(said.remaining.clone()).filter(|text| !nothing_remains(text));
                let overruled = tell(ExternalReport::Overruled { reason, remaining });
                // The failure that this would be was counted: its retry has not begun.
                let why = stuck(state, said).filter(|_| !a_retry_is_due_later(state, now));
                let Some(why) = why else { return Ok(vec![overruled]) };
                let attempt = Attempt(state.attempts + u32::from(begun.is_some()));
                let next = retried_or_failed(
                    run,
                    phase,
                    state.failures,
                    RetryWhen::Failed,
                    (FailureCode::Stuck, why.clone()),
                    attempt,
                    now,
                );
                begun.into_iter().chain([overruled, tell(ExternalReport::Failed { reason: why }), next]).collect()
            } else {
                let done = tell(ExternalReport::Done { commit: said.commit.clone() });
                begun.into_iter().chain([done, completed(run, phase, said)]).collect()
            }
        }
    })
}

/// The same report as before: whoever sends it did not hear the answer.
fn is_a_repetition(state: &PhaseState, says: &Says, now: Timestamp) -> bool {
    match says {
        Says::Start => matches!(state.external, Some(ExternalState::AtWork { .. })),
        Says::Progress { .. } => false,
        Says::Done(said) => {
            let told_before = |(name, value): (&String, &String)| state.outputs.get(name) == Some(value);
            state.status == PhaseStatus::Completed && said.outputs.iter().all(told_before)
        }
        Says::Fail { reason } => {
            let said = |error: &PhaseError| {
                error.message == *reason
                    || (error.code == FailureCode::Stuck && error.message.ends_with(reason.as_str()))
            };
            let for_good = state.error.as_ref().is_some_and(said);
            for_good || (a_retry_is_due_later(state, now) && !mutant::is(Mutant::CountAReportTwice))
        }
    }
}

/// Whether a failure was counted and the time of its retry has not come: nobody can have failed again.
fn a_retry_is_due_later(state: &PhaseState, now: Timestamp) -> bool {
    let nobody_began = !matches!(state.external, Some(ExternalState::AtWork { .. }));
    nobody_began && state.failures > 0 && state.not_before.is_some_and(|time| now < time)
}

/// The beginning, where nobody reported it; or why it cannot begin.
fn begun(run: &Run, phase: &Phase, state: &PhaseState, by: &str) -> Result<Option<Event>, Refusal> {
    let id = &phase.id;
    let no = |why: String| Err(Refusal::NotTheirs(id.clone(), why));
    if matches!(state.external, Some(ExternalState::AtWork { .. })) {
        return Ok(None);
    }
    if run.vcs.rewinding.is_some() {
        return Err(Refusal::Rewinding);
    }
    if run.is_whole(run.at(id)) {
        return no(format!("phase {id} consists of parts, and is done when they are"));
    }
    match state.status {
        PhaseStatus::Completed => {
            return no(format!("phase {id} is completed and stays as it is: retry {id} has it done again"));
        }
        PhaseStatus::Skipped => return no(format!("phase {id} was skipped")),
        PhaseStatus::Failed => return no(format!("phase {id} has failed, and a person has to say that it is retried")),
        PhaseStatus::Pending | PhaseStatus::Running | PhaseStatus::Waiting | PhaseStatus::Interrupted => {}
    }
    if state.in_doubt {
        return no(format!("phase {id} is in doubt, and a person has to say what becomes of it"));
    }
    if run.is_blocked(id) {
        let is_open = |need: &&PhaseId| run.phase_state(need).is_some_and(|state| !state.is_finished());
        return match phase.needs.iter().map(|need| &need.phase).find(is_open) {
            Some(need) => no(format!("phase {id} needs {need}, which is not done")),
            None => no(format!("phase {id} needs something that was skipped")),
        };
    }
    if !has_a_place(run, run.at(id)) {
        return no(format!("phase {id} is not begun: as many parts as may be are at work beside it"));
    }
    if !run.failure_allows() {
        return no(format!("phase {id} is not begun: another phase has failed"));
    }
    if let Some(why) = uses_what_was_cut(run, phase) {
        return no(format!("phase {id} is not begun: {}", why.message));
    }
    let report = ExternalReport::Started { attempt: Attempt(state.attempts + 1) };
    Ok(Some(Event::Reported { phase: id.clone(), by: by.to_owned(), report }))
}

/// Why going on would not help: what remains is what remained before, and before that.
fn stuck(state: &PhaseState, said: &DoneSaid) -> Option<String> {
    let rounds: Vec<String> = state.rounds.iter().chain([&said.remaining]).cloned().collect();
    match iteration::next(&rounds, rounds.len(), usize::MAX) {
        NextRound::Stuck { remaining } => Some(format!("it is stuck: what remains has not changed: {remaining}")),
        NextRound::Done | NextRound::Overruled { .. } | NextRound::LimitReached { .. } => None,
    }
}

/// Why a phase that is said to be done is not.
fn overruled(phase: &Phase, said: &DoneSaid) -> Option<String> {
    if !nothing_remains(&said.remaining) {
        return Some(format!("it says it is done, but this remains: {}", said.remaining.trim()));
    }
    match (&said.commit, said.commit_is) {
        (Some(commit), CommitIs::Unknown) => {
            return Some(format!("it names the commit {commit}, which is not in this repository"));
        }
        (Some(commit), CommitIs::NoRepository) => {
            return Some(format!("it names the commit {commit}, and there is no git repository that could know it"));
        }
        (_, CommitIs::Known) | (None, _) => {}
    }
    match verification::judge(phase, &said.proof) {
        Judgement::Done => None,
        Judgement::NotDone(error) => Some(error.message),
        Judgement::Unclear => Some("its done-when probe cannot tell whether the effect is there".to_owned()),
    }
}

fn completed(run: &Run, phase: &Phase, said: &DoneSaid) -> Event {
    Event::PhaseCompleted {
        phase: phase.id.clone(),
        summary: said.summary.as_deref().and_then(words::summary),
        outputs: said.outputs.clone(),
        adopted: false,
        adoption: None,
        seen: Some(Box::new(seen(run, phase, said.seen.as_deref()))),
        artifacts: said.proof.left_behind(),
    }
}

fn found<'a>(run: &'a Run, id: &PhaseId) -> Result<(&'a Phase, &'a PhaseState), Refusal> {
    let state = run.phase_state(id).ok_or_else(|| Refusal::NoSuchPhase(id.clone()))?;
    Ok((&run.plan().phases[run.at(id)], state))
}
