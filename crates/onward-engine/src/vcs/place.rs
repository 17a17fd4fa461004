//! Moves files into their places, and back if one of them will not go.
//!
//! Everything that is to be written lies ready beforehand, so a full disk is noticed before anything is touched. Then files are
//! swapped: what was there goes where the new one lay, and is compared there with what the snapshot has of it, since it may have
//! been edited in the meantime. Going back is the same the other way round. Folders are entered one by one and no link is followed.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, BufRead, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, RenameFlags, openat, renameat, renameat2};
use nix::sys::stat::{Mode, fstatat, mkdirat};
use nix::unistd::{UnlinkatFlags, unlinkat};
use onward_store::{listing, private};

use super::changes::PathStep;
use super::path_of;
use super::repository::Repository;
use super::scan::TreeEntry;
use super::shadow::Shadow;
use super::trouble::GitTrouble;
use crate::kill_point::reached;

/// In the shadow: what is to be put into its place, and what was there.
const FOLDER: &str = "restore";
/// On the stage: the paths of all steps, for whoever finds it after a kill.
const PATHS: &str = "paths";

/// Files that lie ready, each named by the number of its step.
pub(super) struct StagedFiles {
    folder: PathBuf,
}

impl StagedFiles {
    pub(super) fn in_folder_of(shadow: &Shadow<'_>) -> Self {
        Self { folder: shadow.folder.join(FOLDER) }
    }

    /// Writes everything that the steps bring, and flushes it. The stage must have been cleared.
    pub(super) fn fill(shadow: &Shadow<'_>, steps: &[PathStep]) -> Result<Self, GitTrouble> {
        let stage = Self::in_folder_of(shadow);
        DirBuilder::new().mode(0o700).create(&stage.folder).map_err(GitTrouble::file(&stage.folder, "made"))?;
        let paths: Vec<u8> = steps.iter().flat_map(|step| [step.path.as_slice(), b"\0"].concat()).collect();
        let list = stage.folder.join(PATHS);
        private::replace(&list, &paths).map_err(GitTrouble::written(&list))?;
        let wanted: Vec<(usize, &PathStep, &TreeEntry)> =
            steps.iter().enumerate().filter_map(|(at, step)| Some((at, step, step.after.as_ref()?))).collect();
        let names: Vec<u8> = wanted.iter().flat_map(|(_, _, entry)| [entry.hash.as_bytes(), b"\n"].concat()).collect();
        if !wanted.is_empty() {
            shadow.call("cat-file").arg("--batch").input(names).stream(|from| {
                wanted.iter().try_for_each(|(at, step, entry)| stage.put(from, *at, step, entry, shadow.repository))
            })?;
        }
        let flushed = File::open(&stage.folder).and_then(|folder| Ok(nix::unistd::syncfs(folder.as_fd())?));
        flushed.map_err(GitTrouble::written(&stage.folder))?;
        Ok(stage)
    }

    fn put(
        &self,
        from: &mut dyn BufRead,
        at: usize,
        step: &PathStep,
        entry: &TreeEntry,
        repository: &Repository,
    ) -> Result<(), GitTrouble> {
        let path = self.folder.join(at.to_string());
        let mut line = String::new();
        from.read_line(&mut line).map_err(GitTrouble::read(&path))?;
        let size: u64 = match line.trim_end().split(' ').collect::<Vec<_>>().as_slice() {
            [_, "blob", size] => size.parse().map_err(|_| GitTrouble::unclear("cat-file", line.as_bytes()))?,
            _ => return Err(GitTrouble::unclear("cat-file", line.as_bytes())),
        };
        let mut content = from.take(size);
        let written = if entry.is_link() {
            let mut target = Vec::new();
            content.read_to_end(&mut target).and_then(|_| std::os::unix::fs::symlink(path_of(&target), &path))
        } else {
            let mode = if entry.is_executable() { 0o777 } else { 0o666 };
            let file = File::options().write(true).create_new(true).mode(mode).open(&path);
            file.and_then(|mut file| {
                io::copy(&mut content, &mut file)?;
                keep_permissions(&file, step, entry, repository)
            })
        };
        written.map_err(GitTrouble::written(&path))?;
        if content.limit() > 0 {
            return Err(GitTrouble::unclear("cat-file", b"the object is cut short"));
        }
        from.read_exact(&mut [0]).map_err(GitTrouble::read(&path))
    }

