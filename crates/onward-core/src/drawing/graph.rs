//! The graph that is drawn: phases by position, and what each of them comes after.

use std::collections::{BTreeMap, BTreeSet};

use crate::id::PhaseId;
use crate::plan::{Phase, Plan};
use crate::run::PhaseStatus;

/// A phase in a drawing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawn {
    /// Harmless text of one line.
    pub label: String,
    pub status: PhaseStatus,
    /// More about it, where the form has room for it.
    pub told: String,
}

/// Phases and the arrows between them, without cycles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    pub nodes: Vec<Drawn>,
    /// From the one that comes first, by position in `nodes`.
    pub arrows: Vec<(usize, usize)>,
}

impl Graph {
    /// The phases of a plan, each as `draw` has it. What consists of others comes after its children, and a phase of `finally` after
    /// all that nothing else comes after.
    pub fn from_plan(plan: &Plan, mut draw: impl FnMut(&Phase) -> Drawn) -> Self {
        let phases: Vec<&Phase> = plan.phases.iter().chain(&plan.finally).collect();
        let places: BTreeMap<&PhaseId, usize> = phases.iter().enumerate().map(|(at, one)| (&one.id, at)).collect();
        let mut arrows = BTreeSet::new();
        for (at, phase) in phases.iter().enumerate() {
            let children: Vec<usize> =
                phase.children.iter().flatten().filter_map(|child| places.get(child).copied()).collect();
            let needs = phase.needs.iter().filter_map(|need| places.get(&need.phase).copied());
            if children.is_empty() {
                arrows.extend(needs.map(|need| (need, at)));
            } else {
                // Its turn is theirs: they come after what it needs.
                let first = |child: &&usize| {
                    phases[**child].needs.iter().all(|need| !is_among(&places, &children, &need.phase))
                };
                let firsts: Vec<usize> = children.iter().filter(first).copied().collect();
                arrows.extend(needs.flat_map(|need| firsts.iter().map(move |child| (need, *child))));
                arrows.extend(children.iter().map(|child| (*child, at)));
            }
        }
        let closing = |at: usize| phases[at].closing || at >= plan.phases.len();
        let sinks: Vec<usize> =
            (0..phases.len()).filter(|at| !closing(*at) && !arrows.iter().any(|(from, _)| from == at)).collect();
        let lasts = (0..phases.len()).filter(|at| closing(*at) && !arrows.iter().any(|(_, to)| to == at));
        let lasts: Vec<usize> = lasts.collect();
        arrows.extend(sinks.iter().flat_map(|sink| lasts.iter().map(|last| (*sink, *last))));
        let nodes = phases.iter().map(|phase| draw(phase)).collect();
        Self { nodes, arrows: arrows.into_iter().filter(|(from, to)| from != to).collect() }
    }

    /// The same without arrows that follow from others: drawn, they would only cross the rest.
    pub(super) fn reduced(&self) -> Self {
        let mut next: Vec<Vec<usize>> = vec![Vec::new(); self.nodes.len()];
        for (from, to) in &self.arrows {
            next[*from].push(*to);
        }
        let mut kept = Vec::new();
        for (from, targets) in next.iter().enumerate() {
            let mut beyond = vec![false; self.nodes.len()];
            let mut open: Vec<usize> = targets.iter().flat_map(|target| next[*target].iter().copied()).collect();
            while let Some(at) = open.pop() {
                if !std::mem::replace(&mut beyond[at], true) {
                    open.extend(&next[at]);
                }
            }
            kept.extend(targets.iter().filter(|to| !beyond[**to]).map(|to| (from, *to)));
        }
        Self { nodes: self.nodes.clone(), arrows: kept }
    }
}

fn is_among(places: &BTreeMap<&PhaseId, usize>, children: &[usize], need: &PhaseId) -> bool {
    places.get(need).is_some_and(|at| children.contains(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `c` needs `a` and `b`, and `b` needs `a`: the arrow from `a` to `c` says nothing new.
    #[test]
    fn arrows_that_follow_from_others_are_left_out() {
        let node = || Drawn { label: String::new(), status: PhaseStatus::Pending, told: String::new() };
        let graph = Graph { nodes: vec![node(), node(), node()], arrows: vec![(0, 1), (0, 2), (1, 2)] };
        assert_eq!(graph.reduced().arrows, [(0, 1), (1, 2)]);
    }
}
