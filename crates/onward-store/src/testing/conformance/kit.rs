//! Helpers that the clauses share.

use jiff::Timestamp;
use onward_core::id::{CheckpointId, RunId, Seq};

use super::Fixture;
use crate::{
    Entry, Holder, KeyframeKept, Lease, LeaseKind, NewCheckpoint, NewEvent, NewRun, PruneList, Store, StoreError,
    StoreExt, StoredContent,
};

/// Lists the functions of a file with their names, so that none is written and never called.
macro_rules! clauses {
    ($($clause:ident),* $(,)?) => {
        pub(super) const CLAUSES: &[(&str, super::Clause)] = &[$((stringify!($clause), $clause)),*];
    };
}
pub(super) use clauses;

/// Sizes on either side of every border at which a store may keep a value differently.
pub(super) const SIZES: [usize; 7] = [0, 1, 1_000, 8 * 1024, 8 * 1024 + 1, 200_000, 2 * 1024 * 1024];

pub(super) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + second).expect("a time in our century")
}

/// Somebody who lives, told from others by the time.
pub(super) fn holder(number: u32) -> Holder {
    Holder { host: "here".to_owned(), pid: std::process::id(), since: at(i64::from(number)) }
}

pub(super) fn new_run(run: &str) -> NewRun {
    NewRun {
        run: RunId::new(run),
        work: "plan.yaml".to_owned(),
        summary: b"new".to_vec(),
        status: "pending".to_owned(),
    }
}

pub(super) fn event(body: &[u8]) -> NewEvent {
    NewEvent { at: at(0), actor: "driver".to_owned(), body: body.to_vec() }
}

pub(super) fn entry(bodies: &[&[u8]]) -> Entry {
    Entry {
        events: bodies.iter().map(|body| event(body)).collect(),
        status: "running".to_owned(),
        summary: b"going".to_vec(),
        ..Entry::default()
    }
}

pub(super) fn checkpoint(id: &str, seq: u64, document: &[u8]) -> NewCheckpoint {
    let content = StoredContent::Whole(document.to_vec());
    NewCheckpoint { id: CheckpointId::new(id), seq: Seq(seq), meta: id.as_bytes().to_vec(), content }
}

pub(super) fn patch(id: &str, seq: u64, patch: &[u8]) -> NewCheckpoint {
    NewCheckpoint { content: StoredContent::Patch(patch.to_vec()), ..checkpoint(id, seq, &[]) }
}

/// Puts a keyframe that is not there yet.
pub(super) fn put(store: &mut dyn Store, id: &str, document: &[u8]) {
    let kept = store.put_keyframe(&CheckpointId::new(id), document.to_vec());
    assert!(matches!(kept, Ok(KeyframeKept::New)), "{id}: {kept:?}");
}

/// The keyframe of a checkpoint that must be there, and the patches behind it.
pub(super) fn read(store: &mut dyn Store, id: &str) -> Vec<String> {
    let stored = store.checkpoint(&CheckpointId::new(id)).expect("a look").expect("a checkpoint");
    assert_eq!(stored.row.id.as_str(), id);
    let parts = [stored.keyframe].into_iter().chain(stored.patches);
    parts.map(|part| String::from_utf8_lossy(&part).into_owned()).collect()
}

/// A list of checkpoints to delete.
pub(super) fn checkpoints(ids: &[&str]) -> PruneList {
    PruneList { checkpoints: ids.iter().map(|id| CheckpointId::new(*id)).collect(), ..PruneList::default() }
}

/// Bytes that no compression makes much smaller, the same ones for the same seed.
pub(super) fn noise(bytes: usize, seed: u8) -> Vec<u8> {
    let mut noise = vec![0; bytes];
    blake3::Hasher::new_keyed(&[seed; 32]).finalize_xof().fill(&mut noise);
    noise
}

/// A store with one run in it that is being driven.
pub(super) fn driven(fixture: &dyn Fixture) -> (Box<dyn Store>, RunId, Lease) {
    let mut store = fixture.open();
    store.create_run(new_run("a")).expect("a new run");
    let run = RunId::new("a");
    let lease = store.take_lease(&run, LeaseKind::Driving, holder(1)).expect("a free run");
    (store, run, lease)
}

pub(super) fn append(store: &mut dyn Store, lease: &Lease, expected: u64, entry: Entry) -> Result<u64, StoreError> {
    Ok(store.append(lease, Seq(expected), entry)?.head.0)
}

pub(super) fn bodies(store: &mut dyn Store, run: &RunId) -> Vec<Vec<u8>> {
    let records = store.events(run, Seq(0), usize::MAX).expect("a whole journal");
    records.into_iter().map(|record| record.body).collect()
}
