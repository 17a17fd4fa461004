//! A working tree of its own for a fork, filled with a snapshot.

use std::fs;
use std::path::Path;

use super::repository::Repository;
use super::shadow::Shadow;
use super::trouble::GitTrouble;
use crate::sys::stop;

impl Repository {
    /// Makes a working tree on a new branch at a commit, and fills it with a snapshot, byte by byte. What differs from the commit shows
    /// up there as changes that are not staged.
    pub fn add_worktree(&self, folder: &Path, branch: &str, commit: &str, snapshot: &str) -> Result<(), GitTrouble> {
        let shadow = Shadow::take(self)?;
        // Git makes the branch first, and leaves it where the folder cannot be made. So it is ours from here on, or somebody else's.
        self.call("branch").args(["--quiet", "--no-track", branch, commit]).output()?;
        let mut add = self.filters()?.off(self.call("worktree")).args(["add", "--quiet"]);
        if self.prefix.is_empty() {
            add = add.arg("--no-checkout");
        }
        if folder.symlink_metadata().is_err() {
            // A working tree that git remembers there and that is gone is not in the way.
            add = add.arg("--force");
        }
        let made = add.arg(folder).arg(branch).output();
        made.map(drop)
            .and_then(|()| {
                self.fill_worktree(&shadow, folder, snapshot).inspect_err(|_| {
                    let _whole = stop::Whole::begin();
                    // Nobody has seen it yet; half of it is of no use to anybody.
                    let _ = self.call("worktree").args(["remove", "--force"]).arg(folder).ask();
                })
            })
            .inspect_err(|_| {
                let _whole = stop::Whole::begin();
                let _ = self.call("branch").args(["--quiet", "-D", branch]).ask();
            })
    }

    /// Whether a folder belongs to the books of this repository, where no working tree may lie.
    pub fn is_in_books(&self, folder: &Path) -> bool {
        folder.starts_with(&self.common_dir)
    }

    pub(super) fn fill_worktree(&self, shadow: &Shadow<'_>, folder: &Path, snapshot: &str) -> Result<(), GitTrouble> {
        let folder = folder.canonicalize().map_err(GitTrouble::read(folder))?;
        if !self.prefix.is_empty() {
            let project = folder.join(super::path_of(&self.prefix));
            match fs::remove_dir_all(&project) {
                Err(why) if why.kind() != std::io::ErrorKind::NotFound => {
                    return Err(GitTrouble::file(&project, "removed")(why));
                }
                Ok(()) | Err(_) => {}
            }
        }
        let index = shadow.folder.join("worktree-index");
        for leftover in [index.clone(), index.with_extension("lock")] {
            let _ = fs::remove_file(leftover);
        }
        let call = |what| shadow.call(what).env("GIT_INDEX_FILE", &index).env("GIT_WORK_TREE", &folder);
        call("read-tree").arg(snapshot).output()?;
        call("checkout-index").args(["--all", "--force", "--quiet"]).within(&folder).output()?;
        let _ = fs::remove_file(index);
        let own = |what| super::call::GitCall::new(super::call::command(&folder), what);
        own("read-tree").arg("HEAD").output()?;
        // Its exit code says whether files differ, which they may.
        self.filters()?.off(own("update-index")).args(["-q", "--refresh"]).ask()?;
        Ok(())
    }
}
