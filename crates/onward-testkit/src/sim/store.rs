//! A store that dies at the worst moments: before a commit, after it, and after it without anybody being told.

use std::path::PathBuf;

use jiff::Timestamp;
use onward_core::id::{CheckpointId, RunId, Seq};
use onward_store::{
    Appended, CheckpointFilter, CheckpointRow, Derived, Entry, Fold, Holder, InboxItem, KeyframeKept, Lease, LeaseKind,
    NewRun, Page, PostedAs, PruneList, Pruned, Record, RunFilter, RunRow, Store, StoreCause, StoreError,
    StoredCheckpoint, TakenBack, testing::MemoryStore,
};

use super::world::{ALONE, SharedMachine};

type StoreAnswer<T> = Result<T, StoreError>;

/// One driver's handle of the store, with faults.
pub(super) struct FaultyStore {
    inner: MemoryStore,
    machine: SharedMachine,
}

impl FaultyStore {
    pub(super) fn new(inner: MemoryStore, machine: SharedMachine) -> Self {
        Self { inner, machine }
    }

    fn tick(&self) -> StoreAnswer<()> {
        self.machine.lock().expect(ALONE).tick().map_err(|_| killed())
    }
}

/// The error by which a killed driver falls out of its loop.
pub(super) fn killed() -> StoreError {
    StoreError::NotSaved { cause: StoreCause::Io, path: PathBuf::from("simulated"), detail: "killed".to_owned() }
}

pub(super) fn is_killed(error: &StoreError) -> bool {
    matches!(error, StoreError::NotSaved { path, .. } if path == &PathBuf::from("simulated"))
}

impl Store for FaultyStore {
    fn append(&mut self, lease: &Lease, expected: Seq, entry: Entry) -> StoreAnswer<Appended> {
        self.tick()?;
        let consumed: Vec<String> = entry.consumed.iter().map(|item| item.id.clone()).collect();
        let appended = self.inner.append(lease, expected, entry)?;
        let records = self.inner.events(lease.run(), expected, usize::MAX)?;
        self.machine.lock().expect(ALONE).oracle.appended(lease, &records, &consumed);
        // Saved, and nobody was told: the driver dies before the answer.
        self.tick()?;
        Ok(appended)
    }

    fn create_run(&mut self, new: NewRun) -> StoreAnswer<()> {
        self.inner.create_run(new)
    }

    fn runs(&mut self, filter: &RunFilter, page: Page) -> StoreAnswer<Vec<RunRow>> {
        self.inner.runs(filter, page)
    }

    fn events(&mut self, run: &RunId, after: Seq, max: usize) -> StoreAnswer<Vec<Record>> {
        self.inner.events(run, after, max)
    }

    fn checkpoints(&mut self, filter: CheckpointFilter<'_>, page: Page) -> StoreAnswer<Vec<CheckpointRow>> {
        self.inner.checkpoints(filter, page)
    }

    fn checkpoint(&mut self, id: &CheckpointId) -> StoreAnswer<Option<StoredCheckpoint>> {
        self.inner.checkpoint(id)
    }

    fn put_derived(&mut self, derived: Derived) -> StoreAnswer<KeyframeKept> {
        self.inner.put_derived(derived)
    }

    fn fold(&mut self, run: &RunId) -> StoreAnswer<Option<Fold>> {
        self.inner.fold(run)
    }

    fn take_lease(&mut self, run: &RunId, kind: LeaseKind, holder: Holder) -> StoreAnswer<Lease> {
        self.inner.take_lease(run, kind, holder)
    }

    fn holder(&mut self, run: &RunId) -> StoreAnswer<Option<(LeaseKind, Holder)>> {
        self.inner.holder(run)
    }

    fn post(&mut self, run: &RunId, id: &str, at: Timestamp, body: Vec<u8>) -> StoreAnswer<PostedAs> {
        self.inner.post(run, id, at, body)
    }

    fn take_back(&mut self, run: &RunId, id: &str, reply: Vec<u8>) -> StoreAnswer<TakenBack> {
        self.inner.take_back(run, id, reply)
    }

    fn inbox(&mut self, run: &RunId, max: usize) -> StoreAnswer<Vec<InboxItem>> {
        self.tick()?;
        self.inner.inbox(run, max)
    }

    fn reply(&mut self, run: &RunId, id: &str) -> StoreAnswer<Option<Vec<u8>>> {
        self.inner.reply(run, id)
    }

    fn changed(&mut self) -> StoreAnswer<bool> {
        self.inner.changed()
    }

    fn prune(&mut self, list: &PruneList) -> StoreAnswer<Pruned> {
        self.inner.prune(list)
    }
}
