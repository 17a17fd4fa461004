//! Measurements, each beside its floor in the same run. Started by hand, in release:
//! `cargo test --release -p onward-store speed -- --ignored --nocapture --test-threads 1`.

use std::{
    fs::File,
    io::Write,
    time::{Duration, Instant},
};

use onward_core::id::{CheckpointId, Seq};
use onward_store::{CheckpointFilter, KeyframeKept, OpenMode, Page, RunFilter, StoreExt};

use crate::kit::{OnDisk, drive, entry, noise, run, with_checkpoint, with_patch};

fn sorted(mut times: Vec<Duration>) -> Vec<Duration> {
    times.sort_unstable();
    times
}

fn say(what: &str, times: &[Duration]) {
    let at = |share: usize| times[(times.len() - 1) * share / 100];
    let line = format!("{what}: p50 {:?} p99 {:?} max {:?}\n", at(50), at(99), at(100));
    std::io::stderr().write_all(line.as_bytes()).expect("a place to write to");
}

fn times(count: u64, mut work: impl FnMut(u64)) -> Vec<Duration> {
    let measure = |n| {
        let start = Instant::now();
        work(n);
        start.elapsed()
    };
    sorted((0..count).map(measure).collect())
}

fn flushes(disk: &OnDisk, count: u64, bytes: &[u8]) -> Vec<Duration> {
    let mut file = File::create(disk.root().join("floor")).expect("a file");
    times(count, |_| {
        file.write_all(bytes).expect("a write");
        file.sync_data().expect("a flush");
    })
}

#[test]
#[ignore = "a measurement"]
fn an_append_of_one_kilobyte() {
    let disk = OnDisk::default();
    let body = vec![b'x'; 1024];
    let mut store = disk.store();
    let lease = drive(&mut *store);
    let mut floor = Vec::new();
    let mut ours = Vec::new();
    for round in 0..10 {
        floor.extend(flushes(&disk, 300, &body));
        ours.extend(times(300, |n| {
            store.append(&lease, Seq(round * 300 + n), entry(&body)).expect("an append");
        }));
    }
    say("fdatasync of 1 KB", &sorted(floor));
    say("append of 1 KB", &sorted(ours));
}

#[test]
#[ignore = "a measurement"]
fn an_append_with_a_checkpoint_of_700_bytes() {
    let (disk, other) = (OnDisk::default(), OnDisk::default());
    let (event, content) = (vec![b'x'; 300], noise(700, 1));
    let (mut wholes, mut patches) = (disk.store(), other.store());
    let (whole_lease, patch_lease) = (drive(&mut *wholes), drive(&mut *patches));
    let first = with_checkpoint(entry(&event), "CP-first", 1, &content);
    patches.append(&patch_lease, Seq(0), first).expect("an append");
    let (mut floor, mut bare, mut whole, mut patch) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut seq = 0;
    for round in 0..20 {
        floor.extend(flushes(&disk, 100, &content));
        whole.extend(times(100, |n| {
            let seq = round * 100 + n;
            let next = with_checkpoint(entry(&event), &format!("CP-{seq}"), seq + 1, &content);
            wholes.append(&whole_lease, Seq(seq), next).expect("an append");
        }));
        patch.extend(times(100, |_| {
            seq += 1;
            let next = with_patch(entry(&event), &format!("CP-{seq}"), seq + 1, &content);
            patches.append(&patch_lease, Seq(seq), next).expect("an append");
        }));
        bare.extend(times(100, |_| {
            seq += 1;
            patches.append(&patch_lease, Seq(seq), entry(&event)).expect("an append");
        }));
    }
    say("fdatasync of 700 bytes", &sorted(floor));
    say("append without a checkpoint", &sorted(bare));
    say("append with a whole checkpoint of 700 bytes", &sorted(whole));
    say("append with a patch of 700 bytes", &sorted(patch));
}

#[test]
#[ignore = "a measurement"]
fn ten_thousand_patches() {
    let disk = OnDisk::default();
    let mut store = disk.store();
    let lease = drive(&mut *store);
    let first = with_checkpoint(entry(b"event"), "CP-0", 1, &noise(1024, 0));
    store.append(&lease, Seq(0), first).expect("an append");
    for (from, count) in [(1, 1_000), (1_001, 8_000), (9_001, 1_000)] {
        let ours = times(count, |n| {
            let seq = from + n;
            let patch = noise(1024, seq.to_le_bytes()[0]);
            store
                .append(&lease, Seq(seq), with_patch(entry(b"event"), &format!("CP-{seq}"), seq + 1, &patch))
                .expect("an append");
        });
        say(&format!("patches {from} to {}", from + count), &ours);
    }
    let health = store.health();
    say(&format!("database {} bytes, log {} bytes", health.database_bytes, health.wal_bytes), &[Duration::ZERO]);
    say("read behind 10,000 patches", &times(20, |_| drop(store.checkpoint(&CheckpointId::new("CP-10000")))));
    say(
        "put a keyframe behind them",
        &times(1, |_| drop(store.put_keyframe(&CheckpointId::new("CP-10000"), noise(1024, 1)))),
    );
}

