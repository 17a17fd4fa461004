//! Checkpoints as chains on the disk: what is stored, what is read, and what a prune leaves behind.

use std::collections::BTreeSet;

use onward_core::id::{CheckpointId, Seq};
use onward_store::{Inspection, KeyframeKept, Lease, NewCheckpoint, PruneList, StoreExt, StoredContent};
use proptest::prelude::*;
use rusqlite::Connection;

use crate::kit::{OnDisk, drive, entry, noise, run, with_checkpoint, with_patch};

/// One thing that happens to a run. Numbers beyond what there is wrap around.
#[derive(Clone, Debug)]
enum Step {
    /// Stores contents: whether each one is whole, and its size.
    Store(Vec<(bool, usize)>),
    Keyframe(usize),
    Prune(Vec<usize>),
}

/// The content of a run, by the plainest rule: a patch is added to the end of the document before it.
struct Model {
    pieces: Vec<Piece>,
}

struct Piece {
    is_whole: bool,
    has_added: bool,
    is_listed: bool,
    document: Vec<u8>,
}

impl Model {
    fn start(&self, index: usize) -> usize {
        let is_start = |at: &usize| self.pieces[*at].is_whole || self.pieces[*at].has_added;
        (0..=index).rev().find(is_start).expect("the first one is whole")
    }

    /// The contents that must be there, and no others: patches, keyframes that were given, and those that were added.
    fn needed(&self) -> BTreeSet<(&'static str, usize)> {
        let mut needed = BTreeSet::new();
        for (index, piece) in self.pieces.iter().enumerate() {
            if !piece.is_listed && index + 1 != self.pieces.len() {
                continue;
            }
            let start = self.start(index);
            needed.insert(("keyframe", start));
            needed.extend((start + 1..=index).map(|at| ("patch", at)));
            // A checkpoint keeps what it was given as long as it is there.
            if piece.is_listed {
                needed.insert((if piece.is_whole { "keyframe" } else { "patch" }, index));
            }
        }
        needed
    }
}

struct World {
    store: Box<dyn Inspection>,
    lease: Lease,
    /// A way in beside the store.
    database: Connection,
    model: Model,
    appends: u64,
    _disk: OnDisk,
}

fn id(index: usize) -> CheckpointId {
    CheckpointId::new(format!("CP-{index}"))
}

impl World {
    fn new() -> Self {
        let disk = OnDisk::in_memory();
        let mut store = disk.store();
        let lease = drive(&mut *store);
        let database = Connection::open(disk.folder().join("onward.db")).expect("the database");
        Self { store, lease, database, model: Model { pieces: Vec::new() }, appends: 0, _disk: disk }
    }

    fn play(&mut self, step: &Step) {
        match step {
            Step::Store(contents) => self.store(contents),
            Step::Keyframe(index) => self.put_keyframe(*index),
            Step::Prune(list) => self.prune(list),
        }
        self.compare();
    }

    fn store(&mut self, contents: &[(bool, usize)]) {
        let mut next = entry(b"event");
        for (whole, size) in contents {
            let index = self.model.pieces.len();
            let is_whole = *whole || index == 0;
            let bytes = noise(*size, index.to_le_bytes()[0]);
            let before = self.model.pieces.last().filter(|_| !is_whole).map(|piece| piece.document.clone());
            let document = [before.unwrap_or_default(), bytes.clone()].concat();
            let content = if is_whole { StoredContent::Whole(bytes) } else { StoredContent::Patch(bytes) };
            let (id, seq, meta) = (id(index), Seq(self.appends + 1), b"meta".to_vec());
            next.checkpoints.push(NewCheckpoint { id, seq, meta, content });
            self.model.pieces.push(Piece { is_whole, has_added: false, is_listed: true, document });
        }
        let chain = self.store.append(&self.lease, Seq(self.appends), next).expect("an append").chain;
        self.appends += 1;
        let newest = self.model.pieces.len() - 1;
        let start = self.model.start(newest);
        let (whole, end) = (self.model.pieces[start].document.len(), self.model.pieces[newest].document.len());
        assert_eq!(chain.patches as usize, newest - start);
        assert_eq!((chain.keyframe_bytes, chain.patch_bytes), (whole as u64, (end - whole) as u64));
    }

