//! Bits that flip on the disk. Whatever is read must be what was written, or be reported.

use std::{fs, path::Path};

use onward_core::id::{CheckpointId, Seq};
use onward_store::{Alarm, CheckpointFilter, Inspection, OpenMode, Page, RunFilter, StoreError, StoreExt};

use crate::kit::{OnDisk, append_many, at, drive, entry, journal, noise, run, take, with_checkpoint, with_patch};

/// A store with some of everything, all of it in the database file.
fn furnished() -> OnDisk {
    let disk = furnished_in_log();
    fold_log(&disk);
    disk
}

/// A store with some of everything, the last of it in the log.
fn furnished_in_log() -> OnDisk {
    let disk = OnDisk::in_memory();
    drop(drive(&mut *disk.store()));
    fold_log(&disk);
    {
        let mut store = disk.store();
        let lease = take(&mut *store);
        // Few commits, so that the log is short enough to be left behind.
        let mut full = entry(b"first");
        for n in 1..30 {
            full.events.extend(entry(format!("record {n}").as_bytes()).events);
        }
        for n in 0..6_u8 {
            let size = usize::from(n + 1) * 1_800;
            full.events.extend(entry(&noise(size, n)).events);
            let add = if n % 3 == 0 { with_checkpoint } else { with_patch };
            full = add(full, &format!("CP-3{n}"), 30, &noise(size, n + 100));
        }
        store.append(&lease, Seq(0), full).expect("an append");
        store.put_keyframe(&CheckpointId::new("CP-34"), noise(2_000, 7)).expect("a keyframe");
        store.post(&run(), "item", at(0), noise(500, 9)).expect("a post");
    }
    disk
}

/// Copies all of the log into the database and leaves an empty one.
fn fold_log(disk: &OnDisk) {
    let connection = rusqlite::Connection::open(disk.folder().join("onward.db")).expect("the database");
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |_| Ok(())).expect("a checkpoint");
    connection.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).expect("a setting");
}

/// All that can be read, or the first thing that went wrong.
fn everything(store: &mut dyn Inspection) -> Result<String, StoreError> {
    let runs = store.runs(&RunFilter::default(), Page::first(9))?;
    let records = store.events(&run(), Seq(0), usize::MAX)?;
    let rows = store.checkpoints(CheckpointFilter::OfRun(&run()), Page::first(99))?;
    let mut documents = Vec::new();
    for row in &rows {
        documents.push(store.checkpoint(&row.id)?);
    }
    let inbox = store.inbox(&run(), 9)?;
    let found = store.checkpoints(CheckpointFilter::IdPrefix("CP"), Page::first(99))?;
    Ok(format!("{runs:?}{records:?}{rows:?}{documents:?}{inbox:?}{found:?}"))
}

enum Outcome {
    Harmless,
    Reported,
    FoundByVerify,
    /// Or a panic, which is no better.
    Believed,
}

/// Opens the damaged store and sorts what happens.
fn judge(folder: &Path, good: &str) -> Outcome {
    let Ok(mut store) = onward_store::open(folder, OpenMode::Look) else { return Outcome::Reported };
    let read = everything(&mut *store);
    let alarmed = store.health().alarms.iter().any(|alarm| !matches!(alarm, Alarm::NoReserve));
    match read {
        Ok(text) if text == good && !alarmed => Outcome::Harmless,
        Ok(text) if text.contains("Damage {") || alarmed => Outcome::Reported,
        Ok(_) => match store.verify() {
            Ok(found) if found.is_empty() => Outcome::Believed,
            Ok(_) | Err(_) => Outcome::FoundByVerify,
        },
        Err(_) => Outcome::Reported,
    }
}

