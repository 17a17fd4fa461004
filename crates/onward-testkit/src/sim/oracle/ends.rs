//! Ends of attempts: what the phase itself said, what nobody can know, and who has to be asked before anything is repeated.

use jiff::Timestamp;
use onward_core::event::{AgentEnded, AgentHow, Outcome, PhaseError, ProbeAnswer};
use onward_core::failure::FailureCode;
use onward_core::id::{Attempt, PhaseId};
use onward_core::plan::{Effects, OnInterrupt, Phase};
use onward_core::replan::EXIT_REPLAN;

use super::super::facts::Unprobed;
use super::super::world::gives_out_nonsense;
use super::Oracle;
use super::agents::CallForgotten;
use super::worktrees::works_apart;

impl Oracle {
    pub(super) fn attempt_ended(
        &mut self,
        phase: &PhaseId,
        attempt: Attempt,
        outcome: &Outcome,
        at: Option<Timestamp>,
        agent: Option<(&AgentEnded, CallForgotten)>,
    ) {
        let agent_failed = agent.map(|ended| self.agent_ended(phase, attempt, outcome, ended));
        let agent = agent.map(|(ended, _)| ended);
        // A person is asked, however it ended.
        let asks = agent.is_some_and(|ended| matches!(ended.how, AgentHow::Deferred { .. }));
        let how = serde_json::to_value(outcome).expect("plain data")["how"].as_str().expect("a tag").to_owned();
        *self.coverage.entry(format!("attempt_ended:{how}")).or_default() += 1;
        let plan = self.plan.phase(phase).expect("of the plan");
        let has_probe = !plan.done_when.is_empty();
        let proves = has_probe || !plan.verify.is_empty() || !plan.artifacts.is_empty() || works_apart(plan);
        let agent_done = agent.is_none() || self.agent_says_done(phase);
        let late = says_done_late(outcome, at) && agent_done;
        // Nothing but its word says that an outward effect is there, and it may have been polite.
        let polite = late && !proves && plan.effects == Effects::External && !may_be_repeated(plan);
        let cut = is_cut(plan, outcome) && (!late || polite) && !asks;
        let facts = self.facts.get_mut(phase).expect("of the plan");
        assert_eq!(facts.open.take(), Some(attempt), "the end of {attempt} at {phase} is recorded once");
        facts.unprobed = match outcome {
            _ if asks => None,
            // It asked for another plan while it worked: that one comes first.
            Outcome::Exited { .. } if self.replans.asks(phase) => None,
            Outcome::Exited { code: 0 } => Some(Unprobed::SaysDone).filter(|_| proves && agent_done),
            Outcome::Stopped { .. } if late => Some(Unprobed::SaysDoneLate).filter(|_| proves),
            Outcome::Stopped { .. } | Outcome::Unknown => Some(Unprobed::NobodyKnows).filter(|_| has_probe),
            _ => Some(Unprobed::NobodyKnows).filter(|_| has_probe && cut),
        };
        let unsaid = matches!(outcome, Outcome::Unknown | Outcome::Stopped { said_done: false, .. });
        facts.need_not_ask = std::mem::take(&mut facts.answered) && unsaid;
        facts.must_ask = cut && !has_probe && !may_be_repeated(plan) && !facts.need_not_ask;
        facts.must_be_done = late && !proves && !polite;
        let before = facts.failures;
        match outcome {
            Outcome::Unknown | Outcome::NeverRan => facts.unknowns += 1,
            Outcome::Stopped { .. } => facts.unknowns = 0,
            _ if agent_failed.is_some() => {
                (facts.failures, facts.unknowns) = (facts.failures + u32::from(agent_failed == Some(true)), 0);
            }
            Outcome::Exited { code: 0 | EXIT_REPLAN } => facts.unknowns = 0,
            Outcome::Exited { .. } | Outcome::Killed { .. } | Outcome::TimedOut | Outcome::CouldNotStart { .. } => {
                (facts.failures, facts.unknowns) = (facts.failures + 1, 0);
            }
        }
        facts.counted = facts.failures > before;
        for (what, seen) in [("cut short", facts.must_ask), ("done late", late)] {
            if seen {
                *self.coverage.entry(format!("attempt_ended:{what}")).or_default() += 1;
            }
        }
    }

