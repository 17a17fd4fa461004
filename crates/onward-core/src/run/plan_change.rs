//! Changes to a run when another plan counts, or when a start has looked at the world.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::decide::ended::failure_of;
use super::requirements::RequirementState;
use super::state::{Before, Dirty, EarlierKey, PhaseState, PhaseStatus, ProbeDue, Run};
use super::{agents, external_phases, verification, worktrees};
use crate::event::{Claimed, Outcome, PhaseError, PlanRevised, ProbeAnswer, RunStarted};
use crate::evidence::{Evidence, LastLook, WorldSeen};
use crate::failure::FailureCode;
use crate::id::{Generation, PhaseId};
use crate::mutant::{self, Mutant};
use crate::plan::expand::is_compound;
use crate::plan::{Body, Effects, Phase, Plan};
use crate::resume::Finding;

/// Drops the state of an attempt where the phase is never attempted: a parent, or one that a person decides.
fn fit(phase: &Phase, state: &mut PhaseState) {
    let whole = phase.children.is_some() || is_compound(phase);
    let tried = match &phase.body {
        Body::Run { .. } | Body::Agent(_) | Body::Uses(_) => !whole,
        // Whoever does it says when it is done.
        Body::External(_) => !whole && !matches!(state.probe, Some(ProbeDue::AfterTheRun(_) | ProbeDue::AfterAStop(_))),
        Body::Approval(_) => !whole && state.external.is_some(),
    };
    if !tried && !state.opened && state.attempt.is_none() {
        (state.not_before, state.probe, state.in_doubt, state.external) = (None, None, false, None);
        if !state.is_finished() && state.status != PhaseStatus::Failed {
            state.status = PhaseStatus::Pending;
        }
    }
}

/// The record goes to the new id. Its numbers stay under the old one as well: a phase that is called so later is another one, and
/// must be taken neither for an attempt that was made nor for work that was done.
///
/// Gives the record of a removed phase that had the new id before.
fn rename(known: &mut BTreeMap<PhaseId, PhaseState>, old: &PhaseId, new: &PhaseId) -> Option<PhaseState> {
    let mut state = known.remove(old)?;
    let begun_as = EarlierKey { phase: old.clone(), generation: state.generation, holds_in: state.generation };
    let begun_as = state.earlier_key.take().filter(|key| key.holds_in == state.generation).unwrap_or(begun_as);
    let generation = Generation(state.generation.0 + 1);
    known.insert(old.clone(), PhaseState { attempts: state.attempts, generation, ..PhaseState::new() });
    if let Some(earlier) = known.get(new) {
        state.attempts = state.attempts.max(earlier.attempts);
        state.generation = state.generation.max(earlier.generation);
    }
    // The world outside knows what was begun by its key, whatever the phase is called now.
    state.earlier_key = Some(EarlierKey { holds_in: state.generation, ..begun_as });
    if mutant::is(Mutant::CountAnewAfterARename) {
        (state.attempts, state.generation) = (0, Generation(1));
    }
    known.insert(new.clone(), state)
}

impl Run {
    pub(super) fn plan_revised(&mut self, revised: &PlanRevised) {
        self.started = Arc::new(RunStarted {
            plan_digest: revised.plan_digest.clone(),
            plan_text: revised.plan_text.clone(),
            ..(*self.started).clone()
        });
        self.main_ended = None;
        self.put_plan(revised.plan.clone(), &revised.renamed);
    }

    /// Phases keep their records by their ids, wherever they stand in the new plan.
    pub(super) fn put_plan(&mut self, plan: Plan, renamed: &[(PhaseId, PhaseId)]) {
        let mut known = std::mem::take(&mut self.removed);
        let ids = self.started.plan.phases.iter().map(|phase| phase.id.clone());
        known.extend(ids.zip(std::mem::take(&mut self.phases)));
        for (old, new) in renamed.iter().filter(|_| !mutant::is(Mutant::ForgetARename)) {
            let displaced = rename(&mut known, old, new).and_then(|state| state.agent);
            self.displaced_agents.extend(displaced.map(|agent| agent.anew()));
        }
        let state = |phase: &Phase| {
            let mut state = known.remove(&phase.id).unwrap_or_else(PhaseState::new);
            // What has to be taken apart anew has its turn anew.
            state.opened &= phase.children.is_some();
            // It may require something else now.
            state.requirements = RequirementState::default();
            external_phases::fit(phase, &mut state);
            fit(phase, &mut state);
            state
        };
        self.phases = plan.phases.iter().map(state).collect();
        // What was ever tried or undone keeps its numbers, should the phase come back.
        let has_a_past =
            |state: &PhaseState| state.attempts > 0 || state.is_finished() || state.generation > Generation(1);
        let has_a_past = |state: &PhaseState| has_a_past(state) && !mutant::is(Mutant::ForgetWhatWasRemoved);
        self.removed = known.into_iter().filter(|(_, state)| has_a_past(state)).collect();
        assert!(self.removed.values().all(|state| state.attempt.is_none()), "a phase at work stays in the plan");
        self.marks.only_of(&plan);
        self.labels.only_of(&plan);
        self.only_prerequisites_of(&plan);
        self.started = Arc::new(RunStarted { plan, ..(*self.started).clone() });
        self.without_a_probe();
        self.count_anew();
        self.name_the_team();
    }

