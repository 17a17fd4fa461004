//! The graph of needs. Everything here is a loop, never a recursion: a plan may be one chain of a hundred thousand phases.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::id::PhaseId;

use super::model::Plan;

/// Up to this many phases all ancestors are known at once (a bit per pair); beyond, they are searched for.
const TABLE_PHASES_MAX: usize = 4_096;
/// Steps of all searches together; after that every answer is "cannot tell".
const SEARCH_STEPS_MAX: usize = 5_000_000;

/// The waves of the plan: each phase stands in the first batch in which all it needs is behind it.
pub fn batches(plan: &Plan) -> Vec<Vec<PhaseId>> {
    let ids = |wave: Vec<usize>| wave.into_iter().map(|at| plan.phases[at].id.clone()).collect();
    NeedsGraph::from_plan(plan).waves().into_iter().map(ids).collect()
}

/// The same where the needs are known by position.
pub(crate) fn waves(needs: Vec<Vec<usize>>) -> Vec<Vec<usize>> {
    NeedsGraph::new(needs).waves()
}

/// For every phase those that need it directly, in plan order.
pub fn dependents(plan: &Plan) -> BTreeMap<PhaseId, Vec<PhaseId>> {
    let mut dependents: BTreeMap<PhaseId, Vec<PhaseId>> =
        plan.phases.iter().map(|phase| (phase.id.clone(), Vec::new())).collect();
    for phase in &plan.phases {
        for need in &phase.needs {
            if let Some(list) = dependents.get_mut(&need.phase) {
                list.push(phase.id.clone());
            }
        }
    }
    dependents
}

/// Needs by position. Unknown needs and self needs are left out: they have diagnostics of their own.
pub(super) struct NeedsGraph {
    needs: Vec<Vec<usize>>,
    dependents: Vec<Vec<usize>>,
}

impl NeedsGraph {
    pub(super) fn new(needs: Vec<Vec<usize>>) -> Self {
        let mut dependents = vec![Vec::new(); needs.len()];
        for (index, list) in needs.iter().enumerate() {
            for need in list {
                dependents[*need].push(index);
            }
        }
        Self { needs, dependents }
    }

    fn from_plan(plan: &Plan) -> Self {
        let index: BTreeMap<&PhaseId, usize> =
            plan.phases.iter().enumerate().map(|(index, phase)| (&phase.id, index)).collect();
        let needs = plan
            .phases
            .iter()
            .map(|phase| phase.needs.iter().filter_map(|need| index.get(&need.phase).copied()).collect());
        Self::new(needs.collect())
    }

    fn waves(&self) -> Vec<Vec<usize>> {
        let mut waves: Vec<Vec<usize>> = Vec::new();
        for (at, level) in self.levels().into_iter().enumerate() {
            let Some(level) = level else { continue };
            if waves.len() <= level {
                waves.resize_with(level + 1, Vec::new);
            }
            waves[level].push(at);
        }
        waves
    }

    /// The batch of each phase; none for phases on a cycle or behind one.
    pub(super) fn levels(&self) -> Vec<Option<usize>> {
        let mut levels = vec![None; self.needs.len()];
        for index in self.in_order() {
            let before = self.needs[index].iter().filter_map(|need| levels[*need]).max();
            levels[index] = Some(before.map_or(0, |level: usize| level + 1));
        }
        levels
    }

    /// Phases so that each stands behind all it needs. Those on a cycle or behind one are missing.
    fn in_order(&self) -> Vec<usize> {
        let mut waiting: Vec<usize> = self.needs.iter().map(Vec::len).collect();
        let mut ready: VecDeque<usize> = (0..waiting.len()).filter(|index| waiting[*index] == 0).collect();
        let mut order = Vec::with_capacity(waiting.len());
        while let Some(index) = ready.pop_front() {
            order.push(index);
            for dependent in &self.dependents[index] {
                waiting[*dependent] -= 1;
                if waiting[*dependent] == 0 {
                    ready.push_back(*dependent);
                }
            }
        }
        order
    }

