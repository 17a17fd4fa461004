//! Git's own lock of the user's index, `index.lock`: taken with our token in it, so that a later try knows it again.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::NotCommitted;
use crate::sys::stop;
use crate::vcs::create_anew;
use crate::vcs::repository::Repository;
use crate::vcs::trouble::GitTrouble;

/// How long a git of the user's may hold the index before the commit is given up.
const LOCK_TIME_MAX: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Where the lock of the index is, and how ours is known.
pub(super) struct IndexLockPlace<'a> {
    pub(super) repository: &'a Repository,
    path: PathBuf,
    pub(super) content: String,
}

/// `index.lock`, held by us until this goes. What it contains tells a later try that it is ours.
pub(super) struct IndexLock<'a>(pub(super) IndexLockPlace<'a>);

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
    pub(super) fn beside(&self, what: &str) -> PathBuf {
        self.repository.git_dir.join(format!("onward-index-{what}"))
    }
}

impl Drop for IndexLock<'_> {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0.path);
    }
}

/// Removes a lock that a killed try with this token left behind, and nobody else's.
pub(super) fn release(repository: &Repository, token: &str) {
    drop(IndexLock::left_behind(repository, token));
}
