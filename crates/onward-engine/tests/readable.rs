//! Whatever data somebody hands in: it is refused at the door, or it comes back as it went in, the store is sound, and the
//! run can go on.
//!
//! Documents are made as text, with all that a text may say: depth, spellings of numbers, escapes. `ONWARD_DOCUMENTS` says how
//! many; a small share of them runs with the other tests.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;

use onward_core::checkpoint::KnowledgeState;
use onward_core::data_limits::{self, DEPTH_LEVELS_MAX};
use onward_core::event::{MessageKind, MessagePriority, MessageText, SharedFact};
use onward_engine::{
    DoneClaim, Error, FOLDER, Onward, PersonsAnswer, PhaseReport, Ready, Request, SavedState, Shown, Silent, Want,
};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Map, Value};

/// Documents that are tried where nobody says how many.
const DOCUMENTS: usize = 100;

/// Documents that are shared among agents: a run takes no more than some thousand.
const SHARED_MAX: usize = 1_000;
/// The longest text that is shared.
const SHARED_BYTES_MAX: usize = 64 << 10;

fn how_many() -> usize {
    std::env::var("ONWARD_DOCUMENTS").ok().and_then(|text| text.parse().ok()).unwrap_or(DOCUMENTS)
}

/// A document as it is meant.
#[derive(Clone, Debug)]
enum Doc {
    Null,
    Bool(bool),
    /// As it is spelled.
    Number(String),
    /// Letters, and half surrogates that no text may hold.
    Text(Vec<u32>),
    List(Vec<Doc>),
    Object(Vec<(Vec<u32>, Doc)>),
}

fn number() -> impl Strategy<Value = String> {
    let spelled = prop::sample::select(vec![
        "0",
        "-0",
        "0.0",
        "-0.0",
        "1",
        "-1",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775808",
        "-9223372036854775809",
        "18446744073709551615",
        "18446744073709551616",
        "1e400",
        "-1e400",
        "1e-400",
        "1E5",
        "1e+2",
        "5e-324",
        "3e-324",
        "2.2250738585072011e-308",
        "1.7976931348623157e308",
        "1.7976931348623159e308",
        "0.1",
        "0.10000000000000001",
        "0.30000000000000004",
        "123456789012345678901234567890",
        "1.00000",
        "1e22",
        "9007199254740993",
        "9007199254740993.0",
        "0.12345678901234567890",
        "1e0000000001",
    ]);
    let double = any::<u64>().prop_map(f64::from_bits).prop_filter("JSON knows no others", |d| d.is_finite());
    // Most of them are taken, or there would be few documents that are.
    prop_oneof![
        4 => spelled.prop_map(str::to_owned),
        8 => any::<i64>().prop_map(|whole| whole.to_string()),
        8 => any::<u64>().prop_map(|whole| whole.to_string()),
        12 => double.clone().prop_map(|double| format!("{double:?}")),
        8 => double.clone().prop_map(|double| format!("{double:.16e}")),
        1 => double.clone().prop_map(|double| format!("{double:.20e}")),
        1 => double.prop_map(|double| format!("{double:.33e}")),
        1 => (0.0..1.0f64).prop_map(|double| format!("{double:.33}")),
        8 => (0.0..1.0f64).prop_map(|double| format!("{double:?}")),
        1 => "-?[1-9][0-9]{0,40}(\\.[0-9]{1,30})?([eE][+-]?[0-9]{1,3})?",
    ]
}

fn letters() -> impl Strategy<Value = Vec<u32>> {
    let letter = prop_oneof![
        4 => any::<char>().prop_map(u32::from),
        4 => 0x20..0x7f_u32,
        1 => 0..0x20_u32,
        1 => prop::sample::select(vec![0, 0x22, 0x5c, 0x2f, 0x7e, 0x2028, 0xfeff, 0xffff, 0x0001_f600]),
    ];
    let plain = prop_oneof![
        20 => prop::collection::vec(letter, 0..12),
        1 => Just(Vec::new()),
        1 => (1000..6000_usize).prop_map(|count| vec![u32::from('x'); count]),
    ];
    // Half a surrogate pair is in no text; it must not pass as one.
    (plain, 0..60_u8).prop_map(|(mut text, odd)| {
        if odd == 0 {
            text.push(0xd800);
        }
        text
    })
}

