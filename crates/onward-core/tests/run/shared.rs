//! Messages, knowledge and conflicts of agents, as rules: news, refusals, limits.

use onward_core::checkpoint::{KnowledgeState, Trigger};
use onward_core::event::{Event, MessageKind, MessagePriority, MessageText, SharedFact};
use onward_core::input::{Input, Posted};
use onward_core::run::{self, Refusal};

use crate::common::plan;
use crate::story::Story;

fn letter(id: &str, to: &str, body: &str) -> SharedFact {
    SharedFact::MessageSent(MessageText {
        id: id.to_owned(),
        kind: MessageKind::Request,
        from: "ada".to_owned(),
        to: to.to_owned(),
        body: body.to_owned(),
        priority: MessagePriority::Normal,
        correlation: None,
    })
}

fn ask(fact: SharedFact) -> Input {
    Input::Posted(Posted::Share { fact: Box::new(fact) })
}

fn story() -> Story {
    Story::of(plan("onward: 1\nname: demo\nphases:\n  a: { external: { instructions: x } }\n"))
}

fn why(story: &mut Story, fact: SharedFact) -> String {
    match story.step(&ask(fact)) {
        Err(Refusal::NotShared(why)) => why,
        other => panic!("it is refused: {other:?}"),
    }
}

/// A message is sent three times under one id, the third time with other words. It is on record once.
#[test]
fn one_id_is_one_message() {
    let mut story = story();
    assert_eq!(story.take(&ask(letter("m1", "bob", "x"))).len(), 1);
    assert_eq!(story.take(&ask(letter("m1", "bob", "x"))), []);
    assert!(why(&mut story, letter("m1", "bob", "y")).contains("other content"));
    assert_eq!(story.run.inbox("bob").count(), 1);
    let ack = |by: Option<&str>| SharedFact::MessagesAcknowledged { ids: vec!["m1".into()], by: by.map(str::to_owned) };
    assert!(why(&mut story, ack(Some("eve"))).contains("for bob"));
    assert_eq!(story.take(&ask(ack(None))).len(), 1);
    assert_eq!(story.take(&ask(ack(Some("bob")))), []);
    assert_eq!(story.run.inbox("bob").count(), 0);
}

/// An entry that was still to be captured is captured, once; the same entry with other words is refused.
#[test]
fn an_entry_is_captured_once() {
    let mut story = story();
    let entry = |title: &str, state| SharedFact::KnowledgeAdded {
        id: "KE-1".to_owned(),
        kind: "pattern".to_owned(),
        title: title.to_owned(),
        body: "b".to_owned(),
        state,
    };
    assert_eq!(story.take(&ask(entry("t", KnowledgeState::Pending))).len(), 1);
    assert_eq!(story.take(&ask(entry("t", KnowledgeState::Pending))), []);
    assert_eq!(story.take(&ask(entry("t", KnowledgeState::Captured))).len(), 1);
    assert_eq!(story.take(&ask(entry("t", KnowledgeState::Captured))), []);
    assert!(why(&mut story, entry("u", KnowledgeState::Captured)).contains("other content"));
    assert_eq!(story.run.sections().knowledge.len(), 1);
    let decided = || SharedFact::DecisionMade { text: "tabs".to_owned(), by: None };
    assert_eq!((story.take(&ask(decided())).len(), story.take(&ask(decided())).len()), (1, 0));
}

/// A conflict is noted and settled. Each takes its checkpoint in the same step, and a second word changes nothing.
#[test]
fn a_conflict_takes_its_checkpoints() {
    let mut story = story();
    let started = || SharedFact::ConflictStarted {
        id: "c".to_owned(),
        between: vec!["ada".to_owned(), "bob".to_owned()],
        topic: "tabs".to_owned(),
    };
    let resolved = || SharedFact::ConflictResolved { id: "c".to_owned(), resolution: "spaces".to_owned() };
    assert!(why(&mut story, resolved()).contains("no conflict"));
    for (fact, trigger) in [(started(), Trigger::ConflictStart), (resolved(), Trigger::ConflictResolved)] {
        let events = story.take(&ask(fact.clone()));
        let taken = events
            .iter()
            .any(|event| matches!(event, Event::CheckpointTaken { triggers, .. } if *triggers == [trigger]));
        assert!(taken, "{events:?}");
        assert_eq!(story.take(&ask(fact)), []);
    }
}

/// There is an end to how long a text is, and to all of them together.
#[test]
fn there_is_an_end_to_what_is_shared() {
    let mut story = story();
    assert!(why(&mut story, letter("m", "bob", &"x".repeat(65_537))).contains("65536"));
    assert!(why(&mut story, letter(&"i".repeat(201), "bob", "x")).contains("200"));
    assert!(why(&mut story, letter("m", "b\u{1b}ob", "x")).contains("control"));
    let body = "x".repeat(65_000);
    let now = story.now;
    let mut send = |n: u32| run::step(&mut story.run, &ask(letter(&format!("m{n}"), "bob", &body)), "ada", now);
    let taken = (0..200).take_while(|n| send(*n).is_ok()).count();
    assert!((120..130).contains(&taken), "{taken} messages of 65 kB");
    assert!(why(&mut story, letter("last", "bob", &body)).contains("8388608"));
}
