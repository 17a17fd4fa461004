//! The types that go into a store and come out of it.

use jiff::Timestamp;
use onward_core::config::Compression;
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

/// The content of one append; all of it becomes durable together or not at all.
///
/// It may hold several checkpoints because one commit may hold the consequences of several inputs, and each of them may
/// have called for one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    pub events: Vec<NewEvent>,
    pub checkpoints: Vec<NewCheckpoint>,
    pub consumed: Vec<Consumed>,
    /// How long attempts took that end in these events.
    pub durations: Vec<DurationRow>,
    /// Replaces the status under which the run is listed.
    pub status: String,
    /// Replaces the summary with which the run is listed.
    pub summary: Vec<u8>,
    /// Whether its values are compressed; none: as this process does with all it stores.
    pub compression: Option<Compression>,
}

/// How long an attempt took, in words of the caller's: what the event at `seq` tells, to be asked for without reading journals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DurationRow {
    pub seq: Seq,
    pub plan: String,
    pub phase: String,
    /// How it ended.
    pub ended: String,
    pub ms: u64,
}

/// A fact that is about to be recorded. The time is kept to the microsecond; finer parts are dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEvent {
    pub at: Timestamp,
    pub actor: String,
    pub body: Vec<u8>,
}

/// A snapshot of the run as it stood at `seq`, which must not lie behind the end of its own entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewCheckpoint {
    pub id: CheckpointId,
    pub seq: Seq,
    /// The part that lists show without reading the content.
    pub meta: Vec<u8>,
    pub content: StoredContent,
}

/// The content of a checkpoint: a document, or a patch of the one before. How a patch is applied only the caller knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoredContent {
    /// A document that stands for itself.
    Whole(Vec<u8>),
    /// The changes since the newest checkpoint of the same run, in order of storing. The first one of a run cannot be a
    /// patch.
    Patch(Vec<u8>),
}

impl StoredContent {
    /// The bytes as they were given.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Whole(bytes) | Self::Patch(bytes) => bytes,
        }
    }
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
    pub chain: Chain,
}

/// The cost of reading the newest checkpoint of a run; all zero while there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Chain {
    /// Patches behind the last keyframe.
    pub patches: u32,
    /// How long these are together, as they were given.
    pub patch_bytes: u64,
    /// How long the last keyframe is.
    pub keyframe_bytes: u64,
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

/// Which checkpoints to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckpointFilter<'a> {
    All,
    /// Refused with `NoRun` where there is no such run.
    OfRun(&'a RunId),
    /// Two results mean that the prefix is too short.
    IdPrefix(&'a str),
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
    /// How long its own content is, as it was given: of a patch the patch, not the document it leads to.
    pub bytes: u64,
    /// Set when the row does not match its checksum. It is listed all the same, so that good ones beside it are found.
    pub damage: Option<Damage>,
}

/// A checkpoint with all that its document is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredCheckpoint {
    pub row: CheckpointRow,
    /// The nearest whole document at or before it.
    pub keyframe: Vec<u8>,
    /// The patches that lead from the keyframe to this checkpoint, in order. Empty when the keyframe is its own
    /// document.
    pub patches: Vec<Vec<u8>>,
}

/// Something that can be made again from what is stored, and is kept so that reading it is shorter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Derived {
    /// The whole document of a checkpoint that was stored as a patch: reading starts there from now on.
    Keyframe { checkpoint: CheckpointId, document: Vec<u8>, compression: Option<Compression> },
    /// The caller's own form of the journal up to `seq`, in place of the one it kept before. Only the newest is kept. A position
    /// that the journal does not have is refused as `BadEntry`.
    Fold { run: RunId, seq: Seq, version: u32, bytes: Vec<u8> },
    /// No fold, in place of the one that was kept.
    NoFold { run: RunId },
}

/// The outcome of storing something derived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyframeKept {
    New,
    /// The checkpoint has a whole document already, or the run a later fold; this one was not stored.
    AlreadyThere,
    /// There is no such checkpoint, most likely because it was deleted meanwhile. Nothing was stored.
    Gone,
}

/// A run as it stood at `seq`, kept by the caller for itself so that it need not read the journal from the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fold {
    pub seq: Seq,
    /// The caller's name for how it folds; another version means other bytes.
    pub version: u32,
    /// The hash of the record at `seq`, which was compared with the journal.
    pub hash: [u8; 32],
    pub bytes: Vec<u8>,
}

/// Whether a post was the first of its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PostedAs {
    New,
    AlreadyThere,
}

/// The result of taking a post back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TakenBack {
    /// It will not be carried out: nobody sees it any more.
    Yes,
    /// It was answered before, and so it was carried out or refused.
    Answered,
}

/// Something posted that no append has consumed yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InboxItem {
    pub id: String,
    pub body: Vec<u8>,
}

/// The items to delete. The store deletes them; whether that is wise was decided elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PruneList {
    pub checkpoints: Vec<CheckpointId>,
    pub runs: Vec<RunId>,
    /// Items of all inboxes that were posted before this and are answered: nobody waits for the reply any more.
    pub answered_before: Option<Timestamp>,
}

/// The result of a prune.
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
    /// The other one counts, and what it says may be one commit older.
    #[error("one of the two entries of the head file is damaged")]
    HeadSlot,
    #[error("the head file has version {found}, which this program does not know")]
    HeadNewer { found: u8 },
    /// The log is flushed again before anything is appended to it.
    #[error("a flush of the database has failed")]
    FlushFailed,
    /// Locks and flushes over a network do less than they promise.
    #[error("the store lies on a network file system")]
    Network,
    #[error("the bytes kept back for a full disk are missing")]
    NoReserve,
    #[error("the store cannot be looked at: {0}")]
    Unreadable(String),
}
