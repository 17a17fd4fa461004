//! Tool calls of agents that wait for a person: what is asked, what was answered, and whether the answer is used up.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::agents::AgentState;
use super::external_phases::ExternalState;
use super::state::{Before, PhaseState, PhaseStatus, Run};
use crate::agent::RejectedCall;
use crate::event::{AgentEnded, AgentHow, CallAnswer, Event, Outcome};
use crate::id::PhaseId;
use crate::mutant::{self, Mutant};
use crate::plan::{Body, Phase};

/// Rejected calls that are remembered; of what is forgotten a person is asked again.
const REJECTED_KEPT_MAX: usize = 50;
/// Of the hash of a call that is its id: short enough to type, long enough that no two calls of a phase have the same.
const ID_CHARS: usize = 8;
/// Of the agent's reason.
const REASON_BYTES_MAX: usize = 1_000;

/// The calls of one agent that are a person's to decide.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentCalls {
    /// The one that waits for an answer, or whose answer the client was not given yet.
    pub open: Option<AgentCall>,
    pub rejected: Vec<RejectedCall>,
    /// A call that was approved and begun, and of whose end nobody knows.
    pub unclear: Option<String>,
}

/// A call that the agent was kept from making.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentCall {
    /// The name by which a person's answer tells it from every other one.
    pub id: String,
    pub tool: String,
    pub input: String,
    /// The agent's last words before it.
    pub reason: Option<String>,
    pub digest: Option<String>,
    pub answer: Option<GivenAnswer>,
    /// The client had forgotten that the call waits: the next attempt is told the answer in its prompt.
    pub by_prompt: bool,
    /// The client of the attempt at work was given the answer, or is about to be.
    pub given: bool,
}

/// A person's answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenAnswer {
    pub is: CallAnswer,
    pub by: String,
    pub reason: Option<String>,
}

impl AgentCall {
    /// `Bash: git push`, with all lines of the input.
    pub fn in_words(&self) -> String {
        in_words(&self.tool, &self.input)
    }
}

impl GivenAnswer {
    /// The reason that the agent is told for a no.
    fn why_not(&self) -> String {
        let said = self.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        format!(
            "{} has rejected this call{said}. Do not try to get to the same end in another way; go on without it, or say that \
             it cannot be done without.",
            self.by
        )
    }
}

fn in_words(tool: &str, input: &str) -> String {
    if input.is_empty() { tool.to_owned() } else { format!("{tool}: {input}") }
}

impl AgentCalls {
    /// The answer that the next attempt hands to its client, which goes on with the call that waits in its session.
    pub fn to_hand_over(&self) -> Option<(&AgentCall, &GivenAnswer)> {
        let call = self.open.as_ref().filter(|call| !call.by_prompt)?;
        Some((call, call.answer.as_ref()?))
    }

    /// The digest of the approved call.
    pub fn approved(&self) -> Option<&str> {
        let call = self.open.as_ref()?;
        let approved =
            |answer: &GivenAnswer| answer.is == CallAnswer::Approved || mutant::is(Mutant::MakeARejectedCall);
        call.digest.as_deref().filter(|_| !call.given && call.answer.as_ref().is_some_and(approved))
    }

    /// As an agent is told of them in words.
    pub fn told(&self) -> Vec<String> {
        let unclear = self.unclear.as_ref().map(|call| {
            format!(
                "A person approved this call, and it was begun. Whether it came to its end nobody knows: look at what is there \
                 before you make it again.\n\n{call}"
            )
        });
        let answered = self.open.as_ref().and_then(|call| {
            let answer = call.answer.as_ref()?;
            Some(match answer.is {
                CallAnswer::Approved => format!(
                    "A person has approved this call, once. If it is still needed, make it exactly like this: another one is \
                     asked about anew.\n\n{}",
                    call.in_words()
                ),
                CallAnswer::Rejected => format!("{}\n\n{}", answer.why_not(), call.in_words()),
            })
        });
        unclear.into_iter().chain(answered).collect()
    }

