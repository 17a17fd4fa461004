//! Plans of runs: with `finally` at its place, and with what was taken apart along the way.

use std::collections::{BTreeMap, BTreeSet};

use crate::id::PhaseId;
use crate::plan::{Phase, Plan};

use super::children::{insert, is_compound};

/// The plan with the phases of `finally` behind all others, marked: in a run there is one list of phases.
#[must_use]
pub fn joined(mut plan: Plan) -> Plan {
    let last = std::mem::take(&mut plan.finally);
    plan.phases.extend(last.into_iter().map(|phase| Phase { closing: true, ..phase }));
    plan
}

/// The edited plan with all that was taken apart while the old one was carried out, as far as the phase that it was
/// taken from is the same in both.
#[must_use]
pub fn carried_over(new: Plan, old: &Plan) -> Plan {
    let before: BTreeMap<&PhaseId, &Phase> = old.phases.iter().map(|phase| (&phase.id, phase)).collect();
    let mut plan = new;
    if let (Some(now), Some(then)) = (&mut plan.markdown, &old.markdown) {
        now.marks.clone_from(&then.marks);
        // Ticks that were set since are progress, and no other plan; where the tasks are others they are counted anew.
        let others: BTreeSet<&PhaseId> = plan
            .phases
            .iter()
            .filter(|phase| before.get(&phase.id).is_none_or(|old| old.tasks != phase.tasks))
            .map(|phase| &phase.id)
            .collect();
        now.ticked.retain(|id, _| others.contains(id));
        now.ticked
            .extend(then.ticked.iter().filter(|(id, _)| !others.contains(id)).map(|(id, count)| (id.clone(), *count)));
    }
    let mut waiting: Vec<PhaseId> = plan.phases.iter().map(|phase| phase.id.clone()).collect();
    while let Some(id) = waiting.pop() {
        let parts = plan.phase(&id).and_then(|phase| same_parts(phase, before.get(&id)?, &before));
        let Some(parts) = parts else { continue };
        waiting.extend(parts.iter().map(|part| part.id.clone()));
        plan = insert(&plan, &id, parts).unwrap_or(plan);
    }
    plan
}

/// The children of the phase, each as it was before it was expanded itself.
fn same_parts(new: &Phase, old: &Phase, all: &BTreeMap<&PhaseId, &Phase>) -> Option<Vec<Phase>> {
    let same = is_compound(new) && Phase { children: None, ..old.clone() } == *new;
    let parts = old.children.as_ref().filter(|_| same)?;
    parts.iter().map(|id| all.get(id).map(|part| Phase { children: None, ..(*part).clone() })).collect()
}

/// The plan with a phase taken apart in place of what it was taken apart into before. None if there is no such phase.
#[must_use]
pub(crate) fn replaced(plan: &Plan, parent: &PhaseId, children: Vec<Phase>) -> Option<Plan> {
    let mut gone: BTreeSet<PhaseId> = BTreeSet::new();
    // Parts stand behind what they are parts of, unless the plan was put in another order: so until nothing changes.
    loop {
        let below = |phase: &&Phase| {
            let above = phase.situation.parent.as_ref();
            above.is_some_and(|above| above == parent || gone.contains(above)) && !gone.contains(&phase.id)
        };
        let found: Vec<PhaseId> = plan.phases.iter().filter(below).map(|phase| phase.id.clone()).collect();
        if found.is_empty() {
            break;
        }
        gone.extend(found);
    }
    let mut rest = plan.clone();
    rest.phases.retain(|phase| !gone.contains(&phase.id));
    insert(&rest, parent, children)
}
