//! Whether a phase that is ready may start beside those at work, and if not, why.
//!
//! Everything here is a value: what is at work, what was started when, what is closed until when. The caller keeps these and
//! asks again whenever one of them changes.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::budgets::SharedBudget;
use super::worktrees::works_apart;
use crate::id::PhaseId;
use crate::plan::{Budget, Limit, LossKind, Phase, Rate, globs};
use crate::rate_limit::RecognisedLimit;
use crate::words;

/// The lock that all phases take that commit.
pub const GIT_LOCK: &str = "git";

/// The locks, limits and files that a phase takes for itself while it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim<'a> {
    pub phase: &'a PhaseId,
    pub locks: Vec<&'a str>,
    pub pools: Vec<&'a str>,
    pub writes: &'a [String],
    /// The phase it is part of, and how many parts of that may be at work at once.
    pub group: Option<(&'a PhaseId, u32)>,
}

impl<'a> Claim<'a> {
    /// `parent` is the phase that this one is part of, if it is part of one.
    pub fn new(phase: &'a Phase, parent: Option<&'a Phase>) -> Self {
        let mut locks: Vec<&str> = phase.locks.iter().map(String::as_str).collect();
        if phase.value == Some(LossKind::Commit) && !locks.contains(&GIT_LOCK) {
            locks.push(GIT_LOCK);
        }
        let group = parent.and_then(|parent| Some((&parent.id, parent.matrix.as_ref()?.max_parallel?)));
        // What is written in a worktree of one's own is in nobody's way.
        let writes: &[String] = if works_apart(phase) { &[] } else { &phase.writes };
        Self { phase: &phase.id, locks, pools: phase.pools(), writes, group }
    }
}

/// The recorded use of a limit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// When phases that draw on it were started, oldest first; only the last window of its rate is needed.
    pub starts: Vec<Timestamp>,
    /// A hit closed it until this time.
    pub closed_until: Option<Timestamp>,
    /// The cost so far of those that drew on it.
    pub spent: Budget,
}

impl Usage {
    /// A phase that draws on the limit was started. What no window can reach any more is forgotten.
    pub fn started(&mut self, rate: Option<Rate>, at: Timestamp) {
        let Some(rate) = rate else { return };
        self.starts.retain(|start| start.checked_add(rate.window).is_ok_and(|leaves| leaves > at));
        self.starts.push(at);
    }

    /// The limit was hit. A time that was told counts for what it is; a guess never shortens what is known.
    pub fn hit(&mut self, hit: &RecognisedLimit) {
        let until =
            if hit.told { hit.until } else { self.closed_until.map_or(hit.until, |known| known.max(hit.until)) };
        self.closed_until = Some(until);
    }

    /// Something that draws on the limit has cost this much.
    pub fn spend(&mut self, cost: Budget) {
        self.spent.usd = self.spent.usd.map_or(cost.usd, |so_far| Some(so_far + cost.usd.unwrap_or(0.0)));
        self.spent.tokens =
            self.spent.tokens.map_or(cost.tokens, |so_far| Some(so_far.saturating_add(cost.tokens.unwrap_or(0))));
    }
}

/// The running phases with all they hold, as far as it decides whether another phase may start.
#[derive(Clone, Debug)]
pub struct Pools<'a> {
    pub max_parallel: usize,
    pub limits: &'a BTreeMap<String, Limit>,
    pub usage: &'a BTreeMap<String, Usage>,
    pub at_work: Vec<Claim<'a>>,
}

/// Why a phase that is ready does not start now.
#[derive(Clone, Debug, PartialEq)]
pub enum Obstacle {
    /// As many phases as may are at work.
    Full {
        max: usize,
    },
    /// As many parts of the same phase as may are at work.
    Group {
        parent: PhaseId,
        max: u32,
    },
    Lock {
        name: String,
        holder: PhaseId,
    },
    Writes {
        other: PhaseId,
        glob: String,
    },
    /// As many phases as may draw on the limit.
    Pool {
        name: String,
        max: u32,
    },
    /// As many phases as may were started within the window.
    Rate {
        name: String,
        count: u32,
        window: Duration,
        until: Timestamp,
    },
    /// The limit was hit.
    Closed {
        name: String,
        until: Timestamp,
    },
    /// The money, or the tokens, are used up. Time does not help.
    Budget(SharedBudget),
}

