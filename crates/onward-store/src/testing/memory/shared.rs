//! The state that all handles share, and the checks before anything changes.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use onward_core::id::{CheckpointId, RunId, Seq};
use onward_core::mutant::{self, Mutant};

use super::pieces::Pieces;
use crate::{
    chain::{self, Hash},
    check,
    error::StoreError,
    lease::{Holder, Lease, LeaseKind},
    types::{
        CheckpointRow, Entry, Fold, KeyframeKept, NewCheckpoint, Page, Record, RunFilter, RunRow, StoredCheckpoint,
    },
};

#[derive(Default)]
pub(super) struct Shared {
    pub(super) runs: BTreeMap<RunId, MemoryRun>,
    pub(super) checkpoints: BTreeMap<CheckpointId, Listed>,
    pub(super) buried_runs: BTreeSet<RunId>,
    buried_checkpoints: BTreeSet<CheckpointId>,
    pub(super) runs_made: u64,
    checkpoints_made: u64,
    pub(super) commits: u64,
}

/// A checkpoint that can be found, and where its content stands among those of its run.
pub(super) struct Listed {
    pub(super) row: CheckpointRow,
    index: usize,
}

pub(super) struct MemoryRun {
    pub(super) number: u64,
    pub(super) work: String,
    pub(super) status: String,
    pub(super) summary: Vec<u8>,
    pub(super) journal: Vec<Record>,
    pub(super) pieces: Pieces,
    pub(super) fold: Option<Fold>,
    /// In the order in which they were posted.
    pub(super) inbox: Vec<Item>,
    pub(super) epoch: u64,
    pub(super) held: Option<Held>,
}

pub(super) struct Item {
    pub(super) id: String,
    pub(super) at: Timestamp,
    pub(super) body: Vec<u8>,
    pub(super) reply: Option<Vec<u8>>,
}

impl Item {
    /// Nothing of an item is kept once it is answered.
    pub(super) fn answer(&mut self, reply: Vec<u8>) {
        self.body.clear();
        self.reply = Some(reply);
    }
}

pub(super) struct Held {
    pub(super) epoch: u64,
    pub(super) kind: LeaseKind,
    pub(super) holder: Holder,
}

impl Shared {
    pub(super) fn run(&self, id: &RunId) -> Result<&MemoryRun, StoreError> {
        self.runs.get(id).ok_or_else(|| StoreError::NoRun { run: id.clone() })
    }

    pub(super) fn run_mut(&mut self, id: &RunId) -> Result<&mut MemoryRun, StoreError> {
        self.runs.get_mut(id).ok_or_else(|| StoreError::NoRun { run: id.clone() })
    }

    /// Refuses what a real store refuses. Nothing has changed yet.
    pub(super) fn demand_right(&self, lease: &Lease, expected: Seq, entry: &Entry) -> Result<(), StoreError> {
        let lost = || StoreError::LeaseLost { run: lease.run().clone() };
        let run =
            self.runs.get(lease.run()).filter(|run| run.number.cast_signed() == lease.number()).ok_or_else(lost)?;
        if run.epoch != lease.epoch() && !mutant::is(Mutant::IgnoreTheLeaseEpoch) {
            return Err(lost());
        }
        if run.head() != expected {
            return Err(StoreError::Conflict { expected, found: run.head() });
        }
        check::contents(entry, run.pieces.count())?;
        let mut ids = BTreeSet::new();
        for new in &entry.checkpoints {
            let known = self.checkpoints.contains_key(&new.id) || self.buried_checkpoints.contains(&new.id);
            if known || !ids.insert(&new.id) {
                return Err(StoreError::AlreadyThere { id: new.id.to_string() });
            }
        }
        let mut ids = BTreeSet::new();
        for consumed in &entry.consumed {
            let waits = run.inbox.iter().any(|item| item.id == consumed.id && item.reply.is_none());
            if !waits || !ids.insert(&consumed.id) {
                return Err(StoreError::NotWaiting { run: lease.run().clone(), id: consumed.id.clone() });
            }
        }
        Ok(())
    }

    pub(super) fn store_checkpoint(&mut self, run: &RunId, new: NewCheckpoint) -> Result<(), StoreError> {
        self.checkpoints_made += 1;
        let row = CheckpointRow {
            id: new.id.clone(),
            run: run.clone(),
            number: self.checkpoints_made,
            seq: new.seq,
            meta: new.meta,
            bytes: new.content.bytes().len() as u64,
            damage: None,
        };
        let index = self.run_mut(run)?.pieces.push(new.content);
        self.checkpoints.insert(new.id, Listed { row, index });
        Ok(())
    }

    pub(super) fn read_checkpoint(&self, id: &CheckpointId) -> Option<StoredCheckpoint> {
        let Listed { row, index } = self.checkpoints.get(id)?;
        let (keyframe, patches) = self.runs.get(&row.run)?.pieces.read(*index);
        Some(StoredCheckpoint { row: row.clone(), keyframe, patches })
    }