fn document() -> impl Strategy<Value = Doc> {
    let leaf = prop_oneof![
        1 => Just(Doc::Null),
        1 => any::<bool>().prop_map(Doc::Bool),
        4 => number().prop_map(Doc::Number),
        3 => letters().prop_map(Doc::Text),
    ];
    let tree = leaf.prop_recursive(5, 40, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Doc::List),
            (0..10_u8, prop::collection::vec((letters(), inner), 0..8)).prop_map(|(odd, mut members)| {
                // Now and then a name stands twice, with the same value or another.
                if odd == 0 {
                    members.extend(members.first().cloned());
                }
                Doc::Object(members)
            }),
        ]
    });
    let levels = prop_oneof![6 => Just(0), 3 => 55..70_usize, 1 => 70..200_usize];
    let keys = prop_oneof![12 => Just(0), 1 => 1..800_usize];
    (tree, levels, any::<bool>(), keys, 0..20_u8).prop_map(|(inner, levels, lists, keys, twice)| {
        let name = |text: &str| text.chars().map(u32::from).collect::<Vec<u32>>();
        let wrap = |inner, _| if lists { Doc::List(vec![inner]) } else { Doc::Object(vec![(name("d"), inner)]) };
        let inner = (0..levels).fold(inner, wrap);
        let mut members: Vec<(Vec<u32>, Doc)> =
            (0..keys).map(|at| (name(&format!("k{at}")), Doc::Number(at.to_string()))).collect();
        members.push((name("inner"), inner));
        if twice == 0 {
            members.push((name("inner"), Doc::Null));
        }
        Doc::Object(members)
    })
}

impl Doc {
    fn write(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(yes) => out.push_str(if *yes { "true" } else { "false" }),
            Self::Number(spelled) => out.push_str(spelled),
            Self::Text(text) => write_text(text, out),
            Self::List(items) => {
                out.push('[');
                for (at, item) in items.iter().enumerate() {
                    out.push_str(if at == 0 { "" } else { ", " });
                    item.write(out);
                }
                out.push(']');
            }
            Self::Object(members) => {
                out.push('{');
                for (at, (key, value)) in members.iter().enumerate() {
                    out.push_str(if at == 0 { "" } else { "," });
                    write_text(key, out);
                    out.push(':');
                    value.write(out);
                }
                out.push('}');
            }
        }
    }

    /// Whether `back` is this document: numbers to the last bit, integers to the last digit.
    fn is(&self, back: &Value) -> bool {
        match (self, back) {
            (Self::Null, Value::Null) => true,
            (Self::Bool(a), Value::Bool(b)) => a == b,
            (Self::Number(spelled), Value::Number(back)) => {
                let whole = !spelled.contains(['.', 'e', 'E']) && spelled != "-0";
                if whole { *spelled == back.to_string() } else { same_double(spelled, back.as_f64()) }
            }
            (Self::Text(text), Value::String(back)) => text_of(text).as_ref() == Some(back),
            (Self::List(items), Value::Array(back)) => {
                items.len() == back.len() && items.iter().zip(back).all(|(item, back)| item.is(back))
            }
            (Self::Object(members), Value::Object(back)) => {
                let found = |key: &[u32]| text_of(key).and_then(|key| back.get(&key));
                let mut each = members.iter();
                members.len() == back.len() && each.all(|(key, value)| found(key).is_some_and(|back| value.is(back)))
            }
            (
                Self::Null | Self::Bool(_) | Self::Number(_) | Self::Text(_) | Self::List(_) | Self::Object(_),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_),
            ) => false,
        }
    }

    fn depth(&self) -> usize {
        match self {
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::Text(_) => 0,
            Self::List(items) => 1 + items.iter().map(Self::depth).max().unwrap_or(0),
            Self::Object(members) => 1 + members.iter().map(|(_, value)| value.depth()).max().unwrap_or(0),
        }
    }

    /// Whether nobody could say why this should be refused.
    fn is_harmless(&self) -> bool {
        fn plain(doc: &Doc) -> bool {
            match doc {
                Doc::Null | Doc::Bool(_) => true,
                Doc::Number(spelled) => {
                    let whole = spelled.parse::<i64>().is_ok() || spelled.parse::<u64>().is_ok();
                    let shortest = spelled.parse::<f64>().is_ok_and(|double| format!("{double:?}") == *spelled);
                    whole || shortest && spelled.contains(['.', 'e'])
                }
                Doc::Object(members) if has_two_of_one_name(members) => false,
                Doc::Text(text) => text_of(text).is_some(),
                Doc::List(items) => items.iter().all(plain),
                Doc::Object(members) => members.iter().all(|(key, value)| text_of(key).is_some() && plain(value)),
            }
        }
        self.depth() <= DEPTH_LEVELS_MAX && plain(self)
    }

    /// Whether this must be refused, since it means one thing to one reader and another to the next, or would come back as
    /// another number.
    fn is_doubtful(&self) -> bool {
        match self {
            Self::Null | Self::Bool(_) | Self::Text(_) => false,
            Self::Number(spelled) => spelled.contains(['.', 'e', 'E']) && significant_digits(spelled) > 17,
            Self::List(items) => items.iter().any(Self::is_doubtful),
            Self::Object(members) => {
                has_two_of_one_name(members) || members.iter().any(|(_, value)| value.is_doubtful())
            }
        }
    }

    /// The value after a merge: members that are null go.
    fn merged(&self) -> Self {
        match self {
            Self::Object(members) => {
                let kept = members.iter().filter(|(_, value)| !matches!(value, Self::Null));
                Self::Object(kept.map(|(key, value)| (key.clone(), value.merged())).collect())
            }
            other @ (Self::Null | Self::Bool(_) | Self::Number(_) | Self::Text(_) | Self::List(_)) => other.clone(),
        }
    }
}

