//! Phases in worktrees of their own: how a worktree is begun, how its files come into the project, and when it goes.

use std::path::{Path, PathBuf};

use onward_core::event::{WorktreeConflict, WorktreeFact};
use onward_core::evidence::Evidence;
use onward_core::id::{Attempt, PhaseId};
use onward_core::input::Input;
use onward_core::run::worktrees::{Integration, OwnWorktree, Renewal, WorktreeStage};
use onward_core::run::{PhaseState, Run};

use super::merge::{Merged, PlacedFiles, SIDES};
use super::own_worktree::OwnPlace;
use super::repository::Repository;
use super::working_tree::{WorkingTree, words};
use crate::kill_point::reached;
use crate::probe;
use crate::sys::{plain_file, stop};

/// Files of a conflict that are named.
const PATHS_NAMED_MAX: usize = 100;
/// Conflict marks are looked for in files up to this size.
const MARKED_BYTES_MAX: u64 = 4 << 20;

type OrWhyNot<T> = std::result::Result<T, String>;

/// All that is known of the worktree of one phase.
struct Apart<'a> {
    repository: &'a Repository,
    place: OwnPlace,
    own: &'a OwnWorktree,
    attempt: Attempt,
}

impl WorkingTree {
    fn place_of(&self, run: &Run, phase: &PhaseId, state: &PhaseState) -> OrWhyNot<OwnPlace> {
        OwnPlace::new(&self.project.store_folder(), &run.id, phase, state.generation).map_err(|why| why.to_string())
    }

    fn apart<'a>(&'a self, run: &'a Run, phase: &PhaseId) -> OrWhyNot<Apart<'a>> {
        let state = run.phase_state(phase).ok_or("the plan has no such phase")?;
        let own = state.own.as_deref().ok_or("it has no worktree")?;
        let (repository, place) = (self.repository()?, self.place_of(run, phase, state)?);
        Ok(Apart { repository, place, own, attempt: Attempt(state.attempts) })
    }

    /// The worktree of an attempt as it is to be made: it shows the project as it is, and where the phase has worked before, its files with it.
    pub(crate) fn begin_worktree(&self, run: &Run, phase: &PhaseId, attempt: Attempt) -> OrWhyNot<WorktreeFact> {
        let _alone = self.alone();
        let repository = self.repository()?;
        repository.demand_merges()?;
        let state = run.phase_state(phase).ok_or("the plan has no such phase")?;
        let place = self.place_of(run, phase, state)?;
        let last = run.vcs.last.as_ref().map(|last| last.commit.as_str());
        let base = repository.snapshot_under(&place.name(attempt, "base"), last).map_err(|why| why.to_string())?.commit;
        reached("worktree.base-taken");
        let fresh = WorktreeFact::Begun { attempt, base: base.clone(), content: None, unresolved: Vec::new() };
        let Some(own) = state.own.as_deref().filter(|own| own.renewal == Some(Renewal::Rebase)) else {
            return Ok(fresh);
        };
        let Some(tree) = repository.own_worktree(&place) else { return Ok(fresh) };
        let result = tree.snapshot_under(&place.name(attempt, "result"), None).map_err(|why| why.to_string())?.commit;
        let name = place.name(attempt, "content");
        let Merged { commit, conflicts, .. } =
            repository.merge(&name, &own.base, [&base, &result]).map_err(|why| why.to_string())?;
        let unresolved = named(&conflicts).0;
        Ok(WorktreeFact::Begun { attempt, base, content: Some(commit), unresolved })
    }

    /// Whether the worktree on record can neither be found nor made: the run came here without what it was made of.
    pub(crate) fn has_lost_worktree(&self, run: &Run, phase: &PhaseId) -> bool {
        let Ok(Apart { repository, place, own, .. }) = self.apart(run, phase) else { return false };
        repository.own_worktree(&place).is_none() && repository.has_commit(&own.base).is_ok_and(|there| !there)
    }

