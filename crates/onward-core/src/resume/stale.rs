//! Finished phases and what has changed since: their definition, what they read, what they wrote.

use std::collections::{BTreeMap, BTreeSet};

use super::finding::{Finding, Kind};
use crate::id::PhaseId;
use crate::plan::{Effects, OnChange, Phase, Plan, definition_digest};
use crate::run::{PhaseState, PhaseStatus, Run};
use crate::seen::{Files, Seen};

/// Paths of one finding that are named; the rest is counted.
const PATHS_SHOWN_MAX: usize = 5;

/// The finished phases of a run against the plan that is to count and what their files are now.
pub fn findings(run: &Run, revised: Option<&Plan>, now: &BTreeMap<PhaseId, Seen>) -> Vec<Finding> {
    let plan = revised.unwrap_or(run.plan());
    let mut found = Vec::new();
    for (old, state) in run.phases().filter(|(_, state)| state.status == PhaseStatus::Completed) {
        let Some(phase) = plan.phase(&old.id) else { continue };
        found.extend(of_phase(plan, phase, state, now.get(&old.id)));
    }
    if let Some(revised) = revised {
        for (old, new) in renamed(run, revised) {
            let message = format!("phase {new} of the edited plan is what {old} was, which is done: is it the same?");
            found.push(Finding::of(Kind::Renamed, &new, message));
        }
    }
    found
}

fn of_phase(plan: &Plan, phase: &Phase, state: &PhaseState, now: Option<&Seen>) -> Vec<Finding> {
    let Some(seen) = &state.seen else { return Vec::new() };
    let mut reasons = Vec::new();
    if !seen.definition.is_empty() && seen.definition != definition_digest(plan, phase) {
        reasons.push("its definition in the plan was changed".to_owned());
    }
    if let (Some(then), Some(now)) = (&seen.fingerprint, now.and_then(|now| now.fingerprint.as_ref()))
        && then != now
    {
        reasons.push("what its fingerprint commands print was changed".to_owned());
    }
    reasons.extend(changed(seen.reads.as_ref(), now.and_then(|now| now.reads.as_ref()), "was changed", "it reads"));
    let gone: Vec<&str> = now.into_iter().flat_map(|now| now.gone.difference(&seen.gone)).map(String::as_str).collect();
    if !gone.is_empty() {
        reasons.push(format!("what it was to leave behind is gone ({})", gone.join(", ")));
    }
    let mut found = Vec::new();
    if !reasons.is_empty() {
        found.extend(weighed(phase, &reasons.join("; ")));
    }
    let outside = changed(seen.writes.as_ref(), now.and_then(|now| now.writes.as_ref()), "was changed", "it wrote");
    found.extend(outside.map(|what| {
        let message = format!("phase {}: {what} outside the run; it is left as it is", phase.id);
        Finding::of(Kind::OutputChanged, &phase.id, message)
    }));
    found
}

/// Something that repeating does not hurt is repeated; the rest is asked about.
fn weighed(phase: &Phase, reasons: &str) -> Option<Finding> {
    let reruns = match (phase.on_change, phase.effects) {
        (Some(OnChange::Keep), _) => return None,
        (Some(OnChange::Rerun), _) | (None, Effects::None) => true,
        (Some(OnChange::Ask), _) | (None, Effects::Files | Effects::External) => false,
    };
    Some(if reruns {
        let message = format!("phase {} is done again: {reasons}", phase.id);
        Finding::of(Kind::StaleReruns, &phase.id, message)
    } else {
        Finding::of(Kind::Stale, &phase.id, format!("phase {} is done, but {reasons}", phase.id))
    })
}

fn changed(then: Option<&Files>, now: Option<&Files>, how: &str, whose: &str) -> Option<String> {
    let (then, now) = (then?, now?);
    let paths = then.differences(now);
    if paths.is_empty() {
        return None;
    }
    let shown = paths.iter().take(PATHS_SHOWN_MAX).copied().collect::<Vec<_>>().join(", ");
    let more = paths.len().saturating_sub(PATHS_SHOWN_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Some(format!("{shown}{more}, which {whose}, {how}"))
}

/// Finished phases that the edited plan no longer has, each with the new phase that does the same work.
pub fn renamed(run: &Run, revised: &Plan) -> Vec<(PhaseId, PhaseId)> {
    let added: Vec<&Phase> = revised.phases.iter().filter(|phase| run.phase_state(&phase.id).is_none()).collect();
    let mut taken = BTreeSet::new();
    let mut pairs = Vec::new();
    let gone = run.phases().filter(|(phase, state)| state.is_finished() && revised.phase(&phase.id).is_none());
    for (old, state) in gone {
        let then = state.seen.as_ref().map(|seen| seen.definition.clone());
        let then = then.filter(|digest| !digest.is_empty()).unwrap_or_else(|| definition_digest(run.plan(), old));
        let same = |phase: &&&Phase| !taken.contains(&phase.id) && definition_digest(revised, phase) == then;
        if let Some(new) = added.iter().find(same) {
            taken.insert(new.id.clone());
            pairs.push((old.id.clone(), new.id.clone()));
        }
    }
    pairs
}