fn has_two_of_one_name(members: &[(Vec<u32>, Doc)]) -> bool {
    let names: BTreeSet<&[u32]> = members.iter().map(|(name, _)| name.as_slice()).collect();
    names.len() < members.len()
}

/// Without the zeros at both ends.
fn significant_digits(spelled: &str) -> usize {
    let mantissa = spelled.split(['e', 'E']).next().unwrap_or_default();
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    digits.trim_matches('0').len()
}

fn same_double(spelled: &str, back: Option<f64>) -> bool {
    let meant: f64 = spelled.parse().expect("every number is one");
    back.is_some_and(|back| back.to_bits() == meant.to_bits())
}

fn text_of(letters: &[u32]) -> Option<String> {
    letters.iter().map(|letter| char::from_u32(*letter)).collect()
}

fn write_text(text: &[u32], out: &mut String) {
    out.push('"');
    for letter in text {
        match char::from_u32(*letter) {
            Some(letter @ ('"' | '\\')) => out.extend(['\\', letter]),
            Some(letter) if u32::from(letter) >= 0x20 => out.push(letter),
            Some(_) | None => write!(out, "\\u{letter:04x}").expect("a text takes everything"),
        }
    }
    out.push('"');
}

/// The same documents every time, as many as are wanted.
fn documents() -> impl Iterator<Item = (Doc, String)> {
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let all = document();
    (0..how_many()).map(move |_| {
        let doc = all.new_tree(&mut runner).expect("documents are not refused while they are made").current();
        let mut text = String::new();
        doc.write(&mut text);
        (doc, text)
    })
}

/// In memory where there is such a place: nothing here is about flushes, and there are many of them.
fn quick_folder() -> tempfile::TempDir {
    let quick = std::path::Path::new("/dev/shm");
    let folder = if quick.is_dir() { tempfile::tempdir_in(quick) } else { tempfile::tempdir() };
    folder.expect("a temporary folder")
}

/// The counts of documents of one verb.
#[derive(Debug, Default)]
struct Tally {
    taken: usize,
    refused: usize,
}

/// The door that every verb with a JSON document has.
fn at_the_door(doc: &Doc, text: &str, tally: &mut Tally) -> Option<Map<String, Value>> {
    match data_limits::read_object(text.as_bytes()) {
        Ok(map) => {
            assert!(doc.depth() <= DEPTH_LEVELS_MAX, "deeper than allowed: {text:.300}");
            assert!(!doc.is_doubtful(), "two members of one name, or a number that would change: {text:.300}");
            Some(map)
        }
        Err(why) => {
            assert!(!doc.is_harmless(), "{why}: {text:.300}");
            tally.refused += 1;
            None
        }
    }
}

fn is_sound(folder: &std::path::Path) {
    let findings = Onward::look(folder).expect("a project").doctor();
    assert!(findings.ok, "{:?}", findings.findings);
}

