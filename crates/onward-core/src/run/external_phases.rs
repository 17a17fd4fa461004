//! Phases that others do: a person who decides, somebody who reports. What is known of them, and what follows from it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::decide::ended::{retried_or_failed, seen};
use super::iteration::UNCHANGED_MAX;
use super::redacted_values::uses_what_was_cut;
use super::schedule;
use super::settle::{a_failure_stops, is_wanted};
use super::skip_and_expand::has_a_place;
use super::state::{Before, PhaseState, PhaseStatus, Run, RunStatus};
use super::wait_limits::{self, Wait};
use super::{agent_calls, agents};
use crate::event::{Event, ExternalReport, PhaseError, RunResult, StopReason, StopRequest, Urgency};
use crate::failure::FailureCode;
use crate::id::{Attempt, PhaseId};
use crate::mutant::{self, Mutant};
use crate::plan::{
    APPROVE, Approval, Body, CHOICE, External, IfExpired, IfSilent, Phase, PlanFailure, REJECT, RetryWhen,
};

/// The name on record for an answer that nobody gave in time.
const TIME: &str = "time";

/// Where a phase stands with those it waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ExternalState {
    Asked {
        at: Timestamp,
    },
    Answered {
        choice: String,
    },
    AtWork {
        heard_at: Timestamp,
    },
    Silent,
    /// Its work and that of others do not go together: a person has to say how it goes on.
    Conflict,
    /// A person is asked about a tool call of its agent.
    Call {
        at: Timestamp,
    },
}

/// Why nothing is handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoNext {
    Completed,
    /// Somebody else has to do something first.
    Waiting,
    /// A failure stands in the way.
    Blocked,
}

impl NoNext {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Waiting => "waiting",
            Self::Blocked => "blocked",
        }
    }
}

pub(super) fn is_for_others(phase: &Phase) -> bool {
    match &phase.body {
        Body::Approval(_) | Body::External(_) => true,
        Body::Run { .. } | Body::Agent(_) | Body::Uses(_) => false,
    }
}

pub(super) fn as_approval(phase: &Phase) -> Option<&Approval> {
    match &phase.body {
        Body::Approval(approval) => Some(approval),
        Body::External(_) | Body::Run { .. } | Body::Agent(_) | Body::Uses(_) => None,
    }
}

pub(super) fn as_external(phase: &Phase) -> Option<&External> {
    match &phase.body {
        Body::External(external) => Some(external),
        Body::Approval(_) | Body::Run { .. } | Body::Agent(_) | Body::Uses(_) => None,
    }
}

impl Run {
    /// Nobody drives it, because what is left is for others to do.
    pub(super) fn waits_for_others(&self) -> bool {
        !self.archived && self.result.is_none() && self.stopped == Some(StopReason::Waiting)
    }

    /// Nobody drives it, and a checkpoint of what others did waits for the working tree.
    pub fn tree_is_awaited(&self) -> bool {
        (self.waits_for_others() || self.ending().is_some()) && self.snapshot_is_wanted()
    }

    pub(super) fn failure_allows(&self) -> bool {
        let goes_on = self.plan().on_failure == PlanFailure::Continue && !a_failure_stops(self);
        self.derived.failed == 0 || goes_on || self.main_ended.is_some() || self.failures_are_of_others()
    }

    /// One phase alone is wanted, and what failed is no part of it.
    pub(super) fn failures_are_of_others(&self) -> bool {
        let failed = |at: &&usize| self.phases[**at].status == PhaseStatus::Failed;
        let failed = || self.derived.with_error.iter().filter(failed).map(|&at| &self.plan().phases[at].id);
        self.only.as_ref().is_some_and(|only| !failed().any(|phase| self.is_within(phase, only)))
    }

    pub(super) fn is_the_one_wanted(&self, at: usize) -> bool {
        is_wanted(self, at)
    }

    /// Whether somebody has said that they are at work on a phase.
    pub(super) fn others_are_at_work(&self) -> bool {
        self.at_work_elsewhere().next().is_some()
    }

    /// The phases of which somebody has said so.
    pub(super) fn at_work_elsewhere(&self) -> impl Iterator<Item = usize> {
        self.derived
            .external
            .iter()
            .copied()
            .filter(|&at| matches!(self.phases[at].external, Some(ExternalState::AtWork { .. })))
    }

    /// Whether others can bring the run on.
    pub(super) fn something_is_for_others(&self) -> bool {
        let at_work =
            self.others_are_at_work() && (self.derived.failed == 0 || self.plan().on_failure != PlanFailure::Stop);
        let open = self.derived.external.iter().chain(&self.derived.for_others).any(|&at| self.is_the_one_wanted(at));
        at_work || (open && self.failure_allows())
    }

