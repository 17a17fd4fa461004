//! Facts about phases: completed, failed, skipped, reopened.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::checkpoint::Trigger;
use crate::event::{Adoption, ArtifactSeen, Event, PhaseError, Recorded, SkippedBy};
use crate::evidence::Evidence;
use crate::failure::FailureCode;
use crate::id::{Generation, PhaseId};
use crate::mutant::{self, Mutant};
use crate::plan::Body;
use crate::run::agent_calls;
use crate::run::requirements::RequirementState;
use crate::run::state::{AdoptedPhase, Before, PhaseStatus, Run};
use crate::run::worktrees;

impl Run {
    pub(super) fn completion_of_a_phase(&mut self, event: &Event, recorded: &Recorded) {
        let Event::PhaseCompleted { phase, summary, outputs, adopted, adoption, seen, artifacts } = event else {
            return;
        };
        self.phase_completed(phase, summary.as_deref(), outputs, recorded.at);
        self.left_behind(phase, seen.as_deref(), artifacts);
        let word = adoption.as_deref().cloned().unwrap_or_default();
        self.adopted(phase, adopted.then_some(word), recorded);
    }

    fn phase_completed(
        &mut self,
        phase: &PhaseId,
        summary: Option<&str>,
        outputs: &BTreeMap<String, String>,
        at: Timestamp,
    ) {
        self.conflict_is_settled(phase, "both were brought together by hand");
        self.change(phase, |state| {
            // What was skipped can still be taken as done.
            let open = state.attempt.is_none() && state.status != PhaseStatus::Completed;
            assert!(open, "{phase} is completed once, after its attempt");
            state.status = PhaseStatus::Completed;
            state.ended_at = state.ended_at.or(Some(at));
            state.summary = summary.map(str::to_owned);
            state.outputs.clone_from(outputs);
            state.external = None;
            (state.in_doubt, state.parked, state.not_before, state.error) = (false, false, None, None);
            state.probe = None;
        });
        self.finished_before_the_end(phase);
        self.completed_in_git(phase);
        self.mark_is_due(phase);
        self.not_limited(phase);
        self.make_due(Trigger::PhaseTransition, Some(phase));
        if matches!(self.started.plan.phases[self.at(phase)].body, Body::Agent(_)) {
            self.make_due(Trigger::AgentComplete, Some(phase));
        }
    }

    fn left_behind(&mut self, phase: &PhaseId, seen: Option<&Evidence>, artifacts: &[ArtifactSeen]) {
        let declared = &self.started.plan.phases[self.at(phase)].artifacts;
        let is_report = |name: &str| declared.iter().any(|artifact| artifact.report && artifact.name == name);
        let artifacts = artifacts.iter().map(|seen| ArtifactSeen { report: is_report(&seen.name), ..seen.clone() });
        let artifacts = artifacts.collect();
        self.change(phase, |state| {
            state.seen = seen.cloned().map(Box::new);
            state.artifacts = artifacts;
        });
    }

    fn adopted(&mut self, phase: &PhaseId, word: Option<Adoption>, recorded: &Recorded) {
        let adopted = word.map(|told| AdoptedPhase {
            by: told.by.unwrap_or_else(|| recorded.actor.clone()),
            at: recorded.at,
            reason: told.reason,
        });
        self.change(phase, |state| state.adopted = adopted);
    }

    pub(super) fn phase_failed(&mut self, phase: &PhaseId, error: &PhaseError, at: Timestamp) {
        self.change(phase, |state| {
            assert!(state.attempt.is_none() && !state.is_finished(), "{phase} fails after its attempt");
            state.status = PhaseStatus::Failed;
            state.ended_at = state.ended_at.or(Some(at));
            state.parked = is_left_alone(error.code);
            state.external = None;
            worktrees::not_proven(state);
            state.probe = None;
            state.error = Some(error.clone());
        });
        self.not_limited(phase);
        self.make_due(Trigger::PhaseTransition, Some(phase));
    }

    pub(super) fn phase_skipped(&mut self, phase: &PhaseId, by: SkippedBy) {
        self.conflict_is_settled(phase, "its work is left out");
        self.change(phase, |state| {
            assert!(state.attempt.is_none(), "a phase at work is not skipped");
            state.status = PhaseStatus::Skipped;
            state.left_out = by == SkippedBy::Person;
            state.external = None;
            (state.in_doubt, state.parked, state.not_before, state.error) = (false, false, None, None);
            state.probe = None;
        });
        self.finished_before_the_end(phase);
        self.make_due(Trigger::PhaseTransition, Some(phase));
    }

    pub(super) fn phase_in_doubt(&mut self, phase: &PhaseId) {
        self.change(phase, |state| state.in_doubt = true);
    }

    pub(super) fn phase_reopened(&mut self, phase: &PhaseId, generation: Generation) {
        self.conflict_is_settled(phase, "it is tried again with both");
        self.undone_in_git(phase);
        self.marks.undone(phase);
        self.change(phase, |state| {
            let raised = generation > state.generation;
            let allowed = raised || !state.is_finished() || mutant::is(Mutant::ReuseAGeneration);
            assert!(allowed, "{phase} is finished: only a new generation opens it again");
            assert!(!raised || state.attempt.is_none(), "{phase} is at work: it is not made undone");
            (state.generation, state.left_out) = (generation, false);
            (state.probe, state.external, state.rounds) = (None, None, Vec::new());
            state.requirements = RequirementState::NotLookedAt;
            (state.failures, state.unknowns_in_a_row, state.opened) = (0, 0, false);
            (state.in_doubt, state.parked, state.not_before, state.error) = (false, false, None, None);
            agent_calls::ask_no_more(state);
            if raised {
                (state.outputs, state.summary, state.last_end) = (BTreeMap::new(), None, Some(Before::Redone));
                state.seen = None;
                state.artifacts.clear();
                (state.commit_sha, state.base, state.adopted, state.own) = (None, None, None, None);
                state.tries.clear();
                state.agent = state.agent.take().map(|agent| Box::new(agent.anew()));
            }
            worktrees::tried_again(state);
            if let Some(agent) = &mut state.agent {
                agent.rounds = 0;
            }
            match &mut state.attempt {
                Some(attempt) => attempt.redo = true,
                None => state.status = PhaseStatus::Pending,
            }
        });
        self.reopened_a_part(phase);
    }
}

/// Whether a phase with this error is left alone until a person orders a retry.
pub(in crate::run) fn is_left_alone(code: FailureCode) -> bool {
    matches!(code, FailureCode::CrashLoop | FailureCode::Rejected)
}