/// `save` and its library form: every document is refused or is the state of its checkpoint, at once and after the books were
/// opened anew.
#[test]
fn soak_what_is_saved_comes_back() {
    let folder = quick_folder();
    fs::create_dir_all(folder.path().join(FOLDER)).expect("a folder");
    let open = || SavedState::open(Onward::work(folder.path()).expect("a project"), "test", "demo").expect("books");
    let (mut books, mut tally, mut saved) = (open(), Tally::default(), Vec::new());
    for (at, (doc, text)) in documents().enumerate() {
        let Some(map) = at_the_door(&doc, &text, &mut tally) else { continue };
        // A state that says it is the end of the run is another story.
        if map.contains_key("status") {
            continue;
        }
        let id = books.save(map).unwrap_or_else(|why| panic!("{why}: {text:.300}"));
        assert!(doc.is(books.state()), "{text:.300}");
        assert!(doc.is(&Value::Object(books.load(&id).expect("it can be read").state)), "{text:.300}");
        tally.taken += 1;
        saved.push((id, doc));
        if at % 30 == 29 {
            drop(books);
            books = open();
            assert!(saved.last().is_some_and(|(_, doc)| doc.is(books.state())));
        }
    }
    for (id, doc) in &saved {
        assert!(doc.is(&Value::Object(books.load(id).expect("it can be read").state)), "{id}");
    }
    drop(books);
    is_sound(folder.path());
    println!("save: {tally:?}");
}

const PLAN: &str = "
onward: 1
inputs:
  text: { default: '' }
phases:
  work: { external: { instructions: do it } }
  ask: { needs: work, approval: { message: really? } }
";

/// `state merge`, `checkpoint --name`, `report`, `approve`, `message send`, `knowledge add` and `decision add` on a run with a plan: what they take can be found again, the run
/// can go on and its store is sound.
#[test]
fn soak_what_is_told_to_a_run_comes_back() {
    let folder = quick_folder();
    fs::write(folder.path().join("onward.yaml"), PLAN).expect("a plan");
    let mut onward = Onward::work_or_new(folder.path()).expect("a project");
    let request = Request::default();
    let found = onward.find(&request).expect("a plan");
    let run = onward.start(&request, found, &mut Silent).expect("it waits").run.id;
    let (mut merges, mut texts) = (Tally::default(), Tally::default());
    for (at, (doc, text)) in documents().enumerate() {
        if let Some(map) = at_the_door(&doc, &text, &mut merges) {
            let patch = Map::from_iter([("doc".to_owned(), Value::Null)]);
            onward.merge_state(Some(run.as_str()), patch).expect("it goes");
            // One level more than the document has.
            let patch = Map::from_iter([("doc".to_owned(), Value::Object(map))]);
            match onward.merge_state(Some(run.as_str()), patch) {
                Ok(_) => {
                    let back = onward.state(Some(run.as_str()), "/doc").expect("it is there");
                    assert!(doc.merged().is(&back), "{text:.300}");
                    merges.taken += 1;
                }
                Err(Error::Unfit { .. }) if doc.depth() + 1 > DEPTH_LEVELS_MAX => merges.refused += 1,
                Err(why) => panic!("{why}: {text:.300}"),
            }
        }
        if at % 10 == 0 {
            told(&mut onward, run.as_str(), &text, &mut texts);
        }
        if at % 10 == 0 && at < SHARED_MAX {
            shared(&mut onward, run.as_str(), &format!("d{at}"), &text, &mut texts);
        }
    }
    shared(&mut onward, run.as_str(), "long", &"é".repeat(SHARED_BYTES_MAX / 2), &mut texts);
    shared(&mut onward, run.as_str(), "too-long", &"x".repeat(SHARED_BYTES_MAX + 1), &mut texts);
    let choice = "é\u{0}".repeat(1 << 20);
    let said = PersonsAnswer { choice: &choice, ..PersonsAnswer::default() };
    assert!(matches!(onward.answer(Some(run.as_str()), "ask", &said), Err(Error::Unfit { .. })));
    let odd = PersonsAnswer { choice: "\u{0}\u{1b}[31m", ..PersonsAnswer::default() };
    assert!(onward.answer(Some(run.as_str()), "ask", &odd).is_err(), "no such choice");
    let request = Request { want: Want::ResumeRun(Some(run.to_string())), ..Request::default() };
    let found = onward.find(&request).expect("the run can be read");
    let Ok(Ready::GoOn(going)) = onward.ready(&request, &found) else { panic!("nothing stands in the way") };
    onward.go_on(&going, &request, &mut Silent).expect("it goes on");
    is_sound(folder.path());
    println!("merge: {merges:?}; texts: {texts:?}");
}

