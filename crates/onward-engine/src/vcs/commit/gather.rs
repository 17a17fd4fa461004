//! Everything that goes into a mini-commit, in an index of our own but by the user's rules.

use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use onward_core::secret_names::is_secret_name;

use super::message::run_hook;
use super::{CommitRequest, Hooks, NotCommitted, Whose};
use crate::mirror::KnownMirrors;
use crate::vcs::call::{DURABLE, GitCall, command};
use crate::vcs::head::CheckedOut;
use crate::vcs::repository::Repository;
use crate::vcs::scan::{self, Difference, InTree, STATUS_WORDS, TreeEntry};
use crate::vcs::shadow::{Shadow, list};
use crate::vcs::trouble::GitTrouble;
use crate::vcs::{LeftOut, WhyLeftOut, path_of};

/// A tree to commit.
pub(super) struct Gathered {
    pub(super) tree: String,
    pub(super) left_out: Vec<LeftOut>,
}

/// The changes to the index before the tree is written.
#[derive(Default)]
struct IndexPlan {
    take: std::collections::BTreeSet<Vec<u8>>,
    /// Entries set as they are in HEAD, or removed.
    set: Vec<(Vec<u8>, Option<TreeEntry>)>,
    left_out: Vec<LeftOut>,
    /// Something is in the index already that HEAD has not.
    staged: bool,
}

impl Shadow<'_> {
    pub(super) fn commit_index(&self) -> PathBuf {
        self.folder.join("commit-index")
    }
}

