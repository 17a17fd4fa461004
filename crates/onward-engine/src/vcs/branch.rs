//! Questions to git where no repository has been opened: where the top is, and which branch is checked out.

use std::path::{Path, PathBuf};

use onward_core::resume::BranchFact;

use super::call::{self, GitCall};
use super::filters::Filters;
use crate::redact::{self, MARK};

/// The top of the working tree that `from` lies in.
pub(crate) fn top(from: &Path) -> Option<PathBuf> {
    if !is_repository(from) {
        return None;
    }
    let top = ask(from, &["rev-parse", "--show-toplevel"]).map(PathBuf::from)?;
    is_around(&top, from).then_some(top)
}

/// Whether a folder is the top of a working tree around another. Settings of a repository may name any folder as its tree.
pub(super) fn is_around(top: &Path, folder: &Path) -> bool {
    let resolved = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    top.join(".git").exists() && resolved(folder).starts_with(resolved(top))
}

/// Files with changes that are not committed. Filters of the repository's own are not run for that.
pub(crate) fn dirty(top: &Path) -> Option<Vec<String>> {
    let filters = Filters::in_folder(top).ok()?;
    let mut command = call::command(top);
    command.arg("--no-optional-locks");
    let words = ["--porcelain", "--untracked-files=all", "--ignore-submodules=dirty"];
    let out = filters.off(GitCall::new(command, "status").args(words)).output().ok()?;
    Some(String::from_utf8_lossy(&out).lines().filter_map(|line| line.get(3..)).map(str::to_owned).collect())
}

/// The branch that is checked out, as it may be kept: without secrets in its name. None where HEAD is detached, or outside git.
pub(crate) fn branch(top: &Path) -> Option<String> {
    if !is_repository(top) {
        return None;
    }
    ask(top, &["symbolic-ref", "--quiet", "--short", "HEAD"]).map(redact::inputs::text)
}

/// Whether the branch on which a run was started is still there.
pub(crate) fn branch_fact(top: &Path, branch: Option<&str>) -> BranchFact {
    let Some(branch) = branch else { return BranchFact::None };
    // A branch without a commit yet has no ref, but is the one that is checked out.
    if self::branch(top).as_deref() == Some(branch) {
        return BranchFact::There;
    }
    if branch.contains(MARK) {
        // Found again by whoever knows the secret in its name; nobody else can say that it is gone.
        let all = lines(top, &["for-each-ref", "--format=%(refname:short)", "refs/heads"]).unwrap_or_default();
        let is_there = all.into_iter().any(|name| redact::inputs::text(name) == branch);
        return if is_there { BranchFact::There } else { BranchFact::Unknown };
    }
    let name = format!("refs/heads/{branch}");
    let answer = git(top, &["show-ref", "--verify", "--quiet", &name]).ask();
    match answer.ok().and_then(|answer| answer.code) {
        Some(0) => BranchFact::There,
        Some(1) => BranchFact::Gone,
        Some(_) | None => BranchFact::Unknown,
    }
}

/// Whether a folder lies in a working tree, as far as that can be seen without starting git.
pub(crate) fn is_repository(folder: &Path) -> bool {
    folder.ancestors().any(|folder| folder.join(".git").exists())
}

/// All lines of an answer; none where git has no answer.
pub(crate) fn lines(folder: &Path, words: &[&str]) -> Option<Vec<String>> {
    let output = git(folder, words).output().ok()?;
    Some(String::from_utf8_lossy(&output).lines().map(str::to_owned).collect())
}

pub(crate) fn ask(folder: &Path, words: &[&str]) -> Option<String> {
    let text = String::from_utf8(git(folder, words).output().ok()?).ok()?;
    let line = text.trim_end_matches('\n');
    (!line.is_empty()).then(|| line.to_owned())
}

fn git(folder: &Path, words: &[&str]) -> GitCall {
    let mut command = call::command(folder);
    command.arg("--no-optional-locks").args(words);
    GitCall::worded(command)
}
