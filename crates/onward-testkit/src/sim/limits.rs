//! Limits, waits and deadlines in the simulated world, and what must hold about them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use onward_core::event::{LimitHit, Outcome};
use onward_core::id::PhaseId;
use onward_core::input::{AttemptEnd, Bounds, ClosedElsewhere, LastWords};
use onward_core::plan::{Body, Limit, LossKind, Phase, Plan, Rate, WhenLimited};

use super::agents;
use super::dice::Dice;
use super::world::Machine;

/// After so many starts nobody is in a hurry any more, or a world would never end.
pub(super) const HURRY_STARTS_MAX: u32 = 20;

/// The limits of a random plan; phases draw on some of them.
pub(super) fn random_limits(dice: &mut Dice) -> BTreeMap<String, Limit> {
    let all = ["api", "disk"].map(|name| {
        let limit = Limit {
            max_parallel: dice.percent(50).then(|| 1 + u32::try_from(dice.below(2)).expect("small")),
            rate: dice.percent(30).then(|| Rate { count: 2, window: Duration::from_secs(1 + dice.below(60)) }),
            when_limited: *dice.pick(&[WhenLimited::Wait, WhenLimited::Wait, WhenLimited::Pause, WhenLimited::Fail]),
            max_wait: Duration::from_secs(dice.below(3600)),
            budget: if dice.percent(10) { agents::random_budget(dice) } else { None },
            ..Limit::default()
        };
        (name.to_owned(), limit)
    });
    all.into_iter().chain(agents::random_limit(dice)).collect()
}

/// The limits that a phase draws on, that of its agent's name among them.
pub(super) fn drawn_on(phase: &Phase) -> Vec<&str> {
    let named = phase.limits.iter().map(String::as_str);
    let own = match &phase.body {
        Body::Agent(block) => block["use"].as_str().filter(|name| ["claude-code", "codex"].contains(name)),
        Body::Run { .. } | Body::Approval(_) | Body::External(_) | Body::Uses(_) => None,
    };
    named.chain(own).collect()
}

pub(super) fn random_claims(dice: &mut Dice, phase: Phase) -> Phase {
    let limits = if dice.percent(30) { vec![(*dice.pick(&["api", "disk"])).to_owned()] } else { Vec::new() };
    let locks = if dice.percent(15) { vec!["deploy".to_owned()] } else { Vec::new() };
    Phase { limits, locks, ..phase }
}

/// Now and then a driver may not wait, or not work, for long.
pub(super) fn bounds(machine: &mut Machine, start: u32) -> Bounds {
    if start >= HURRY_STARTS_MAX {
        let budget_nano_usd = agents::budget_of_a_start(&mut machine.dice, start);
        return Bounds { budget_nano_usd, ..Bounds::default() };
    }
    let wait_limit = machine.dice.percent(20).then(|| Duration::from_secs(machine.dice.below(3) * 60));
    let seconds = i64::try_from(machine.dice.below(200)).expect("small");
    let deadline = machine.dice.percent(10).then(|| machine.now + SignedDuration::from_secs(seconds));
    Bounds { wait_limit, deadline, budget_nano_usd: agents::budget_of_a_start(&mut machine.dice, start) }
}

/// Now and then another run has hit a limit.
pub(super) fn elsewhere(machine: &mut Machine) -> Vec<ClosedElsewhere> {
    if !machine.dice.percent(2) {
        return Vec::new();
    }
    let limit = (*machine.dice.pick(&["api", "disk", "other"])).to_owned();
    let seconds = i64::try_from(machine.dice.below(200)).expect("small");
    vec![ClosedElsewhere {
        limit,
        until: machine.now + SignedDuration::from_secs(seconds),
        told: machine.dice.percent(50),
    }]
}

/// Gives a rate-limited attempt its last lines: sometimes with a time, sometimes without.
pub(super) fn with_last_words(end: AttemptEnd, at: Timestamp) -> AttemptEnd {
    if end.outcome != (Outcome::Exited { code: 75 }) {
        return end;
    }
    let seconds = at.as_second().rem_euclid(100);
    let text = if seconds > 50 { String::new() } else { format!("retry-after: {seconds}\n") };
    AttemptEnd { last_words: Some(Box::new(LastWords { text, local: TimeZone::UTC })), ..end }
}

/// The journal's account of limits, counted the simple way.
#[derive(Debug, Default)]
pub(super) struct ClosedLimits {
    limits: BTreeMap<String, Timestamp>,
    phases: BTreeMap<PhaseId, Timestamp>,
    starts: BTreeMap<String, Vec<Timestamp>>,
}

impl ClosedLimits {
    pub(super) fn hit(&mut self, hit: &LimitHit) {
        if let (true, Some(phase)) = (hit.limits.is_empty(), &hit.phase) {
            self.phases.insert(phase.clone(), hit.until);
        }
        for name in &hit.limits {
            let known = self.limits.get(name).copied().filter(|_| !hit.told);
            self.limits.insert(name.clone(), known.map_or(hit.until, |known| known.max(hit.until)));
        }
    }

    /// A person wants it now, or it was rewound: its own wait is over.
    pub(super) fn forget(&mut self, phase: &PhaseId) {
        self.phases.remove(phase);
    }

    /// A phase is started beside those that are at work.
    pub(super) fn started(&mut self, plan: &Plan, phase: &Phase, open: &[PhaseId], at: Timestamp) {
        let id = &phase.id;
        let own = self.phases.remove(id);
        assert!(own.is_none_or(|until| until <= at), "C7: {id} is started at {at}, before its reset at {own:?}");
        let others: Vec<&Phase> = open.iter().map(|other| plan.phase(other).expect("of the plan")).collect();
        for name in drawn_on(phase) {
            let until = self.limits.get(name);
            assert!(until.is_none_or(|until| *until <= at), "C7: {id} is started at {at}, {name} opens at {until:?}");
            let Some(limit) = plan.limits.get(name) else { continue };
            let busy = others.iter().filter(|other| drawn_on(other).contains(&name)).count();
            let max = limit.max_parallel.map_or(usize::MAX, |max| max as usize);
            assert!(busy < max, "A3: {id} is started while {busy} draw on {name}, and {max} may");
            let starts = self.starts.entry(name.to_owned()).or_default();
            starts.push(at);
            // The clock went back: what was before it says nothing about a span of time any more.
            if starts.iter().any(|start| *start > at) {
                starts.clear();
                starts.push(at);
            }
            if let Some(rate) = limit.rate {
                let within = starts.iter().filter(|start| **start + rate.window > at && **start <= at).count();
                assert!(within <= rate.count as usize, "A3: {within} starts of {name} within {:?}", rate.window);
            }
        }
        for other in others {
            let both: Vec<_> = locks(phase).intersection(&locks(other)).cloned().collect();
            assert!(both.is_empty(), "A3: {id} and {} hold {both:?} side by side", other.id);
        }
    }
}

fn locks(phase: &Phase) -> BTreeSet<String> {
    let commits = (phase.value == Some(LossKind::Commit)).then(|| "git".to_owned());
    phase.locks.iter().cloned().chain(commits).collect()
}
