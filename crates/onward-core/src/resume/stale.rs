//! Finished phases and what has changed since: their definition, what they read, what they left behind, what they need.

use std::collections::{BTreeMap, BTreeSet};

use super::changed_outputs;
use super::finding::{Finding, FindingKind};
use super::stale_dependents::{self, FinishedPhaseChange};
use super::world::Again;
use crate::evidence::{Evidence, Files};
use crate::id::PhaseId;
use crate::mutant::{self, Mutant};
use crate::plan::{Effects, OnChange, Phase, Plan, definition_digest};
use crate::run::{PhaseState, PhaseStatus, Run};

/// Paths of one finding that are named in words; the rest is counted.
pub(super) const PATHS_SHOWN_MAX: usize = 5;

/// A finished phase, and what has changed by itself and not through what it needs.
struct OwnChanges<'a> {
    phase: &'a Phase,
    reasons: Vec<String>,
    /// Files it left behind that somebody else has changed.
    outside: Vec<String>,
    wish: StalePolicy,
}

/// The plan's policy for the reason why a phase is stale.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StalePolicy {
    /// Nothing: the phase decides.
    None,
    /// It is to be done again.
    Again,
}

/// The finished phases of a run against the plan that is to count and what their files are now.
pub fn findings(
    run: &Run,
    revised: Option<&Plan>,
    now: &BTreeMap<PhaseId, Evidence>,
    again: &[Again<'_>],
) -> Vec<Finding> {
    let plan = revised.unwrap_or(run.plan());
    let by_id: BTreeMap<&PhaseId, &Phase> = plan.phases.iter().map(|phase| (&phase.id, phase)).collect();
    let completed = run.phases().filter(|(_, state)| state.status == PhaseStatus::Completed);
    let writers = changed_outputs::Writers::new(run);
    let mut all: Vec<OwnChanges<'_>> = completed
        .filter_map(|(old, state)| Some((*by_id.get(&old.id)?, state)))
        .map(|(phase, state)| OwnChanges::new(plan, phase, state, now.get(&phase.id), &writers))
        .collect();
    probed(&mut all, again);
    let inherited = match changes(&all) {
        none if none.is_empty() => BTreeMap::new(),
        first => stale_dependents::spread(plan, &all.iter().map(|own| &own.phase.id).collect(), first),
    };
    let done: Vec<&PhaseId> = all.iter().map(|own| &own.phase.id).collect();
    let mut found = Vec::new();
    for own in all {
        let more = inherited.get(&own.phase.id).into_iter().flatten();
        let reasons: Vec<&str> = own.reasons.iter().chain(more).map(String::as_str).collect();
        if !reasons.is_empty() {
            found.extend(weighed(own.phase, own.wish, &reasons.join("; ")));
        }
        found.extend(changed_outputs::finding(&own.phase.id, own.outside));
    }
    if found.iter().any(|finding| finding.kind == FindingKind::StaleReruns) {
        found.extend(dependents_kept(plan, &done.into_iter().collect(), &found));
    }
    if let Some(revised) = revised {
        found.extend(renamed(run, revised).into_iter().map(|(old, new)| of_another_id(run, &old, &new)));
    }
    found
}

/// Phases that are kept although a phase they need is done again.
fn dependents_kept(plan: &Plan, done: &BTreeSet<&PhaseId>, found: &[Finding]) -> Vec<Finding> {
    let of = |kinds: &[FindingKind]| -> BTreeSet<&PhaseId> {
        found
            .iter()
            .filter(|finding| kinds.contains(&finding.kind))
            .filter_map(|finding| finding.phase.as_ref())
            .collect()
    };
    let (again, stale) = (of(&[FindingKind::StaleReruns]), of(&[FindingKind::StaleReruns, FindingKind::Stale]));
    let behind = again.into_iter().filter_map(|id| {
        let kept = stale_dependents::dependents_kept(plan, id, |other| done.contains(other) && !stale.contains(other));
        let names: Vec<&str> = kept.iter().take(PATHS_SHOWN_MAX).map(|phase| phase.as_str()).collect();
        let (names, more) = (names.join(", "), and_more(kept.len()));
        let message =
            format!("phase {id} is run again; {names}{more}, which needs it, is kept: --from {id} runs both again");
        (!kept.is_empty()).then(|| Finding::about(FindingKind::DependentsKept, id, message))
    });
    behind.collect()
}

/// Adds the phases that probes want to be done again.
fn probed(all: &mut [OwnChanges<'_>], again: &[Again<'_>]) {
    let done: Vec<&Phase> = all.iter().map(|own| own.phase).collect();
    for probe in again {
        let meant: BTreeSet<&PhaseId> = probe.phases_to_redo(&done).into_iter().map(|phase| &phase.id).collect();
        for own in all.iter_mut().filter(|own| meant.contains(&own.phase.id)) {
            own.wish = StalePolicy::Again;
            own.reasons.push(probe.reason());
        }
    }
}

/// The changes of each phase that reach others. A phase that is kept as it is does not count as stale.
fn changes<'a>(all: &[OwnChanges<'a>]) -> Vec<(&'a PhaseId, FinishedPhaseChange)> {
    let mut changes = Vec::new();
    for own in all {
        if !own.reasons.is_empty() && own.phase.on_change != Some(OnChange::Keep) {
            changes.push((&own.phase.id, FinishedPhaseChange::Stale));
        }
        if !own.outside.is_empty() {
            changes.push((&own.phase.id, FinishedPhaseChange::Outputs));
        }
    }
    changes
}

