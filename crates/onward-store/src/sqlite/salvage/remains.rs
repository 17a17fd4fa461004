//! The parts of a run that a damaged database still has.

use jiff::Timestamp;
use onward_core::id::{CheckpointId, RunId};

use crate::{
    error::Damage,
    types::{InboxItem, Record, StoredCheckpoint},
};

/// A run of the old database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OldRun(pub(super) i64);

/// Tells the run and the key of its work from the body of a first record.
pub type Naming<'a> = dyn Fn(&[u8]) -> Option<(RunId, String)> + 'a;

/// A journal as far as it can be believed.
#[derive(Clone, Debug, Default)]
pub struct Journal {
    /// `None` if neither its row nor its first record can be read.
    pub run: Option<RunId>,
    /// The key of the work.
    pub work: Option<String>,
    pub records: Vec<Record>,
    /// Why it ends where it ends, if it is not known to be whole.
    pub cut: Option<String>,
    /// How many records are missing, where that is known.
    pub lost: Option<u64>,
}

/// A checkpoint of the old database.
#[derive(Debug)]
pub struct OldCheckpoint {
    pub id: CheckpointId,
    pub stored: Result<StoredCheckpoint, Damage>,
}

/// Something that was posted to a run.
#[derive(Clone, Debug)]
pub struct Letter {
    pub item: InboxItem,
    pub at: Timestamp,
    /// The answer, if it was given.
    pub reply: Option<Vec<u8>>,
}
