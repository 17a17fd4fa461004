//! The steps of a mini-commit, in order.

use std::path::Path;

use onward_core::id::RunId;

use super::index;
use super::index_lock::{self, IndexLock};
use super::message;
use crate::kill_point::reached;
use crate::sys::stop;
use crate::vcs::LeftOut;
use crate::vcs::call::{self, DURABLE};
use crate::vcs::head::CheckedOut;
use crate::vcs::repository::Repository;
use crate::vcs::shadow::Shadow;
use crate::vcs::trouble::GitTrouble;

/// So many commits are searched for the one that may have been made before.
const COMMITS_SEARCHED_MAX: u32 = 10_000;

/// A commit that is wanted. Whoever asks has it on record before, and asks with the same words again until there is an answer.
pub struct CommitRequest<'a> {
    pub run: &'a RunId,
    /// Names this commit within the run.
    pub batch: &'a str,
    /// Marks what a killed try left behind; the same for every try.
    pub token: &'a str,
    /// Where HEAD was when the commit was decided.
    pub at: &'a CheckedOut,
    pub subject: &'a str,
    pub body: &'a str,
    pub trailers: &'a [String],
    pub hooks: Hooks,
    /// The author of the change at a path, as seen from the project.
    pub whose: &'a dyn Fn(&Path) -> Whose,
    /// Whether a content contains a secret.
    pub has_secret: &'a dyn Fn(&[u8]) -> bool,
}

/// The author of the change by which a file is not as HEAD has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// The run's, so it is committed.
    Run,
    /// It was there before the run: it stays as it is, in the index too.
    Before,
    /// The same, and somebody has written to the file since.
    BeforeAndSince,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hooks {
    /// `pre-commit` and `commit-msg` run and may refuse.
    Run,
    Skip,
}

/// The commit is on the branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed {
    pub commit: String,
    /// An earlier try had made it.
    pub was_there: bool,
    pub left_out: Vec<LeftOut>,
    pub index: IndexAfter,
}

/// The state of the user's index afterwards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexAfter {
    /// It has what was committed, beside what the user had staged.
    Updated,
    /// It could not be written, so git shows what was committed as if it were staged the other way round.
    AsItWas { why: String },
}

