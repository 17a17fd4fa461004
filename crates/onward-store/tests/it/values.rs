//! Where large values go, and that they go away again.

use std::fs;

use onward_core::id::{CheckpointId, Seq};
use onward_store::{Consumed, PruneList, StoreError, TakenBack, VALUE_BYTES_MAX};

use crate::{
    child::{Role, ears, heard, spawn},
    kit::{OnDisk, append_many, at, drive, entry, noise, run, with_checkpoint},
};

const MEGABYTE: usize = 1024 * 1024;

fn blob_files(disk: &OnDisk) -> usize {
    let folders = fs::read_dir(disk.folder().join("blobs")).expect("a folder of blobs").flatten();
    folders.map(|folder| fs::read_dir(folder.path()).map_or(1, Iterator::count)).sum()
}

#[test]
fn a_large_value_is_kept_once_in_a_file() {
    let disk = OnDisk::default();
    let mut store = disk.store();
    let lease = drive(&mut *store);
    let large = noise(2 * MEGABYTE, 1);
    let full = with_checkpoint(with_checkpoint(entry(&large), "one", 1, &large), "two", 1, &large);
    store.append(&lease, Seq(0), full).expect("an append");
    assert_eq!(blob_files(&disk), 1);
    assert!(store.health().blob_file_bytes > 2 * MEGABYTE as u64);
    drop(lease);
    store.prune(&PruneList { checkpoints: vec![CheckpointId::new("one")], ..PruneList::default() }).expect("a prune");
    assert_eq!(blob_files(&disk), 1, "the journal still needs it");
    let pruned = store.prune(&PruneList { runs: vec![run()], ..PruneList::default() }).expect("a prune");
    assert_eq!(blob_files(&disk), 0);
    assert!(pruned.bytes_freed > 2 * MEGABYTE as u64, "{pruned:?}");
    assert_eq!(fs::read_dir(disk.folder().join("run")).expect("a folder").count(), 0, "the lock file goes, too");
}

#[test]
fn a_value_that_compresses_well_stays_in_the_database() {
    let disk = OnDisk::default();
    let mut store = disk.store();
    let lease = drive(&mut *store);
    store.append(&lease, Seq(0), entry(&vec![b'x'; 4 * MEGABYTE])).expect("an append");
    assert_eq!(blob_files(&disk), 0);
    assert!(store.health().wal_bytes < MEGABYTE as u64, "four megabytes of one letter");
    assert_eq!(store.events(&run(), Seq(0), 1).expect("a journal")[0].body.len(), 4 * MEGABYTE);
}

/// Whoever posts may not know what is secret in it; what was taken up is in the journal without it. So nothing of an item stays once
/// it is answered or taken back, but its answer does.
#[test]
fn an_answered_item_leaves_nothing_of_its_body() {
    let disk = OnDisk::default();
    let mut store = disk.store();
    let lease = drive(&mut *store);
    let sizes = [20, 5_000, 20_000, 2 * MEGABYTE];
    for (number, size) in (0_u8..).zip(sizes) {
        for id in [format!("answered-{size}"), format!("taken-back-{size}")] {
            store.post(&run(), &id, at(1), noise(size, number)).expect("a post");
        }
    }
    assert_eq!(blob_files(&disk), 1);
    let consumed = sizes.map(|size| Consumed { id: format!("answered-{size}"), reply: b"done".to_vec() }).to_vec();
    let answers = onward_store::Entry { consumed, ..entry(b"event") };
    store.append(&lease, Seq(0), answers).expect("an append");
    for size in sizes {
        let back = store.take_back(&run(), &format!("taken-back-{size}"), b"not done".to_vec()).expect("an answer");
        assert_eq!(back, TakenBack::Yes);
        assert_eq!(store.reply(&run(), &format!("answered-{size}")).expect("a look").as_deref(), Some(&b"done"[..]));
    }
    assert_eq!(blob_files(&disk), 0);
    let connection = rusqlite::Connection::open(disk.folder().join("onward.db")).expect("the database");
    let longest = "SELECT max(length(body)) FROM inbox";
    let longest: i64 = connection.query_row(longest, (), |row| row.get(0)).expect("a number");
    assert!(longest < 20, "{longest} bytes of a body are left");
    let blobs: i64 = connection.query_row("SELECT count(*) FROM blobs", (), |row| row.get(0)).expect("a number");
    assert_eq!(blobs, 0);
    store.check_inbox(&run()).expect("what is left can be read");
}

