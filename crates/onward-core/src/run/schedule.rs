//! Which phase is started next, and what keeps the others.
//!
//! Phases that take the same things for themselves (locks, limits, files) are of one class: what stands in the way of one
//! of them stands in the way of all, so a plan of ten thousand is gone through once and not judged one by one.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::admission::{Claim, Obstacle, Pools, rate_opens};
use super::budgets::{SharedBudget, is_an_agents};
use super::limits::Who;
use super::replans::ReplanHold;
use super::settle::{delayed, may_start, ready};
use super::skip_and_expand::has_a_place;
use super::state::{PhaseState, Run};
use crate::event::{Event, StopReason};
use crate::id::PhaseId;
use crate::mutant::{self, Mutant};
use crate::plan::{Limit, Phase};
use crate::rate_limit::{RecognisedLimit, Response, respond};

/// Phases that take nothing for themselves.
pub(super) const FREE: u32 = 0;

/// The phase that should be started now, if one may be.
pub(super) fn next(run: &Run, now: Timestamp) -> Option<usize> {
    if run.derived.running.len() >= side_by_side(run) || !may_start(run) {
        return None;
    }
    let mut look = ReadyScan::new(run, now);
    let may = |at: &usize| !run.awaits_requirements(*at) && has_a_place(run, *at) && look.obstacle(*at).is_none();
    due(run, now).find(may)
}

/// Phases that would be started now if it were known that what they require is there.
pub(super) fn awaiting_requirements(run: &Run, now: Timestamp) -> Vec<usize> {
    let room = side_by_side(run).saturating_sub(run.derived.running.len());
    if room == 0 || !may_start(run) {
        return Vec::new();
    }
    let mut look = ReadyScan::new(run, now);
    let may = |at: &usize| run.awaits_requirements(*at) && has_a_place(run, *at) && look.obstacle(*at).is_none();
    due(run, now).filter(may).take(room).collect()
}

/// Phases that are ready, and those whose time has come.
fn due(run: &Run, now: Timestamp) -> impl Iterator<Item = usize> {
    let later = delayed(run).take_while(move |(time, _)| *time <= now).map(|(_, at)| at);
    ready(run).chain(later)
}

fn side_by_side(run: &Run) -> usize {
    run.jobs.unwrap_or(run.plan().max_parallel).max(1) as usize
}

/// One look over the phases that are ready.
struct ReadyScan<'a> {
    run: &'a Run,
    pools: Option<Pools<'a>>,
    /// The budget of the run, if it is used up.
    money: Option<SharedBudget>,
    /// The obstacle of each class that was judged.
    judged: BTreeMap<u32, Option<Obstacle>>,
    now: Timestamp,
}

impl<'a> ReadyScan<'a> {
    fn new(run: &'a Run, now: Timestamp) -> Self {
        Self { run, pools: None, money: run.budget().filter(SharedBudget::is_used_up), judged: BTreeMap::new(), now }
    }

    fn obstacle(&mut self, at: usize) -> Option<Obstacle> {
        if let Some(budget) = self.out_of_money(at) {
            return Some(Obstacle::Budget(budget));
        }
        let class = self.run.derived.index.class[at];
        if class == FREE {
            return None;
        }
        let (run, now) = (self.run, self.now);
        let pools = self.pools.get_or_insert_with(|| pools(run));
        let judge = || pools.obstacle(&Claim::new(&run.plan().phases[at], None), now);
        self.judged.entry(class).or_insert_with(judge).clone()
    }
}

impl ReadyScan<'_> {
    /// The budget of the run keeps agents alone, whatever class they are of.
    fn out_of_money(&self, at: usize) -> Option<SharedBudget> {
        self.money.clone().filter(|_| is_an_agents(&self.run.plan().phases[at]))
    }
}

/// How many phases may be at work at once is asked before: what others do is not counted there, but what it takes is taken.
fn pools(run: &Run) -> Pools<'_> {
    let phases = &run.plan().phases;
    let taken = |at: &usize| run.derived.index.class[*at] != FREE && !mutant::is(Mutant::ForgetThePools);
    let at_work = at_work(run).filter(taken).map(|at| Claim::new(&phases[at], None));
    let at_work = at_work.chain(run.integration_claims()).collect();
    Pools { max_parallel: usize::MAX, limits: &run.plan().limits, usage: &run.limits.usage, at_work }
}

/// The claims of the phases at work, and of nothing else.
pub(super) fn claims_at_work(run: &Run) -> Pools<'_> {
    let at_work = run.derived.running.iter().map(|&at| Claim::new(&run.plan().phases[at], None)).collect();
    Pools { max_parallel: usize::MAX, limits: &run.plan().limits, usage: &run.limits.usage, at_work }
}

