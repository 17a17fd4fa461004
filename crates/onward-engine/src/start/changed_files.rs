//! How much of what finished phases left behind was changed, going by the snapshots of the run.

use onward_core::evidence::WorldSeen;
use onward_core::id::PhaseId;
use onward_core::resume::{self, Finding, HeadMoved};
use onward_core::run::Run;
use onward_store::CheckpointRow;

use crate::Onward;
use crate::journal;
use crate::probe;
use crate::vcs::TEXT_BYTES_MAX;
use crate::vcs::working_tree::WorkingTree;

/// Phases whose changed files are compared line by line.
const PHASES_COMPARED_MAX: usize = 10;

impl Onward {
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

/// The first snapshot that was taken once a phase was done; the last one where nobody knows.
fn snapshot_behind(run: &Run, rows: &[CheckpointRow], phase: &PhaseId) -> Option<String> {
    let done_at = run.phase_state(phase).and_then(|state| state.ended_at);
    let metas = rows.iter().rev().filter_map(|row| journal::meta(row.meta.as_ref()));
    let mut behind = metas.filter(|meta| done_at.is_some_and(|done| meta.created_at >= done));
    let first = behind.find_map(|meta| meta.snapshot).map(|kept| kept.commit);
    first.or_else(|| run.vcs.last.as_ref().map(|last| last.commit.clone()))
}
