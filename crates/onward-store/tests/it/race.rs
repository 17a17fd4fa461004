//! Several processes that want the same run, or the same new store.

use std::{
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use onward_store::{Holder, LeaseKind, OpenMode, StoreError};

use crate::{
    child::{Role, ears, heard, kill, spawn},
    kit::{OnDisk, append_many, drive, holder, journal, run, take},
};

#[test]
fn a_run_driven_elsewhere_is_refused_until_its_driver_dies() {
    let disk = OnDisk::default();
    let mut store = disk.store();
    drop(drive(&mut *store));
    let mut child = spawn(&Role::Hold, &disk.folder());
    let epoch: u64 = heard(&mut ears(&mut child)).expect("a child that works").parse().expect("an epoch");
    let Err(StoreError::Held { kind, holder: who, .. }) = store.take_lease(&run(), LeaseKind::Driving, holder()) else {
        panic!("a driven run was given away")
    };
    assert_eq!((kind, who.host.as_str(), who.pid), (LeaseKind::Driving, "child", child.id()));
    // Looking needs no right to write, and changes nothing.
    let seen = disk.look().holder(&run()).expect("an answer");
    assert_eq!(seen, Some((LeaseKind::Driving, who)));
    kill(&mut child);
    assert_eq!(store.holder(&run()).expect("an answer"), None);
    let lease = take(&mut *store);
    assert!(lease.epoch() > epoch, "an epoch must rise");
}

/// A driver was killed while it started a child, and the child has its lock until it becomes another program. Whoever goes on
/// at once is not told that a dead process drives the run: it waits that moment, and has the run.
#[test]
fn a_lock_that_outlives_its_driver_for_a_moment() {
    let disk = OnDisk::default();
    drop(drive(&mut *disk.store()));
    let mut dead = std::process::Command::new("true").spawn().expect("a process");
    dead.wait().expect("its end");
    let killed = Holder { pid: dead.id(), ..holder() };
    let lease = disk.store().take_lease(&run(), LeaseKind::Driving, killed).expect("a free run");
    let (answer, answered) = mpsc::channel();
    let mut store = disk.store();
    let next = thread::spawn(move || {
        let taken = store.take_lease(&run(), LeaseKind::Driving, holder()).map(drop);
        answer.send(taken).expect("somebody who listens");
    });
    // On a busy machine that moment is long.
    let early = answered.recv_timeout(Duration::from_millis(500));
    assert!(early.is_err(), "the answer came while the lock was held: {early:?}");
    drop(lease);
    answered.recv().expect("an answer").expect("the run");
    next.join().expect("a thread that ends well");
}

/// A store is made and written to for the first time while others look: they see none, or a sound one.
#[test]
fn a_look_during_the_first_start_finds_no_damage() {
    for _ in 0..60 {
        let disk = OnDisk::default();
        let (folder, made) = (disk.folder(), AtomicBool::new(false));
        thread::scope(|scope| {
            scope.spawn(|| {
                drop(drive(&mut *disk.store()));
                made.store(true, Ordering::Relaxed);
            });
            for _ in 0..4 {
                scope.spawn(|| {
                    while !made.load(Ordering::Relaxed) {
                        match onward_store::open(&folder, OpenMode::Look) {
                            Ok(_) | Err(StoreError::NoStore { .. }) => {}
                            Err(wrong) => panic!("{wrong}"),
                        }
                    }
                });
            }
        });
    }
}

#[test]
fn many_processes_hand_a_run_on_and_on() {
    // Each of them takes the run for a moment and appends. Nobody is refused, nothing is lost.
    let disk = OnDisk::default();
    drop(drive(&mut *disk.store()));
    let workers: Vec<_> = (0..4)
        .map(|_| {
            let mut store = disk.store();
            thread::spawn(move || {
                for _ in 0..25 {
                    let lease = store.take_lease(&run(), LeaseKind::Brief, holder()).expect("a short wait");
                    let head = journal(&mut *store).len() as u64;
                    append_many(&mut *store, &lease, head, 1);
                }
            })
        })
        .collect();
    for worker in workers {
        worker.join().expect("a worker that ends well");
    }
    assert_eq!(journal(&mut *disk.store()).len(), 100);
}

#[test]
fn many_make_the_same_new_store() {
    for _ in 0..10 {
        let disk = OnDisk::in_memory();
        let folder = disk.folder();
        let makers: Vec<_> = (0..4)
            .map(|_| {
                let folder = folder.clone();
                thread::spawn(move || {
                    let store = onward_store::open(&folder, onward_store::OpenMode::ReadWrite);
                    store.expect("a store").health().store_id
                })
            })
            .collect();
        let ids: Vec<String> = makers.into_iter().map(|maker| maker.join().expect("a maker that ends well")).collect();
        assert!(ids.iter().all(|id| *id == ids[0] && !id.is_empty()), "{ids:?}");
        assert_eq!(disk.store().health().alarms, []);
    }
}
