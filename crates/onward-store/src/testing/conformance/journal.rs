//! Clauses about appending and reading back.

use jiff::Timestamp;
use onward_core::id::{CheckpointId, RunId, Seq};

use super::{
    Fixture,
    kit::{SIZES, append, at, bodies, checkpoint, clauses, driven, entry, event, new_run, noise},
};
use crate::{CheckpointFilter, Consumed, Entry, Page, RunFilter, StoreError};

clauses![
    what_is_appended_is_read_back,
    values_of_every_size_come_back,
    records_are_chained,
    the_same_records_have_the_same_hashes,
    times_are_kept_to_the_microsecond,
    reading_goes_on_where_it_stopped,
    a_wrong_position_saves_nothing,
    an_entry_is_all_or_nothing,
    an_empty_entry_is_refused,
    a_checkpoint_ahead_of_the_journal_is_refused,
    several_checkpoints_in_one_entry,
    an_entry_without_events_keeps_the_journal,
    an_append_changes_the_list,
    a_missing_run_has_no_journal,
    other_handles_see_an_append_at_once,
];

fn what_is_appended_is_read_back(fixture: &dyn Fixture) {
    let (mut store, run, lease) = driven(fixture);
    assert_eq!(append(store.as_mut(), &lease, 0, entry(&[b"one", b"two"])).ok(), Some(2));
    assert_eq!(append(store.as_mut(), &lease, 2, entry(&[b"three"])).ok(), Some(3));
    let records = store.events(&run, Seq(0), 100).expect("a journal");
    let seen: Vec<(u64, &str, &[u8])> =
        records.iter().map(|record| (record.seq.0, record.actor.as_str(), record.body.as_slice())).collect();
    assert_eq!(seen, [(1, "driver", &b"one"[..]), (2, "driver", b"two"), (3, "driver", b"three")]);
}

fn values_of_every_size_come_back(fixture: &dyn Fixture) {
    let (mut store, run, lease) = driven(fixture);
    for (index, size) in SIZES.into_iter().enumerate() {
        let seq = index as u64;
        let body = noise(size.max(1), 1);
        let document = vec![b'x'; size];
        let mut entry = entry(&[&body]);
        entry.checkpoints = vec![checkpoint(&format!("cp-{size}"), seq + 1, &document)];
        entry.summary = noise(size, 2);
        append(store.as_mut(), &lease, seq, entry).expect("an append");
        let mut other = fixture.open();
        let records = other.events(&run, Seq(seq), 1).expect("the record");
        assert!(records[0].body == body, "a body of {size} bytes came back changed");
        let stored = other.checkpoint(&CheckpointId::new(format!("cp-{size}"))).expect("a checkpoint");
        let stored = stored.expect("the checkpoint just stored");
        assert!(stored.keyframe == document, "a document of {size} bytes came back changed");
        assert_eq!(stored.row.bytes, size as u64);
        let rows = other.runs(&RunFilter::default(), Page::first(1)).expect("a list");
        assert!(rows[0].summary == Ok(noise(size, 2)), "a summary of {size} bytes came back changed");
    }
}

fn records_are_chained(fixture: &dyn Fixture) {
    let (mut store, run, lease) = driven(fixture);
    let appended = store.append(&lease, Seq(0), entry(&[b"same", b"same"])).expect("an append");
    let records = store.events(&run, Seq(0), 10).expect("a journal");
    assert_ne!(records[0].hash, records[1].hash, "two records with the same body need two hashes");
    assert_eq!(appended.hash, records[1].hash);
}

fn the_same_records_have_the_same_hashes(fixture: &dyn Fixture) {
    let (mut store, run, lease) = driven(fixture);
    append(store.as_mut(), &lease, 0, entry(&[b"one"])).expect("an append");
    let records = store.events(&run, Seq(0), 10).expect("a journal");
    // The hash is part of the stored format: other backends and later versions must come to the same one.
    let hex = blake3::Hash::from_bytes(records[0].hash).to_hex();
    assert_eq!(hex.as_str(), "c938c3b85bed01014b1b9cc04d8d61654e4630adc32d9fc47ee20c7fce2c1f4c");
}

