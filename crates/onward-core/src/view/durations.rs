//! How long phases took in earlier runs of a plan, and what that says about the present one.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::event::{Event, Outcome, Recorded};
use crate::id::PhaseId;
use crate::plan::{Body, Phase};
use crate::run::{PhaseState, PhaseStatus, Run};

/// Fewer durations than this say nothing about the next one.
pub const RUNS_MIN: usize = 3;
/// Only so many of the newest count: what took long a year ago may not any more.
pub const RUNS_MAX: usize = 20;

/// How often the phases of a plan are gone through to find the longest way through it.
const ROUNDS_MAX: usize = 20;

/// How an attempt came to its own end. What was ended by us or left no record says nothing about how long it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EndKind {
    Done,
    Failed,
    TimedOut,
}

impl EndKind {
    pub const ALL: [Self; 3] = [Self::Done, Self::Failed, Self::TimedOut];

    /// The word under which it is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::TimedOut => "timed_out",
        }
    }
}

/// The duration of one attempt, as it is kept beside the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptDuration<'a> {
    pub phase: &'a PhaseId,
    pub end: EndKind,
    pub ms: u64,
}

/// The duration that an event tells, where it tells one.
pub fn told(recorded: &Recorded) -> Option<AttemptDuration<'_>> {
    let Event::AttemptEnded { phase, outcome, duration_ms: Some(ms), .. } = &recorded.event else { return None };
    let end = match outcome {
        Outcome::Exited { code: 0 } => EndKind::Done,
        Outcome::Exited { .. } | Outcome::Killed { .. } => EndKind::Failed,
        Outcome::TimedOut => EndKind::TimedOut,
        Outcome::CouldNotStart { .. } | Outcome::NeverRan | Outcome::Stopped { .. } | Outcome::Unknown => return None,
    };
    Some(AttemptDuration { phase, end, ms: *ms })
}

/// The name under which the durations of a phase are kept: those of all children of a matrix count together, since tomorrow's has
/// another value.
pub fn key(phase: &PhaseId) -> String {
    let parts = phase.as_str().split('/').map(|part| part.split('@').next().unwrap_or_default());
    parts.collect::<Vec<_>>().join("/")
}

/// How long something takes, from how long it took before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExpectedTime {
    /// Half of them took no longer.
    pub p50_ms: u64,
    /// Nine of ten took no longer.
    pub p90_ms: u64,
    /// How many there were.
    pub runs: usize,
}

impl ExpectedTime {
    /// None where there are too few.
    pub fn from_durations(durations_ms: &[u64]) -> Option<Self> {
        if durations_ms.len() < RUNS_MIN {
            return None;
        }
        let mut sorted = durations_ms.to_vec();
        sorted.sort_unstable();
        // The smallest of which so many of a hundred are no larger.
        let percentile = |percent: usize| sorted[(sorted.len() * percent).div_ceil(100).saturating_sub(1)];
        Some(Self { p50_ms: percentile(50), p90_ms: percentile(90), runs: sorted.len() })
    }
}

/// The durations of a phase over earlier runs of the same plan, by how its attempts ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PhaseDurations {
    pub phase: PhaseId,
    pub ends: BTreeMap<EndKind, ExpectedTime>,
}

/// When the run is done if each phase takes as long as it did before, one driver works on it, and nothing fails. None where that
/// cannot be said: a phase that was never done before, or one that waits for people.
pub fn done_by(run: &Run, expected: &BTreeMap<PhaseId, ExpectedTime>, now: Timestamp) -> Option<Timestamp> {
    if expected.is_empty() || run.stop.is_some() {
        return None;
    }
    let (mut ends, mut sum) = (BTreeMap::<&PhaseId, u64>::new(), 0_u64);
    let plan = run.plan();
    let mut left: Vec<(&Phase, u64)> = Vec::new();
    for (phase, state) in run.phases() {
        if state.is_finished() || phase.children.is_some() {
            continue;
        }
        let ms = left_ms(phase, state, expected.get(&phase.id), now)?;
        sum = sum.saturating_add(ms);
        left.push((phase, ms));
    }
    // A phase counts from the end of those that it needs; plans are mostly written in that order, so a few rounds do.
    let mut settled = false;
    for _ in 0..ROUNDS_MAX {
        let mut changed = false;
        for (phase, ms) in &left {
            let needs = phase.needs.iter().filter_map(|need| ends.get(&need.phase)).max();
            let end = needs.copied().unwrap_or(0).saturating_add(*ms);
            changed |= ends.insert(&phase.id, end) != Some(end);
        }
        settled = !changed;
        if settled {
            break;
        }
    }
    let longest = ends.values().copied().max().filter(|_| settled)?;
    let side_by_side = u64::from(run.jobs.unwrap_or(plan.max_parallel).max(1));
    let ms = i64::try_from(longest.max(sum / side_by_side)).ok()?;
    now.checked_add(SignedDuration::from_millis(ms)).ok()
}

/// How long a phase will still take.
fn left_ms(phase: &Phase, state: &PhaseState, expected: Option<&ExpectedTime>, now: Timestamp) -> Option<u64> {
    let of_a_person = matches!(phase.body, Body::Approval(_) | Body::External(_));
    let given_up = matches!(state.status, PhaseStatus::Failed | PhaseStatus::Waiting) || state.in_doubt || state.parked;
    if of_a_person || given_up {
        return None;
    }
    let expected = expected?.p50_ms;
    let worked = state.started_at.filter(|_| state.status == PhaseStatus::Running);
    let worked = worked.and_then(|at| Duration::try_from(now.duration_since(at)).ok()).unwrap_or_default();
    Some(expected.saturating_sub(u64::try_from(worked.as_millis()).unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_expected_from_less_than_three_runs() {
        assert_eq!(ExpectedTime::from_durations(&[]), None);
        assert_eq!(ExpectedTime::from_durations(&[5, 7]), None);
        assert_eq!(ExpectedTime::from_durations(&[9, 1, 5]), Some(ExpectedTime { p50_ms: 5, p90_ms: 9, runs: 3 }));
    }

    #[test]
    fn nine_of_ten_take_no_longer() {
        let ten: Vec<u64> = (1..=10).rev().map(|n| n * 10).collect();
        assert_eq!(ExpectedTime::from_durations(&ten), Some(ExpectedTime { p50_ms: 50, p90_ms: 90, runs: 10 }));
    }
}