    /// The phase in hand: one that is at work, whoever does it.
    pub fn in_hand(&self) -> Option<&PhaseId> {
        let others = self.derived.external.iter().find(|&&at| self.phases[at].status == PhaseStatus::Running);
        let at = self.derived.running.iter().next().or(others)?;
        Some(&self.plan().phases[*at].id)
    }

    /// Approvals that were asked for and are not given.
    pub fn approvals(&self) -> impl Iterator<Item = (&Phase, &Approval)> {
        let waiting = self.derived.external.iter().filter(|&&at| self.phases[at].status == PhaseStatus::Waiting);
        waiting.filter_map(|&at| Some((&self.plan().phases[at], as_approval(&self.plan().phases[at])?)))
    }

    /// Things to inspect before an approval is given: of `artifacts:PHASE.NAME` the places where they lie.
    pub fn to_be_looked_at(&self, phase: &Phase, approval: &Approval) -> Vec<String> {
        let places = |told: &String| {
            let (of, name) = told.strip_prefix("artifacts:")?.rsplit_once('.')?;
            let at = *self.derived.index.by_id.get(&phase.situation.phase(&PhaseId::new(of)))?;
            let all = std::iter::once(at).chain(self.parts(at)).flat_map(|at| &self.phases[at].artifacts);
            let places: Vec<String> = all.filter(|it| it.name == name).map(|it| it.path.clone()).collect();
            (!places.is_empty()).then_some(places)
        };
        let told = approval.show.iter().map(|show| self.told(phase, show));
        told.flat_map(|told| places(&told).unwrap_or_else(|| vec![told])).collect()
    }

    /// The question of an approval, without its answers.
    pub fn message(&self, phase: &Phase, approval: &Approval) -> String {
        self.told(phase, &approval.message)
    }

    /// The question of an approval, with its answers where they are not the usual two.
    pub fn question(&self, phase: &Phase, approval: &Approval) -> String {
        let message = self.message(phase, approval);
        if approval.choices == [APPROVE, REJECT] {
            return message;
        }
        format!("{message} (--choice {})", approval.choices.join(" | "))
    }

    /// The request of a waiting phase to the people it waits for.
    pub fn asks(&self, phase: &Phase, state: &PhaseState) -> Option<String> {
        match &phase.body {
            Body::Approval(approval) => (state.status == PhaseStatus::Waiting).then(|| self.question(phase, approval)),
            Body::External(external) => {
                let wanted = self.derived.for_others.contains(&self.at(&phase.id)) && !state.is_finished();
                wanted.then(|| self.told(phase, &external.instructions))
            }
            Body::Agent(_) => {
                let call = agent_calls::waiting_call(state).map(|call| format!("may it use {}", call.in_words()));
                call.or_else(|| self.conflict_words(&phase.id, state))
            }
            Body::Run { .. } | Body::Uses(_) => None,
        }
    }

    /// The phase that somebody who asks is to do: what is begun first, then what could begin.
    pub fn next_for_others(&self, now: Timestamp) -> Result<&Phase, NoNext> {
        // A run without phases holds a saved state, which says itself when it is done.
        if self.derived.finished == self.phases.len()
            && (!self.phases.is_empty() || self.status() == RunStatus::Completed)
        {
            return Err(NoNext::Completed);
        }
        let external = |at: &&usize| as_external(&self.plan().phases[**at]).is_some();
        let begun =
            self.derived.external.iter().find(|at| external(at) && self.phases[**at].status == PhaseStatus::Running);
        let due = |at: &&usize| self.phases[**at].not_before.is_none_or(|time| time <= now);
        let free = |at: &&usize| has_a_place(self, **at) && schedule::taken_by_another(self, **at).is_none();
        let open =
            || self.derived.for_others.iter().find(|at| external(at) && due(at) && free(at) && self.failure_allows());
        match begun.or_else(open) {
            Some(&at) if !self.archived => Ok(&self.plan().phases[at]),
            Some(_) => Err(NoNext::Blocked),
            None => Err(self.why_nothing_is_next()),
        }
    }

    fn why_nothing_is_next(&self) -> NoNext {
        let open =
            !self.derived.ready.is_empty() || !self.derived.delayed.is_empty() || !self.derived.for_others.is_empty();
        let going =
            !self.derived.running.is_empty() || !self.derived.external.is_empty() || !self.derived.probing.is_empty();
        // Where nothing has failed, something is to come: if nobody else does it, a driver.
        let goes_on = self.derived.failed == 0 || going || (open && self.failure_allows());
        if goes_on && !self.archived { NoNext::Waiting } else { NoNext::Blocked }
    }