#[test]
#[ignore = "a measurement"]
fn a_keyframe_of_ten_megabytes_and_a_hundred_patches() {
    let disk = OnDisk::default();
    let mut store = disk.store();
    let lease = drive(&mut *store);
    // Text that compresses about as well as a real state does.
    let words: Vec<String> = (0..1_400_000_u32).map(|n| format!("{:x},", n.wrapping_mul(2_654_435_761) >> 8)).collect();
    let document = words.concat().into_bytes();
    let first = with_checkpoint(entry(b"event"), "CP-0", 1, &document);
    say(
        &format!("append a document of {} bytes", document.len()),
        &times(1, |_| {
            store.append(&lease, Seq(0), first.clone()).expect("an append");
        }),
    );
    for seq in 1..=100_u64 {
        let patch = noise(1024, seq.to_le_bytes()[0]);
        store
            .append(&lease, Seq(seq), with_patch(entry(b"event"), &format!("CP-{seq}"), seq + 1, &patch))
            .expect("an append");
    }
    for id in ["CP-0", "CP-100"] {
        say(
            &format!("read {id}"),
            &times(20, |_| {
                assert!(store.checkpoint(&CheckpointId::new(id)).expect("a look").is_some());
            }),
        );
    }
    say(&format!("the file has {} bytes", store.health().blob_file_bytes), &[Duration::ZERO]);
    say(
        "put a keyframe of that size",
        &times(1, |_| {
            let kept = store.put_keyframe(&CheckpointId::new("CP-100"), [&document[..], b"end"].concat());
            assert_eq!(kept.expect("a keyframe"), onward_store::KeyframeKept::New);
        }),
    );
    let state = noise(100_000, 9);
    say(
        "put a fold of 100 KB",
        &times(50, |_| assert_eq!(store.put_fold(&run(), Seq(100), 0, state.clone()).ok(), Some(KeyframeKept::New))),
    );
    say("read a fold of 100 KB", &times(50, |_| assert!(store.fold(&run()).expect("a look").is_some())));
}

#[test]
#[ignore = "a measurement"]
fn appends_stay_level() {
    let disk = OnDisk::default();
    let body = vec![b'x'; 1024];
    let mut store = disk.store();
    let lease = drive(&mut *store);
    for (round, count) in [(0, 1_000), (1_000, 18_000), (19_000, 1_000)] {
        let ours = times(count, |n| {
            store.append(&lease, Seq(round + n), entry(&body)).expect("an append");
        });
        say(&format!("appends {round} to {}", round + count), &ours);
    }
    let mut many = entry(&body);
    many.events = std::iter::repeat_n(many.events[0].clone(), 16).collect();
    let ours = times(1_000, |n| {
        store.append(&lease, Seq(20_000 + n * 16), many.clone()).expect("an append");
    });
    say("append of 16 records of 1 KB", &ours);
    let health = store.health();
    say(&format!("database {} bytes, log {} bytes", health.database_bytes, health.wal_bytes), &[Duration::ZERO]);
}

#[test]
#[ignore = "a measurement"]
fn a_bare_commit_of_one_kilobyte() {
    let disk = OnDisk::default();
    let connection = rusqlite::Connection::open(disk.root().join("bare.db")).expect("a database");
    connection.execute_batch("PRAGMA journal_mode=wal; PRAGMA synchronous=2; PRAGMA wal_autocheckpoint=0; CREATE TABLE t (k INTEGER PRIMARY KEY, v BLOB)").expect("a table");
    let body = vec![b'x'; 1024];
    let bare = times(3000, |_| {
        let mut statement = connection.prepare_cached("INSERT INTO t (v) VALUES (?1)").expect("a statement");
        statement.execute([&body]).expect("a commit");
    });
    say("bare SQLite commit of 1 KB", &bare);
}

#[test]
#[ignore = "a measurement"]
fn opening_and_listing() {
    let disk = OnDisk::default();
    let mut store = disk.store();
    let lease = drive(&mut *store);
    for seq in 0..20 {
        store.append(&lease, Seq(seq), entry(&[b'x'; 300])).expect("an append");
    }
    drop((lease, store));
    for (name, mode) in [("look", OpenMode::Look), ("read-write", OpenMode::ReadWrite)] {
        let opened = times(200, |_| {
            let mut store = onward_store::open(&disk.folder(), mode).expect("a store");
            assert_eq!(store.runs(&RunFilter::default(), Page::first(20)).expect("a list").len(), 1);
        });
        say(&format!("open for {name}, list, close"), &opened);
    }
}

#[test]
#[ignore = "a measurement"]
fn a_history_of_a_hundred_thousand_checkpoints() {
    let disk = OnDisk::default();
    let mut store = disk.store();
    let lease = drive(&mut *store);
    let start = Instant::now();
    for batch in 0..1000_u64 {
        let mut many = entry(b"event");
        for n in 0..100 {
            many = with_checkpoint(
                many,
                &format!("CP-{:08x}", (batch * 100 + n) * 2_654_435_761 % (1 << 32)),
                batch + 1,
                &[b'd'; 600],
            );
        }
        store.append(&lease, Seq(batch), many).expect("an append");
    }
    say("100 checkpoints in one append, mean", &[start.elapsed() / 1000]);
    say(
        "latest 20 of all",
        &times(500, |_| {
            assert_eq!(store.checkpoints(CheckpointFilter::All, Page::first(20)).expect("a list").len(), 20);
        }),
    );
    say(
        "latest 20 of one run",
        &times(500, |_| {
            assert_eq!(store.checkpoints(CheckpointFilter::OfRun(&run()), Page::first(20)).expect("a list").len(), 20);
        }),
    );
    say(
        "one by id",
        &times(500, |n| {
            let id = CheckpointId::new(format!("CP-{:08x}", (n * 97) * 2_654_435_761 % (1 << 32)));
            assert!(store.checkpoint(&id).expect("a look").is_some());
        }),
    );
    say(
        "by prefix",
        &times(500, |_| {
            assert!(
                !store.checkpoints(CheckpointFilter::IdPrefix("CP-00ff"), Page::first(20)).expect("a look").is_empty()
            );
        }),
    );
}
