//! Clauses about checkpoints that are patches, and the keyframes they are read from.

use onward_core::id::{CheckpointId, RunId, Seq};

use super::{
    Fixture,
    kit::{
        SIZES, append, bodies, checkpoint, checkpoints, clauses, driven, entry, holder, new_run, noise, patch, put,
        read,
    },
};
use crate::{Chain, CheckpointFilter, KeyframeKept, LeaseKind, NewCheckpoint, Page, Store, StoreError, StoreExt};

clauses![
    a_patch_is_read_behind_its_keyframe,
    the_first_content_of_a_run_must_be_whole,
    patches_in_one_entry_follow_each_other,
    a_whole_content_starts_anew,
    patches_of_two_runs_do_not_mix,
    contents_of_every_size_come_back,
    a_list_tells_the_length_of_the_content_itself,
    reading_starts_at_the_nearest_keyframe,
    a_keyframe_is_put_once,
    a_keyframe_for_nothing_is_gone,
    a_keyframe_disturbs_no_driver,
    an_append_tells_what_a_reader_goes_through,
    the_chain_starts_over_at_a_new_keyframe,
    later_patches_survive_what_they_build_on,
    the_next_patch_survives_what_it_builds_on,
    a_content_goes_with_the_last_that_needs_it,
    a_new_document_frees_what_waited_for_the_next_patch,
];

/// Appends one entry with these checkpoints to a journal of `expected` records.
fn store(store: &mut dyn Store, lease: &crate::Lease, expected: u64, new: Vec<NewCheckpoint>) -> Chain {
    let mut one = entry(&[b"event"]);
    one.checkpoints = new;
    store.append(lease, Seq(expected), one).expect("an append").chain
}

/// A run with a document and three patches, one entry each: `w`, `p1`, `p2`, `p3`.
fn chained(fixture: &dyn Fixture) -> (Box<dyn Store>, RunId, crate::Lease) {
    let (mut of, run, lease) = driven(fixture);
    store(of.as_mut(), &lease, 0, vec![checkpoint("w", 1, b"whole")]);
    for (seq, id) in [(1, "p1"), (2, "p2"), (3, "p3")] {
        store(of.as_mut(), &lease, seq, vec![patch(id, seq + 1, id.as_bytes())]);
    }
    (of, run, lease)
}

fn a_patch_is_read_behind_its_keyframe(fixture: &dyn Fixture) {
    let (_, _, _lease) = chained(fixture);
    let mut other = fixture.open();
    assert_eq!(read(other.as_mut(), "w"), ["whole"]);
    assert_eq!(read(other.as_mut(), "p1"), ["whole", "p1"]);
    assert_eq!(read(other.as_mut(), "p3"), ["whole", "p1", "p2", "p3"]);
}

fn the_first_content_of_a_run_must_be_whole(fixture: &dyn Fixture) {
    let (mut store, run, lease) = driven(fixture);
    let mut first = entry(&[b"one"]);
    first.checkpoints = vec![patch("p", 1, b"patch"), checkpoint("w", 1, b"whole")];
    let refused = append(store.as_mut(), &lease, 0, first.clone());
    assert!(matches!(refused, Err(StoreError::BadEntry { .. })), "{refused:?}");
    assert!(bodies(store.as_mut(), &run).is_empty(), "a refused entry left a record");
    first.checkpoints.reverse();
    append(store.as_mut(), &lease, 0, first).expect("the same in the other order");
    assert_eq!(read(store.as_mut(), "p"), ["whole", "patch"]);
}

