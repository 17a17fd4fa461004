//! A copy of a run's journal under a hidden ref, so that the books survive their folder.
//!
//! Each piece is a commit whose message holds some records and whose parent is the piece before. Its tree is empty: no restore and
//! no comparison of snapshots ever sees it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use onward_core::id::RunId;
use onward_store::{ownership, private};
use serde::{Deserialize, Serialize};

use super::repository::Repository;
use super::snapshot::{ADDRESS, NAME, ref_name};
use super::trouble::GitTrouble;
use crate::sys::plain_file;

/// Nobody should have to wait for a copy: where git takes longer, there is none.
const TIME_MAX: Duration = Duration::from_secs(3);

/// A start waits for the list of copies, and no longer than this.
const LIST_TIME_MAX: Duration = Duration::from_secs(30);

/// Behind `refs/onward/RUN/`; snapshots have numbers there.
const COPY: &str = "journal";
/// Where the notes about copies lie, in the folder that all working trees of the repository share.
const NOTES: &str = "onward/journals";
/// A file that leads to the folder of a repository is one line.
const LINK_BYTES_MAX: u64 = 16 * 1024;
/// Refs in one file that are looked through; a larger file is left to git.
pub(crate) const PACKED_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Which commit holds the newest piece of a copy, and where the store of its run was. Refs may come from anywhere, by a fetch or in
/// an archive; what such a note names was written here.
#[derive(Debug, Serialize, Deserialize)]
struct Note {
    commit: String,
    /// The last record that is in it.
    end: u64,
    store: PathBuf,
}

/// Where a copy of a journal comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CopyOrigin {
    /// It was written here, by this program.
    Here,
    /// Nothing shows that.
    Unknown,
}

impl Repository {
    /// Adds a piece to the copy of a journal, durably; it ends with record `end`.
    pub(crate) fn keep_piece(&self, run: &RunId, text: String, end: u64) -> Result<(), GitTrouble> {
        let name = copy_name(run)?;
        let empty = self.object_format.empty_tree();
        // Git knows it without having it, and misses it when it checks the repository.
        let made = self.call("hash-object").args(["-w", "-t", "tree", "--stdin"]).at_most(TIME_MAX);
        made.input(Vec::new()).output()?;
        let mut call = self.durable_call("commit-tree").at_most(TIME_MAX);
        let last = self.commit_named(&name);
        if let Some(last) = &last {
            call = call.args(["-p", last]);
        }
        for variable in ["AUTHOR", "COMMITTER"] {
            call = call.env(&format!("GIT_{variable}_NAME"), NAME).env(&format!("GIT_{variable}_EMAIL"), ADDRESS);
        }
        let commit = call.args(["-F", "-", empty]).input(text.into_bytes()).line()?;
        // Where it cannot be written, a copy that is needed one day has to be trusted by a person.
        drop(self.write_note(run, last.as_deref(), (&commit, end)));
        self.set_ref(&name, &commit)
    }

    /// Notes which commit is about to hold the newest piece. What goes on from a piece that was not written here is not ours either.
    fn write_note(&self, run: &RunId, last: Option<&str>, (commit, end): (&str, u64)) -> std::io::Result<()> {
        let path = self.note_path(run);
        if last.is_some_and(|last| self.origin_of(run, last) == CopyOrigin::Unknown) {
            return match fs::remove_file(&path) {
                Err(why) if why.kind() == std::io::ErrorKind::NotFound => Ok(()),
                other => other,
            };
        }
        private::make_folders(&self.common_dir, &self.common_dir.join(NOTES))?;
        let note = Note { commit: commit.to_owned(), end, store: self.store.clone() };
        ownership::write_note(&path, &serde_json::to_string(&note)?)
    }

    fn note_path(&self, run: &RunId) -> PathBuf {
        self.common_dir.join(NOTES).join(run.as_str())
    }

    fn note(&self, run: &RunId) -> Option<Note> {
        note_in(&self.common_dir, run)
    }

    /// Where the copy of a journal comes from. The copy is there: that git does not find it says nothing about where it is from.
    pub(crate) fn origin(&self, run: &RunId) -> Result<CopyOrigin, GitTrouble> {
        let name = copy_name(run)?;
        let found = self.commit_named(&name).ok_or_else(|| GitTrouble::unclear("rev-parse", name.as_bytes()))?;
        Ok(self.origin_of(run, &found))
    }

    /// The same, of the piece that is in a commit. One that a piece of ours goes on from is ours, too.
    fn origin_of(&self, run: &RunId, commit: &str) -> CopyOrigin {
        let Some(note) = self.note(run) else { return CopyOrigin::Unknown };
        let is_before = || {
            let asked = self.call("merge-base").args(["--is-ancestor", commit, &note.commit]).at_most(TIME_MAX).ask();
            asked.is_ok_and(|answer| answer.code == Some(0))
        };
        if note.commit == commit || is_before() { CopyOrigin::Here } else { CopyOrigin::Unknown }
    }

    /// Whether the run of a copy has its store in another working tree of the repository, and is not missing there.
    pub(crate) fn is_kept_elsewhere(&self, run: &RunId) -> bool {
        let Some(Note { store, .. }) = self.note(run) else { return false };
        store != self.store && store.join(onward_store::DATABASE).is_file()
    }

