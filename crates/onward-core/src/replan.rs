//! Revisions of a plan while it is carried out: what kind it is, whether it may be made, and what the plan is then.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::id::PhaseId;
use crate::plan::{MayEdit, Phase, Plan, ReplanRules, digest_of_all, graph, phase_digest};

/// What a phase ends with to ask for another plan; its last line of output is the reason.
pub const EXIT_REPLAN: i32 = 79;

/// What a revision does to the plan, by its largest step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The phase that asked stays, and there are others that it now needs or that need it.
    Expand,
    /// There are more phases, none of which has to do with the one that asked.
    Add,
    /// The phase that asked is gone, and several stand in its place.
    Split,
    /// The same phases, some of them changed.
    Update,
    /// There are fewer phases.
    Collapse,
}

/// How far a phase has come, as far as a revision cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Completed or skipped.
    Finished,
    AtWork,
    /// Not begun, failed, or interrupted.
    Open,
}

/// What the run knows when somebody proposes a revision.
#[derive(Clone, Debug)]
pub struct Standing<'a> {
    pub plan: &'a Plan,
    /// The phase that asked, if one did.
    pub asked_by: Option<&'a PhaseId>,
    pub progress: &'a BTreeMap<PhaseId, Progress>,
    /// Revisions so far: in the run, and for this phase.
    pub made: u32,
    pub made_for_phase: u32,
    /// [`digest_of_all`] of every plan that this run has had, the present one included.
    pub tried: &'a BTreeSet<String>,
    pub limits: Limits,
}

/// Whether the limits count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limits {
    Hold,
    /// A person lets one more through: `--force-replan`.
    Waived,
}

/// A revision that may be made.
#[derive(Clone, Debug, PartialEq)]
pub struct Revision {
    pub kind: Kind,
    /// The new plan, with what had to be kept.
    pub plan: Plan,
    /// To be remembered among the plans that were tried.
    pub digest: String,
    pub added: Vec<PhaseId>,
    pub removed: Vec<PhaseId>,
    pub changed: Vec<PhaseId>,
    /// Finished phases that the proposal left out and that stay on the books.
    pub kept: Vec<PhaseId>,
    /// Finished phases that change and are done anew, each in its next generation.
    pub redone: Vec<PhaseId>,
}

/// Why a revision is not made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("the plan was revised {made} times in this run, and no more often may it be")]
    LimitOfRun { made: u32 },
    #[error("{phase} has asked for {made} revisions, and no more may it ask for")]
    LimitOfPhase { phase: PhaseId, made: u32 },
    #[error("this plan was tried before in this run")]
    TriedBefore,
    #[error("{phase} is finished, and this revision would change it")]
    ChangesFinished { phase: PhaseId },
    #[error("{phase} is at work, and this revision would change or remove it")]
    ChangesAtWork { phase: PhaseId },
    #[error("{phase} does not come after the phase that asked, and this revision would change or remove it")]
    NotDownstream { phase: PhaseId },
}

impl Refused {
    /// Whether a person may let it through all the same.
    pub fn is_limit(&self) -> bool {
        match self {
            Refused::LimitOfRun { .. } | Refused::LimitOfPhase { .. } => true,
            Refused::TriedBefore
            | Refused::ChangesFinished { .. }
            | Refused::ChangesAtWork { .. }
            | Refused::NotDownstream { .. } => false,
        }
    }
}