fn patches_in_one_entry_follow_each_other(fixture: &dyn Fixture) {
    let (mut of, _, lease) = driven(fixture);
    let first = vec![checkpoint("w", 1, b"whole"), patch("p1", 1, b"1"), patch("p2", 1, b"2")];
    assert_eq!(store(of.as_mut(), &lease, 0, first), Chain { patches: 2, patch_bytes: 2, keyframe_bytes: 5 });
    store(of.as_mut(), &lease, 1, vec![patch("p3", 2, b"3"), patch("p4", 2, b"4")]);
    assert_eq!(read(of.as_mut(), "p1"), ["whole", "1"]);
    assert_eq!(read(of.as_mut(), "p4"), ["whole", "1", "2", "3", "4"]);
}

fn a_whole_content_starts_anew(fixture: &dyn Fixture) {
    let (mut of, _, lease) = chained(fixture);
    let chain = store(of.as_mut(), &lease, 4, vec![checkpoint("again", 5, b"another")]);
    assert_eq!(chain, Chain { patches: 0, patch_bytes: 0, keyframe_bytes: 7 });
    store(of.as_mut(), &lease, 5, vec![patch("p4", 6, b"p4")]);
    assert_eq!(read(of.as_mut(), "p4"), ["another", "p4"]);
    assert_eq!(read(of.as_mut(), "p3"), ["whole", "p1", "p2", "p3"]);
}

fn patches_of_two_runs_do_not_mix(fixture: &dyn Fixture) {
    let (mut of, _, lease) = driven(fixture);
    of.create_run(new_run("b")).expect("a new run");
    let other = of.take_lease(&RunId::new("b"), LeaseKind::Driving, holder(2)).expect("a free run");
    store(of.as_mut(), &lease, 0, vec![checkpoint("a-w", 1, b"a")]);
    store(of.as_mut(), &other, 0, vec![checkpoint("b-w", 1, b"b")]);
    store(of.as_mut(), &lease, 1, vec![patch("a-p", 2, b"of a")]);
    let chain = store(of.as_mut(), &other, 1, vec![patch("b-p", 2, b"of b")]);
    assert_eq!(chain, Chain { patches: 1, patch_bytes: 4, keyframe_bytes: 1 });
    assert_eq!(read(of.as_mut(), "a-p"), ["a", "of a"]);
    assert_eq!(read(of.as_mut(), "b-p"), ["b", "of b"]);
}

fn contents_of_every_size_come_back(fixture: &dyn Fixture) {
    let (mut of, _, lease) = driven(fixture);
    store(of.as_mut(), &lease, 0, vec![checkpoint("w", 1, b"whole")]);
    let mut before: Vec<Vec<u8>> = Vec::new();
    for (seq, size) in (1..).zip(SIZES) {
        let (id, bytes) = (format!("p-{size}"), noise(size, 1));
        store(of.as_mut(), &lease, seq, vec![patch(&id, seq + 1, &bytes)]);
        before.push(bytes);
        let mut other = fixture.open();
        let stored = other.checkpoint(&CheckpointId::new(id.clone())).expect("a look").expect("a patch");
        assert!(stored.patches == before, "the patches up to one of {size} bytes came back changed");
        let document = noise(size, 2);
        put(other.as_mut(), &id, &document);
        let stored = of.checkpoint(&CheckpointId::new(id)).expect("a look").expect("a keyframe");
        assert!(stored.keyframe == document, "a keyframe of {size} bytes came back changed");
        before.clear();
    }
}

fn a_list_tells_the_length_of_the_content_itself(fixture: &dyn Fixture) {
    let (mut store, run, _lease) = chained(fixture);
    put(store.as_mut(), "p2", b"a whole document");
    let rows = store.checkpoints(CheckpointFilter::OfRun(&run), Page::first(9)).expect("a list");
    let seen: Vec<(&str, u64)> = rows.iter().map(|row| (row.id.as_str(), row.bytes)).collect();
    assert_eq!(seen, [("p3", 2), ("p2", 2), ("p1", 2), ("w", 5)]);
}

