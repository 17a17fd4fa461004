//! The git worktree of one phase: made in a private place, made anew, looked at, and removed.
//!
//! It lies in the store, where git does not look for the user's files. Its first commit is a snapshot of the project, so that what a
//! phase has done is what `git diff` shows there. The phase may do what it likes in it: git's own files there are believed only where
//! the repository says the same, and snapshots of it are taken through a private git folder of its own.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use nix::unistd::syncfs;
use onward_core::id::{Attempt, Generation, PhaseId, RunId};
use onward_core::run::worktrees;
use onward_store::{listing, private};

use super::call::GitCall;
use super::linked_tree::books_of;
use super::repository::Repository;
use super::shadow::Shadow;
use super::snapshot::{ADDRESS, NAME, TreeSnapshot, folder_of_refs};
use super::trouble::GitTrouble;
use crate::kill_point::reached;
use crate::sys::{plain_file, stop};

/// In the private folder of a worktree: what it was made to show.
const READY: &str = "ready";
const READY_BYTES_MAX: u64 = 1024;
/// The file in git's books that leads to the worktree.
const LINK_BYTES_MAX: u64 = 16 * 1024;
/// How the refs begin that keep work that was left out.
const LEFT: &str = "left-";
/// Beside the folder of a worktree, the folder of what is ours alone.
const PRIVATE: &str = ".private";

/// Where the worktree of a phase lies, and how its snapshots are called.
#[derive(Clone, Debug)]
pub(crate) struct OwnPlace {
    pub(crate) folder: PathBuf,
    private: PathBuf,
    refs: String,
    left: String,
}

impl OwnPlace {
    pub(crate) fn new(store: &Path, run: &RunId, phase: &PhaseId, generation: Generation) -> Result<Self, GitTrouble> {
        let folder = store.join(worktrees::place(run, phase, generation));
        let key = blake3::hash(format!("{phase}\n{generation}").as_bytes()).to_hex();
        let refs = format!("{}own-{}", folder_of_refs(run)?, &key[..16]);
        let left = format!("{}{LEFT}{}", folder_of_refs(run)?, &key[..16]);
        Ok(Self { private: private_of(&folder), folder, refs, left })
    }

    /// The ref that keeps one thing of an attempt.
    pub(crate) fn name(&self, attempt: Attempt, what: &str) -> String {
        format!("{}-{attempt}-{what}", self.refs)
    }

    /// The ref that keeps the work of a phase that was left out, as long as the run is kept.
    pub(crate) fn left_name(&self, attempt: Attempt) -> String {
        format!("{}-{attempt}", self.left)
    }

    fn is_ready(&self, mark: &str) -> bool {
        private::read(&self.private.join(READY), READY_BYTES_MAX).is_ok_and(|found| found == mark.as_bytes())
    }

    fn made(&self) -> bool {
        self.private.join(READY).exists()
    }
}

/// The folder beside a worktree that holds what is ours alone.
pub(crate) fn private_of(folder: &Path) -> PathBuf {
    let mut name = folder.file_name().unwrap_or_default().to_owned();
    name.push(PRIVATE);
    folder.with_file_name(name)
}

/// Whether a name in the folder of worktrees is that of such a folder.
pub(crate) fn is_private(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(PRIVATE))
}

impl Repository {
    /// The worktree of a phase as a repository; none where it is not there, or is not one of this repository.
    pub(crate) fn own_worktree(&self, place: &OwnPlace) -> Option<Self> {
        self.own_worktree_at(&place.folder)
    }

    pub(crate) fn own_worktree_at(&self, folder: &Path) -> Option<Self> {
        let books = books_of(folder)?;
        if books.parent()?.canonicalize().ok()? != self.common_dir.join("worktrees") {
            return None;
        }
        Some(Self {
            top: folder.canonicalize().ok()?,
            prefix: self.prefix.clone(),
            git_dir: books,
            common_dir: self.common_dir.clone(),
            store: private_of(folder),
            object_format: self.object_format,
            reftable: self.reftable,
            file_bytes_max: self.file_bytes_max,
        })
    }

    /// A snapshot under this name, also where it is the same as the last one.
    pub(crate) fn snapshot_under(&self, name: &str, last: Option<&str>) -> Result<TreeSnapshot, GitTrouble> {
        let taken = Shadow::take(self)?.snapshot(name, last)?;
        if taken.same_as_last {
            self.set_ref(name, &taken.commit)?;
        }
        Ok(taken)
    }