impl Pools<'_> {
    /// The first thing that stands in the way. What passes by itself at a known time is named last, so that the time is
    /// the answer only where nothing else is.
    pub fn obstacle(&self, candidate: &Claim<'_>, now: Timestamp) -> Option<Obstacle> {
        self.spent(candidate)
            .or_else(|| self.group(candidate))
            .or_else(|| self.taken(candidate))
            .or_else(|| (self.at_work.len() >= self.max_parallel).then_some(Obstacle::Full { max: self.max_parallel }))
            .or_else(|| self.timed(candidate, now))
    }

    /// The obstacle that a running phase is to this one, if any.
    pub fn taken(&self, candidate: &Claim<'_>) -> Option<Obstacle> {
        self.locked(candidate).or_else(|| self.written(candidate)).or_else(|| self.full_pool(candidate))
    }

    fn of_pools<'c>(&self, candidate: &Claim<'c>) -> impl Iterator<Item = (&'c str, Option<&Limit>, Option<&Usage>)> {
        let all = candidate.pools.clone();
        all.into_iter().map(|name| (name, self.limits.get(name), self.usage.get(name)))
    }

    fn spent(&self, candidate: &Claim<'_>) -> Option<Obstacle> {
        self.of_pools(candidate).find_map(|(name, limit, usage)| {
            let (most, spent) = (limit?.budget?, usage?.spent);
            let shared = SharedBudget { limit: Some(name.to_owned()), most, spent, is_part: false };
            shared.is_used_up().then_some(Obstacle::Budget(shared))
        })
    }

    fn group(&self, candidate: &Claim<'_>) -> Option<Obstacle> {
        let (parent, max) = candidate.group?;
        let busy = self.at_work.iter().filter(|other| other.group.is_some_and(|(own, _)| own == parent)).count();
        (busy >= max as usize).then(|| Obstacle::Group { parent: parent.clone(), max })
    }

    fn locked(&self, candidate: &Claim<'_>) -> Option<Obstacle> {
        self.at_work.iter().find_map(|other| {
            let name = candidate.locks.iter().find(|name| other.locks.contains(name))?;
            Some(Obstacle::Lock { name: (*name).to_owned(), holder: other.phase.clone() })
        })
    }

    fn written(&self, candidate: &Claim<'_>) -> Option<Obstacle> {
        self.at_work.iter().find_map(|other| {
            let meets = |own: &&String| other.writes.iter().any(|theirs| globs::may_overlap(own, theirs));
            let glob = candidate.writes.iter().find(meets)?;
            Some(Obstacle::Writes { other: other.phase.clone(), glob: glob.clone() })
        })
    }

    fn full_pool(&self, candidate: &Claim<'_>) -> Option<Obstacle> {
        self.of_pools(candidate).find_map(|(name, limit, _)| {
            let max = limit?.max_parallel?;
            let busy = self.at_work.iter().filter(|other| other.pools.contains(&name)).count();
            (busy >= max as usize).then(|| Obstacle::Pool { name: name.to_owned(), max })
        })
    }

    /// Of all that only time opens, what takes longest.
    fn timed(&self, candidate: &Claim<'_>, now: Timestamp) -> Option<Obstacle> {
        let closed = self.of_pools(candidate).filter_map(|(name, _, usage)| {
            let until = usage?.closed_until.filter(|until| *until > now)?;
            Some(Obstacle::Closed { name: name.to_owned(), until })
        });
        let fast = self.of_pools(candidate).filter_map(|(name, limit, usage)| {
            let rate = limit?.rate?;
            let until = rate_opens(&usage?.starts, rate.count, rate.window, now)?;
            Some(Obstacle::Rate { name: name.to_owned(), count: rate.count, window: rate.window, until })
        });
        closed.chain(fast).max_by_key(Obstacle::until)
    }
}

/// When the sliding window has room again, if it has none now. A start that lies ahead (the clock was put back) counts.
pub fn rate_opens(starts: &[Timestamp], count: u32, window: Duration, now: Timestamp) -> Option<Timestamp> {
    let mut leaves: Vec<Timestamp> =
        starts.iter().filter_map(|start| start.checked_add(window).ok()).filter(|at| *at > now).collect();
    leaves.sort();
    // The window has room once all but `count - 1` of them have left it.
    let over = (leaves.len() + 1).checked_sub(count.max(1) as usize).filter(|over| *over > 0)?;
    leaves.get(over - 1).copied()
}

impl Obstacle {
    /// When it passes by itself, if that is known.
    pub fn until(&self) -> Option<Timestamp> {
        match self {
            Obstacle::Rate { until, .. } | Obstacle::Closed { until, .. } => Some(*until),
            Obstacle::Full { .. }
            | Obstacle::Group { .. }
            | Obstacle::Lock { .. }
            | Obstacle::Writes { .. }
            | Obstacle::Pool { .. }
            | Obstacle::Budget(_) => None,
        }
    }

    /// Whether it goes away when a phase that is at work comes to its end.
    pub fn is_somebody_at_work(&self) -> bool {
        match self {
            Obstacle::Full { .. }
            | Obstacle::Group { .. }
            | Obstacle::Lock { .. }
            | Obstacle::Writes { .. }
            | Obstacle::Pool { .. } => true,
            Obstacle::Rate { .. } | Obstacle::Closed { .. } | Obstacle::Budget(_) => false,
        }
    }

    /// For `why`.
    pub fn words(&self, now: Timestamp) -> String {
        match self {
            Obstacle::Full { max } => format!("{max} phases are at work, and no more may be"),
            Obstacle::Group { parent, max } => format!("{max} parts of {parent} are at work, and no more may be"),
            Obstacle::Lock { name, holder } => format!("{holder} holds the lock {name}"),
            Obstacle::Writes { other, glob } => format!("{other} is at work and may write the same files ({glob})"),
            Obstacle::Pool { name, max } => format!("{max} phases draw on the limit {name}, and no more may"),
            Obstacle::Rate { name, count, window, until } => format!(
                "{count} phases that draw on the limit {name} were started within {}; the next may in {}",
                words::duration(*window),
                words::countdown(*until, now)
            ),
            Obstacle::Closed { name, until } => {
                format!("the limit {name} was hit; it opens in {}", words::countdown(*until, now))
            }
            Obstacle::Budget(shared) => shared.words(),
        }
    }
}
