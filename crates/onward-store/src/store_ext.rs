//! Conveniences over the contract, written once for every backend.

use onward_core::id::{CheckpointId, RunId, Seq};

use crate::{
    Store,
    error::StoreError,
    types::{CheckpointFilter, CheckpointRow, Derived, KeyframeKept, Page, RunFilter, RunRow},
};

/// Rows that are read at a time where all of them are wanted.
const ROWS_PER_PAGE: usize = 256;

/// Calls that every store has, because they need no more than the contract.
pub trait StoreExt: Store {
    /// All runs that fit the filter, the newest first.
    fn all_runs(&mut self, filter: &RunFilter) -> Result<Vec<RunRow>, StoreError> {
        all_pages(|page| self.runs(filter, page), |row| row.number)
    }

    /// All checkpoints that fit the filter, the newest first.
    fn all_checkpoints(&mut self, filter: CheckpointFilter<'_>) -> Result<Vec<CheckpointRow>, StoreError> {
        all_pages(|page| self.checkpoints(filter, page), |row| row.number)
    }

    /// Adds the whole document of a checkpoint that was stored as a patch.
    fn put_keyframe(&mut self, checkpoint: &CheckpointId, document: Vec<u8>) -> Result<KeyframeKept, StoreError> {
        self.put_derived(Derived::Keyframe { checkpoint: checkpoint.clone(), document, compression: None })
    }

    /// Keeps the caller's own form of a journal up to `seq`.
    fn put_fold(&mut self, run: &RunId, seq: Seq, version: u32, bytes: Vec<u8>) -> Result<KeyframeKept, StoreError> {
        self.put_derived(Derived::Fold { run: run.clone(), seq, version, bytes })
    }

    /// Forgets the fold of a run.
    fn drop_fold(&mut self, run: &RunId) -> Result<(), StoreError> {
        self.put_derived(Derived::NoFold { run: run.clone() }).map(|_| ())
    }
}

impl<S: Store + ?Sized> StoreExt for S {}

/// Reads a list to its end. Every page starts behind the last row of the one before, so it ends where the list does.
fn all_pages<T>(
    mut read: impl FnMut(Page) -> Result<Vec<T>, StoreError>,
    number: impl Fn(&T) -> u64,
) -> Result<Vec<T>, StoreError> {
    let mut rows = Vec::new();
    let mut page = Page::first(ROWS_PER_PAGE);
    loop {
        let read = read(page)?;
        let is_last = read.len() < ROWS_PER_PAGE;
        if let Some(row) = read.last() {
            page = Page::before(number(row), ROWS_PER_PAGE);
        }
        rows.extend(read);
        if is_last {
            return Ok(rows);
        }
    }
}