    fn put_keyframe(&mut self, index: usize) {
        if self.model.pieces.is_empty() {
            return;
        }
        let index = index % self.model.pieces.len();
        let piece = &mut self.model.pieces[index];
        let expected = if !piece.is_listed {
            KeyframeKept::Gone
        } else if piece.is_whole || piece.has_added {
            KeyframeKept::AlreadyThere
        } else {
            piece.has_added = true;
            KeyframeKept::New
        };
        let kept = self.store.put_keyframe(&id(index), piece.document.clone());
        assert_eq!(kept.expect("an answer"), expected);
    }

    fn prune(&mut self, list: &[usize]) {
        let count = self.model.pieces.len().max(1);
        let list: Vec<usize> = list.iter().map(|index| index % count).collect();
        let before = self.bytes();
        let ids = list.iter().map(|index| id(*index)).collect();
        let pruned = self.store.prune(&PruneList { checkpoints: ids, ..PruneList::default() }).expect("a prune");
        for index in list {
            if let Some(piece) = self.model.pieces.get_mut(index) {
                piece.is_listed = false;
            }
        }
        assert_eq!(pruned.bytes_freed, before - self.bytes(), "what was freed was not counted right");
    }

    /// Every byte of callers' values, as stored.
    fn bytes(&mut self) -> u64 {
        let sql = "SELECT (SELECT coalesce(sum(length(meta)), 0) FROM checkpoints) \
                        + (SELECT coalesce(sum(length(document)), 0) FROM keyframes) \
                        + (SELECT coalesce(sum(length(body)), 0) FROM patches) \
                        + (SELECT coalesce(sum(length(body)), 0) FROM blobs)";
        self.database.query_row(sql, (), |row| row.get::<_, i64>(0)).expect("a sum").cast_unsigned()
            + self.store.health().blob_file_bytes
    }

    fn compare(&mut self) {
        for (index, piece) in self.model.pieces.iter().enumerate() {
            let stored = self.store.checkpoint(&id(index)).expect("a look");
            let document = stored.map(|stored| [vec![stored.keyframe], stored.patches].concat().concat());
            assert!(document.as_ref() == piece.is_listed.then_some(&piece.document), "checkpoint {index} changed");
        }
        assert_eq!(self.found(), self.model.needed());
        // No blob without a use, no use without a content, no ghost of what is gone.
        let orphans: i64 = self
            .database
            .query_row(
                "SELECT (SELECT count(*) FROM blobs WHERE id NOT IN (SELECT blob FROM blob_uses)) \
                      + (SELECT count(*) FROM blob_uses WHERE kind = 2 AND place NOT IN (SELECT place FROM keyframes)) \
                      + (SELECT count(*) FROM blob_uses WHERE kind = 7 AND place NOT IN (SELECT place FROM patches)) \
                      + (SELECT count(*) FROM ghosts WHERE place NOT IN \
                            (SELECT place FROM patches UNION SELECT place FROM keyframes))",
                (),
                |row| row.get(0),
            )
            .expect("a count");
        assert_eq!(orphans, 0);
    }

    fn found(&self) -> BTreeSet<(&'static str, usize)> {
        let mut found = BTreeSet::new();
        for (what, sql) in [("keyframe", "SELECT place FROM keyframes"), ("patch", "SELECT place FROM patches")] {
            let mut statement = self.database.prepare(sql).expect("a query");
            let places = statement.query_map((), |row| row.get::<_, i64>(0)).expect("rows");
            let index = |place: i64| usize::try_from((place & 0xffff_ffff) - 1).expect("a place in the run");
            found.extend(places.map(|place| (what, index(place.expect("a row")))));
        }
        found
    }
}

