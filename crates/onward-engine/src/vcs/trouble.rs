//! Errors of git calls.

use std::io;
use std::path::{Path, PathBuf};

/// Something that was asked of git or of the disk did not work.
#[derive(Debug, thiserror::Error)]
pub enum GitTrouble {
    #[error("the git program cannot be started: {why}")]
    NotStarted { why: io::Error },
    #[error("git {what} failed: {said}")]
    Failed { what: String, said: String },
    #[error("git {what} took longer than {seconds} seconds and was ended")]
    TooSlow { what: String, seconds: u64 },
    #[error("git {what} was given up, since a stop was asked for")]
    GivenUp { what: String },
    #[error("git {what} gave an answer that is not understood: {said}")]
    Unclear { what: String, said: String },
    #[error("{} cannot be {done}: {why}", path.display())]
    File { path: PathBuf, done: &'static str, why: io::Error },
    #[error("another onward process has been at work in {} for too long", path.display())]
    Locked { path: PathBuf },
    #[error("{what} cannot be part of the name of a ref")]
    RefName { what: String },
}

impl GitTrouble {
    pub(super) fn read(path: &Path) -> impl FnOnce(io::Error) -> Self {
        Self::file(path, "read")
    }

    pub(super) fn written(path: &Path) -> impl FnOnce(io::Error) -> Self {
        Self::file(path, "written")
    }

    pub(super) fn file(path: &Path, done: &'static str) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |why| Self::File { path, done, why }
    }

    pub(super) fn unclear(what: &str, answer: &[u8]) -> Self {
        let said = String::from_utf8_lossy(&answer[..answer.len().min(ANSWER_SHOWN_BYTES)]).into_owned();
        Self::Unclear { what: what.to_owned(), said }
    }
}

/// So much of an answer that nobody understood is shown.
const ANSWER_SHOWN_BYTES: usize = 200;
