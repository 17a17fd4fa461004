//! The user's index after a mini-commit. It is changed only under git's own lock, and only where the user had nothing staged.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use super::IndexAfter;
use super::gather::index_info;
use super::index_lock::{IndexLock, IndexLockPlace};
use crate::kill_point::reached;
use crate::sys::stop;
use crate::vcs::call::{GitCall, command, parts};
use crate::vcs::changes::PathStep;
use crate::vcs::create_anew;
use crate::vcs::repository::Repository;
use crate::vcs::scan::TreeEntry;
use crate::vcs::trouble::GitTrouble;

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

/// The same path, or one inside the other: an index cannot have both.
fn in_conflict(one: &[u8], other: &[u8]) -> bool {
    let within = |inner: &[u8], outer: &[u8]| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.first().is_none_or(|&byte| byte == b'/'))
    };
    within(one, other) || within(other, one)
}
