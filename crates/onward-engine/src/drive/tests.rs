//! Messages that cannot be kept, appends that fail, ids that are taken.

use std::collections::BTreeMap;

use jiff::Timestamp;
use onward_core::checkpoint::Trigger;
use onward_core::event::{FilesBack, RunStarted};
use onward_core::id::{CheckpointId, PhaseId, RunId, Seq};
use onward_core::ids_and_keys::{self, IdTry};
use onward_core::input::{Input, Posted, Reply};
use onward_core::patch::Op;
use onward_core::plan::Plan;
use onward_core::run::Run;
use onward_store::{
    Entry, Holder, Lease, LeaseKind, NewCheckpoint, NewRun, Store, StoreError, StoredContent, TakenBack,
    VALUE_BYTES_MAX, testing::MemoryStore,
};
use serde_json::{Map, Value, json};

use super::committer::{self, Committer, CommitterState};
use super::inbox;
use crate::drive::keyframes::KeepNothing;
use crate::drive::world::{Direction, FilesOutcome, RewindSince, TreeWorld};
use crate::error::{Error, Result};
use crate::journal;
use crate::redact;
use onward_core::run::notices::DueNotice;

/// Nothing here asks for a working tree.
struct NoTree;

impl TreeWorld for NoTree {
    fn snapshot(&mut self, _: &Run) -> Result<Input> {
        unreachable!("no snapshots are taken")
    }

    fn notify(&mut self, _: &Run, _: &DueNotice) -> Result<Option<Input>> {
        unreachable!("nobody is told")
    }

    fn mark(&mut self, _: &Run, _: &PhaseId) -> Result<Input> {
        unreachable!("no plan is in Markdown")
    }

    fn label(&mut self, _: &Run, _: &PhaseId) -> Result<Input> {
        unreachable!("no issue is told anything")
    }

    fn commit(&mut self, _: &Run, _: u32) -> Result<Input> {
        unreachable!("no commits are made")
    }

    fn restore(&mut self, _: &Run, _: &FilesBack, _: RewindSince, _: Direction) -> Result<FilesOutcome> {
        unreachable!("nothing is brought back")
    }
}

fn noon() -> Timestamp {
    "2026-11-15T12:00:00Z".parse().expect("a time")
}

fn started(run: &str) -> RunStarted {
    let bare = RunStarted::bare(RunId::new(run), "w", Plan::new("demo", "test"), "demo");
    RunStarted { triggers: vec![Trigger::Manual], ..bare }
}

fn lease(store: &mut MemoryStore, run: &str) -> Lease {
    let holder = Holder { host: "here".to_owned(), pid: 1, since: noon() };
    store.take_lease(&RunId::new(run), LeaseKind::Driving, holder).expect("nobody else drives")
}

/// A new run in a store, and the right to write about it.
fn begun(store: &mut MemoryStore, run: &str) -> (Run, Lease) {
    let new = NewRun { run: RunId::new(run), work: "w".to_owned(), summary: b"{}".to_vec(), status: "new".to_owned() };
    store.create_run(new).expect("a new run");
    let lease = lease(store, run);
    let (run, _) = committer::begin(store, &lease, &started(run), &[], ("me", noon())).expect("an empty journal");
    (run, lease)
}

fn post(store: &mut MemoryStore, run: &RunId, id: &str, body: Vec<u8>) {
    store.post(run, id, noon(), body).expect("a store in memory");
}

fn reply(store: &mut MemoryStore, run: &RunId, id: &str) -> Reply {
    let bytes = store.reply(run, id).expect("readable").expect("it was answered");
    serde_json::from_slice(&bytes).expect("our own bytes")
}

fn nested(levels: usize) -> String {
    format!("{}1{}", "{\"a\":".repeat(levels), "}".repeat(levels))
}

fn answer_all(store: &mut MemoryStore, lease: &Lease, run: &mut Run) {
    let mut keep = KeepNothing;
    let mut committer = Committer::new(store, lease, &mut keep, run, "me");
    inbox::answer_all(&mut committer, &mut NoTree, noon()).expect("a store in memory");
}