    /// A probe that the plan no longer has cannot speak: what it was to tell, only a person can, if anybody has to.
    fn without_a_probe(&mut self) {
        for (phase, state) in self.started.plan.phases.iter().zip(&mut self.phases) {
            // What an agent claims in its worktree is nobody's word where the phase is no agent's any more.
            let disowned = state.own.is_some() && agents::work(phase).is_none();
            let can_tell = match &state.probe {
                Some(_) if disowned => false,
                Some(ProbeDue::AfterTheRun(_) | ProbeDue::AfterAStop(_)) => {
                    verification::is_wanted(phase) || state.own.is_some()
                }
                Some(ProbeDue::BeforeARerun(_) | ProbeDue::AfterACut(_)) => !phase.done_when.is_empty(),
                None => continue,
            };
            if !can_tell {
                state.probe = None;
                state.in_doubt |= phase.effects == Effects::External;
            }
        }
    }

    /// Everything that goes by the place of a phase in the plan.
    fn count_anew(&mut self) {
        self.derive();
        let complete = self.derived.batch_left.iter().enumerate().filter(|(_, left)| **left == 0);
        self.batches_recorded = complete.map(|(batch, _)| super::derived_state::batch_number(batch)).collect();
        self.settled_last = self.settled_last.take().filter(|phase| self.derived.index.by_id.contains_key(phase));
        self.dirty = Dirty::default();
        self.whole_is_due = true;
    }

    pub(super) fn stale_accepted(&mut self, phase: &PhaseId, mut seen: Box<Evidence>) {
        self.change(phase, |state| {
            if let Some(artifacts) = seen.artifacts.take() {
                state.artifacts = artifacts;
            }
            state.seen = Some(seen);
        });
    }

    pub(super) fn world_seen(&mut self, world: &WorldSeen, findings: &[Finding], at: Timestamp) {
        self.vcs.branch_moved |= self.branch() != world.branch.as_deref();
        self.look = Some(Arc::new(LastLook { at, world: world.clone(), findings: findings.to_vec() }));
        if let Some(issue) = &world.issue {
            self.issue_read(issue);
        }
    }

    /// A new driver asks the probes again that could not tell.
    pub(super) fn probe_again(&mut self) {
        let asked: Vec<PhaseId> = self.in_doubt().cloned().collect();
        for phase in asked {
            let has_probe = !self.plan().phases[self.at(&phase)].done_when.is_empty();
            if has_probe {
                self.change(&phase, |state| {
                    state.in_doubt = false;
                    state.probe.get_or_insert_with(|| ProbeDue::BeforeARerun(Box::default()));
                });
            }
        }
    }

    /// After an end that leaves a question open the probe is to be asked, if there is one.
    pub(super) fn probe_is_due(&mut self, phase: &PhaseId, outcome: &Outcome, claimed: Option<&Claimed>) {
        let Some(claimed) = claimed.cloned() else { return };
        let due = match outcome {
            Outcome::Exited { code: 0 } => ProbeDue::AfterTheRun(Box::new(claimed)),
            Outcome::Stopped { said_done: true, .. } => ProbeDue::AfterAStop(Box::new(claimed)),
            Outcome::Stopped { .. } | Outcome::Unknown => ProbeDue::BeforeARerun(Box::new(claimed)),
            Outcome::Exited { .. } | Outcome::Killed { .. } | Outcome::TimedOut => {
                let definition = &self.plan().phases[self.at(phase)];
                let Some((_, code, message)) = failure_of(definition, outcome) else { return };
                ProbeDue::AfterACut(Box::new((claimed, PhaseError { code, message })))
            }
            Outcome::CouldNotStart { .. } | Outcome::NeverRan => return,
        };
        self.change(phase, |state| state.probe = Some(due));
    }

    pub(super) fn probe_answered(&mut self, phase: &PhaseId, answer: ProbeAnswer, error: Option<&PhaseError>) {
        if let Some(error) = error {
            self.it_was_not_done(phase, error);
        }
        self.phase_probed(phase, answer, error);
    }

    fn phase_probed(&mut self, phase: &PhaseId, answer: ProbeAnswer, error: Option<&PhaseError>) {
        let not_integrated = error.is_some_and(|error| error.code == FailureCode::NotIntegrated);
        self.change(phase, |state| match answer {
            // What the attempt claims is kept for the next time that the probe is asked.
            ProbeAnswer::CannotTell => {}
            ProbeAnswer::Done => worktrees::proven(state),
            ProbeAnswer::NotDone => {
                worktrees::not_proven(state);
                let counts = match state.probe.take() {
                    Some(ProbeDue::AfterTheRun(_)) => true,
                    Some(ProbeDue::AfterAStop(_) | ProbeDue::BeforeARerun(_)) => not_integrated,
                    // The end itself was counted when it was recorded.
                    Some(ProbeDue::AfterACut(_)) | None => false,
                };
                if counts {
                    (state.failures, state.last_end) = (state.failures + 1, Some(Before::Failed));
                }
            }
        });
    }
}
