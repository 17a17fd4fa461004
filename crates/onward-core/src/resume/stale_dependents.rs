//! How far a change reaches: from a finished phase to those that need it, by what each need says about staleness.

use std::collections::{BTreeMap, BTreeSet};

use crate::id::PhaseId;
use crate::plan::{OnChange, Phase, Plan, Staleness};

/// A change that reached a finished phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FinishedPhaseChange {
    /// It is out of date itself.
    Stale,
    /// Its outputs were changed by somebody else.
    Outputs,
}

/// Finished phases that are out of date because of what they need, each with the reasons. `done` are the finished phases,
/// `first` those to which something has happened. What consists of others is reached through its parts.
pub(super) fn spread(
    plan: &Plan,
    done: &BTreeSet<&PhaseId>,
    first: Vec<(&PhaseId, FinishedPhaseChange)>,
) -> BTreeMap<PhaseId, BTreeSet<String>> {
    let mut found: BTreeMap<PhaseId, BTreeSet<String>> = BTreeMap::new();
    let by_id: BTreeMap<&PhaseId, &Phase> = plan.phases.iter().map(|phase| (&phase.id, phase)).collect();
    let dependents = dependents(plan);
    let mut reached = BTreeSet::new();
    let mut next: Vec<(PhaseId, FinishedPhaseChange)> =
        first.into_iter().map(|(id, change)| (id.clone(), change)).collect();
    while let Some((id, change)) = next.pop() {
        if !reached.insert((id.clone(), change)) {
            continue;
        }
        next.extend(by_id.get(&id).and_then(|phase| Some((phase.situation.parent.clone()?, change))));
        let passed = dependents.get(&id).into_iter().flatten().filter(|(_, staleness)| passes(*staleness, change));
        for leaf in passed.flat_map(|(dependent, _)| leaves(&by_id, dependent)) {
            if done.contains(&leaf.id) && leaf.on_change != Some(OnChange::Keep) {
                found.entry(leaf.id.clone()).or_default().insert(words(&id, change));
                next.push((leaf.id.clone(), FinishedPhaseChange::Stale));
            }
        }
    }
    found
}

/// Finished phases that need one that is done again and are kept all the same, because only what it leaves behind matters to them
/// and nobody knows yet whether that will be the same.
pub(super) fn dependents_kept<'a>(
    plan: &'a Plan,
    again: &PhaseId,
    is_kept: impl Fn(&PhaseId) -> bool,
) -> Vec<&'a PhaseId> {
    let by_outputs = |phase: &&Phase| {
        phase.needs.iter().any(|need| need.phase == *again && need.staleness == Staleness::Outputs)
            && is_kept(&phase.id)
    };
    plan.phases.iter().filter(by_outputs).map(|phase| &phase.id).collect()
}

/// Whether a change of what is needed is one of the phase that needs it.
fn passes(staleness: Staleness, change: FinishedPhaseChange) -> bool {
    match (staleness, change) {
        (Staleness::Inherit, _) | (Staleness::Outputs, FinishedPhaseChange::Outputs) => true,
        (Staleness::Outputs, FinishedPhaseChange::Stale) | (Staleness::Ignore, _) => false,
    }
}

fn words(need: &PhaseId, change: FinishedPhaseChange) -> String {
    match change {
        FinishedPhaseChange::Stale => format!("{need}, which it needs, is out of date"),
        FinishedPhaseChange::Outputs => format!("what {need}, which it needs, left behind was changed"),
    }
}

fn dependents(plan: &Plan) -> BTreeMap<&PhaseId, Vec<(&Phase, Staleness)>> {
    let mut all: BTreeMap<&PhaseId, Vec<(&Phase, Staleness)>> = BTreeMap::new();
    for phase in &plan.phases {
        for need in &phase.needs {
            all.entry(&need.phase).or_default().push((phase, need.staleness));
        }
    }
    all
}

/// The phase, or what it consists of in the end.
fn leaves<'a>(by_id: &BTreeMap<&'a PhaseId, &'a Phase>, phase: &'a Phase) -> Vec<&'a Phase> {
    let mut found = Vec::new();
    let mut next = vec![phase];
    while let Some(phase) = next.pop() {
        match &phase.children {
            Some(children) => next.extend(children.iter().filter_map(|child| by_id.get(child).copied())),
            None => found.push(phase),
        }
    }
    found
}
