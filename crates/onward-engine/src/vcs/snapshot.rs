//! A snapshot of the working tree, as a commit under a hidden ref.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::path::Path;

use onward_core::id::RunId;

use super::repository::Repository;
use super::scan::{self, STATUS_WORDS};
use super::shadow::{Shadow, list};
use super::trouble::GitTrouble;
use super::{LeftOut, create_anew};
use crate::kill_point::reached;

/// The author of snapshots. Not the user: what is under our refs is nobody's work.
pub(super) const NAME: &str = "onward";
pub(super) const ADDRESS: &str = "onward@localhost";

/// A tree that moves while it is looked at, or a shadow that does not fit, is tried again so often.
const TRIES_MAX: u32 = 3;

/// The working tree at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeSnapshot {
    /// The commit that has it; the last one where nothing changed since.
    pub commit: String,
    pub tree: String,
    /// Nothing changed since the last one, so nothing was made.
    pub same_as_last: bool,
    pub left_out: Vec<LeftOut>,
}

/// The tree in the private index, and what is not in it.
struct IndexedTree {
    tree: ShadowTree,
    left_out: BTreeSet<LeftOut>,
}

enum ShadowTree {
    /// The one that the shadow was last made into.
    Same {
        commit: String,
        tree: String,
    },
    Other(String),
}

impl Repository {
    /// Takes a snapshot of the working tree: tracked and untracked files, not ignored ones, never the store, byte by byte. The index,
    /// HEAD, the stash and all that the user sees stay as they are.
    ///
    /// The parent of the commit is HEAD and not the snapshot before: each one can be dropped without keeping or losing another.
    pub fn snapshot(&self, run: &RunId, number: u64, last: Option<&str>) -> Result<TreeSnapshot, GitTrouble> {
        let shadow = Shadow::take(self)?;
        shadow.snapshot(&ref_name(run, number)?, last)
    }
}

