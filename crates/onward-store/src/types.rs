//! What goes into a store and comes out of it.

use jiff::Timestamp;
use onward_core::id::{CheckpointId, RunId, Seq};

use crate::error::Damage;

/// A run that is about to exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRun {
    pub run: RunId,
    /// The key under which two runs count as the same work.
    pub work: String,
    pub summary: Vec<u8>,
    pub status: String,
}

/// What one append carries; all of it becomes durable together or not at all.
///
/// It may hold several checkpoints because one commit may hold the consequences of several inputs, and each of them may
/// have called for one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    pub events: Vec<NewEvent>,
    pub checkpoints: Vec<NewCheckpoint>,
    pub consumed: Vec<Consumed>,
    /// Replaces the status under which the run is listed.
    pub status: String,
    /// Replaces the summary with which the run is listed.
    pub summary: Vec<u8>,
}

/// A fact that is about to be recorded. The time is kept to the microsecond; finer parts are dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEvent {
    pub at: Timestamp,
    pub actor: String,
    pub body: Vec<u8>,
}

/// A document that shows the run as it stood at `seq`, which must not lie behind the end of its own entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewCheckpoint {
    pub id: CheckpointId,
    pub seq: Seq,
    /// What lists show without reading the document.
    pub meta: Vec<u8>,
    pub document: Vec<u8>,
}

/// An inbox item that this entry answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consumed {
    pub id: String,
    pub reply: Vec<u8>,
}

/// Where the journal stands after an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    pub head: Seq,
    pub hash: [u8; 32],
}

/// One record of a journal, already checked against the one before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub seq: Seq,
    pub at: Timestamp,
    pub actor: String,
    pub body: Vec<u8>,
    pub hash: [u8; 32],
}

/// Which runs to list. What is `None` does not narrow the list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunFilter {
    pub run_prefix: Option<String>,
    pub work: Option<String>,
    pub statuses: Option<Vec<String>>,
}

/// A stretch of a list that runs from the newest to the oldest.
///
/// The next page starts before the number of the last row seen, so rows that are added meanwhile shift nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// Only rows with a smaller number; `None` starts at the newest.
    pub before: Option<u64>,
    pub max: usize,
}

impl Page {
    pub fn first(max: usize) -> Self {
        Self { before: None, max }
    }

    pub fn before(number: u64, max: usize) -> Self {
        Self { before: Some(number), max }
    }
}

/// A run as lists show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunRow {
    pub run: RunId,
    /// Counts runs in the order in which they were created; never given twice.
    pub number: u64,
    pub work: String,
    pub status: String,
    /// `Err` when any part of the row does not match its checksum: then its other fields are not to be trusted either.
    pub summary: Result<Vec<u8>, Damage>,
    pub head: Seq,
}

/// A checkpoint as lists show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointRow {
    pub id: CheckpointId,
    pub run: RunId,
    /// Counts checkpoints in the order in which they were stored; never given twice.
    pub number: u64,
    pub seq: Seq,
    /// Empty when `damage` is there.
    pub meta: Vec<u8>,
    /// How long the document is, uncompressed.
    pub bytes: u64,
    /// Set when the row does not match its checksum. It is listed all the same, so that good ones beside it are found.
    pub damage: Option<Damage>,
}

/// A checkpoint with its document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredCheckpoint {
    pub row: CheckpointRow,
    pub document: Vec<u8>,
}

/// Whether a post was the first of its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Posted {
    New,
    AlreadyThere,
}

/// Something posted that no append has consumed yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InboxItem {
    pub id: String,
    pub body: Vec<u8>,
}

/// What to delete. The store deletes it; whether that is wise was decided elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PruneList {
    pub checkpoints: Vec<CheckpointId>,
    pub runs: Vec<RunId>,
}

/// What a prune did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Bytes that may be used again: inside the database, which does not shrink, and in blob files, which are gone.
    pub bytes_freed: u64,
}

/// The store about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// The name of the stored format.
    pub format: String,
    /// How many migrations the database has seen.
    pub schema: u32,
    /// A random name, given once, by which a copy is told from another store.
    pub store_id: String,
    /// How many commits the database knows of.
    pub commits: u64,
    /// How many commits the head file knows of; `None` when it cannot be read.
    pub head_commits: Option<u64>,
    pub alarms: Vec<Alarm>,
    pub database_bytes: u64,
    pub wal_bytes: u64,
    /// Bytes in blob files; blobs inside the database count there.
    pub blob_file_bytes: u64,
    /// Whether the bytes kept back for a full disk are there.
    pub reserve: bool,
}

/// Something about the store that a person should know.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Alarm {
    /// Commits that were acknowledged are not in the database any more.
    #[error("the head file knows of {head} commits, the database of {database}: saved records are missing")]
    HeadAhead { head: u64, database: u64 },
    /// Both know the same number of commits, but not the same last record.
    #[error("the head file and the database disagree about commit {commit}")]
    HeadDiffers { commit: u64 },
    /// The head file was written by a store with another name: the database, or the file, came from elsewhere.
    #[error("the head file belongs to another store")]
    HeadForeign,
    #[error("the head file is missing")]
    HeadMissing,
    #[error("no part of the head file can be read")]
    HeadUnreadable,
    /// Locks and flushes over a network do less than they promise.
    #[error("the store lies on a network file system")]
    Network,
    #[error("the bytes kept back for a full disk are missing")]
    NoReserve,
    #[error("the store cannot be looked at: {0}")]
    Unreadable(String),
}
