//! Clauses about deleting.

use onward_core::id::{CheckpointId, RunId, Seq};

use super::{
    Fixture,
    kit::{append, bodies, checkpoint, checkpoints, clauses, driven, entry, holder, new_run, noise},
};
use crate::{CheckpointFilter, LeaseKind, Page, PruneList, RunFilter, Store, StoreError};

clauses![
    a_pruned_checkpoint_is_gone_for_good,
    a_pruned_run_is_gone_for_good,
    a_held_run_refuses_the_whole_list,
    pruning_what_is_not_there_is_no_error,
    a_shared_value_outlives_one_of_its_users,
    numbers_are_not_given_again,
];

fn runs(ids: &[&str]) -> PruneList {
    PruneList { runs: ids.iter().map(|id| RunId::new(*id)).collect(), ..PruneList::default() }
}

fn is_there(store: &mut dyn Store, id: &str) -> bool {
    store.checkpoint(&CheckpointId::new(id)).expect("a look").is_some()
}

fn a_pruned_checkpoint_is_gone_for_good(fixture: &dyn Fixture) {
    let (mut store, run, lease) = driven(fixture);
    let mut two = entry(&[b"one"]);
    two.checkpoints = vec![checkpoint("gone", 1, &noise(50_000, 1)), checkpoint("kept", 1, b"small")];
    append(store.as_mut(), &lease, 0, two).expect("an append");
    let pruned = store.prune(&checkpoints(&["gone"])).expect("a prune");
    assert!(pruned.bytes_freed >= 50_000, "{pruned:?}");
    assert!(!is_there(store.as_mut(), "gone"), "it was deleted");
    assert!(is_there(store.as_mut(), "kept"), "it was not named");
    assert_eq!(store.checkpoints(CheckpointFilter::OfRun(&run), Page::first(9)).expect("a list").len(), 1);
    let mut again = entry(&[b"two"]);
    again.checkpoints = vec![checkpoint("gone", 2, b"new")];
    let refused = append(store.as_mut(), &lease, 1, again);
    assert!(matches!(refused, Err(StoreError::AlreadyThere { .. })), "{refused:?}");
    assert_eq!(bodies(store.as_mut(), &run), [b"one"]);
}

fn a_pruned_run_is_gone_for_good(fixture: &dyn Fixture) {
    let (mut store, run, lease) = driven(fixture);
    let mut one = entry(&[b"one"]);
    one.checkpoints = vec![checkpoint("cp", 1, b"document")];
    append(store.as_mut(), &lease, 0, one).expect("an append");
    drop(lease);
    store.prune(&runs(&["a"])).expect("a prune");
    assert!(matches!(store.events(&run, Seq(0), 1), Err(StoreError::NoRun { .. })));
    assert!(!is_there(store.as_mut(), "cp"), "a run takes its checkpoints with it");
    assert_eq!(store.runs(&RunFilter::default(), Page::first(9)).expect("a list"), []);
    let refused = store.create_run(new_run("a"));
    assert!(matches!(refused, Err(StoreError::AlreadyThere { .. })), "{refused:?}");
    let refused = store.take_lease(&run, LeaseKind::Brief, holder(1));
    assert!(matches!(refused, Err(StoreError::NoRun { .. })), "{refused:?}");
    store.create_run(new_run("b")).expect("a new run");
    let lease = store.take_lease(&RunId::new("b"), LeaseKind::Driving, holder(1)).expect("a free run");
    let mut again = entry(&[b"one"]);
    again.checkpoints = vec![checkpoint("cp", 1, b"document")];
    let refused = append(store.as_mut(), &lease, 0, again);
    assert!(matches!(refused, Err(StoreError::AlreadyThere { .. })), "{refused:?}");
}

fn a_held_run_refuses_the_whole_list(fixture: &dyn Fixture) {
    let (mut store, run, lease) = driven(fixture);
    store.create_run(new_run("b")).expect("a new run");
    let refused = fixture.open().prune(&runs(&["b", "a"]));
    assert!(matches!(refused, Err(StoreError::Held { kind: LeaseKind::Driving, .. })), "{refused:?}");
    let rows = store.runs(&RunFilter::default(), Page::first(9)).expect("a list");
    assert_eq!(rows.len(), 2, "a refused list deletes nothing");
    append(store.as_mut(), &lease, 0, entry(&[b"on"])).expect("the holder goes on");
    assert_eq!(bodies(store.as_mut(), &run), [b"on"]);
    let other = store.take_lease(&RunId::new("b"), LeaseKind::Driving, holder(2));
    other.expect("a refused prune keeps no lock");
}

fn pruning_what_is_not_there_is_no_error(fixture: &dyn Fixture) {
    let (mut store, _, lease) = driven(fixture);
    drop(lease);
    store.prune(&runs(&["a"])).expect("a prune");
    store.prune(&runs(&["a", "nobody"])).expect("the same again");
    store.prune(&checkpoints(&["nobody"])).expect("a checkpoint that never was");
    store.prune(&PruneList::default()).expect("nothing to do");
}

fn a_shared_value_outlives_one_of_its_users(fixture: &dyn Fixture) {
    let (mut store, _, lease) = driven(fixture);
    for (index, size) in [50_000, 2 * 1024 * 1024].into_iter().enumerate() {
        let document = noise(size, 9);
        let (first, second) = (format!("first-{size}"), format!("second-{size}"));
        let mut two = entry(&[b"one"]);
        let seq = index as u64;
        // The third one is what the next patch would build on, so that the others need not stay for it.
        let last = checkpoint(&format!("last-{size}"), seq + 1, b"small");
        two.checkpoints = vec![checkpoint(&first, seq + 1, &document), checkpoint(&second, seq + 1, &document), last];
        append(store.as_mut(), &lease, seq, two).expect("an append");
        store.prune(&checkpoints(&[first.as_str()])).expect("a prune");
        let stored = store.checkpoint(&CheckpointId::new(second.clone())).expect("a look").expect("the other one");
        assert!(stored.keyframe == document, "the shared document changed");
        let pruned = store.prune(&checkpoints(&[second.as_str()])).expect("a prune");
        assert!(pruned.bytes_freed >= size as u64, "{pruned:?}");
    }
}

fn numbers_are_not_given_again(fixture: &dyn Fixture) {
    let mut store = fixture.open();
    let newest = |store: &mut dyn Store| store.runs(&RunFilter::default(), Page::first(1)).expect("a list")[0].number;
    store.create_run(new_run("a")).expect("a new run");
    let first = newest(store.as_mut());
    store.prune(&runs(&["a"])).expect("a prune");
    store.create_run(new_run("b")).expect("a new run");
    assert!(newest(store.as_mut()) > first, "a page mark must never point at another run");
}
