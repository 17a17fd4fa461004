//! A disk without room: the last record is still written, nothing acknowledged is lost, and freeing room is enough.

use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
    process::Command,
};

use onward_core::id::Seq;
use onward_store::{Inspection, OpenMode, StoreCause, StoreError};

use crate::kit::{drive, entry, journal, noise, run, take};

/// A small disk that ends with this.
struct SmallDisk {
    _folder: tempfile::TempDir,
    mount: PathBuf,
}

impl SmallDisk {
    /// `None` where mounting is not allowed.
    fn new(options: &str) -> Option<Self> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mount = folder.path().join("disk");
        fs::create_dir(&mount).expect("a folder");
        let done = Command::new("mount").args(["-t", "tmpfs", "-o", options, "none"]).arg(&mount).output();
        done.is_ok_and(|done| done.status.success()).then_some(Self { _folder: folder, mount })
    }

    fn store(&self) -> Box<dyn Inspection> {
        onward_store::open(&self.mount.join(".onward"), OpenMode::ReadWrite).expect("a store")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        drop(Command::new("umount").arg("-l").arg(&self.mount).status());
    }
}

/// Leaves not one byte free.
fn fill(path: &Path) {
    let mut file = File::create(path).expect("a file");
    while file.write_all(&[0; 4096]).is_ok() {}
    while file.write_all(&[0; 1]).is_ok() {}
}

#[test]
fn the_last_record_is_written_on_a_full_disk() {
    let Some(disk) = SmallDisk::new("size=4m") else { return };
    let mut store = disk.store();
    let lease = drive(&mut *store);
    let mut head = 0;
    let append = |store: &mut dyn Inspection, head: &mut u64| {
        let appended = store.append(&lease, Seq(*head), entry(&noise(3_000, 1)));
        if let Ok(appended) = &appended {
            *head = appended.head.0;
        }
        appended
    };
    for _ in 0..20 {
        append(&mut *store, &mut head).expect("an append");
    }
    assert!(store.health().reserve, "a store keeps something back");
    fill(&disk.mount.join("filler"));
    append(&mut *store, &mut head).expect("the reserve makes room for this");
    assert!(!store.health().reserve, "the reserve was used");

    fill(&disk.mount.join("filler-2"));
    let mut refused = None;
    for _ in 0..200 {
        refused = append(&mut *store, &mut head).err();
        if refused.is_some() {
            break;
        }
    }
    assert!(matches!(refused, Some(StoreError::NotSaved { cause: StoreCause::Full, .. })), "{refused:?}");
    assert_eq!(journal(&mut *store).len() as u64, head, "a full disk can be read");

    for filler in ["filler", "filler-2"] {
        fs::remove_file(disk.mount.join(filler)).expect("a file to remove");
    }
    append(&mut *store, &mut head).expect("room is all that was missing");
    drop((lease, store));
    let mut store = disk.store();
    assert!(store.health().reserve, "the reserve is kept again");
    assert_eq!(journal(&mut *store).len() as u64, head);
}

#[test]
fn a_large_value_on_a_full_disk_leaves_nothing_behind() {
    let Some(disk) = SmallDisk::new("size=4m") else { return };
    let mut store = disk.store();
    let lease = drive(&mut *store);
    let refused = store.append(&lease, Seq(0), entry(&noise(6_000_000, 1)));
    assert!(matches!(refused, Err(StoreError::NotSaved { cause: StoreCause::Full, .. })), "{refused:?}");
    let left = fs::read_dir(disk.mount.join(".onward/blobs")).expect("a folder").flatten();
    let left: Vec<PathBuf> = left.map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    assert_eq!(left, Vec::<PathBuf>::new());
    store.append(&lease, Seq(0), entry(b"small")).expect("an append");
}

#[test]
fn a_disk_without_inodes_is_refused_in_words() {
    let Some(disk) = SmallDisk::new("size=4m,nr_inodes=24") else { return };
    let mut store = disk.store();
    let lease = drive(&mut *store);
    for n in 0..40 {
        drop(File::create(disk.mount.join(format!("filler-{n}"))));
    }
    store.append(&lease, Seq(0), entry(b"small")).expect("an append needs no new file");
    let refused = store.append(&lease, Seq(1), entry(&noise(1_500_000, 1)));
    assert!(matches!(refused, Err(StoreError::NotSaved { cause: StoreCause::Full, .. })), "{refused:?}");
    drop(lease);
    assert_eq!(store.events(&run(), Seq(0), 9).expect("a journal").len(), 1);
    drop(take(&mut *store));
}