    fn answered(&mut self, answer: GivenAnswer) {
        let Some(call) = &mut self.open else { return };
        if let (CallAnswer::Rejected, Some(digest)) = (answer.is, &call.digest) {
            if self.rejected.len() >= REJECTED_KEPT_MAX {
                self.rejected.remove(0);
            }
            self.rejected.push(RejectedCall { digest: digest.clone(), why: answer.why_not() });
        }
        call.answer = Some(answer);
    }
}

/// The end of an attempt, as far as calls are concerned.
#[derive(Clone, Copy, Debug)]
pub(super) struct CallEnd<'a> {
    pub(super) outcome: &'a Outcome,
    pub(super) agent: Option<&'a AgentEnded>,
    pub(super) answer_given: bool,
}

/// The name of the call with which this attempt ended: no attempt ends with two.
fn id_of(phase: &PhaseId, attempt: u32, (tool, input): (&str, &str), digest: Option<&str>) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in [phase.as_str(), &attempt.to_string(), tool, input, digest.unwrap_or_default()] {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.finalize().to_hex()[..ID_CHARS].to_owned()
}

/// The call with which an attempt ended.
fn deferred(phase: &PhaseId, attempt: u32, ended: &AgentEnded) -> Option<AgentCall> {
    let AgentHow::Deferred { tool, input, digest } = &ended.how else { return None };
    let reason = ended.text.clone().map(|mut text| {
        text.truncate(text.floor_char_boundary(REASON_BYTES_MAX));
        text
    });
    Some(AgentCall {
        id: id_of(phase, attempt, (tool, input), digest.as_deref()),
        tool: tool.clone(),
        input: input.clone(),
        reason: reason.filter(|text| !text.trim().is_empty()),
        digest: digest.clone(),
        answer: None,
        by_prompt: false,
        given: false,
    })
}

/// Whether an attempt ended with a call that waits for a person.
pub(super) fn waits(ended: Option<&AgentEnded>) -> bool {
    ended.is_some_and(|ended| matches!(ended.how, AgentHow::Deferred { .. }))
}

/// Whether a client that was to go on with an answered call did not know of one: then the next attempt is told in its prompt, and
/// that is no failure.
pub(super) fn was_not_taken(agent: Option<&AgentState>, end: CallEnd<'_>) -> bool {
    let to_hand_over = agent.is_some_and(|agent| agent.calls.to_hand_over().is_some());
    let by_itself = matches!(end.outcome, Outcome::Exited { .. });
    let without_a_word =
        end.agent.is_some_and(|agent| matches!(agent.how, AgentHow::NoResult | AgentHow::Failed { .. }));
    to_hand_over && by_itself && without_a_word && !end.answer_given
}

impl Run {
    /// Calls that wait for a person.
    pub fn calls(&self) -> impl Iterator<Item = (&Phase, &AgentCall)> {
        let waiting = self.derived.external.iter().filter(|&&at| self.phases[at].status == PhaseStatus::Waiting);
        waiting.filter_map(|&at| Some((&self.plan().phases[at], waiting_call(&self.phases[at])?)))
    }

    /// Applies an attempt's end to the calls of its agent.
    pub(super) fn call_ended(&mut self, phase: &PhaseId, end: CallEnd<'_>) {
        if *end.outcome == Outcome::NeverRan || self.phases[self.at(phase)].agent.is_none() {
            return;
        }
        self.change(phase, |state| {
            let Some(agent) = state.agent.as_deref_mut() else { return };
            let not_taken = was_not_taken(Some(agent), end);
            let came_to_its_end = matches!(end.outcome, Outcome::Exited { .. })
                && end.agent.is_some_and(|ended| !matches!(ended.how, AgentHow::NoResult | AgentHow::Interrupted));
            let calls = &mut agent.calls;
            if came_to_its_end {
                calls.unclear = None;
            }
            let used_up = end.answer_given && !mutant::is(Mutant::ApproveACallTwice);
            if let Some(call) = calls.open.take_if(|call| used_up && call.answer.is_some()) {
                let approved = call.answer.as_ref().is_some_and(|answer| answer.is == CallAnswer::Approved);
                calls.unclear = (approved && !came_to_its_end).then(|| call.in_words());
            } else if let Some(call) = calls.open.as_mut().filter(|_| not_taken) {
                call.by_prompt = true;
            }
            let attempt = state.attempts;
            if let Some(call) = end.agent.and_then(|ended| deferred(phase, attempt, ended)) {
                calls.open = Some(call);
            }
        });
    }