fn flip_bits(disk: &OnDisk, name: &str, flips: u64) {
    let good = everything(&mut *disk.look()).expect("an undamaged store");
    let path = disk.folder().join(name);
    let bytes = fs::read(&path).expect("the file");
    let (mut reported, mut late) = (0, 0);
    for seed in 0..flips {
        let random = blake3::hash(&seed.to_le_bytes());
        let bit = u64::from_le_bytes(random.as_bytes()[..8].try_into().expect("eight bytes"));
        let bit = usize::try_from(bit % (bytes.len() as u64 * 8)).expect("a place in the file");
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        drop(fs::remove_file(disk.folder().join("onward.db-shm")));
        fs::write(&path, &flipped).expect("the file can be written");
        match std::panic::catch_unwind(|| judge(&disk.folder(), &good)).unwrap_or(Outcome::Believed) {
            Outcome::Harmless => {}
            Outcome::Reported => reported += 1,
            Outcome::FoundByVerify => late += 1,
            Outcome::Believed => panic!("bit {bit} of {name} changed what is read, and nobody noticed"),
        }
    }
    assert!(reported > flips / 3, "only {reported} of {flips} flips in {name} were noticed, {late} later");
    assert!(late < flips / 50, "{late} of {flips} flips in {name} were noticed only by looking for them");
}

#[test]
fn flipped_bits_in_the_database_are_noticed() {
    flip_bits(&furnished(), "onward.db", 400);
}

#[test]
fn flipped_bits_in_the_log_are_noticed() {
    flip_bits(&furnished_in_log(), "onward.db-wal", 400);
}

#[test]
fn a_changed_body_is_named_with_run_and_record() {
    let disk = OnDisk::default();
    {
        let mut store = disk.store();
        let lease = drive(&mut *store);
        append_many(&mut *store, &lease, 0, 5);
    }
    let connection = rusqlite::Connection::open(disk.folder().join("onward.db")).expect("the database");
    let sql = "UPDATE records SET body = (SELECT body FROM records WHERE place & 4294967295 = 2) WHERE place & 4294967295 = 3";
    assert_eq!(connection.execute(sql, ()).expect("an update"), 1);
    drop(connection);
    let mut store = disk.store();
    let Err(StoreError::Damaged(damage)) = store.events(&run(), Seq(0), 99) else {
        panic!("a changed body was believed")
    };
    assert_eq!((damage.run, damage.seq), (Some(run()), Some(Seq(3))));
    // What lies before the damage can still be read.
    assert_eq!(store.events(&run(), Seq(0), 2).expect("the part before it").len(), 2);
    assert_eq!(store.verify().expect("a look at everything").len(), 1);
}

#[test]
fn a_record_of_another_history_is_noticed() {
    // Two stores share a past and differ in their last record, which is then carried from one to the other. It fits
    // what comes before it, but it is not the record that this store acknowledged.
    let (ours, theirs) = (OnDisk::default(), OnDisk::default());
    for (disk, last) in [(&ours, b"ours"), (&theirs, b"them")] {
        let mut store = disk.store();
        let lease = drive(&mut *store);
        append_many(&mut *store, &lease, 0, 4);
        store.append(&lease, Seq(4), entry(last)).expect("an append");
    }
    let connection = rusqlite::Connection::open(ours.folder().join("onward.db")).expect("the database");
    let other = theirs.folder().join("onward.db").display().to_string();
    connection.execute("ATTACH ?1 AS other", [other]).expect("the other database");
    let sql = "REPLACE INTO main.records SELECT * FROM other.records WHERE place & 4294967295 = 5";
    assert_eq!(connection.execute(sql, ()).expect("a change"), 1);
    drop(connection);
    let read = ours.look().events(&run(), Seq(0), 99);
    assert!(matches!(&read, Err(StoreError::Damaged(damage)) if damage.seq == Some(Seq(5))), "{read:?}");
}

