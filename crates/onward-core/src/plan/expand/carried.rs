//! Plans of runs: with `finally` at its place, and with what was taken apart along the way.

use std::collections::{BTreeMap, BTreeSet};

use crate::id::PhaseId;
use crate::mutant::{self, Mutant};
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
    let new_ids: BTreeSet<PhaseId> = plan.phases.iter().map(|phase| phase.id.clone()).collect();
    let mut gone: Vec<&Phase> = old.phases.iter().filter(|phase| !new_ids.contains(&phase.id)).collect();
    let mut waiting: Vec<(PhaseId, Option<&Phase>)> = new_ids.into_iter().map(|id| (id, None)).collect();
    while let Some((id, copied)) = waiting.pop() {
        let Some(phase) = plan.phase(&id) else { continue };
        let known = copied.or_else(|| before.get(&id).copied().filter(|old| is_same(phase, old)));
        let known = known.or_else(|| under_another_id(phase, &before, &mut gone));
        let Some((old, children)) = known.and_then(|old| Some((old, old.children.as_ref()?))) else { continue };
        let parts: Vec<&Phase> = children.iter().filter_map(|id| before.get(id).copied()).collect();
        let here: Vec<Phase> = parts.iter().map(|part| moved(part, &old.id, &id)).collect();
        waiting.extend(here.iter().zip(parts).map(|(here, part)| (here.id.clone(), Some(part))));
        plan = insert(&plan, &id, here).unwrap_or(plan);
    }
    plan
}

/// Whether a phase that is taken apart when its turn comes is the same in both plans, whatever it was taken apart into.
fn is_same(new: &Phase, old: &Phase) -> bool {
    is_compound(new) && Phase { children: None, ..old.clone() } == *new
}

/// The phase of the old plan that this one is under another id: its children are not done again for the sake of a name.
fn under_another_id<'a>(
    new: &Phase,
    before: &BTreeMap<&PhaseId, &Phase>,
    gone: &mut Vec<&'a Phase>,
) -> Option<&'a Phase> {
    if before.contains_key(&new.id) || mutant::is(Mutant::LosePartsByARename) {
        return None;
    }
    let is_it = |old: &&Phase| is_same(new, &Phase { id: new.id.clone(), ..(*old).clone() });
    let at = gone.iter().position(is_it)?;
    Some(gone.remove(at))
}

/// A child as it was before it was expanded itself, below a parent that may have another id now.
fn moved(part: &Phase, old: &PhaseId, new: &PhaseId) -> Phase {
    let place = |id: &PhaseId| match id.as_str().strip_prefix(old.as_str()) {
        Some(rest) if rest.is_empty() || rest.starts_with(['/', '@']) => PhaseId::new(format!("{new}{rest}")),
        Some(_) | None => id.clone(),
    };
    let mut part = Phase { id: place(&part.id), children: None, ..part.clone() };
    part.needs.iter_mut().for_each(|need| need.phase = place(&need.phase));
    part.situation.parent = part.situation.parent.as_ref().map(place);
    part.situation.within = part.situation.within.as_ref().map(place);
    part
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