    /// Makes the worktree show what it is to show. Killed at any point it is done again; what was in it before is kept first.
    pub(crate) fn make_own_worktree(
        &self,
        place: &OwnPlace,
        attempt: Attempt,
        base: &str,
        content: Option<&str>,
    ) -> Result<(), GitTrouble> {
        let shown = content.unwrap_or(base);
        let mark = format!("{base} {shown}\n");
        let there = self.own_worktree(place);
        if there.is_some() && place.is_ready(&mark) {
            return Ok(());
        }
        private::make_folders(&self.store, &place.private).map_err(GitTrouble::file(&place.private, "made"))?;
        reached("worktree.before-made");
        let renewed = there.map(|there| there.renew(place, attempt, base, shown));
        match renewed {
            Some(Ok(())) => {}
            Some(Err(why)) if stop::asked().is_some() => return Err(why),
            // What cannot be made anew in its place is kept, and another one is made.
            Some(Err(_)) | None => {
                self.clear_the_place(place)?;
                self.add_own_worktree(place, base, shown)?;
            }
        }
        reached("worktree.made");
        let flushed = fs::File::open(&place.folder).and_then(|folder| Ok(syncfs(&folder)?));
        flushed.map_err(GitTrouble::written(&place.folder))?;
        let ready = place.private.join(READY);
        private::replace(&ready, mark.as_bytes()).map_err(GitTrouble::written(&ready))?;
        reached("worktree.ready");
        Ok(())
    }

    /// Puts aside what lies there, if anybody has ever worked in it.
    fn clear_the_place(&self, place: &OwnPlace) -> Result<(), GitTrouble> {
        if place.folder.symlink_metadata().is_err() {
            return Ok(());
        }
        if place.made() {
            let damaged = self.store.join("damaged");
            private::make_folders(&self.store, &damaged).map_err(GitTrouble::file(&damaged, "made"))?;
            let name = place.folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let aside = damaged.join(format!("worktree-{name}-{}", jiff::Timestamp::now().as_nanosecond()));
            return fs::rename(&place.folder, &aside).map_err(GitTrouble::file(&place.folder, "put aside"));
        }
        remove_folder(&place.folder)
    }

    fn add_own_worktree(&self, place: &OwnPlace, base: &str, shown: &str) -> Result<(), GitTrouble> {
        let above = place.folder.parent().expect("it lies in the store");
        private::make_folders(&self.store, above).map_err(GitTrouble::file(above, "made"))?;
        let shadow = Shadow::take(self)?;
        let head = self.with_all_around(&shadow, base)?;
        let mut add = self.filters()?.off(self.call("worktree")).args(["add", "--quiet", "--force", "--detach"]);
        if self.prefix.is_empty() {
            add = add.arg("--no-checkout");
        }
        add.arg(&place.folder).arg(&head).output()?;
        reached("worktree.added");
        self.fill_worktree(&shadow, &place.folder, shown)
    }

    /// The commit that a worktree is at: the snapshot, with what lies around the project as HEAD has it.
    fn with_all_around(&self, shadow: &Shadow<'_>, base: &str) -> Result<String, GitTrouble> {
        let Some(head) = self.head().commit.filter(|_| !self.prefix.is_empty()) else { return Ok(base.to_owned()) };
        let index = shadow.folder.join("worktree-index");
        for leftover in [index.clone(), index.with_extension("lock")] {
            let _ = fs::remove_file(leftover);
        }
        let call = |what| shadow.call(what).env("GIT_INDEX_FILE", &index);
        let prefix = String::from_utf8_lossy(&self.prefix).into_owned();
        let folder = prefix.trim_end_matches('/');
        call("read-tree").arg(&head).output()?;
        call("rm").args(["-r", "-q", "--cached", "--ignore-unmatch", "--", folder]).output()?;
        let inside = format!("{base}:{folder}");
        if shadow.call("rev-parse").args(["--verify", "--quiet", &inside]).ask()?.code == Some(0) {
            call("read-tree").arg(format!("--prefix={prefix}")).arg(&inside).output()?;
        }
        let tree = call("write-tree").line()?;
        let _ = fs::remove_file(index);
        shadow.commit_of(&tree, &[base, &head], "onward: the project with what lies around it")
    }

