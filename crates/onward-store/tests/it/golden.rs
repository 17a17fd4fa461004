//! A database of the first format, as the program of that time wrote it: it opens, moves on, and reads back.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
};

use onward_core::id::{CheckpointId, RunId, Seq};
use onward_store::{
    Chain, CheckpointFilter, Holder, Inspection, Lease, LeaseKind, OpenMode, Page, PruneList, RunFilter, Store,
    StoreError,
};
use rusqlite::Connection;

use crate::kit::{OnDisk, at, entry, noise, with_checkpoint, with_patch};

const FIRST: &[u8] = include_bytes!("../golden/0001.db");

fn golden() -> OnDisk {
    let disk = OnDisk::default();
    fs::create_dir(disk.folder()).expect("a folder");
    let path = disk.folder().join("onward.db");
    fs::write(&path, FIRST).expect("a database");
    fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("a mode");
    // It was made elsewhere; whoever uses it says that it is theirs.
    onward_store::ownership::trust(&disk.folder(), &[]).expect("it can be marked");
    disk
}

fn database(disk: &OnDisk) -> Connection {
    Connection::open(disk.folder().join("onward.db")).expect("the database")
}

fn lease(store: &mut dyn Store, run: &str) -> Lease {
    let holder = Holder { host: "here".to_owned(), pid: 1, since: at(0) };
    store.take_lease(&RunId::new(run), LeaseKind::Driving, holder).expect("a free run")
}

/// Demands all that the store of that time was given and did not delete.
fn demand_everything(store: &mut dyn Inspection) {
    let runs = store.runs(&RunFilter::default(), Page::first(9)).expect("a list");
    let seen: Vec<(&str, u64, &str)> =
        runs.iter().map(|row| (row.run.as_str(), row.head.0, row.status.as_str())).collect();
    assert_eq!(seen, [("bare", 0, "pending"), ("second", 3, "running"), ("first", 3, "running")]);
    assert!(runs.iter().all(|row| row.summary.is_ok()), "{runs:?}");
    let bodies = store.events(&RunId::new("first"), Seq(0), 9).expect("a journal");
    assert_eq!(bodies.iter().map(|record| record.body.as_slice()).collect::<Vec<_>>(), [b"a1", b"a2", b"a3"]);
    let rows = store.checkpoints(CheckpointFilter::All, Page::first(9)).expect("a list");
    let seen: Vec<(&str, &str, u64)> = rows.iter().map(|row| (row.id.as_str(), row.run.as_str(), row.number)).collect();
    assert_eq!(
        seen,
        [
            ("CP-b2", "second", 7),
            ("CP-a4", "first", 6),
            ("CP-a3", "first", 4),
            ("CP-b1", "second", 2),
            ("CP-a1", "first", 1)
        ]
    );
    let documents = [
        ("CP-a1", b"small".to_vec()),
        ("CP-a3", noise(9_000, 1)),
        ("CP-a4", Vec::new()),
        ("CP-b1", noise(9_000, 1)),
        ("CP-b2", b"newest of second".to_vec()),
    ];
    for (id, document) in documents {
        let stored = store.checkpoint(&CheckpointId::new(id)).expect("a look").expect("a checkpoint");
        assert_eq!(stored.row.meta, format!("meta of {id}").into_bytes());
        assert_eq!(stored.row.bytes, document.len() as u64);
        assert!(stored.keyframe == document && stored.patches.is_empty(), "{id} came back changed");
    }
    let inbox = store.inbox(&RunId::new("bare"), 9).expect("an inbox");
    assert_eq!(inbox[0].body, b"waiting");
    assert_eq!(store.fold(&RunId::new("first")).expect("a look"), None);
    assert_eq!(store.verify().expect("a look at everything"), []);
    assert_eq!(store.health().schema, 4);
}

