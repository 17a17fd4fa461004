//! Files and artifacts of finished phases that somebody else has changed or removed.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::finding::{FileChanged, Finding, FindingKind};
use super::stale::{PATHS_SHOWN_MAX, and_more};
use crate::event::{ArtifactSeen, StopReason};
use crate::evidence::Evidence;
use crate::id::PhaseId;
use crate::plan::Phase;
use crate::plan::globs::Globs;
use crate::run::{PhaseState, Run};

/// Files of one finding that are listed; the rest is counted.
const FILES_LISTED_MAX: usize = 20;

/// Phases that have written something: what one of them wrote later than another is no change from outside.
pub(super) struct Writers<'a>(Vec<(&'a Phase, &'a PhaseState)>);

impl<'a> Writers<'a> {
    pub(super) fn new(run: &'a Run) -> Self {
        let begun = run.phases().filter(|(phase, state)| !phase.writes.is_empty() && state.started_at.is_some());
        Self(begun.collect())
    }

    /// Whether another phase of the run may have written a path since. Of one that has not come to its end nobody knows what
    /// it has written.
    fn wrote_since(&self, phase: &PhaseId, since: Option<Timestamp>, path: &str) -> bool {
        let later = |state: &PhaseState| !state.is_finished() || state.ended_at > since;
        let means = |other: &Phase, state: &PhaseState| {
            let seen = state.seen.as_ref().and_then(|seen| seen.writes.as_ref());
            seen.is_some_and(|seen| seen.files.contains_key(path))
                || other.writes.iter().any(|glob| Globs::meant(glob).is_some_and(|glob| glob.mean(path)))
        };
        self.0.iter().any(|(other, state)| other.id != *phase && later(state) && means(other, state))
    }
}

/// Artifacts of a finished phase that are gone, and paths that it wrote and somebody else has changed.
pub(super) fn left_behind<'a>(
    phase: &Phase,
    state: &'a PhaseState,
    now: Option<&Evidence>,
    writers: &Writers<'_>,
) -> (Vec<&'a ArtifactSeen>, Vec<String>) {
    let there = now.and_then(|now| now.artifacts.as_deref());
    let foreign = |path: &str| !writers.wrote_since(&phase.id, state.ended_at, path);
    let mut missing = Vec::new();
    let mut changed: BTreeSet<&str> = BTreeSet::new();
    for artifact in state.artifacts.iter().filter(|artifact| foreign(&artifact.path)) {
        match there.map(|there| there.iter().find(|other| other.path == artifact.path)) {
            Some(None) => missing.push(artifact),
            Some(Some(other)) if other.digest != artifact.digest => {
                changed.insert(&artifact.path);
            }
            Some(Some(_)) | None => {}
        }
    }
    let written = state.seen.as_ref().and_then(|seen| seen.writes.as_ref());
    if let (Some(then), Some(now)) = (written, now.and_then(|now| now.writes.as_ref())) {
        // What is said of an artifact is not said of its files again.
        let gone = |path: &str| missing.iter().any(|artifact| is_at_or_below(path, &artifact.path));
        let written = then.differences(now).into_iter().filter(|path| !gone(path) && foreign(path));
        let written: Vec<&str> = written.collect();
        changed.retain(|artifact| !written.iter().any(|path| is_at_or_below(path, artifact)));
        let mut all: BTreeSet<String> = written.into_iter().map(str::to_owned).collect();
        all.extend(changed.into_iter().map(str::to_owned));
        return (missing, all.into_iter().collect());
    }
    (missing, changed.into_iter().map(str::to_owned).collect())
}

fn is_at_or_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder.trim_end_matches('/')).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A warning that names the files. How much of each was changed is told by [`count_lines`].
pub(super) fn finding(phase: &PhaseId, paths: Vec<String>) -> Option<Finding> {
    named(FindingKind::OutputChanged, phase, paths)
}

/// Phases that were interrupted, and what of their files was changed since: the next attempt would find it, and may overwrite it.
/// Files that were put back were changed by us.
pub fn reworked(run: &Run, since: BTreeMap<PhaseId, Vec<String>>) -> Vec<Finding> {
    if since.is_empty() || matches!(run.stopped, Some(StopReason::Rewind | StopReason::Import)) {
        return Vec::new();
    }
    let writers = Writers::new(run);
    let mut found = Vec::new();
    for (phase, mut paths) in since {
        let state = run.phase_state(&phase);
        if state.is_some_and(|state| state.own.is_some()) {
            // Its work is in a worktree, and comes into the project beside whatever is there.
            continue;
        }
        let ended_at = state.and_then(|state| state.ended_at);
        paths.retain(|path| !writers.wrote_since(&phase, ended_at, path));
        found.extend(named(FindingKind::WorkChanged, &phase, paths));
    }
    found
}

fn named(kind: FindingKind, phase: &PhaseId, paths: Vec<String>) -> Option<Finding> {
    let files_total = paths.len();
    let files = paths.into_iter().take(FILES_LISTED_MAX);
    let files = files.map(|path| FileChanged { path, lines_added: None, lines_removed: None }).collect();
    let finding = Finding { files, files_total, ..Finding::about(kind, phase, "") };
    (files_total > 0).then(|| Finding { message: message(&finding), ..finding })
}

/// Adds to a finding how many lines of its files came and went, as far as that is known.
pub fn count_lines(finding: &mut Finding, count: impl Fn(&str) -> Option<(u64, u64)>) {
    if !has_lines(finding) {
        return;
    }
    for file in &mut finding.files {
        if let Some((added, removed)) = count(&file.path) {
            (file.lines_added, file.lines_removed) = (Some(added), Some(removed));
        }
    }
    finding.message = message(finding);
}

/// Whether a finding is about files whose lines can be counted.
pub fn has_lines(finding: &Finding) -> bool {
    matches!(finding.kind, FindingKind::OutputChanged | FindingKind::WorkChanged)
}

fn message(finding: &Finding) -> String {
    let told = |file: &FileChanged| match (file.lines_added, file.lines_removed) {
        (Some(added), Some(removed)) => format!("{} (+{added} -{removed})", file.path),
        _ => file.path.clone(),
    };
    let shown = finding.files.iter().take(PATHS_SHOWN_MAX).map(told).collect::<Vec<_>>().join(", ");
    let (phase, more) = (finding.phase.as_ref().map_or("", PhaseId::as_str), and_more(finding.files_total));
    if finding.kind == FindingKind::WorkChanged {
        return format!("phase {phase} was interrupted, and {shown}{more}, which it writes, was changed since");
    }
    format!("phase {phase}: {shown}{more}, which it wrote, was changed outside the run; it is left as it is")
}