    /// When the next patience ends.
    pub(super) fn patience_ends(&self, now: Timestamp) -> Option<Timestamp> {
        let ends =
            self.derived.external.iter().filter_map(|&at| patience(&self.plan().phases[at], &self.phases[at], now).1);
        ends.min()
    }

    pub(super) fn approval_asked(&mut self, phase: &PhaseId, at: Timestamp) {
        assert!(!self.is_blocked(phase), "{phase} is asked about before what it needs is done");
        self.change(phase, |state| {
            assert!(!state.is_finished() && state.external.is_none(), "{phase} is asked about once");
            (state.status, state.external) = (PhaseStatus::Waiting, Some(ExternalState::Asked { at }));
            (state.started_at, state.ended_at, state.duration_ms) = (Some(at), None, None);
            (state.not_before, state.error) = (None, None);
        });
        self.label_is_due(phase);
    }

    pub(super) fn approval_answered(&mut self, phase: &PhaseId, choice: &str, at: Timestamp) {
        self.change(phase, |state| {
            assert_eq!(state.status, PhaseStatus::Waiting, "{phase} is answered when it was asked about");
            state.external = Some(ExternalState::Answered { choice: choice.to_owned() });
            state.ended_at = Some(at);
        });
    }

    pub(super) fn reported(&mut self, phase: &PhaseId, report: &ExternalReport, at: Timestamp) {
        self.apply_report(phase, report, at);
        self.report_is_remembered(phase, report);
        self.taken_up_by_others();
    }

    fn apply_report(&mut self, phase: &PhaseId, report: &ExternalReport, at: Timestamp) {
        let if_silent = as_external(&self.plan().phases[self.at(phase)]).map(|external| external.if_silent);
        match report {
            ExternalReport::Started { attempt } => {
                self.others_started(phase, *attempt, at);
                self.label_is_due(phase);
            }
            ExternalReport::Progress { note } => self.change(phase, |state| {
                state.external = Some(ExternalState::AtWork { heard_at: at });
                state.note = note.clone().or(state.note.take());
            }),
            ExternalReport::Overruled { remaining, .. } => self.change(phase, |state| {
                state.rounds.extend(remaining.clone());
                let old = state.rounds.len().saturating_sub(UNCHANGED_MAX + 1);
                state.rounds.drain(..old);
                if let Some(ExternalState::AtWork { heard_at }) = &mut state.external {
                    *heard_at = at;
                }
            }),
            ExternalReport::Done { commit } => self.change(phase, |state| {
                others_ended(state, phase, at);
                state.commit_sha = commit.clone().or(state.commit_sha.take());
            }),
            ExternalReport::Failed { .. } => self.change(phase, |state| {
                others_ended(state, phase, at);
                (state.failures, state.last_end) = (state.failures + 1, Some(Before::Failed));
            }),
            ExternalReport::Silent => self.change(phase, |state| {
                others_ended(state, phase, at);
                state.last_end = Some(Before::Interrupted);
                match if_silent {
                    Some(IfSilent::Fail) => {
                        (state.failures, state.external) = (state.failures + 1, Some(ExternalState::Silent));
                    }
                    Some(IfSilent::Ask | IfSilent::Pause) => state.external = Some(ExternalState::Silent),
                    // It can be taken in hand by somebody else.
                    Some(IfSilent::Wait) | None => {}
                }
            }),
        }
    }

    /// The run is paused, as it was to be where somebody is silent: from now on somebody else may take the phase in hand.
    pub(super) fn silence_is_heeded(&mut self) {
        let pauses = |at: &usize| {
            let external = as_external(&self.plan().phases[*at]);
            let silent = matches!(self.phases[*at].external, Some(ExternalState::Silent)) && !self.phases[*at].in_doubt;
            silent && external.is_some_and(|external| external.if_silent == IfSilent::Pause)
        };
        let heeded: Vec<usize> = self.derived.external.iter().copied().filter(pauses).collect();
        for at in heeded {
            let phase = self.plan().phases[at].id.clone();
            self.change(&phase, |state| state.external = None);
        }
    }