fn times_are_kept_to_the_microsecond(fixture: &dyn Fixture) {
    let (mut store, run, lease) = driven(fixture);
    let fine = Timestamp::from_nanosecond(1_700_000_000_123_456_789).expect("a time in our century");
    let coarse = Timestamp::from_nanosecond(1_700_000_000_123_456_000).expect("a time in our century");
    let mut entry = entry(&[b"one"]);
    entry.events[0].at = fine;
    append(store.as_mut(), &lease, 0, entry).expect("an append");
    assert_eq!(store.events(&run, Seq(0), 1).expect("a journal")[0].at, coarse);
}

fn reading_goes_on_where_it_stopped(fixture: &dyn Fixture) {
    let (mut store, run, lease) = driven(fixture);
    let all: Vec<Vec<u8>> = (0..10_u8).map(|n| vec![n]).collect();
    let slices: Vec<&[u8]> = all.iter().map(Vec::as_slice).collect();
    append(store.as_mut(), &lease, 0, entry(&slices)).expect("an append");
    let mut read = Vec::new();
    while let Some(last) = store.events(&run, Seq(read.len() as u64), 3).expect("a page").last() {
        let page = store.events(&run, Seq(read.len() as u64), 3).expect("the same page again");
        assert_eq!(page.last(), Some(last));
        read.extend(page.into_iter().map(|record| record.body));
    }
    assert_eq!(read, all);
    assert_eq!(store.events(&run, Seq(4), 0).expect("an empty page"), []);
    assert_eq!(store.events(&run, Seq(99), 5).expect("nothing behind the end"), []);
}

fn a_wrong_position_saves_nothing(fixture: &dyn Fixture) {
    let (mut store, run, lease) = driven(fixture);
    append(store.as_mut(), &lease, 0, entry(&[b"one"])).expect("an append");
    for wrong in [0, 2, 7] {
        let refused = append(store.as_mut(), &lease, wrong, entry(&[b"two"]));
        let found = matches!(refused, Err(StoreError::Conflict { expected, found }) if expected == Seq(wrong) && found == Seq(1));
        assert!(found, "position {wrong} gave {refused:?}");
    }
    assert_eq!(bodies(store.as_mut(), &run), [b"one"]);
}

fn an_entry_is_all_or_nothing(fixture: &dyn Fixture) {
    let (mut store, run, lease) = driven(fixture);
    let mut bad = entry(&[b"one"]);
    bad.checkpoints = vec![checkpoint("cp", 1, b"document")];
    bad.consumed = vec![Consumed { id: "never posted".to_owned(), reply: b"no".to_vec() }];
    let refused = append(store.as_mut(), &lease, 0, bad);
    assert!(matches!(refused, Err(StoreError::NotWaiting { .. })), "{refused:?}");
    assert!(bodies(store.as_mut(), &run).is_empty(), "a refused entry left a record");
    assert_eq!(store.checkpoint(&CheckpointId::new("cp")).expect("a look"), None);
    let rows = store.runs(&RunFilter::default(), Page::first(1)).expect("a list");
    assert_eq!((rows[0].status.as_str(), rows[0].head), ("pending", Seq(0)));
}

fn an_empty_entry_is_refused(fixture: &dyn Fixture) {
    let (mut store, _, lease) = driven(fixture);
    let refused = append(store.as_mut(), &lease, 0, Entry::default());
    assert!(matches!(refused, Err(StoreError::EmptyEntry)), "{refused:?}");
}

fn a_checkpoint_ahead_of_the_journal_is_refused(fixture: &dyn Fixture) {
    let (mut store, _, lease) = driven(fixture);
    let mut ahead = entry(&[b"one"]);
    ahead.checkpoints = vec![checkpoint("cp", 2, b"document")];
    let refused = append(store.as_mut(), &lease, 0, ahead);
    assert!(matches!(refused, Err(StoreError::BadEntry { .. })), "{refused:?}");
}

