//! A git folder of our own beside the user's: an index that stays from one snapshot to the next, and rules by which bytes are
//! taken as they are.
//!
//! It lies in the store and shares the objects of the repository. Nothing in it is worth keeping: what does not fit is built anew.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::sys::statfs::{BTRFS_SUPER_MAGIC, EXT4_SUPER_MAGIC, FsType, TMPFS_MAGIC, XFS_SUPER_MAGIC, statfs};

use onward_store::{ownership, private};

use super::call::{GitCall, command, parts};
use super::leftover_processes::{self, ShadowOwner};
use super::repository::{ObjectFormat, Repository};
use super::shadow_folder;
use super::trouble::GitTrouble;
use crate::sys::{plain_file, stop};

/// In the folder of the store.
const FOLDER: &str = "git";

/// Nothing is converted, whatever the repository says: the strongest of all places for attributes.
const ATTRIBUTES: &str = "* -text -crlf !eol -ident -filter !working-tree-encoding\n";

/// The attributes that would make the bytes in the repository differ from those on disk.
const CONVERTING: [&str; 6] = ["text", "crlf", "eol", "ident", "filter", "working-tree-encoding"];

/// The settings that the shadow repository takes over from the user's configuration: how files are seen, not what is
/// done with them.
const TAKEN_OVER: &str =
    r"^core\.(filemode|symlinks|ignorecase|precomposeunicode|excludesfile|sharedrepository|autocrlf)$";

/// A commit and a tree.
const LAST_BYTES_MAX: u64 = 1024;
/// Longer lists of ignored files are not taken over.
const EXCLUDE_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// How often a folder that is not ours is put aside before it is given up.
const TRIES_MAX: u32 = 4;
/// How long another onward process is waited for.
const LOCK_TIME_MAX: Duration = Duration::from_mins(1);
/// A git that outlived its onward gets so long to let go of the index.
const LEFTOVER_TIME_MAX: Duration = Duration::from_secs(2);
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// The shadow, held by us alone as long as this lives.
pub(super) struct Shadow<'a> {
    pub(super) repository: &'a Repository,
    pub(super) folder: PathBuf,
    lock: File,
    owner: ShadowOwner,
}

impl Drop for Shadow<'_> {
    fn drop(&mut self) {
        shadow_folder::make_private(&self.folder);
        leftover_processes::forget(&self.lock);
    }
}

impl<'a> Shadow<'a> {
    /// Takes the shadow, makes it if need be, and clears what a killed process left in it. One that we did not make, or that
    /// somebody has put something into, is put aside and made anew: its settings could name commands.
    pub(super) fn take(repository: &'a Repository) -> Result<Self, GitTrouble> {
        let (store, folder) = (&repository.store, repository.store.join(FOLDER));
        for _ in 0..TRIES_MAX {
            let Ok(lock) = private::make_folders(store, &folder).map_err(drop).and_then(|()| open_lock(&folder)) else {
                put_aside(store, &folder)?;
                continue;
            };
            let lock = wait_for(lock, &folder.join("lock"))?;
            if !is_still_there(&lock, &folder.join("lock")) {
                continue;
            }
            if !shadow_folder::is_ours(&folder).map_err(GitTrouble::file(&folder, "marked"))? {
                put_aside(store, &folder)?;
                continue;
            }
            for part in ["info", "objects", "refs"] {
                let path = folder.join(part);
                private::make_folders(store, &path).map_err(GitTrouble::file(&path, "made"))?;
            }
            let owner = ShadowOwner::this().and_then(|owner| owner.write(&lock).map(|()| owner));
            let owner = owner.map_err(GitTrouble::written(&folder))?;
            let shadow = Self { repository, folder, lock, owner };
            shadow.clear_leftovers()?;
            shadow.set_up()?;
            return Ok(shadow);
        }
        Err(GitTrouble::Locked { path: folder })
    }

    /// A call in the shadow.
    pub(super) fn call(&self, what: &'static str) -> GitCall {
        self.call_with(what, &[])
    }

