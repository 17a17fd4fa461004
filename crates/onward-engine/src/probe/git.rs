//! The state of git around a run: branch, commit and changes.

use std::path::PathBuf;

use onward_core::evidence::WorldSeen;
use onward_core::run::Run;

use crate::executor::shell;
use crate::project::Project;
use crate::vcs::{ask, branch, dirty, is_repository};

/// Files with changes that are kept by name.
const DIRTY_MAX: usize = 100;

/// The working tree in which the phases of a run work.
pub(super) fn top_of(project: &Project, run: &Run) -> PathBuf {
    run.started.worktree.as_deref().map_or_else(|| project.top.clone(), PathBuf::from)
}

pub(crate) fn world_seen(project: &Project, run: &Run) -> WorldSeen {
    let top = top_of(project, run);
    let top = top.as_path();
    if !is_repository(top) {
        return WorldSeen::default();
    }
    let wishes = &run.plan().freshness.git;
    let commit = |name: String| ask(top, &["rev-parse", "--verify", "--quiet", &format!("{name}^{{commit}}")]);
    let named = |template: &Option<String>| template.as_ref().and_then(|template| shell::fill(run, template));
    WorldSeen {
        branch: branch(top),
        head: commit("HEAD".to_owned()),
        base: named(&wishes.base).and_then(commit),
        work_branch: named(&wishes.branch).and_then(|name| commit(format!("refs/heads/{name}"))),
        dirty: wishes.if_dirty.map(|_| dirty(top).unwrap_or_default().into_iter().take(DIRTY_MAX).collect()),
        ..WorldSeen::default()
    }
}
