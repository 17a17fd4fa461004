//! Errors of the store, told apart by what a caller can do about them.

use std::{
    io,
    path::{Path, PathBuf},
};

use onward_core::id::{RunId, Seq};

use crate::lease::{Holder, LeaseKind};
use crate::ownership::Foreign;

/// Why a call on a store did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("there is no store in {}", folder.display())]
    NoStore { folder: PathBuf },

    #[error("there is no run {run}")]
    NoRun { run: RunId },

    /// The id is in use, or was: a deleted id is never given again.
    #[error("the id {id} is already taken")]
    AlreadyThere { id: String },

    /// The journal does not stand where the caller thought. Nothing was saved; read it again.
    #[error("the journal stands at {found}, not at {expected}")]
    Conflict { expected: Seq, found: Seq },

    /// Someone else was given the run since this lease was taken. Nothing was saved.
    #[error("the lease on run {run} was lost to another process")]
    LeaseLost { run: RunId },

    #[error("run {run} is held by {holder} ({kind})")]
    Held { run: RunId, kind: LeaseKind, holder: Holder },

    /// The item was never posted, or another append consumed it. Nothing was saved.
    #[error("no item {id} waits in the inbox of run {run}")]
    NotWaiting { run: RunId, id: String },

    /// The head file knows of commits that the database does not: acknowledged records are gone.
    #[error("{head} commits were acknowledged, the database {} has {database}", path.display())]
    LostCommits { head: u64, database: u64, path: PathBuf },

    /// A later version wrote this. It is neither guessed at nor overwritten.
    #[error("{what} has version {found}, this program knows up to {known}")]
    Newer { what: &'static str, found: u64, known: u64 },

    #[error(transparent)]
    Damaged(#[from] Damage),

    /// Nothing of what was asked for is there, which was looked up again after the failure.
    #[error("not saved in {}: {detail}", path.display())]
    NotSaved { cause: StoreCause, path: PathBuf, detail: String },

    /// A flush failed, so nobody can tell whether what was asked for is there. The handle writes nothing more; whoever opens
    /// the store next empties its log first, and can tell then.
    #[error("not known whether it was saved in {}: {detail}", path.display())]
    Unclear { path: PathBuf, detail: String },

    /// Reading failed; what is stored was not touched.
    #[error("cannot read {}: {detail}", path.display())]
    Unreadable { cause: StoreCause, path: PathBuf, detail: String },

    /// A file of the store was taken away while it was in use. What was asked for last may be in it, and nobody finds it there.
    #[error("{} {how} while it was in use", path.display())]
    Gone { path: PathBuf, how: Vanished },

    /// Somebody else could have planted or could change this.
    #[error("{} is not safe to use: {why}", path.display())]
    Unsafe { path: PathBuf, why: Unsafe },

    /// It came with a clone, in an archive or as a copy: it may be looked at, and a person may say that it is theirs.
    #[error("the store in {} was not made here: {why}", folder.display())]
    Foreign { folder: PathBuf, why: Foreign },

    /// The database would not promise that a commit survives a power cut.
    #[error("the database at {} refuses {setting}: it answers {found}", path.display())]
    NotDurable { path: PathBuf, setting: &'static str, found: String },

    /// Its locks and flushes promise more than they do.
    #[error("the store {} lies on a network file system: {kind}", path.display())]
    Network { path: PathBuf, kind: &'static str },

    #[error("the store was opened for looking only")]
    LookOnly,

    #[error("an entry must carry an event, a checkpoint or a consumed item")]
    EmptyEntry,

    /// The entry contradicts itself. Nothing was saved.
    #[error("the entry is not consistent: {what}")]
    BadEntry { what: String },

    #[error("{what} cannot be used as a name in the store")]
    BadName { what: String },

    #[error("a value of {bytes} bytes is above the limit of {max}")]
    TooLarge { bytes: usize, max: usize },
}

/// The cause of a failed read or write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StoreCause {
    /// No room: disk, quota or inodes.
    Full,
    /// The place may not be written.
    ReadOnly,
    /// The disk failed, or the answer of a flush was an error. The handle writes nothing more; open the store again.
    Io,
    /// Another process kept the database for longer than the wait that is allowed.
    Busy,
    /// Anything else the database said.
    Other,
}

/// Bytes that are not what was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("damaged: {what}{}{}", place(run.as_ref(), *seq), file(path.as_deref()))]
pub struct Damage {
    pub run: Option<RunId>,
    pub seq: Option<Seq>,
    /// The database in which it was found.
    pub path: Option<PathBuf>,
    /// The thing that does not fit, for people.
    pub what: String,
}

fn place(run: Option<&RunId>, seq: Option<Seq>) -> String {
    match (run, seq) {
        (Some(run), Some(seq)) => format!(" (run {run}, record {seq})"),
        (Some(run), None) => format!(" (run {run})"),
        (None, Some(seq)) => format!(" (record {seq})"),
        (None, None) => String::new(),
    }
}

fn file(path: Option<&Path>) -> String {
    path.map(|path| format!(", in {}", path.display())).unwrap_or_default()
}

impl Damage {
    pub fn new(what: impl Into<String>) -> Self {
        Self { run: None, seq: None, path: None, what: what.into() }
    }

    #[must_use]
    pub fn of_run(mut self, run: &RunId) -> Self {
        self.run = Some(run.clone());
        self
    }

    pub(crate) fn at(mut self, seq: Seq) -> Self {
        self.seq = Some(seq);
        self
    }
}

/// The fate of a file that is not where it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Vanished {
    #[error("was deleted")]
    Deleted,
    #[error("was moved to {}", to.display())]
    Moved { to: PathBuf },
}

/// Why a file or folder is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsafe {
    #[error("it is a symbolic link")]
    Link,
    #[error("it is not the kind of file that belongs here")]
    Kind,
    #[error("it belongs to another user")]
    Owner,
    #[error("others may write to it")]
    Writable,
    #[error("it has a second name elsewhere")]
    SecondName,
}

impl StoreError {
    /// Turns a failed system call during a write into what a caller can act on.
    pub(crate) fn not_saved(path: impl Into<PathBuf>, error: &io::Error) -> Self {
        Self::NotSaved { cause: StoreCause::from_io(error), path: path.into(), detail: error.to_string() }
    }

    pub(crate) fn unreadable(path: impl Into<PathBuf>, error: &io::Error) -> Self {
        Self::Unreadable { cause: StoreCause::from_io(error), path: path.into(), detail: error.to_string() }
    }

    /// The same, with the database that it is about: a person must know which file is meant.
    #[must_use]
    pub(crate) fn in_database(self, path: &Path) -> Self {
        match self {
            Self::Damaged(damage) => Self::Damaged(Damage { path: Some(path.to_owned()), ..damage }),
            other => other,
        }
    }

    /// Whether room on the disk is all that was missing.
    pub(crate) fn is_full(&self) -> bool {
        matches!(self, Self::NotSaved { cause: StoreCause::Full, .. })
    }
}

impl StoreCause {
    pub(crate) fn from_io(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => Self::Full,
            io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => Self::ReadOnly,
            _ if error.raw_os_error() == Some(libc::EIO) => Self::Io,
            _ => Self::Other,
        }
    }
}
