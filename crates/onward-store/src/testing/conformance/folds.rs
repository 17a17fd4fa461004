//! Clauses about what a caller keeps of a journal for itself.

use onward_core::id::{RunId, Seq};

use super::{
    Fixture,
    kit::{SIZES, append, clauses, driven, entry, new_run, noise},
};
use crate::{PruneList, Store, StoreError, StoreExt};

clauses![
    a_fold_is_read_back,
    a_fold_names_the_record_it_stands_at,
    a_fold_never_goes_back,
    a_fold_at_the_same_place_is_replaced,
    a_fold_must_stand_at_a_record,
    a_dropped_fold_is_none,
    a_fold_goes_with_its_run,
    a_missing_run_has_no_fold,
];

fn kept(store: &mut dyn Store, run: &RunId) -> Option<(u64, u32, Vec<u8>)> {
    store.fold(run).expect("a look").map(|fold| (fold.seq.0, fold.version, fold.bytes))
}

fn a_fold_is_read_back(fixture: &dyn Fixture) {
    let (mut store, run, lease) = driven(fixture);
    assert_eq!(kept(store.as_mut(), &run), None);
    for (seq, size) in (1..).zip(SIZES) {
        append(store.as_mut(), &lease, seq - 1, entry(&[b"event"])).expect("an append");
        let bytes = noise(size, 1);
        store.put_fold(&run, Seq(seq), 3, bytes.clone()).expect("a fold");
        assert!(
            kept(fixture.open().as_mut(), &run) == Some((seq, 3, bytes)),
            "a fold of {size} bytes came back changed"
        );
    }
}

fn a_fold_names_the_record_it_stands_at(fixture: &dyn Fixture) {
    let (mut store, run, lease) = driven(fixture);
    append(store.as_mut(), &lease, 0, entry(&[b"one", b"two", b"three"])).expect("an append");
    store.put_fold(&run, Seq(2), 0, b"fold".to_vec()).expect("a fold");
    let fold = store.fold(&run).expect("a look").expect("a fold");
    let records = store.events(&run, Seq(0), 9).expect("a journal");
    assert_eq!((fold.seq, fold.hash), (records[1].seq, records[1].hash));
    let behind = store.events(&run, fold.seq, 9).expect("the rest of the journal");
    assert_eq!(behind, records[2..]);
}

fn a_fold_never_goes_back(fixture: &dyn Fixture) {
    let (mut store, run, lease) = driven(fixture);
    append(store.as_mut(), &lease, 0, entry(&[b"one", b"two", b"three"])).expect("an append");
    store.put_fold(&run, Seq(2), 7, b"newer".to_vec()).expect("a fold");
    fixture.open().put_fold(&run, Seq(1), 8, b"older".to_vec()).expect("no error");
    assert_eq!(kept(store.as_mut(), &run), Some((2, 7, b"newer".to_vec())));
    store.put_fold(&run, Seq(3), 7, b"newest".to_vec()).expect("a fold");
    assert_eq!(kept(store.as_mut(), &run), Some((3, 7, b"newest".to_vec())));
}

fn a_fold_at_the_same_place_is_replaced(fixture: &dyn Fixture) {
    let (mut store, run, lease) = driven(fixture);
    append(store.as_mut(), &lease, 0, entry(&[b"one"])).expect("an append");
    store.put_fold(&run, Seq(1), 1, b"by the old program".to_vec()).expect("a fold");
    store.put_fold(&run, Seq(1), 2, b"by the new one".to_vec()).expect("a fold");
    assert_eq!(kept(store.as_mut(), &run), Some((1, 2, b"by the new one".to_vec())));
}

fn a_fold_must_stand_at_a_record(fixture: &dyn Fixture) {
    let (mut store, run, lease) = driven(fixture);
    append(store.as_mut(), &lease, 0, entry(&[b"one"])).expect("an append");
    for seq in [0, 2, 99] {
        let refused = store.put_fold(&run, Seq(seq), 0, b"fold".to_vec());
        assert!(matches!(refused, Err(StoreError::BadEntry { .. })), "{seq} gave {refused:?}");
    }
    assert_eq!(kept(store.as_mut(), &run), None);
}

fn a_dropped_fold_is_none(fixture: &dyn Fixture) {
    let (mut store, run, lease) = driven(fixture);
    append(store.as_mut(), &lease, 0, entry(&[b"one", b"two"])).expect("an append");
    store.put_fold(&run, Seq(2), 0, noise(20_000, 1)).expect("a fold");
    store.drop_fold(&run).expect("a fold to drop");
    assert_eq!(kept(store.as_mut(), &run), None);
    store.drop_fold(&run).expect("the same again");
    store.put_fold(&run, Seq(1), 0, b"older".to_vec()).expect("a fold");
    assert_eq!(kept(store.as_mut(), &run), Some((1, 0, b"older".to_vec())));
}

fn a_fold_goes_with_its_run(fixture: &dyn Fixture) {
    let (mut store, run, lease) = driven(fixture);
    append(store.as_mut(), &lease, 0, entry(&[b"one"])).expect("an append");
    store.put_fold(&run, Seq(1), 0, noise(20_000, 1)).expect("a fold");
    drop(lease);
    let list = PruneList { runs: vec![run.clone()], ..PruneList::default() };
    assert!(store.prune(&list).expect("a prune").bytes_freed > 20_000, "the fold was not counted");
    store.create_run(new_run("b")).expect("a new run");
    assert_eq!(kept(store.as_mut(), &RunId::new("b")), None);
}

fn a_missing_run_has_no_fold(fixture: &dyn Fixture) {
    let mut store = fixture.open();
    let nobody = RunId::new("nobody");
    assert!(matches!(store.fold(&nobody), Err(StoreError::NoRun { .. })));
    assert!(matches!(store.drop_fold(&nobody), Err(StoreError::NoRun { .. })));
    assert!(matches!(store.put_fold(&nobody, Seq(1), 0, Vec::new()), Err(StoreError::NoRun { .. })));
}