    /// A phase that says it is done and gives out what nobody can read has failed like any other; but an outward effect that it
    /// says is there is not to happen once more.
    pub(super) fn gave_out_nonsense(&mut self, phase: &PhaseId, error: &PhaseError) {
        self.agent_was_not_done(phase, error);
        let plan = self.plan.phase(phase).expect("of the plan");
        // Where it asked for another plan while it worked, that one comes first, as after any other end.
        let must_ask = plan.effects == Effects::External && !may_be_repeated(plan) && !self.replans.asks(phase);
        let facts = self.facts.get_mut(phase).expect("of the plan");
        (facts.failures, facts.unprobed, facts.must_ask) = (facts.failures + 1, None, must_ask);
        *self.coverage.entry("attempt_ended:bad-outputs".to_owned()).or_default() += 1;
    }

    /// The word of a probe about an attempt that said it was done counts like its exit code.
    pub(super) fn probed(&mut self, phase: &PhaseId, answer: ProbeAnswer, error: Option<&PhaseError>) {
        let said_done = self.facts[phase].unprobed == Some(Unprobed::SaysDone);
        // Files that do not come into the project are a failure of the attempt, however it ended.
        if let Some(error) = error.filter(|error| said_done || error.code == FailureCode::NotIntegrated) {
            self.agent_was_not_done(phase, error);
        }
        let proven_apart = answer == ProbeAnswer::Done && self.is_proven_apart(phase);
        if answer == ProbeAnswer::NotDone {
            self.is_not_proven(phase);
        }
        let plan = self.plan.phase(phase).expect("of the plan");
        let outward = plan.effects == Effects::External && plan.done_when.is_empty();
        let facts = self.facts.get_mut(phase).expect("of the plan");
        assert!(facts.open.is_none(), "{phase} is probed while it is at work");
        assert!(facts.unprobed.is_some(), "{phase} is probed without an end that needs it");
        let not_integrated = error.is_some_and(|error| error.code == FailureCode::NotIntegrated);
        facts.failures += u32::from(not_integrated && !said_done && !facts.counted);
        match (answer, facts.unprobed) {
            (ProbeAnswer::NotDone, Some(Unprobed::SaysDone)) => {
                (facts.failures, facts.unprobed) = (facts.failures + 1, None);
            }
            // No failure: somebody had asked it to end. Where its files do not come in, its work was proven before that.
            (ProbeAnswer::NotDone, Some(Unprobed::SaysDoneLate)) => {
                (facts.unprobed, facts.must_ask) = (None, outward && !not_integrated);
            }
            (ProbeAnswer::NotDone, Some(Unprobed::NobodyKnows) | None) => facts.unprobed = None,
            // What is proven in a worktree is proven once more in the project.
            (ProbeAnswer::Done, _) => facts.confirmed = !proven_apart,
            (ProbeAnswer::CannotTell, _) => {}
        }
    }

    /// Nothing is repeated, and nothing is called a failure, where nobody knows whether an outward effect happened.
    pub(super) fn was_asked_about(&self, phase: &PhaseId) {
        let facts = &self.facts[phase];
        assert!(!facts.must_ask, "R4: {phase} was cut short, and nobody was asked whether its effect happened");
        assert!(!facts.must_be_done, "{phase} finished its work after a stop, and that was thrown away");
    }
}

/// Whether an attempt came to its own end after it was asked to, and what it gives out can be read.
fn says_done_late(outcome: &Outcome, at: Option<Timestamp>) -> bool {
    matches!(outcome, Outcome::Stopped { said_done: true, .. }) && at.is_some_and(|at| !gives_out_nonsense(at))
}

/// Whether an attempt ended in the middle of something that only a probe or a person can settle.
pub(super) fn is_cut(phase: &Phase, outcome: &Outcome) -> bool {
    let outward = phase.effects == Effects::External;
    let asks = phase.on_interrupt == Some(OnInterrupt::Ask);
    match outcome {
        Outcome::Killed { .. } | Outcome::Stopped { .. } | Outcome::Unknown => outward || asks,
        Outcome::TimedOut => outward,
        Outcome::Exited { code } => outward && *code > 128,
        Outcome::CouldNotStart { .. } | Outcome::NeverRan => false,
    }
}

fn may_be_repeated(phase: &Phase) -> bool {
    phase.on_interrupt == Some(OnInterrupt::Rerun)
}