    /// Removes what lies there, from an earlier try that was killed as well. A file with a content that git has not, because it was
    /// edited while it was swapped out, is moved to the folder of kept files instead.
    pub(super) fn clear(&self, shadow: &Shadow<'_>) -> Result<Vec<KeptFile>, GitTrouble> {
        let names = self.names()?;
        let mut kept = Vec::new();
        if !names.is_empty() {
            let paths = fs::read(self.folder.join(PATHS)).unwrap_or_default();
            let paths: Vec<&[u8]> = super::call::parts(&paths).collect();
            let unknown = self.unknown_to_git(shadow, &names)?;
            for at in unknown {
                let path = paths.get(at).map_or_else(PathBuf::new, |path| path_of(path));
                let now = jiff::Timestamp::now().as_nanosecond();
                let place = shadow.repository.store.join(KEPT).join(format!("{now}-{at}"));
                private::make_folders(&shadow.repository.store, &place).map_err(GitTrouble::file(&place, "made"))?;
                kept.push(self.keep(at, path, &place)?);
            }
        }
        match fs::remove_dir_all(&self.folder) {
            Err(why) if why.kind() != io::ErrorKind::NotFound => Err(GitTrouble::file(&self.folder, "removed")(why)),
            Ok(()) | Err(_) => Ok(kept),
        }
    }

    fn keep(&self, at: usize, path: PathBuf, place: &Path) -> Result<KeptFile, GitTrouble> {
        let name = path.file_name().map_or_else(|| at.to_string().into(), std::ffi::OsStr::to_owned);
        let place = place.join(name);
        fs::rename(self.folder.join(at.to_string()), &place).map_err(GitTrouble::written(&place))?;
        Ok(KeptFile { path, place })
    }

    /// The numbers of the steps whose files lie here.
    fn names(&self) -> Result<Vec<usize>, GitTrouble> {
        let entries = match listing::all(&self.folder) {
            Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other.map_err(GitTrouble::read(&self.folder))?,
        };
        Ok(entries.iter().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
    }

    /// Those whose content is no object of the repository.
    fn unknown_to_git(&self, shadow: &Shadow<'_>, names: &[usize]) -> Result<Vec<usize>, GitTrouble> {
        let hashes = self.hashes(shadow, names)?;
        let asked: Vec<u8> = hashes.iter().flat_map(|hash| [hash.as_bytes(), b"\n"].concat()).collect();
        let answer = shadow.call("cat-file").arg("--batch-check").input(asked).output()?;
        let missing =
            String::from_utf8_lossy(&answer).lines().map(|line| line.ends_with(" missing")).collect::<Vec<_>>();
        if missing.len() != names.len() {
            return Err(GitTrouble::unclear("cat-file", &answer));
        }
        Ok(names.iter().zip(missing).filter(|(_, missing)| *missing).map(|(at, _)| *at).collect())
    }

    /// The object names of files on the stage; the content of a link is its target.
    fn hashes(&self, shadow: &Shadow<'_>, names: &[usize]) -> Result<Vec<String>, GitTrouble> {
        let mut listed = Vec::new();
        for at in names {
            let path = self.folder.join(at.to_string());
            let about = fs::symlink_metadata(&path).map_err(GitTrouble::read(&path))?;
            if about.is_symlink() {
                let target = fs::read_link(&path).map_err(GitTrouble::read(&path))?;
                let beside = self.folder.join(format!("{at}.link"));
                private::replace(&beside, target.as_os_str().as_bytes()).map_err(GitTrouble::written(&beside))?;
                listed.extend_from_slice(quoted(&beside).as_bytes());
            } else {
                listed.extend_from_slice(quoted(&path).as_bytes());
            }
        }
        let words = ["--no-filters", "--stdin-paths"];
        let answer = shadow.call("hash-object").args(words).input(listed).output()?;
        let hashes: Vec<String> = String::from_utf8_lossy(&answer).lines().map(str::to_owned).collect();
        if hashes.len() == names.len() { Ok(hashes) } else { Err(GitTrouble::unclear("hash-object", &answer)) }
    }
}

/// A line that git reads as this path, whatever is in it.
fn quoted(path: &Path) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'.' | b'_' | b'-');
    let letters = path.as_os_str().as_bytes().iter().map(|&byte| match byte {
        byte if plain(byte) => char::from(byte).to_string(),
        byte => format!("\\{byte:03o}"),
    });
    format!("\"{}\"\n", letters.collect::<String>())
}

