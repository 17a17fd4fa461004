//! Branch and issue at the end of an attempt: what the run did to them itself is no change from outside.

use std::path::PathBuf;

use onward_core::event::Outcome;
use onward_core::evidence::Around;
use onward_core::run::Run;

use super::{git, issue};
use crate::executor::shell;
use crate::project::Project;
use crate::vcs::{ask, is_repository};

/// Where to look when an attempt has ended.
#[derive(Clone, Debug)]
pub(crate) struct WorldWatch {
    top: PathBuf,
    work_branch: Option<String>,
    issue: Option<Box<issue::Watched>>,
}

impl WorldWatch {
    pub(crate) fn new(project: &Project, run: &Run) -> Self {
        let work_branch = run.plan().freshness.git.branch.as_ref().and_then(|name| shell::fill(run, name));
        Self { top: git::top_of(project, run), work_branch, issue: issue::Watched::new(project, run).map(Box::new) }
    }

    /// The surroundings as they are now. Whoever asked an attempt to stop is not kept waiting for the issue.
    pub(crate) fn now(&self, branch: Option<String>, outcome: &Outcome) -> Option<Box<Around>> {
        let in_git = is_repository(&self.top);
        let asked_to_stop = matches!(outcome, Outcome::Stopped { .. });
        let issue = self.issue.as_ref().filter(|_| !asked_to_stop).and_then(|issue| issue.now());
        if !in_git && issue.is_none() {
            return None;
        }
        let commit = |name: &String| {
            let named = format!("refs/heads/{name}^{{commit}}");
            ask(&self.top, &["rev-parse", "--verify", "--quiet", &named])
        };
        let work_branch = self.work_branch.as_ref().filter(|_| in_git).and_then(commit);
        Some(Box::new(Around { branch, work_branch, issue }))
    }
}
