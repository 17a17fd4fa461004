//! Branching off: a new run from a checkpoint of another, in a working tree of its own if a folder is named.

use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use onward_core::checkpoint::{Checkpoint, CheckpointMeta};
use onward_core::event::{Event, RunStarted};
use onward_core::id::{CheckpointId, PhaseId, RunId};
use onward_core::input::Input;
use onward_core::lookup::Name;
use onward_core::question::quoted;
use onward_core::resume::{Finding, FindingKind};
use onward_core::run::{self, Run, vcs};
use onward_store::listing;
use onward_store::{LeaseKind, PruneList};

use crate::Onward;
use crate::drive::committer;
use crate::error::{Error, Result};
use crate::journal;
use crate::start::starting::actor;
use crate::vcs::working_tree::WorkingTree;

/// A run that was branched off another.
#[derive(Debug)]
pub struct Forked {
    pub run: RunId,
    /// Phases whose effect outside may be there already, through the other run.
    pub in_doubt: Vec<PhaseId>,
}

impl Onward {
    /// A new run that begins where a checkpoint stood; in a working tree of its own if a folder is named. The notices name rewinds that
    /// had been cut off and were ended first.
    pub fn fork(&mut self, name: &str, worktree: Option<&Path>) -> Result<Forked> {
        let name = Name::parse(name).ok_or(Error::EmptyName("checkpoint"))?;
        let from = self.show_checkpoint(&name, None)?;
        self.demand_not_behind_notes(&from.run)?;
        let folder = worktree.map(|folder| self.place_for_worktree(&from, folder)).transpose()?;
        let notes = self.end_rewinds()?;
        self.notices.extend(notes);
        self.end_integration_of(&from.run)?;
        let old = self.load(&from.run)?;
        let (actor, now) = (actor(&self.project), Timestamp::now());
        let (empty, _) = run::start((*old.started).clone(), &actor, now);
        let restored = Box::new(vcs::branched_off(&empty, &old, &from));
        let forked = [Input::Forked { from: from.run.clone(), checkpoint: from.id.clone(), restored }];
        committer::demand_it_can_begin(&old.started, &forked, now)?;
        let (id, lease) = self.create(&old.started, LeaseKind::Brief)?;
        let (worktree, branch) = match folder {
            Some(folder) => match self.make_worktree(&id, &from, &folder) {
                Ok((folder, branch)) => (Some(folder), Some(branch)),
                Err(why) => {
                    drop(lease);
                    self.forget_unbegun(&id);
                    return Err(why);
                }
            },
            None => (old.started.worktree.clone(), crate::vcs::branch(&self.project.top)),
        };
        let started = RunStarted { run: id.clone(), worktree, branch, ..(*old.started).clone() };
        let (run, _) = committer::begin(self.store()?, &lease, &started, &forked, (&actor, now))?;
        drop(lease);
        Ok(Forked { run: id, in_doubt: run.in_doubt().cloned().collect() })
    }

    /// The folder for a working tree; an error where none can be made, before anything is.
    fn place_for_worktree(&self, from: &Checkpoint, folder: &Path) -> Result<PathBuf> {
        let failed = |reason: String| Err(Error::NotForked { reason });
        let folder = self.from.join(folder);
        if from.snapshot.is_none() {
            return failed(format!("checkpoint {} has no snapshot of the files", from.id));
        }
        if folder.symlink_metadata().is_ok_and(|found| !found.is_dir() || !is_empty(&folder)) {
            return failed(format!("{} is there already", folder.display()));
        }
        let tree = WorkingTree::of(&self.project, None);
        let repository = tree.repository().map_err(|reason| Error::NotForked { reason })?;
        let above = folder.ancestors().find_map(|above| above.canonicalize().ok()).unwrap_or_default();
        if above.starts_with(self.project.store_folder()) || repository.is_in_books(&above) {
            return failed(format!("{} belongs to the store or to git", above.display()));
        }
        Ok(folder)
    }

    fn make_worktree(&self, id: &RunId, from: &Checkpoint, folder: &Path) -> Result<(String, String)> {
        let failed = |reason: String| Error::NotForked { reason };
        let tree = WorkingTree::of(&self.project, None);
        let repository = tree.repository().map_err(failed)?;
        let kept = from.snapshot.as_ref();
        let kept = kept.ok_or_else(|| failed(format!("checkpoint {} has no snapshot of the files", from.id)))?;
        let branch = format!("onward/{id}");
        // A snapshot's parent is what was checked out when it was taken.
        let made = repository.add_worktree(folder, &branch, &format!("{}^", kept.commit), &kept.commit);
        made.map_err(|why| failed(why.to_string()))?;
        let folder = folder.canonicalize().map_err(|why| failed(why.to_string()))?;
        let text = folder.to_str().ok_or_else(|| failed("the folder's name is not text".to_owned()))?;
        Ok((text.to_owned(), branch))
    }

    /// Takes back that a run was made, of which nothing is on record. What stays of it is in nobody's way.
    fn forget_unbegun(&mut self, id: &RunId) {
        let list = PruneList { runs: vec![id.clone()], ..PruneList::default() };
        if !self.store().is_ok_and(|store| store.prune(&list).is_ok()) {
            return;
        }
        drop(fs::remove_dir(self.project.store_folder().join("attempts").join(id.as_str())));
        if let Ok(repository) = WorkingTree::of(&self.project, None).repository() {
            repository.drop_claim(id);
        }
    }

    /// The finding that the working tree of a fork is not where it was made. Another fork begins with its files.
    pub(crate) fn worktree_gone(&mut self, run: &Run) -> Option<Finding> {
        let folder = run.started.worktree.as_deref()?;
        if Path::new(folder).join(".git").symlink_metadata().is_ok() {
            return None;
        }
        let rows = self.checkpoint_rows(&run.id).unwrap_or_default();
        let with_files = |meta: &CheckpointMeta| meta.snapshot.is_some();
        let newest = rows.iter().filter(|row| journal::meta(row.meta.as_ref()).as_ref().is_some_and(with_files));
        let newest = newest.max_by_key(|row| row.seq).map(|row| row.id.clone());
        let again = newest.or_else(|| self.forked_from(&run.id)).map_or_else(String::new, |checkpoint| {
            format!("; onward fork {checkpoint} --worktree {} makes another with its files", quoted(folder))
        });
        Some(Finding::new(FindingKind::WorktreeGone, format!("the working tree {folder} of the run is gone{again}")))
    }

    fn forked_from(&mut self, run: &RunId) -> Option<CheckpointId> {
        let store = self.store().ok()?;
        // It is the second event of a fork.
        let first = journal::first_events(store, run).ok()?;
        first.into_iter().find_map(|recorded| match recorded.event {
            Event::RunForked { checkpoint, .. } => Some(checkpoint),
            _ => None,
        })
    }
}

fn is_empty(folder: &Path) -> bool {
    listing::all(folder).is_ok_and(|entries| entries.is_empty())
}
