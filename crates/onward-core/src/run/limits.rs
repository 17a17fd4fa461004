//! Limits of a run: which are closed until when, how often they were hit in a row, and how long this driver may wait or
//! work.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::admission::Usage;
use super::state::{Before, PhaseStatus, Run};
use crate::event::{LimitHit, StopReason};
use crate::id::PhaseId;
use crate::input::Bounds;
use crate::mutant::{self, Mutant};
use crate::rate_limit::{RecognisedLimit, WaitPolicy};

/// The part of a run that is about limits and time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LimitState {
    /// The recorded use of each limit that was drawn on.
    pub(super) usage: BTreeMap<String, Usage>,
    /// Hits in an unbroken row, by limit; a phase that draws on no limit has a row of its own.
    pub(super) rows: BTreeMap<Who, HitStreak>,
    /// How long the present driver waits for a reset at most; none: as the plan says.
    pub(super) wait_limit: Option<Duration>,
    /// When the present driver has to stop.
    pub(super) deadline: Option<Timestamp>,
    /// When a run that was paused should be started again, where that is known.
    pub retry_at: Option<Timestamp>,
    /// The largest cost of all agents of the run; it stays until a start gives another one.
    pub(super) budget_nano_usd: Option<u64>,
}

/// The limit that was hit, or the phase where it draws on no limit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) enum Who {
    Limit(String),
    Phase(PhaseId),
}

/// Hits with nothing else between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct HitStreak {
    pub(super) hits: u32,
    pub(super) since: Timestamp,
    pub(super) until: Timestamp,
}

impl LimitState {
    pub(super) fn patience(&self) -> WaitPolicy {
        self.wait_limit.map_or(WaitPolicy::Plan, WaitPolicy::AtMost)
    }

    pub(super) fn row(&self, who: &Who) -> Option<HitStreak> {
        self.rows.get(who).copied()
    }
}

impl Run {
    pub(super) fn bounds_told(&mut self, bounds: &Bounds) {
        (self.limits.wait_limit, self.limits.deadline) = (bounds.wait_limit, bounds.deadline);
        self.limits.budget_nano_usd = bounds.budget_nano_usd.or(self.limits.budget_nano_usd);
        self.limits.retry_at = None;
    }

    /// The failure before it was none: it uses no retry, and whoever draws on the limit waits.
    pub(super) fn limit_hit(&mut self, event: &LimitHit, at: Timestamp) {
        let hit = RecognisedLimit {
            limits: event.limits.clone(),
            until: event.until,
            told: event.told,
            said: event.said.clone(),
        };
        for name in &event.limits {
            self.limits.usage.entry(name.clone()).or_default().hit(&hit);
        }
        for who in those_of(event) {
            let row = self.limits.rows.entry(who).or_insert(HitStreak { hits: 0, since: at, until: event.until });
            (row.hits, row.until) = (row.hits.saturating_add(1), event.until);
        }
        let Some(phase) = &event.phase else { return };
        self.it_was_no_failure(phase);
        let itself = event.limits.is_empty().then_some(event.until);
        self.change(phase, |state| {
            assert!(state.attempt.is_none() && !state.is_finished(), "a limit is hit by an attempt that is over");
            if !mutant::is(Mutant::CountLimitsAsFailures) {
                state.failures = state.failures.saturating_sub(1);
            }
            (state.status, state.not_before) = (PhaseStatus::Pending, itself);
            state.last_end = Some(Before::Limited);
        });
    }

    pub(super) fn paused(&mut self, reason: StopReason, until: Option<Timestamp>) {
        assert!(
            self.derived.running.is_empty() || self.stopped.is_some(),
            "run {} is paused with phases at work",
            self.id
        );
        self.stopped = Some(reason);
        self.limits.retry_at = until;
        self.silence_is_heeded();
    }

    /// An attempt that draws on limits was started: it counts against their rates.
    pub(super) fn drawn_on(&mut self, phase: &PhaseId, now: Timestamp) {
        let plan = &self.started.plan;
        for name in plan.phases[self.at(phase)].pools() {
            if let Some(rate) = plan.limits.get(name).and_then(|limit| limit.rate) {
                self.limits.usage.entry(name.to_owned()).or_default().started(Some(rate), now);
            }
        }
    }

    /// An attempt ended, and not by a limit: the row of hits is broken.
    pub(super) fn not_limited(&mut self, phase: &PhaseId) {
        if self.limits.rows.is_empty() {
            return;
        }
        self.limits.rows.remove(&Who::Phase(phase.clone()));
        let started = self.started.clone();
        for name in started.plan.phases[self.at(phase)].pools() {
            self.limits.rows.remove(&Who::Limit(name.to_owned()));
        }
    }

    /// When a run that is paused should be started again, where that is known.
    pub fn retry_at(&self) -> Option<Timestamp> {
        self.limits.retry_at
    }
}

fn those_of(event: &LimitHit) -> Vec<Who> {
    match (&event.phase, &event.replan) {
        (None, None) => Vec::new(),
        (Some(phase), _) if event.limits.is_empty() => vec![Who::Phase(phase.clone())],
        (Some(_), _) | (None, Some(_)) => event.limits.iter().cloned().map(Who::Limit).collect(),
    }
}
