//! A store that dies at the worst moments: before a commit, after it, and after it without anybody being told.

use std::path::PathBuf;

use jiff::Timestamp;
use onward_core::id::{CheckpointId, RunId, Seq};
use onward_store::{
    Appended, Cause, CheckpointFilter, CheckpointRow, Derived, Entry, Fold, Holder, InboxItem, Kept, Lease, LeaseKind,
    NewRun, Page, Posted, PruneList, Pruned, Record, RunFilter, RunRow, Store, StoreError, StoredCheckpoint, TakenBack,
    testing::MemoryStore,
};

use super::world::{ALONE, Shared};

type Answer<T> = Result<T, StoreError>;

/// What one driver sees of the store.
pub(super) struct FaultyStore {
    inner: MemoryStore,
    machine: Shared,
}

impl FaultyStore {
    pub(super) fn new(inner: MemoryStore, machine: Shared) -> Self {
        Self { inner, machine }
    }

    fn tick(&self) -> Answer<()> {
        self.machine.lock().expect(ALONE).tick().map_err(|_| killed())
    }
}

/// The error by which a killed driver falls out of its loop.
pub(super) fn killed() -> StoreError {
    StoreError::NotSaved { cause: Cause::Io, path: PathBuf::from("simulated"), detail: "killed".to_owned() }
}

pub(super) fn is_killed(error: &StoreError) -> bool {
    matches!(error, StoreError::NotSaved { path, .. } if path == &PathBuf::from("simulated"))
}

impl Store for FaultyStore {
    fn append(&mut self, lease: &Lease, expected: Seq, entry: Entry) -> Answer<Appended> {
        self.tick()?;
        let consumed: Vec<String> = entry.consumed.iter().map(|item| item.id.clone()).collect();
        let appended = self.inner.append(lease, expected, entry)?;
        let records = self.inner.events(lease.run(), expected, usize::MAX)?;
        self.machine.lock().expect(ALONE).oracle.appended(lease, &records, &consumed);
        // Saved, and nobody was told: the driver dies before the answer.
        self.tick()?;
        Ok(appended)
    }

    fn create_run(&mut self, new: NewRun) -> Answer<()> {
        self.inner.create_run(new)
    }

    fn runs(&mut self, filter: &RunFilter, page: Page) -> Answer<Vec<RunRow>> {
        self.inner.runs(filter, page)
    }

    fn events(&mut self, run: &RunId, after: Seq, max: usize) -> Answer<Vec<Record>> {
        self.inner.events(run, after, max)
    }

    fn checkpoints(&mut self, filter: CheckpointFilter<'_>, page: Page) -> Answer<Vec<CheckpointRow>> {
        self.inner.checkpoints(filter, page)
    }

    fn checkpoint(&mut self, id: &CheckpointId) -> Answer<Option<StoredCheckpoint>> {
        self.inner.checkpoint(id)
    }

    fn put_derived(&mut self, derived: Derived) -> Answer<Kept> {
        self.inner.put_derived(derived)
    }

    fn fold(&mut self, run: &RunId) -> Answer<Option<Fold>> {
        self.inner.fold(run)
    }

    fn take_lease(&mut self, run: &RunId, kind: LeaseKind, holder: Holder) -> Answer<Lease> {
        self.inner.take_lease(run, kind, holder)
    }

    fn holder(&mut self, run: &RunId) -> Answer<Option<(LeaseKind, Holder)>> {
        self.inner.holder(run)
    }

    fn post(&mut self, run: &RunId, id: &str, at: Timestamp, body: Vec<u8>) -> Answer<Posted> {
        self.inner.post(run, id, at, body)
    }

    fn take_back(&mut self, run: &RunId, id: &str, reply: Vec<u8>) -> Answer<TakenBack> {
        self.inner.take_back(run, id, reply)
    }

    fn inbox(&mut self, run: &RunId, max: usize) -> Answer<Vec<InboxItem>> {
        self.tick()?;
        self.inner.inbox(run, max)
    }

    fn reply(&mut self, run: &RunId, id: &str) -> Answer<Option<Vec<u8>>> {
        self.inner.reply(run, id)
    }

    fn changed(&mut self) -> Answer<bool> {
        self.inner.changed()
    }

    fn prune(&mut self, list: &PruneList) -> Answer<Pruned> {
        self.inner.prune(list)
    }
}
