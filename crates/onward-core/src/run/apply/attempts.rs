//! Facts about attempts: begun, adopted, ended, to be repeated.

use jiff::Timestamp;

use crate::event::{Event, Outcome};
use crate::id::{Attempt, Generation, PhaseId};
use crate::mutant::{self, Mutant};
use crate::replan::EXIT_REPLAN;
use crate::run::agent_calls::CallEnd;
use crate::run::readiness::Readiness;
use crate::run::requirements::RequirementState;
use crate::run::resume_reason::resume_reason;
use crate::run::state::{Before, PhaseStatus, Run, RunningAttempt};
use crate::run::worktrees;

impl Run {
    pub(super) fn attempt_started(
        &mut self,
        phase: &PhaseId,
        (attempt, generation, epoch): (Attempt, Generation, u64),
        boot: &str,
        clean: Option<&String>,
        at: Timestamp,
    ) {
        assert_eq!(epoch, self.epoch, "run {}: only the present driver starts attempts", self.id);
        assert_eq!(self.derived.readiness[self.at(phase)], Readiness::Run, "phase {phase} is started before its turn");
        assert!(!self.is_whole(self.at(phase)), "phase {phase} is done by its parts");
        assert!(!self.git_comes_first(), "phase {phase} is started before git is up to date");
        let beside_others = self.beside_others();
        let (head, base) = (self.vcs.head.clone(), self.vcs.last.as_ref().map(|snapshot| snapshot.commit.clone()));
        let started = self.started.clone();
        let definition = &started.plan.phases[self.at(phase)];
        self.change(phase, |state| {
            worktrees::for_the_next_attempt(definition, state);
            assert!(state.attempt.is_none(), "phase {phase} is started while an attempt is at work");
            assert!(!state.is_finished(), "phase {phase} is finished and is started again");
            assert_eq!(attempt.0, state.attempts + 1, "attempts of {phase} are numbered without gaps");
            assert_eq!(generation, state.generation, "an attempt of {phase} belongs to the present generation");
            let (boot, before, clean) = (boot.to_owned(), state.last_end, clean.cloned());
            let adopted = false;
            state.attempt = Some(RunningAttempt {
                number: attempt,
                epoch,
                boot,
                adopted,
                before,
                head,
                beside_others,
                clean,
                kept: None,
                redo: false,
            });
            state.base = state.base.take().or(base);
            state.clean = false;
            (state.attempts, state.attempts_told) = (attempt.0, None);
            state.status = PhaseStatus::Running;
            (state.started_at, state.ended_at, state.duration_ms) = (Some(at), None, None);
            (state.not_before, state.error) = (None, None);
            state.requirements = RequirementState::NotLookedAt;
        });
        self.failed_alone = None;
        self.label_is_due(phase);
        self.drawn_on(phase, at);
    }

    pub(super) fn end_of_an_attempt(&mut self, event: &Event, at: Timestamp) {
        let Event::AttemptEnded {
            phase,
            attempt,
            outcome,
            ended_at,
            duration_ms,
            note,
            head,
            claimed,
            error,
            left_running,
            around,
            agent,
            said: _,
            damage,
            answer_given,
        } = event
        else {
            return;
        };
        let alone =
            self.phase_state(phase).and_then(|state| state.attempt.as_ref()).is_some_and(|one| !one.beside_others);
        let own = self.own_commit(phase, head.as_ref());
        self.attempt_ended(phase, *attempt, outcome, (ended_at.unwrap_or(at), *duration_ms), note.as_deref());
        if error.is_some() {
            // Its code says that all is well; that counts as a failure all the same.
            self.change(phase, |state| {
                (state.failures, state.last_end) = (state.failures + 1, Some(Before::Failed));
            });
        }
        self.change(phase, |state| {
            state.left_running.clone_from(left_running);
            state.damage.clone_from(damage);
        });
        self.head_seen(phase, head.as_ref(), own);
        if let Some(around) = around {
            self.around_seen(around, at);
        }
        let end = CallEnd { outcome, agent: agent.as_deref(), answer_given: *answer_given };
        let told = self.agent_ended(phase, error.as_ref(), end);
        self.call_ended(phase, end);
        if self.attempt_is_remembered(event, told) {
            self.failed_alone = alone.then(|| phase.clone());
        }
        self.probe_is_due(phase, outcome, claimed.as_deref());
    }

    fn attempt_ended(
        &mut self,
        phase: &PhaseId,
        attempt: Attempt,
        outcome: &Outcome,
        (ended_at, duration_ms): (Timestamp, Option<u64>),
        note: Option<&str>,
    ) {
        self.running_attempt(phase, attempt);
        self.change(phase, |state| {
            state.attempt = None;
            state.status = PhaseStatus::Interrupted;
            state.ended_at = Some(ended_at);
            let span = state.started_at.map(|start| ended_at.duration_since(start).as_millis());
            state.duration_ms = duration_ms.or_else(|| span.and_then(|ms| u64::try_from(ms).ok()));
            if let Some(note) = note {
                state.note = Some(note.to_owned());
            }
            state.last_end = Some(resume_reason(outcome));
            match outcome {
                Outcome::Unknown | Outcome::NeverRan => state.unknowns_in_a_row += 1,
                Outcome::Stopped { .. } if mutant::is(Mutant::CountInterruptionsAsFailures) => state.failures += 1,
                Outcome::Stopped { .. } => {
                    (state.interruptions, state.unknowns_in_a_row) = (state.interruptions + 1, 0);
                }
                Outcome::Exited { code: 0 | EXIT_REPLAN } => state.unknowns_in_a_row = 0,
                Outcome::Exited { .. } | Outcome::Killed { .. } | Outcome::TimedOut | Outcome::CouldNotStart { .. } => {
                    (state.failures, state.unknowns_in_a_row) = (state.failures + 1, 0);
                }
            }
        });
    }

    pub(super) fn retry_scheduled(&mut self, phase: &PhaseId, not_before: Timestamp) {
        self.change(phase, |state| {
            (state.status, state.not_before, state.external) = (PhaseStatus::Pending, Some(not_before), None);
        });
        self.not_limited(phase);
    }

    /// The attempt with this number, which is at work.
    pub(super) fn running_attempt(&mut self, phase: &PhaseId, attempt: Attempt) -> &mut RunningAttempt {
        let at = self.at(phase);
        let running = self.phases[at].attempt.as_mut().filter(|running| running.number == attempt);
        running.unwrap_or_else(|| panic!("attempt {attempt} of {phase} is not at work"))
    }
}
