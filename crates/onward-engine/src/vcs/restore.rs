//! Bringing a snapshot back: all of it or nothing, and nothing that was not in a snapshot first is lost.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use onward_core::id::RunId;

use super::changes::{Change, Step};
use super::place::{Kept, Placing, Stage};
use super::repository::Repository;
use super::shadow::Shadow;
use super::snapshot::{Snapshot, ref_name};
use super::trouble::Trouble;
use crate::kill_point::reached;
use crate::stop;

/// What the working tree is after a restore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// Taken right afterwards, so that a later undo knows what the restore itself brought.
    pub snapshot: Snapshot,
    pub changes: Vec<Change>,
    /// Files that were edited in the middle of it, or of an earlier one that was killed, and lie elsewhere now.
    pub kept: Vec<Kept>,
}

/// Why nothing was restored. The working tree is as it was, unless it says otherwise.
#[derive(Debug, thiserror::Error)]
pub enum NotRestored {
    #[error("{} in the way, and in no snapshot", named(paths))]
    InTheWay { paths: Vec<PathBuf> },
    #[error("the working tree has changed since the snapshot that protects it was taken")]
    Moved,
    #[error("{} cannot be brought back ({why}), so all is as it was", path.display())]
    RolledBack { path: PathBuf, why: io::Error },
    #[error("{} cannot be brought back ({why}), and {} could not be put back either; its content is in the snapshot {present}", path.display(), kept.display())]
    HalfDone { path: PathBuf, why: io::Error, kept: PathBuf, present: String },
    #[error(transparent)]
    Trouble(#[from] Trouble),
}

fn named(paths: &[PathBuf]) -> String {
    const SHOWN_MAX: usize = 5;
    let mut names: Vec<String> = paths.iter().take(SHOWN_MAX).map(|path| path.display().to_string()).collect();
    if paths.len() > SHOWN_MAX {
        names.push(format!("{} more", paths.len() - SHOWN_MAX));
    }
    format!("{} {}", names.join(", "), if paths.len() == 1 { "is" } else { "are" })
}

impl Repository {
    /// What [`Repository::restore`] would change.
    pub fn preview(&self, present: &str, target: &str, later: &[&str]) -> Result<Vec<Change>, Trouble> {
        let (steps, lines) = self.steps_and_lines(present, target)?;
        let removable = self.came_later(target, later)?;
        let wanted = steps.iter().zip(lines).filter(|(step, _)| wanted(step, &removable));
        Ok(self.shown(wanted))
    }

    /// Brings the working tree from the snapshot `present`, which was taken a moment ago, to `target`. Removed is only what one of the
    /// snapshots in `later` has and the target has not; other files that came since stay. HEAD, branch and index stay.
    pub fn restore(
        &self,
        (run, number): (&RunId, u64),
        present: &str,
        target: &str,
        later: &[&str],
    ) -> Result<Restored, NotRestored> {
        let shadow = Shadow::take(self)?;
        let (steps, _) = self.steps_and_lines(present, target)?;
        let removable = self.came_later(target, later)?;
        let steps = steps.into_iter().filter(|step| wanted(step, &removable)).collect();
        let Brought { changes, kept } = shadow.bring(steps, present, Others::Rest)?;
        let snapshot = shadow.snapshot(&ref_name(run, number)?, None)?;
        Ok(Restored { snapshot, changes, kept })
    }

    /// Puts back what a snapshot has at the paths that are wanted, and removes what is at such paths and not in it. A path is given as
    /// seen from the project.
    pub fn restore_paths(
        &self,
        present: &str,
        target: &str,
        is_wanted: &dyn Fn(&Path) -> bool,
    ) -> Result<Brought, NotRestored> {
        let shadow = Shadow::take(self)?;
        let steps = self.steps_at(present, target, is_wanted)?;
        shadow.bring(steps, present, Others::MayWrite)
    }

    /// Whether two snapshots have the same at the paths that are wanted.
    pub fn same_at(&self, one: &str, other: &str, is_wanted: &dyn Fn(&Path) -> bool) -> Result<bool, Trouble> {
        Ok(self.steps_at(one, other, is_wanted)?.is_empty())
    }

    fn steps_at(&self, from: &str, to: &str, is_wanted: &dyn Fn(&Path) -> bool) -> Result<Vec<Step>, Trouble> {
        let (steps, _) = self.steps_and_lines(from, to)?;
        let ours = |step: &Step| self.in_project(&step.path).is_some_and(|path| is_wanted(&path));
        Ok(steps.into_iter().filter(ours).collect())
    }
}

/// What a restore has brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Brought {
    pub changes: Vec<Change>,
    /// Files that were edited in the middle of it, or of an earlier one that was killed, and lie elsewhere now.
    pub kept: Vec<Kept>,
}