    fn others_started(&mut self, phase: &PhaseId, attempt: Attempt, at: Timestamp) {
        assert!(!self.is_blocked(phase), "{phase} is begun before what it needs is done");
        self.change(phase, |state| {
            let free = matches!(state.external, None | Some(ExternalState::Silent));
            assert!(!state.is_finished() && free, "{phase} is begun once");
            assert_eq!(attempt.0, state.attempts + 1, "attempts of {phase} are numbered without gaps");
            (state.status, state.external) = (PhaseStatus::Running, Some(ExternalState::AtWork { heard_at: at }));
            state.attempts = attempt.0;
            (state.started_at, state.ended_at, state.duration_ms) = (Some(at), None, None);
            (state.not_before, state.error, state.parked) = (None, None, false);
            state.rounds.clear();
            // Whoever reports an end proves it: an answer about the attempt before comes too late.
            state.probe = None;
        });
        let nobody_drives = self.result.is_some() || self.stopped.is_some();
        if nobody_drives && self.derived.running.is_empty() {
            (self.result, self.stopped) = (None, Some(StopReason::Waiting));
        }
    }
}

/// Drops the state of an external phase that does not fit its kind any more.
pub(super) fn fit(phase: &Phase, state: &mut PhaseState) {
    let fits = match &state.external {
        None => true,
        Some(ExternalState::Asked { .. } | ExternalState::Answered { .. }) => as_approval(phase).is_some(),
        Some(ExternalState::AtWork { .. } | ExternalState::Silent) => as_external(phase).is_some(),
        Some(ExternalState::Conflict) => state.conflict().is_some() && agents::work(phase).is_some(),
        Some(ExternalState::Call { .. }) => agent_calls::fits(phase, state),
    };
    if !fits {
        agent_calls::ask_no_more(state);
        (state.external, state.status) = (None, PhaseStatus::Pending);
    }
}

fn others_ended(state: &mut PhaseState, phase: &PhaseId, at: Timestamp) {
    assert_eq!(state.status, PhaseStatus::Running, "{phase} ends after it was begun");
    (state.status, state.external, state.ended_at) = (PhaseStatus::Interrupted, None, Some(at));
    let span = state.started_at.map(|start| at.duration_since(start).as_millis());
    state.duration_ms = span.and_then(|ms| u64::try_from(ms).ok());
}

/// The next fact from reports and answers, or from their absence in time.
pub(super) fn settle(run: &Run, now: Timestamp) -> Option<Event> {
    if (run.derived.external.is_empty() && run.derived.for_others.is_empty()) || run.vcs.rewinding.is_some() {
        return None;
    }
    let follows = run.derived.external.iter().find_map(|&at| follow(run, &run.plan().phases[at], &run.phases[at], now));
    // What others are at work on goes on; a person is asked once the run has its turn.
    follows.or_else(|| ask(run).filter(|_| run.awaited_group().is_none()))
}

/// The end of a run that nobody drives, once others have done or failed all that was theirs.
pub(super) fn end(run: &Run) -> Option<Event> {
    if run.snapshot_is_wanted()
        || run.vcs.begun.is_some()
        || run.vcs.rewinding.is_some()
        || run.integration_begun().is_some()
        || run.marks_wanted().next().is_some()
        || run.labels_are_left()
        || !run.derived.running.is_empty()
    {
        return None;
    }
    let last = run.main_ended.is_some() || !run.derived.index.closing.contains(&true);
    if run.derived.finished == run.phases.len() && last {
        return Some(Event::RunEnded { result: RunResult::Completed });
    }
    // What belongs to the end, and what is to be looked at or taken apart, wants a driver.
    let startable = !run.derived.ready.is_empty() || !run.derived.delayed.is_empty() || !run.derived.to_open.is_empty();
    let for_a_driver = !last || !run.derived.probing.is_empty() || !run.derived.to_skip.is_empty();
    let open = run.something_is_for_others() || !run.derived.in_doubt.is_empty() || (startable && run.failure_allows());
    let open = open || for_a_driver || run.derived.failed == 0 || run.a_plan_is_awaited();
    (!open).then_some(Event::RunEnded { result: RunResult::Failed })
}

/// The next approval whose turn it is.
fn ask(run: &Run) -> Option<Event> {
    let quiet = run.stop.is_none()
        && run.derived.in_doubt.is_empty()
        && run.vcs.rewinding.is_none()
        && !run.replan_comes_first();
    if run.epoch == 0 || !quiet || !run.failure_allows() {
        return None;
    }
    let approval = |at: &&usize| as_approval(&run.plan().phases[**at]).is_some() && run.is_the_one_wanted(**at);
    let at = *run.derived.for_others.iter().find(approval)?;
    let phase = &run.plan().phases[at];
    Some(match uses_what_was_cut(run, phase) {
        Some(error) => Event::PhaseFailed { phase: phase.id.clone(), error },
        None => Event::ApprovalAsked { phase: phase.id.clone() },
    })
}

