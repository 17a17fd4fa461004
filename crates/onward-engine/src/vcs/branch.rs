//! What is asked of git where no repository has been opened: where the top is, and which branch we are on.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use onward_core::resume::BranchFact;

use super::call;

/// The top of the working tree that `from` lies in.
pub(crate) fn top(from: &Path) -> Option<PathBuf> {
    if !from.ancestors().any(|folder| folder.join(".git").exists()) {
        return None;
    }
    ask(from, &["rev-parse", "--show-toplevel"]).map(PathBuf::from)
}

/// The branch that is checked out; none where HEAD is detached, or outside git.
pub(crate) fn branch(top: &Path) -> Option<String> {
    if !top.ancestors().any(|folder| folder.join(".git").exists()) {
        return None;
    }
    ask(top, &["symbolic-ref", "--quiet", "--short", "HEAD"])
}

/// Whether the branch on which a run was started is still there.
pub(crate) fn branch_fact(top: &Path, branch: Option<&str>) -> BranchFact {
    let Some(branch) = branch else { return BranchFact::None };
    // A branch without a commit yet has no ref, but is the one that is checked out.
    if self::branch(top).as_deref() == Some(branch) {
        return BranchFact::There;
    }
    let name = format!("refs/heads/{branch}");
    let status = git(top, &["show-ref", "--verify", "--quiet", &name]).status();
    match status.ok().and_then(|status| status.code()) {
        Some(0) => BranchFact::There,
        Some(1) => BranchFact::Gone,
        Some(_) | None => BranchFact::Unknown,
    }
}

fn ask(folder: &Path, words: &[&str]) -> Option<String> {
    let output = git(folder, words).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let line = text.trim_end_matches('\n');
    (output.status.success() && !line.is_empty()).then(|| line.to_owned())
}

fn git(folder: &Path, words: &[&str]) -> Command {
    let mut command = call::command(folder);
    command.arg("--no-optional-locks").args(words).stdin(Stdio::null()).stderr(Stdio::null());
    command
}