impl Shadow<'_> {
    /// The snapshot under a ref; none is made if it is the one in `last`.
    pub(super) fn snapshot(&self, name: &str, last: Option<&str>) -> Result<TreeSnapshot, GitTrouble> {
        reached("vcs.snapshot-begun");
        let looked = self.index_tree()?;
        let left_out = looked.left_out.into_iter().collect();
        reached("vcs.snapshot-looked");
        let tree = match looked.tree {
            ShadowTree::Same { commit, tree } if last == Some(commit.as_str()) => {
                return Ok(TreeSnapshot { commit, tree, same_as_last: true, left_out });
            }
            ShadowTree::Same { tree, .. } | ShadowTree::Other(tree) => tree,
        };
        if let Some(last) = last
            && self.tree_of(last).is_ok_and(|found| found == tree)
        {
            self.set_last(last, &tree)?;
            return Ok(TreeSnapshot { commit: last.to_owned(), tree, same_as_last: true, left_out });
        }
        let commit = self.commit(&tree, name)?;
        reached("vcs.snapshot-committed");
        self.repository.set_ref(name, &commit)?;
        reached("vcs.snapshot-named");
        self.set_last(&commit, &tree)?;
        Ok(TreeSnapshot { commit, tree, same_as_last: false, left_out })
    }

    /// The tree that the working tree is now.
    pub(super) fn tree_now(&self) -> Result<String, GitTrouble> {
        match self.index_tree()?.tree {
            ShadowTree::Same { tree, .. } | ShadowTree::Other(tree) => Ok(tree),
        }
    }

    /// Brings the private index up to date.
    fn index_tree(&self) -> Result<IndexedTree, GitTrouble> {
        let mut tries = 1;
        loop {
            match self.index_tree_once() {
                Err(GitTrouble::Failed { .. } | GitTrouble::Unclear { .. }) if tries < TRIES_MAX => {
                    tries += 1;
                    self.forget();
                    self.set_up()?;
                }
                other => return other,
            }
        }
    }

    fn index_tree_once(&self) -> Result<IndexedTree, GitTrouble> {
        let repository = self.repository;
        let mut status = self.call("status").args(STATUS_WORDS);
        if !repository.prefix.is_empty() {
            status = status.arg("--").arg(super::path_of(&repository.prefix));
        }
        let answer = status.ask()?;
        let unreadable = repository.unreadable_folders(&answer.said);
        let mut sorted = repository.sort(scan::understand(&answer.output()?)?);
        sorted.left_out.extend(unreadable);
        if sorted.nothing_to_do()
            && !sorted.staged
            && let Some((commit, tree)) = self.last()
        {
            return Ok(IndexedTree { tree: ShadowTree::Same { commit, tree }, left_out: sorted.left_out });
        }
        if !sorted.drop.is_empty() {
            self.drop_entries(&sorted.drop)?;
        }
        if !sorted.take.is_empty() {
            let words = ["--add", "--remove", "--replace", "-z", "--stdin"];
            self.written_out("update-index").args(words).input(list(&sorted.take)).output()?;
        }
        if sorted.take.iter().chain(&sorted.drop).any(|path| path.ends_with(b".gitignore")) {
            self.drop_ignored()?;
        }
        reached("vcs.snapshot-indexed");
        let tree = self.written_out("write-tree").line()?;
        if tree == self.repository.object_format.empty_tree() {
            // Git knows it without having it, and misses it when it checks the repository.
            self.written_out("hash-object").args(["-w", "-t", "tree", "--stdin"]).input(Vec::new()).output()?;
        }
        Ok(IndexedTree { tree: ShadowTree::Other(tree), left_out: sorted.left_out })
    }

    /// A file that was in snapshots and is ignored from now on is the user's alone. Git goes on with what its index knows; only what
    /// the user's own index has as well is meant to stay.
    fn drop_ignored(&self) -> Result<(), GitTrouble> {
        let ignored = self.call("ls-files").args(["-z", "--cached", "--ignored", "--exclude-standard"]).output()?;
        let ignored: BTreeSet<Vec<u8>> = super::call::parts(&ignored).map(<[u8]>::to_vec).collect();
        if ignored.is_empty() {
            return Ok(());
        }
        let tracked = self.repository.call("ls-files").args(["-z", "--cached"]).output()?;
        let tracked: BTreeSet<Vec<u8>> = super::call::parts(&tracked).map(<[u8]>::to_vec).collect();
        self.drop_entries(&ignored.difference(&tracked).cloned().collect())
    }

    pub(super) fn tree_of(&self, commit: &str) -> Result<String, GitTrouble> {
        match self.last() {
            Some((last, tree)) if last == commit => Ok(tree),
            Some(_) | None => {
                let named = format!("{commit}^{{tree}}");
                self.call("rev-parse").args(["--verify", "--quiet", &named]).line()
            }
        }
    }

    fn commit(&self, tree: &str, name: &str) -> Result<String, GitTrouble> {
        let mut call = self.durable("commit-tree");
        if let Some(parent) = self.repository.head().commit {
            call = call.args(["-p", &parent]);
        }
        for (variable, value) in [
            ("GIT_AUTHOR_NAME", NAME),
            ("GIT_AUTHOR_EMAIL", ADDRESS),
            ("GIT_COMMITTER_NAME", NAME),
            ("GIT_COMMITTER_EMAIL", ADDRESS),
        ] {
            call = call.env(variable, value);
        }
        call.args(["-m", &format!("onward: {}", name.trim_start_matches("refs/onward/")), tree]).line()
    }
}

/// The ref under which the snapshot of a run is kept.
pub(super) fn ref_name(run: &RunId, number: u64) -> Result<String, GitTrouble> {
    Ok(format!("{}{number}", folder_of_refs(run)?))
}

