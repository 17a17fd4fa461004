//! How much of what finished phases left behind was changed, going by the snapshots of the run.

use std::collections::BTreeMap;
use std::time::Duration;

use onward_core::evidence::WorldSeen;
use onward_core::id::PhaseId;
use onward_core::resume::{self, Finding, HeadMoved};
use onward_core::run::Run;
use onward_store::CheckpointRow;
use similar::TextDiff;

use crate::Onward;
use crate::journal;
use crate::probe;
use crate::start::findings::Unfinished;
use crate::vcs::TEXT_BYTES_MAX;
use crate::vcs::working_tree::WorkingTree;

/// Phases whose changed files are compared line by line.
const PHASES_COMPARED_MAX: usize = 10;
/// Lines around a change that are shown with it.
const CONTEXT_LINES: usize = 3;
/// How long the shortest difference of one file is looked for.
const DIFF_TIME_MAX: Duration = Duration::from_millis(500);

/// A file that was changed outside a run, for people who want to see how.
#[derive(Clone, Debug)]
pub struct OutsideChange {
    pub phase: PhaseId,
    pub path: String,
    /// The difference in the form of `diff -u`, or why there is none to be shown.
    pub diff: Result<String, &'static str>,
}

impl Onward {
    /// The files of a run that were changed outside it, each with what was changed.
    pub fn outside_changes(&mut self, one: &Unfinished) -> Vec<OutsideChange> {
        let run = &one.run;
        let about = one.findings.iter().filter(|finding| !finding.files.is_empty());
        let about: Vec<(&PhaseId, &Finding)> =
            about.filter_map(|finding| Some((finding.phase.as_ref()?, finding))).collect();
        let tree = WorkingTree::of(&self.project, run.started.worktree.as_deref());
        let repository = tree.repository().ok().filter(|_| run.vcs.last.is_some());
        let rows = self.checkpoint_rows(&run.id).unwrap_or_default();
        let mut changes = Vec::new();
        for (phase, finding) in about {
            let paths: Vec<&str> = finding.files.iter().map(|file| file.path.as_str()).collect();
            let commit = snapshot_behind(run, &rows, phase);
            let before = repository.zip(commit).map(|(repository, commit)| repository.texts(&commit, &paths));
            changes.extend(paths.iter().map(|path| {
                let now = probe::text(&self.project.top, path, TEXT_BYTES_MAX);
                let diff = match &before {
                    Some(before) => difference(path, before.get(*path).map(Vec::as_slice), now.as_deref()),
                    None => Err("no snapshot has what was there before"),
                };
                OutsideChange { phase: phase.clone(), path: (*path).to_owned(), diff }
            }));
        }
        changes
    }

    /// Drops files that were written again with the bytes that the last snapshot of the run has of them.
    pub(crate) fn with_other_bytes(
        &self,
        run: &Run,
        mut changed: BTreeMap<PhaseId, Vec<String>>,
    ) -> BTreeMap<PhaseId, Vec<String>> {
        let Some(last) = run.vcs.last.as_ref().filter(|_| !changed.is_empty()) else { return changed };
        let tree = WorkingTree::of(&self.project, run.started.worktree.as_deref());
        let Ok(repository) = tree.repository() else { return changed };
        for paths in changed.values_mut() {
            let named: Vec<&str> = paths.iter().map(String::as_str).collect();
            let kept = repository.texts(&last.commit, &named);
            paths.retain(|path| {
                let now = probe::text(&self.project.top, path, TEXT_BYTES_MAX);
                now.is_none() || kept.get(path) != now.as_ref()
            });
        }
        changed.retain(|_, paths| !paths.is_empty());
        changed
    }

    /// Adds to findings about changed files how many lines came and went, where a snapshot has what was there before.
    pub(crate) fn count_lines(&mut self, run: &Run, findings: &mut [Finding]) {
        let changed: Vec<&mut Finding> =
            findings.iter_mut().filter(|finding| resume::has_lines(finding)).take(PHASES_COMPARED_MAX).collect();
        if changed.is_empty() || run.vcs.last.is_none() {
            return;
        }
        let tree = WorkingTree::of(&self.project, run.started.worktree.as_deref());
        let Ok(repository) = tree.repository() else { return };
        let rows = self.checkpoint_rows(&run.id).unwrap_or_default();
        for finding in changed {
            let Some(commit) = finding.phase.as_ref().and_then(|phase| snapshot_behind(run, &rows, phase)) else {
                continue;
            };
            let paths: Vec<&str> = finding.files.iter().map(|file| file.path.as_str()).collect();
            let before = repository.texts(&commit, &paths);
            resume::count_lines(finding, |path| {
                let now = probe::text(&self.project.top, path, TEXT_BYTES_MAX)?;
                resume::lines_changed(before.get(path)?, &now).filter(|lines| *lines != (0, 0))
            });
        }
    }

    /// How HEAD has moved since the run last recorded it, on the same branch.
    pub(crate) fn head_moved(&self, run: &Run, world: &WorldSeen) -> Option<HeadMoved> {
        let from = run.vcs.head.clone()?;
        let same_branch = run.last_look().is_some_and(|look| look.world.branch == world.branch);
        let elsewhere = run.started.worktree.as_deref();
        if !same_branch || (elsewhere.is_none() && world.head.as_ref() == Some(&from)) {
            return None;
        }
        let tree = WorkingTree::of(&self.project, elsewhere);
        let to = tree.head().filter(|to| *to != from)?;
        let commits = tree.repository().ok().and_then(|repository| repository.commits_between(&from, &to));
        Some(HeadMoved { from, to, commits })
    }
}

/// `before` is none where nothing was kept of this file.
fn difference(path: &str, before: Option<&[u8]>, now: Option<&[u8]>) -> Result<String, &'static str> {
    let text = |bytes: Option<&[u8]>| match bytes {
        Some(bytes) => std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| "it is no text"),
        None => Ok(String::new()),
    };
    if before.is_none() && now.is_none() {
        return Err("it is gone, or too large to be compared");
    }
    let (old, new) = (text(before)?, text(now)?);
    let (from, to) = (format!("{path} (as the run left it)"), format!("{path} (now)"));
    let difference = TextDiff::configure().timeout(DIFF_TIME_MAX).diff_lines(&old, &new);
    Ok(difference.unified_diff().context_radius(CONTEXT_LINES).header(&from, &to).to_string())
}

/// The first snapshot that was taken once a phase was done; the last one where nobody knows.
fn snapshot_behind(run: &Run, rows: &[CheckpointRow], phase: &PhaseId) -> Option<String> {
    let done_at = run.phase_state(phase).and_then(|state| state.ended_at);
    let metas = rows.iter().rev().filter_map(|row| journal::meta(row.meta.as_ref()));
    let mut behind = metas.filter(|meta| done_at.is_some_and(|done| meta.created_at >= done));
    let first = behind.find_map(|meta| meta.snapshot).map(|kept| kept.commit);
    first.or_else(|| run.vcs.last.as_ref().map(|last| last.commit.clone()))
}
