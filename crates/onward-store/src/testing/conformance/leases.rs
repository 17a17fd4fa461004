//! Clauses about who may append.

use std::{thread, time::Duration};

use onward_core::id::{RunId, Seq};

use super::{
    Fixture,
    kit::{append, bodies, clauses, driven, entry, holder, new_run},
};
use crate::{LeaseKind, StoreError};

clauses![
    a_driven_run_is_refused_with_who,
    a_dropped_lease_is_free_at_once,
    each_lease_has_a_higher_epoch,
    a_lost_lease_cannot_append,
    a_brief_holder_is_waited_for,
    the_holder_is_known_while_it_holds,
    runs_are_held_apart,
    a_missing_run_cannot_be_taken,
    one_of_many_gets_the_run,
];

fn a_driven_run_is_refused_with_who(fixture: &dyn Fixture) {
    let (_store, run, _lease) = driven(fixture);
    let mut other = fixture.open();
    for kind in [LeaseKind::Driving, LeaseKind::Brief] {
        match other.take_lease(&run, kind, holder(2)) {
            Err(StoreError::Held { kind: LeaseKind::Driving, holder: found, .. }) => assert_eq!(found, holder(1)),
            other => panic!("a driven run gave {other:?}"),
        }
    }
}

fn a_dropped_lease_is_free_at_once(fixture: &dyn Fixture) {
    let (mut store, run, lease) = driven(fixture);
    drop(lease);
    assert_eq!(store.holder(&run).expect("an answer"), None);
    fixture.open().take_lease(&run, LeaseKind::Driving, holder(2)).expect("a free run");
}

fn each_lease_has_a_higher_epoch(fixture: &dyn Fixture) {
    let (mut store, run, first) = driven(fixture);
    let mut last = first.epoch();
    drop(first);
    for pid in 2..5 {
        let lease = store.take_lease(&run, LeaseKind::Brief, holder(pid)).expect("a free run");
        assert!(lease.epoch() > last, "an epoch must rise");
        last = lease.epoch();
    }
}

fn a_lost_lease_cannot_append(fixture: &dyn Fixture) {
    let (mut store, run, stale) = driven(fixture);
    append(store.as_mut(), &stale, 0, entry(&[b"mine"])).expect("an append");
    fixture.lose_lock(&run);
    let mut other = fixture.open();
    let fresh = other.take_lease(&run, LeaseKind::Driving, holder(2)).expect("a run whose lock was lost");
    let refused = append(store.as_mut(), &stale, 1, entry(&[b"late"]));
    assert!(matches!(refused, Err(StoreError::LeaseLost { .. })), "{refused:?}");
    append(other.as_mut(), &fresh, 1, entry(&[b"theirs"])).expect("an append");
    // The stale lease is refused for what it is, even where its position would be wrong, too.
    let refused = append(store.as_mut(), &stale, 1, entry(&[b"late"]));
    assert!(matches!(refused, Err(StoreError::LeaseLost { .. })), "{refused:?}");
    drop(stale);
    assert_eq!(other.holder(&run).expect("an answer"), Some((LeaseKind::Driving, holder(2))));
    assert_eq!(bodies(other.as_mut(), &run), [&b"mine"[..], b"theirs"]);
}

fn a_brief_holder_is_waited_for(fixture: &dyn Fixture) {
    let (mut store, run, lease) = driven(fixture);
    drop(lease);
    let brief = store.take_lease(&run, LeaseKind::Brief, holder(1)).expect("a free run");
    let mut other = fixture.open();
    let waiting = thread::spawn({
        let run = run.clone();
        move || other.take_lease(&run, LeaseKind::Driving, holder(2)).map(|lease| lease.epoch())
    });
    // The order of the two is left to chance on purpose: either way the second must get the run.
    thread::sleep(Duration::from_millis(20));
    let epoch = brief.epoch();
    drop(brief);
    let second = waiting.join().expect("a thread that ends").expect("a run that was free in time");
    assert!(second > epoch, "the second lease came after the first");
}

fn the_holder_is_known_while_it_holds(fixture: &dyn Fixture) {
    let (mut store, run, lease) = driven(fixture);
    let mut other = fixture.open();
    for handle in [&mut store, &mut other] {
        assert_eq!(handle.holder(&run).expect("an answer"), Some((LeaseKind::Driving, holder(1))));
    }
    append(store.as_mut(), &lease, 0, entry(&[b"still mine"])).expect("asking must not disturb the lock");
    drop(lease);
    let brief = other.take_lease(&run, LeaseKind::Brief, holder(7)).expect("a free run");
    assert_eq!(store.holder(&run).expect("an answer"), Some((LeaseKind::Brief, holder(7))));
    assert_eq!((brief.kind(), brief.run()), (LeaseKind::Brief, &run));
}

fn runs_are_held_apart(fixture: &dyn Fixture) {
    let (mut store, _, _lease) = driven(fixture);
    store.create_run(new_run("b")).expect("a new run");
    let other = store.take_lease(&RunId::new("b"), LeaseKind::Driving, holder(1)).expect("another run");
    append(store.as_mut(), &other, 0, entry(&[b"one"])).expect("an append");
}

fn a_missing_run_cannot_be_taken(fixture: &dyn Fixture) {
    let refused = fixture.open().take_lease(&RunId::new("nobody"), LeaseKind::Driving, holder(1));
    assert!(matches!(refused, Err(StoreError::NoRun { .. })), "{refused:?}");
}

fn one_of_many_gets_the_run(fixture: &dyn Fixture) {
    let (mut store, run, lease) = driven(fixture);
    drop(lease);
    let racers: Vec<_> = (0..8)
        .map(|pid| {
            let mut store = fixture.open();
            let run = run.clone();
            thread::spawn(move || {
                let lease = store.take_lease(&run, LeaseKind::Driving, holder(pid));
                lease.map(|lease| {
                    let appended = append(store.as_mut(), &lease, 0, entry(&[b"won"]));
                    (appended, lease)
                })
            })
        })
        .collect();
    // Every lease is kept until all have tried, so exactly one can have won.
    let outcomes: Vec<_> = racers.into_iter().map(|racer| racer.join().expect("a thread that ends")).collect();
    let won = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    assert_eq!(won, 1, "{outcomes:?}");
    let rest = outcomes.iter().filter(|outcome| matches!(outcome, Err(StoreError::Held { .. }))).count();
    assert_eq!(rest, 7, "{outcomes:?}");
    assert_eq!(store.events(&run, Seq(0), 9).expect("a journal").len(), 1);
}