/// In the store: files that were edited while they were swapped out, so that no snapshot has them.
const KEPT: &str = "kept";

/// A file that would have been lost, and where it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptFile {
    /// From the top of the working tree.
    pub path: PathBuf,
    pub place: PathBuf,
}

impl KeptFile {
    pub(crate) fn words(&self) -> String {
        format!("{}, edited while files were brought back: it lies in {}", self.path.display(), self.place.display())
    }
}

/// Git knows only whether a file may be executed; who may read and write it is taken from the file that is replaced.
fn keep_permissions(file: &File, step: &PathStep, entry: &TreeEntry, repository: &Repository) -> io::Result<()> {
    if step.before.as_ref().is_none_or(TreeEntry::is_link) {
        return Ok(());
    }
    let Ok(about) = fs::symlink_metadata(repository.top.join(path_of(&step.path))) else { return Ok(()) };
    let mode = about.permissions().mode() & 0o777;
    let mode = if entry.is_executable() { mode | (mode & 0o444) >> 2 } else { mode & !0o111 };
    if about.is_file() { file.set_permissions(Permissions::from_mode(mode)) } else { Ok(()) }
}

/// Where it stopped.
pub(super) struct MoveFailed {
    pub(super) path: PathBuf,
    pub(super) why: io::Error,
    /// Something that was moved away and could not be moved back.
    pub(super) not_rolled_back: Option<PathBuf>,
}

/// One step that was done, so that it can be undone.
enum MoveDone {
    /// A file went away, to the stage.
    Away(usize),
    /// A file went from the stage to a free place.
    Placed(usize),
    /// A file and the one on the stage changed places.
    Swapped(usize),
    MadeFolder(Vec<u8>),
    RemovedFolder(Vec<u8>),
}

pub(super) struct Placing<'a> {
    shadow: &'a Shadow<'a>,
    repository: &'a Repository,
    top: OwnedFd,
    on_stage: &'a StagedFiles,
    stage: OwnedFd,
    done: Vec<MoveDone>,
}

impl<'a> Placing<'a> {
    pub(super) fn new(shadow: &'a Shadow<'a>, on_stage: &'a StagedFiles) -> Result<Self, GitTrouble> {
        let open = |path: &PathBuf| File::open(path).map(OwnedFd::from).map_err(GitTrouble::read(path));
        let repository = shadow.repository;
        let (top, stage) = (open(&repository.top)?, open(&on_stage.folder)?);
        Ok(Self { shadow, repository, top, on_stage, stage, done: Vec::new() })
    }

    /// Removes, then writes. At the first failure everything goes back, also where something was edited meanwhile.
    pub(super) fn all(mut self, steps: &[PathStep]) -> Result<(), MoveFailed> {
        let numbered = || steps.iter().enumerate();
        let removals = numbered().filter(|(_, step)| step.after.is_none());
        let writes = numbered().filter(|(_, step)| step.after.is_some());
        for (at, step) in removals.chain(writes) {
            let done = if step.after.is_none() { self.remove(at, step) } else { self.write(at, step) };
            if let Err(why) = done {
                let path = self.repository.in_project(&step.path).unwrap_or_default();
                let not_rolled_back = self.roll_back(steps);
                return Err(MoveFailed { path, why: why.into(), not_rolled_back });
            }
            reached("vcs.restore-one");
        }
        if let Some((path, why)) = self.edited_meanwhile(steps) {
            let not_rolled_back = self.roll_back(steps);
            return Err(MoveFailed { path, why, not_rolled_back });
        }
        // What is not flushed yet is done again by whoever finds no record of the end.
        let _ = nix::unistd::syncfs(self.top.as_fd());
        Ok(())
    }