/// Whether another revision may be asked for at all. Asked before a replan command is run: what it prints could not be used.
pub fn may_ask(standing: &Standing<'_>) -> Result<ReplanRules, Refused> {
    let phase = standing.asked_by.and_then(|id| standing.plan.phase(id));
    let rules = standing.plan.replan_rules(phase);
    if standing.limits == Limits::Hold {
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
pub fn judge(standing: &Standing<'_>, proposed: &Plan, rules: &ReplanRules) -> Result<Revision, Refused> {
    let digest = digest_of_all(proposed);
    if standing.tried.contains(&digest) {
        return Err(Refused::TriedBefore);
    }
    let changes = Changes::between(standing.plan, proposed);
    let redone = allowed(standing, &changes, rules.may_edit)?;
    let plan = with_what_is_kept(standing, proposed, &changes);
    // What is kept needs only what is kept or proposed, and nothing that is proposed needs what it does not name.
    assert!(first_on_a_circle(&plan).is_none(), "a revision that keeps what is finished has no circle");
    let finished = |id: &&PhaseId| progress(standing, id) == Progress::Finished;
    let kept: Vec<PhaseId> = changes.removed.iter().filter(finished).cloned().collect();
    let removed: Vec<PhaseId> = changes.removed.iter().filter(|id| !finished(id)).cloned().collect();
    let kind = kind(standing, proposed, &changes.added, &removed);
    Ok(Revision { kind, plan, digest, added: changes.added, removed, changed: changes.changed, kept, redone })
}

/// What differs, by id, in the order of the plans.
struct Changes {
    added: Vec<PhaseId>,
    removed: Vec<PhaseId>,
    /// The work of the phase is other work.
    changed: Vec<PhaseId>,
}

impl Changes {
    fn between(old: &Plan, new: &Plan) -> Self {
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

fn progress(standing: &Standing<'_>, id: &PhaseId) -> Progress {
    standing.progress.get(id).copied().unwrap_or(Progress::Open)
}

/// The finished phases that are done anew, or the first change that may not be made.
fn allowed(standing: &Standing<'_>, changes: &Changes, may_edit: MayEdit) -> Result<Vec<PhaseId>, Refused> {
    let downstream = standing.asked_by.map(|asked| with_dependents(standing.plan, asked));
    let mut redone = Vec::new();
    let removed = changes.removed.iter().map(|id| (id, Edit::Removed));
    for (id, edit) in changes.changed.iter().map(|id| (id, Edit::Changed)).chain(removed) {
        let asked = standing.asked_by == Some(id);
        let below = downstream.as_ref().is_none_or(|below| below.contains(id));
        match (progress(standing, id), edit, may_edit) {
            (Progress::Finished, Edit::Changed, MayEdit::All) => redone.push(id.clone()),
            (Progress::Finished, Edit::Changed, MayEdit::Downstream | MayEdit::Pending) => {
                return Err(Refused::ChangesFinished { phase: id.clone() });
            }
            (Progress::AtWork, _, _) if !asked => return Err(Refused::ChangesAtWork { phase: id.clone() }),
            (Progress::Open, _, MayEdit::Downstream) if !below => {
                return Err(Refused::NotDownstream { phase: id.clone() });
            }
            // What is finished and left out is kept.
            (Progress::Finished, Edit::Removed, _) | (Progress::AtWork | Progress::Open, _, _) => {}
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

/// The proposal, with the finished phases that it left out in front. All that they need is finished too, and so is there.
fn with_what_is_kept(standing: &Standing<'_>, proposed: &Plan, changes: &Changes) -> Plan {
    let gone: BTreeSet<&PhaseId> = changes.removed.iter().collect();
    let part_of_gone = |phase: &Phase| phase.situation.parent.as_ref().is_some_and(|parent| gone.contains(parent));
    let kept = standing.plan.phases.iter().filter(|phase| {
        (gone.contains(&phase.id) || part_of_gone(phase)) && progress(standing, &phase.id) == Progress::Finished
    });
    let mut phases: Vec<Phase> = kept.cloned().collect();
    let there: BTreeSet<PhaseId> = phases.iter().chain(&proposed.phases).map(|phase| phase.id.clone()).collect();
    for phase in &mut phases {
        phase.needs.retain(|need| there.contains(&need.phase));
    }
    for phase in &proposed.phases {
        phases.extend(still_apart(standing.plan, phase, changes));
    }
    // How the plan may be revised is not for a revision to change: a phase would lift its own limits.
    Plan { phases, replan: standing.plan.replan.clone(), ..proposed.clone() }
}

/// A phase of the proposal, with the parts into which it was taken apart if it is still the same work.
fn still_apart(old: &Plan, phase: &Phase, changes: &Changes) -> Vec<Phase> {
    let children = old.phase(&phase.id).and_then(|before| before.children.clone());
    if children.is_none() || changes.changed.contains(&phase.id) {
        return vec![phase.clone()];
    }
    let mut all = vec![Phase { children, ..phase.clone() }];
    let mut parts = BTreeSet::from([&phase.id]);
    for part in &old.phases {
        // Parts stand behind what they are part of.
        if part.situation.parent.as_ref().is_some_and(|parent| parts.contains(parent)) {
            parts.insert(&part.id);
            let direct = phase.matrix.is_some() && part.situation.parent.as_ref() == Some(&phase.id);
            // What the whole needs may have changed, and its parts need the same.
            let needs = if direct { phase.needs.clone() } else { part.needs.clone() };
            all.push(Phase { needs, ..part.clone() });
        }
    }
    all
}

fn first_on_a_circle(plan: &Plan) -> Option<PhaseId> {
    let placed: BTreeSet<PhaseId> = graph::batches(plan).into_iter().flatten().collect();
    plan.phases.iter().map(|phase| &phase.id).find(|id| !placed.contains(*id)).cloned()
}

fn kind(standing: &Standing<'_>, proposed: &Plan, added: &[PhaseId], removed: &[PhaseId]) -> Kind {
    let asked_gone = standing.asked_by.is_some_and(|asked| removed.contains(asked));
    if asked_gone && added.len() > 1 {
        return Kind::Split;
    }
    if removed.len() > added.len() {
        return Kind::Collapse;
    }
    if added.is_empty() || removed.len() == added.len() {
        return Kind::Update;
    }
    let related = |asked: &PhaseId| {
        let below = with_dependents(proposed, asked);
        let needs_new =
            proposed.phase(asked).is_some_and(|phase| phase.needs.iter().any(|need| added.contains(&need.phase)));
        needs_new || added.iter().any(|id| below.contains(id))
    };
    if standing.asked_by.is_some_and(related) { Kind::Expand } else { Kind::Add }
}