    /// Whether a run of this name has refs here. An id is made once, also where its store is gone.
    pub(crate) fn has_refs_of(&self, run: &RunId) -> bool {
        let Ok(name) = copy_name(run) else { return false };
        let folder = name.trim_end_matches(COPY);
        if self.reftable {
            let listed = self.call("for-each-ref").args(["--count=1", folder]).at_most(TIME_MAX).output();
            return listed.is_ok_and(|listed| !listed.is_empty());
        }
        let packed = || plain_file::read(&self.common_dir.join("packed-refs"), PACKED_BYTES_MAX).unwrap_or_default();
        self.common_dir.join(folder).is_dir() || String::from_utf8_lossy(&packed()).contains(folder)
    }

    /// Runs whose journals have a copy here.
    pub(crate) fn copied_journals(&self) -> Result<Vec<RunId>, GitTrouble> {
        let call = self.call("for-each-ref").args(["--format=%(refname)", "refs/onward"]);
        let listed = call.at_most(LIST_TIME_MAX).output()?;
        let listed = String::from_utf8_lossy(&listed).into_owned();
        let run = |name: &str| name.strip_prefix("refs/onward/")?.strip_suffix(COPY)?.strip_suffix('/').map(RunId::new);
        Ok(listed.lines().filter_map(run).collect())
    }

    /// The pieces of a copy, oldest first.
    pub(crate) fn pieces(&self, run: &RunId) -> Result<Vec<String>, GitTrouble> {
        let name = copy_name(run)?;
        let listed = self.call("rev-list").args(["--reverse", "--first-parent", &name]).output()?;
        let all = self.call("cat-file").arg("--batch").input(listed).output()?;
        messages(&all).ok_or_else(|| GitTrouble::unclear("cat-file", &all[..all.len().min(200)]))
    }

    /// The last piece of a copy; none where there is no copy.
    pub(crate) fn last_piece(&self, run: &RunId) -> Result<Option<String>, GitTrouble> {
        let name = copy_name(run)?;
        let asked = self.call("cat-file").at_most(TIME_MAX).arg("--batch").input(format!("{name}\n").into_bytes());
        Ok(messages(&asked.output()?).and_then(|mut all| all.pop()))
    }

    /// Lets go of the copy and of the id, with the run that was deleted.
    pub(crate) fn drop_copy(&self, run: &RunId) -> Result<(), GitTrouble> {
        let name = copy_name(run)?;
        drop(fs::remove_file(self.note_path(run)));
        self.drop_claim(run);
        self.wherever_it_is(self.call("update-ref")).args(["--no-deref", "-d", &name]).output().map(drop)
    }
}

fn note_in(common_dir: &Path, run: &RunId) -> Option<Note> {
    copy_name(run).ok()?;
    let folder = common_dir.join(NOTES);
    private::demand_folders(common_dir, &folder).ok()?;
    serde_json::from_str(&ownership::read_note(&folder.join(run.as_str()))?).ok()
}

/// The last record of a run that was copied here. It is found without git: this is asked by every command that adds to a journal,
/// and a process would take longer than most of them.
pub(crate) fn noted_end(top: &Path, run: &RunId) -> Option<u64> {
    let (folder, git) = top.ancestors().map(|folder| (folder, folder.join(".git"))).find(|(_, git)| git.exists())?;
    if git.is_dir() {
        return note_in(&git, run).map(|note| note.end);
    }
    let line = |path: &Path| plain_file::read(path, LINK_BYTES_MAX).ok().and_then(|text| String::from_utf8(text).ok());
    let git_dir = folder.join(line(&git)?.trim_end().strip_prefix("gitdir: ")?);
    let common_dir = git_dir.join(line(&git_dir.join("commondir")).as_deref().unwrap_or(".").trim_end());
    note_in(&common_dir.canonicalize().ok()?, run).map(|note| note.end)
}

fn copy_name(run: &RunId) -> Result<String, GitTrouble> {
    let first = ref_name(run, 0)?;
    Ok(format!("{}{COPY}", first.trim_end_matches('0')))
}

/// The messages of the commits in an answer of `cat-file --batch`; none if the answer is not understood. What is missing is left
/// out.
fn messages(mut answer: &[u8]) -> Option<Vec<String>> {
    let mut all = Vec::new();
    while !answer.is_empty() {
        let end = answer.iter().position(|&byte| byte == b'\n')?;
        let (head, rest) = (std::str::from_utf8(&answer[..end]).ok()?, &answer[end + 1..]);
        let mut words = head.split(' ').skip(1);
        match (words.next()?, words.next()) {
            ("commit", Some(bytes)) => {
                let (object, behind) = rest.split_at_checked(bytes.parse().ok()?)?;
                let object = std::str::from_utf8(object).ok()?;
                all.push(object.split_once("\n\n")?.1.to_owned());
                answer = behind.strip_prefix(b"\n")?;
            }
            ("missing" | "ambiguous", None) => answer = rest,
            _ => return None,
        }
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_taken_apart_and_nonsense_is_not() {
        let answer = b"abc commit 13\ntree x\n\none\n\n\ndef missing\nabc commit 12\ntree x\n\ntwo\n\n";
        assert_eq!(messages(answer), Some(vec!["one\n\n".to_owned(), "two\n".to_owned()]));
        assert_eq!(messages(b""), Some(Vec::new()));
        for bad in [&b"abc commit 99\ntree"[..], b"abc blob 1\nx\n", b"abc\n", b"abc commit x\n"] {
            assert_eq!(messages(bad), None, "{}", bad.escape_ascii());
        }
    }
}
