//! Where HEAD is, read from the files of git, because it is asked before and after every phase.

use std::fs;
use std::io;

use super::repository::Repository;
use crate::sys::plain_file;

/// How often one ref may name another before it is left to git.
const SYMBOLIC_DEPTH_MAX: usize = 5;

/// The checked out commit and branch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckedOut {
    /// None on a branch without a commit.
    pub commit: Option<String>,
    /// None where HEAD is detached.
    pub branch: Option<String>,
}

/// A ref as the files of the repository have it.
enum Resolved {
    Commit(String),
    Missing,
    /// Only git can tell.
    Unclear,
}

impl Repository {
    /// Where HEAD is. Nothing is started unless the files are of a kind that only git can read.
    pub fn head(&self) -> CheckedOut {
        self.head_from_files().unwrap_or_else(|| self.head_from_git())
    }

    /// An operation of git that has begun and not ended, in words; a detached HEAD is one, since a commit there is easily lost.
    pub fn busy(&self) -> Option<&'static str> {
        const MARKS: [(&str, &str); 9] = [
            ("rebase-merge", "a rebase is under way"),
            ("rebase-apply/applying", "patches are being applied (git am)"),
            ("rebase-apply", "a rebase is under way"),
            ("MERGE_HEAD", "a merge is under way"),
            ("CHERRY_PICK_HEAD", "a cherry-pick is under way"),
            ("REVERT_HEAD", "a revert is under way"),
            ("sequencer", "a series of cherry-picks or reverts is under way"),
            ("BISECT_LOG", "a bisect is under way"),
            ("BISECT_START", "a bisect is under way"),
        ];
        let mark = MARKS.iter().find(|(file, _)| self.git_dir.join(file).exists()).map(|(_, words)| *words);
        mark.or_else(|| self.head().branch.is_none().then_some("HEAD is detached"))
    }

    fn head_from_files(&self) -> Option<CheckedOut> {
        if self.reftable {
            return None;
        }
        let text = fs::read_to_string(self.git_dir.join("HEAD")).ok()?;
        let Some(name) = text.trim_end().strip_prefix("ref: ") else {
            return Some(CheckedOut { commit: Some(self.hash(text.trim_end())?), branch: None });
        };
        let branch = Some(name.strip_prefix("refs/heads/")?.to_owned());
        match self.resolve(name) {
            Resolved::Commit(commit) => Some(CheckedOut { commit: Some(commit), branch }),
            Resolved::Missing => Some(CheckedOut { commit: None, branch }),
            Resolved::Unclear => None,
        }
    }

    fn resolve(&self, name: &str) -> Resolved {
        let mut name = name.to_owned();
        for _ in 0..SYMBOLIC_DEPTH_MAX {
            if !name.starts_with("refs/") || name.split('/').any(|part| part.is_empty() || part.starts_with('.')) {
                return Resolved::Unclear;
            }
            let Ok(text) = fs::read_to_string(self.common_dir.join(&name)) else {
                return self.packed(&name);
            };
            match text.trim_end().strip_prefix("ref: ") {
                Some(next) => next.clone_into(&mut name),
                None => return self.commit_in(&text),
            }
        }
        Resolved::Unclear
    }

    fn packed(&self, name: &str) -> Resolved {
        let packed = match plain_file::read(&self.common_dir.join("packed-refs"), super::PACKED_BYTES_MAX) {
            Ok(text) => text,
            Err(why) if why.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(_) => return Resolved::Unclear,
        };
        let line = packed.split(|&byte| byte == b'\n').find_map(|line| {
            let (hash, rest) = line.split_at_checked(self.hash_chars())?;
            (rest.strip_prefix(b" ")? == name.as_bytes()).then(|| String::from_utf8_lossy(hash).into_owned())
        });
        // It may have moved out of that file between the two looks.
        match line.or_else(|| fs::read_to_string(self.common_dir.join(name)).ok()) {
            Some(text) => self.commit_in(&text),
            None => Resolved::Missing,
        }
    }

    fn commit_in(&self, text: &str) -> Resolved {
        self.hash(text.trim_end()).map_or(Resolved::Unclear, Resolved::Commit)
    }

    /// The text, if it has the form of a commit's name in this repository.
    fn hash(&self, text: &str) -> Option<String> {
        (text.len() == self.hash_chars() && text.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| text.to_owned())
    }

    fn head_from_git(&self) -> CheckedOut {
        let branch = self.call("symbolic-ref").args(["--quiet", "--short", "HEAD"]).line().ok();
        let commit = self.call("rev-parse").args(["--verify", "--quiet", "HEAD^{commit}"]).line().ok();
        CheckedOut { commit, branch }
    }
}