#[derive(Debug, thiserror::Error)]
pub enum NotCommitted {
    #[error("nothing has changed")]
    NothingChanged { left_out: Vec<LeftOut> },
    #[error("{0}")]
    Busy(&'static str),
    #[error("the branch is not where it was: {was} then, {is} now")]
    HeadMoved { was: String, is: String },
    #[error("the hook {hook} of the repository refused: {said}")]
    HookRefused { hook: &'static str, said: String },
    #[error("the settings of the repository name the filter {filter}, a command: onward trust lets commits use it")]
    UntrustedFilter { filter: String },
    #[error("git does not know who commits here: {said}")]
    NoIdentity { said: String },
    #[error("another git process has the index locked for too long")]
    IndexLocked,
    #[error(transparent)]
    Trouble(#[from] GitTrouble),
}

impl Repository {
    /// Commits what the run changed and git does not ignore to the branch that is checked out.
    pub fn commit(&self, request: &CommitRequest<'_>) -> Result<Committed, NotCommitted> {
        let shadow = Shadow::take(self)?;
        index::catch_up(self);
        let head = self.head();
        if let Some(commit) = self.find_commit(request, &head)? {
            return Ok(self.finish(request, commit));
        }
        index_lock::release(self, request.token);
        self.check_head(request, &head)?;
        reached("vcs.commit-checked");
        let gathered = self.gather(&shadow, request, &head)?;
        reached("vcs.commit-gathered");
        let message = self.message(&shadow, request)?;
        let commit = self.make_commit(&head, &gathered.tree, &message)?;
        reached("vcs.commit-made");
        let lock = IndexLock::take(self, request.token)?;
        reached("vcs.commit-locked");
        // Between the two the index would show the opposite of the commit.
        let _whole = stop::Whole::begin();
        self.move_branch(request, &head, &commit)?;
        reached("vcs.commit-moved");
        let index = lock.write_index(head.commit.as_deref(), &commit);
        Ok(Committed { commit, was_there: false, left_out: gathered.left_out, index })
    }

    /// Brings the user's index up to date where that failed, or was given up, after an earlier commit.
    pub fn catch_index_up(&self) {
        if index::is_behind(self)
            && let Ok(_shadow) = Shadow::take(self)
        {
            index::catch_up(self);
        }
    }

    /// Removes what a killed try left behind, for a commit that is not wanted any more.
    pub fn forget_commit(&self, token: &str) -> Result<(), GitTrouble> {
        let _shadow = Shadow::take(self)?;
        index_lock::release(self, token);
        Ok(())
    }

    /// The commit of this batch, if an earlier try made it.
    fn find_commit(&self, request: &CommitRequest<'_>, head: &CheckedOut) -> Result<Option<String>, GitTrouble> {
        let Some(tip) = head.commit.as_deref().filter(|tip| request.at.commit.as_deref() != Some(tip)) else {
            return Ok(None);
        };
        let max = format!("--max-count={COMMITS_SEARCHED_MAX}");
        let mut log = self.call("log").args(["-z", "--format=%H%n%B", "--no-show-signature", &max, tip]);
        if let Some(parent) = &request.at.commit {
            log = log.arg(format!("^{parent}"));
        }
        let answer = log.ask()?;
        if answer.code != Some(0) {
            // Where the branch was is not known any more, so it has moved, and that is found out next.
            return Ok(None);
        }
        let wanted = message::marks(request);
        let found = call::parts(&answer.out).find_map(|part| {
            let text = String::from_utf8_lossy(part);
            let has_all = wanted.iter().all(|mark| text.lines().any(|line| line == mark));
            has_all.then(|| text.lines().next().unwrap_or_default().to_owned())
        });
        Ok(found)
    }

    /// The commit is there; if its try was killed before the index was written, that is done now.
    fn finish(&self, request: &CommitRequest<'_>, commit: String) -> Committed {
        let index = match IndexLock::left_behind(self, request.token) {
            Some(lock) => {
                let named = format!("{commit}^");
                let parent = self.call("rev-parse").args(["--verify", "--quiet", &named]).line().ok();
                lock.write_index(parent.as_deref(), &commit)
            }
            None => IndexAfter::Updated,
        };
        Committed { commit, was_there: true, left_out: Vec::new(), index }
    }

    /// A commit belongs on the branch for which it was decided, and on top of what was there then.
    fn check_head(&self, request: &CommitRequest<'_>, head: &CheckedOut) -> Result<(), NotCommitted> {
        if let Some(busy) = self.busy() {
            return Err(NotCommitted::Busy(busy));
        }
        let same_branch = head.branch == request.at.branch;
        let goes_on = match (&request.at.commit, &head.commit) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(was), Some(is)) if was == is => true,
            (Some(was), Some(is)) => self.call("merge-base").args(["--is-ancestor", was, is]).ask()?.code == Some(0),
        };
        if same_branch && goes_on { Ok(()) } else { Err(moved(request, head)) }
    }

    fn make_commit(&self, head: &CheckedOut, tree: &str, message: &str) -> Result<String, NotCommitted> {
        let mut call = self.call_with_identity("commit-tree", &DURABLE).args(["-F", "-"]);
        if let Some(parent) = &head.commit {
            call = call.args(["-p", parent]);
        }
        let answer = call.arg(tree).input(message.as_bytes().to_vec()).ask()?;
        let nobody = ["tell me who you are", "empty ident", "auto-detect email"];
        if answer.code != Some(0) && nobody.iter().any(|words| answer.said.contains(words)) {
            let said = answer.said.lines().last().unwrap_or_default().to_owned();
            return Err(NotCommitted::NoIdentity { said });
        }
        let out = answer.output()?;
        Ok(String::from_utf8_lossy(&out).trim_end().to_owned())
    }

    fn move_branch(&self, request: &CommitRequest<'_>, head: &CheckedOut, commit: &str) -> Result<(), NotCommitted> {
        let Some(branch) = &head.branch else { return Err(NotCommitted::Busy("HEAD is detached")) };
        let name = format!("refs/heads/{branch}");
        let (kind, old) = match &head.commit {
            Some(old) => ("commit", old.clone()),
            None => ("commit (initial)", "0".repeat(self.hash_chars())),
        };
        let note = format!("{kind}: {}", message::subject(request));
        let update = self.wherever_it_is(self.call_with_identity("update-ref", &DURABLE));
        let update = update.args(["-m", &note, &name, commit, &old]).ask()?;
        if update.code != Some(0) {
            let now = self.head();
            return Err(if now == *head { update.failed().into() } else { moved(request, &now) });
        }
        Ok(self.flush_folders_of(&name)?)
    }
}

fn moved(request: &CommitRequest<'_>, head: &CheckedOut) -> NotCommitted {
    let words = |head: &CheckedOut| {
        let branch = head.branch.as_deref().unwrap_or("no branch");
        format!("{branch} at {}", head.commit.as_deref().unwrap_or("no commit"))
    };
    NotCommitted::HeadMoved { was: words(request.at), is: words(head) }
}
