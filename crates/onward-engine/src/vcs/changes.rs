//! Differences between two snapshots.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::iter::Peekable;
use std::path::PathBuf;

use onward_core::checkpoint::FileModified;

use super::call::GitCall;
use super::repository::Repository;
use super::scan::TreeEntry;
use super::trouble::GitTrouble;

/// One path that is not the same in two snapshots, relative to the top of the project.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PathChange {
    pub path: PathBuf,
    pub kind: ChangeKind,
    /// None for what is not text.
    pub lines_added: Option<u64>,
    pub lines_removed: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeKind {
    Added,
    Removed,
    Changed,
    /// The same bytes; only whether the file may be executed changed.
    Mode,
    /// A file became a link, or the other way round.
    Kind,
}

/// A path with its old and new state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PathStep {
    pub(super) path: Vec<u8>,
    pub(super) before: Option<TreeEntry>,
    pub(super) after: Option<TreeEntry>,
}

impl PathStep {
    fn kind(&self) -> ChangeKind {
        match (&self.before, &self.after) {
            (None, _) => ChangeKind::Added,
            (_, None) => ChangeKind::Removed,
            (Some(before), Some(after)) if before.hash == after.hash && !before.is_link() && !after.is_link() => {
                ChangeKind::Mode
            }
            (Some(before), Some(after)) if before.is_link() != after.is_link() => ChangeKind::Kind,
            (Some(_), Some(_)) => ChangeKind::Changed,
        }
    }
}

/// How many lines came and went.
type LineCounts = (Option<u64>, Option<u64>);

impl Repository {
    /// The differences between two snapshots, in the order of paths.
    pub fn changes(&self, from: &str, to: &str) -> Result<Vec<PathChange>, GitTrouble> {
        let (steps, lines) = self.steps_and_lines(from, to)?;
        Ok(self.shown(steps.iter().zip(lines)))
    }

    /// The differences between two snapshots as git shows them, without anything that a repository could have started.
    pub fn diff_text(&self, from: &str, to: &str, mut into: impl Write) -> Result<(), GitTrouble> {
        self.diff_tree(from, to).arg("--patch").stream(|out| {
            io::copy(out, &mut into)
                .map_err(|why| GitTrouble::Failed { what: "diff-tree".to_owned(), said: why.to_string() })?;
            Ok(())
        })
    }

    /// Files that are in a snapshot not as in a commit, or are staged, in the order of paths.
    pub(crate) fn modified(
        &self,
        head: Option<&str>,
        snapshot: &str,
        known: &BTreeMap<String, FileModified>,
    ) -> Result<Vec<FileModified>, GitTrouble> {
        let head = head.unwrap_or_else(|| self.object_format.empty_tree());
        let raw = self.diff_tree(head, snapshot).arg("--raw").output()?;
        let steps = parse_steps(&raw).ok_or_else(|| GitTrouble::unclear("diff-tree", &raw))?;
        let words = ["--cached", "-z", "--name-only", "--no-renames", "--no-ext-diff", head];
        let staged = self.call("diff-index").args(words).output()?;
        let staged: BTreeSet<&[u8]> = super::call::parts(&staged).collect();
        let mut files: BTreeMap<String, FileModified> = BTreeMap::new();
        for step in steps.iter().filter(|step| !self.is_store(&step.path)) {
            let Some(path) = self.in_project(&step.path) else { continue };
            let path = path.to_string_lossy().into_owned();
            let status = match step.kind() {
                ChangeKind::Added => "added",
                ChangeKind::Removed => "deleted",
                ChangeKind::Changed | ChangeKind::Mode | ChangeKind::Kind => "modified",
            };
            let (staged, digest) =
                (staged.contains(step.path.as_slice()), step.after.as_ref().map(|it| it.hash.clone()));
            files.insert(path.clone(), FileModified { path, status: status.to_owned(), staged, digest });
        }
        // Staged, and then put back in the working tree: that is a change, too, as long as it is staged.
        for path in staged.into_iter().filter(|path| !self.is_store(path)).filter_map(|path| self.in_project(path)) {
            let path = path.to_string_lossy().into_owned();
            let digest = known.get(&path).and_then(|known| known.digest.clone());
            let new = || FileModified { path: path.clone(), status: "modified".to_owned(), staged: true, digest };
            files.entry(path.clone()).or_insert_with(new);
        }
        Ok(files.into_values().collect())
    }

    /// Another value means that somebody has changed the user's index.
    pub(crate) fn index_state(&self) -> String {
        super::working_tree::state_of(&self.git_dir.join("index"))
    }

    pub(super) fn steps_and_lines(&self, from: &str, to: &str) -> Result<(Vec<PathStep>, Vec<LineCounts>), GitTrouble> {
        let out = self.diff_tree(from, to).args(["--raw", "--numstat"]).output()?;
        parse(&out).ok_or_else(|| GitTrouble::unclear("diff-tree", &out))
    }

