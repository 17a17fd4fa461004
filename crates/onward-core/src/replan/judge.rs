//! Whether a revision may be made.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::id::PhaseId;
use crate::plan::{MayEdit, Phase, Plan, ReplanRules, digest_of_all, graph, phase_digest};

use super::kept::{parts, with_what_is_kept, written};
use super::model::{PhaseProgress, Refused, ReplanLimits, ReplanStanding, Revision, RevisionKind};

/// Whether another revision may be asked for at all. Asked before a replan command is run: what it prints could not be used.
pub fn may_ask(standing: &ReplanStanding<'_>) -> Result<ReplanRules, Refused> {
    let phase = standing.asked_by.and_then(|id| standing.plan.phase(id));
    let rules = standing.plan.replan_rules(phase);
    if standing.limits == ReplanLimits::Hold {
        if standing.made >= rules.max {
            return Err(Refused::LimitOfRun { made: standing.made });
        }
        if let Some(phase) = standing.asked_by.filter(|_| standing.made_for_phase >= rules.max_per_phase) {
            return Err(Refused::LimitOfPhase { phase: phase.clone(), made: standing.made_for_phase });
        }
    }
    Ok(rules)
}

/// Holds a proposed plan against the run. The limits were asked about before.
pub fn judge(standing: &ReplanStanding<'_>, proposed: &Plan, rules: &ReplanRules) -> Result<Revision, Refused> {
    let digest = digest_of_all(proposed);
    if standing.tried.contains(&digest) {
        return Err(Refused::TriedBefore);
    }
    let changes = PlanChanges::between(standing.plan, proposed);
    let redone = allowed(standing, &changes, rules.may_edit)?;
    let plan = with_what_is_kept(standing, proposed, &changes);
    // With what is kept it may come to the same as a plan that was tried, or as the present one.
    if standing.tried.contains(&digest_of_all(&plan)) {
        return Err(Refused::TriedBefore);
    }
    // What is kept needs only what is kept or proposed, and nothing that is proposed needs what it does not name.
    assert!(first_on_a_circle(&plan).is_none(), "a revision that keeps what is finished has no circle");
    let still_there = |id: &&PhaseId| plan.phase(id).is_some();
    let kept: Vec<PhaseId> = changes.removed.iter().filter(still_there).cloned().collect();
    let removed: Vec<PhaseId> = changes.removed.iter().filter(|id| !still_there(id)).cloned().collect();
    let kind = kind(standing, proposed, &changes.added, &removed);
    Ok(Revision { kind, plan, digest, added: changes.added, removed, changed: changes.changed, kept, redone })
}

/// The differences between two plans, by phase id, in the order of the plans.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanChanges {
    pub added: Vec<PhaseId>,
    pub removed: Vec<PhaseId>,
    /// The work of the phase is other work.
    pub changed: Vec<PhaseId>,
}

impl fmt::Display for PlanChanges {
    /// A part for every kind of change, each after a semicolon.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = [("added", &self.added), ("removed", &self.removed), ("changed", &self.changed)];
        for (word, ids) in named.into_iter().filter(|(_, ids)| !ids.is_empty()) {
            let ids: Vec<&str> = ids.iter().map(PhaseId::as_str).collect();
            write!(f, "; {word} {}", ids.join(", "))?;
        }
        Ok(())
    }
}

impl PlanChanges {
    pub fn between(old: &Plan, new: &Plan) -> Self {
        let before: BTreeMap<&PhaseId, &Phase> = old.phases.iter().map(|phase| (&phase.id, phase)).collect();
        let after: BTreeMap<&PhaseId, &Phase> = new.phases.iter().map(|phase| (&phase.id, phase)).collect();
        let ids = |plan: &Plan, without: &BTreeMap<&PhaseId, &Phase>| -> Vec<PhaseId> {
            plan.phases.iter().map(|phase| phase.id.clone()).filter(|id| !without.contains_key(id)).collect()
        };
        let other_work = |phase: &&Phase| {
            let earlier = before.get(&phase.id);
            earlier
                .is_some_and(|earlier| phase_digest(old, earlier, &earlier.env) != phase_digest(new, phase, &phase.env))
        };
        // Children are taken apart anew from phases that stay.
        let is_child = |id: &PhaseId| before.get(id).is_some_and(|phase| phase.situation.parent.is_some());
        Self {
            added: ids(new, &before),
            removed: ids(old, &after).into_iter().filter(|id| !is_child(id)).collect(),
            changed: new.phases.iter().filter(other_work).map(|phase| phase.id.clone()).collect(),
        }
    }
}