fn is_as_stored(store: &mut MemoryStore, run: &Run) {
    let stored = journal::load(store, &run.id).expect("the journal can be read");
    assert_eq!(format!("{run:?}"), format!("{stored:?}"));
}

/// A poster took its message back after the driver had seen it and before it was on record. The others are done, that one is
/// not, and the driver goes on.
#[test]
fn a_message_that_was_taken_back_is_not_carried_out() {
    let mut store = MemoryStore::new();
    let (mut run, lease) = begun(&mut store, "a");
    let id = run.id.clone();
    for name in ["first", "second", "third"] {
        let patch = Map::from_iter([(name.to_owned(), json!(1))]);
        post(&mut store, &id, name, serde_json::to_vec(&Posted::Merge { patch }).expect("plain"));
    }
    let mut keep = KeepNothing;
    let mut committer = Committer::new(&mut store, &lease, &mut keep, &mut run, "me");
    let seen = inbox::waiting(&mut committer, &mut NoTree).expect("a store in memory");
    let taken = committer.store().take_back(&id, "second", b"{}".to_vec()).expect("a store in memory");
    assert_eq!(taken, TakenBack::Yes);
    committer.take(seen, noon()).expect("the others can be done");
    assert_eq!(run.state, json!({ "first": 1, "third": 1 }));
    assert_eq!((reply(&mut store, &id, "first"), reply(&mut store, &id, "third")), (Reply::Done, Reply::Done));
    is_as_stored(&mut store, &run);
}

