//! Looking writes nothing, whatever state the store is in; and what a later version wrote is refused by all.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::SystemTime,
};

use onward_core::id::{CheckpointId, Seq};
use onward_store::{CheckpointFilter, LeaseKind, OpenMode, Page, PruneList, RunFilter, StoreError, StoreExt};

use crate::{
    child::{Role, ears, heard, kill, spawn},
    kit::{OnDisk, append_many, at, drive, entry, holder, journal, run},
};

type Snapshot = BTreeMap<PathBuf, (u64, SystemTime, Vec<u8>)>;

/// Every file below the folder with its bytes and its time, except the index that readers share.
fn snapshot(folder: &Path) -> Snapshot {
    let mut found = Snapshot::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let (path, seen) = (entry.path(), entry.metadata().expect("a file"));
        if seen.is_dir() {
            found.extend(snapshot(&path));
        }
        if path.extension().is_some_and(|ending| ending == "db-shm") {
            continue;
        }
        let bytes = if seen.is_dir() { Vec::new() } else { fs::read(&path).expect("a file") };
        found.insert(path, (seen.len(), seen.modified().expect("a time"), bytes));
    }
    found
}

fn look_around(disk: &OnDisk) {
    let mut look = disk.look();
    assert_eq!(look.runs(&RunFilter::default(), Page::first(9)).expect("a list").len(), 1);
    journal(&mut *look);
    look.holder(&run()).expect("an answer");
    look.inbox(&run(), 9).expect("an inbox");
    look.checkpoints(CheckpointFilter::All, Page::first(9)).expect("a list");
    look.changed().expect("an answer");
    look.health();
    look.verify().expect("a look at everything");
}

#[test]
fn looking_writes_nothing() {
    let disk = OnDisk::default();
    {
        let mut store = disk.store();
        let lease = drive(&mut *store);
        append_many(&mut *store, &lease, 0, 3);
    }
    let before = snapshot(&disk.folder());
    look_around(&disk);
    assert!(before == snapshot(&disk.folder()), "a look changed the folder");
}

#[test]
fn looking_after_a_kill_writes_nothing() {
    let disk = OnDisk::default();
    let mut child = spawn(&Role::AppendForever, &disk.folder());
    let mut lines = ears(&mut child);
    for _ in 0..20 {
        heard(&mut lines).expect("a child that works");
    }
    kill(&mut child);
    let before = snapshot(&disk.folder());
    look_around(&disk);
    assert!(before == snapshot(&disk.folder()), "a look changed the folder");
}

#[test]
fn looking_without_a_log_makes_none() {
    let disk = OnDisk::default();
    {
        let mut store = disk.store();
        let lease = drive(&mut *store);
        append_many(&mut *store, &lease, 0, 3);
    }
    // An ordinary tool that opens and closes the database folds the log into it and removes it.
    let connection = rusqlite::Connection::open(disk.folder().join("onward.db")).expect("the database");
    connection.query_row("SELECT count(*) FROM runs", (), |_| Ok(())).expect("a query");
    drop(connection);
    assert!(!disk.folder().join("onward.db-wal").exists(), "the log should be gone for this test");
    let before = snapshot(&disk.folder());
    look_around(&disk);
    assert_eq!(journal(&mut *disk.look()).len(), 3);
    assert!(before == snapshot(&disk.folder()), "a look changed the folder");
}

#[test]
fn a_look_handle_refuses_to_write() {
    let disk = OnDisk::default();
    let mut store = disk.store();
    let lease = drive(&mut *store);
    let mut look = disk.look();
    let before = snapshot(&disk.folder());
    assert!(matches!(look.append(&lease, Seq(0), entry(b"x")), Err(StoreError::LookOnly)));
    assert!(matches!(look.take_lease(&run(), LeaseKind::Brief, holder()), Err(StoreError::LookOnly)));
    assert!(matches!(look.post(&run(), "x", at(0), Vec::new()), Err(StoreError::LookOnly)));
    assert!(matches!(look.prune(&PruneList::default()), Err(StoreError::LookOnly)));
    assert!(matches!(look.put_keyframe(&CheckpointId::new("x"), Vec::new()), Err(StoreError::LookOnly)));
    assert!(matches!(look.put_fold(&run(), Seq(1), 0, Vec::new()), Err(StoreError::LookOnly)));
    assert!(matches!(look.drop_fold(&run()), Err(StoreError::LookOnly)));
    assert!(matches!(look.accept_loss(), Err(StoreError::LookOnly)));
    assert!(before == snapshot(&disk.folder()), "a refused write changed the folder");
}

#[test]
fn a_look_where_there_is_nothing_makes_nothing() {
    let disk = OnDisk::default();
    let missing = onward_store::open(&disk.folder(), OpenMode::Look).err();
    assert!(matches!(missing, Some(StoreError::NoStore { .. })), "{missing:?}");
    assert!(!disk.folder().exists(), "a look made a folder");
}

