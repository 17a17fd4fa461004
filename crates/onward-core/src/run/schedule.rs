//! Which phase is started next, and what keeps the others.
//!
//! Phases that take the same things for themselves (locks, limits, files) are of one class: what stands in the way of one
//! of them stands in the way of all, so a plan of ten thousand is gone through once and not judged one by one.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::limits::Who;
use super::pools::{Claim, Obstacle, Pools, rate_opens};
use super::settle::{delayed, may_start, ready};
use super::state::{PhaseState, Run};
use crate::event::{Event, StopBy};
use crate::mutant::{self, Mutant};
use crate::plan::{Limit, Phase};
use crate::rate_limit::{Hit, Response, respond};

/// Phases that take nothing for themselves.
pub(super) const FREE: u32 = 0;

/// The phase that should be started now, if one may be.
pub(super) fn next(run: &Run, now: Timestamp) -> Option<usize> {
    if run.running.len() >= side_by_side(run) || !may_start(run) {
        return None;
    }
    let mut look = Look::new(run, now);
    let due = delayed(run).take_while(|(time, _)| *time <= now).map(|(_, at)| at);
    ready(run).chain(due).find(|&at| look.obstacle(at).is_none())
}

fn side_by_side(run: &Run) -> usize {
    run.jobs.unwrap_or(run.plan().max_parallel).max(1) as usize
}

/// One look over the phases that are ready.
struct Look<'a> {
    run: &'a Run,
    pools: Option<Pools<'a>>,
    /// What stands in the way of the classes that were judged.
    judged: Vec<Option<Option<Obstacle>>>,
    now: Timestamp,
}

impl<'a> Look<'a> {
    fn new(run: &'a Run, now: Timestamp) -> Self {
        Self { run, pools: None, judged: Vec::new(), now }
    }

    fn obstacle(&mut self, at: usize) -> Option<Obstacle> {
        let class = self.run.index.class[at];
        if class == FREE {
            return None;
        }
        let place = class as usize;
        if self.judged.len() <= place {
            self.judged.resize(place + 1, None);
        }
        if self.judged[place].is_none() {
            let (run, now) = (self.run, self.now);
            let pools = self.pools.get_or_insert_with(|| pools(run));
            self.judged[place] = Some(pools.obstacle(&Claim::of(&run.plan().phases[at], None), now));
        }
        self.judged[place].clone().flatten()
    }
}

fn pools(run: &Run) -> Pools<'_> {
    let phases = &run.plan().phases;
    let taken = |at: &&usize| run.index.class[**at] != FREE && !mutant::is(Mutant::ForgetThePools);
    let at_work = run.running.iter().filter(taken).map(|&at| Claim::of(&phases[at], None)).collect();
    Pools { max_parallel: side_by_side(run), limits: &run.plan().limits, usage: &run.limits.usage, at_work }
}

/// What keeps a phase that could start from being started now, in words.
pub fn held_up(run: &Run, phase: &Phase, state: &PhaseState, now: Timestamp) -> Option<String> {
    if let Some(until) = state.not_before.filter(|until| *until > now) {
        let what = if limited(run, phase) { "a limit was hit; it is tried again" } else { "it is tried again" };
        return Some(format!("{what} in {}", crate::words::countdown(until, now)));
    }
    let pools = Pools { max_parallel: usize::MAX, ..pools(run) };
    pools.obstacle(&Claim::of(phase, None), now).map(|obstacle| obstacle.words(now))
}

fn limited(run: &Run, phase: &Phase) -> bool {
    run.limits.rows.contains_key(&Who::Phase(phase.id.clone()))
}

/// The next time at which something that waits may go on by itself.
pub(super) fn wake(run: &Run, now: Timestamp) -> Option<Timestamp> {
    let opens = run.limits.usage.iter().flat_map(|(name, usage)| {
        let rate = run.plan().limits.get(name).and_then(|limit| limit.rate);
        let window = rate.and_then(|rate| rate_opens(&usage.starts, rate.count, rate.window, now));
        [usage.closed_until.filter(|until| *until > now), window]
    });
    let retries = run.delayed.iter().map(|(time, _)| *time).find(|time| *time > now);
    let opens = opens.flatten().filter(|_| !run.ready.is_empty());
    opens.chain(retries).min()
}

/// The run is paused where all that is left waits for limits, and nobody wants to wait for those.
pub(super) fn pause(run: &Run, now: Timestamp) -> Option<Event> {
    if run.limits.rows.is_empty() || !run.running.is_empty() || !may_start(run) {
        return None;
    }
    let mut look = Look::new(run, now);
    let mut until: Option<Timestamp> = None;
    let mut seen = BTreeSet::new();
    for at in ready(run) {
        let class = run.index.class[at];
        if class != FREE && !seen.insert(class) {
            continue;
        }
        // What may start now, or waits for something else, is no reason to leave.
        let closed = paused_by_a_closed_limit(run, look.obstacle(at)?, now)?;
        until = Some(until.map_or(closed, |known| known.min(closed)));
    }
    for (time, at) in delayed(run) {
        let row = run.limits.row(&Who::Phase(run.plan().phases[at].id.clone()))?;
        let closed = not_waited_for(run, time, std::iter::empty(), row.since, now)?;
        until = Some(until.map_or(closed, |known| known.min(closed)));
    }
    until.map(|until| Event::RunPaused { by: StopBy::Limit, until: Some(until) })
}

fn paused_by_a_closed_limit(run: &Run, obstacle: Obstacle, now: Timestamp) -> Option<Timestamp> {
    let Obstacle::Closed { name, until } = obstacle else { return None };
    let since = run.limits.row(&Who::Limit(name.clone())).map_or(now, |row| row.since);
    not_waited_for(run, until, run.plan().limits.get(&name).into_iter(), since, now)
}

fn not_waited_for<'a>(
    run: &Run,
    until: Timestamp,
    limits: impl Iterator<Item = &'a Limit>,
    since: Timestamp,
    now: Timestamp,
) -> Option<Timestamp> {
    if until <= now {
        return None;
    }
    let hit = Hit { limits: BTreeSet::new(), until, told: true, said: String::new() };
    match respond(&hit, limits, run.limits.patience(), since, now) {
        Response::Pause { until } => Some(until),
        // A limit that makes phases fail is not waited for either, but it was somebody else who was turned away.
        Response::Wait { .. } | Response::Fail => None,
    }
}

/// The time that the driver was given is over.
pub(super) fn deadline(run: &Run, now: Timestamp) -> Option<Event> {
    let over = run.limits.deadline.is_some_and(|deadline| deadline <= now);
    let work_is_left = run.finished < run.phases.len();
    (over && work_is_left && run.epoch > 0 && run.stop.is_none())
        .then_some(Event::StopAsked { by: StopBy::Deadline, kill: false })
}

/// What a driver that has nothing at work is waiting for, for whoever watches: until when, and which limits.
pub fn countdown(run: &Run, now: Timestamp) -> Option<(Timestamp, String)> {
    let closed = run.limits.usage.iter().filter_map(|(name, usage)| {
        let until = usage.closed_until.filter(|until| *until > now)?;
        Some((until, format!("the limit {name}")))
    });
    let phases = run.limits.rows.iter().filter_map(|(who, row)| match who {
        Who::Phase(phase) if row.until > now => Some((row.until, format!("the limit that {phase} hit"))),
        Who::Phase(_) | Who::Limit(_) => None,
    });
    closed.chain(phases).min()
}
