//! The user's index after a mini-commit. It is changed only under git's own lock, and only where the user had nothing staged.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::gather::index_info;
use super::{IndexAfter, NotCommitted};
use crate::kill_point::reached;
use crate::sys::stop;
use crate::vcs::call::{GitCall, command, parts};
use crate::vcs::changes::PathStep;
use crate::vcs::create_anew;
use crate::vcs::repository::Repository;
use crate::vcs::scan::TreeEntry;
use crate::vcs::trouble::GitTrouble;

/// How long a git of the user's may hold the index before the commit is given up.
const LOCK_TIME_MAX: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Where the lock of the index is, and how ours is known.
struct IndexLockPlace<'a> {
    repository: &'a Repository,
    path: PathBuf,
    content: String,
}

/// `index.lock`, held by us until this goes. What it contains tells a later try that it is ours.
pub(super) struct IndexLock<'a>(IndexLockPlace<'a>);

impl<'a> IndexLock<'a> {
    /// Waits for the lock.
    pub(super) fn take(repository: &'a Repository, token: &str) -> Result<Self, NotCommitted> {
        let place = IndexLockPlace::new(repository, token);
        let beside = place.beside("lock");
        let written = create_anew(&beside).and_then(|mut file| file.write_all(place.content.as_bytes()));
        written.map_err(GitTrouble::written(&beside))?;
        let begun = Instant::now();
        let outcome = loop {
            match place.try_take(&beside) {
                Ok(true) => break Ok(Self(place)),
                Ok(false) if begun.elapsed() < LOCK_TIME_MAX && stop::asked().is_none() => {
                    std::thread::sleep(LOOK_EVERY);
                }
                Ok(false) => break Err(NotCommitted::IndexLocked),
                Err(why) => break Err(GitTrouble::written(&place.path)(why).into()),
            }
        };
        let _ = fs::remove_file(&beside);
        outcome
    }

    /// The lock of an earlier try that was killed.
    pub(super) fn left_behind(repository: &'a Repository, token: &str) -> Option<Self> {
        let place = IndexLockPlace::new(repository, token);
        // Not made unless it is ours: whatever this value is, its end removes the lock.
        if place.is_ours() { Some(Self(place)) } else { None }
    }
}

impl<'a> IndexLockPlace<'a> {
    fn new(repository: &'a Repository, token: &str) -> Self {
        Self { repository, path: repository.git_dir.join("index.lock"), content: format!("onward {token}\n") }
    }

    fn is_ours(&self) -> bool {
        fs::read_to_string(&self.path).is_ok_and(|text| text == self.content)
    }

    /// The lock appears with its content in one step, so that it can never be ours and look like another's.
    fn try_take(&self, beside: &Path) -> io::Result<bool> {
        let made = match fs::hard_link(beside, &self.path) {
            Err(why) if why.kind() == io::ErrorKind::AlreadyExists => Err(why),
            // Not every file system has links. Then there is a moment in which a kill leaves an empty lock.
            Err(_) => self.create(),
            Ok(()) => Ok(()),
        };
        match made {
            Err(why) if why.kind() == io::ErrorKind::AlreadyExists => Ok(self.is_ours()),
            other => other.map(|()| true),
        }
    }

    fn create(&self) -> io::Result<()> {
        File::options().write(true).create_new(true).open(&self.path)?.write_all(self.content.as_bytes())
    }

    /// A file of ours in git's folder. One name for all tries, so that nothing piles up.
    fn beside(&self, what: &str) -> PathBuf {
        self.repository.git_dir.join(format!("onward-index-{what}"))
    }
}

