//! Index of a plan, built once: needs, dependents, parents, children, and the order to start in.

use std::collections::{BTreeMap, BTreeSet};

use super::admission::Claim;
use super::context::watched;
use super::order::order;
use super::schedule::FREE;
use super::team::tasks;
use crate::expression::Reference;
use crate::id::PhaseId;
use crate::plan::{Phase, Plan, graph};

#[derive(Debug, Default)]
pub(super) struct PlanIndex {
    pub(super) by_id: BTreeMap<PhaseId, usize>,
    pub(super) needs: Vec<Vec<usize>>,
    pub(super) dependents: Vec<Vec<usize>>,
    pub(super) batches: Vec<Vec<usize>>,
    pub(super) batch_of: Vec<usize>,
    pub(super) rank: Vec<(u8, u8)>,
    /// Parent and children of each phase, by position.
    pub(super) parent: Vec<Option<usize>>,
    pub(super) children: Vec<Vec<usize>>,
    /// Phases that consist of others, known ones.
    pub(super) with_parts: BTreeSet<usize>,
    /// Phases of `finally`, with their parts.
    pub(super) closing: Vec<bool>,
    /// Phases whose condition asks about this one.
    pub(super) watchers: Vec<Vec<usize>>,
    /// Phases whose condition asks for a variable.
    pub(super) by_variables: Vec<usize>,
    /// Phases that take the same things for themselves have the same number.
    pub(super) class: Vec<u32>,
    /// The phases that are tasks of each member of the team, by position.
    pub(super) tasks: Vec<Vec<usize>>,
    /// Whether any phase requires something.
    pub(super) requires: bool,
    /// Phases with more open tasks than one phase should have.
    pub(super) too_many_tasks: Vec<usize>,
}

impl PlanIndex {
    pub(super) fn new(plan: &Plan) -> Self {
        let by_id: BTreeMap<PhaseId, usize> =
            plan.phases.iter().enumerate().map(|(at, phase)| (phase.id.clone(), at)).collect();
        let unknown = |id: &PhaseId| panic!("a checked plan has all that it names, and {id} is not there");
        let at = |id: &PhaseId| by_id.get(id).copied().unwrap_or_else(|| unknown(id));
        let needs = needs(plan, &by_id);
        let mut dependents = vec![Vec::new(); plan.phases.len()];
        for (phase, needs) in needs.iter().enumerate() {
            for &need in needs {
                dependents[need].push(phase);
            }
        }
        let parent: Vec<Option<usize>> =
            plan.phases.iter().map(|phase| Some(at(phase.situation.parent.as_ref()?))).collect();
        let children: Vec<Vec<usize>> =
            plan.phases.iter().map(|phase| phase.children.iter().flatten().map(at).collect()).collect();
        let closing: Vec<bool> =
            (0..plan.phases.len()).map(|phase| plan.phases[topmost(&parent, phase)].closing).collect();
        let batches = graph::waves(all_needs(&needs, &parent, &children, &closing));
        let mut batch_of = vec![0; plan.phases.len()];
        for (number, batch) in batches.iter().enumerate() {
            for &phase in batch {
                batch_of[phase] = number;
            }
        }
        let rank = plan.phases.iter().map(order).collect();
        let with_parts = plan.phases.iter().enumerate().filter(|(_, phase)| phase.children.is_some());
        let with_parts = with_parts.map(|(at, _)| at).collect();
        let watchers = watchers(plan, &by_id);
        let class = classes(plan);
        let asks = |phase: &Phase| watched(plan, phase).iter().any(|one| matches!(one, Reference::Env(_)));
        let by_variables = (0..plan.phases.len()).filter(|&at| asks(&plan.phases[at])).collect();
        Self {
            by_id,
            needs,
            dependents,
            batches,
            batch_of,
            rank,
            parent,
            children,
            with_parts,
            closing,
            watchers,
            by_variables,
            class,
            tasks: tasks(plan),
            requires: plan.phases.iter().any(|phase| !phase.requires.is_empty()),
            too_many_tasks: (0..plan.phases.len()).filter(|&at| has_too_many_tasks(plan, &plan.phases[at])).collect(),
        }
    }