/// Messages that fit into a page of the database are answered, and the log is emptied. Their bytes are in no file any more.
#[test]
fn an_answered_item_is_written_over_in_the_file() {
    let disk = OnDisk::default();
    let mut store = disk.store();
    let lease = drive(&mut *store);
    let canary = b"canary-that-nobody-keeps";
    let ids = ["one", "two", "three"];
    for id in ids {
        store.post(&run(), id, at(1), canary.repeat(20)).expect("a post");
    }
    let consumed = ids.map(|id| Consumed { id: id.to_owned(), reply: b"done".to_vec() }).to_vec();
    store.append(&lease, Seq(0), onward_store::Entry { consumed, ..entry(b"event") }).expect("an append");
    drop(lease);
    drop(store);
    let connection = rusqlite::Connection::open(disk.folder().join("onward.db")).expect("the database");
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |_| Ok(())).expect("nobody else is there");
    drop(connection);
    let holds = |bytes: &[u8]| bytes.windows(canary.len()).any(|part| part == canary);
    let files = std::fs::read_dir(disk.folder()).expect("a folder").flatten().map(|entry| entry.path());
    for file in files.filter(|path| path.is_file()) {
        assert!(!holds(&std::fs::read(&file).expect("readable")), "{}", file.display());
    }
}

#[test]
fn a_replaced_summary_leaves_nothing_behind() {
    let disk = OnDisk::default();
    let mut store = disk.store();
    let lease = drive(&mut *store);
    for (seq, size) in [(0, 2 * MEGABYTE), (1, 20_000), (2, 3 * MEGABYTE), (3, 10)] {
        let mut large = entry(b"event");
        large.summary = noise(size, 3);
        store.append(&lease, Seq(seq), large).expect("an append");
    }
    assert_eq!(blob_files(&disk), 0);
    let connection = rusqlite::Connection::open(disk.folder().join("onward.db")).expect("the database");
    let count = |table: &str| -> i64 {
        connection.query_row(&format!("SELECT count(*) FROM {table}"), (), |row| row.get(0)).expect("a count")
    };
    assert_eq!((count("blobs"), count("blob_uses")), (0, 0));
}

#[test]
fn a_damaged_or_missing_file_is_reported() {
    let disk = OnDisk::default();
    let mut store = disk.store();
    let lease = drive(&mut *store);
    store.append(&lease, Seq(0), entry(&noise(2 * MEGABYTE, 1))).expect("an append");
    let folder = fs::read_dir(disk.folder().join("blobs")).expect("a folder").flatten().next().expect("a folder");
    let file = fs::read_dir(folder.path()).expect("a folder").flatten().next().expect("a file").path();
    let good = fs::read(&file).expect("the file");
    let mut bad = good.clone();
    bad[MEGABYTE] ^= 1;
    fs::write(&file, bad).expect("the file can be written");
    assert!(matches!(store.events(&run(), Seq(0), 1), Err(StoreError::Damaged(_))));
    fs::remove_file(&file).expect("the file can be removed");
    assert!(matches!(store.events(&run(), Seq(0), 1), Err(StoreError::Damaged(_))));
    fs::write(&file, good).expect("the file can be written");
    assert_eq!(store.events(&run(), Seq(0), 1).expect("a journal").len(), 1);
}

#[test]
fn a_file_deleted_before_its_transaction_is_written_again() {
    // Another process pruned the last use of the same value between our file and our commit.
    let disk = OnDisk::default();
    let mut child = spawn(&Role::LoseBlob, &disk.folder());
    assert_eq!(heard(&mut ears(&mut child)).as_deref(), Some("1500000"));
    child.wait().expect("a child that ends");
}

#[test]
fn what_a_killed_writer_left_behind_is_swept_up() {
    let disk = OnDisk::default();
    let mut store = disk.store();
    drop(drive(&mut *store));
    let blobs = disk.folder().join("blobs");
    fs::write(blobs.join("new-0198"), b"half a blob").expect("a file");
    fs::create_dir(blobs.join("ab")).expect("a folder");
    let orphan = format!("ab{}", "0".repeat(62));
    fs::write(blobs.join("ab").join(&orphan), b"a blob that nothing names").expect("a file");
    store.prune(&PruneList { runs: vec![run()], ..PruneList::default() }).expect("a prune");
    assert_eq!(blob_files(&disk), 0);
    assert!(!blobs.join("new-0198").exists(), "an unfinished file stays");
}

#[test]
fn what_is_too_large_is_refused_before_anything_is_written() {
    let disk = OnDisk::default();
    let mut store = disk.store();
    let lease = drive(&mut *store);
    let refused = store.append(&lease, Seq(0), entry(&vec![0; VALUE_BYTES_MAX + 1]));
    assert!(matches!(refused, Err(StoreError::TooLarge { .. })), "{refused:?}");
    append_many(&mut *store, &lease, 0, 1);
    assert_eq!(blob_files(&disk), 0);
}

#[test]
fn the_log_stays_bounded_while_one_writer_never_pauses() {
    let disk = OnDisk::in_memory();
    let mut store = disk.store();
    let lease = drive(&mut *store);
    append_many(&mut *store, &lease, 0, 12_000);
    let wal = store.health().wal_bytes;
    assert!(wal < 4_000 * 4_200, "the log has {wal} bytes");
    drop(lease);
    drop(store);
    let wal = disk.look().health().wal_bytes;
    assert!(wal < 100 * 4_200, "the log has {wal} bytes after closing");
    assert_eq!(disk.look().events(&run(), Seq(11_990), 99).expect("the end of the journal").len(), 10);
}
