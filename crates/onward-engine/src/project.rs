//! Where the work is: the nearest folder upwards that has a store.

use onward_store::listing;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use onward_store::{OpenMode, RunFilter, RunRow, StoreExt};

use crate::error::{Error, Result};
use crate::files_taken::FilesTaken;
use crate::mirror;
use crate::start::meant_work::summary_of;
use crate::vcs;

/// The folder of the store, at the top of a project.
pub const FOLDER: &str = ".onward";
/// The folder in it for what is of this moment: locks and the like.
pub(crate) const RUNTIME: &str = "run";

/// Where other tools keep what they know of their work: files, folders of files with this ending, and folders of such folders.
const OTHERS_FILE: &str = ".claude/pipeline-state.json";
const OTHERS_FOLDERS: [(&str, &str); 2] = [(".claude/checkpoints", "json"), (".claude/data/checkpoints", "json")];
const OTHERS_ABOVE: (&str, &str, &str) = (".claude/crunch", "checkpoints", "yaml");
/// Entries of such a folder that are looked at.
const OTHERS_ENTRIES_MAX: usize = 1_000;

/// Names the project from elsewhere.
const NAMED_BY: &str = "ONWARD_PROJECT";

const PLAN_FILES: [&str; 2] = ["onward.yaml", ".onward/plan.yaml"];

/// The top folder of a project; its store may not exist yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    pub top: PathBuf,
    /// The working tree of a fork, where the caller stands in one: it belongs to the project and lies elsewhere.
    pub fork: Option<PathBuf>,
}

impl Project {
    pub fn at(top: PathBuf) -> Self {
        Self { top, fork: None }
    }

    /// The project that `from` lies in, if it has a store; where a variable names one, that.
    pub fn find(from: &Path) -> Option<Self> {
        let from = looked_for_from(from);
        let top = from.ancestors().find(|folder| folder.join(FOLDER).is_dir());
        top.map_or_else(|| Self::of_fork(&from), |top| Some(Self::at(top.to_owned())))
    }

    /// The same; an error that says where it was looked for.
    pub(crate) fn find_or_tell(from: &Path) -> Result<Self> {
        demand_named(from)?;
        Self::find(from).ok_or_else(|| Error::NoProject { from: looked_for_from(from) })
    }

    /// The project of a fork in whose working tree `from` lies. Git and the store both have to say so: a folder that came from
    /// elsewhere can claim to belong to any repository.
    fn of_fork(from: &Path) -> Option<Self> {
        let (from, tree) = (from.canonicalize().ok()?, vcs::linked_tree(from)?);
        let inside = from.strip_prefix(&tree.folder).ok()?;
        let place = tree.main.join(inside);
        let mut above = place.ancestors().take_while(|folder| folder.starts_with(&tree.main));
        let top = above.find(|folder| folder.join(FOLDER).is_dir())?.to_owned();
        has_run_in(&top.join(FOLDER), &tree.folder).then_some(Self { top, fork: Some(tree.folder) })
    }

    /// The project that `from` lies in, or the one that a first run would make: the git top, else the folder itself.
    pub fn find_or_new(from: &Path, home: Option<&Path>) -> Result<Self> {
        demand_named(from)?;
        if let Some(found) = Self::find(from) {
            return Ok(found);
        }
        let from = looked_for_from(from);
        let top = vcs::top(&from).unwrap_or(from);
        let resolved = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if home.is_some_and(|home| resolved(home) == resolved(&top)) {
            return Err(Error::HomeFolder);
        }
        Ok(Self::at(top))
    }

    pub fn store_folder(&self) -> PathBuf {
        self.top.join(FOLDER)
    }

    /// The plan that is meant where none is named: beside the caller first, then at the top.
    pub fn default_plan(&self, from: &Path) -> Result<PathBuf> {
        let places = [from, self.top.as_path()];
        let all = places.iter().flat_map(|folder| PLAN_FILES.iter().map(|file| folder.join(file)));
        all.into_iter().find(|path| path.is_file()).ok_or_else(|| Error::NoPlan { folder: self.top.clone() })
    }

