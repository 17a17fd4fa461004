//! Keeps the journals, checkpoints, leases and inboxes of runs, and never looks inside what it keeps.
//!
//! Everything a caller hands over is bytes to this crate. What it promises about them is narrow: an [`Store::append`]
//! that returned `Ok` survives a kill and a power cut, a refused one left no trace, and what is read back is either what
//! was written or an error that says where the damage is.
//!
//! [`open`] opens the store of one machine; which database it is kept in nobody else knows. Every backend passes the clauses in `testing/conformance`, and so does the store
//! in memory, which is for tests and is the strictest of all.

mod blob_files;
mod chain;
mod check;
mod codec;
mod error;
mod file_system;
mod folder;
#[cfg(test)]
mod fuzz_dice;
mod head;
mod inspection;
pub mod kill_point;
mod lease;
pub mod listing;
pub mod lock;
mod open;
pub mod ownership;
pub mod portable;
pub mod private;
mod reserve;
mod seal;
mod sqlite;
mod store_ext;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod types;

pub use error::{Damage, StoreCause, StoreError, Unsafe, Vanished};
pub use file_system::network_file_system;
pub use folder::{DATABASE, DATABASE_FILES, HEAD};
pub use inspection::Inspection;
pub use lease::{Holder, Lease, LeaseKind};
pub use open::{OpenMode, demand_safe, open, open_if_there, open_to_repair};
pub use sqlite::{Journal, Letter, Naming, OldCheckpoint, OldRun, Salvage};
pub use store_ext::StoreExt;
pub use types::{
    Alarm, Appended, Chain, CheckpointFilter, CheckpointRow, Consumed, Derived, DurationRow, Entry, Fold, Health,
    InboxItem, KeyframeKept, NewCheckpoint, NewEvent, NewRun, Page, PostedAs, PruneList, Pruned, Record, RunFilter,
    RunRow, StoredCheckpoint, StoredContent, TakenBack,
};

use jiff::Timestamp;
use onward_core::config::Compression;
use onward_core::id::{CheckpointId, RunId, Seq};

/// The most bytes one value (a body, a content, a summary, a reply) may have. Checked before anything is written.
pub const VALUE_BYTES_MAX: usize = onward_core::data_limits::VALUE_BYTES_MAX;

/// Whether this process compresses what it stores from now on. What is stored already is read either way.
pub fn go_by_compression(compression: Compression) {
    codec::go_by(compression);
}

/// A record as it would stand behind another one, or as the first of its journal: with its hash.
pub fn chained(run: &RunId, before: Option<[u8; 32]>, record: Record) -> Record {
    let before = before.unwrap_or_else(|| chain::start(run));
    let hash = chain::next(&before, record.seq, record.at.as_microsecond(), &record.actor, &record.body);
    Record { hash, ..record }
}

/// A place that keeps runs. All calls block: the driver is one loop and waits for its disk anyway.
///
/// A handle is one process's view of the store. Several handles to one store behave as several processes do, even
/// inside one process, so every rule about racing can be tested without spawning anything.
pub trait Store: Send {
    /// Makes an empty run known. Refused with [`StoreError::AlreadyThere`] when the id is, or ever was, in use.
    fn create_run(&mut self, new: NewRun) -> Result<(), StoreError>;

    /// Runs that fit the filter, the newest first by order of creation (never by clock).
    ///
    /// A row whose bytes are damaged is still listed, with the damage in place of its summary: one bad row must not
    /// hide the good ones.
    fn runs(&mut self, filter: &RunFilter, page: Page) -> Result<Vec<RunRow>, StoreError>;

    /// Adds an entry behind `expected`, the position the caller believes to be the last one.
    ///
    /// One transaction and one durable commit: either all of the entry is there afterwards, or none of it.
    /// [`StoreError::Conflict`] means that the journal stands elsewhere, [`StoreError::LeaseLost`] that someone else
    /// was given the run meanwhile.
    fn append(&mut self, lease: &Lease, expected: Seq, entry: Entry) -> Result<Appended, StoreError>;

    /// Up to `max` records behind `after`, in order, each one checked against the hash of the one before it. What stands
    /// at `after` is not read, only its hash.
    fn events(&mut self, run: &RunId, after: Seq, max: usize) -> Result<Vec<Record>, StoreError>;

    /// Checkpoints that fit the filter, the newest first, without their contents.
    fn checkpoints(&mut self, filter: CheckpointFilter<'_>, page: Page) -> Result<Vec<CheckpointRow>, StoreError>;

    /// One checkpoint with the nearest keyframe and the patches behind that, each one checked against the one before it.
    fn checkpoint(&mut self, id: &CheckpointId) -> Result<Option<StoredCheckpoint>, StoreError>;

    /// Keeps something that the caller made of what is stored.
    ///
    /// It needs no lease: it says nothing new, and a driver may go on meanwhile. Whether it is right the caller must know.
    fn put_derived(&mut self, derived: Derived) -> Result<KeyframeKept, StoreError>;

    /// The fold that was kept last, if it is whole and belongs to the journal as it is. It can be made again from the journal, so
    /// damage to it is no error: there is none then.
    fn fold(&mut self, run: &RunId) -> Result<Option<Fold>, StoreError>;

    /// Takes the right to append to a run. It is given back when the [`Lease`] is dropped or its process ends.
    ///
    /// A brief holder is waited for up to five seconds; a driving one is refused at once as [`StoreError::Held`].
    fn take_lease(&mut self, run: &RunId, kind: LeaseKind, holder: Holder) -> Result<Lease, StoreError>;

    /// The present holder of the run. Asks the lock itself, so a killed holder is nobody; writes nothing.
    fn holder(&mut self, run: &RunId) -> Result<Option<(LeaseKind, Holder)>, StoreError>;

    /// Leaves something for whoever drives the run. Posting the same id again changes nothing.
    fn post(&mut self, run: &RunId, id: &str, at: Timestamp, body: Vec<u8>) -> Result<PostedAs, StoreError>;

    /// Answers an item in place of whoever drives the run, so that it is not carried out any more. An append that would still
    /// consume it is refused.
    fn take_back(&mut self, run: &RunId, id: &str, reply: Vec<u8>) -> Result<TakenBack, StoreError>;

    /// Up to `max` items that no append has consumed yet, in the order in which they were posted.
    fn inbox(&mut self, run: &RunId, max: usize) -> Result<Vec<InboxItem>, StoreError>;

    /// The answer stored with the append that consumed the item; `None` while it waits.
    fn reply(&mut self, run: &RunId, id: &str) -> Result<Option<Vec<u8>>, StoreError>;

    /// Whether another handle committed something since this was last asked. May say yes once too often, never no.
    fn changed(&mut self) -> Result<bool, StoreError>;

    /// Deletes what the list names, all or nothing, and keeps a tombstone of every id so that it is never given again.
    ///
    /// A deleted checkpoint is neither listed nor found any more. Its content goes with it, unless a later checkpoint
    /// of the run, or the next patch, is built on it; then it goes as soon as that ends.
    ///
    /// Ids that are not there are passed over, so a prune whose outcome is unknown can be repeated. A run that someone
    /// holds refuses the whole list.
    fn prune(&mut self, list: &PruneList) -> Result<Pruned, StoreError>;
}