    /// In a worktree: shows something else, when its present files were kept.
    fn renew(&self, place: &OwnPlace, attempt: Attempt, base: &str, shown: &str) -> Result<(), GitTrouble> {
        let now = self.snapshot_under(&place.name(attempt, "left"), None)?;
        if let Err(why) = self.restore_paths(&now.commit, shown, &|_| true) {
            return Err(GitTrouble::Failed { what: "worktree".to_owned(), said: why.to_string() });
        }
        reached("worktree.renewed");
        let head = self.with_all_around(&Shadow::take(self)?, base)?;
        let own = |what| self.call(what);
        own("update-ref").args(["--no-deref", "HEAD", &head]).output()?;
        own("read-tree").arg(&head).output()?;
        // Its exit code says whether files differ, which they may.
        self.filters()?.off(own("update-index")).args(["-q", "--refresh"]).ask().map(drop)
    }

    /// Removes a worktree with its books, and the refs of its phase. Ignored files go with it.
    pub(crate) fn remove_own_worktree(&self, place: &OwnPlace) -> Result<(), GitTrouble> {
        self.remove_worktree_at(&place.folder)?;
        self.drop_refs_beginning_with(&format!("{}-", place.refs))
    }

    pub(crate) fn remove_worktree_at(&self, folder: &Path) -> Result<(), GitTrouble> {
        remove_folder(folder)?;
        reached("worktree.folder-removed");
        let all = listing::readable(self.common_dir.join("worktrees")).into_iter();
        let of_it = |books: &PathBuf| is_of(books, folder);
        for books in all.map(|entry| entry.path()).filter(of_it) {
            remove_folder(&books)?;
        }
        remove_folder(&private_of(folder))
    }

    fn drop_refs_beginning_with(&self, start: &str) -> Result<(), GitTrouble> {
        let above = &start[..=start.rfind('/').unwrap_or_default()];
        let listed = self.call("for-each-ref").args(["--format=%(refname)", above]).output()?;
        let listed = String::from_utf8_lossy(&listed).into_owned();
        let commands: Vec<u8> = listed
            .lines()
            .filter(|name| name.starts_with(start))
            .flat_map(|name| format!("delete {name}\n").into_bytes())
            .collect();
        if !commands.is_empty() {
            let call: GitCall = self.wherever_it_is(self.call("update-ref"));
            call.args(["--no-deref", "--stdin"]).input(commands).output()?;
        }
        Ok(())
    }

    /// The snapshots of all worktrees of a run.
    pub(crate) fn drop_own_refs(&self, run: &RunId) -> Result<(), GitTrouble> {
        self.drop_refs_beginning_with(&format!("{}{LEFT}", folder_of_refs(run)?))?;
        self.drop_refs_beginning_with(&format!("{}own-", folder_of_refs(run)?))
    }
}

impl Shadow<'_> {
    /// A commit of our own with these parents.
    pub(super) fn commit_of(&self, tree: &str, parents: &[&str], message: &str) -> Result<String, GitTrouble> {
        let mut call = self.durable("commit-tree");
        for parent in parents {
            call = call.args(["-p", parent]);
        }
        for who in ["AUTHOR", "COMMITTER"] {
            call = call.env(&format!("GIT_{who}_NAME"), NAME).env(&format!("GIT_{who}_EMAIL"), ADDRESS);
        }
        call.args(["-m", message, tree]).line()
    }
}

/// Whether git's books are those of a worktree in this folder, which may be gone.
fn is_of(books: &Path, folder: &Path) -> bool {
    let Ok(named) = plain_file::read(&books.join("gitdir"), LINK_BYTES_MAX) else { return false };
    let named = String::from_utf8_lossy(&named).trim_end().to_owned();
    let above = Path::new(&named).parent();
    let real = |path: &Path| path.parent().and_then(|above| Some(above.canonicalize().ok()?.join(path.file_name()?)));
    above.is_some_and(|above| above == folder || real(above).is_some_and(|found| Some(found) == real(folder)))
}

fn remove_folder(folder: &Path) -> Result<(), GitTrouble> {
    match fs::remove_dir_all(folder) {
        Err(why) if why.kind() != io::ErrorKind::NotFound => Err(GitTrouble::file(folder, "removed")(why)),
        Ok(()) | Err(_) => Ok(()),
    }
}
