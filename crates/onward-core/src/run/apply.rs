//! Folding one fact into the run. Asserts what must hold: an event that does not fit is a bug or a damaged journal,
//! and both must be seen at once.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::external_phases::is_for_others;
use super::index::PlanIndex;
use super::readiness::Readiness;
use super::requirements::RequirementState;
use super::resume_reason::resume_reason;
use super::state::{AdoptedPhase, Before, DerivedState, Dirty, Due, PhaseState, PhaseStatus, Run, RunningAttempt};
use super::vcs::{Fresh, leaves_the_tree_alone};
use crate::checkpoint::Trigger;
use crate::data_size::size;
use crate::event::{Adoption, ArtifactSeen, Event, Outcome, PhaseError, Recorded, RunResult, StopRequest, Urgency};
use crate::evidence::Evidence;
use crate::failure::FailureCode;
use crate::id::{Attempt, CheckpointId, Generation, PhaseId};
use crate::mutant::{self, Mutant};
use crate::patch::{self, Op};
use crate::plan::Body;
use crate::replan::EXIT_REPLAN;

impl Run {
    pub fn apply(&mut self, recorded: &Recorded) {
        self.take_place_and_time(recorded);
        let at = recorded.at;
        self.asks_are_answered(&recorded.event, at);
        match &recorded.event {
            Event::RunStarted(_) => unreachable!("run {} was started before", self.id),
            Event::DriverStarted { .. } => self.driver_started(&recorded.event),
            event @ (Event::WorldSeen { .. }
            | Event::PlanRevised(_)
            | Event::StaleAccepted { .. }
            | Event::PhaseProbed { .. }) => self.apply_what_was_seen(event, at),
            event @ (Event::ApprovalAsked { .. } | Event::ApprovalAnswered { .. } | Event::Reported { .. }) => {
                self.apply_what_others_said(event, at);
            }
            Event::AttemptStarted { phase, attempt, generation, epoch, boot, clean, agent } => {
                self.attempt_started(phase, (*attempt, *generation, *epoch), boot, clean.as_ref(), at);
                self.agent_begun(phase, agent.as_deref());
            }
            Event::AttemptAdopted { phase, attempt, epoch, alive } => {
                self.attempt_adopted(phase, *attempt, (*epoch, *alive));
            }
            ended @ Event::AttemptEnded { .. } => self.end_of_an_attempt(ended, at),
            completed @ Event::PhaseCompleted { .. } => self.completion_of_a_phase(completed, recorded),
            Event::PhaseFailed { phase, error } => self.phase_failed(phase, error, at),
            Event::RetryScheduled { phase, not_before } => self.retry_scheduled(phase, *not_before),
            Event::PhaseInDoubt { phase } => self.change(phase, |state| state.in_doubt = true),
            Event::PhaseReopened { phase, generation, clean } => self.phase_reopened(phase, *generation, *clean),
            Event::PhaseSkipped { phase, .. } => self.phase_skipped(phase),
            Event::PhaseExpanded { phase, children } => self.phase_expanded(phase, children, at),
            Event::MainPartEnded { result } => self.main_part_ended(*result),
            Event::BatchCompleted { batch } => self.batch_completed(*batch),
            Event::StopAsked { by, urgency } => self.stop_asked(*by, *urgency, at),
            Event::RunStopped { reason } => self.stopped = Some(*reason),
            Event::RunEnded { result } => self.run_ended(*result),
            Event::RunArchived => self.archived = true,
            Event::StateChanged { ops } => self.change_state(ops),
            Event::CheckpointTaken { id, triggers, phase, name } => {
                self.checkpoint_taken(id, triggers, phase.as_ref());
                self.copy_kept(phase.as_ref(), name.as_ref());
            }
            event @ (Event::ReplanAsked { .. }
            | Event::ReplanAllowed
            | Event::ReplanProposed { .. }
            | Event::ReplanRefused { .. }
            | Event::Replanned(_)) => self.apply_replan(event, at),
            event @ (Event::MarkersTaken { .. }
            | Event::PhaseMarked { .. }
            | Event::PhaseNotMarked { .. }
            | Event::MarkersSettled { .. }) => self.apply_to_the_marks(event),
            event @ (Event::NoticeSent { .. } | Event::NoticeFailed { .. }) => self.apply_to_the_notices(event),
            event @ (Event::LimitHit(_) | Event::RunPaused { .. }) => self.apply_to_the_limits(event, at),
            Event::RequirementsSeen { phase, seen } => self.requirements_seen(phase.as_ref(), seen),
            event @ (Event::IssueLabelled { .. } | Event::IssueNotLabelled { .. }) => self.apply_to_the_labels(event),
            event @ (Event::RunImported(_)
            | Event::FilesModified { .. }
            | Event::Shared { .. }
            | Event::MirrorTroubled { .. }) => {
                self.apply_to_the_sections(event, at);
            }
            event @ (Event::SnapshotTaken(_)
            | Event::SnapshotMissed { .. }
            | Event::CommitBegun { .. }
            | Event::CommitMade { .. }
            | Event::CommitLeft { .. }
            | Event::RewindBegun(_)
            | Event::RunRewound(_)
            | Event::RewindFailed { .. }
            | Event::RunForked { .. }) => self.apply_to_the_tree(event),
        }
        self.notices_become_due(recorded);
    }

