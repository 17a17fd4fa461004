//! Phases that are finished, fail, and are opened again.

use std::collections::BTreeMap;

use onward_core::event::{Event, ExternalReport, PhaseBack};
use onward_core::id::{Generation, PhaseId};
use onward_core::plan::{Body, Effects, PhaseFailure, ReplanWhen, RetryWhen};
use onward_core::run::PhaseStatus;

use super::Oracle;
use crate::sim::compound::{ancestors, is_whole};
use crate::sim::facts::{Unprobed, YesNo};

impl Oracle {
    pub(super) fn fold_of_phases(&mut self, event: &Event) {
        match event {
            Event::PhaseCompleted { phase, adopted, .. } => {
                if !adopted {
                    self.may_be_completed(phase);
                }
                self.finished(phase, PhaseStatus::Completed);
            }
            Event::PhaseSkipped { phase, .. } => self.finished(phase, PhaseStatus::Skipped),
            Event::PhaseFailed { phase, error } => self.phase_failed(phase, error.code.as_str()),
            Event::PhaseReopened { phase, generation, .. } => self.reopened(phase, *generation),
            _ => unreachable!("not about the end of a phase"),
        }
    }

    /// A phase that nobody took as done has been done, probed, and confirmed by whoever had to say so.
    fn may_be_completed(&self, phase: &PhaseId) {
        let facts = &self.facts[phase];
        assert!(facts.unprobed.is_none() || facts.confirmed, "A8: {phase} is done without its probe");
        let whole = self.plan.phase(phase).is_some_and(|phase| phase.children.is_some());
        for part in self.parts(phase) {
            assert!(self.facts[part].finished_as.is_some(), "{phase} is done, and its part {part} is not");
        }
        let alone = match self.plan.phase(phase).expect("of the plan").body {
            Body::External(_) => facts.word == Some(YesNo::Yes) || facts.confirmed,
            Body::Approval(_) => facts.word == Some(YesNo::Yes),
            Body::Agent(_) if !whole => {
                self.agent_may_be_completed(phase);
                self.worktree_may_be_completed(phase);
                true
            }
            Body::Run { .. } | Body::Agent(_) | Body::Uses(_) => !self.disowned.contains(phase),
        };
        assert!(whole || alone, "{phase} is done, and whoever had to say so did not");
    }

    pub(super) fn finished(&mut self, phase: &PhaseId, status: PhaseStatus) {
        let facts = self.facts.get_mut(phase).expect("of the plan");
        assert!(facts.open.is_none(), "{phase} is finished while it is at work");
        self.disowned.remove(phase);
        (facts.unprobed, facts.confirmed) = (None, false);
        (facts.must_ask, facts.must_be_done, facts.in_doubt) = (false, false, false);
        assert!(
            facts.finished_generation < Some(Generation(facts.generation)) || facts.finished_as != Some(status),
            "P1: a second outcome of {phase} in generation {}",
            facts.generation
        );
        facts.finished_as = Some(status);
        self.calls.entry(phase.clone()).or_default().waits = false;
        self.composed.finished(&self.plan, phase);
        facts.parked = false;
        if status == PhaseStatus::Completed {
            facts.finished_generation = Some(Generation(facts.generation));
        }
    }

    fn phase_failed(&mut self, phase: &PhaseId, code: &str) {
        if is_whole(&self.plan, phase) {
            let at_work: Vec<_> = self.parts(phase).filter(|part| self.facts[part].open.is_some()).collect();
            assert!(at_work.is_empty(), "{phase} has failed while its parts {at_work:?} are at work");
            return;
        }
        let retry = self.plan.phase(phase).expect("of the plan").retry.clone();
        assert_eq!(
            retry.when,
            [RetryWhen::Failed, RetryWhen::TimedOut, RetryWhen::Infra],
            "the plans of the simulator"
        );
        let stopping =
            self.journal.iter().rev().map(|r| &r.event).take_while(|e| !matches!(e, Event::DriverStarted { .. }));
        let stopping = stopping.into_iter().any(|event| matches!(event, Event::StopAsked { .. }));
        self.another_plan_was_not_to_be_asked_for(phase, code);
        self.is_not_proven(phase);
        if code != "crash-loop" {
            self.was_asked_about(phase);
        }
        let for_good = self.agent_has_failed_for_good(phase, code);
        let facts = self.facts.get_mut(phase).expect("of the plan");
        if for_good {
            return;
        }
        if code == "rejected" {
            assert_eq!(facts.word, Some(YesNo::No), "{phase} is rejected and nobody said so");
        } else if code == "crash-loop" {
            assert!(facts.unknowns >= 3, "{phase} was parked after {} unknown ends", facts.unknowns);
            (facts.parked, facts.unprobed) = (true, None);
        } else if code == "stuck" {
            let same = self.most_failures_of_one_kind(phase);
            assert!(same >= 3, "{phase} is stuck after {same} reports of the same failure");
        } else {
            let used = facts.failures > retry.max;
            assert!(used || stopping, "I6: {phase} has failed for good after {} failures", facts.failures);
        }
    }

