//! Where the work is: the nearest folder upwards that has a store.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::vcs;

/// The folder of the store, at the top of a project.
pub const FOLDER: &str = ".onward";

/// Where other tools keep what they know of their work: files, folders of files with this ending, and folders of such folders.
const OTHERS_FILE: &str = ".claude/pipeline-state.json";
const OTHERS_FOLDERS: [(&str, &str); 2] = [(".claude/checkpoints", "json"), (".claude/data/checkpoints", "json")];
const OTHERS_ABOVE: (&str, &str, &str) = (".claude/crunch", "checkpoints", "yaml");
/// Entries of such a folder that are looked at.
const OTHERS_ENTRIES_MAX: usize = 1_000;

const PLAN_FILES: [&str; 2] = ["onward.yaml", ".onward/plan.yaml"];

/// The top folder of a project; its store may not exist yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    pub top: PathBuf,
}

impl Project {
    /// The project that `from` lies in, if it has a store.
    pub fn find(from: &Path) -> Option<Self> {
        let top = from.ancestors().find(|folder| folder.join(FOLDER).is_dir())?;
        Some(Self { top: top.to_owned() })
    }

    /// The project that `from` lies in, or the one that a first run would make: the git top, else the folder itself.
    pub fn find_or_new(from: &Path, home: Option<&Path>) -> Result<Self> {
        if let Some(found) = Self::find(from) {
            return Ok(found);
        }
        let top = vcs::top(from).unwrap_or_else(|| from.to_owned());
        let resolved = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if home.is_some_and(|home| resolved(home) == resolved(&top)) {
            return Err(Error::HomeFolder);
        }
        Ok(Self { top })
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

    /// A path as it is kept: relative to the top where it lies inside, with links resolved.
    pub fn relative(&self, path: &Path) -> String {
        let resolved = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let top = self.top.canonicalize().unwrap_or_else(|_| self.top.clone());
        resolved.strip_prefix(&top).unwrap_or(&resolved).to_string_lossy().into_owned()
    }

    /// Records of other tools that lie in the project.
    pub fn left_by_others(&self) -> Vec<String> {
        let file = self.top.join(OTHERS_FILE).is_file().then(|| OTHERS_FILE.to_owned());
        let folders = OTHERS_FOLDERS.iter().filter(|(place, ending)| has_files(&self.top.join(place), ending));
        let (above, below, ending) = OTHERS_ABOVE;
        let work = entries(&self.top.join(above)).into_iter().filter_map(|name| name.into_string().ok());
        let mut work: Vec<String> = work.map(|name| format!("{above}/{name}/{below}")).collect();
        work.retain(|place| has_files(&self.top.join(place), ending));
        work.sort_unstable();
        file.into_iter().chain(folders.map(|(place, _)| (*place).to_owned())).chain(work).collect()
    }

    pub(crate) fn scratch(&self) -> PathBuf {
        self.store_folder().join("state")
    }

    pub(crate) fn runtime(&self) -> PathBuf {
        self.store_folder().join("run")
    }
}

fn has_files(folder: &Path, ending: &str) -> bool {
    entries(folder).iter().any(|name| Path::new(name).extension().is_some_and(|found| found == ending))
}

fn entries(folder: &Path) -> Vec<OsString> {
    let Ok(read) = std::fs::read_dir(folder) else { return Vec::new() };
    read.take(OTHERS_ENTRIES_MAX).filter_map(|entry| Some(entry.ok()?.file_name())).collect()
}