#[test]
fn a_look_sees_what_a_driver_saves_meanwhile() {
    let disk = OnDisk::default();
    let mut store = disk.store();
    let lease = drive(&mut *store);
    let mut look = disk.look();
    assert!(!look.changed().expect("an answer"));
    append_many(&mut *store, &lease, 0, 2);
    assert!(look.changed().expect("an answer"));
    assert_eq!(journal(&mut *look).len(), 2);
}

#[test]
fn a_store_that_cannot_be_written_can_be_looked_at() {
    // A store with records still in its log, seen through a mount that allows no writing.
    let disk = OnDisk::default();
    {
        let mut store = disk.store();
        let lease = drive(&mut *store);
        append_many(&mut *store, &lease, 0, 3);
    }
    let mount = disk.root().join("mount");
    fs::create_dir(&mount).expect("a folder");
    let mounted = |arguments: &[&str]| {
        let done = Command::new("mount").args(arguments).arg(&mount).output();
        done.is_ok_and(|done| done.status.success())
    };
    let root = disk.root().display().to_string();
    if !mounted(&["--bind", root.as_str()]) {
        // Not allowed to mount anything here.
        return;
    }
    let read_only = mounted(&["-o", "remount,ro,bind"]);
    let looked = std::panic::catch_unwind(|| {
        assert!(read_only, "the mount can still be written");
        let folder = mount.join(".onward");
        let mut look = onward_store::open(&folder, OpenMode::Look).expect("a store to look at");
        assert_eq!(journal(&mut *look).len(), 3);
        let refused = onward_store::open(&folder, OpenMode::ReadWrite)
            .and_then(|mut store| store.take_lease(&run(), LeaseKind::Driving, holder()).map(drop));
        let cause = matches!(refused, Err(StoreError::NotSaved { cause: onward_store::StoreCause::ReadOnly, .. }));
        assert!(cause, "{refused:?}");
    });
    Command::new("umount").arg(&mount).status().expect("an unmount");
    if let Err(panic) = looked {
        std::panic::resume_unwind(panic);
    }
}

/// The number that a database of a later format has in its header, as every format does it.
fn mark(version: u32) -> i32 {
    (0x6f6e_6764 ^ version.wrapping_mul(0x9e37_79b1)).cast_signed()
}

fn seal_of_format_7() -> String {
    let mut hasher = blake3::Hasher::new();
    for part in [&b"meta"[..], b"7", &[0; 16]] {
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
    }
    hasher.update(&0_i64.to_le_bytes()).update(&32_u64.to_le_bytes()).update(&[0; 32]);
    hasher.finalize().to_hex()[..16].to_owned()
}

#[test]
fn what_a_later_version_wrote_is_refused_and_left_alone() {
    // The seal is that of a store with this id, no commits and the format 7.
    let sealed = "UPDATE meta SET format = '7', store_id = zeroblob(16), commits = 0, last_hash = zeroblob(32), \
                  seal = x'SEAL'"
        .replace("SEAL", &seal_of_format_7());
    let later = format!("PRAGMA user_version = 99; PRAGMA application_id = {}", mark(99));
    for sql in [later.as_str(), sealed.as_str()] {
        let disk = OnDisk::default();
        drop(drive(&mut *disk.store()));
        let connection = rusqlite::Connection::open(disk.folder().join("onward.db")).expect("the database");
        connection.execute_batch(sql).expect("a change");
        drop(connection);
        let before = snapshot(&disk.folder());
        let opened = onward_store::open(&disk.folder(), OpenMode::ReadWrite).err();
        assert!(matches!(opened, Some(StoreError::Newer { .. })), "{sql} gave {opened:?}");
        let looked = onward_store::open(&disk.folder(), OpenMode::Look).err();
        assert!(matches!(looked, Some(StoreError::Newer { .. })), "{sql} gave {looked:?}");
        for (path, (_, _, bytes)) in before {
            if path.is_file() {
                assert!(fs::read(&path).expect("a file") == bytes, "{} changed", path.display());
            }
        }
    }
}

#[test]
fn a_value_of_a_later_version_is_refused_and_not_misread() {
    let disk = OnDisk::default();
    {
        let mut store = disk.store();
        let lease = drive(&mut *store);
        append_many(&mut *store, &lease, 0, 2);
    }
    let mut hasher = blake3::Hasher::new();
    hasher.update(&[2, 0]).update(b"of tomorrow");
    let mut value = vec![2, 0];
    value.extend(&hasher.finalize().as_bytes()[..8]);
    value.extend(b"of tomorrow");
    let connection = rusqlite::Connection::open(disk.folder().join("onward.db")).expect("the database");
    connection.execute("UPDATE records SET body = ?1 WHERE place & 4294967295 = 2", [value]).expect("a change");
    drop(connection);
    let read = disk.look().events(&run(), Seq(0), 9);
    assert!(matches!(read, Err(StoreError::Newer { found: 2, known: 1, .. })), "{read:?}");
}