/// Whether the rest of the working tree may change while files are brought back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Others {
    Rest,
    /// Phases of the same run that write other files.
    MayWrite,
}

fn wanted(step: &Step, removable: &BTreeSet<Vec<u8>>) -> bool {
    step.after.is_some() || removable.contains(&step.path)
}

impl Shadow<'_> {
    fn bring(&self, steps: Vec<Step>, present: &str, others: Others) -> Result<Brought, NotRestored> {
        let repository = self.repository;
        let untouched = |step: &Step| {
            let sides = [&step.before, &step.after];
            repository.is_store(&step.path)
                || sides.iter().any(|side| side.as_ref().is_some_and(super::scan::Entry::is_repository))
        };
        let steps: Vec<Step> = steps.into_iter().filter(|step| !untouched(step)).collect();
        repository.check_the_way(&steps)?;
        reached("vcs.restore-checked");
        let mut kept = Stage::of(self).clear(self)?;
        let stage = Stage::fill(self, &steps)?;
        reached("vcs.restore-staged");
        if others == Others::Rest && self.tree_now()? != self.tree_of(present)? {
            return Err(NotRestored::Moved);
        }
        repository.check_the_way(&steps)?;
        reached("vcs.restore-go");
        let _whole = stop::Whole::begin();
        let done = Placing::new(self, &stage)?.all(&steps);
        let done = done.inspect_err(|_| {
            // What was edited after it had been put into its place is kept as well.
            let _ = stage.clear(self);
        });
        done.map_err(|failed| match failed.not_rolled_back {
            None => NotRestored::RolledBack { path: failed.path, why: failed.why },
            Some(kept) => {
                NotRestored::HalfDone { path: failed.path, why: failed.why, kept, present: present.to_owned() }
            }
        })?;
        reached("vcs.restore-placed");
        kept.extend(stage.clear(self)?);
        let changes = repository.shown(steps.iter().map(|step| (step, (None, None))));
        Ok(Brought { changes, kept })
    }
}

impl Repository {
    /// Refuses if something that no snapshot has lies where something is to be written.
    fn check_the_way(&self, steps: &[Step]) -> Result<(), NotRestored> {
        let removed: BTreeSet<&[u8]> =
            steps.iter().filter(|step| step.after.is_none()).map(|step| step.path.as_slice()).collect();
        let mut parents = BTreeMap::new();
        let mut blocking = BTreeSet::new();
        for step in steps.iter().filter(|step| step.before.is_none()) {
            let mut way = Way { top: &self.top, removed: &removed, parents: &mut parents, blocking: &mut blocking };
            if way.leads_to(&step.path) {
                way.look_at(&step.path);
            }
        }
        if blocking.is_empty() {
            return Ok(());
        }
        let paths = blocking.iter().map(|path| self.in_project(path).unwrap_or_else(|| super::path_of(path)));
        Err(NotRestored::InTheWay { paths: paths.collect() })
    }
}

/// The look along one path, from the top down.
struct Way<'a> {
    top: &'a Path,
    removed: &'a BTreeSet<&'a [u8]>,
    /// Folders that were looked at before: whether there is one.
    parents: &'a mut BTreeMap<Vec<u8>, bool>,
    blocking: &'a mut BTreeSet<Vec<u8>>,
}

impl Way<'_> {
    /// Whether the folder of this path is there. If something else is there that stays, it is in the way.
    fn leads_to(&mut self, path: &[u8]) -> bool {
        let slashes: Vec<usize> =
            path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at).collect();
        slashes.into_iter().all(|slash| {
            let folder = &path[..slash];
            if let Some(&known) = self.parents.get(folder) {
                return known;
            }
            let found = fs::symlink_metadata(self.top.join(super::path_of(folder)));
            let is_folder = found.as_ref().is_ok_and(fs::Metadata::is_dir);
            if found.is_ok() && !is_folder && !self.removed.contains(folder) {
                self.blocking.insert(folder.to_vec());
            }
            self.parents.insert(folder.to_vec(), is_folder);
            is_folder
        })
    }

    /// Whatever is at this place and not about to be removed is in the way; folders count by what is in them.
    fn look_at(&mut self, path: &[u8]) {
        let full = self.top.join(super::path_of(path));
        let Ok(about) = fs::symlink_metadata(&full) else { return };
        if !about.is_dir() {
            if !self.removed.contains(path) {
                self.blocking.insert(path.to_vec());
            }
            return;
        }
        let Ok(entries) = fs::read_dir(&full) else {
            self.blocking.insert(path.to_vec());
            return;
        };
        for entry in entries.flatten() {
            use std::os::unix::ffi::OsStrExt;
            let below = [path, b"/", entry.file_name().as_bytes()].concat();
            self.look_at(&below);
        }
    }
}
