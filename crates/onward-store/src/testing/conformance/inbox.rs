//! Clauses about posting and being answered.

use onward_core::id::RunId;

use super::{
    Fixture,
    kit::{SIZES, append, at, bodies, clauses, driven, entry, new_run, noise},
};
use crate::{Consumed, Entry, InboxItem, PostedAs, PruneList, Store, StoreError, TakenBack};

clauses![
    items_wait_in_order,
    posting_twice_changes_nothing,
    an_answer_is_stored_with_the_append,
    an_item_is_consumed_once,
    an_item_that_was_taken_back_is_consumed_by_nobody,
    items_belong_to_their_run,
    items_and_answers_of_every_size,
    posting_needs_no_lease,
    old_answers_are_pruned_and_waiting_items_are_not,
];

fn post(store: &mut dyn Store, run: &RunId, id: &str, body: &[u8]) -> PostedAs {
    store.post(run, id, at(1), body.to_vec()).expect("a post")
}

fn waiting(store: &mut dyn Store, run: &RunId) -> Vec<String> {
    store.inbox(run, usize::MAX).expect("an inbox").into_iter().map(|item| item.id).collect()
}

fn answer(id: &str, reply: &[u8]) -> Entry {
    let consumed = vec![Consumed { id: id.to_owned(), reply: reply.to_vec() }];
    Entry { consumed, ..entry(&[b"answered"]) }
}

fn items_wait_in_order(fixture: &dyn Fixture) {
    let (mut store, run, _lease) = driven(fixture);
    for id in ["z", "a", "m"] {
        assert_eq!(post(store.as_mut(), &run, id, id.as_bytes()), PostedAs::New);
    }
    assert_eq!(waiting(store.as_mut(), &run), ["z", "a", "m"]);
    let first = store.inbox(&run, 1).expect("an inbox");
    assert_eq!(first, [InboxItem { id: "z".to_owned(), body: b"z".to_vec() }]);
}

fn posting_twice_changes_nothing(fixture: &dyn Fixture) {
    let (mut store, run, lease) = driven(fixture);
    assert_eq!(post(store.as_mut(), &run, "x", b"first"), PostedAs::New);
    assert_eq!(post(fixture.open().as_mut(), &run, "x", b"second"), PostedAs::AlreadyThere);
    assert_eq!(store.inbox(&run, 9).expect("an inbox")[0].body, b"first");
    append(store.as_mut(), &lease, 0, answer("x", b"done")).expect("an append");
    assert_eq!(post(store.as_mut(), &run, "x", b"third"), PostedAs::AlreadyThere);
    assert!(waiting(store.as_mut(), &run).is_empty(), "an answered item waits no more");
}

fn an_answer_is_stored_with_the_append(fixture: &dyn Fixture) {
    let (mut store, run, lease) = driven(fixture);
    let mut poster = fixture.open();
    post(poster.as_mut(), &run, "x", b"question");
    assert_eq!(poster.reply(&run, "x").expect("a look"), None);
    assert_eq!(poster.reply(&run, "never posted").expect("a look"), None);
    append(store.as_mut(), &lease, 0, answer("x", b"accepted")).expect("an append");
    assert_eq!(poster.reply(&run, "x").expect("a look"), Some(b"accepted".to_vec()));
}

fn an_item_is_consumed_once(fixture: &dyn Fixture) {
    let (mut store, run, lease) = driven(fixture);
    post(store.as_mut(), &run, "x", b"question");
    append(store.as_mut(), &lease, 0, answer("x", b"first")).expect("an append");
    let refused = append(store.as_mut(), &lease, 1, answer("x", b"second"));
    assert!(matches!(refused, Err(StoreError::NotWaiting { .. })), "{refused:?}");
    assert_eq!(store.reply(&run, "x").expect("a look"), Some(b"first".to_vec()));
    assert_eq!(bodies(store.as_mut(), &run).len(), 1);
}

