//! Bringing a snapshot back: all of it or nothing, and nothing that was not in a snapshot first is lost.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use onward_core::id::RunId;
use onward_store::listing;

use super::changes::{PathChange, PathStep};
use super::place::{KeptFile, Placing, StagedFiles};
use super::repository::Repository;
use super::scan::TreeEntry;
use super::shadow::Shadow;
use super::snapshot::{TreeSnapshot, ref_name};
use super::trouble::GitTrouble;
use crate::kill_point::reached;
use crate::sys::stop;

/// The working tree after a restore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoredTree {
    /// Taken right afterwards, so that a later undo knows what the restore itself brought.
    pub snapshot: TreeSnapshot,
    pub changes: Vec<PathChange>,
    /// Files that were edited in the middle of it, or of an earlier one that was killed, and lie elsewhere now.
    pub kept: Vec<KeptFile>,
}

/// Where the working tree is to go.
#[derive(Clone, Copy, Debug, Default)]
pub struct RestoreTarget<'a> {
    /// The snapshot that is brought back.
    pub target: &'a str,
    /// Snapshots that a run took since: what one of them has and the target has not is removed.
    pub later: &'a [&'a str],
    /// Pairs of snapshots, the older first: what the second has and the first has not is not the run's, and stays.
    pub theirs: &'a [(&'a str, &'a str)],
    /// A snapshot that was brought back earlier, which is now taken back: what it has and the target has not is removed as far
    /// as it is still the same.
    pub brought: Option<&'a str>,
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
    #[error("the files are in their places, but {why}")]
    NotEnded { why: GitTrouble },
    #[error(transparent)]
    Trouble(#[from] GitTrouble),
}

impl NotRestored {
    /// Whether the working tree is as it was before the try.
    pub fn left_all_as_it_was(&self) -> bool {
        match self {
            Self::InTheWay { .. } | Self::Moved | Self::RolledBack { .. } | Self::Trouble(_) => true,
            Self::HalfDone { .. } | Self::NotEnded { .. } => false,
        }
    }

    /// Whether the next try is likely to end in the same way.
    pub fn is_a_refusal(&self) -> bool {
        match self {
            Self::InTheWay { .. } | Self::RolledBack { .. } | Self::HalfDone { .. } => true,
            Self::Moved | Self::NotEnded { .. } | Self::Trouble(_) => false,
        }
    }
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
    /// The changes that [`Repository::restore`] would make.
    pub fn preview(&self, present: &str, way: &RestoreTarget<'_>) -> Result<Vec<PathChange>, GitTrouble> {
        let (steps, lines) = self.steps_and_lines(present, way.target)?;
        let removable = self.removable(way)?;
        let wanted = steps.iter().zip(lines).filter(|(step, _)| removable.allow(step));
        Ok(self.shown(wanted))
    }

    /// Brings the working tree from the snapshot `present`, which was taken a moment ago, to the target of the way. Removed is only
    /// what the way names; other files that came since stay. HEAD, branch and index stay.
    pub fn restore(
        &self,
        (run, number): (&RunId, u64),
        present: &str,
        way: &RestoreTarget<'_>,
    ) -> Result<RestoredTree, NotRestored> {
        let shadow = Shadow::take(self)?;
        let (steps, _) = self.steps_and_lines(present, way.target)?;
        let removable = self.removable(way)?;
        let steps = steps.into_iter().filter(|step| removable.allow(step)).collect();
        // From the first file on: what is in its place is also kept and on record.
        let whole = stop::Whole::begin_later();
        let Brought { changes, kept } = shadow.bring(steps, present, Others::Rest, &whole)?;
        let taken = ref_name(run, number).and_then(|name| shadow.snapshot(&name, Some(way.target)));
        let snapshot = taken.map_err(|why| NotRestored::NotEnded { why })?;
        Ok(RestoredTree { snapshot, changes, kept })
    }

    fn removable(&self, way: &RestoreTarget<'_>) -> Result<Removable, GitTrouble> {
        let later: Vec<(&str, &str)> = way.later.iter().map(|one| (way.target, *one)).collect();
        let mut paths = self.added(&later)?;
        if !paths.is_empty() {
            let theirs = self.added(way.theirs)?;
            paths.retain(|path| !theirs.contains(path));
        }
        let brought = match way.brought {
            Some(brought) => {
                let (steps, _) = self.steps_and_lines(brought, way.target)?;
                let gone = steps.into_iter().filter(|step| step.after.is_none());
                gone.filter_map(|step| Some((step.path, step.before?))).collect()
            }
            None => BTreeMap::new(),
        };
        Ok(Removable { paths, brought })
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
        shadow.bring(steps, present, Others::MayWrite, &stop::Whole::begin_later())
    }

    /// Whether two snapshots have the same at the paths that are wanted.
    pub fn same_at(&self, one: &str, other: &str, is_wanted: &dyn Fn(&Path) -> bool) -> Result<bool, GitTrouble> {
        Ok(self.steps_at(one, other, is_wanted)?.is_empty())
    }

