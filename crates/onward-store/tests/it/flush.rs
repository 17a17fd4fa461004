//! A disk that fails while something is made to last. Nobody claims to know what became of it, and nothing that is
//! acknowledged later stands behind it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use onward_core::id::Seq;
use onward_store::Alarm;

use crate::{
    child::{Role, command, ears, heard},
    kit::{OnDisk, entry, journal, take},
};

/// The library that makes a flush fail.
fn shim(folder: &Path) -> PathBuf {
    let (source, built) = (folder.join("flush.c"), folder.join("flush.so"));
    fs::write(&source, include_str!("flush.c")).expect("a file");
    let made = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&built).arg(&source).status();
    assert!(made.is_ok_and(|status| status.success()), "a C compiler");
    built
}

/// A child whose second append meets a failed flush of this file; the log after the first append, and after the second.
fn failed(disk: &OnDisk, of: &str) -> (Vec<u8>, Vec<u8>, String) {
    let mut command = command(&Role::FailToFlush, &disk.folder());
    command.env("LD_PRELOAD", shim(disk.root())).env("FLUSH_OF", of).env("FLUSH_FAILS", disk.root().join("now"));
    let mut child = command.spawn().expect("a child process");
    let said = heard(&mut ears(&mut child)).expect("a word");
    child.wait().expect("a child that ends");
    let before = fs::read(disk.root().join("before")).expect("the log before");
    let after = fs::read(disk.folder().join("onward.db-wal")).expect("the log after");
    (before, after, said)
}

/// The disk forgets what was written into the log by the flush that failed, unless it was written again since.
fn forget_what_was_not_flushed(disk: &OnDisk, before: &[u8], after: &[u8]) {
    let path = disk.folder().join("onward.db-wal");
    let mut now = fs::read(&path).expect("the log");
    let same = before.len()..after.len().min(now.len());
    if now.starts_with(&before[..32]) && now.get(same.clone()) == after.get(same.clone()) {
        now[same].fill(0);
    }
    fs::write(&path, now).expect("a log to change");
    drop(fs::remove_file(disk.folder().join("onward.db-shm")));
}

#[test]
fn what_is_acknowledged_after_a_failed_flush_survives_a_power_cut() {
    let disk = OnDisk::default();
    let (before, after, said) = failed(&disk, "onward.db-wal");
    assert_eq!(said, "unclear refused", "the answer was not that nobody knows, or the handle wrote on");
    assert!(after.len() > before.len(), "this test needs a commit in the log that was not flushed");
    assert_eq!(disk.look().health().alarms, [Alarm::FlushFailed]);
    let records = {
        let mut store = disk.store();
        let lease = take(&mut *store);
        let head = journal(&mut *store).len() as u64;
        store.append(&lease, Seq(head), entry(b"acknowledged")).expect("a disk that works again");
        assert_eq!(store.health().alarms, [], "what was settled is not told for ever");
        journal(&mut *store)
    };
    forget_what_was_not_flushed(&disk, &before, &after);
    let mut store = disk.look();
    assert_eq!(journal(&mut *store), records, "what was acknowledged stood behind a hole");
    assert_eq!(store.verify().expect("a look at everything"), []);
}

/// The mark stays, and nothing is written, as long as the log cannot be copied and flushed.
#[test]
fn nothing_is_appended_while_the_flush_goes_on_failing() {
    let disk = OnDisk::default();
    failed(&disk, "onward.db-wal");
    let mut again = command(&Role::AppendForever, &disk.folder());
    let now = disk.root().join("now");
    fs::write(&now, "").expect("a file");
    again.env("LD_PRELOAD", disk.root().join("flush.so")).env("FLUSH_OF", "onward.db").env("FLUSH_FAILS", &now);
    let mut again = again.spawn().expect("a child process");
    assert_eq!(heard(&mut ears(&mut again)), None, "it was told that something is saved");
    again.wait().expect("a child that ends");
    assert!(!now.exists(), "this test needs a flush of the database");
    assert_eq!(disk.look().health().alarms, [Alarm::FlushFailed]);
    let mut store = disk.store();
    drop(take(&mut *store));
    assert_eq!(store.health().alarms, []);
}