    pub(super) fn put_keyframe(&mut self, id: &CheckpointId, document: Vec<u8>) -> KeyframeKept {
        let Some(Listed { row, index }) = self.checkpoints.get(id) else { return KeyframeKept::Gone };
        let run = self.runs.get_mut(&row.run).expect("a checkpoint goes with its run");
        run.pieces.put_keyframe(*index, document)
    }

    pub(super) fn newest(&self, page: Page, fits: impl Fn(&CheckpointRow) -> bool) -> Vec<CheckpointRow> {
        let before = page.before.unwrap_or(u64::MAX);
        let mut rows: Vec<CheckpointRow> = self
            .checkpoints
            .values()
            .map(|stored| &stored.row)
            .filter(|row| row.number < before && fits(row))
            .cloned()
            .collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.number));
        rows.truncate(page.max);
        rows
    }

    pub(super) fn bury_run(&mut self, id: &RunId) -> u64 {
        let ids: Vec<CheckpointId> =
            self.newest(Page::first(usize::MAX), |row| row.run == *id).into_iter().map(|row| row.id).collect();
        let checkpoints = ids.iter().map(|id| self.bury_checkpoint(id)).sum::<u64>();
        let Some(run) = self.runs.remove(id) else { return 0 };
        self.buried_runs.insert(id.clone());
        let records = run.journal.iter().map(|record| record.body.len() as u64).sum::<u64>();
        let fold = run.fold.map_or(0, |fold| fold.bytes.len() as u64);
        checkpoints + run.pieces.bytes() + records + fold + run.summary.len() as u64
    }

    pub(super) fn bury_checkpoint(&mut self, id: &CheckpointId) -> u64 {
        let Some(Listed { row, index }) = self.checkpoints.remove(id) else { return 0 };
        self.buried_checkpoints.insert(id.clone());
        let run = self.runs.get_mut(&row.run).expect("a checkpoint goes with its run");
        run.pieces.delist(index) + row.meta.len() as u64
    }
}

impl MemoryRun {
    pub(super) fn head(&self) -> Seq {
        Seq(self.journal.len() as u64)
    }

    pub(super) fn add(&mut self, id: &RunId, at: Timestamp, actor: String, body: Vec<u8>) {
        let previous = self.journal.last().map_or_else(|| chain::start(id), |record| record.hash);
        let seq = self.head().next();
        let micros = at.as_microsecond();
        let hash = chain::next(&previous, seq, micros, &actor, &body);
        let at = Timestamp::from_microsecond(micros).expect("a time cut to the microsecond stays in range");
        self.journal.push(Record { seq, at, actor, body, hash });
    }

    pub(super) fn put_fold(&mut self, seq: Seq, version: u32, bytes: Vec<u8>) -> Result<KeyframeKept, StoreError> {
        check::fold(seq, self.head())?;
        if self.fold.as_ref().is_some_and(|kept| kept.seq > seq) {
            return Ok(KeyframeKept::AlreadyThere);
        }
        let hash = self.hash_at(seq).expect("the position was checked above");
        self.fold = Some(Fold { seq, version, hash, bytes });
        Ok(KeyframeKept::New)
    }

    /// The hash of a record that is there.
    fn hash_at(&self, seq: Seq) -> Option<Hash> {
        let index = usize::try_from(seq.0).ok()?.checked_sub(1)?;
        self.journal.get(index).map(|record| record.hash)
    }

    pub(super) fn row(&self, run: &RunId) -> RunRow {
        RunRow {
            run: run.clone(),
            number: self.number,
            work: self.work.clone(),
            status: self.status.clone(),
            summary: Ok(self.summary.clone()),
            head: self.head(),
        }
    }

    pub(super) fn fits(&self, id: &RunId, filter: &RunFilter) -> bool {
        filter.run_prefix.as_ref().is_none_or(|prefix| id.as_str().starts_with(prefix))
            && filter.work.as_ref().is_none_or(|work| self.work == *work)
            && filter.statuses.as_ref().is_none_or(|statuses| statuses.contains(&self.status))
    }
}

/// Refuses calls that the real stores let pass and no caller should make.
pub(super) fn assert_orderly(shared: &Shared, run: &MemoryRun, entry: &Entry) {
    assert!(entry.events.iter().all(|event| !event.body.is_empty()), "an event without a body says nothing");
    let newest = shared
        .checkpoints
        .values()
        .map(|stored| &stored.row)
        .filter(|row| shared.runs.get(&row.run).is_some_and(|of| of.number == run.number));
    let mut last = newest.map(|row| row.seq).max().unwrap_or_default();
    for new in &entry.checkpoints {
        assert!(new.seq >= last, "checkpoint {} at {} is older than the one before it", new.id, new.seq);
        last = new.seq;
    }
    let places: Vec<Option<usize>> =
        entry.consumed.iter().map(|consumed| run.inbox.iter().position(|item| item.id == consumed.id)).collect();
    assert!(places.is_sorted(), "items must be answered in the order in which they were posted");
}