    /// Makes the worktree that is on record, unless it is there.
    pub(crate) fn make_worktree(&self, run: &Run, phase: &PhaseId) -> OrWhyNot<()> {
        let _alone = self.alone();
        let Apart { repository, place, own, .. } = self.apart(run, phase)?;
        repository
            .make_own_worktree(&place, own.attempt, &own.base, own.content.as_deref())
            .map_err(|why| why.to_string())
    }

    pub(crate) fn integrated(&self, run: &Run, phase: &PhaseId) -> Input {
        let found = self.apart(run, phase).and_then(|apart| match &apart.own.stage {
            WorktreeStage::Due => apart.together(run),
            WorktreeStage::Begun(begun) => self.put(run, phase, &apart, begun),
            WorktreeStage::AtWork | WorktreeStage::Conflict(_) | WorktreeStage::Integrated { .. } => {
                Err("its files are not on their way".to_owned())
            }
        });
        // It was given up, which says nothing about the files.
        if found.is_err() && stop::asked().is_some() {
            return Input::Tick;
        }
        Input::Worktree { phase: phase.clone(), found: found.map(Box::new) }
    }

    fn put(&self, run: &Run, phase: &PhaseId, apart: &Apart<'_>, begun: &Integration) -> OrWhyNot<WorktreeFact> {
        let Integration { result, before, merged } = begun;
        reached("worktree.before-put");
        let name = apart.place.name(apart.attempt, "now");
        let placed = apart.repository.put_in_place(&name, before, merged).map_err(|why| why.to_string())?;
        reached("worktree.after-put");
        match placed {
            PlacedFiles::Done { kept } => {
                let definition = run.plan().phase(phase).ok_or("the plan has no such phase")?;
                let seen = probe::phase::written_now(&self.project, run, definition);
                let seen = seen.map(|writes| Box::new(Evidence { writes: Some(writes), ..Evidence::default() }));
                let left_out = apart.left_out()?.into_iter().chain(kept).collect();
                Ok(WorktreeFact::Integrated { result: result.clone(), left_out, seen })
            }
            PlacedFiles::CalledOff { reason, paths } => Ok(WorktreeFact::CalledOff { reason, paths: named(&paths).0 }),
            PlacedFiles::InTheWay { paths } => {
                let (paths, more) = named(&paths);
                let told = vec!["files that git does not know lie in the way".to_owned()];
                Ok(WorktreeFact::Conflict(WorktreeConflict { result: result.clone(), paths, more, told }))
            }
        }
    }

    pub(crate) fn worktree_removed(&self, run: &Run, phase: &PhaseId) -> Input {
        let (kept, put_away) = match self.apart(run, phase).and_then(|apart| apart.remove()) {
            Err(_) if stop::asked().is_some() => return Input::Tick,
            Err(why) => (Some(why), None),
            Ok(put_away) => (None, put_away),
        };
        Input::Worktree { phase: phase.clone(), found: Ok(Box::new(WorktreeFact::Removed { kept, put_away })) }
    }

    /// Why phases cannot have worktrees of their own here.
    pub(crate) fn demand_worktrees(&self) -> OrWhyNot<()> {
        self.repository()?.demand_merges()
    }
}