    fn take_place_and_time(&mut self, recorded: &Recorded) {
        assert_eq!(recorded.seq, self.seq.next(), "run {}: events are folded in order, without gaps", self.id);
        self.seq = recorded.seq;
        // That people were told is no change of the run.
        if !matches!(recorded.event, Event::NoticeSent { .. } | Event::NoticeFailed { .. }) {
            self.updated_at = recorded.at;
        }
        if !leaves_the_tree_alone(&recorded.event) {
            self.vcs.fresh = Fresh::No;
        }
    }

    fn attempt_adopted(&mut self, phase: &PhaseId, attempt: Attempt, (epoch, alive): (u64, bool)) {
        let state = self.running_state(phase, attempt);
        let running = state.attempt.as_mut().expect("a running phase has its attempt");
        (running.epoch, running.adopted) = (epoch, alive);
    }

    fn batch_completed(&mut self, batch: u32) {
        self.batches_recorded.insert(batch);
        self.make_due(Trigger::BatchComplete, None);
    }

    pub(super) fn change_state(&mut self, ops: &[Op]) {
        let grown = patch::apply_and_measure(&mut self.state, ops);
        let grown = grown.expect("a change was seen to fit before it was recorded");
        self.derived.state_size = self.derived.state_size.grown(grown);
        // A checkpoint that is whole has the state itself: a copy of what led to it would only take room.
        if self.last_checkpoint.is_some() && !self.whole_is_due {
            self.dirty.state.extend(ops.iter().cloned());
        }
    }

    fn retry_scheduled(&mut self, phase: &PhaseId, not_before: Timestamp) {
        self.change(phase, |state| {
            (state.status, state.not_before, state.external) = (PhaseStatus::Pending, Some(not_before), None);
        });
        self.not_limited(phase);
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

    fn driver_started(&mut self, event: &Event) {
        let Event::DriverStarted { epoch, boot, jobs, orphans, head, only, bounds, environment, .. } = event else {
            return;
        };
        assert!(*epoch > self.epoch, "run {}: the epoch of a driver only rises", self.id);
        (self.epoch, self.jobs, self.orphans) = (*epoch, *jobs, *orphans);
        self.boot.clone_from(boot);
        (self.result, self.stop, self.stopped) = (None, None, None);
        self.only.clone_from(only);
        self.bounds_told(bounds);
        self.vcs.head.clone_from(head);
        (self.vcs.held, self.marks.held) = (false, false);
        self.labels.anew();
        self.probe_again();
        self.requirements_anew();
        if self.environment != *environment {
            self.environment.clone_from(environment);
            self.spread_to(self.derived.index.by_variables.clone());
        }
    }

    fn checkpoint_taken(&mut self, id: &CheckpointId, triggers: &[Trigger], phase: Option<&PhaseId>) {
        self.last_checkpoint = Some(id.clone());
        self.dirty = Dirty::default();
        self.whole_is_due = false;
        let same = |due: &Due| due.triggers == *triggers && due.phase.as_ref() == phase;
        if let Some(place) = self.due.iter().position(same) {
            self.due.remove(place);
        }
    }

    fn completion_of_a_phase(&mut self, event: &Event, recorded: &Recorded) {
        let Event::PhaseCompleted { phase, summary, outputs, adopted, adoption, seen, artifacts } = event else {
            return;
        };
        self.phase_completed(phase, summary.as_deref(), outputs, recorded.at);
        self.left_behind(phase, seen.as_deref(), artifacts);
        let word = adoption.as_deref().cloned().unwrap_or_default();
        self.adopted(phase, adopted.then_some(word), recorded);
    }

    fn end_of_an_attempt(&mut self, event: &Event, at: Timestamp) {
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
        } = event
        else {
            return;
        };
        let own = self.own_commit(phase, head.as_ref());
        self.attempt_ended(phase, *attempt, outcome, (ended_at.unwrap_or(at), *duration_ms), note.as_deref());
        if error.is_some() {
            // Its code says that all is well; that counts as a failure all the same.
            self.change(phase, |state| {
                (state.failures, state.last_end) = (state.failures + 1, Some(Before::Failed));
            });
        }
        self.change(phase, |state| state.left_running.clone_from(left_running));
        self.head_seen(phase, head.as_ref(), own);
        if let Some(around) = around {
            self.around_seen(around, at);
        }
        self.agent_ended(phase, (*attempt, outcome), error.as_ref(), agent.as_deref());
        self.probe_is_due(phase, outcome, claimed.as_deref());
    }