    /// A file that was swapped out and is not what the snapshot has: somebody wrote into it between the snapshot and the swap.
    fn edited_meanwhile(&self, steps: &[PathStep]) -> Option<(PathBuf, io::Error)> {
        let out = self.done.iter().filter_map(|done| match done {
            MoveDone::Away(at) | MoveDone::Swapped(at) => Some(*at),
            MoveDone::Placed(_) | MoveDone::MadeFolder(_) | MoveDone::RemovedFolder(_) => None,
        });
        let out: Vec<usize> = out.collect();
        if out.is_empty() {
            return None;
        }
        let named = |at: usize| self.repository.in_project(&steps[at].path).unwrap_or_default();
        let hashes = match self.on_stage.hashes(self.shadow, &out) {
            Ok(hashes) => hashes,
            Err(why) => return Some((named(out[0]), io::Error::other(why.to_string()))),
        };
        let is_other = |at: usize, hash: &str| steps[at].before.as_ref().is_none_or(|before| before.hash != hash);
        let edited = out.into_iter().zip(hashes).find(|(at, hash)| is_other(*at, hash));
        edited.map(|(at, _)| (named(at), io::Error::other("it was edited in the same moment")))
    }

    fn remove(&mut self, at: usize, step: &PathStep) -> nix::Result<()> {
        let (folder, name) = match self.enter(&step.path) {
            // Somebody else was quicker.
            Err(Errno::ENOENT) => return Ok(()),
            other => other?,
        };
        match move_file(folder.as_fd(), name, self.stage.as_fd(), at.to_string().as_bytes()) {
            Err(Errno::ENOENT) => return Ok(()),
            other => other?,
        }
        self.done.push(MoveDone::Away(at));
        self.tidy_above(&step.path);
        Ok(())
    }

    fn write(&mut self, at: usize, step: &PathStep) -> nix::Result<()> {
        self.make_above(&step.path)?;
        let (folder, name) = self.enter(&step.path)?;
        let staged = at.to_string();
        if step.before.is_some() {
            match swap(folder.as_fd(), name, self.stage.as_fd(), staged.as_bytes()) {
                Ok(()) => {
                    self.done.push(MoveDone::Swapped(at));
                    return Ok(());
                }
                // It went away in the meantime: its place is free.
                Err(Errno::ENOENT) => {}
                Err(why) => return Err(why),
            }
        } else {
            self.remove_empty_folders(&step.path);
        }
        move_file(self.stage.as_fd(), staged.as_bytes(), folder.as_fd(), name)?;
        self.done.push(MoveDone::Placed(at));
        Ok(())
    }