impl Apart<'_> {
    fn tree(&self) -> OrWhyNot<Repository> {
        let folder = &self.place.folder;
        let gone = || {
            if std::fs::symlink_metadata(folder).is_ok() {
                format!("{} is no worktree of this repository any more; what it did still lies there", folder.display())
            } else {
                format!("its worktree is gone, and what it did with it: {}", folder.display())
            }
        };
        self.repository.own_worktree(&self.place).ok_or_else(gone)
    }

    /// The files of the worktree and those of the project as they are now.
    fn together(&self, run: &Run) -> OrWhyNot<WorktreeFact> {
        let tree = self.tree()?;
        self.demand_no_marks(&tree)?;
        let name = |what: &str| self.place.name(self.attempt, what);
        let result = tree.snapshot_under(&name("result"), None).map_err(|why| why.to_string())?;
        reached("worktree.result-taken");
        let last = run.vcs.last.as_ref().map(|last| last.commit.as_str());
        let before = self.repository.snapshot_under(&name("before"), last).map_err(|why| why.to_string())?;
        let sides = [before.commit.as_str(), result.commit.as_str()];
        let merged = self.repository.merge(&name("merged"), &self.own.base, sides).map_err(|why| why.to_string())?;
        if !merged.conflicts.is_empty() {
            let (paths, more) = named(&merged.conflicts);
            let told = merged.told.into_iter().take(PATHS_NAMED_MAX).collect();
            return Ok(WorktreeFact::Conflict(WorktreeConflict { result: result.commit, paths, more, told }));
        }
        if merged.tree == before.tree {
            let left_out = result.left_out.iter().map(words).collect();
            return Ok(WorktreeFact::Integrated { result: result.commit, left_out, seen: None });
        }
        Ok(WorktreeFact::IntegrationBegun { result: result.commit, before: before.commit, merged: merged.commit })
    }

    /// Refuses a result in which a conflict was left as it was.
    fn demand_no_marks(&self, tree: &Repository) -> OrWhyNot<()> {
        let top = tree.project_folder();
        let marked: Vec<&str> =
            self.own.unresolved.iter().map(String::as_str).filter(|path| has_marks(&top.join(path))).collect();
        if marked.is_empty() { Ok(()) } else { Err(format!("conflict marks are left in {}", marked.join(", "))) }
    }

    /// Files that are in the worktree and in no snapshot of it.
    fn left_out(&self) -> OrWhyNot<Vec<String>> {
        let taken =
            self.tree()?.snapshot_under(&self.place.name(self.attempt, "last"), None).map_err(|why| why.to_string())?;
        Ok(taken.left_out.iter().map(words).collect())
    }

    /// Removes the worktree if all that is in it has come into the project. Where its work was left out, it is kept first as a commit,
    /// which comes back.
    fn remove(&self) -> OrWhyNot<Option<String>> {
        let result = match &self.own.stage {
            WorktreeStage::Integrated { result } => Some(result),
            WorktreeStage::Begun(_) => return Err("its files are on their way into the project".to_owned()),
            WorktreeStage::AtWork | WorktreeStage::Due | WorktreeStage::Conflict(_) => None,
        };
        let mut put_away = None;
        if let Some(tree) = self.repository.own_worktree(&self.place) {
            let name = if result.is_some() {
                self.place.name(self.attempt, "last")
            } else {
                self.place.left_name(self.attempt)
            };
            let now = tree.snapshot_under(&name, result.map(String::as_str)).map_err(|why| why.to_string())?;
            if result.is_none() {
                put_away = Some(now.commit.clone());
            } else if !now.same_as_last {
                return Err("it was changed after its files were taken".to_owned());
            }
            if !now.left_out.is_empty() {
                let left: Vec<String> = now.left_out.iter().map(words).collect();
                return Err(format!("these did not come into the project: {}", left.join(", ")));
            }
        } else if self.place.folder.exists() {
            return Err("git does not know it any more".to_owned());
        }
        reached("worktree.before-removed");
        self.repository.remove_own_worktree(&self.place).map_err(|why| why.to_string())?;
        Ok(put_away)
    }
}

/// Paths as they are put on record, and how many more there are.
fn named(paths: &[PathBuf]) -> (Vec<String>, u64) {
    let all = paths.iter().take(PATHS_NAMED_MAX).map(|path| path.to_string_lossy().into_owned()).collect();
    (all, paths.len().saturating_sub(PATHS_NAMED_MAX) as u64)
}

fn has_marks(path: &Path) -> bool {
    let Ok(bytes) = plain_file::read(path, MARKED_BYTES_MAX) else { return false };
    let text = String::from_utf8_lossy(&bytes);
    let [project, own] = SIDES;
    let has = |mark: String| text.lines().any(|line| line == mark);
    has(format!("<<<<<<< {project}")) && has(format!(">>>>>>> {own}"))
}
