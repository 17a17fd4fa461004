//! The simulated repository: commits with their numbers, and a working tree of which only the version is known.

use onward_core::checkpoint::FileModified;
use onward_core::event::{FilesBack, NoCommit, SnapshotRef};
use onward_core::input::{Input, Made};
use onward_core::mutant::{self, Mutant};
use onward_core::run::Run;
use onward_engine::{FilesOutcome, Result, RewindSince};

use super::oracle::Oracle;
use super::world::Machine;

/// The simulated repository. It survives every driver.
#[derive(Debug, Default)]
pub(super) struct SimulatedGit {
    /// Raised by every phase that has done something.
    pub(super) tree: u64,
    committed: u64,
    /// Commits with the numbers in their trailers, the oldest first.
    commits: Vec<u32>,
}

impl SimulatedGit {
    pub(super) fn head(&self) -> String {
        format!("commit{}", self.commits.len())
    }
}

impl Machine {
    pub(super) fn snapshot(&mut self, run: &Run) -> Result<Input> {
        self.tick()?;
        if self.dice.percent(3) {
            return Ok(Input::Snapshotted(Err("git has no room".to_owned())));
        }
        let (commit, last) = (format!("tree{}", self.git.tree), run.vcs.last.as_ref());
        let same = last.filter(|last| last.commit == commit);
        let number = same.map_or_else(|| run.next_snapshot(), |last| last.number);
        self.tick()?;
        Ok(Input::Snapshotted(Ok(SnapshotRef { commit, number, left_out: Vec::new(), head: Some(self.git.head()) })))
    }

    /// Which files are changed depends on the version of the tree alone.
    pub(super) fn modified(&self) -> Input {
        let file = |number: u64| {
            let (status, digest) = ("modified".to_owned(), Some(format!("blob{}", self.git.tree)));
            FileModified { path: format!("file{number}"), status, staged: self.git.tree.is_multiple_of(2), digest }
        };
        Input::TreeSeen { files: (0..self.git.tree % 4).map(file).collect() }
    }

    pub(super) fn commit(&mut self, run: &Run, number: u32) -> Result<Input> {
        self.tick()?;
        self.oracle.may_commit(run, number);
        let found = self.git.commits.contains(&number) && !mutant::is(Mutant::CommitTwice);
        let made = if found {
            Ok(self.git.head())
        } else if self.dice.percent(10) {
            Err(NoCommit::NotNow { reason: "a rebase is in progress".to_owned() })
        } else if self.git.tree == self.git.committed {
            Err(NoCommit::NothingChanged { left_out: Vec::new() })
        } else {
            self.git.commits.push(number);
            self.git.committed = self.git.tree;
            Oracle::committed(&self.git.commits);
            // Made, and perhaps nobody lives to write it down.
            self.tick()?;
            Ok(self.git.head())
        };
        let made = made.map(|commit| Made { commit, left_out: Vec::new() });
        Ok(Input::Committed { number, made })
    }

    /// The tree is what it was, under a number of its own: what is on disk now is not what was there a moment ago.
    pub(super) fn restore(&mut self, run: &Run, files: &FilesBack, begun: RewindSince) -> Result<FilesOutcome> {
        self.tick()?;
        let why = "a file is in the way".to_owned();
        match (self.dice.below(20), begun) {
            (0 | 1, RewindSince::Now) => return Ok(FilesOutcome::AsBefore(why)),
            (0, RewindSince::Earlier) => return Ok(FilesOutcome::Refused(why)),
            (1, RewindSince::Earlier) => return Ok(FilesOutcome::Halfway(why)),
            (_, RewindSince::Now | RewindSince::Earlier) => {}
        }
        let version = files.to.strip_prefix("tree").expect("a commit of ours");
        self.git.tree = version.parse().expect("a number");
        self.tick()?;
        let head = Some(self.git.head());
        let (commit, number) = (files.to.clone(), run.next_snapshot());
        Ok(FilesOutcome::Back(SnapshotRef { commit, number, left_out: Vec::new(), head }))
    }
}
