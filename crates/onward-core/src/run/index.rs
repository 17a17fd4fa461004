//! What follows from the plan alone, worked out once: who needs whom, and in which order to start.

use std::collections::BTreeMap;

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
        let rank = plan.phases.iter().map(|phase| (priority_rank(phase.priority), value_rank(phase.value))).collect();
        Self { by_id, needs, dependents, batches, batch_of, rank }
    }
}

fn priority_rank(priority: Priority) -> u8 {
    match priority {
        Priority::Critical => 0,
        Priority::High => 1,
        Priority::Normal => 2,
        Priority::Low => 3,
    }
}

/// The hardest to reconstruct goes first; what says nothing counts as code.
fn value_rank(value: Option<Value>) -> u8 {
    match value {
        Some(Value::Issue) => 0,
        Some(Value::Commit) => 1,
        Some(Value::Code) | None => 2,
        Some(Value::Docs) => 3,
    }
}