    /// Whether a snapshot has a file that none of the known ones has in its place.
    pub fn has_other_files(&self, snapshot: &str, known: &[&str]) -> Result<bool, GitTrouble> {
        let mut others: Option<BTreeSet<Vec<u8>>> = None;
        for one in known {
            let (steps, _) = self.steps_and_lines(one, snapshot)?;
            let differ = steps.into_iter().filter(|step| step.after.is_some()).map(|step| step.path);
            others = Some(match others {
                None => differ.collect(),
                Some(others) => differ.filter(|path| others.contains(path)).collect(),
            });
        }
        Ok(others.is_none_or(|others| !others.is_empty()))
    }

    fn steps_at(&self, from: &str, to: &str, is_wanted: &dyn Fn(&Path) -> bool) -> Result<Vec<PathStep>, GitTrouble> {
        let (steps, _) = self.steps_and_lines(from, to)?;
        let ours = |step: &PathStep| self.in_project(&step.path).is_some_and(|path| is_wanted(&path));
        Ok(steps.into_iter().filter(ours).collect())
    }
}

/// The changes that a restore has made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Brought {
    pub changes: Vec<PathChange>,
    /// Files that were edited in the middle of it, or of an earlier one that was killed, and lie elsewhere now.
    pub kept: Vec<KeptFile>,
}

/// Whether the rest of the working tree may change while files are put into their places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Others {
    Rest,
    /// Phases of the same run that write other files.
    MayWrite,
}

/// The files that may be removed.
struct Removable {
    paths: BTreeSet<Vec<u8>>,
    /// Only as long as it is what was brought.
    brought: BTreeMap<Vec<u8>, TreeEntry>,
}

impl Removable {
    fn allow(&self, step: &PathStep) -> bool {
        let as_brought = || self.brought.get(&step.path).is_some_and(|entry| step.before.as_ref() == Some(entry));
        step.after.is_some() || self.paths.contains(&step.path) || as_brought()
    }
}

impl Shadow<'_> {
    pub(super) fn bring(
        &self,
        steps: Vec<PathStep>,
        present: &str,
        others: Others,
        whole: &stop::Whole,
    ) -> Result<Brought, NotRestored> {
        let repository = self.repository;
        let untouched = |step: &PathStep| {
            let sides = [&step.before, &step.after];
            repository.is_store(&step.path)
                || sides.iter().any(|side| side.as_ref().is_some_and(TreeEntry::is_repository))
        };
        let steps: Vec<PathStep> = steps.into_iter().filter(|step| !untouched(step)).collect();
        repository.check_the_way(&steps)?;
        reached("vcs.restore-checked");
        let mut kept = StagedFiles::in_folder_of(self).clear(self)?;
        let stage = StagedFiles::fill(self, &steps)?;
        reached("vcs.restore-staged");
        if others == Others::Rest && self.tree_now()? != self.tree_of(present)? {
            return Err(NotRestored::Moved);
        }
        repository.check_the_way(&steps)?;
        reached("vcs.restore-go");
        whole.begin_now();
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
        kept.extend(stage.clear(self).map_err(|why| NotRestored::NotEnded { why })?);
        let changes = repository.shown(steps.iter().map(|step| (step, (None, None))));
        Ok(Brought { changes, kept })
    }
}

impl Repository {
    /// Refuses if something that no snapshot has lies where something is to be written.
    fn check_the_way(&self, steps: &[PathStep]) -> Result<(), NotRestored> {
        let removed: BTreeSet<&[u8]> =
            steps.iter().filter(|step| step.after.is_none()).map(|step| step.path.as_slice()).collect();
        let mut parents = BTreeMap::new();
        let mut blocking = BTreeSet::new();
        for step in steps.iter().filter(|step| step.before.is_none()) {
            let mut way =
                PathScan { top: &self.top, removed: &removed, parents: &mut parents, blocking: &mut blocking };
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
struct PathScan<'a> {
    top: &'a Path,
    removed: &'a BTreeSet<&'a [u8]>,
    /// Folders that were looked at before: whether there is one.
    parents: &'a mut BTreeMap<Vec<u8>, bool>,
    blocking: &'a mut BTreeSet<Vec<u8>>,
}

impl PathScan<'_> {
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

    /// Notes what is in the way at this place: all that is not about to be removed; folders count by what is in them.
    fn look_at(&mut self, path: &[u8]) {
        let full = self.top.join(super::path_of(path));
        let Ok(about) = fs::symlink_metadata(&full) else { return };
        if !about.is_dir() {
            if !self.removed.contains(path) {
                self.blocking.insert(path.to_vec());
            }
            return;
        }
        let Ok(entries) = listing::all(&full) else {
            self.blocking.insert(path.to_vec());
            return;
        };
        for entry in entries {
            use std::os::unix::ffi::OsStrExt;
            let below = [path, b"/", entry.file_name().as_bytes()].concat();
            self.look_at(&below);
        }
    }
}