    /// The folder of a path, entered part by part, and the name in it.
    fn enter<'p>(&self, path: &'p [u8]) -> nix::Result<(OwnedFd, &'p [u8])> {
        let mut parts: Vec<&[u8]> = path.split(|&byte| byte == b'/').collect();
        let name = parts.pop().expect("a split has a last part");
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let mut folder = openat(self.top.as_fd(), ".", flags, Mode::empty())?;
        for part in parts {
            folder = openat(folder.as_fd(), part, flags, Mode::empty())?;
        }
        Ok((folder, name))
    }

    fn make_above(&mut self, path: &[u8]) -> nix::Result<()> {
        for above in folders_above(path) {
            let (folder, name) = self.enter(above)?;
            match mkdirat(folder.as_fd(), name, Mode::from_bits_truncate(0o777)) {
                Ok(()) => self.done.push(MoveDone::MadeFolder(above.to_vec())),
                Err(Errno::EEXIST) => {}
                Err(why) => return Err(why),
            }
        }
        Ok(())
    }

    /// Folders that became empty go, as git lets them go. Those with anything in them stay.
    fn tidy_above(&mut self, path: &[u8]) {
        for above in folders_above(path).into_iter().rev() {
            if above.len() < self.repository.prefix.len() || !self.remove_folder(above) {
                return;
            }
        }
    }

    /// A folder in which only folders are makes room for a file.
    fn remove_empty_folders(&mut self, path: &[u8]) {
        let full = self.repository.top.join(path_of(path));
        if !fs::symlink_metadata(&full).is_ok_and(|about| about.is_dir()) {
            return;
        }
        for entry in listing::readable(&full) {
            self.remove_empty_folders(&[path, b"/", entry.file_name().as_bytes()].concat());
        }
        self.remove_folder(path);
    }

    fn remove_folder(&mut self, path: &[u8]) -> bool {
        let removed =
            self.enter(path).and_then(|(folder, name)| unlinkat(folder.as_fd(), name, UnlinkatFlags::RemoveDir));
        if removed.is_ok() {
            self.done.push(MoveDone::RemovedFolder(path.to_vec()));
        }
        removed.is_ok()
    }

    /// Undoes everything, newest first; gives the first path that would not go back.
    fn roll_back(&mut self, steps: &[PathStep]) -> Option<PathBuf> {
        let mut lost = None;
        for done in std::mem::take(&mut self.done).into_iter().rev() {
            let path = match &done {
                MoveDone::Away(at) | MoveDone::Placed(at) | MoveDone::Swapped(at) => steps[*at].path.clone(),
                MoveDone::MadeFolder(path) | MoveDone::RemovedFolder(path) => path.clone(),
            };
            if self.undo(&done, &path).is_err() && lost.is_none() {
                lost = self.repository.in_project(&path);
            }
        }
        lost
    }

    fn undo(&self, done: &MoveDone, path: &[u8]) -> nix::Result<()> {
        let (folder, name) = self.enter(path)?;
        let (folder, stage) = (folder.as_fd(), self.stage.as_fd());
        match done {
            MoveDone::Away(at) => move_file(stage, at.to_string().as_bytes(), folder, name),
            MoveDone::Placed(at) => move_file(folder, name, stage, at.to_string().as_bytes()),
            MoveDone::Swapped(at) => swap(folder, name, stage, at.to_string().as_bytes()),
            // One that somebody has put something into meanwhile may stay.
            MoveDone::MadeFolder(_) => unlinkat(folder, name, UnlinkatFlags::RemoveDir).or(Ok(())),
            MoveDone::RemovedFolder(_) => mkdirat(folder, name, Mode::from_bits_truncate(0o777)),
        }
    }
}

fn folders_above(path: &[u8]) -> Vec<&[u8]> {
    path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| &path[..at]).collect()
}

/// Moves a file to a place that must be free.
fn move_file(from: BorrowedFd<'_>, name: &[u8], to: BorrowedFd<'_>, new_name: &[u8]) -> nix::Result<()> {
    match renameat2(from, name, to, new_name, RenameFlags::RENAME_NOREPLACE) {
        // The file system cannot do both at once, so it is looked at first.
        Err(Errno::EINVAL | Errno::ENOSYS) => match fstatat(to, new_name, AtFlags::AT_SYMLINK_NOFOLLOW) {
            Ok(_) => Err(Errno::EEXIST),
            Err(Errno::ENOENT) => renameat(from, name, to, new_name),
            Err(why) => Err(why),
        },
        other => other,
    }
}

/// Lets two files change places.
fn swap(one: BorrowedFd<'_>, name: &[u8], other: BorrowedFd<'_>, other_name: &[u8]) -> nix::Result<()> {
    match renameat2(one, name, other, other_name, RenameFlags::RENAME_EXCHANGE) {
        Err(Errno::EINVAL | Errno::ENOSYS) => {
            let between = [other_name, b".old"].concat();
            renameat(one, name, other, between.as_slice())?;
            renameat(other, other_name, one, name).inspect_err(|_| {
                // The way back is the way that just worked.
                let _ = renameat(other, between.as_slice(), one, name);
            })?;
            renameat(other, between.as_slice(), other, other_name)
        }
        done => done,
    }
}
