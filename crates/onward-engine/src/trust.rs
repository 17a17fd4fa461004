//! Whether the store of a project is the user's own, and what it takes to make it that.
//!
//! A store says what is executed. One that was not made here (a clone, an archive, a copy), or of which git tracks files and
//! so may replace them with the next pull, is only looked at until a person says `onward trust`. See
//! `docs/design/0019-foreign-stores.md`.

use std::fs::{self, Metadata, Permissions};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use onward_core::config::Layer;
use onward_store::listing;
use onward_store::ownership::{self, FolderStanding, Foreign, OwnerMark, is_for_people};
use onward_store::{StoreError, Unsafe};

use crate::Onward;
use crate::doctor::RepairFolder;
use crate::error::{Error, Result};
use crate::plan_files;
use crate::project::{FOLDER, Project};
use crate::queries::answers::ListFilter;
use crate::sys::plain_file;
use crate::vcs;

/// The word in the mark of a store for "git may track it".
const TRACKED: &str = "tracked";
/// Entries below the folder of a store that are looked at before it is trusted.
const ENTRIES_MAX: usize = 1_000_000;
/// An index that is larger is left to git to read.
const INDEX_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// Files of which git tracks the store that are named.
const TRACKED_NAMED_MAX: usize = 5;

/// Why a store is not written to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doubt {
    NotMadeHere(Foreign),
    /// Git tracks these files of it, so that whoever writes to the repository writes to the store.
    Tracked(Vec<String>),
}

impl std::fmt::Display for Doubt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotMadeHere(why @ Foreign::Brought) => write!(f, "not all of the store was recorded here: {why}"),
            Self::NotMadeHere(why) => write!(f, "the store was not made here: {why}"),
            Self::Tracked(files) => {
                write!(f, "git tracks files of the store and may replace them: {}", files.join(", "))
            }
        }
    }
}

/// The result of `onward trust`.
#[derive(Debug)]
pub struct Trusted {
    pub folder: PathBuf,
    /// The doubt about the store; none if it was the user's own before.
    pub doubt: Option<Doubt>,
    pub runs: usize,
    pub unfinished: usize,
    /// Keys of the project's configuration that are in force from now on, each with file and line.
    pub settings: Vec<(String, String)>,
    /// Where the private git folder went that was not made here; a new one is made when it is needed.
    pub aside: Option<String>,
}

/// Why the store of a project is not the user's own; none where it is, or where there is none yet. Nothing is written.
pub(crate) fn doubt(project: &Project) -> Option<Doubt> {
    let folder = project.store_folder();
    match ownership::standing(&folder) {
        FolderStanding::New => None,
        FolderStanding::Foreign(why) => Some(Doubt::NotMadeHere(why)),
        FolderStanding::Ours if OwnerMark::read(&folder).allows(TRACKED) => None,
        FolderStanding::Ours => tracked(&project.top).map(Doubt::Tracked),
    }
}

impl Onward {
    /// The warning of look verbs about a store that is not the user's own.
    pub fn doubt_in_words(&self) -> Option<String> {
        let doubt = doubt(&self.project)?;
        Some(format!("{doubt}; it is only looked at, and nothing in it is executed, until you type  onward trust"))
    }