fn follow(run: &Run, phase: &Phase, state: &PhaseState, now: Timestamp) -> Option<Event> {
    if state.in_doubt {
        return None;
    }
    match (state.external.as_ref()?, patience(phase, state, now).0?) {
        (ExternalState::Answered { choice }, _) => Some(answered(run, phase, choice)),
        (ExternalState::Asked { .. }, Over::Expired(IfExpired::Approve)) => Some(by_time(phase, APPROVE)),
        (ExternalState::Asked { .. }, Over::Expired(IfExpired::Reject)) => Some(by_time(phase, REJECT)),
        (ExternalState::AtWork { .. }, Over::Silent(_)) => {
            Some(Event::Reported { phase: phase.id.clone(), by: TIME.to_owned(), report: ExternalReport::Silent })
        }
        (ExternalState::Silent, Over::Silent(IfSilent::Fail)) => {
            let why = (FailureCode::Silent, "whoever did it was not heard for too long".to_owned());
            let attempt = Attempt(state.attempts);
            // The silence itself was counted when it was recorded.
            let before = PhaseState { failures: state.failures.saturating_sub(1), ..state.clone() };
            Some(retried_or_failed(run, phase, before.failures, RetryWhen::Failed, why, attempt, now))
        }
        (ExternalState::Silent, Over::Silent(IfSilent::Ask)) => Some(Event::PhaseInDoubt { phase: phase.id.clone() }),
        (ExternalState::Silent, Over::Silent(IfSilent::Pause)) => silence_pauses(run),
        (
            ExternalState::Silent
            | ExternalState::Asked { .. }
            | ExternalState::AtWork { .. }
            | ExternalState::Conflict
            | ExternalState::Call { .. },
            _,
        ) => None,
    }
}

/// Pauses the run once the running attempts have ended; without a driver at once.
fn silence_pauses(run: &Run) -> Option<Event> {
    if run.epoch == 0 || run.stopped.is_some() {
        return Some(Event::RunPaused { reason: StopReason::Pause, until: run.retry_at() });
    }
    run.stop.is_none().then_some(Event::StopAsked { by: StopRequest::Pause, urgency: Urgency::Ask })
}

/// A deadline that has passed, with the plan's setting for it.
enum Over {
    Expired(IfExpired),
    Silent(IfSilent),
    /// Nothing is waited for any more.
    Answered,
}

/// Whether a patience is over, and when it will be.
fn patience(phase: &Phase, state: &PhaseState, now: Timestamp) -> (Option<Over>, Option<Timestamp>) {
    let (approval, external) = (as_approval(phase), as_external(phase));
    match (&state.external, approval, external) {
        (Some(ExternalState::Asked { at }), Some(approval), _) => match wait_limits::approval(approval, *at, now) {
            Wait::Open { until } => (None, until),
            Wait::Over(what) => (Some(Over::Expired(what)), None),
        },
        (Some(ExternalState::AtWork { heard_at }), _, Some(external)) => {
            match wait_limits::external(external, *heard_at, now) {
                Wait::Open { until } => (None, until),
                Wait::Over(what) => (Some(Over::Silent(what)), None),
            }
        }
        (Some(ExternalState::Silent), _, Some(external)) => (Some(Over::Silent(external.if_silent)), None),
        (Some(ExternalState::Answered { .. }), _, _) => (Some(Over::Answered), None),
        (Some(_) | None, _, _) => (None, None),
    }
}

fn by_time(phase: &Phase, said: &str) -> Event {
    let choice = as_approval(phase).and_then(|approval| approval.choice(said)).unwrap_or(said).to_owned();
    Event::ApprovalAnswered { phase: phase.id.clone(), choice, by: TIME.to_owned() }
}

/// The result of an approval that was answered.
pub(super) fn answered(run: &Run, phase: &Phase, choice: &str) -> Event {
    if choice == REJECT && !mutant::is(Mutant::TakeANoForAYes) {
        let message = "it was rejected, and stays so until it is retried by hand".to_owned();
        let error = PhaseError { code: FailureCode::Rejected, message };
        return Event::PhaseFailed { phase: phase.id.clone(), error };
    }
    Event::PhaseCompleted {
        phase: phase.id.clone(),
        summary: None,
        outputs: [(CHOICE.to_owned(), choice.to_owned())].into(),
        adopted: false,
        adoption: None,
        seen: Some(Box::new(seen(run, phase, None))),
        artifacts: Vec::new(),
    }
}
