//! The world as a driver last saw it against the world of now.

use std::collections::BTreeSet;

use super::branch;
use super::finding::{Finding, FindingKind};
use crate::evidence::{IssueSeen, ProbeSeen, WorldSeen};
use crate::plan::globs::may_overlap;
use crate::plan::{IfAhead, IfChanged, Phase, Probe, ProbeOf};
use crate::run::Run;

/// All that has changed around a run since a driver last looked.
pub fn findings(run: &Run, now: &WorldSeen) -> Vec<Finding> {
    let Some(then) = run.last_look().map(|look| &look.world) else { return Vec::new() };
    let plan = run.plan();
    let mut found = branch::findings(plan, then, now);
    for probe in &plan.freshness.probes {
        let (then, now) = (then.probes.get(&probe.name), now.probes.get(&probe.name));
        found.extend(probed(&probe.name, probe.if_changed, then, now));
    }
    if let (Some(then), Some(now)) = (&then.issue, &now.issue) {
        found.extend(issue(run, then, now));
    }
    found
}

/// A probe with `if-changed: rerun` that sees a change.
#[derive(Debug)]
pub struct Again<'a>(&'a Probe);

/// The probes that want what was done to be done again.
pub fn again<'a>(run: &'a Run, now: &WorldSeen) -> Vec<Again<'a>> {
    let then = run.last_look().map(|look| &look.world);
    let sees_a_change = |probe: &&Probe| {
        let before = then.and_then(|then| then.probes.get(&probe.name)).and_then(|seen| seen.hash.as_ref());
        let after = now.probes.get(&probe.name).and_then(|seen| seen.hash.as_ref());
        before.is_some() && after.is_some() && before != after
    };
    let rerun = run.plan().freshness.probes.iter().filter(|probe| probe.if_changed == IfChanged::Rerun);
    rerun.filter(sees_a_change).map(Again).collect()
}

impl Again<'_> {
    /// The finished phases that are to be done again. A probe names no phase: one of files is about those that read one of
    /// them, where there are such; any other is about all.
    pub(super) fn phases_to_redo<'p>(&self, done: &[&'p Phase]) -> Vec<&'p Phase> {
        let whole = |phase: &&&Phase| phase.children.is_none();
        let readers: Vec<&Phase> = match &self.0.of {
            ProbeOf::Files(globs) => {
                let reads = |glob: &String| globs.iter().any(|probed| may_overlap(probed, glob));
                done.iter().filter(whole).filter(|phase| phase.reads.iter().any(reads)).copied().collect()
            }
            ProbeOf::Command(_) | ProbeOf::Issue(_) => Vec::new(),
        };
        if readers.is_empty() { done.iter().filter(whole).copied().collect() } else { readers }
    }

    pub(super) fn reason(&self) -> String {
        format!("the probe {} sees a change", self.0.name)
    }
}

fn probed(name: &str, means: IfChanged, then: Option<&ProbeSeen>, now: Option<&ProbeSeen>) -> Option<Finding> {
    let before = then?.hash.as_ref()?;
    let kind = if means == IfChanged::Rerun { FindingKind::WorldWarns } else { kind_of(means)? };
    let then = if means == IfChanged::Rerun { ", and the phases that depend on it are run again" } else { "" };
    match now.map(|now| (&now.hash, &now.excerpt)) {
        Some((Some(after), _)) if after == before => None,
        Some((Some(_), excerpt)) => {
            Some(Finding::new(kind, format!("the probe {name} sees a change{then}; it now gives: {excerpt}")))
        }
        Some((None, why)) => Some(Finding::new(unknown(means), format!("the probe {name} gives no answer: {why}"))),
        None => Some(Finding::new(unknown(means), format!("the probe {name} gives no answer"))),
    }
}

/// Where a change would only be a warning, so is a probe that cannot tell.
fn unknown(means: IfChanged) -> FindingKind {
    if means == IfChanged::Warn { FindingKind::WorldWarns } else { FindingKind::WorldUnknown }
}

/// The finding about an issue that cannot be read. It is worth a line, and keeps nobody from working.
pub fn unread(now: &IssueSeen) -> Option<Finding> {
    let why = &now.text.excerpt;
    let message = format!("the issue cannot be read, and the run goes on with what it knows of it: {why}");
    now.text.hash.is_none().then(|| Finding::new(FindingKind::WorldWarns, message))
}

fn issue(run: &Run, then: &IssueSeen, now: &IssueSeen) -> Vec<Finding> {
    if now.text.hash.is_none() {
        return unread(now).into_iter().collect();
    }
    let mut found: Vec<Finding> =
        probed("issue", IfChanged::Ask, Some(&then.text), Some(&now.text)).into_iter().collect();
    let (before, after): (BTreeSet<&String>, BTreeSet<&String>) =
        (then.labels.iter().collect(), now.labels.iter().collect());
    let states = run.plan().issue.as_ref().map(|issue| issue.states.as_slice()).unwrap_or_default();
    // What the run itself did and could not write down is no news.
    let news = |label: &&&String| !run.is_changing_label(label);
    for label in after.difference(&before).filter(news) {
        let means = states.iter().find(|(name, _)| name == *label).map(|(_, phase)| phase);
        let ahead = means.is_some_and(|phase| run.phase_state(phase).is_some_and(|state| !state.is_finished()));
        let asks = run.plan().issue.as_ref().and_then(|issue| issue.if_ahead) == Some(IfAhead::Ask);
        let kind = if ahead && asks { FindingKind::WorldAsks } else { FindingKind::WorldWarns };
        let what = if ahead { ", which is ahead of the run" } else { "" };
        found.push(Finding::new(kind, format!("the issue has the label {label} now{what}")));
    }
    for label in before.difference(&after).filter(news) {
        found.push(Finding::new(FindingKind::WorldWarns, format!("the issue no longer has the label {label}")));
    }
    found
}

/// The finding for a change; none where it is ignored. That git has moved is no reason to do anything again by itself.
pub(super) fn kind_of(means: IfChanged) -> Option<FindingKind> {
    match means {
        IfChanged::Ignore => None,
        IfChanged::Warn => Some(FindingKind::WorldWarns),
        IfChanged::Ask | IfChanged::Rerun => Some(FindingKind::WorldAsks),
        IfChanged::Stop => Some(FindingKind::WorldStops),
    }
}
