//! Permissions of the store: who may read and write it, and what is refused.

use std::{
    fs::{self, Permissions},
    os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink},
    path::Path,
};

use onward_core::id::Seq;
use onward_store::{OpenMode, StoreError, Unsafe, Vanished};

use crate::{
    child::{Role, spawn},
    kit::{OnDisk, append_many, drive, entry},
};

fn modes(folder: &Path) -> Vec<(String, u32)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let seen = entry.metadata().expect("a file");
        found.push((entry.file_name().to_string_lossy().into_owned(), seen.mode() & 0o7777));
        if seen.is_dir() {
            found.extend(modes(&entry.path()));
        }
    }
    found
}

fn refusal(folder: &Path) -> Vec<Option<Unsafe>> {
    let open = |mode| match onward_store::open(folder, mode) {
        Err(StoreError::Unsafe { why, .. }) => Some(why),
        Err(other) => panic!("refused for another reason: {other}"),
        Ok(_) => None,
    };
    vec![open(OpenMode::ReadWrite), open(OpenMode::Look)]
}

#[test]
fn whatever_the_umask_others_can_do_nothing() {
    for umask in [0o000, 0o022, 0o077] {
        let disk = OnDisk::default();
        let ended = spawn(&Role::Make { umask }, &disk.folder()).wait().expect("a child that ends");
        assert!(ended.success(), "a store could not be made under umask {umask:o}");
        assert_eq!(disk.folder().metadata().expect("the folder").mode() & 0o7777, 0o700);
        let found = modes(&disk.folder());
        assert!(found.len() >= 9, "{found:?}");
        for (name, mode) in found {
            let expected = if name == "run" || name == "blobs" { 0o700 } else { 0o600 };
            assert_eq!(mode, expected, "{name} under umask {umask:o}");
        }
    }
}

#[test]
fn git_never_sees_the_store() {
    let disk = OnDisk::default();
    disk.store();
    assert_eq!(fs::read_to_string(disk.folder().join(".gitignore")).expect("the file"), "*\n");
}

#[test]
fn a_folder_that_is_a_link_is_refused() {
    let disk = OnDisk::default();
    drive(&mut *disk.store());
    let link = disk.root().join("link");
    symlink(disk.folder(), &link).expect("a link");
    assert_eq!(refusal(&link), [Some(Unsafe::Link); 2]);
}

#[test]
fn a_link_above_the_folder_is_nobodys_business() {
    let disk = OnDisk::default();
    drive(&mut *disk.store());
    let link = disk.root().join("link");
    symlink(disk.root(), &link).expect("a link");
    assert_eq!(refusal(&link.join(".onward")), [None; 2]);
}

#[test]
fn a_database_that_is_a_link_is_refused() {
    let disk = OnDisk::default();
    drive(&mut *disk.store());
    let elsewhere = disk.root().join("elsewhere.db");
    fs::rename(disk.folder().join("onward.db"), &elsewhere).expect("a move");
    symlink(&elsewhere, disk.folder().join("onward.db")).expect("a link");
    assert_eq!(refusal(&disk.folder()), [Some(Unsafe::Link); 2]);
}

#[test]
fn a_log_that_is_a_link_is_refused() {
    let disk = OnDisk::default();
    drive(&mut *disk.store());
    let elsewhere = disk.root().join("elsewhere");
    fs::rename(disk.folder().join("onward.db-wal"), &elsewhere).expect("a move");
    symlink(&elsewhere, disk.folder().join("onward.db-wal")).expect("a link");
    assert_eq!(refusal(&disk.folder()), [Some(Unsafe::Link); 2]);
}

#[test]
fn a_database_with_a_second_name_is_refused() {
    let disk = OnDisk::default();
    drive(&mut *disk.store());
    fs::hard_link(disk.folder().join("onward.db"), disk.root().join("second")).expect("a second name");
    assert_eq!(refusal(&disk.folder()), [Some(Unsafe::SecondName); 2]);
}

#[test]
fn what_others_may_write_is_refused() {
    for mode in [0o720, 0o702] {
        let disk = OnDisk::default();
        drive(&mut *disk.store());
        fs::set_permissions(disk.folder(), Permissions::from_mode(mode)).expect("a mode");
        assert_eq!(refusal(&disk.folder()), [Some(Unsafe::Writable); 2]);
        fs::set_permissions(disk.folder(), Permissions::from_mode(0o700)).expect("a mode");
        fs::set_permissions(disk.folder().join("onward.db"), Permissions::from_mode(mode)).expect("a mode");
        assert_eq!(refusal(&disk.folder()), [Some(Unsafe::Writable); 2]);
    }
}

#[test]
fn what_is_no_file_is_refused() {
    let disk = OnDisk::default();
    fs::create_dir_all(disk.folder().join("onward.db")).expect("a folder");
    fs::set_permissions(disk.folder(), Permissions::from_mode(0o700)).expect("a mode");
    assert_eq!(refusal(&disk.folder()), [Some(Unsafe::Kind); 2]);
    let file = disk.root().join("file");
    fs::write(&file, b"").expect("a file");
    assert_eq!(refusal(&file), [Some(Unsafe::Kind); 2]);
}

#[test]
fn what_belongs_to_somebody_else_is_refused() {
    let disk = OnDisk::default();
    drive(&mut *disk.store());
    let database = disk.folder().join("onward.db");
    if chown(&database, Some(65_534), None).is_err() {
        // Only root can give a file away; without it there is nothing to try.
        return;
    }
    assert_eq!(refusal(&disk.folder()), [Some(Unsafe::Owner); 2]);
}

/// The files of a store are deleted under a handle that writes. Its next commit is not acknowledged: nobody would find it again.
#[test]
fn a_commit_into_deleted_files_is_no_success() {
    let disk = OnDisk::default();
    let mut store = disk.store();
    let lease = drive(&mut *store);
    append_many(&mut *store, &lease, 0, 2);
    for name in ["onward.db", "onward.db-wal", "onward.db-shm"] {
        fs::remove_file(disk.folder().join(name)).expect("a file of the store");
    }
    let refused = store.append(&lease, Seq(2), entry(b"lost"));
    assert!(matches!(refused, Err(StoreError::Gone { how: Vanished::Deleted, .. })), "{refused:?}");
    let refused = store.changed();
    assert!(matches!(refused, Err(StoreError::Gone { .. })), "{refused:?}");
    assert!(matches!(onward_store::open_if_there(&disk.folder()), Err(StoreError::NoStore { .. })));
}