    fn attempt_started(
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
        self.change(phase, |state| {
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
            state.attempts = attempt.0;
            state.status = PhaseStatus::Running;
            (state.started_at, state.ended_at, state.duration_ms) = (Some(at), None, None);
            (state.not_before, state.error) = (None, None);
            state.requirements = RequirementState::NotLookedAt;
        });
        self.label_is_due(phase);
        self.drawn_on(phase, at);
    }

    fn attempt_ended(
        &mut self,
        phase: &PhaseId,
        attempt: Attempt,
        outcome: &Outcome,
        (ended_at, duration_ms): (Timestamp, Option<u64>),
        note: Option<&str>,
    ) {
        self.running_state(phase, attempt);
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

    fn phase_completed(
        &mut self,
        phase: &PhaseId,
        summary: Option<&str>,
        outputs: &BTreeMap<String, String>,
        at: Timestamp,
    ) {
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

    fn adopted(&mut self, phase: &PhaseId, word: Option<Adoption>, recorded: &Recorded) {
        let adopted = word.map(|told| AdoptedPhase {
            by: told.by.unwrap_or_else(|| recorded.actor.clone()),
            at: recorded.at,
            reason: told.reason,
        });
        self.change(phase, |state| state.adopted = adopted);
    }

    fn phase_skipped(&mut self, phase: &PhaseId) {
        self.change(phase, |state| {
            assert!(state.attempt.is_none(), "a phase at work is not skipped");
            state.status = PhaseStatus::Skipped;
            state.external = None;
            (state.in_doubt, state.parked, state.not_before, state.error) = (false, false, None, None);
            state.probe = None;
        });
        self.finished_before_the_end(phase);
        self.make_due(Trigger::PhaseTransition, Some(phase));
    }

    fn phase_failed(&mut self, phase: &PhaseId, error: &PhaseError, at: Timestamp) {
        self.change(phase, |state| {
            assert!(state.attempt.is_none() && !state.is_finished(), "{phase} fails after its attempt");
            state.status = PhaseStatus::Failed;
            state.ended_at = state.ended_at.or(Some(at));
            state.parked = is_left_alone(error.code);
            state.external = None;
            state.probe = None;
            state.error = Some(error.clone());
        });
        self.not_limited(phase);
        self.make_due(Trigger::PhaseTransition, Some(phase));
    }

    fn phase_reopened(&mut self, phase: &PhaseId, generation: Generation, clean: bool) {
        self.undone_in_git(phase);
        self.marks.undone(phase);
        self.change(phase, |state| {
            let raised = generation > state.generation;
            let allowed = raised || !state.is_finished() || mutant::is(Mutant::ReuseAGeneration);
            assert!(allowed, "{phase} is finished: only a new generation opens it again");
            assert!(!raised || state.attempt.is_none(), "{phase} is at work: it is not made undone");
            state.generation = generation;
            (state.probe, state.external, state.rounds) = (None, None, Vec::new());
            state.clean = clean;
            state.requirements = RequirementState::NotLookedAt;
            (state.failures, state.unknowns_in_a_row, state.opened) = (0, 0, false);
            (state.in_doubt, state.parked, state.not_before, state.error) = (false, false, None, None);
            if raised {
                (state.outputs, state.summary, state.last_end) = (BTreeMap::new(), None, Some(Before::Redone));
                state.seen = None;
                state.artifacts.clear();
                (state.commit_sha, state.base, state.adopted) = (None, None, None);
                state.agent = state.agent.take().map(|agent| Box::new(agent.anew()));
            }
            match &mut state.attempt {
                Some(attempt) => attempt.redo = true,
                None => state.status = PhaseStatus::Pending,
            }
        });
        self.reopened_a_part(phase);
    }

    fn stop_asked(&mut self, by: StopRequest, urgency: Urgency, at: Timestamp) {
        self.stop_asked_at = Some(at);
        self.stop = Some((by, urgency));
        match by {
            StopRequest::Interrupt | StopRequest::Cancel => self.make_due(Trigger::UserInterrupt, None),
            StopRequest::SessionEnd | StopRequest::Hangup | StopRequest::Deadline => {
                self.make_due(Trigger::SessionEnd, None);
            }
            StopRequest::Failure | StopRequest::OrphanKill | StopRequest::Pause | StopRequest::Rewind => {}
        }
    }

    fn run_ended(&mut self, result: RunResult) {
        assert!(self.derived.running.is_empty(), "run {} ends with phases at work", self.id);
        self.result = Some(result);
    }

    /// A checkpoint becomes due: one for each phase that is settled, with whatever else is due at the same moment.
    pub(super) fn make_due(&mut self, trigger: Trigger, phase: Option<&PhaseId>) {
        if phase.is_some() {
            self.settled_last = phase.cloned();
        }
        if !self.started.triggers.contains(&trigger) {
            return;
        }
        let joins = |due: &&mut Due| match trigger {
            Trigger::BatchComplete => due.waits,
            Trigger::AgentComplete => due.phase.as_ref() == phase,
            Trigger::PhaseTransition
            | Trigger::RunStart
            | Trigger::ConflictStart
            | Trigger::ConflictResolved
            | Trigger::Manual => false,
            // A stop is not kept waiting by git.
            Trigger::UserInterrupt | Trigger::SessionEnd => !due.waits,
        };
        if let Some(due) = self.due.back_mut().filter(joins) {
            if !due.triggers.contains(&trigger) {
                due.triggers.push(trigger);
            }
            return;
        }
        let waits = !matches!(trigger, Trigger::UserInterrupt | Trigger::SessionEnd);
        let phase = if trigger == Trigger::BatchComplete { self.settled_last.clone() } else { phase.cloned() };
        self.due.push_back(Due { triggers: vec![trigger], phase, waits });
    }

    pub(super) fn at(&self, phase: &PhaseId) -> usize {
        *self.derived.index.by_id.get(phase).unwrap_or_else(|| panic!("run {} has no phase {phase}", self.id))
    }

    /// Whether a phase may not be begun yet, or not at all.
    pub fn has_no_turn(&self, phase: &PhaseId) -> bool {
        self.derived.readiness[self.at(phase)] != Readiness::Run
    }

    fn running_state(&mut self, phase: &PhaseId, attempt: Attempt) -> &mut PhaseState {
        let at = self.at(phase);
        let state = &mut self.phases[at];
        let number = state.attempt.as_ref().map(|running| running.number);
        assert_eq!(number, Some(attempt), "attempt {attempt} of {phase} is at work");
        state
    }

    /// Changes one phase and brings everything derived from it up to date.
    pub(super) fn change(&mut self, phase: &PhaseId, change: impl FnOnce(&mut PhaseState)) {
        let at = self.at(phase);
        let before = CountedPhase::of(&self.phases[at]);
        let fate = self.fate(at);
        change(&mut self.phases[at]);
        self.dirty.phases.insert(at);
        if let Some(time) = before.not_before {
            self.derived.delayed.remove(&(time, at));
        }
        self.count(at, &before);
        self.spread(at, fate, &before);
        if before.status != self.phases[at].status {
            self.keep_the_team_current(at);
        }
    }

    /// Counts that change when a phase becomes finished or failed, or stops being so.
    fn count(&mut self, at: usize, before: &CountedPhase) {
        let after = CountedPhase::of(&self.phases[at]);
        if self.derived.index.counts_for_the_plan(at) {
            match (before.failed, after.failed) {
                (false, true) => self.derived.failed += 1,
                (true, false) => self.derived.failed -= 1,
                (true, true) | (false, false) => {}
            }
        }
        match (before.is_skipped(), after.is_skipped()) {
            (false, true) => self.derived.skipped += 1,
            (true, false) => self.derived.skipped -= 1,
            (true, true) | (false, false) => {}
        }
        let batch = self.derived.index.batch_of[at];
        match (before.finished, after.finished) {
            (false, true) => {
                (self.derived.finished, self.derived.batch_left[batch]) =
                    (self.derived.finished + 1, self.derived.batch_left[batch] - 1);
            }
            (true, false) => {
                (self.derived.finished, self.derived.batch_left[batch]) =
                    (self.derived.finished - 1, self.derived.batch_left[batch] + 1);
                self.batches_recorded.remove(&batch_number(batch));
            }
            (true, true) | (false, false) => {}
        }
    }

    /// Works out everything that is derived, from nothing but the rest.
    pub(super) fn derive(&mut self) {
        let index = Arc::new(PlanIndex::new(&self.started.plan));
        self.derived = DerivedState { index, state_size: size(&self.state), ..DerivedState::default() };
        let standings: Vec<CountedPhase> = self.phases.iter().map(CountedPhase::of).collect();
        self.derived.finished = standings.iter().filter(|standing| standing.finished).count();
        self.derived.skipped = standings.iter().filter(|standing| standing.is_skipped()).count();
        let counts = |at: &usize| standings[*at].failed && self.derived.index.counts_for_the_plan(*at);
        self.derived.failed = (0..standings.len()).filter(counts).count();
        let left = |batch: &Vec<usize>| batch.iter().filter(|at| !standings[**at].finished).count();
        self.derived.batch_left = self.derived.index.batches.iter().map(|batch| batch_number(left(batch))).collect();
        self.derived.readiness = vec![Readiness::NotYet; self.phases.len()];
        self.spread_to((0..self.phases.len()).rev().collect());
    }

    /// Puts a phase into the sets it belongs to, and takes it out of the others.
    pub(super) fn refresh(&mut self, at: usize) {
        let state = &self.phases[at];
        let rank = self.derived.index.rank[at];
        let open = matches!(state.status, PhaseStatus::Pending | PhaseStatus::Interrupted) && !state.in_doubt;
        let turn = self.derived.readiness[at];
        let whole = self.is_whole(at);
        let skips = turn == Readiness::Skip && !state.is_finished() && state.status != PhaseStatus::Running;
        let could_start = open && turn == Readiness::Run && state.probe.is_none() && !self.asks_for_a_plan(at);
        let for_others = is_for_others(&self.started.plan.phases[at]) && !whole;
        set(&mut self.derived.for_others, at, could_start && for_others);
        let unmet = matches!(state.requirements, RequirementState::Unmet(_));
        set(&mut self.derived.unmet, at, could_start && !for_others && unmet);
        let startable = could_start && !for_others && !unmet;
        set(&mut self.derived.ready, (rank.0, rank.1, at), startable && !whole && state.not_before.is_none());
        set(&mut self.derived.to_open, at, startable && whole && !state.opened);
        set(&mut self.derived.to_skip, at, skips);
        if let Some(time) = state.not_before {
            set(&mut self.derived.delayed, (time, at), startable && !whole);
        }
        set(&mut self.derived.running, at, state.status == PhaseStatus::Running && state.external.is_none());
        set(&mut self.derived.external, at, state.external.is_some());
        set(&mut self.derived.in_doubt, at, state.in_doubt);
        set(&mut self.derived.probing, at, state.probe.is_some() && !state.in_doubt);
        set(&mut self.derived.with_error, at, state.error.is_some());
    }
}

/// The part of a phase's state that the counts of the run depend on.
pub(super) struct CountedPhase {
    pub(super) status: PhaseStatus,
    finished: bool,
    /// A parked phase does not keep the others from going on, so it does not count here.
    failed: bool,
    pub(super) opened: bool,
    not_before: Option<Timestamp>,
}

impl CountedPhase {
    fn of(state: &PhaseState) -> Self {
        Self {
            status: state.status,
            finished: state.is_finished(),
            failed: state.status == PhaseStatus::Failed && (!state.parked || was_rejected(state)),
            opened: state.opened,
            not_before: state.not_before,
        }
    }

    fn is_skipped(&self) -> bool {
        self.status == PhaseStatus::Skipped
    }
}

pub(super) fn batch_number(batch: usize) -> u32 {
    u32::try_from(batch).expect("a plan has fewer phases than 4 billion")
}

/// Whether a phase with this error is left alone until a person orders a retry.
pub(super) fn is_left_alone(code: FailureCode) -> bool {
    matches!(code, FailureCode::CrashLoop | FailureCode::Rejected)
}

fn was_rejected(state: &PhaseState) -> bool {
    state.error.as_ref().is_some_and(|error| error.code == FailureCode::Rejected)
}

fn set<T: Ord>(set: &mut std::collections::BTreeSet<T>, item: T, wanted: bool) {
    if wanted {
        set.insert(item);
    } else {
        set.remove(&item);
    }
}
