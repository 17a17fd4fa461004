//! A person answers, or whoever does an external phase reports.

use jiff::Timestamp;

use super::Refusal;
use super::ended::{failed_for_good, retried_or_failed, seen};
use crate::event::{CallAnswer, Event, ExternalReport, PhaseError};
use crate::failure::FailureCode;
use crate::id::{Attempt, PhaseId};
use crate::input::{CommitIs, DoneSaid, Says};
use crate::mutant::{self, Mutant};
use crate::plan::{APPROVE, Body, Phase, REJECT, RetryWhen};
use crate::run::agent_calls;
use crate::run::external_phases::{ExternalState, answered, as_approval, as_external};
use crate::run::iteration::{self, NextRound, nothing_remains};
use crate::run::redacted_values::uses_what_was_cut;
use crate::run::schedule;
use crate::run::skip_and_expand::has_a_place;
use crate::run::state::{PhaseState, PhaseStatus, Run};
use crate::run::transient;
use crate::run::tries;
use crate::run::verification::{self, Judgement};
use crate::words;

pub(super) fn answer(
    run: &Run,
    id: &PhaseId,
    said: &str,
    by: &str,
    reason: Option<&str>,
) -> Result<Vec<Event>, Refusal> {
    let (phase, state) = found(run, id)?;
    let no = |why: String| Err(Refusal::NotTheirs(id.clone(), why));
    if let Some(agent) = state.agent.as_deref().filter(|_| matches!(phase.body, Body::Agent(_))) {
        let answered = match said {
            APPROVE => CallAnswer::Approved,
            REJECT => CallAnswer::Rejected,
            _ => return no(format!("a call of phase {id} is approved or rejected, and has no choices")),
        };
        let given = agent.calls.open.as_ref().and_then(|call| call.answer.as_ref());
        return match (agent_calls::waiting_call(state), given) {
            (Some(_), _) => Ok(vec![agent_calls::answer_event(id, answered, by, reason)]),
            // The same answer again changes nothing.
            (None, Some(given)) if given.is == answered => Ok(Vec::new()),
            (None, Some(given)) => no(format!("the call of phase {id} is {} already", given.is.as_str())),
            (None, None) => no(format!("no call of phase {id} waits for an answer")),
        };
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
        let why = format!("phase {id} is not begun: it is first looked whether its last attempt did it");
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
            let next = match tries::stuck(state, &error).filter(|_| when != RetryWhen::Transient) {
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
    if let (Some(commit), CommitIs::Unknown) = (&said.commit, said.commit_is) {
        return Some(format!("it names the commit {commit}, which is not in this repository"));
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