fn several_checkpoints_in_one_entry(fixture: &dyn Fixture) {
    let (mut store, run, lease) = driven(fixture);
    let mut two = entry(&[b"one", b"two"]);
    two.checkpoints = vec![checkpoint("cp-1", 1, b"first"), checkpoint("cp-2", 2, b"second")];
    append(store.as_mut(), &lease, 0, two).expect("an append");
    let rows = store.checkpoints(CheckpointFilter::OfRun(&run), Page::first(10)).expect("a list");
    let seen: Vec<(&str, u64)> = rows.iter().map(|row| (row.id.as_str(), row.seq.0)).collect();
    assert_eq!(seen, [("cp-2", 2), ("cp-1", 1)]);

    let mut again = entry(&[b"three"]);
    again.checkpoints = vec![checkpoint("cp-3", 3, b"third"), checkpoint("cp-3", 3, b"third")];
    let refused = append(store.as_mut(), &lease, 2, again);
    assert!(matches!(refused, Err(StoreError::AlreadyThere { .. })), "{refused:?}");
}

fn an_entry_without_events_keeps_the_journal(fixture: &dyn Fixture) {
    let (mut store, run, lease) = driven(fixture);
    append(store.as_mut(), &lease, 0, entry(&[b"one"])).expect("an append");
    let before = store.events(&run, Seq(0), 1).expect("a journal");
    let mut only = entry(&[]);
    only.checkpoints = vec![checkpoint("cp", 1, b"document")];
    let appended = store.append(&lease, Seq(1), only).expect("an append");
    assert_eq!((appended.head, appended.hash), (Seq(1), before[0].hash));
}

fn an_append_changes_the_list(fixture: &dyn Fixture) {
    let (mut store, _, lease) = driven(fixture);
    append(store.as_mut(), &lease, 0, entry(&[b"one", b"two"])).expect("an append");
    let rows = store.runs(&RunFilter::default(), Page::first(1)).expect("a list");
    assert_eq!((rows[0].status.as_str(), rows[0].head, &rows[0].summary), ("running", Seq(2), &Ok(b"going".to_vec())));
}

fn a_missing_run_has_no_journal(fixture: &dyn Fixture) {
    let mut store = fixture.open();
    let nobody = RunId::new("nobody");
    assert!(matches!(store.events(&nobody, Seq(0), 1), Err(StoreError::NoRun { .. })));
    assert!(matches!(
        store.checkpoints(CheckpointFilter::OfRun(&nobody), Page::first(1)),
        Err(StoreError::NoRun { .. })
    ));
    assert!(matches!(store.inbox(&nobody, 1), Err(StoreError::NoRun { .. })));
    assert!(matches!(store.reply(&nobody, "x"), Err(StoreError::NoRun { .. })));
    assert!(matches!(store.holder(&nobody), Err(StoreError::NoRun { .. })));
    assert!(matches!(store.post(&nobody, "x", at(0), Vec::new()), Err(StoreError::NoRun { .. })));
}

fn other_handles_see_an_append_at_once(fixture: &dyn Fixture) {
    let (mut store, run, lease) = driven(fixture);
    let mut other = fixture.open();
    assert!(!other.changed().expect("an answer"), "nothing happened since it was opened");
    let mut second = entry(&[]);
    second.events = vec![event(b"one")];
    append(store.as_mut(), &lease, 0, second).expect("an append");
    assert!(other.changed().expect("an answer"), "an append by another handle is a change");
    assert!(!other.changed().expect("an answer"), "it is told once");
    assert_eq!(bodies(other.as_mut(), &run), [b"one"]);
    store.create_run(new_run("b")).expect("a new run");
    assert!(other.changed().expect("an answer"), "a new run is a change");
}