fn reading_starts_at_the_nearest_keyframe(fixture: &dyn Fixture) {
    let (mut store, _, _lease) = chained(fixture);
    put(store.as_mut(), "p2", b"second");
    let mut other = fixture.open();
    assert_eq!(read(other.as_mut(), "p1"), ["whole", "p1"]);
    assert_eq!(read(other.as_mut(), "p2"), ["second"]);
    assert_eq!(read(other.as_mut(), "p3"), ["second", "p3"]);
    put(other.as_mut(), "p1", b"first");
    assert_eq!(read(store.as_mut(), "p1"), ["first"]);
    assert_eq!(read(store.as_mut(), "p3"), ["second", "p3"]);
}

fn a_keyframe_is_put_once(fixture: &dyn Fixture) {
    let (mut store, _, _lease) = chained(fixture);
    let (whole, patched) = (CheckpointId::new("w"), CheckpointId::new("p1"));
    assert_eq!(store.put_keyframe(&whole, b"other".to_vec()).ok(), Some(KeyframeKept::AlreadyThere));
    put(store.as_mut(), "p1", b"first");
    assert_eq!(fixture.open().put_keyframe(&patched, b"other".to_vec()).ok(), Some(KeyframeKept::AlreadyThere));
    assert_eq!(read(store.as_mut(), "w"), ["whole"]);
    assert_eq!(read(store.as_mut(), "p1"), ["first"]);
}

fn a_keyframe_for_nothing_is_gone(fixture: &dyn Fixture) {
    let (mut store, _, _lease) = chained(fixture);
    store.prune(&checkpoints(&["p3"])).expect("a prune");
    for id in ["nobody", "p3"] {
        let kept = store.put_keyframe(&CheckpointId::new(id), b"document".to_vec());
        assert!(matches!(kept, Ok(KeyframeKept::Gone)), "{id}: {kept:?}");
    }
}

fn a_keyframe_disturbs_no_driver(fixture: &dyn Fixture) {
    let (mut of, _, lease) = chained(fixture);
    let mut other = fixture.open();
    of.changed().expect("an answer");
    put(other.as_mut(), "p3", b"third");
    assert!(of.changed().expect("an answer"), "a keyframe by another handle is a change");
    let chain = store(of.as_mut(), &lease, 4, vec![patch("p4", 5, b"more")]);
    assert_eq!(chain, Chain { patches: 1, patch_bytes: 4, keyframe_bytes: 5 });
    assert_eq!(read(other.as_mut(), "p4"), ["third", "more"]);
}

fn an_append_tells_what_a_reader_goes_through(fixture: &dyn Fixture) {
    let (mut of, _, lease) = driven(fixture);
    assert_eq!(store(of.as_mut(), &lease, 0, Vec::new()), Chain::default());
    store(of.as_mut(), &lease, 1, vec![checkpoint("w", 2, b"whole")]);
    let chain = store(of.as_mut(), &lease, 2, vec![patch("p1", 3, b"one"), patch("p2", 3, b"three")]);
    assert_eq!(chain, Chain { patches: 2, patch_bytes: 8, keyframe_bytes: 5 });
    assert_eq!(store(of.as_mut(), &lease, 3, Vec::new()), chain, "it is told even if nothing was added");
}

fn the_chain_starts_over_at_a_new_keyframe(fixture: &dyn Fixture) {
    let (mut of, _, lease) = chained(fixture);
    put(of.as_mut(), "p2", b"not the newest");
    let chain = store(of.as_mut(), &lease, 4, Vec::new());
    // The newest is read from there, so the chain is shorter than it was, but not empty.
    assert_eq!(chain, Chain { patches: 1, patch_bytes: 2, keyframe_bytes: 14 });
    put(of.as_mut(), "p3", b"newest");
    let chain = store(of.as_mut(), &lease, 5, Vec::new());
    assert_eq!(chain, Chain { patches: 0, patch_bytes: 0, keyframe_bytes: 6 });
    put(of.as_mut(), "p1", b"old");
    assert_eq!(store(of.as_mut(), &lease, 6, Vec::new()), chain);
}

