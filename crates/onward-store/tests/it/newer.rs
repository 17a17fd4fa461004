//! Damage and a later version are told apart: a changed byte is never taken for the work of a newer program.

use std::fs;

use onward_core::id::{CheckpointId, Seq};
use onward_store::{CheckpointFilter, OpenMode, Page, RunFilter, StoreError, StoreExt};

use crate::kit::{OnDisk, append_many, at, drive, entry, holder, noise, run, with_checkpoint, with_patch};

/// The part of a database file that `SQLite` calls its header.
const HEADER_BYTES: usize = 100;

/// Some of everything, in a database without a log.
fn furnished() -> OnDisk {
    let disk = OnDisk::in_memory();
    {
        let mut store = disk.store();
        let lease = drive(&mut *store);
        append_many(&mut *store, &lease, 0, 3);
        store.append(&lease, Seq(3), with_checkpoint(entry(b"four"), "CP-1", 4, &noise(9_000, 1))).expect("an append");
        store.append(&lease, Seq(4), with_patch(entry(b"five"), "CP-2", 5, b"a patch")).expect("an append");
        store.put_fold(&run(), Seq(2), 7, b"folded".to_vec()).expect("a fold");
        store.post(&run(), "item", at(0), b"posted".to_vec()).expect("a post");
    }
    let connection = rusqlite::Connection::open(disk.folder().join("onward.db")).expect("the database");
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |_| Ok(())).expect("a checkpoint");
    disk
}

/// Reads everything and writes a little.
fn use_it(disk: &OnDisk) -> Vec<StoreError> {
    let looked = onward_store::open(&disk.folder(), OpenMode::Look).and_then(|mut store| {
        store.runs(&RunFilter::default(), Page::first(9))?;
        store.events(&run(), Seq(0), usize::MAX)?;
        store.checkpoints(CheckpointFilter::OfRun(&run()), Page::first(9))?;
        for id in ["CP-1", "CP-2"] {
            store.checkpoint(&CheckpointId::new(id))?;
        }
        store.inbox(&run(), 9)?;
        store.fold(&run())?;
        store.verify().map(drop)
    });
    let written = onward_store::open(&disk.folder(), OpenMode::ReadWrite).and_then(|mut store| {
        let lease = store.take_lease(&run(), onward_store::LeaseKind::Driving, holder())?;
        store.append(&lease, Seq(5), entry(b"six")).map(drop)
    });
    [looked.err(), written.err()].into_iter().flatten().collect()
}

fn demand_damage(disk: &OnDisk, what: &str) {
    for error in use_it(disk) {
        let named = matches!(error, StoreError::Damaged(_) | StoreError::LostCommits { .. });
        assert!(named, "{what}: {error:?}");
    }
}

/// Bits of every byte of the header of the database are flipped, all of them where versions stand: harmless or damaged.
#[test]
fn a_changed_header_of_the_database_is_never_newer() {
    let disk = furnished();
    let path = disk.folder().join("onward.db");
    let whole: Vec<_> = ["onward.db", "HEAD"].map(|name| disk.folder().join(name)).into();
    let bytes: Vec<Vec<u8>> = whole.iter().map(|path| fs::read(path).expect("a file")).collect();
    let versions = [18..20, 60..64, 68..72];
    let tried = |at: usize, bit: usize| [0, 7].contains(&bit) || versions.iter().any(|range| range.contains(&at));
    let bits = (0..HEADER_BYTES * 8).map(|bit| (bit / 8, bit % 8)).filter(|(at, bit)| tried(*at, *bit));
    for (at, by) in bits.map(|(at, bit)| (at, 1_u8 << bit)) {
        for (path, bytes) in whole.iter().zip(&bytes) {
            fs::write(path, bytes).expect("a file to put back");
        }
        for beside in ["onward.db-wal", "onward.db-shm"] {
            drop(fs::remove_file(disk.folder().join(beside)));
        }
        let mut changed = bytes[0].clone();
        changed[at] ^= by;
        fs::write(&path, changed).expect("a database to change");
        demand_damage(&disk, &format!("byte {at} of the header changed by {by:#x}"));
    }
}

/// The first ten bytes of every stored value, each with another bit flipped.
#[test]
fn a_changed_head_of_a_stored_value_is_never_newer() {
    let columns = [
        ("records", "body"),
        ("runs", "summary"),
        ("checkpoints", "meta"),
        ("keyframes", "document"),
        ("patches", "body"),
        ("inbox", "body"),
        ("folds", "body"),
        ("blobs", "body"),
    ];
    let disk = furnished();
    let connection = rusqlite::Connection::open(disk.folder().join("onward.db")).expect("the database");
    let mut tried = 0;
    for (table, column) in columns {
        let key: i64 = connection
            .query_row(&format!("SELECT max(rowid) FROM {table}"), (), |row| row.get(0))
            .expect("a row of each kind");
        let read = format!("SELECT {column} FROM {table} WHERE rowid = ?1");
        let value: Vec<u8> = connection.query_row(&read, [key], |row| row.get(0)).expect("a value");
        let set = format!("UPDATE {table} SET {column} = ?2 WHERE rowid = ?1");
        for bit in 0..80 {
            let mut changed = value.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            connection.execute(&set, rusqlite::params![key, changed]).expect("a change");
            let mut look = disk.look();
            let found = look.verify().expect("a look at everything");
            let named = found.iter().all(|damage| !damage.to_string().contains("this program knows"));
            // What is kept of a fold can be made again, so nobody speaks of it.
            assert!(named && (!found.is_empty() || table == "folds"), "{table}, bit {bit}: {found:?}");
            tried += 1;
        }
        connection.execute(&set, rusqlite::params![key, value]).expect("the value put back");
    }
    assert_eq!(tried, 640);
    demand_damage(&disk, "everything put back");
}