/// How far a phase is for whoever wants to change it: one that was taken apart is at work while a part of it is, the part that
/// asks aside, and what is done of it is done.
fn progress(standing: &ReplanStanding<'_>, id: &PhaseId, edit: Edit) -> PhaseProgress {
    let own = |id: &PhaseId| standing.progress.get(id).copied().unwrap_or(PhaseProgress::Open);
    let others = |part: &&&Phase| standing.asked_by != Some(&part.id);
    let parts = parts(standing.plan, id);
    if parts.iter().filter(others).any(|part| own(&part.id) == PhaseProgress::AtWork) {
        return PhaseProgress::AtWork;
    }
    match (own(id), edit) {
        (PhaseProgress::AtWork, _) if standing.asked_by == Some(id) => PhaseProgress::Open,
        (PhaseProgress::Open, Edit::Changed) if parts.iter().any(|part| own(&part.id) == PhaseProgress::Finished) => {
            PhaseProgress::Finished
        }
        (found @ (PhaseProgress::Open | PhaseProgress::AtWork | PhaseProgress::Finished), _) => found,
    }
}

/// The finished phases that are done anew, or the first change that may not be made.
fn allowed(standing: &ReplanStanding<'_>, changes: &PlanChanges, may_edit: MayEdit) -> Result<Vec<PhaseId>, Refused> {
    let asked_by = standing.asked_by.map(|asked| written(standing.plan, asked));
    let downstream = asked_by.map(|asked| with_dependents(standing.plan, asked));
    let mut redone = Vec::new();
    let removed = changes.removed.iter().map(|id| (id, Edit::Removed));
    for (id, edit) in changes.changed.iter().map(|id| (id, Edit::Changed)).chain(removed) {
        let below = downstream.as_ref().is_none_or(|below| below.contains(id));
        match (progress(standing, id, edit), edit, may_edit) {
            (PhaseProgress::Finished, Edit::Changed, MayEdit::All) => redone.push(id.clone()),
            (PhaseProgress::Finished, Edit::Changed, MayEdit::Downstream | MayEdit::Pending) => {
                return Err(Refused::ChangesFinished { phase: id.clone() });
            }
            (PhaseProgress::AtWork, _, _) => return Err(Refused::ChangesAtWork { phase: id.clone() }),
            (PhaseProgress::Open, _, MayEdit::Downstream) if !below => {
                return Err(Refused::NotDownstream { phase: id.clone() });
            }
            // What is finished and left out is kept.
            (PhaseProgress::Finished, Edit::Removed, _) | (PhaseProgress::Open, _, _) => {}
        }
    }
    Ok(redone)
}

#[derive(Clone, Copy)]
enum Edit {
    Changed,
    Removed,
}

/// A phase and all that needs it, near or far.
fn with_dependents(plan: &Plan, first: &PhaseId) -> BTreeSet<PhaseId> {
    let dependents = graph::dependents(plan);
    let mut found = BTreeSet::from([first.clone()]);
    let mut waiting = vec![first.clone()];
    while let Some(id) = waiting.pop() {
        for next in dependents.get(&id).into_iter().flatten() {
            if found.insert(next.clone()) {
                waiting.push(next.clone());
            }
        }
    }
    found
}

fn first_on_a_circle(plan: &Plan) -> Option<PhaseId> {
    let placed: BTreeSet<PhaseId> = graph::batches(plan).into_iter().flatten().collect();
    plan.phases.iter().map(|phase| &phase.id).find(|id| !placed.contains(*id)).cloned()
}

fn kind(standing: &ReplanStanding<'_>, proposed: &Plan, added: &[PhaseId], removed: &[PhaseId]) -> RevisionKind {
    let asked_by = standing.asked_by.map(|asked| written(standing.plan, asked));
    let asked_gone = asked_by.is_some_and(|asked| removed.contains(asked));
    if asked_gone && added.len() > 1 {
        return RevisionKind::Split;
    }
    if removed.len() > added.len() {
        return RevisionKind::Collapse;
    }
    if added.is_empty() || removed.len() == added.len() {
        return RevisionKind::Update;
    }
    let related = |asked: &PhaseId| {
        let below = with_dependents(proposed, asked);
        let needs_new =
            proposed.phase(asked).is_some_and(|phase| phase.needs.iter().any(|need| added.contains(&need.phase)));
        needs_new || added.iter().any(|id| below.contains(id))
    };
    if asked_by.is_some_and(related) { RevisionKind::Expand } else { RevisionKind::Add }
}