fn step() -> impl Strategy<Value = Step> {
    let size = prop_oneof![12 => 0..40_usize, 2 => 8_190..9_000_usize];
    let content = (prop::bool::weighted(0.15), size);
    prop_oneof![
        4 => prop::collection::vec(content, 1..4).prop_map(Step::Store),
        2 => any::<usize>().prop_map(Step::Keyframe),
        3 => prop::collection::vec(any::<usize>(), 1..5).prop_map(Step::Prune),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, max_shrink_iters: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_survives_reads_as_before_and_nothing_else_stays(steps in prop::collection::vec(step(), 1..25)) {
        let mut world = World::new();
        for step in &steps {
            world.play(step);
        }
    }
}

#[test]
fn large_contents_leave_no_file_behind() {
    // A document and a patch as files; both are deleted, and go when a keyframe of a later one makes them useless.
    let disk = OnDisk::default();
    let mut store = disk.store();
    let lease = drive(&mut *store);
    let (document, patch) = (noise(1_300_000, 1), noise(1_200_000, 2));
    let chain = with_patch(with_checkpoint(entry(b"event"), "w", 1, &document), "p1", 1, &patch);
    store.append(&lease, Seq(0), with_patch(chain, "p2", 1, b"small")).expect("an append");
    let ids = ["w", "p1"].map(CheckpointId::new).to_vec();
    let pruned = store.prune(&PruneList { checkpoints: ids, ..PruneList::default() }).expect("a prune");
    assert!(pruned.bytes_freed < 1_000, "{pruned:?}");
    assert!(store.health().blob_file_bytes > 2_500_000, "what is needed is gone");
    let whole = noise(1_400_000, 3);
    store.put_keyframe(&CheckpointId::new("p2"), whole.clone()).expect("a keyframe");
    let bytes = store.health().blob_file_bytes;
    assert!(bytes > 1_400_000 && bytes < 1_500_000, "{bytes} bytes are left in files");
    let read = store.checkpoint(&CheckpointId::new("p2")).expect("a look").expect("a checkpoint");
    assert!(read.keyframe == whole && read.patches.is_empty(), "the keyframe came back changed");
    drop(lease);
    store.prune(&PruneList { runs: vec![run()], ..PruneList::default() }).expect("a prune");
    assert_eq!(store.health().blob_file_bytes, 0);
}

#[test]
fn links_are_what_the_format_says() {
    // Other programs and later versions must come to the same ones.
    let disk = OnDisk::default();
    let mut store = disk.store();
    let lease = drive(&mut *store);
    let full = with_patch(with_checkpoint(entry(b"event"), "w", 1, b"whole"), "p1", 1, b"one");
    store.append(&lease, Seq(0), with_patch(full, "p2", 1, &noise(9_000, 1))).expect("an append");
    store.put_keyframe(&CheckpointId::new("p1"), b"document".to_vec()).expect("a keyframe");
    let whole = *blake3::hash(b"whole").as_bytes();
    let one = *blake3::hash(&[&whole[..], b"one"].concat()).as_bytes();
    let two = *blake3::hash(&[&one[..], &noise(9_000, 1)].concat()).as_bytes();
    let connection = Connection::open(disk.folder().join("onward.db")).expect("the database");
    let links = |sql: &str| -> Vec<[u8; 32]> {
        let mut statement = connection.prepare(sql).expect("a query");
        let rows = statement.query_map((), |row| row.get(0)).expect("rows");
        rows.collect::<Result<_, _>>().expect("links")
    };
    assert_eq!(links("SELECT link FROM keyframes ORDER BY place"), [whole, one]);
    assert_eq!(links("SELECT link FROM patches ORDER BY place"), [one, two]);
    assert_eq!(links("SELECT link FROM runs"), [two]);
}
