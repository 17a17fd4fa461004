//! Everything that onward does with git: snapshots of the working tree, bringing them back, and mini-commits.
//!
//! The git program does the work. A repository may come from anywhere, so nothing that it brings is started: hooks and the file
//! system monitor are off, and snapshots are taken without its filters. What a user sees of git (HEAD, branches, index, stash,
//! reflog) changes only by a mini-commit that was asked for.

mod branch;
mod call;
mod changes;
mod commit;
mod compare;
mod filters;
mod head;
mod journal_copy;
pub(crate) mod journal_piece;
mod keep;
mod leftover;
mod linked_tree;
mod place;
mod repository;
mod restore;
mod scan;
mod shadow;
mod shadow_folder;
mod snapshot;
pub(crate) mod tree_lock;
mod trouble;
pub(crate) mod working_tree;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

pub(crate) use branch::{ask, branch, branch_fact, dirty, is_repository, lines, top};
pub use changes::{Change, ChangeKind};
pub use commit::{CommitRequest, Committed, Hooks, IndexAfter, NotCommitted, Whose};
pub(crate) use compare::TEXT_BYTES_MAX;
pub(crate) use filters::Filters;
pub use head::Head;
pub(crate) use journal_copy::{Origin, noted_end};
pub(crate) use linked_tree::linked_tree;
pub use place::Kept;
pub use repository::{Repository, Without};
pub use restore::{Brought, NotRestored, Restored, Way};
pub use snapshot::Snapshot;
pub use trouble::Trouble;

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
            Self::Repository => "is a repository of its own",
            Self::TooLarge => "is too large",
            Self::Unreadable => "cannot be read",
            Self::Special => "is neither a file nor a link",
            Self::Token => "contains what looks like a token",
            Self::TokenInName => "has in its name what looks like a token",
            Self::SecretName => "has the name of a file with secrets",
            Self::ChangedBefore => "was changed before the run began and is in no `writes`",
        }
    }
}

/// The content of a file of git's, if it is a plain file no longer than `bytes_max`: a pipe in its place makes nobody wait.
pub(crate) fn read_plain(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let count = open_plain(path)?.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
    if count as u64 > bytes_max { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(bytes) }
}

/// Makes a file in the place of whatever lies there: a link goes, not what it leads to. Who may read it is left to the umask, as
/// with all files of git's.
fn create_anew(path: &Path) -> io::Result<File> {
    match std::fs::remove_file(path) {
        Err(why) if why.kind() != io::ErrorKind::NotFound => return Err(why),
        Ok(()) | Err(_) => {}
    }
    File::options().read(true).write(true).create_new(true).open(path)
}

fn open_plain(path: &Path) -> io::Result<File> {
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is no plain file")) }
}

/// A path from the bytes that git gave.
fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes.to_vec()))
}
