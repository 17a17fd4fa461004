//! Clauses about lists and look-ups.

use onward_core::id::{CheckpointId, RunId};

use super::{
    Fixture,
    kit::{append, checkpoint, clauses, driven, entry, holder, new_run},
};
use crate::{CheckpointFilter, LeaseKind, NewRun, Page, RunFilter, RunRow, Store, StoreError, StoredContent};

clauses![
    runs_are_listed_newest_first,
    runs_are_filtered,
    pages_follow_each_other,
    an_id_is_given_once,
    a_path_is_no_id,
    checkpoints_are_found_by_prefix,
    a_checkpoint_id_is_given_once,
    checkpoints_of_all_runs_newest_first,
    a_missing_checkpoint_is_none,
];

fn names(rows: &[RunRow]) -> Vec<&str> {
    rows.iter().map(|row| row.run.as_str()).collect()
}

fn three(store: &mut dyn Store) {
    for (run, work, status) in [("c", "x", "running"), ("ab", "y", "failed"), ("a", "x", "failed")] {
        let (work, status) = (work.to_owned(), status.to_owned());
        let new = NewRun { run: RunId::new(run), work, status, summary: run.as_bytes().to_vec() };
        store.create_run(new).expect("a new run");
    }
}

fn runs_are_listed_newest_first(fixture: &dyn Fixture) {
    let mut store = fixture.open();
    assert_eq!(store.runs(&RunFilter::default(), Page::first(9)).expect("an empty list"), []);
    three(store.as_mut());
    let rows = store.runs(&RunFilter::default(), Page::first(9)).expect("a list");
    assert_eq!(names(&rows), ["a", "ab", "c"]);
    assert_eq!(rows[2].summary, Ok(b"c".to_vec()));
}

fn runs_are_filtered(fixture: &dyn Fixture) {
    let mut store = fixture.open();
    three(store.as_mut());
    let some = |prefix: Option<&str>, work: Option<&str>, statuses: Option<&[&str]>| RunFilter {
        run_prefix: prefix.map(str::to_owned),
        work: work.map(str::to_owned),
        statuses: statuses.map(|all| all.iter().map(|one| (*one).to_owned()).collect()),
    };
    let cases: [(RunFilter, &[&str]); 8] = [
        (some(Some("a"), None, None), &["a", "ab"]),
        (some(Some("ab"), None, None), &["ab"]),
        (some(Some(""), None, None), &["a", "ab", "c"]),
        (some(None, Some("x"), None), &["a", "c"]),
        (some(None, None, Some(&["failed"])), &["a", "ab"]),
        (some(None, None, Some(&["failed", "running"])), &["a", "ab", "c"]),
        (some(None, None, Some(&[])), &[]),
        (some(Some("a"), Some("x"), Some(&["failed"])), &["a"]),
    ];
    for (filter, expected) in cases {
        let rows = store.runs(&filter, Page::first(9)).expect("a list");
        assert_eq!(names(&rows), expected, "{filter:?}");
    }
}

fn pages_follow_each_other(fixture: &dyn Fixture) {
    let mut store = fixture.open();
    three(store.as_mut());
    let first = store.runs(&RunFilter::default(), Page::first(2)).expect("a page");
    assert_eq!(names(&first), ["a", "ab"]);
    // A run that appears meanwhile must not push one into the next page that was seen already.
    store.create_run(new_run("later")).expect("a new run");
    let second = store.runs(&RunFilter::default(), Page::before(first[1].number, 2)).expect("a page");
    assert_eq!(names(&second), ["c"]);
}

fn an_id_is_given_once(fixture: &dyn Fixture) {
    let mut store = fixture.open();
    store.create_run(new_run("a")).expect("a new run");
    let refused = fixture.open().create_run(new_run("a"));
    assert!(matches!(refused, Err(StoreError::AlreadyThere { .. })), "{refused:?}");
}

fn a_path_is_no_id(fixture: &dyn Fixture) {
    let mut store = fixture.open();
    for bad in ["", "../x", "a/b", ".a"] {
        let refused = store.create_run(new_run(bad));
        assert!(matches!(refused, Err(StoreError::BadName { .. })), "{bad:?} gave {refused:?}");
        let refused = store.take_lease(&RunId::new(bad), LeaseKind::Brief, holder(1));
        assert!(matches!(refused, Err(StoreError::BadName { .. })), "{bad:?} gave {refused:?}");
    }
}

fn checkpoints_are_found_by_prefix(fixture: &dyn Fixture) {
    let (mut store, _, lease) = driven(fixture);
    let mut many = entry(&[b"one"]);
    many.checkpoints = ["CP-2-b", "CP-1-a", "CP-2-a", "Cp-2"].map(|id| checkpoint(id, 1, b"document")).to_vec();
    append(store.as_mut(), &lease, 0, many).expect("an append");
    let mut find = |prefix: &str, limit: usize| -> Vec<String> {
        let rows = store.checkpoints(CheckpointFilter::IdPrefix(prefix), Page::first(limit)).expect("a look");
        rows.into_iter().map(|row| row.id.to_string()).collect()
    };
    assert_eq!(find("CP-2", 9), ["CP-2-a", "CP-2-b"]);
    assert_eq!(find("CP-2", 1), ["CP-2-a"], "the newest");
    assert_eq!(find("CP-1-a", 9), ["CP-1-a"]);
    assert_eq!(find("", 9), ["Cp-2", "CP-2-a", "CP-1-a", "CP-2-b"]);
    assert!(find("nothing", 9).is_empty(), "a prefix that nothing has");
}

fn a_checkpoint_id_is_given_once(fixture: &dyn Fixture) {
    let (mut store, _, lease) = driven(fixture);
    let mut first = entry(&[b"one"]);
    first.checkpoints = vec![checkpoint("cp", 1, b"first")];
    append(store.as_mut(), &lease, 0, first.clone()).expect("an append");
    first.checkpoints[0].content = StoredContent::Whole(b"second".to_vec());
    let refused = append(store.as_mut(), &lease, 1, first);
    assert!(matches!(refused, Err(StoreError::AlreadyThere { .. })), "{refused:?}");
    let stored = store.checkpoint(&CheckpointId::new("cp")).expect("a look").expect("the first one");
    assert_eq!(stored.keyframe, b"first");
}

fn checkpoints_of_all_runs_newest_first(fixture: &dyn Fixture) {
    let (mut store, _, lease) = driven(fixture);
    store.create_run(new_run("b")).expect("a new run");
    let other = store.take_lease(&RunId::new("b"), LeaseKind::Driving, holder(2)).expect("a free run");
    for (lease, id, seq) in [(&lease, "z", 0), (&other, "y", 0), (&lease, "x", 1)] {
        let mut one = entry(&[b"event"]);
        one.checkpoints = vec![checkpoint(id, seq + 1, b"document")];
        append(store.as_mut(), lease, seq, one).expect("an append");
    }
    let rows = store.checkpoints(CheckpointFilter::All, Page::first(2)).expect("a page");
    let seen: Vec<(&str, &str)> = rows.iter().map(|row| (row.id.as_str(), row.run.as_str())).collect();
    assert_eq!(seen, [("x", "a"), ("y", "b")]);
    let rows = store.checkpoints(CheckpointFilter::All, Page::before(rows[1].number, 2)).expect("a page");
    assert_eq!(rows[0].id.as_str(), "z");
    assert_eq!(rows.len(), 1);
}

fn a_missing_checkpoint_is_none(fixture: &dyn Fixture) {
    let mut store = fixture.open();
    assert_eq!(store.checkpoint(&CheckpointId::new("nobody")).expect("a look"), None);
}