fn later_patches_survive_what_they_build_on(fixture: &dyn Fixture) {
    let (mut store, run, _lease) = chained(fixture);
    store.prune(&checkpoints(&["w", "p2"])).expect("a prune");
    let rows = store.checkpoints(CheckpointFilter::OfRun(&run), Page::first(9)).expect("a list");
    let ids: Vec<&str> = rows.iter().map(|row| row.id.as_str()).collect();
    assert_eq!(ids, ["p3", "p1"]);
    for gone in ["w", "p2"] {
        assert_eq!(store.checkpoint(&CheckpointId::new(gone)).expect("a look"), None);
        assert!(
            store.checkpoints(CheckpointFilter::IdPrefix(gone), Page::first(9)).expect("a look").is_empty(),
            "{gone} is found"
        );
    }
    assert_eq!(read(store.as_mut(), "p1"), ["whole", "p1"]);
    assert_eq!(read(store.as_mut(), "p3"), ["whole", "p1", "p2", "p3"]);
}

fn the_next_patch_survives_what_it_builds_on(fixture: &dyn Fixture) {
    let (mut of, _, lease) = chained(fixture);
    of.prune(&checkpoints(&["w", "p1", "p2", "p3"])).expect("a prune");
    let chain = store(of.as_mut(), &lease, 4, vec![patch("p4", 5, b"p4")]);
    assert_eq!(chain, Chain { patches: 4, patch_bytes: 8, keyframe_bytes: 5 });
    assert_eq!(read(fixture.open().as_mut(), "p4"), ["whole", "p1", "p2", "p3", "p4"]);
    let again = of.append(&lease, Seq(5), {
        let mut taken = entry(&[b"event"]);
        taken.checkpoints = vec![patch("p2", 6, b"p2")];
        taken
    });
    assert!(matches!(again, Err(StoreError::AlreadyThere { .. })), "a deleted id was given again: {again:?}");
}

fn a_content_goes_with_the_last_that_needs_it(fixture: &dyn Fixture) {
    const LARGE: usize = 60_000;
    let (mut of, _, lease) = driven(fixture);
    let first = vec![checkpoint("w", 1, &noise(LARGE, 1)), patch("p1", 1, &noise(LARGE, 2)), patch("p2", 1, b"small")];
    store(of.as_mut(), &lease, 0, first);
    store(of.as_mut(), &lease, 1, vec![checkpoint("next", 2, b"next")]);
    let freed = |of: &mut dyn Store, id| of.prune(&checkpoints(&[id])).expect("a prune").bytes_freed;
    assert!(freed(of.as_mut(), "w") < 1_000, "two patches need the document");
    assert!(freed(of.as_mut(), "p1") < 1_000, "one patch needs the other");
    assert!(freed(of.as_mut(), "p2") > 2 * LARGE as u64, "nothing needs any of them now");
    assert_eq!(read(of.as_mut(), "next"), ["next"]);
}

fn a_new_document_frees_what_waited_for_the_next_patch(fixture: &dyn Fixture) {
    let (mut of, run, lease) = chained(fixture);
    of.prune(&checkpoints(&["w", "p1", "p2", "p3"])).expect("a prune");
    store(of.as_mut(), &lease, 4, vec![checkpoint("again", 5, b"another"), patch("p4", 5, b"p4")]);
    assert_eq!(read(of.as_mut(), "p4"), ["another", "p4"]);
    put(of.as_mut(), "p4", b"fourth");
    of.prune(&checkpoints(&["again", "p4"])).expect("a prune");
    store(of.as_mut(), &lease, 5, vec![patch("p5", 6, b"p5")]);
    assert_eq!(read(of.as_mut(), "p5"), ["fourth", "p5"]);
    assert_eq!(of.checkpoints(CheckpointFilter::OfRun(&run), Page::first(9)).expect("a list").len(), 1);
}