    /// Takes the store of a project for the user's own from now on.
    pub fn trust(from: &Path) -> Result<Trusted> {
        let project = Project::find_or_tell(from)?;
        let folder = project.store_folder();
        let before = doubt(&project);
        let loose = examine(&folder)?;
        for (path, mode) in loose {
            let closed = fs::set_permissions(&path, Permissions::from_mode(mode));
            closed.map_err(Error::io(format!("closing {} to others", path.display())))?;
        }
        let mut aside = None;
        if before.is_some() && fs::symlink_metadata(folder.join("git")).is_ok() {
            let place = RepairFolder::new(&folder, Timestamp::now());
            place.take(&folder.join("git"))?;
            aside = Some(place.shown());
        }
        // Commands that the repository itself names are trusted with it, as they stand now.
        let filters = if vcs::is_repository(&project.top) { vcs::Filters::in_folder(&project.top).ok() } else { None };
        let filters = filters.and_then(|filters| filters.word());
        let is_tracked = tracked(&project.top).map(|_| TRACKED);
        let cautious = plan_files::needing_trust(&project)?;
        let news = cautious.iter().filter(|(_, layer)| !allows(&project, layer));
        let settings = news.flat_map(|(path, layer)| {
            let place = |line: u32| format!("{}:{line}", path.display());
            let found = layer.settings().map(|(key, setting)| (key.to_owned(), place(setting.place.line)));
            found.collect::<Vec<_>>()
        });
        let settings: Vec<(String, String)> = settings.collect();
        let cautious = cautious.map(|(_, layer)| word_for(&layer));
        let allowed: Vec<&str> = is_tracked.into_iter().chain(filters.as_deref()).chain(cautious.as_deref()).collect();
        ownership::trust(&folder, &allowed)?;
        let items = match Self::look(from)?.list(&ListFilter { all: true, ..ListFilter::default() }) {
            // Only a configuration is there so far.
            Err(Error::NoRuns) => Vec::new(),
            listed => listed?,
        };
        let unfinished = items.iter().filter(|item| item.resumable).count();
        Ok(Trusted { folder, doubt: before, runs: items.len(), unfinished, settings, aside })
    }
}

/// Whether a person has trusted these settings of the project's configuration, with just these values. Always, where there are none.
pub(crate) fn allows(project: &Project, cautious: &Layer) -> bool {
    if cautious.is_empty() {
        return true;
    }
    let folder = project.store_folder();
    let mark = OwnerMark::read(&folder);
    mark.fits(&folder) && mark.allows(&word_for(cautious))
}

/// The word in the mark of a store by which exactly these settings are trusted.
fn word_for(cautious: &Layer) -> String {
    let mut hasher = blake3::Hasher::new();
    for (key, setting) in cautious.settings() {
        // No key and no value in JSON has a zero in it.
        hasher.update(format!("{key}\0{}\0", setting.value).as_bytes());
    }
    format!("config-{}", hasher.finalize().to_hex())
}

/// Looks at everything on which a store relies, and refuses it for a link, a second name, another owner or a device. Gives
/// what is open to others, with the mode that it should have.
fn examine(folder: &Path) -> Result<Vec<(PathBuf, u32)>> {
    let refused = |path: &Path, why: Unsafe| Error::from(StoreError::Unsafe { path: path.to_owned(), why });
    let (mut loose, mut open, mut entries) = (Vec::new(), vec![folder.to_owned()], 0);
    while let Some(path) = open.pop() {
        entries += 1;
        if entries > ENTRIES_MAX {
            return Err(refused(folder, Unsafe::Kind));
        }
        let about = fs::symlink_metadata(&path).map_err(Error::io(format!("looking at {}", path.display())))?;
        let by_people =
            path.parent() == Some(folder) && path.file_name().is_some_and(|name| is_for_people(Path::new(name)));
        if let Some(why) = unsafe_to_use(&about).filter(|_| !by_people) {
            return Err(refused(&path, why));
        }
        let mode = about.mode() & 0o777;
        let closed = if by_people { mode & !0o022 } else { mode & !0o077 };
        if !about.is_symlink() && closed != mode {
            loose.push((path.clone(), closed));
        }
        if about.is_dir() && !belongs_to_a_phase(folder, &path) {
            let names = listing::all(&path).map_err(Error::io(format!("looking into {}", path.display())))?;
            open.extend(names.iter().map(std::fs::DirEntry::path));
        }
    }
    Ok(loose)
}