#[test]
fn a_missing_record_is_named() {
    let disk = OnDisk::default();
    {
        let mut store = disk.store();
        let lease = drive(&mut *store);
        append_many(&mut *store, &lease, 0, 5);
    }
    for (last, expected) in [(5, 5), (3, 3), (1, 1)] {
        let connection = rusqlite::Connection::open(disk.folder().join("onward.db")).expect("the database");
        connection.execute("DELETE FROM records WHERE place & 4294967295 = ?1", [last]).expect("a deletion");
        drop(connection);
        let Err(StoreError::Damaged(damage)) = disk.look().events(&run(), Seq(0), 99) else {
            panic!("a missing record went unnoticed")
        };
        assert_eq!(damage.seq, Some(Seq(expected)));
    }
}

#[test]
fn a_damaged_row_does_not_hide_the_others() {
    let disk = furnished();
    let connection = rusqlite::Connection::open(disk.folder().join("onward.db")).expect("the database");
    connection.execute("UPDATE runs SET status = 'completed'", ()).expect("an update");
    connection.execute("UPDATE checkpoints SET seq = 1 WHERE id = 'CP-33'", ()).expect("an update");
    drop(connection);
    let mut store = disk.look();
    let rows = store.runs(&RunFilter::default(), Page::first(9)).expect("a list");
    assert!(rows[0].summary.is_err(), "a status that nobody wrote must not be believed");
    let found = store.checkpoints(CheckpointFilter::IdPrefix("CP-3"), Page::first(99)).expect("a list");
    let damaged: Vec<&str> = found.iter().filter(|row| row.damage.is_some()).map(|row| row.id.as_str()).collect();
    assert_eq!((found.len(), damaged), (6, vec!["CP-33"]));
    assert!(matches!(store.checkpoint(&CheckpointId::new("CP-33")), Err(StoreError::Damaged(_))));
    assert!(store.checkpoint(&CheckpointId::new("CP-32")).expect("a good one").is_some());
}

#[test]
fn an_undamaged_store_verifies() {
    let disk = furnished_in_log();
    assert_eq!(disk.look().verify().expect("a look at everything"), []);
    assert_eq!(journal(&mut *disk.store()).len(), 36);
}

/// A run with a document `w`, patches `p1` to `p4`, and a keyframe for `p3`.
fn chained() -> OnDisk {
    let disk = OnDisk::default();
    let mut store = disk.store();
    let lease = drive(&mut *store);
    store.append(&lease, Seq(0), with_checkpoint(entry(b"event"), "w", 1, b"whole")).expect("an append");
    for seq in 1..5_u64 {
        let (id, bytes) = (format!("p{seq}"), noise(50, seq.to_le_bytes()[0]));
        store.append(&lease, Seq(seq), with_patch(entry(b"event"), &id, seq + 1, &bytes)).expect("an append");
    }
    store.put_keyframe(&CheckpointId::new("p3"), b"third".to_vec()).expect("a keyframe");
    disk
}

