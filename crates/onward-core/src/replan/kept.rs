//! Phases that a revision cannot take away, and expanded phases.

use std::collections::BTreeSet;

use crate::id::PhaseId;
use crate::plan::{Phase, Plan};

use super::judge::PlanChanges;
use super::model::{PhaseProgress, ReplanStanding};

/// All that a phase was taken apart into, and what that was taken apart into, in the order of the plan.
pub(super) fn parts<'a>(plan: &'a Plan, id: &PhaseId) -> Vec<&'a Phase> {
    if plan.phase(id).is_none_or(|phase| phase.children.is_none()) {
        return Vec::new();
    }
    let mut whole = BTreeSet::from([id]);
    // Parts stand behind what they are parts of, unless the plan was put in another order: so until nothing changes.
    loop {
        let above = |part: &&Phase| part.situation.parent.as_ref().is_some_and(|parent| whole.contains(parent));
        let found: Vec<&PhaseId> = plan.phases.iter().filter(above).map(|part| &part.id).collect();
        let before = whole.len();
        whole.extend(found);
        if whole.len() == before {
            break;
        }
    }
    plan.phases.iter().filter(|part| part.id != *id && whole.contains(&part.id)).collect()
}

/// The phase that the author wrote and that this one is part of; itself if it is part of none.
pub(super) fn written<'a>(plan: &'a Plan, id: &'a PhaseId) -> &'a PhaseId {
    let mut id = id;
    while let Some(parent) = plan.phase(id).and_then(|phase| phase.situation.parent.as_ref()) {
        id = parent;
    }
    id
}

/// The proposal, with the finished phases that it left out in front. All that they need is finished too, and so is there.
pub(super) fn with_what_is_kept(standing: &ReplanStanding<'_>, proposed: &Plan, changes: &PlanChanges) -> Plan {
    let mut phases: Vec<Phase> = Vec::new();
    for id in &changes.removed {
        phases.extend(what_is_done_of(standing, id));
    }
    let there: BTreeSet<PhaseId> = phases.iter().chain(&proposed.phases).map(|phase| phase.id.clone()).collect();
    for phase in &mut phases {
        phase.needs.retain(|need| there.contains(&need.phase));
    }
    for phase in &proposed.phases {
        phases.extend(still_apart(standing.plan, phase, changes));
    }
    // How the plan may be revised is not for a revision to change: a phase would lift its own limits.
    // Where the run came from stays, too.
    let (replan, markdown) = (standing.plan.replan.clone(), standing.plan.markdown.clone());
    Plan { phases, replan, markdown, ..proposed.clone() }
}

/// The finished phases that stay although this one is left out: itself, or else its finished children.
fn what_is_done_of(standing: &ReplanStanding<'_>, id: &PhaseId) -> Vec<Phase> {
    let finished = |id: &PhaseId| standing.progress.get(id) == Some(&PhaseProgress::Finished);
    let Some(whole) = standing.plan.phase(id) else { return Vec::new() };
    let parts = parts(standing.plan, id);
    if finished(id) {
        return std::iter::once(whole).chain(parts).cloned().collect();
    }
    let done: BTreeSet<&PhaseId> = parts.iter().map(|part| &part.id).filter(|id| finished(id)).collect();
    if done.is_empty() {
        return Vec::new();
    }
    let around = |id: &PhaseId| done.iter().any(|part| ancestors_of(standing.plan, part).contains(&id));
    let kept: Vec<&Phase> =
        std::iter::once(whole).chain(parts).filter(|phase| done.contains(&phase.id) || around(&phase.id)).collect();
    let ids: BTreeSet<&PhaseId> = kept.iter().map(|phase| &phase.id).collect();
    let only_done = |phase: &&Phase| {
        let mut phase = (*phase).clone();
        if let Some(children) = &mut phase.children {
            children.retain(|child| ids.contains(child));
        }
        phase
    };
    kept.iter().map(only_done).collect()
}

/// The ancestors of a child phase, the nearest first.
fn ancestors_of<'a>(plan: &'a Plan, id: &PhaseId) -> Vec<&'a PhaseId> {
    let parent = |id: &PhaseId| plan.phase(id).and_then(|phase| phase.situation.parent.as_ref());
    std::iter::successors(parent(id), |id| parent(id)).collect()
}

/// A phase of the proposal, with the parts into which it was taken apart if it is still the same work.
fn still_apart(old: &Plan, phase: &Phase, changes: &PlanChanges) -> Vec<Phase> {
    let children = old.phase(&phase.id).and_then(|before| before.children.clone());
    if children.is_none() || changes.changed.contains(&phase.id) {
        return vec![phase.clone()];
    }
    let mut all = vec![Phase { children, ..phase.clone() }];
    for part in parts(old, &phase.id) {
        let direct = phase.matrix.is_some() && part.situation.parent.as_ref() == Some(&phase.id);
        // What the whole needs may have changed, and its parts need the same.
        let needs = if direct { phase.needs.clone() } else { part.needs.clone() };
        all.push(Phase { needs, ..part.clone() });
    }
    all
}