/// Any text as a name, a note, an output or a reason.
fn told(onward: &mut Onward, run: &str, text: &str, tally: &mut Tally) {
    let id = onward.checkpoint(Some(run), Some(text)).expect("a name is a text");
    let Shown::Checkpoint(shown) = onward.show(&id).expect("it can be read") else { panic!("{id} is a checkpoint") };
    assert_eq!(shown.name.as_deref(), Some(text));
    let note = PhaseReport::Progress { note: Some(text.to_owned()) };
    onward.report(Some(run), "work", &note, None).expect("a note is a text");
    let outputs = [("x".to_owned(), text.replace(['\n', '\r'], " "))].into();
    // What remains keeps the phase open.
    let claim =
        DoneClaim { outputs, remaining: text.to_owned(), summary: Some(text.to_owned()), ..DoneClaim::default() };
    let reported = onward.report(Some(run), "work", &PhaseReport::Done(claim), None).expect("a claim is heard");
    if reported.accepted { tally.taken += 1 } else { tally.refused += 1 }
}

/// The same as a message, an entry of knowledge and a decision: it comes back, or it is refused and is nowhere.
fn shared(onward: &mut Onward, run: &str, id: &str, text: &str, tally: &mut Tally) {
    let (id, body, fits) = (id.to_owned(), text.to_owned(), text.len() <= SHARED_BYTES_MAX);
    let message = MessageText {
        id: id.clone(),
        kind: MessageKind::Request,
        from: "ada".to_owned(),
        to: "bob".to_owned(),
        body: body.clone(),
        priority: MessagePriority::Normal,
        correlation: None,
    };
    let (kind, title, state) = ("fact".to_owned(), "It is so".to_owned(), KnowledgeState::Captured);
    let entry = SharedFact::KnowledgeAdded { id: id.clone(), kind, title, body: body.clone(), state };
    for fact in [SharedFact::MessageSent(message), entry, SharedFact::DecisionMade { text: body, by: None }] {
        match onward.share(Some(run), fact) {
            Ok(_) if fits => tally.taken += 1,
            Err(Error::Declined { .. }) if !fits => tally.refused += 1,
            other => panic!("{other:?}: {text:.300}"),
        }
    }
    let wanted = fits.then_some(text);
    let inbox = onward.inbox(Some(run), "bob").expect("it can be read");
    assert_eq!(inbox.iter().find(|known| known.id == id).and_then(|known| known.body.as_deref()), wanted);
    let known = onward.knowledge(Some(run)).expect("it can be read");
    assert_eq!(known.iter().find(|known| known.id == id).and_then(|known| known.body.as_deref()), wanted);
}

/// `run --input`: a text of any kind is the input of the run, one that is too long is refused before there is a run.
#[test]
fn an_input_comes_back_or_is_refused() {
    for text in ["", "\u{1}\n\r\t\u{1b}[0m", "\u{fffd}\u{10ffff}é", "[[[[{", &"x".repeat(100_000)] {
        let folder = quick_folder();
        fs::write(folder.path().join("onward.yaml"), PLAN).expect("a plan");
        let mut onward = Onward::work_or_new(folder.path()).expect("a project");
        let request = Request { inputs: [("text".to_owned(), text.to_owned())].into(), ..Request::default() };
        let found = onward.find(&request).expect("a plan");
        let run = onward.start(&request, found, &mut Silent).expect("it waits").run;
        assert_eq!(run.started.inputs["text"], text);
        let request = Request { want: Want::ResumeRun(Some(run.id.to_string())), ..Request::default() };
        let again = onward.find(&request).expect("the run can be read");
        assert_eq!(again.unfinished[0].run.started.inputs["text"], text);
        is_sound(folder.path());
    }
    let folder = quick_folder();
    fs::write(folder.path().join("onward.yaml"), PLAN).expect("a plan");
    let mut onward = Onward::work_or_new(folder.path()).expect("a project");
    let inputs = [("text".to_owned(), "x".repeat((1 << 20) + 1))].into();
    let refused = onward.find(&Request { inputs, ..Request::default() }).expect_err("it is too long");
    assert!(matches!(refused, Error::Unfit { .. }), "{refused}");
    let inputs = [("text".to_owned(), "\u{0}".to_owned())].into();
    let refused = onward.find(&Request { inputs, ..Request::default() }).expect_err("no process can be given that");
    assert!(matches!(refused, Error::Inputs { .. }), "{refused}");
}