/// Among good messages some waited that nobody understands or that are nested too deep. Each of these is refused by itself, none
/// reads as done, and the good ones are done.
#[test]
fn a_message_that_cannot_be_kept_is_refused_alone() {
    let mut store = MemoryStore::new();
    let (mut run, lease) = begun(&mut store, "a");
    let id = run.id.clone();
    let merge = |patch: &str| format!("{{\"ask\":\"merge\",\"patch\":{patch}}}").into_bytes();
    let before = serde_json::to_vec(&Posted::Checkpoint { name: Some("before".to_owned()) }).expect("plain");
    post(&mut store, &id, "before", before);
    for (name, body) in [
        ("nonsense", b"{\"ask\":\"dance\"}".to_vec()),
        ("no-json", b"\x00\xff".to_vec()),
        ("levels-65", merge(&nested(65))),
        ("levels-125", merge(&nested(125))),
        ("levels-127", merge(&nested(127))),
        ("after", merge(r#"{"after": 1}"#)),
    ] {
        post(&mut store, &id, name, body);
    }
    answer_all(&mut store, &lease, &mut run);
    assert!(matches!(reply(&mut store, &id, "before"), Reply::Checkpoint { .. }));
    for name in ["nonsense", "no-json", "levels-127"] {
        assert!(matches!(reply(&mut store, &id, name), Reply::Refused { .. }), "{name}");
    }
    for name in ["levels-65", "levels-125"] {
        assert!(matches!(reply(&mut store, &id, name), Reply::Unfit { .. }), "{name}");
    }
    assert_eq!(reply(&mut store, &id, "after"), Reply::Done);
    assert_eq!(run.state, json!({"after": 1}));
    assert_eq!(store.inbox(&id, 10).expect("readable"), []);
    is_as_stored(&mut store, &run);
}

/// Three messages wait with keys that are one and the same once their secrets are cut out, also within a key that the first one makes.
/// The first is done, the others are refused, and nothing of the first is lost.
#[test]
fn secret_keys_that_wait_together_do_not_take_each_others_place() {
    let secret = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    redact::learn_inputs(&BTreeMap::from([secret("a_token", "postgres-one"), secret("b_token", "postgres-two")]));
    let mut store = MemoryStore::new();
    let (mut run, lease) = begun(&mut store, "a");
    let id = run.id.clone();
    for (name, patch) in [
        ("first", json!({ "postgres-one": 1, "deep": { "postgres-one": 1 } })),
        ("second", json!({ "postgres-two": 2 })),
        ("deep", json!({ "deep": { "postgres-two": 2 } })),
        ("other", json!({ "elsewhere": { "postgres-two": 2 } })),
    ] {
        let Value::Object(patch) = patch else { unreachable!("it is written so") };
        post(&mut store, &id, name, serde_json::to_vec(&Posted::Merge { patch }).expect("plain"));
    }
    answer_all(&mut store, &lease, &mut run);
    for name in ["second", "deep"] {
        assert!(matches!(reply(&mut store, &id, name), Reply::Unfit { .. }), "{name}");
    }
    assert_eq!((reply(&mut store, &id, "first"), reply(&mut store, &id, "other")), (Reply::Done, Reply::Done));
    let kept = json!({ "[redacted]": 1, "deep": { "[redacted]": 1 }, "elsewhere": { "[redacted]": 2 } });
    assert_eq!(run.state, kept);
    is_as_stored(&mut store, &run);
}

/// An append failed because somebody else was given the run. The state is what the journal says, and goes on from there as soon
/// as the right to write is there again.
#[test]
fn after_a_failed_append_the_run_is_what_is_stored() {
    let mut store = MemoryStore::new();
    let (mut run, old) = begun(&mut store, "a");
    let set = |value: u32| {
        let ops = vec![Op::Set { path: "/n".to_owned(), value: json!(value) }];
        vec![Input::Posted(Posted::Change { ops, ends: None })]
    };
    store.lose_lock(&run.id);
    let new = lease(&mut store, "a");
    let mut keep = KeepNothing;
    let mut late = Committer::new(&mut store, &old, &mut keep, &mut run, "me");
    let failed = late.tell(set(1), noon()).expect_err("somebody else has it");
    assert!(matches!(failed, Error::Store(StoreError::LeaseLost { .. })), "{failed}");
    assert_eq!(late.left(), CommitterState::AsStored);
    assert_eq!(run.state, json!({}));
    is_as_stored(&mut store, &run);
    let mut again = Committer::new(&mut store, &new, &mut keep, &mut run, "me");
    again.tell(set(2), noon()).expect("nothing conflicts");
    assert_eq!(run.state, json!({"n": 2}));
    is_as_stored(&mut store, &run);
}

/// Of several changes in one commit the last does not fit. None of them is made.
#[test]
fn changes_that_belong_together_are_made_together_or_not_at_all() {
    let mut store = MemoryStore::new();
    let (mut run, lease) = begun(&mut store, "a");
    let change = |path: &str| {
        Input::Posted(Posted::Change { ops: vec![Op::Set { path: path.to_owned(), value: json!(1) }], ends: None })
    };
    let mut keep = KeepNothing;
    let mut committer = Committer::new(&mut store, &lease, &mut keep, &mut run, "me");
    committer.tell(vec![change("/a"), change("/b/c/d")], noon()).expect_err("nothing is at /b");
    assert_eq!(run.state, json!({}));
    is_as_stored(&mut store, &run);
}

/// The ids that the next two checkpoints of a run would have are taken by another run, once by a checkpoint that is there and
/// once by one that was deleted. Both are taken under longer ids.
#[test]
fn an_id_that_is_taken_is_replaced() {
    let mut store = MemoryStore::new();
    let (mut run, ours) = begun(&mut store, "a");
    let (other, theirs) = begun(&mut store, "b");
    let expected = ids_and_keys::checkpoint_id(&run.id, None, run.seq.next(), noon(), IdTry::FIRST);
    let new = NewCheckpoint {
        id: expected.clone(),
        seq: Seq(1),
        meta: b"{}".to_vec(),
        content: StoredContent::Whole(b"{}".to_vec()),
    };
    let entry = Entry { checkpoints: vec![new], ..Entry::default() };
    store.append(&theirs, other.seq, entry).expect("a store in memory");
    let mut keep = KeepNothing;
    let mut committer = Committer::new(&mut store, &ours, &mut keep, &mut run, "me");
    let ask = || vec![Input::Posted(Posted::Checkpoint { name: None })];
    let taken: Vec<CheckpointId> = [ask(), ask()]
        .into_iter()
        .flat_map(|inputs| committer.tell(inputs, noon()).expect("an id is found").checkpoints)
        .map(|taken| taken.id)
        .collect();
    assert!(taken[0] != expected && taken[0].as_str().len() > expected.as_str().len(), "{taken:?}");
    assert_eq!(taken[1].as_str().len(), expected.as_str().len(), "the next one is short again");
    assert!(store.checkpoint(&taken[0]).expect("readable").is_some());
    is_as_stored(&mut store, &run);
}

/// A message waited whose record would be larger than what a store takes. It is refused, and what came with it is done.
#[test]
fn soak_a_message_whose_record_is_too_large_is_refused_alone() {
    let mut store = MemoryStore::new();
    let (mut run, lease) = begun(&mut store, "a");
    let id = run.id.clone();
    let merge = |patch: Map<String, Value>| serde_json::to_vec(&Posted::Merge { patch }).expect("plain");
    // Every slash of a key is two letters in a path.
    let slashes = Map::from_iter([("/".repeat(VALUE_BYTES_MAX / 2 + 1), json!(1))]);
    post(&mut store, &id, "slashes", merge(slashes));
    post(&mut store, &id, "after", merge(Map::from_iter([("after".to_owned(), json!(1))])));
    answer_all(&mut store, &lease, &mut run);
    assert!(matches!(reply(&mut store, &id, "slashes"), Reply::Unfit { .. }));
    assert_eq!(reply(&mut store, &id, "after"), Reply::Done);
    assert_eq!(run.state, json!({"after": 1}));
    is_as_stored(&mut store, &run);
}

/// A state grows by steps that are each deep enough to be kept. The step that would make it too deep is refused.
#[test]
fn limits_hold_for_what_comes_of_it() {
    let mut store = MemoryStore::new();
    let (mut run, lease) = begun(&mut store, "a");
    let mut keep = KeepNothing;
    let mut committer = Committer::new(&mut store, &lease, &mut keep, &mut run, "me");
    let inner: Value = serde_json::from_str(&nested(40)).expect("it is JSON");
    let deep = |path: &str| {
        Input::Posted(Posted::Change { ops: vec![Op::Set { path: path.to_owned(), value: inner.clone() }], ends: None })
    };
    committer.tell(vec![deep("/a")], noon()).expect("41 levels");
    let refused = committer.tell(vec![deep(&"/a".repeat(30))], noon()).expect_err("70 levels");
    assert!(matches!(refused, Error::Unfit { .. }), "{refused}");
    is_as_stored(&mut store, &run);
}

/// The same with the length: two halves that are each within the limits are too much together, and one of them may still take
/// the place of the other.
#[test]
fn soak_a_state_does_not_outgrow_its_limit() {
    let mut store = MemoryStore::new();
    let (mut run, lease) = begun(&mut store, "a");
    let mut keep = KeepNothing;
    let mut committer = Committer::new(&mut store, &lease, &mut keep, &mut run, "me");
    let long = |key: &str| {
        let patch = Map::from_iter([(key.to_owned(), Value::String("x".repeat(30 << 20)))]);
        vec![Input::Posted(Posted::Merge { patch })]
    };
    committer.tell(long("one"), noon()).expect("30 MiB");
    let refused = committer.tell(long("two"), noon()).expect_err("60 MiB");
    assert!(matches!(refused, Error::Unfit { .. }), "{refused}");
    committer.tell(long("one"), noon()).expect("it takes the place of what was there");
    committer.tell(vec![Input::Posted(Posted::Checkpoint { name: None })], noon()).expect("it can be kept");
    assert_eq!(run.state, journal::load(&mut store, &run.id).expect("the journal can be read").state);
}
