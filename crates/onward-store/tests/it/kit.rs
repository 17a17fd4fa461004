//! Helpers that the tests share.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use onward_core::id::{CheckpointId, RunId, Seq};
use onward_store::{
    Entry, Holder, Inspection, Lease, LeaseKind, NewCheckpoint, NewEvent, NewRun, OpenMode, Store, StoredContent,
    testing::{MemoryStore, conformance::Fixture},
};

/// A store in memory.
#[derive(Default)]
pub(crate) struct InMemory(MemoryStore);

impl Fixture for InMemory {
    fn open(&self) -> Box<dyn Store> {
        Box::new(self.0.clone())
    }

    fn lose_lock(&self, run: &RunId) {
        self.0.lose_lock(run);
    }
}

/// A `SQLite` store in a temporary folder.
pub(crate) struct OnDisk(tempfile::TempDir);

impl Default for OnDisk {
    fn default() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }
}

impl OnDisk {
    /// On a file system without a disk, where there is one: for tests that make many stores and pull no plug.
    pub(crate) fn in_memory() -> Self {
        let quick = Path::new("/dev/shm");
        let folder = if quick.is_dir() { tempfile::tempdir_in(quick) } else { tempfile::tempdir() };
        Self(folder.expect("a temporary folder"))
    }

    pub(crate) fn root(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.0.path().join(".onward")
    }

    pub(crate) fn store(&self) -> Box<dyn Inspection> {
        onward_store::open(&self.folder(), OpenMode::ReadWrite).expect("a store")
    }

    pub(crate) fn look(&self) -> Box<dyn Inspection> {
        onward_store::open(&self.folder(), OpenMode::Look).expect("a store to look at")
    }
}

impl Fixture for OnDisk {
    fn open(&self) -> Box<dyn Store> {
        self.store()
    }

    fn lose_lock(&self, run: &RunId) {
        // It may be lost already.
        drop(std::fs::remove_file(self.folder().join("run").join(format!("{run}.lock"))));
    }
}

pub(crate) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + second).expect("a time in our century")
}

pub(crate) fn holder() -> Holder {
    Holder { host: "here".to_owned(), pid: std::process::id(), since: at(0) }
}

pub(crate) fn run() -> RunId {
    RunId::new("a")
}

/// Makes the run and drives it.
pub(crate) fn drive(store: &mut dyn Store) -> Lease {
    let (summary, work, status) = (b"new".to_vec(), "plan.yaml".to_owned(), "pending".to_owned());
    store.create_run(NewRun { run: run(), work, summary, status }).expect("a new run");
    take(store)
}

pub(crate) fn take(store: &mut dyn Store) -> Lease {
    store.take_lease(&run(), LeaseKind::Driving, holder()).expect("a free run")
}

pub(crate) fn entry(body: &[u8]) -> Entry {
    let events = vec![NewEvent { at: at(1), actor: "driver".to_owned(), body: body.to_vec() }];
    Entry { events, status: "running".to_owned(), summary: b"going".to_vec(), ..Entry::default() }
}

pub(crate) fn with_checkpoint(mut entry: Entry, id: &str, seq: u64, document: &[u8]) -> Entry {
    let (id, meta) = (CheckpointId::new(id), id.as_bytes().to_vec());
    entry.checkpoints.push(NewCheckpoint { id, seq: Seq(seq), meta, content: StoredContent::Whole(document.to_vec()) });
    entry
}

pub(crate) fn with_patch(mut entry: Entry, id: &str, seq: u64, patch: &[u8]) -> Entry {
    let (id, meta) = (CheckpointId::new(id), id.as_bytes().to_vec());
    entry.checkpoints.push(NewCheckpoint { id, seq: Seq(seq), meta, content: StoredContent::Patch(patch.to_vec()) });
    entry
}

/// Appends `count` records behind `from`, each one telling its own position.
pub(crate) fn append_many(store: &mut dyn Store, lease: &Lease, from: u64, count: u64) {
    for seq in from..from + count {
        store.append(lease, Seq(seq), entry(format!("record {}", seq + 1).as_bytes())).expect("an append");
    }
}

pub(crate) fn journal(store: &mut dyn Store) -> Vec<String> {
    let records = store.events(&run(), Seq(0), usize::MAX).expect("a whole journal");
    records.into_iter().map(|record| String::from_utf8_lossy(&record.body).into_owned()).collect()
}

/// Bytes that no compression makes much smaller, the same ones for the same seed.
pub(crate) fn noise(bytes: usize, seed: u8) -> Vec<u8> {
    let mut noise = vec![0; bytes];
    blake3::Hasher::new_keyed(&[seed; 32]).finalize_xof().fill(&mut noise);
    noise
}
