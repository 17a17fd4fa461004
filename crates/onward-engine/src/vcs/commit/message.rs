//! The message of a mini-commit, and the trailers by which it is found again.

use std::fs;

use onward_store::private;

use super::{CommitRequest, Hooks, NotCommitted};
use crate::vcs::call::{GitCall, command, command_with_hooks};
use crate::vcs::repository::Repository;
use crate::vcs::shadow::Shadow;
use crate::vcs::trouble::GitTrouble;

/// The variables of the committer's identity; nothing else of the environment steers git.
const IDENTITY: [&str; 4] = ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"];

/// The lines by which a commit is known.
pub(super) fn marks(request: &CommitRequest<'_>) -> [String; 2] {
    [format!("Onward-Run: {}", request.run), format!("Onward-Batch: {}", one_line(request.batch))]
}

pub(super) fn subject(request: &CommitRequest<'_>) -> String {
    one_line(request.subject)
}

fn one_line(text: &str) -> String {
    text.split(|letter: char| letter.is_control()).collect::<Vec<_>>().join(" ").trim().to_owned()
}

fn text(request: &CommitRequest<'_>) -> String {
    let body: String = request.body.chars().filter(|letter| *letter == '\n' || !letter.is_control()).collect();
    let trailers: Vec<String> =
        request.trailers.iter().map(|trailer| one_line(trailer)).filter(|trailer| !trailer.is_empty()).collect();
    let parts = [subject(request), body.trim().to_owned(), [trailers.as_slice(), &marks(request)].concat().join("\n")];
    let filled: Vec<&str> = parts.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
    filled.join("\n\n") + "\n"
}

impl Repository {
    /// The message, after `commit-msg` has seen it where hooks are wanted.
    pub(super) fn message(&self, shadow: &Shadow<'_>, request: &CommitRequest<'_>) -> Result<String, NotCommitted> {
        let text = text(request);
        match request.hooks {
            Hooks::Skip => Ok(text),
            Hooks::Run => {
                let path = shadow.folder.join("COMMIT_EDITMSG");
                private::replace(&path, text.as_bytes()).map_err(GitTrouble::written(&path))?;
                let call = self.hook(shadow, "commit-msg").arg("--").arg(&path);
                run_hook(call, "commit-msg")?;
                Ok(fs::read_to_string(&path).map_err(GitTrouble::read(&path))?)
            }
        }
    }

    pub(super) fn hook(&self, shadow: &Shadow<'_>, name: &str) -> GitCall {
        let mut command = command_with_hooks(&self.top);
        command.env("GIT_DIR", &self.git_dir).env("GIT_WORK_TREE", &self.top);
        command.env("GIT_INDEX_FILE", shadow.commit_index()).env("GIT_EDITOR", ":");
        GitCall::new(with_identity(command), "hook").args(["run", "--ignore-missing", name])
    }

    /// A call that says who does it.
    pub(super) fn call_with_identity(&self, what: &'static str, options: &[&str]) -> GitCall {
        let mut command = command(&self.top);
        command.args(options).env("GIT_DIR", &self.git_dir).env("GIT_WORK_TREE", &self.top);
        GitCall::new(with_identity(command), what)
    }
}

pub(super) fn run_hook(call: GitCall, hook: &'static str) -> Result<(), NotCommitted> {
    let answer = call.ask()?;
    if answer.code == Some(0) {
        return Ok(());
    }
    let said = [answer.said.as_str(), &String::from_utf8_lossy(&answer.out)].join("\n").trim().to_owned();
    Err(NotCommitted::HookRefused { hook, said })
}

fn with_identity(mut command: std::process::Command) -> std::process::Command {
    for name in IDENTITY {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command
}
