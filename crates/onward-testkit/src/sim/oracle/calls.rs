//! Tool calls of agents that a person decides: asked once, answered once, and the answer is used up once.

use std::collections::BTreeSet;

use onward_core::event::{AgentEnded, AgentHow, CallAnswer, Outcome};
use onward_core::id::PhaseId;
use onward_core::run::agent_calls::AgentCalls;

use super::Oracle;

/// The oracle's notes on the calls of one phase.
#[derive(Clone, Debug, Default)]
pub(super) struct CallFacts {
    /// The call with which an attempt ended, by its digest.
    digest: Option<String>,
    /// A person is asked.
    pub(super) waits: bool,
    /// The answer that its agent was not given yet.
    answer: Option<CallAnswer>,
    /// Its client has forgotten the call: the agent is told in words.
    by_prompt: bool,
    rejected: BTreeSet<String>,
}

/// The end of an attempt that may have gone on with a call.
pub(super) struct EndOfACall<'a> {
    pub outcome: &'a Outcome,
    pub ended: Option<&'a AgentEnded>,
    /// The client took the answer.
    pub given: bool,
}

impl CallFacts {
    /// Whether the next attempt has to go on in the session in which an answered call waits.
    pub(super) fn is_handed_over(&self) -> bool {
        self.answer.is_some() && !self.by_prompt
    }

    /// An attempt is over. True if its client did not know of the call that it was to go on with.
    pub(super) fn ended(&mut self, end: &EndOfACall) -> bool {
        let EndOfACall { outcome, ended, given } = *end;
        if *outcome == Outcome::NeverRan {
            return false;
        }
        let without_a_word =
            ended.is_some_and(|ended| matches!(ended.how, AgentHow::NoResult | AgentHow::Failed { .. }));
        let forgotten = self.is_handed_over() && without_a_word && matches!(outcome, Outcome::Exited { .. }) && !given;
        self.by_prompt |= forgotten;
        if given && self.answer.is_some() {
            (self.digest, self.answer, self.by_prompt) = (None, None, false);
        }
        if let Some(AgentHow::Deferred { digest, .. }) = ended.map(|ended| &ended.how) {
            (self.digest, self.answer, self.by_prompt) = (digest.clone(), None, false);
        }
        forgotten
    }

    /// Somebody wants it tried again: a question is not waited for any more, an answer stays one.
    pub(super) fn ask_no_more(&mut self) {
        self.waits = false;
        if self.answer.is_none() {
            self.digest = None;
        }
    }

    /// The phase stands as it stood before.
    pub(super) fn forget(&mut self) {
        (self.digest, self.waits, self.answer, self.by_prompt) = (None, false, None, false);
    }
}

impl Oracle {
    pub(super) fn call_asked(&mut self, phase: &PhaseId) {
        self.facts.get_mut(phase).expect("of the plan").unknowns = 0;
        let calls = self.calls.entry(phase.clone()).or_default();
        let fresh = calls.digest.is_some() && calls.answer.is_none() && !calls.waits;
        assert!(fresh, "J1: a person is asked about a call of {phase} that nobody wants to make");
        calls.waits = true;
    }

    pub(super) fn call_answered(&mut self, phase: &PhaseId, answer: CallAnswer) {
        *self.coverage.entry(format!("call_answered:{}", answer.as_str())).or_default() += 1;
        let calls = self.calls.entry(phase.clone()).or_default();
        assert!(calls.waits && calls.answer.is_none(), "J1: a call of {phase} is answered, and nobody was asked");
        (calls.waits, calls.answer) = (false, Some(answer));
        if answer == CallAnswer::Rejected {
            calls.rejected.extend(calls.digest.clone());
        }
    }

    /// The client is started with the answers that a person gave, and with no other.
    pub(in crate::sim) fn answers_reach_the_agent(&self, phase: &PhaseId, told: &AgentCalls) {
        let none = CallFacts::default();
        let calls = self.calls.get(phase).unwrap_or(&none);
        assert!(!calls.waits, "J2: {phase} is started while a person is asked about a call of its agent");
        let approved = calls.digest.as_deref().filter(|_| calls.answer == Some(CallAnswer::Approved));
        assert_eq!(
            told.approved(),
            approved,
            "J2: {phase} may make the call that a person approved, once, and no other"
        );
        let answered = told.open.as_ref().is_some_and(|call| call.answer.is_some());
        assert_eq!(answered, calls.answer.is_some(), "J2: {phase} is told the answer to its call, once");
        let rejected: BTreeSet<String> = told.rejected.iter().map(|call| call.digest.clone()).collect();
        assert_eq!(rejected, calls.rejected, "J3: a call of {phase} that was rejected is never made");
    }
}