    /// A call whose objects are on disk when it ends.
    pub(super) fn durable(&self, what: &'static str) -> GitCall {
        self.call_with(what, &super::call::DURABLE)
    }

    /// A call whose objects are on their way to the disk when it ends; the next durable one makes them last.
    pub(super) fn written_out(&self, what: &'static str) -> GitCall {
        // Only such file systems make everything last that came before a flush.
        if is_one_of(&self.repository.common_dir, &[EXT4_SUPER_MAGIC, TMPFS_MAGIC, XFS_SUPER_MAGIC]) {
            self.call_with(what, &super::call::WRITTEN_OUT)
        } else {
            self.call_with(what, &super::call::FLUSHED_EACH)
        }
    }

    fn call_with(&self, what: &'static str, options: &[&str]) -> GitCall {
        let mut command = command(&self.repository.top);
        command.args(options);
        command.env("GIT_DIR", &self.folder).env("GIT_WORK_TREE", &self.repository.top);
        command.env("GIT_OBJECT_DIRECTORY", self.repository.common_dir.join("objects"));
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        command.env("GIT_ATTR_NOSYSTEM", "1").env("GIT_LITERAL_PATHSPECS", "1");
        let (name, value) = self.owner.variable();
        command.env(name, value);
        GitCall::new(command, what).holding(&self.lock)
    }

    /// The commit that the index was last made into, with its tree.
    pub(super) fn last(&self) -> Option<(String, String)> {
        let text = String::from_utf8(private::read(&self.folder.join("last"), LAST_BYTES_MAX).ok()?).ok()?;
        let (commit, tree) = text.trim_end().split_once(' ')?;
        Some((commit.to_owned(), tree.to_owned()))
    }

    /// Notes what the index was made into. A hint only, so it is not flushed; HEAD keeps `git status` from listing everything.
    pub(super) fn set_last(&self, commit: &str, tree: &str) -> Result<(), GitTrouble> {
        self.put("HEAD", format!("{commit}\n").as_bytes())?;
        self.put("last", format!("{commit} {tree}\n").as_bytes())
    }

    /// Forgets the index, so that the next look builds it anew.
    pub(super) fn forget(&self) {
        for name in ["index", "last", "config"] {
            let _ = fs::remove_file(self.folder.join(name));
        }
    }