    /// One cycle out of every group of phases that wait for each other, in the order of needing: the first needs the
    /// second, the last needs the first.
    pub(super) fn cycles(&self) -> Vec<Vec<usize>> {
        let group_of = self.groups();
        let mut done = vec![false; self.needs.len()];
        let mut cycles = Vec::new();
        for start in 0..self.needs.len() {
            let (mut path, mut step_of) = (Vec::new(), BTreeMap::new());
            let mut at = start;
            // Inside a group of several every phase needs one of the same group: the walk must come back to itself.
            while !done[at] {
                done[at] = true;
                step_of.insert(at, path.len());
                path.push(at);
                at = self.needs[at].iter().copied().find(|need| group_of[*need] == group_of[at]).unwrap_or(at);
            }
            if let Some(step) = step_of.get(&at).filter(|step| path.len() - **step > 1) {
                cycles.push(smallest_first(&path[*step..]));
            }
        }
        let mut told = BTreeSet::new();
        cycles.retain(|cycle| told.insert(group_of[cycle[0]]));
        cycles
    }

    /// The group of each phase: two are in one group if each waits for the other, however indirectly (Tarjan).
    fn groups(&self) -> Vec<usize> {
        const NONE: usize = usize::MAX;
        let count = self.needs.len();
        let (mut order, mut low, mut group_of) = (vec![NONE; count], vec![NONE; count], vec![NONE; count]);
        let (mut open, mut calls) = (Vec::new(), Vec::new());
        let (mut next_order, mut next_group) = (0, 0);
        for start in 0..count {
            if order[start] == NONE {
                calls.push((start, 0));
            }
            while let Some((at, edge)) = calls.pop() {
                if edge == 0 {
                    (order[at], low[at]) = (next_order, next_order);
                    next_order += 1;
                    open.push(at);
                }
                if let Some(need) = self.needs[at].get(edge).copied() {
                    calls.push((at, edge + 1));
                    if order[need] == NONE {
                        calls.push((need, 0));
                    } else if group_of[need] == NONE {
                        low[at] = low[at].min(order[need]);
                    }
                    continue;
                }
                if low[at] == order[at] {
                    while let Some(member) = open.pop() {
                        group_of[member] = next_group;
                        if member == at {
                            break;
                        }
                    }
                    next_group += 1;
                }
                if let Some((caller, _)) = calls.last() {
                    low[*caller] = low[*caller].min(low[at]);
                }
            }
        }
        group_of
    }
}

/// The cycle told from the phase that stands first in the plan.
fn smallest_first(cycle: &[usize]) -> Vec<usize> {
    let first = (0..cycle.len()).min_by_key(|index| cycle[*index]).unwrap_or(0);
    cycle[first..].iter().chain(&cycle[..first]).copied().collect()
}

/// The ancestors of each phase.
pub(super) struct Ancestors<'a> {
    graph: &'a NeedsGraph,
    levels: Vec<Option<usize>>,
    /// One row of bits per phase; empty for large plans.
    table: Vec<Vec<u64>>,
    steps_left: usize,
}

impl<'a> Ancestors<'a> {
    pub(super) fn new(graph: &'a NeedsGraph) -> Self {
        let count = graph.needs.len();
        let mut table = Vec::new();
        if count <= TABLE_PHASES_MAX {
            table = vec![vec![0_u64; count.div_ceil(64)]; count];
            for index in graph.in_order() {
                let mut row = vec![0_u64; count.div_ceil(64)];
                for need in &graph.needs[index] {
                    row.iter_mut().zip(&table[*need]).for_each(|(bits, more)| *bits |= more);
                    row[need / 64] |= 1 << (need % 64);
                }
                table[index] = row;
            }
        }
        Self { graph, levels: graph.levels(), table, steps_left: SEARCH_STEPS_MAX }
    }

    /// True if the pairs of this plan are few enough to be looked at one by one.
    pub(super) fn complete(&self) -> bool {
        !self.table.is_empty()
    }

    /// True if `early` is over when `late` starts, or if a cycle or the size of the plan makes that impossible to tell.
    pub(super) fn may_come_before(&mut self, early: usize, late: usize) -> bool {
        let (Some(from), Some(to)) = (self.levels[early], self.levels[late]) else {
            return true;
        };
        if from >= to {
            return false;
        }
        match self.table.get(late) {
            Some(row) => row[early / 64] & (1 << (early % 64)) != 0,
            None => self.search(early, late),
        }
    }

    fn search(&mut self, early: usize, late: usize) -> bool {
        let mut seen = BTreeSet::new();
        let mut open = vec![late];
        while let Some(index) = open.pop() {
            for need in &self.graph.needs[index] {
                if *need == early || self.steps_left == 0 {
                    return true;
                }
                self.steps_left -= 1;
                if self.levels[*need] > self.levels[early] && seen.insert(*need) {
                    open.push(*need);
                }
            }
        }
        false
    }
}