    /// How often those who do the phase told the failure that they told most often. Numbers make no other failure of it.
    fn most_failures_of_one_kind(&self, phase: &PhaseId) -> usize {
        let mut told: BTreeMap<String, usize> = BTreeMap::new();
        for recorded in &self.journal {
            let Event::Reported { phase: of, report, .. } = &recorded.event else { continue };
            let reason = match report {
                ExternalReport::Failed { reason } | ExternalReport::Overruled { reason, .. } => reason,
                ExternalReport::Started { .. }
                | ExternalReport::Progress { .. }
                | ExternalReport::Done { .. }
                | ExternalReport::Silent => continue,
            };
            if of == phase {
                let letters = reason.chars().filter(|letter| !letter.is_ascii_digit()).collect();
                *told.entry(letters).or_default() += 1;
            }
        }
        told.into_values().max().unwrap_or(0)
    }

    /// A final failure asks for another plan where its plan says so.
    fn another_plan_was_not_to_be_asked_for(&self, phase: &PhaseId, code: &str) {
        if matches!(code, "rejected" | "crash-loop") {
            return;
        }
        let of_a_proof = matches!(code, "verify-failed" | "effect-missing" | "artifact-missing");
        let asks = if of_a_proof { ReplanWhen::VerifyFailed } else { ReplanWhen::Failed };
        let definition = self.plan.phase(phase).expect("of the plan");
        let by_kind = self.plan.replan.as_ref().and_then(|keys| keys.when.as_ref());
        assert!(
            !by_kind.is_some_and(|kinds| kinds.contains(&asks)),
            "A9: {phase} fails as {code} and asks for no plan"
        );
        assert!(
            definition.on_failure != Some(PhaseFailure::Replan),
            "A9: {phase} fails as {code} and asks for no plan"
        );
    }

    fn reopened(&mut self, phase: &PhaseId, generation: Generation) {
        self.was_not_settled(phase, generation);
        self.composed.reopened(&self.plan, phase);
        self.worktree_is_tried_again(phase);
        for whole in ancestors(&self.plan, phase) {
            let facts = self.facts.get_mut(&whole).expect("of the plan");
            facts.generation += u32::from(facts.finished_as.take().is_some());
        }
        self.closed.forget(phase);
        let facts = self.facts.get_mut(phase).expect("of the plan");
        if let Some(agent) = self.agents.get_mut(phase) {
            if generation.0 > facts.generation { agent.anew() } else { agent.tried_again() }
        }
        if generation.0 > facts.generation {
            self.trees.remove(phase);
            self.calls.remove(phase);
        }
        self.calls.entry(phase.clone()).or_default().ask_no_more();
        if facts.finished_as.is_some() {
            assert!(generation.0 > facts.generation, "I3: finished work of {phase} is undone without a new generation");
        }
        // Done anew on purpose.
        facts.rewound_since &= generation.0 == facts.generation;
        facts.generation = generation.0;
        (facts.failures, facts.unknowns, facts.parked, facts.finished_as) = (0, 0, false, None);
        (facts.unprobed, facts.confirmed) = (None, false);
        (facts.must_ask, facts.must_be_done, facts.in_doubt) = (false, false, false);
        (facts.begun, facts.word) = (false, None);
        (facts.answered, facts.need_not_ask) = (facts.open.is_some(), false);
    }

    /// A rewind makes finished work undone or done again, under a new generation; only what has outward effects keeps its own,
    /// since going back does not undo them.
    pub(super) fn put_back(&mut self, back: &PhaseBack) {
        self.closed.forget(&back.phase);
        let facts = self.facts.get_mut(&back.phase).expect("of the plan");
        assert!(facts.open.is_none(), "{} is rewound while it is at work", back.phase);
        // A phase that was made undone on purpose, and not started since, has a key that nobody outside knows.
        let outward = self.plan.phase(&back.phase).is_some_and(|phase| phase.effects == Effects::External);
        facts.rewound_since |= outward && facts.key == Some(Generation(facts.generation));
        match back.generation {
            Some(kept) => {
                assert_eq!(kept.0, facts.generation, "6.5: {} goes back to another key", back.phase);
                // What was done in it is open again.
                facts.finished_generation = kept.0.checked_sub(1).map(Generation);
                *self.coverage.entry("rewound: kept its key".to_owned()).or_default() += 1;
            }
            None => facts.generation += 1,
        }
        self.composed.reopened(&self.plan, &back.phase);
        self.trees.remove(&back.phase);
        self.calls.entry(back.phase.clone()).or_default().forget();
        (facts.failures, facts.unknowns) = (0, 0);
        let has_probe = self.plan.phase(&back.phase).is_some_and(|phase| !phase.done_when.is_empty());
        facts.unprobed = (back.in_doubt && has_probe).then_some(Unprobed::NobodyKnows);
        facts.confirmed = false;
        (facts.must_ask, facts.must_be_done, facts.in_doubt) = (false, false, false);
        (facts.begun, facts.word) = (false, None);
        facts.parked = back.error.as_ref().is_some_and(|error| error.code.as_str() == "crash-loop");
        facts.finished_as =
            Some(back.status).filter(|status| matches!(status, PhaseStatus::Completed | PhaseStatus::Skipped));
        facts.finished_generation = (back.status == PhaseStatus::Completed)
            .then_some(Generation(facts.generation))
            .or(facts.finished_generation);
    }
}