    fn clear_leftovers(&self) -> Result<(), GitTrouble> {
        let begun = Instant::now();
        for name in ["index.lock", "HEAD.lock", "config.lock"] {
            let path = self.folder.join(name);
            while path.exists() && begun.elapsed() < LEFTOVER_TIME_MAX {
                std::thread::sleep(LOOK_EVERY);
            }
            match fs::remove_file(&path) {
                Err(why) if why.kind() != io::ErrorKind::NotFound => {
                    return Err(GitTrouble::file(&path, "removed")(why));
                }
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }

    pub(super) fn set_up(&self) -> Result<(), GitTrouble> {
        self.put_if_other("info/attributes", ATTRIBUTES.as_bytes())?;
        let theirs = self.repository.common_dir.join("info/exclude");
        let mut exclude = plain_file::read(&theirs, EXCLUDE_BYTES_MAX).unwrap_or_default();
        if !exclude.ends_with(b"\n") {
            exclude.push(b'\n');
        }
        for folder in self.repository.folders_apart() {
            exclude.push(b'/');
            exclude.extend_from_slice(folder.as_os_str().as_bytes());
            exclude.push(b'\n');
        }
        self.put_if_other("info/exclude", &exclude)?;
        if !self.folder.join("index").exists() || !self.folder.join("config").exists() {
            self.build()?;
        }
        Ok(())
    }

    /// The configuration and the first index.
    fn build(&self) -> Result<(), GitTrouble> {
        let theirs = self.their_settings()?;
        let mut config = String::from("[core]\n\tbare = false\n\tlogAllRefUpdates = false\n");
        // There the time of a folder surely changes when something is put into it.
        let kinds = [BTRFS_SUPER_MAGIC, EXT4_SUPER_MAGIC, TMPFS_MAGIC, XFS_SUPER_MAGIC];
        if is_one_of(&self.repository.top, &kinds) {
            // Folders whose time has not changed are not read again, given that all are always listed in full.
            config.push_str("\tuntrackedCache = true\n[status]\n\tshowUntrackedFiles = all\n[core]\n");
        }
        for (name, value) in &theirs {
            if name != "autocrlf" {
                let quoted = value.replace('\\', "\\\\").replace('"', "\\\"");
                let _ = writeln!(config, "\t{name} = \"{quoted}\"");
            }
        }
        let (version, extension) = match self.repository.object_format {
            ObjectFormat::Sha1 => (0, ""),
            ObjectFormat::Sha256 => (1, "[extensions]\n\tobjectFormat = sha256\n"),
        };
        // The index can be made anew at any time, so it needs no checksum.
        let _ = write!(config, "\trepositoryFormatVersion = {version}\n{extension}[index]\n\tskipHash = true\n");
        let head = match self.repository.head().commit {
            Some(commit) => format!("{commit}\n"),
            None => "ref: refs/heads/none\n".to_owned(),
        };
        self.put("HEAD", head.as_bytes())?;
        let _ = fs::remove_file(self.folder.join("last"));
        self.put("config", config.as_bytes())?;
        let path = self.folder.join("config");
        ownership::mark(&self.folder, &[("config", &path)], &[]).map_err(GitTrouble::written(&path))?;
        let converts =
            theirs.get("autocrlf").is_some_and(|value| !matches!(value.as_str(), "false" | "no" | "off" | "0"));
        if converts || self.copy_index().is_err() {
            let _ = fs::remove_file(self.folder.join("index"));
            self.call("read-tree").arg("--empty").output()?;
        }
        Ok(())
    }

    fn their_settings(&self) -> Result<BTreeMap<String, String>, GitTrouble> {
        let answer = self.repository.call("config").args(["-z", "--get-regexp", TAKEN_OVER]).ask()?;
        if answer.code == Some(1) {
            return Ok(BTreeMap::new());
        }
        let out = answer.output()?;
        let mut found = BTreeMap::new();
        for part in parts(&out) {
            let text = String::from_utf8_lossy(part);
            let (name, value) = text.split_once('\n').unwrap_or((&text, "true"));
            let value = match (value.strip_prefix("~/"), std::env::var("HOME")) {
                (Some(rest), Ok(home)) => format!("{home}/{rest}"),
                (Some(_) | None, _) => value.to_owned(),
            };
            found.insert(name.trim_start_matches("core.").to_owned(), value);
        }
        Ok(found)
    }

    /// The user's index knows which files have not changed, and what is in them. It keeps its time: by it git tells whether a file
    /// may have changed in the moment after it was looked at.
    fn copy_index(&self) -> Result<(), GitTrouble> {
        self.repository.copy_index(&self.folder.join("index"))?;
        let unfit = self.unfit_entries()?;
        if !unfit.is_empty() {
            self.drop_entries(&unfit)?;
        }
        Ok(())
    }

    /// Entries of the copied index that do not say what is on disk, byte by byte.
    fn unfit_entries(&self) -> Result<BTreeSet<Vec<u8>>, GitTrouble> {
        let listed = self.call("ls-files").args(["-z", "-v", "--stage"]).output()?;
        let mut unfit = BTreeSet::new();
        let mut asked = Vec::new();
        for line in parts(&listed) {
            let tab =
                line.iter().position(|&byte| byte == b'\t').ok_or_else(|| GitTrouble::unclear("ls-files", line))?;
            let (about, path) = (&line[..tab], &line[tab + 1..]);
            let plain = about.starts_with(b"H ") && about.ends_with(b" 0") && !about.starts_with(b"H 160000");
            if !plain || !path.starts_with(&self.repository.prefix) || self.repository.is_store(path) {
                unfit.insert(path.to_vec());
            } else {
                asked.extend_from_slice(path);
                asked.push(0);
            }
        }
        let attributes = self.repository.call("check-attr").args(["-z", "--stdin"]).args(CONVERTING);
        let answer = attributes.input(asked).output()?;
        let fields: Vec<&[u8]> = answer.split(|&byte| byte == 0).collect();
        for one in fields.chunks_exact(3) {
            if !matches!(one[2], b"unspecified" | b"unset") {
                unfit.insert(one[0].to_vec());
            }
        }
        Ok(unfit)
    }

    pub(super) fn drop_entries(&self, paths: &BTreeSet<Vec<u8>>) -> Result<(), GitTrouble> {
        self.call("update-index").args(["-z", "--force-remove", "--stdin"]).input(list(paths)).output().map(drop)
    }

    fn put_if_other(&self, name: &str, bytes: &[u8]) -> Result<(), GitTrouble> {
        match private::read(&self.folder.join(name), EXCLUDE_BYTES_MAX) {
            Ok(found) if found == bytes => Ok(()),
            Ok(_) | Err(_) => self.put(name, bytes),
        }
    }

    fn put(&self, name: &str, bytes: &[u8]) -> Result<(), GitTrouble> {
        let path = self.folder.join(name);
        private::replace(&path, bytes).map_err(GitTrouble::written(&path))
    }
}

impl Repository {
    /// A copy of the user's index, with its time.
    pub(super) fn copy_index(&self, to: &Path) -> Result<(), GitTrouble> {
        let from = self.git_dir.join("index");
        let mut source = plain_file::open(&from).map_err(GitTrouble::read(&from))?;
        let copied = super::create_anew(to).and_then(|mut target| {
            io::copy(&mut source, &mut target)?;
            target.set_modified(source.metadata()?.modified()?)
        });
        copied.map_err(GitTrouble::written(to))
    }
}

/// Whether a folder lies on a file system of one of these kinds.
fn is_one_of(folder: &Path, kinds: &[FsType]) -> bool {
    statfs(folder).is_ok_and(|about| kinds.contains(&about.filesystem_type()))
}

/// Paths, each with a NUL behind it.
pub(super) fn list(paths: &BTreeSet<Vec<u8>>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for path in paths {
        bytes.extend_from_slice(path);
        bytes.push(0);
    }
    bytes
}

/// The file whose lock says that the shadow is in use.
fn open_lock(folder: &Path) -> Result<File, ()> {
    private::open_or_create(&folder.join("lock")).map_err(drop)
}

/// Locks the file until it is closed by us and by every git that was started with it.
fn wait_for(file: File, path: &Path) -> Result<File, GitTrouble> {
    let begun = Instant::now();
    loop {
        let locked = file.try_lock();
        leftover_processes::end_what_was_left(&file);
        match locked {
            Ok(()) => return Ok(file),
            Err(fs::TryLockError::WouldBlock) if begun.elapsed() < LOCK_TIME_MAX && stop::asked().is_none() => {
                std::thread::sleep(LOOK_EVERY);
            }
            Err(fs::TryLockError::WouldBlock) => return Err(GitTrouble::Locked { path: path.to_owned() }),
            Err(fs::TryLockError::Error(why)) => return Err(GitTrouble::file(path, "locked")(why)),
        }
    }
}

/// A lock on a file that was moved away meanwhile is a lock on nothing.
fn is_still_there(file: &File, path: &Path) -> bool {
    let (Ok(open), Ok(named)) = (file.metadata(), path.symlink_metadata()) else { return false };
    (open.dev(), open.ino()) == (named.dev(), named.ino())
}

/// Moves what is not ours to where damaged things lie. Nothing in it is followed, and nothing is lost.
fn put_aside(store: &Path, folder: &Path) -> Result<(), GitTrouble> {
    let place = store.join("damaged");
    let target = place.join(format!("git-{}", jiff::Timestamp::now().as_nanosecond()));
    let moved = private::make_folders(store, &place).and_then(|()| fs::rename(folder, &target));
    match moved {
        Err(why) if why.kind() != io::ErrorKind::NotFound => Err(GitTrouble::file(folder, "put aside")(why)),
        Ok(()) | Err(_) => Ok(()),
    }
}
