//! What follows from the plan alone, worked out once: who needs whom, and in which order to start.

use std::collections::BTreeMap;

use super::pools::{self, Claim};
use super::schedule::FREE;
use crate::id::PhaseId;
use crate::plan::{Plan, Priority, Value, graph};

#[derive(Debug)]
pub(super) struct PlanIndex {
    pub(super) by_id: BTreeMap<PhaseId, usize>,
    pub(super) needs: Vec<Vec<usize>>,
    pub(super) dependents: Vec<Vec<usize>>,
    pub(super) batches: Vec<Vec<usize>>,
    pub(super) batch_of: Vec<usize>,
    pub(super) rank: Vec<(u8, u8)>,
    /// Phases that take the same things for themselves have the same number.
    pub(super) class: Vec<u32>,
}

impl PlanIndex {
    pub(super) fn new(plan: &Plan) -> Self {
        let by_id: BTreeMap<PhaseId, usize> =
            plan.phases.iter().enumerate().map(|(at, phase)| (phase.id.clone(), at)).collect();
        let at = |id: &PhaseId| *by_id.get(id).expect("a checked plan needs only phases it has");
        let needs: Vec<Vec<usize>> =
            plan.phases.iter().map(|phase| phase.needs.iter().map(|need| at(&need.phase)).collect()).collect();
        let mut dependents = vec![Vec::new(); plan.phases.len()];
        for (phase, needs) in needs.iter().enumerate() {
            for &need in needs {
                dependents[need].push(phase);
            }
        }
        let batches: Vec<Vec<usize>> =
            graph::batches(plan).iter().map(|batch| batch.iter().map(at).collect()).collect();
        let mut batch_of = vec![0; plan.phases.len()];
        for (number, batch) in batches.iter().enumerate() {
            for &phase in batch {
                batch_of[phase] = number;
            }
        }
        let rank = plan.phases.iter().map(pools::rank).map(|(p, v)| (priority_rank(p), value_rank(v))).collect();
        Self { by_id, needs, dependents, batches, batch_of, rank, class: classes(plan) }
    }
}

fn classes(plan: &Plan) -> Vec<u32> {
    let mut known = BTreeMap::new();
    let class = |phase| {
        let Claim { locks, pools, writes, .. } = Claim::of(phase, None);
        if locks.is_empty() && pools.is_empty() && writes.is_empty() {
            return FREE;
        }
        let next = u32::try_from(known.len() + 1).expect("a plan has fewer phases than 4 billion");
        *known.entry((locks, pools, writes)).or_insert(next)
    };
    plan.phases.iter().map(class).collect()
}

fn priority_rank(priority: Priority) -> u8 {
    match priority {
        Priority::Critical => 0,
        Priority::High => 1,
        Priority::Normal => 2,
        Priority::Low => 3,
    }
}

/// The hardest to reconstruct goes first.
fn value_rank(value: Value) -> u8 {
    match value {
        Value::Issue => 0,
        Value::Commit => 1,
        Value::Code => 2,
        Value::Docs => 3,
    }
}