    /// Where that plan would lie, as paths are kept.
    pub(crate) fn default_plans(&self, from: &Path) -> Vec<String> {
        let places = [from, self.top.as_path()];
        places.iter().flat_map(|folder| PLAN_FILES.iter().map(|file| self.relative(&folder.join(file)))).collect()
    }

    /// A path as it is kept: relative to the top, or to the working tree of a fork, where it lies inside, with links resolved.
    pub fn relative(&self, path: &Path) -> String {
        let resolved = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let top = self.top.canonicalize().unwrap_or_else(|_| self.top.clone());
        let mut tops = std::iter::once(&top).chain(&self.fork);
        let inside = tops.find_map(|top| resolved.strip_prefix(top).ok());
        inside.unwrap_or(&resolved).to_string_lossy().into_owned()
    }

    /// Records of other tools that lie in the project and were not taken over as they are.
    pub fn left_by_others(&self) -> Vec<String> {
        let taken = FilesTaken::of(self);
        self.places_of_others(&|place| !taken.holds(&self.top.join(place)))
    }

    /// All places in which other tools keep records. What we write for other tools is none of them.
    pub(crate) fn records_of_others(&self) -> Vec<String> {
        self.places_of_others(&|_| true)
    }

    fn places_of_others(&self, counts: &dyn Fn(&str) -> bool) -> Vec<String> {
        let ours = mirror::written(self);
        let has_files = |place: &str, ending: &str| {
            let names = entries(&self.top.join(place)).into_iter();
            let of_the_kind = names.filter(|name| Path::new(name).extension().is_some_and(|found| found == ending));
            let mut paths = of_the_kind.map(|name| format!("{place}/{}", name.to_string_lossy()));
            paths.any(|path| !ours.contains(&path) && counts(&path))
        };
        let file = self.top.join(OTHERS_FILE).is_file() && !ours.contains(OTHERS_FILE) && counts(OTHERS_FILE);
        let file = file.then(|| OTHERS_FILE.to_owned());
        let folders = OTHERS_FOLDERS.iter().filter(|(place, ending)| has_files(place, ending));
        let (above, below, ending) = OTHERS_ABOVE;
        let work = entries(&self.top.join(above)).into_iter().filter_map(|name| name.into_string().ok());
        let mut work: Vec<String> = work.map(|name| format!("{above}/{name}/{below}")).collect();
        work.retain(|place| has_files(place, ending));
        work.sort_unstable();
        file.into_iter().chain(folders.map(|(place, _)| (*place).to_owned())).chain(work).collect()
    }

    pub(crate) fn scratch(&self) -> PathBuf {
        self.store_folder().join("state")
    }

    pub(crate) fn runtime(&self) -> PathBuf {
        self.store_folder().join(RUNTIME)
    }
}

/// Where the search for a project begins.
pub(crate) fn looked_for_from(from: &Path) -> PathBuf {
    let named = std::env::var_os(NAMED_BY).filter(|named| !named.is_empty());
    named.map_or_else(|| from.to_owned(), |named| from.join(named))
}

/// Refuses a folder that the variable names and that is not there: no project is looked for above it, and none is made.
fn demand_named(from: &Path) -> Result<()> {
    let folder = looked_for_from(from);
    if folder == from || folder.is_dir() { Ok(()) } else { Err(Error::NoFolder { variable: NAMED_BY, folder }) }
}

/// Whether a run of this store works in a folder.
fn has_run_in(store: &Path, folder: &Path) -> bool {
    let rows = onward_store::open(store, OpenMode::Look).and_then(|mut store| store.all_runs(&RunFilter::default()));
    let is_here = |worktree: String| Path::new(&worktree) == folder;
    let is_of = |row: &RunRow| summary_of(row).and_then(|summary| summary.worktree).is_some_and(is_here);
    rows.is_ok_and(|rows| rows.iter().any(is_of))
}

fn entries(folder: &Path) -> Vec<OsString> {
    listing::readable(folder).iter().take(OTHERS_ENTRIES_MAX).map(std::fs::DirEntry::file_name).collect()
}