impl IndexLock<'_> {
    /// Writes the index that belongs to the new commit and lets go of the lock.
    pub(super) fn write_index(self, parent: Option<&str>, commit: &str) -> IndexAfter {
        let IndexLockPlace { repository, .. } = &self.0;
        let fresh = self.0.beside("new");
        let written = self.prepare(&fresh, parent, commit).and_then(|()| {
            reached("vcs.commit-index-ready");
            let path = repository.git_dir.join("index");
            fs::rename(&fresh, &path).map_err(GitTrouble::written(&path))?;
            reached("vcs.commit-index-in-place");
            let folder = &repository.git_dir;
            File::open(folder).and_then(|folder| folder.sync_all()).map_err(GitTrouble::written(folder))
        });
        match written {
            Ok(()) => IndexAfter::Updated,
            Err(why) => {
                let _ = fs::remove_file(&fresh);
                IndexBehind::note(&self.0, parent, commit);
                IndexAfter::AsItWas { why: why.to_string() }
            }
        }
    }

    /// Where the user's entry is that of the parent, it becomes that of the commit. What they had staged stays staged.
    fn prepare(&self, fresh: &Path, parent: Option<&str>, commit: &str) -> Result<(), GitTrouble> {
        let repository = self.0.repository;
        for leftover in [fresh.to_owned(), fresh.with_extension("lock")] {
            let _ = fs::remove_file(leftover);
        }
        if repository.git_dir.join("index").exists() {
            repository.copy_index(fresh)?;
        }
        let call = |what: &'static str| {
            let mut command = command(&repository.top);
            command.args(["-c", "core.fsync=index", "-c", "core.safecrlf=false"]);
            command.env("GIT_DIR", &repository.git_dir).env("GIT_WORK_TREE", &repository.top);
            command.env("GIT_INDEX_FILE", fresh);
            GitCall::new(command, what)
        };
        let parent = parent.unwrap_or(repository.object_format.empty_tree());
        let words = ["--cached", "-z", "--name-only", "--no-renames", "--ita-invisible-in-index", parent];
        let staged: BTreeSet<Vec<u8>> = parts(&call("diff-index").args(words).output()?).map(<[u8]>::to_vec).collect();
        let (steps, _) = repository.steps_and_lines(parent, commit)?;
        let fits = |step: &PathStep| !staged.iter().any(|path| in_conflict(path, &step.path));
        let set: Vec<(Vec<u8>, Option<TreeEntry>)> =
            steps.into_iter().filter(fits).map(|step| (step.path, step.after)).collect();
        if !set.is_empty() {
            let info = index_info(&set, repository.hash_chars());
            call("update-index").args(["-z", "--index-info"]).input(info).output()?;
        }
        // So that the next `git status` does not have to read every committed file. Its exit code says whether files differ.
        repository.filters()?.off(call("update-index")).args(["-q", "--refresh"]).ask()?;
        Ok(())
    }
}

/// Commits that the user's index has not been told of, since its update failed or was given up. On record in git's folder.
struct IndexBehind {
    token: String,
    /// Empty where the first of them has none.
    parent: String,
    commit: String,
}

impl IndexBehind {
    fn path(repository: &Repository) -> PathBuf {
        repository.git_dir.join("onward-index-behind")
    }

    fn read(repository: &Repository) -> Option<Self> {
        let text = fs::read_to_string(Self::path(repository)).ok()?;
        let mut lines = text.lines().map(str::to_owned);
        Some(Self { token: lines.next()?, parent: lines.next()?, commit: lines.next()? })
    }

    /// One after another is one longer way. What cannot be noted is said all the same.
    fn note(place: &IndexLockPlace<'_>, parent: Option<&str>, commit: &str) {
        let earlier = Self::read(place.repository).map(|behind| behind.parent);
        let parent = earlier.unwrap_or_else(|| parent.unwrap_or_default().to_owned());
        let token = place.content.trim_start_matches("onward ").trim_end();
        let beside = place.beside("behind-new");
        let text = format!("{token}\n{parent}\n{commit}\n");
        let written = create_anew(&beside).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()
        });
        let _ = written.and_then(|()| fs::rename(&beside, Self::path(place.repository)));
    }
}

/// Whether [`catch_up`] has something to do.
pub(super) fn is_behind(repository: &Repository) -> bool {
    IndexBehind::path(repository).exists()
}

/// Tells the user's index of commits whose update of it failed. What fails again stays noted.
pub(super) fn catch_up(repository: &Repository) {
    let Some(behind) = IndexBehind::read(repository) else { return };
    let words = ["--is-ancestor", behind.commit.as_str(), "HEAD"];
    let Ok(answer) = repository.call("merge-base").args(words).ask() else { return };
    // On another branch the index has nothing to do with it.
    if answer.code == Some(0) {
        let Ok(lock) = IndexLock::take(repository, &behind.token) else { return };
        let _whole = stop::Whole::begin();
        let parent = Some(behind.parent.as_str()).filter(|parent| !parent.is_empty());
        if lock.write_index(parent, &behind.commit) != IndexAfter::Updated {
            return;
        }
    }
    let _ = fs::remove_file(IndexBehind::path(repository));
}

impl Drop for IndexLock<'_> {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0.path);
    }
}

/// The same path, or one inside the other: an index cannot have both.
fn in_conflict(one: &[u8], other: &[u8]) -> bool {
    let within = |inner: &[u8], outer: &[u8]| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.first().is_none_or(|&byte| byte == b'/'))
    };
    within(one, other) || within(other, one)
}

/// Removes a lock that a killed try with this token left behind, and nobody else's.
pub(super) fn release(repository: &Repository, token: &str) {
    drop(IndexLock::left_behind(repository, token));
}