    /// Whether its failure is one of the plan: not that of a part, which is the failure of the whole later on, and not
    /// that of a phase which comes after everything.
    pub(super) fn counts_for_the_plan(&self, at: usize) -> bool {
        self.parent[at].is_none() && !self.closing[at]
    }

    /// The phase and all that it is a part of, from the inside out.
    pub(super) fn with_ancestors(&self, at: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(at), |&at| self.parent[at])
    }
}

/// The needs of each phase, by position. What is needed next often stands right behind what was needed last, so that
/// place is tried first: to look up every need takes longer than all the rest of the index.
fn needs(plan: &Plan, by_id: &BTreeMap<PhaseId, usize>) -> Vec<Vec<usize>> {
    let mut guess = 0;
    let mut at = |id: &PhaseId| {
        if plan.phases.get(guess).is_none_or(|phase| phase.id != *id) {
            guess = *by_id.get(id).expect("a checked plan needs only phases it has");
        }
        guess += 1;
        guess - 1
    };
    plan.phases.iter().map(|phase| phase.needs.iter().map(|need| at(&need.phase)).collect()).collect()
}

fn topmost(parent: &[Option<usize>], at: usize) -> usize {
    std::iter::successors(Some(at), |&at| parent[at]).last().unwrap_or(at)
}

/// Everything that each phase waits for, so that it stands in the right batch: a part waits for what the whole needs, the
/// whole for its parts, what comes last for all others.
fn all_needs(
    needs: &[Vec<usize>],
    parent: &[Option<usize>],
    children: &[Vec<usize>],
    closing: &[bool],
) -> Vec<Vec<usize>> {
    let main: Vec<usize> = (0..needs.len()).filter(|&at| !closing[at] && parent[at].is_none()).collect();
    let of = |at: usize| {
        let above = std::iter::successors(parent[at], |&at| parent[at]);
        let mut all: Vec<usize> = above.flat_map(|whole| needs[whole].iter().copied()).collect();
        all.extend(needs[at].iter().chain(&children[at]));
        if closing[at] {
            all.extend(&main);
        }
        all
    };
    (0..needs.len()).map(of).collect()
}

fn watchers(plan: &Plan, by_id: &BTreeMap<PhaseId, usize>) -> Vec<Vec<usize>> {
    let mut watchers = vec![Vec::new(); plan.phases.len()];
    for (at, phase) in plan.phases.iter().enumerate() {
        for reference in watched(plan, phase) {
            let (Reference::Output { phase: named, .. } | Reference::Status(named)) = reference else { continue };
            if let Some(&watched) = by_id.get(&phase.situation.phase(&named)) {
                watchers[watched].push(at);
            }
        }
    }
    watchers
}

fn classes(plan: &Plan) -> Vec<u32> {
    let mut known = BTreeMap::new();
    let class = |phase| {
        let Claim { locks, pools, writes, .. } = Claim::new(phase, None);
        if locks.is_empty() && pools.is_empty() && writes.is_empty() {
            return FREE;
        }
        let next = u32::try_from(known.len() + 1).expect("a plan has fewer phases than 4 billion");
        *known.entry((locks, pools, writes)).or_insert(next)
    };
    plan.phases.iter().map(class).collect()
}

/// The parts that a phase was taken apart into have the tasks of the whole, which was asked about.
fn has_too_many_tasks(plan: &Plan, phase: &Phase) -> bool {
    let whole = !phase.tasks.is_empty() && phase.situation.parent.is_none();
    whole && plan.replan_rules(Some(phase)).too_complex(None, Some(plan.open_tasks(phase)))
}