#[test]
fn damage_in_a_chain_is_named_and_reaches_as_far_as_it_must() {
    // What is done to the database, the record that is to be named, and the checkpoints that cannot be read then.
    let swap = "SELECT body FROM patches WHERE place & 4294967295 = 3";
    let cases: [(String, u64, &[&str]); 7] = [
        (format!("UPDATE patches SET body = ({swap}) WHERE place & 4294967295 = 2"), 2, &["p1", "p2"]),
        ("UPDATE patches SET link = x'00' || substr(link, 2) WHERE place & 4294967295 = 3".to_owned(), 3, &["p2"]),
        ("DELETE FROM patches WHERE place & 4294967295 = 5".to_owned(), 5, &["p4"]),
        ("DELETE FROM keyframes WHERE place & 4294967295 = 1".to_owned(), 1, &["p1", "p2", "w"]),
        ("UPDATE keyframes SET link = zeroblob(32) WHERE place & 4294967295 = 1".to_owned(), 1, &["p1", "p2", "w"]),
        ("UPDATE keyframes SET link = zeroblob(32) WHERE place & 4294967295 = 4".to_owned(), 4, &["p3", "p4"]),
        (
            "UPDATE keyframes SET document = (SELECT document FROM keyframes LIMIT 1) WHERE place & 4294967295 = 4"
                .to_owned(),
            4,
            &["p3", "p4"],
        ),
    ];
    for (sql, seq, expected) in cases {
        let disk = chained();
        let connection = rusqlite::Connection::open(disk.folder().join("onward.db")).expect("the database");
        let sql = sql.replace("x'00' || substr(link, 2)", "CAST(x'00' || substr(link, 2) AS BLOB)");
        assert_eq!(connection.execute(&sql, ()).expect("a change"), 1, "{sql}");
        drop(connection);
        let mut store = disk.look();
        let mut unreadable = Vec::new();
        for id in ["p1", "p2", "p3", "p4", "w"] {
            match store.checkpoint(&CheckpointId::new(id)) {
                Ok(found) => assert!(found.is_some(), "{sql}: {id} is gone"),
                Err(StoreError::Damaged(damage)) => {
                    assert_eq!(damage.run, Some(run()), "{sql}");
                    unreadable.push((id, damage.seq.expect("a position").0));
                }
                Err(other) => panic!("{sql}: {other}"),
            }
        }
        assert_eq!(unreadable.iter().map(|(id, _)| *id).collect::<Vec<_>>(), expected, "{sql}");
        assert!(unreadable.iter().any(|(_, named)| *named == seq), "{sql}: {unreadable:?}");
        assert_eq!(store.verify().expect("a look at everything").len(), expected.len(), "{sql}");
    }
}

#[test]
fn a_keyframe_is_not_built_on_a_damaged_patch() {
    let disk = chained();
    let connection = rusqlite::Connection::open(disk.folder().join("onward.db")).expect("the database");
    let sql = "UPDATE patches SET link = zeroblob(32) WHERE place & 4294967295 = 3";
    assert_eq!(connection.execute(sql, ()).expect("a change"), 1);
    drop(connection);
    let refused = disk.store().put_keyframe(&CheckpointId::new("p2"), b"second".to_vec());
    assert!(matches!(&refused, Err(StoreError::Damaged(damage)) if damage.seq == Some(Seq(3))), "{refused:?}");
}

#[test]
fn a_damaged_fold_is_none() {
    let changes = [
        "UPDATE folds SET seq = 1",
        "UPDATE folds SET version = 8",
        "UPDATE folds SET hash = zeroblob(32)",
        "UPDATE folds SET body = CAST(body || x'00' AS BLOB)",
        "UPDATE folds SET body = x''",
        "DELETE FROM records WHERE place & 4294967295 = 2",
        "UPDATE records SET hash = zeroblob(32) WHERE place & 4294967295 = 2",
        "UPDATE folds SET body = CAST(x'02' || substr(body, 2) AS BLOB)",
    ];
    for sql in changes {
        let disk = OnDisk::default();
        {
            let mut store = disk.store();
            let lease = drive(&mut *store);
            append_many(&mut *store, &lease, 0, 3);
            store.put_fold(&run(), Seq(2), 7, b"fold".to_vec()).expect("a fold");
            assert!(store.fold(&run()).expect("a look").is_some(), "an undamaged one is there");
        }
        let connection = rusqlite::Connection::open(disk.folder().join("onward.db")).expect("the database");
        assert_eq!(connection.execute(sql, ()).expect("a change"), 1, "{sql}");
        drop(connection);
        assert_eq!(disk.look().fold(&run()).expect("no error"), None, "{sql}");
        // What cannot be believed is in nobody's way.
        let mut store = disk.store();
        store.put_fold(&run(), Seq(1), 7, b"again".to_vec()).expect("a fold");
        assert_eq!(store.fold(&run()).expect("a look").map(|fold| fold.bytes), Some(b"again".to_vec()), "{sql}");
    }
}