impl Repository {
    pub(super) fn gather(
        &self,
        shadow: &Shadow<'_>,
        request: &CommitRequest<'_>,
        head: &CheckedOut,
    ) -> Result<Gathered, NotCommitted> {
        let index = shadow.commit_index();
        for leftover in [index.clone(), index.with_extension("lock")] {
            let _ = fs::remove_file(leftover);
        }
        if self.git_dir.join("index").exists() {
            self.copy_index(&index)?;
        }
        let call = |what: &'static str| {
            let mut command = command(&self.top);
            command.args(DURABLE).args(["-c", "core.safecrlf=false"]);
            command.env("GIT_DIR", &self.git_dir).env("GIT_WORK_TREE", &self.top).env("GIT_INDEX_FILE", &index);
            GitCall::new(command, what)
        };
        // Compared without filters, so that nothing is run for a file that is not committed; with them it may be the same.
        let filters = self.filters()?;
        let differences = scan::understand(&filters.off(call("status")).args(STATUS_WORDS).output()?)?;
        if differences.iter().any(|one| one.unmerged) {
            return Err(NotCommitted::Busy("there are files with conflicts"));
        }
        let plan = self.plan_commit(request, differences);
        if plan.take.is_empty() && !plan.staged {
            return Err(NotCommitted::NothingChanged { left_out: plan.left_out });
        }
        self.demand_trusted(&filters, &plan.take)?;
        if !plan.set.is_empty() {
            call("update-index")
                .args(["-z", "--index-info"])
                .input(index_info(&plan.set, self.hash_chars()))
                .output()?;
        }
        if !plan.take.is_empty() {
            let words = ["--add", "--remove", "--replace", "-z", "--stdin"];
            call("update-index").args(words).input(list(&plan.take)).output()?;
        }
        if request.hooks == Hooks::Run {
            run_hook(self.hook(shadow, "pre-commit"), "pre-commit")?;
        }
        let tree = call("write-tree").line()?;
        if tree == self.tree_of_head(head)? {
            return Err(NotCommitted::NothingChanged { left_out: plan.left_out });
        }
        Ok(Gathered { tree, left_out: plan.left_out })
    }

    fn tree_of_head(&self, head: &CheckedOut) -> Result<String, GitTrouble> {
        match &head.commit {
            None => Ok(self.object_format.empty_tree().to_owned()),
            Some(commit) => self.call("rev-parse").args(["--verify", "--quiet", &format!("{commit}^{{tree}}")]).line(),
        }
    }

    fn plan_commit(&self, request: &CommitRequest<'_>, differences: Vec<Difference>) -> IndexPlan {
        let mut plan = IndexPlan::default();
        let mirrors = KnownMirrors::of(&self.store);
        let is_mirror = |shown: &Path, path: &[u8]| mirrors.has(shown, &self.top.join(path_of(path)));
        for one in differences {
            let shown = self.in_project(&one.path).filter(|_| !self.is_store(&one.path));
            if shown.as_ref().is_some_and(|shown| is_mirror(shown, &one.path)) {
                if one.tree != InTree::Untracked {
                    plan.set.push((one.path, one.head));
                }
                continue;
            }
            let Some(shown) = shown else {
                // What is staged outside of the project is not for us to commit.
                if one.staged {
                    plan.set.push((one.path, one.head));
                }
                continue;
            };
            let whose = (request.whose)(&shown);
            let why = self.why_not_committed(request, &one, whose);
            if why.is_some() || whose != Whose::Run {
                plan.left_out.extend(why.map(|why| LeftOut { path: shown, why }));
                if one.staged || one.tree == InTree::Changed {
                    plan.set.push((one.path, one.head));
                }
                continue;
            }
            plan.staged |= one.staged || one.tree == InTree::Gone;
            match one.tree {
                InTree::Same | InTree::Repository => {}
                // Something else may be in its place, so git is not asked to look there.
                InTree::Gone => plan.set.push((one.path, None)),
                InTree::Changed | InTree::Untracked => {
                    plan.take.insert(one.path);
                }
            }
        }
        plan
    }

    /// Why a change is named and not committed; none where it is committed, or passed over in silence.
    fn why_not_committed(&self, request: &CommitRequest<'_>, one: &Difference, whose: Whose) -> Option<WhyLeftOut> {
        if one.tree == InTree::Gone {
            return None;
        }
        if is_secret_name(&String::from_utf8_lossy(&one.path)) {
            return Some(WhyLeftOut::SecretName);
        }
        // What the branch has already is no news, here and below.
        let name_is_news = whose == Whose::Run && one.head.is_none();
        if name_is_news && (request.has_secret)(&one.path) {
            return Some(WhyLeftOut::TokenInName);
        }
        match (whose, one.tree) {
            (Whose::Before, _) => return None,
            (Whose::BeforeAndSince, _) => return Some(WhyLeftOut::ChangedBefore),
            (Whose::Run, InTree::Repository) => return Some(WhyLeftOut::Repository),
            (Whose::Run, InTree::Same | InTree::Gone) => {}
            (Whose::Run, InTree::Changed | InTree::Untracked) => {
                if let Some(why) = self.why_not_taken(&one.path) {
                    return Some(why);
                }
            }
        }
        let secret =
            committed_content(&self.top.join(path_of(&one.path))).is_some_and(|all| (request.has_secret)(&all));
        let known = || one.head.as_ref().is_some_and(|head| self.has_secret(request, &head.hash));
        (secret && !known()).then_some(WhyLeftOut::Token)
    }

    fn has_secret(&self, request: &CommitRequest<'_>, blob: &str) -> bool {
        self.call("cat-file").args(["blob", blob]).output().is_ok_and(|content| (request.has_secret)(&content))
    }

    /// Paths that are not as HEAD has them, staged and untracked ones included, as seen from the project.
    pub fn changed_now(&self) -> Result<Vec<PathBuf>, GitTrouble> {
        let differences = scan::understand(&self.filters()?.off(self.call("status")).args(STATUS_WORDS).output()?)?;
        let ours = differences.into_iter().filter(|one| !self.is_store(&one.path));
        Ok(ours.filter_map(|one| self.in_project(&one.path)).collect())
    }
}

/// The bytes that git commits for a path: the content of a file, or where a link leads.
fn committed_content(path: &Path) -> Option<Vec<u8>> {
    let kind = fs::symlink_metadata(path).ok()?.file_type();
    if kind.is_symlink() {
        Some(fs::read_link(path).ok()?.into_os_string().into_vec())
    } else if kind.is_file() {
        fs::read(path).ok()
    } else {
        None
    }
}

/// Entries in the form of `update-index --index-info`; removals come first, so that a file can take the place of a folder.
pub(super) fn index_info(entries: &[(Vec<u8>, Option<TreeEntry>)], hash_chars: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let removed = entries.iter().filter(|(_, entry)| entry.is_none());
    for (path, entry) in removed.chain(entries.iter().filter(|(_, entry)| entry.is_some())) {
        let about = match entry {
            Some(TreeEntry { mode, hash }) => format!("{mode} {hash}\t"),
            None => format!("0 {}\t", "0".repeat(hash_chars)),
        };
        bytes.extend_from_slice(about.as_bytes());
        bytes.extend_from_slice(path);
        bytes.push(0);
    }
    bytes
}