    pub(super) fn shown<'a>(&self, steps: impl Iterator<Item = (&'a PathStep, LineCounts)>) -> Vec<PathChange> {
        let ours = steps.filter(|(step, _)| !self.is_store(&step.path));
        let shown = ours.filter_map(|(step, (lines_added, lines_removed))| {
            Some(PathChange { path: self.in_project(&step.path)?, kind: step.kind(), lines_added, lines_removed })
        });
        shown.collect()
    }

    /// Paths that the second snapshot of some pair has and the first has not.
    pub(super) fn added(&self, pairs: &[(&str, &str)]) -> Result<BTreeSet<Vec<u8>>, GitTrouble> {
        if pairs.is_empty() {
            return Ok(BTreeSet::new());
        }
        // Git compares a pair as a commit and its parent, which comes second.
        let pairs: Vec<u8> = pairs.iter().flat_map(|(old, new)| format!("{new} {old}\n").into_bytes()).collect();
        let words = ["--stdin", "--no-commit-id", "-r", "-z", "--name-only", "--no-renames", "--diff-filter=A", "-m"];
        let out = self.call("diff-tree").args(words).input(pairs).output()?;
        Ok(super::call::parts(&out).map(<[u8]>::to_vec).collect())
    }

    /// Those of some commits that the repository has.
    pub(crate) fn commits_there<'a>(&self, commits: &BTreeSet<&'a str>) -> Result<BTreeSet<&'a str>, GitTrouble> {
        if commits.is_empty() {
            return Ok(BTreeSet::new());
        }
        let asked: Vec<u8> = commits.iter().flat_map(|commit| format!("{commit}^{{commit}}\n").into_bytes()).collect();
        let answer = self.call("cat-file").arg("--batch-check").input(asked).output()?;
        let answer = String::from_utf8_lossy(&answer).into_owned();
        if answer.lines().count() != commits.len() {
            return Err(GitTrouble::unclear("cat-file", answer.as_bytes()));
        }
        let there = commits.iter().zip(answer.lines()).filter(|(_, line)| !line.ends_with(" missing"));
        Ok(there.map(|(commit, _)| *commit).collect())
    }

    fn diff_tree(&self, from: &str, to: &str) -> GitCall {
        let words = ["-r", "-z", "--no-renames", "--full-index", "--no-ext-diff", "--no-textconv"];
        self.call("diff-tree").args(words).args([from, to])
    }
}

impl TreeEntry {
    pub(super) fn is_link(&self) -> bool {
        self.mode == "120000"
    }

    pub(super) fn is_executable(&self) -> bool {
        self.mode == "100755"
    }

    /// Neither a file nor a link: a repository inside this one.
    pub(super) fn is_repository(&self) -> bool {
        self.mode == "160000"
    }
}

/// All `:mode mode hash hash letter NUL path NUL`, then all `added TAB removed TAB path NUL`, in the same order.
fn parse(out: &[u8]) -> Option<(Vec<PathStep>, Vec<LineCounts>)> {
    let mut parts = super::call::parts(out).peekable();
    let steps = steps(&mut parts)?;
    let lines: Option<Vec<LineCounts>> = parts.map(parse_lines).collect();
    let lines = lines?;
    (lines.len() == steps.len()).then_some((steps, lines))
}

/// The first half of that alone.
fn parse_steps(out: &[u8]) -> Option<Vec<PathStep>> {
    let mut parts = super::call::parts(out).peekable();
    let steps = steps(&mut parts)?;
    parts.next().is_none().then_some(steps)
}

fn steps<'a>(parts: &mut Peekable<impl Iterator<Item = &'a [u8]>>) -> Option<Vec<PathStep>> {
    let mut steps = Vec::new();
    while let Some(about) = parts.next_if(|part| part.starts_with(b":")) {
        let fields: Vec<&str> = std::str::from_utf8(&about[1..]).ok()?.split(' ').collect();
        let [mode_before, mode_after, hash_before, hash_after, _] = *fields.as_slice() else { return None };
        let entry = |mode: &str, hash: &str| TreeEntry { mode: mode.to_owned(), hash: hash.to_owned() };
        let side = |mode: &str, hash: &str| (mode != "000000").then(|| entry(mode, hash));
        let path = parts.next()?.to_vec();
        steps.push(PathStep { path, before: side(mode_before, hash_before), after: side(mode_after, hash_after) });
    }
    Some(steps)
}

fn parse_lines(part: &[u8]) -> Option<LineCounts> {
    let mut fields = part.splitn(3, |&byte| byte == b'\t').map(|field| std::str::from_utf8(field).ok());
    let (added, removed) = (fields.next()??, fields.next()??);
    Some((added.parse().ok(), removed.parse().ok()))
}