    pub(super) fn call_asked(&mut self, phase: &PhaseId, at: Timestamp) {
        self.change(phase, |state| {
            assert!(state.attempt.is_none() && !state.is_finished(), "a call of {phase} waits after its attempt");
            let open = state.agent.as_deref().and_then(|agent| agent.calls.open.as_ref());
            assert!(open.is_some_and(|call| call.answer.is_none()), "a call of {phase} waits");
            (state.status, state.external) = (PhaseStatus::Waiting, Some(ExternalState::Call { at }));
            (state.not_before, state.error) = (None, None);
            state.unknowns_in_a_row = 0;
        });
    }

    pub(super) fn call_answer_given(&mut self, phase: &PhaseId) {
        self.change(phase, |state| {
            let open = state.agent.as_deref_mut().and_then(|agent| agent.calls.open.as_mut());
            let call = open.filter(|call| call.answer.is_some());
            call.expect("an answer is given when there is one").given = true;
        });
    }

    pub(super) fn call_answered(&mut self, phase: &PhaseId, answer: GivenAnswer) {
        self.change(phase, |state| {
            assert!(waiting_call(state).is_some(), "a call of {phase} is answered when it was asked about");
            if let Some(agent) = state.agent.as_deref_mut().filter(|_| !mutant::is(Mutant::ForgetAnAnswer)) {
                agent.calls.answered(answer);
            }
            (state.status, state.external) = (PhaseStatus::Pending, None);
            state.last_end = Some(Before::Answered);
        });
    }
}

/// Whether the client of the attempt at work was given a person's answer.
pub(super) fn was_given(state: &PhaseState) -> bool {
    let open = state.agent.as_deref().and_then(|agent| agent.calls.open.as_ref());
    open.is_some_and(|call| call.given)
}

/// The call that a phase waits for.
pub fn waiting_call(state: &PhaseState) -> Option<&AgentCall> {
    let asked = matches!(state.external, Some(ExternalState::Call { .. }));
    let calls = state.agent.as_deref().filter(|_| asked)?;
    calls.calls.open.as_ref().filter(|call| call.answer.is_none())
}

/// A call is not waited for any more, nor is an answer handed over: the phase stands as it stood before.
pub(super) fn forget(state: &mut PhaseState) {
    if let Some(agent) = state.agent.as_deref_mut() {
        agent.calls.open = None;
    }
}

/// A call is not waited for any more: the agent is to try again. An answer that was given stays one.
pub(super) fn ask_no_more(state: &mut PhaseState) {
    if let Some(agent) = state.agent.as_deref_mut() {
        agent.calls.open.take_if(|call| call.answer.is_none());
    }
}

/// Whether an agent's phase may wait for a call.
pub(super) fn fits(phase: &Phase, state: &PhaseState) -> bool {
    matches!(phase.body, Body::Agent(_)) && waiting_call(state).is_some()
}

/// The answer to a call, for whoever decides; none where this phase waits for none.
pub(super) fn answer_event(phase: &PhaseId, is: CallAnswer, by: &str, reason: Option<&str>) -> Event {
    Event::CallAnswered { phase: phase.clone(), answer: is, by: by.to_owned(), reason: reason.map(str::to_owned) }
}