#[test]
fn a_store_of_the_first_format_moves_on() {
    let disk = golden();
    demand_everything(&mut *disk.store());
    let mut store = disk.store();
    demand_everything(&mut *store);
    let (first, second) = (lease(&mut *store, "first"), lease(&mut *store, "second"));
    let appended = store.append(&first, Seq(3), with_patch(entry(b"a4"), "CP-a5", 4, b"patch")).expect("an append");
    assert_eq!(appended.chain, Chain { patches: 1, patch_bytes: 5, keyframe_bytes: 0 });
    let appended = store.append(&second, Seq(3), with_patch(entry(b"b4"), "CP-b4", 4, b"patch")).expect("an append");
    assert_eq!(appended.chain, Chain { patches: 1, patch_bytes: 5, keyframe_bytes: 16 });
    let stored = store.checkpoint(&CheckpointId::new("CP-b4")).expect("a look").expect("a checkpoint");
    assert_eq!((stored.keyframe, stored.patches), (b"newest of second".to_vec(), vec![b"patch".to_vec()]));
    assert!(stored.row.number > 8, "a number was given twice");
    // What was deleted then stays deleted.
    let refused = store.append(&first, Seq(4), with_checkpoint(entry(b"a5"), "CP-b3", 5, b"again"));
    assert!(matches!(refused, Err(StoreError::AlreadyThere { .. })), "{refused:?}");
    // The two runs share a document, which goes with the second of them.
    drop((first, second));
    for (run, left) in [("second", 1), ("first", 0)] {
        store.prune(&PruneList { runs: vec![RunId::new(run)], ..PruneList::default() }).expect("a prune");
        let blobs: i64 =
            database(&disk).query_row("SELECT count(*) FROM blobs", (), |row| row.get(0)).expect("a count");
        assert_eq!(blobs, left);
    }
    assert_eq!(store.verify().expect("a look at everything"), []);
}

#[test]
fn looking_at_the_first_format_writes_nothing() {
    let disk = golden();
    fs::remove_file(disk.folder().join(onward_store::ownership::MARK)).expect("looking needs no mark");
    demand_everything(&mut *disk.look());
    assert!(fs::read(disk.folder().join("onward.db")).expect("the database") == FIRST, "a look changed the database");
    assert_eq!(fs::read_dir(disk.folder()).expect("a folder").count(), 1, "a look made files");
    // The same with a log beside it, as a process leaves that was killed.
    let connection = database(&disk);
    connection.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).expect("a setting");
    connection.execute_batch("CREATE TABLE extra (x); DROP TABLE extra").expect("a change");
    drop(connection);
    let log = fs::read(disk.folder().join("onward.db-wal")).expect("a log");
    assert!(!log.is_empty(), "this test needs a log");
    demand_everything(&mut *disk.look());
    assert!(fs::read(disk.folder().join("onward.db")).expect("the database") == FIRST, "a look changed the database");
    assert!(fs::read(disk.folder().join("onward.db-wal")).expect("the log") == log, "a look changed the log");
}

#[test]
fn a_document_in_a_file_moves_without_being_read() {
    let disk = golden();
    let connection = database(&disk);
    let (id, body): ([u8; 32], Vec<u8>) =
        connection.query_row("SELECT id, body FROM blobs", (), |row| Ok((row.get(0)?, row.get(1)?))).expect("a blob");
    connection.execute("UPDATE blobs SET body = NULL", ()).expect("a change");
    drop(connection);
    let name = blake3::Hash::from_bytes(id).to_hex();
    let folder = disk.folder().join("blobs").join(&name[..2]);
    demand_missing(&disk);
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join(name.as_str()), body).expect("a file");
    demand_everything(&mut *disk.store());
}

fn demand_missing(disk: &OnDisk) {
    let read = disk.look().checkpoint(&CheckpointId::new("CP-a3"));
    assert!(matches!(read, Err(StoreError::Damaged(_))), "{read:?}");
}

#[test]
fn what_is_damaged_stays_damaged_and_alone() {
    let disk = golden();
    let connection = database(&disk);
    connection
        .execute_batch(
            "UPDATE checkpoints SET seq = 9 WHERE id = 'CP-a1';
             UPDATE checkpoints SET document = CAST(x'00' || substr(document, 1, 3) AS BLOB) WHERE id = 'CP-b2';
             UPDATE runs SET status = 'completed' WHERE run = 'bare'",
        )
        .expect("a change");
    drop(connection);
    drop(disk.store());
    let mut store = disk.look();
    for id in ["CP-a1", "CP-b2"] {
        let read = store.checkpoint(&CheckpointId::new(id));
        assert!(matches!(read, Err(StoreError::Damaged(_))), "{id} gave {read:?}");
    }
    for id in ["CP-a3", "CP-a4", "CP-b1"] {
        assert!(store.checkpoint(&CheckpointId::new(id)).expect("a look").is_some(), "{id} is gone");
    }
    let runs = store.runs(&RunFilter::default(), Page::first(9)).expect("a list");
    let damaged: Vec<&str> = runs.iter().filter(|row| row.summary.is_err()).map(|row| row.run.as_str()).collect();
    assert_eq!(damaged, ["bare"]);
}

#[test]
fn many_move_the_same_store() {
    let disk = golden();
    let folder = disk.folder();
    let movers: Vec<_> = (0..4)
        .map(|_| {
            let folder = folder.clone();
            std::thread::spawn(move || drop(onward_store::open(&folder, OpenMode::ReadWrite).expect("a store")))
        })
        .collect();
    for mover in movers {
        mover.join().expect("a mover that ends well");
    }
    demand_everything(&mut *disk.store());
}