/// Phases that are at work, whoever does them.
fn at_work(run: &Run) -> impl Iterator<Item = usize> {
    run.derived.running.iter().copied().chain(run.at_work_elsewhere())
}

/// The obstacle that a running phase is to this one. Time alone does not remove it.
pub(super) fn taken_by_another(run: &Run, at: usize) -> Option<Obstacle> {
    if run.derived.index.class[at] == FREE {
        return None;
    }
    pools(run).taken(&Claim::new(&run.plan().phases[at], None))
}

/// Whether nothing could be started before others, who do their phases without us, have come to an end.
pub(super) fn all_wait_for_others(run: &Run, now: Timestamp) -> bool {
    let later = || delayed(run).any(|(time, _)| time > now);
    if !run.others_are_at_work() || later() {
        return false;
    }
    let (pools, mut seen) = (pools(run), BTreeSet::new());
    let mut classes =
        ready(run).chain(delayed(run).map(|(_, at)| at)).filter(|&at| seen.insert(run.derived.index.class[at]));
    classes.all(|at| pools.taken(&Claim::new(&run.plan().phases[at], None)).is_some())
}

/// The reason in words why a ready phase is not started now.
pub fn held_up(run: &Run, phase: &Phase, state: &PhaseState, now: Timestamp) -> Option<String> {
    if let Some(group) = run.awaited_group() {
        return Some(format!("the run waits for {}", group.words()));
    }
    if let Some(until) = state.not_before.filter(|until| *until > now) {
        let what = if limited(run, phase) { "rate-limited; next attempt" } else { "next attempt" };
        return Some(format!("{what} in {}", crate::words::countdown(until, now)));
    }
    if let Some(budget) = run.out_of_money(phase) {
        return Some(budget.words());
    }
    let at_work = at_work(run).map(|at| as_a_part(run, at)).chain(run.integration_claims()).collect();
    let pools = Pools { at_work, ..pools(run) };
    pools.obstacle(&as_a_part(run, run.at(&phase.id)), now).map(|obstacle| obstacle.words(now))
}

/// With the place among the parts of the same phase. Who may start is judged without it, class by class, and asked
/// [`has_a_place`] for itself.
fn as_a_part(run: &Run, at: usize) -> Claim<'_> {
    let phases = &run.plan().phases;
    Claim::new(&phases[at], run.derived.index.parent[at].map(|parent| &phases[parent]))
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
    let retries = run.derived.delayed.iter().map(|(time, _)| *time).find(|time| *time > now);
    let opens = opens.flatten().filter(|_| !run.derived.ready.is_empty());
    opens.chain(retries).min()
}

/// The run is paused where all that is left waits for money, or for limits for which nobody wants to wait.
pub(super) fn pause(run: &Run, now: Timestamp) -> Option<Event> {
    let closed = run.limits.usage.values().any(|usage| usage.closed_until.is_some_and(|until| until > now));
    let limited = !run.limits.rows.is_empty() || closed || run.has_shared_budgets();
    if !limited || !run.derived.running.is_empty() || !may_start(run) {
        return None;
    }
    let mut look = ReadyScan::new(run, now);
    let (mut until, mut money): (Option<Timestamp>, bool) = (None, false);
    let mut seen = BTreeSet::new();
    for at in ready(run) {
        if look.out_of_money(at).is_some() {
            money = true;
            continue;
        }
        let class = run.derived.index.class[at];
        if class != FREE && !seen.insert(class) {
            continue;
        }
        // What may start now, or waits for something else, is no reason to leave; what others have taken is none to stay.
        let obstacle = look.obstacle(at)?;
        if matches!(obstacle, Obstacle::Budget(_)) {
            money = true;
            continue;
        }
        if obstacle.is_somebody_at_work() {
            continue;
        }
        let closed = paused_by_a_closed_limit(run, obstacle, now)?;
        until = Some(until.map_or(closed, |known| known.min(closed)));
    }
    for (time, at) in delayed(run) {
        if matches!(look.obstacle(at), Some(Obstacle::Budget(_))) {
            money = true;
            continue;
        }
        let row = run.limits.row(&Who::Phase(run.plan().phases[at].id.clone()))?;
        let closed = not_waited_for(run, time, std::iter::empty(), row.since, now)?;
        until = Some(until.map_or(closed, |known| known.min(closed)));
    }
    let limit = until.map(|until| Event::RunPaused { reason: StopReason::Limit, until: Some(until) });
    limit.or_else(|| money.then_some(Event::RunPaused { reason: StopReason::Budget, until: None }))
}