impl<'a> OwnChanges<'a> {
    fn new(
        plan: &Plan,
        phase: &'a Phase,
        state: &PhaseState,
        now: Option<&Evidence>,
        writers: &changed_outputs::Writers<'_>,
    ) -> Self {
        let mut reasons = Vec::new();
        if let Some(seen) = &state.seen {
            if !seen.definition.is_empty() && seen.definition != definition_digest(plan, phase) {
                reasons.push("its definition in the plan was changed".to_owned());
            }
            if let (Some(then), Some(now)) = (&seen.fingerprint, now.and_then(|now| now.fingerprint.as_ref()))
                && then != now
            {
                reasons.push("what its fingerprint commands print was changed".to_owned());
            }
            reasons.extend(reads_changed(seen.reads.as_ref(), now.and_then(|now| now.reads.as_ref())));
        }
        let (missing, outside) = changed_outputs::left_behind(phase, state, now, writers);
        reasons.extend(
            missing
                .iter()
                .map(|artifact| format!("its artifact {} ({}) is no longer there", artifact.name, artifact.path)),
        );
        Self { phase, reasons, outside, wish: StalePolicy::None }
    }
}

/// Something that repeating does not hurt is repeated; the rest is asked about.
fn weighed(phase: &Phase, wish: StalePolicy, reasons: &str) -> Option<Finding> {
    let reruns = match (phase.on_change, phase.effects) {
        (Some(OnChange::Keep), _) => return None,
        (Some(OnChange::Rerun), _) | (None, Effects::None) => true,
        (None, Effects::Files) => wish == StalePolicy::Again,
        (Some(OnChange::Ask), _) | (None, Effects::External) => false,
    };
    Some(if reruns {
        let message = format!("phase {} is done again: {reasons}", phase.id);
        Finding::about(FindingKind::StaleReruns, &phase.id, message)
    } else {
        Finding::about(FindingKind::Stale, &phase.id, format!("phase {} is done, but {reasons}", phase.id))
    })
}

fn reads_changed(then: Option<&Files>, now: Option<&Files>) -> Option<String> {
    let (then, now) = (then?, now?);
    let paths = then.differences(now);
    if paths.is_empty() {
        return None;
    }
    let shown = paths.iter().take(PATHS_SHOWN_MAX).copied().collect::<Vec<_>>().join(", ");
    Some(format!("{shown}{}, which it reads, was changed", and_more(paths.len())))
}

pub(super) fn and_more(total: usize) -> String {
    let more = total.saturating_sub(PATHS_SHOWN_MAX);
    if more > 0 { format!(" and {more} more") } else { String::new() }
}

/// A phase of the edited plan that is what another one was, which is done, or of which nobody knows whether it is.
fn of_another_id(run: &Run, old: &PhaseId, new: &PhaseId) -> Finding {
    if is_in_doubt(run, old) {
        let message = format!("nobody knows whether the effect of {new} happened, which was called {old}");
        return Finding::about(FindingKind::InDoubt, new, message);
    }
    let done = run.phase_state(old).is_some_and(PhaseState::is_finished);
    let state = if done { "is done" } else { "may be done" };
    let message = format!("phase {new} of the edited plan is what {old} was, which {state}: is it the same?");
    Finding::about(FindingKind::Renamed, new, message)
}

/// Whether only a person can say what became of a phase.
pub fn is_in_doubt(run: &Run, phase: &PhaseId) -> bool {
    let no_probe = run.plan().phase(phase).is_some_and(|phase| phase.done_when.is_empty());
    no_probe && run.phase_state(phase).is_some_and(|state| state.in_doubt)
}

/// How far two phases that do the same work are apart: a plan that is used twice has each of its phases twice, and the record of one
/// must not go to the other.
fn distance(old: &Phase, new: &Phase) -> u32 {
    let leaf = |phase: &Phase| phase.id.as_str().rsplit(['/', '@']).next().map(str::to_owned);
    if old.situation.parent == new.situation.parent || mutant::is(Mutant::ConfusePlacesInARename) {
        0
    } else if leaf(old) == leaf(new) {
        1
    } else {
        2
    }
}

/// Phases that are done, or may be, and that the edited plan no longer has, each with the new phase that does the same work.
pub fn renamed(run: &Run, revised: &Plan) -> Vec<(PhaseId, PhaseId)> {
    let added: Vec<&Phase> = revised.phases.iter().filter(|phase| run.phase_state(&phase.id).is_none()).collect();
    let mut taken = BTreeSet::new();
    let mut pairs = Vec::new();
    let may_be_done = |state: &PhaseState| {
        let open = state.in_doubt || state.probe.is_some();
        state.is_finished() || (open && !mutant::is(Mutant::ForgetADoubtByItsName))
    };
    let gone = run.phases().filter(|(phase, state)| may_be_done(state) && revised.phase(&phase.id).is_none());
    for (old, state) in gone {
        let done = state.seen.as_ref().map(|seen| seen.definition.clone()).filter(|digest| !digest.is_empty());
        let planned = definition_digest(run.plan(), old);
        // Nobody knows of an attempt at the phase as the plan has it; what was seen may be of work that was done before.
        let was = |digest: &String| {
            if state.is_finished() {
                done.as_ref().unwrap_or(&planned) == digest
            } else {
                *digest == planned || done.as_ref() == Some(digest)
            }
        };
        let same = |phase: &&&Phase| !taken.contains(&phase.id) && was(&definition_digest(revised, phase));
        if let Some(new) = added.iter().filter(same).min_by_key(|new| distance(old, new)) {
            taken.insert(new.id.clone());
            pairs.push((old.id.clone(), new.id.clone()));
        }
    }
    pairs
}
