//! A copy of a run's journal under a hidden ref, so that the books survive their folder.
//!
//! Each piece is a commit whose message holds some records and whose parent is the piece before. Its tree is empty: no restore and
//! no comparison of snapshots ever sees it.

use std::time::Duration;

use onward_core::id::RunId;

use super::repository::Repository;
use super::snapshot::{ADDRESS, NAME, ref_name};
use super::trouble::Trouble;

/// Nobody should have to wait for a copy: where git takes longer, there is none.
const TIME_MAX: Duration = Duration::from_secs(3);

/// Behind `refs/onward/RUN/`; snapshots have numbers there.
const COPY: &str = "journal";

impl Repository {
    /// Adds a piece to the copy of a journal, durably.
    pub(crate) fn keep_piece(&self, run: &RunId, text: String) -> Result<(), Trouble> {
        let name = copy_name(run)?;
        let empty = self.object_format.empty_tree();
        // Git knows it without having it, and misses it when it checks the repository.
        let made = self.call("hash-object").args(["-w", "-t", "tree", "--stdin"]).at_most(TIME_MAX);
        made.input(Vec::new()).output()?;
        let mut call = self.durable_call("commit-tree").at_most(TIME_MAX);
        if let Some(last) = self.commit_named(&name) {
            call = call.args(["-p", &last]);
        }
        for variable in ["AUTHOR", "COMMITTER"] {
            call = call.env(&format!("GIT_{variable}_NAME"), NAME).env(&format!("GIT_{variable}_EMAIL"), ADDRESS);
        }
        let commit = call.args(["-F", "-", empty]).input(text.into_bytes()).line()?;
        self.set_ref(&name, &commit)
    }

    /// Runs whose journals have a copy here.
    pub(crate) fn copied_journals(&self) -> Result<Vec<RunId>, Trouble> {
        let listed = self.call("for-each-ref").args(["--format=%(refname)", "refs/onward"]).output()?;
        let listed = String::from_utf8_lossy(&listed).into_owned();
        let run = |name: &str| name.strip_prefix("refs/onward/")?.strip_suffix(COPY)?.strip_suffix('/').map(RunId::new);
        Ok(listed.lines().filter_map(run).collect())
    }

    /// The pieces of a copy, oldest first.
    pub(crate) fn pieces(&self, run: &RunId) -> Result<Vec<String>, Trouble> {
        let name = copy_name(run)?;
        let listed = self.call("rev-list").args(["--reverse", "--first-parent", &name]).output()?;
        let all = self.call("cat-file").arg("--batch").input(listed).output()?;
        messages(&all).ok_or_else(|| Trouble::unclear("cat-file", &all[..all.len().min(200)]))
    }

    /// The last piece of a copy; none where there is no copy.
    pub(crate) fn last_piece(&self, run: &RunId) -> Result<Option<String>, Trouble> {
        let name = copy_name(run)?;
        let asked = self.call("cat-file").at_most(TIME_MAX).arg("--batch").input(format!("{name}\n").into_bytes());
        Ok(messages(&asked.output()?).and_then(|mut all| all.pop()))
    }

    /// Lets go of the copy, with the run that was deleted.
    pub(crate) fn drop_copy(&self, run: &RunId) -> Result<(), Trouble> {
        self.call("update-ref").args(["--no-deref", "-d", &copy_name(run)?]).output().map(drop)
    }
}

fn copy_name(run: &RunId) -> Result<String, Trouble> {
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
