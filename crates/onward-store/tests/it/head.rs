//! The head file: it notices what a database cannot notice about itself.

use std::{fs, path::Path};

use onward_core::id::Seq;
use onward_store::{Alarm, LeaseKind, OpenMode, StoreError};

use crate::kit::{OnDisk, append_many, drive, entry, holder, journal, run, take};

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for name in ["onward.db", "onward.db-wal"] {
        fs::copy(from.join(name), to.join(name)).expect("a copy");
    }
}

fn restore(disk: &OnDisk, from: &Path) {
    drop(fs::remove_file(disk.folder().join("onward.db-shm")));
    copy(from, &disk.folder());
}

/// Three records, a copy of the database, two more records, and the old copy put back.
fn rolled_back() -> OnDisk {
    let disk = OnDisk::default();
    let old = disk.root().join("old");
    {
        let mut store = disk.store();
        let lease = drive(&mut *store);
        append_many(&mut *store, &lease, 0, 3);
    }
    copy(&disk.folder(), &old);
    {
        let mut store = disk.store();
        let lease = take(&mut *store);
        append_many(&mut *store, &lease, 3, 2);
    }
    restore(&disk, &old);
    disk
}

#[test]
fn an_old_copy_of_the_database_is_noticed() {
    let disk = rolled_back();
    let mut store = disk.store();
    let refused = store.take_lease(&run(), LeaseKind::Driving, holder());
    assert!(matches!(refused, Err(StoreError::LostCommits { head: 8, database: 5, .. })), "{refused:?}");
    let refused = store.post(&run(), "x", crate::kit::at(0), Vec::new());
    assert!(matches!(refused, Err(StoreError::LostCommits { .. })), "{refused:?}");
    let health = store.health();
    assert_eq!(health.alarms, [Alarm::HeadAhead { head: 8, database: 5 }]);
    assert_eq!((health.commits, health.head_commits), (5, Some(8)));
}

#[test]
fn a_rolled_back_store_can_still_be_looked_at() {
    let disk = rolled_back();
    let mut look = disk.look();
    assert_eq!(journal(&mut *look).len(), 3);
    assert_eq!(look.health().alarms, [Alarm::HeadAhead { head: 8, database: 5 }]);
}

#[test]
fn a_driver_notices_when_the_database_changes_under_it() {
    let disk = OnDisk::default();
    let mut store = disk.store();
    let lease = drive(&mut *store);
    append_many(&mut *store, &lease, 0, 3);
    // As far as this handle can tell, another process got further and its commits are gone.
    let other = OnDisk::default();
    let mut ahead = other.store();
    let their_lease = drive(&mut *ahead);
    append_many(&mut *ahead, &their_lease, 0, 9);
    fs::copy(other.folder().join("HEAD"), disk.folder().join("HEAD")).expect("a copy");
    let refused = store.append(&lease, Seq(3), entry(b"late"));
    assert!(matches!(refused, Err(StoreError::LostCommits { head: 11, database: 5, .. })), "{refused:?}");
    assert_eq!(store.health().alarms, [Alarm::HeadForeign]);
    assert_eq!(journal(&mut *store).len(), 3);
}

#[test]
fn a_loss_can_be_accepted_by_a_person() {
    let disk = rolled_back();
    let mut store = disk.store();
    store.accept_loss().expect("a head file to write");
    assert_eq!(store.health().alarms, []);
    let lease = take(&mut *store);
    append_many(&mut *store, &lease, 3, 1);
}

#[test]
fn a_deleted_log_is_noticed() {
    let disk = OnDisk::default();
    {
        let mut store = disk.store();
        let lease = drive(&mut *store);
        append_many(&mut *store, &lease, 0, 5);
    }
    fs::remove_file(disk.folder().join("onward.db-wal")).expect("a log to delete");
    drop(fs::remove_file(disk.folder().join("onward.db-shm")));
    for mode in [OpenMode::ReadWrite, OpenMode::Look] {
        let refused = onward_store::open(&disk.folder(), mode).err();
        assert!(
            matches!(refused, Some(StoreError::LostCommits { head: 7, database: 0, .. })),
            "{mode:?} gave {refused:?}"
        );
    }
}

#[test]
fn a_deleted_database_is_not_a_fresh_start() {
    let disk = OnDisk::default();
    drive(&mut *disk.store());
    for name in ["onward.db", "onward.db-wal", "onward.db-shm"] {
        drop(fs::remove_file(disk.folder().join(name)));
    }
    for mode in [OpenMode::ReadWrite, OpenMode::Look] {
        let refused = onward_store::open(&disk.folder(), mode).err();
        assert!(
            matches!(refused, Some(StoreError::LostCommits { head: 2, database: 0, .. })),
            "{mode:?} gave {refused:?}"
        );
    }
}

#[test]
fn a_missing_head_is_an_alarm_and_no_obstacle() {
    let disk = OnDisk::default();
    let mut store = disk.store();
    assert_eq!(store.health().alarms, [], "a new store has nothing to complain about");
    let lease = drive(&mut *store);
    fs::remove_file(disk.folder().join("HEAD")).expect("a head file to delete");
    assert_eq!(store.health().alarms, [Alarm::HeadMissing]);
    append_many(&mut *store, &lease, 0, 1);
    assert_eq!(store.health().alarms, []);
    fs::write(disk.folder().join("HEAD"), b"nonsense").expect("a head file to spoil");
    assert_eq!(store.health().alarms, [Alarm::HeadUnreadable]);
    append_many(&mut *store, &lease, 1, 1);
    assert_eq!(store.health().alarms, []);
}

#[test]
fn a_head_that_is_behind_is_normal() {
    let disk = OnDisk::default();
    let mut store = disk.store();
    let lease = drive(&mut *store);
    let old = fs::read(disk.folder().join("HEAD")).expect("a head file");
    append_many(&mut *store, &lease, 0, 3);
    fs::write(disk.folder().join("HEAD"), old).expect("a head file to set back");
    let health = store.health();
    assert_eq!((health.alarms, health.head_commits, health.commits), (Vec::new(), Some(2), 5));
    append_many(&mut *store, &lease, 3, 1);
    assert_eq!(store.health().head_commits, Some(6));
}