fn an_item_that_was_taken_back_is_consumed_by_nobody(fixture: &dyn Fixture) {
    let (mut store, run, lease) = driven(fixture);
    let mut poster = fixture.open();
    post(poster.as_mut(), &run, "x", b"question");
    post(poster.as_mut(), &run, "y", b"another");
    assert_eq!(store.inbox(&run, 9).expect("an inbox").len(), 2, "the driver has seen both");
    assert_eq!(poster.take_back(&run, "x", b"never mind".to_vec()).expect("a write"), TakenBack::Yes);
    assert_eq!(waiting(store.as_mut(), &run), ["y"]);
    let refused = append(store.as_mut(), &lease, 0, answer("x", b"done"));
    assert!(matches!(&refused, Err(StoreError::NotWaiting { id, .. }) if id == "x"), "{refused:?}");
    assert!(bodies(store.as_mut(), &run).is_empty(), "a refused append leaves no trace");
    assert_eq!(poster.reply(&run, "x").expect("a look"), Some(b"never mind".to_vec()));
    append(store.as_mut(), &lease, 0, answer("y", b"done")).expect("an append");
    assert_eq!(poster.take_back(&run, "y", b"too late".to_vec()).expect("a look"), TakenBack::Answered);
    assert_eq!(poster.reply(&run, "y").expect("a look"), Some(b"done".to_vec()));
    assert_eq!(post(poster.as_mut(), &run, "x", b"question"), PostedAs::AlreadyThere);
}

fn items_belong_to_their_run(fixture: &dyn Fixture) {
    let (mut store, run, _lease) = driven(fixture);
    store.create_run(new_run("b")).expect("a new run");
    let other = RunId::new("b");
    assert_eq!(post(store.as_mut(), &run, "x", b"one"), PostedAs::New);
    assert_eq!(post(store.as_mut(), &other, "x", b"two"), PostedAs::New);
    assert_eq!(store.inbox(&other, 9).expect("an inbox")[0].body, b"two");
}

fn items_and_answers_of_every_size(fixture: &dyn Fixture) {
    let (mut store, run, lease) = driven(fixture);
    for (index, size) in SIZES.into_iter().enumerate() {
        let id = format!("item-{size}");
        post(store.as_mut(), &run, &id, &noise(size, 3));
        assert!(store.inbox(&run, 1).expect("an inbox")[0].body == noise(size, 3), "{size} bytes came back changed");
        append(store.as_mut(), &lease, index as u64, answer(&id, &noise(size, 4))).expect("an append");
        assert!(store.reply(&run, &id).expect("a look") == Some(noise(size, 4)), "{size} bytes came back changed");
    }
}

fn posting_needs_no_lease(fixture: &dyn Fixture) {
    let (mut store, run, lease) = driven(fixture);
    let mut poster = fixture.open();
    assert_eq!(post(poster.as_mut(), &run, "while driven", b"x"), PostedAs::New);
    drop(lease);
    assert_eq!(post(poster.as_mut(), &run, "while free", b"x"), PostedAs::New);
    assert_eq!(waiting(store.as_mut(), &run), ["while driven", "while free"]);
}

fn old_answers_are_pruned_and_waiting_items_are_not(fixture: &dyn Fixture) {
    let (mut store, run, lease) = driven(fixture);
    for (id, second) in [("old", 1), ("waits", 1), ("young", 9)] {
        store.post(&run, id, at(second), noise(50_000, 1)).expect("a post");
    }
    append(store.as_mut(), &lease, 0, answer("old", &noise(50_000, 2))).expect("an append");
    append(store.as_mut(), &lease, 1, answer("young", &noise(50_000, 3))).expect("an append");
    let list = PruneList { answered_before: Some(at(9)), ..PruneList::default() };
    store.prune(&list).expect("a prune");
    assert_eq!(store.reply(&run, "old").expect("a look"), None, "its reply is gone");
    assert_eq!(store.reply(&run, "young").expect("a look"), Some(noise(50_000, 3)));
    assert_eq!(waiting(store.as_mut(), &run), ["waits"]);
    assert_eq!(post(store.as_mut(), &run, "old", b"anew"), PostedAs::New);
}