fn unsafe_to_use(about: &Metadata) -> Option<Unsafe> {
    let kind = about.file_type();
    if kind.is_symlink() {
        Some(Unsafe::Link)
    } else if about.uid() != nix::unistd::geteuid().as_raw() {
        Some(Unsafe::Owner)
    } else if kind.is_file() && about.nlink() > 1 {
        Some(Unsafe::SecondName)
    } else if !kind.is_file() && !kind.is_dir() && !kind.is_fifo() {
        Some(Unsafe::Kind)
    } else {
        None
    }
}

/// Whether a path belongs to a phase: scratch folders (`state/RUN/PHASE`) and copies of artifacts
/// (`artifacts/RUN/NAME`) may hold anything, links too; onward writes nothing into them. The private git folder is put
/// aside.
fn belongs_to_a_phase(folder: &Path, path: &Path) -> bool {
    let below: Vec<_> = path.strip_prefix(folder).map(|below| below.iter().collect()).unwrap_or_default();
    match below.as_slice() {
        [first, ..] if *first == "state" => below.len() >= 3,
        [first, ..] if *first == "artifacts" => below.len() >= 3,
        [first] => *first == "git",
        _ => false,
    }
}

/// Files of the store that git tracks, apart from those that people write; none if there are none.
fn tracked(top: &Path) -> Option<Vec<String>> {
    let index = index_of(top)?;
    if !may_track(&index) {
        return None;
    }
    let listed = vcs::lines(top, &["ls-files", "--", FOLDER])?;
    let by_people = |line: &str| {
        line.strip_prefix(FOLDER).is_some_and(|rest| is_for_people(Path::new(rest.trim_start_matches('/'))))
    };
    let files: Vec<String> = listed.into_iter().filter(|line| !by_people(line)).take(TRACKED_NAMED_MAX).collect();
    (!files.is_empty()).then_some(files)
}

/// The index of the working tree that a folder lies in, found without git.
fn index_of(top: &Path) -> Option<PathBuf> {
    let (folder, git) = top.ancestors().map(|folder| (folder, folder.join(".git"))).find(|(_, git)| git.exists())?;
    if git.is_dir() {
        return Some(git.join("index"));
    }
    let text = plain_file::read(&git, 4096).ok()?;
    let named = String::from_utf8_lossy(&text).trim_end().strip_prefix("gitdir: ")?.to_owned();
    Some(folder.join(named).join("index"))
}

/// Whether an index may name files of a store. Its paths stand in it as they are, unless it is of the form that shortens them
/// or that has a part of them in another file: then only git can tell. This is looked at by every command that writes, and a
/// git process would take longer than most of them.
fn may_track(index: &Path) -> bool {
    let bytes = match plain_file::read(index, INDEX_BYTES_MAX) {
        Ok(bytes) => bytes,
        Err(why) => return why.kind() != std::io::ErrorKind::NotFound,
    };
    let version = bytes.get(4..8).map(|version| version.iter().fold(0_u32, |sum, byte| sum << 8 | u32::from(*byte)));
    !matches!(version, Some(2 | 3)) || contains(&bytes, b".onward/") || contains(&bytes, b"link\0")
}

fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes of an index that names no file of a store are told from those of one that does, and from one that only git can read.
    #[test]
    fn an_index_that_may_name_files_of_a_store_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("index");
        let may = |bytes: &[u8]| {
            fs::write(&path, bytes).expect("a file");
            may_track(&path)
        };
        assert!(!may(b"DIRC\0\0\0\x02\0\0\0\x01 src/main.rs\0"));
        assert!(!may(b"DIRC\0\0\0\x03\0\0\0\x01 .onwards\0"));
        assert!(may(b"DIRC\0\0\0\x02\0\0\0\x01 sub/.onward/onward.db\0"));
        assert!(may(b"DIRC\0\0\0\x04\0\0\0\x01 d/onward.db\0"), "paths are shortened there");
        assert!(may(b"DIRC\0\0\0\x02\0\0\0\x00link\0\0\0\x14"), "the rest lies in another file");
        fs::remove_file(&path).expect("it was there");
        assert!(!may_track(&path));
    }
}
