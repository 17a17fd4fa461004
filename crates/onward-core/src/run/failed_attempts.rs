//! Failed attempts at a phase, whoever does it: remembered for the next one, and counted where the same failure comes again.

use super::decide::ended::failure_of;
use super::state::{PhaseState, ProbeDue, Run};
use crate::agent_failures::{FailedTry, SAME_FAILURE_MAX, TRIES_KEPT_MAX, signature};
use crate::checkpoint::FileModified;
use crate::event::{AgentHow, Event, ExternalReport, Outcome, PhaseError};
use crate::failure::FailureCode;
use crate::id::{Attempt, PhaseId};
use crate::mutant::{self, Mutant};
use crate::replan::EXIT_REPLAN;

impl PhaseState {
    fn remember(&mut self, one: FailedTry) {
        if self.tries.len() >= TRIES_KEPT_MAX {
            self.tries.remove(0);
        }
        self.tries.push(one);
    }
}

impl Run {
    /// An attempt of ours ended. `told` is the failure in an agent's own account. True if it has failed.
    pub(super) fn attempt_is_remembered(&mut self, event: &Event, told: Option<PhaseError>) -> bool {
        let Event::AttemptEnded { phase, attempt, outcome, error, agent, said, .. } = event else { return false };
        let definition = &self.started.plan.phases[self.at(phase)];
        let is_failure = !matches!(outcome, Outcome::Exited { code: 0 | EXIT_REPLAN });
        let own_words = agent.as_deref().is_some_and(|agent| !matches!(agent.how, AgentHow::Done | AgentHow::NoResult));
        let cut_short = matches!(outcome, Outcome::Killed { .. } | Outcome::TimedOut | Outcome::CouldNotStart { .. });
        let counts = is_failure && !own_words && (agent.is_none() || cut_short);
        let of_the_end = failure_of(definition, outcome).filter(|_| counts);
        let of_the_end = of_the_end.map(|(_, code, message)| PhaseError { code, message });
        let Some(error) = told.or_else(|| error.clone().filter(|_| agent.is_none())).or(of_the_end) else {
            return false;
        };
        self.change(phase, |state| {
            let note = state.note.clone();
            state.remember(FailedTry::saying(*attempt, &error, said.as_deref(), note.as_deref()));
        });
        true
    }

    /// An attempt was said to be done, and was not.
    pub(super) fn it_was_not_done(&mut self, phase: &PhaseId, error: &PhaseError) {
        self.change(phase, |state| {
            if matches!(state.probe, Some(ProbeDue::AfterTheRun(_))) {
                let note = state.note.clone();
                state.remember(FailedTry::saying(Attempt(state.attempts), error, None, note.as_deref()));
            }
        });
    }

    /// Remembers a report of an external phase that it failed, that nobody was heard, or that it was done when it was not.
    pub(super) fn report_is_remembered(&mut self, phase: &PhaseId, report: &ExternalReport) {
        let told = match report {
            ExternalReport::Failed { reason } | ExternalReport::Overruled { reason, .. } => {
                PhaseError { code: FailureCode::Reported, message: reason.clone() }
            }
            ExternalReport::Silent => {
                let message = "whoever did it was not heard for too long".to_owned();
                PhaseError { code: FailureCode::Silent, message }
            }
            ExternalReport::Started { .. } => {
                self.failed_alone = None;
                return;
            }
            ExternalReport::Progress { .. } | ExternalReport::Done { .. } => return,
        };
        self.change(phase, |state| {
            let note = state.note.clone();
            state.remember(FailedTry::saying(Attempt(state.attempts), &told, None, note.as_deref()));
        });
        let alone = self.derived.running.is_empty() && self.derived.external.is_empty();
        self.failed_alone = alone.then(|| phase.clone());
    }

    /// The last attempt was rate-limited: it has not failed.
    pub(super) fn it_was_no_failure(&mut self, phase: &PhaseId) {
        self.change(phase, |state| {
            let last = Attempt(state.attempts);
            state.tries.retain(|one| one.attempt != last);
        });
    }

    /// Files are not as they were. Where one phase alone failed since they were looked at before, that is its work.
    pub(super) fn files_since_a_failure(&mut self, changed: &[FileModified], more: u64) {
        let Some(phase) = self.failed_alone.take().filter(|phase| self.phase_state(phase).is_some()) else { return };
        self.change(&phase, |state| {
            if let Some(last) = state.tries.last_mut() {
                last.has_changed(changed.iter().map(|file| file.path.clone()), more);
            }
        });
    }
}

/// A failure that has come so often in the same way that going on would not help.
pub(super) fn stuck(state: &PhaseState, error: &PhaseError) -> Option<PhaseError> {
    let signature = signature(error, None);
    let times = state.tries.iter().filter(|one| one.signature == signature).count() + 1;
    (times >= SAME_FAILURE_MAX && !mutant::is(Mutant::NeverStuck)).then(|| PhaseError {
        code: FailureCode::Stuck,
        message: format!("stuck: it failed {times} times in the same way: {}", error.message),
    })
}
