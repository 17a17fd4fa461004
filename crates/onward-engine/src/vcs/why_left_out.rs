//! Files that snapshots and mini-commits leave out.

use std::path::PathBuf;

/// Files larger than this are in no snapshot and in no mini-commit, unless the caller says otherwise: git keeps what it is given for
/// good.
pub const FILE_BYTES_MAX: u64 = 100 * 1024 * 1024;

/// A path that a snapshot or a commit does not contain, and why. Relative to the top of the project.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeftOut {
    pub path: PathBuf,
    pub why: WhyLeftOut,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WhyLeftOut {
    /// A repository inside this one, a submodule included: it has books of its own.
    Repository,
    TooLarge,
    Unreadable,
    /// Neither a file nor a link: a socket, a pipe, a device.
    Special,
    /// It has something in it that has the shape of a token, and HEAD has no such thing there.
    Token,
    /// Its name, or that of its folder, has such a thing in it, and HEAD has no file of that name.
    TokenInName,
    /// Files of that name hold secrets.
    SecretName,
    /// It was changed before the run began, and since: nobody can tell the two apart.
    ChangedBefore,
}

impl WhyLeftOut {
    pub fn words(self) -> &'static str {
        match self {
            Self::Repository => "a git repository of its own",
            Self::TooLarge => "too large",
            Self::Unreadable => "unreadable",
            Self::Special => "neither a file nor a link",
            Self::Token => "contains text that looks like a token",
            Self::TokenInName => "its name looks like a token",
            Self::SecretName => "files of this name usually hold secrets",
            Self::ChangedBefore => "changed before the run began, and in no `writes`",
        }
    }
}