/// The same where another plan is to be made, and the agent that is to make it has no money, or is kept by a limit that nobody
/// waits for.
pub(super) fn pause_before_a_plan(run: &Run, now: Timestamp) -> Option<Event> {
    let (agent, hold) = (run.planning_agent()?, run.replan_is_held(now)?);
    let starts = next(run, now).is_some() || !awaiting_requirements(run, now).is_empty();
    let other = awaited(run, now).map(|other| other.until);
    let until = match hold {
        ReplanHold::Money if starts || other.is_some() => return None,
        ReplanHold::Money => return Some(Event::RunPaused { reason: StopReason::Budget, until: None }),
        ReplanHold::Limit(until) if starts || other.is_some_and(|other| other < until) => return None,
        ReplanHold::Limit(until) => until,
    };
    let since = run.limits.row(&Who::Limit(agent.clone())).map_or(now, |row| row.since);
    let until = not_waited_for(run, until, run.plan().limits.get(&agent).into_iter(), since, now)?;
    Some(Event::RunPaused { reason: StopReason::Limit, until: Some(until) })
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
    let hit = RecognisedLimit { limits: BTreeSet::new(), until, told: true, said: String::new() };
    match respond(&hit, limits, run.limits.patience(), since, now) {
        Response::Pause { until } => Some(until),
        // A limit that makes phases fail is not waited for either, but it was somebody else who was rate-limited.
        Response::Wait { .. } | Response::Fail => None,
    }
}

/// A time that something waits for which could otherwise be started.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Awaited {
    pub until: Timestamp,
    pub what: Opens,
}

/// The event that time alone brings.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Opens {
    /// A limit that was hit opens again.
    Limit(String),
    /// The same, of a limit that has no name.
    LimitOf(PhaseId),
    /// The rate of a limit has room again.
    Rate(String),
    /// A phase that failed is tried again.
    Retry(PhaseId),
}

impl Awaited {
    /// As it is told behind "waiting for".
    pub fn words(&self) -> String {
        match &self.what {
            Opens::Limit(name) => format!("the limit {name}"),
            Opens::LimitOf(phase) => format!("the rate limit of {phase}"),
            Opens::Rate(name) => format!("the rate of the limit {name}"),
            Opens::Retry(phase) => format!("the next attempt at {phase}"),
        }
    }
}

/// The next point in time that is waited for; none where nothing waits for a time alone.
pub fn awaited(run: &Run, now: Timestamp) -> Option<Awaited> {
    if !may_start(run) {
        return None;
    }
    let mut look = ReadyScan::new(run, now);
    let mut seen = BTreeSet::from([FREE]);
    let classes = ready(run).filter(|&at| run.out_of_money(&run.plan().phases[at]).is_none());
    let classes = classes.filter(|&at| seen.insert(run.derived.index.class[at]));
    let closed = classes.filter_map(|at| look.obstacle(at).and_then(opens)).min();
    let later = delayed(run).filter(|(time, _)| *time > now).map(|(until, at)| of_itself(run, at, until)).min();
    closed.into_iter().chain(later).min()
}

/// All phases that wait for a time, whether or not somebody drives the run, by their ids.
pub fn waits(run: &Run, now: Timestamp) -> BTreeMap<PhaseId, Awaited> {
    let mut look = ReadyScan::new(run, now);
    let closed = ready(run).filter_map(|at| Some((at, look.obstacle(at).and_then(opens)?))).collect::<Vec<_>>();
    let later = delayed(run).filter(|(time, _)| *time > now).map(|(until, at)| (at, of_itself(run, at, until)));
    closed.into_iter().chain(later).map(|(at, awaited)| (run.plan().phases[at].id.clone(), awaited)).collect()
}

fn of_itself(run: &Run, at: usize, until: Timestamp) -> Awaited {
    let phase = &run.plan().phases[at];
    let id = phase.id.clone();
    Awaited { until, what: if limited(run, phase) { Opens::LimitOf(id) } else { Opens::Retry(id) } }
}

fn opens(obstacle: Obstacle) -> Option<Awaited> {
    match obstacle {
        Obstacle::Closed { name, until } => Some(Awaited { until, what: Opens::Limit(name) }),
        Obstacle::Rate { name, until, .. } => Some(Awaited { until, what: Opens::Rate(name) }),
        Obstacle::Full { .. }
        | Obstacle::Group { .. }
        | Obstacle::Lock { .. }
        | Obstacle::Writes { .. }
        | Obstacle::Pool { .. }
        | Obstacle::Budget(_) => None,
    }
}