/// The folder of all refs of a run, with a slash at its end.
pub(super) fn folder_of_refs(run: &RunId) -> Result<String, GitTrouble> {
    let run = run.as_str();
    let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.');
    let odd =
        run.is_empty() || run.starts_with('.') || run.ends_with('.') || run.contains("..") || run.contains(".lock");
    if odd || !run.chars().all(plain) {
        return Err(GitTrouble::RefName { what: run.to_owned() });
    }
    Ok(format!("refs/onward/{run}/"))
}

impl Repository {
    /// Points a ref of ours to a commit, durably. Nobody else writes below `refs/onward`, so a file that is renamed into its place is
    /// all that it takes, and no process; only where refs are kept in another form git has to do it.
    pub(super) fn set_ref(&self, name: &str, commit: &str) -> Result<(), GitTrouble> {
        if self.reftable {
            let call = self.wherever_it_is(self.call("update-ref"));
            return call.args([name, commit]).output().map(drop);
        }
        let path = self.common_dir.join(name);
        let folder = path.parent().expect("a ref lies in a folder");
        let was_there = folder.is_dir();
        // Git removes folders of refs that it has just packed, which may be the one in which this one is being put.
        let mut tries = 1;
        while let Err(why) = put_ref(&path, commit) {
            if tries == TRIES_MAX {
                return Err(GitTrouble::written(&path)(why));
            }
            tries += 1;
        }
        if was_there {
            return File::open(folder).and_then(|folder| folder.sync_all()).map_err(GitTrouble::written(folder));
        }
        self.flush_folders_of(name)
    }

    /// Makes sure that a ref in a file of its own is found after a power cut: git flushes the file, not the way to it.
    pub(super) fn flush_folders_of(&self, name: &str) -> Result<(), GitTrouble> {
        let path = self.common_dir.join(name);
        for folder in path.ancestors().skip(1).take_while(|folder| folder.starts_with(&self.common_dir)) {
            match File::open(folder).and_then(|folder| folder.sync_all()) {
                Err(why) if why.kind() != io::ErrorKind::NotFound => return Err(GitTrouble::written(folder)(why)),
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }
}

fn put_ref(path: &Path, commit: &str) -> io::Result<()> {
    // `refs/onward/RUN/NUMBER`: what lies below `refs` is ours to make, and no link.
    for folder in path.ancestors().skip(1).take(2).collect::<Vec<_>>().into_iter().rev() {
        match DirBuilder::new().create(folder) {
            // No folder above is ever made: where `refs` is missing the repository is somewhere else by now.
            Err(why) if why.kind() != io::ErrorKind::AlreadyExists => return Err(why),
            Err(_) if !fs::symlink_metadata(folder)?.is_dir() => {
                return Err(io::Error::other(format!("{} is no folder", folder.display())));
            }
            Ok(()) | Err(_) => {}
        }
    }
    // The name that git's own lock would have, so that no listing takes it for a ref.
    let beside = path.with_extension("lock");
    let mut file = create_anew(&beside)?;
    file.write_all(format!("{commit}\n").as_bytes())?;
    file.sync_all()?;
    fs::rename(&beside, path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vcs::call::{GitCall, command};

    /// The project was renamed after its repository was found. A ref that is written then makes no folders where it was.
    #[test]
    fn a_ref_is_not_written_where_the_repository_was() {
        let folder = tempfile::tempdir().expect("a folder");
        let (top, moved) = (folder.path().join("top"), folder.path().join("moved"));
        fs::create_dir(&top).expect("our own folder");
        GitCall::new(command(&top), "init").args(["-q", "-b", "main"]).output().expect("a repository");
        let repository = Repository::open(&top, &top.join(".onward")).expect("a repository");
        let commit = "0".repeat(repository.hash_chars());
        repository.set_ref("refs/onward/run/1", &commit).expect("a ref");
        fs::rename(&top, &moved).expect("our own folder");
        repository.set_ref("refs/onward/run/2", &commit).expect_err("it is somewhere else");
        assert!(!top.exists(), "something was made in the old place");
        assert!(moved.join(".git/refs/onward/run/1").exists());
    }
}
