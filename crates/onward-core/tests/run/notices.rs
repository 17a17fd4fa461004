//! People are told of events: each notice is due from the event on, once, and nothing else waits for it.

use jiff::SignedDuration;
use onward_core::effect::Effect;
use onward_core::event::{Event, Outcome};
use onward_core::input::Input;
use onward_core::run::Ending;
use onward_core::run::notices::{NOTICE_TRIES_MAX, NOTICES_DUE_MAX};

use crate::common;
use crate::story::Story;

const PLAN: &str = "onward: 1\nname: demo\nnotify: { when: [phase-completed, run-succeeded], command: tell }\n\
                    phases:\n  a: { run: x }\n  b: { needs: a, run: x }\n";

fn driven(plan: &str) -> Story {
    let story = Story::started(common::started(common::plan(plan)));
    Story { pace: SignedDuration::ZERO, ..story }.driven()
}

fn notices(story: &Story) -> Vec<u32> {
    let told = story.wanted().into_iter().filter_map(|effect| match effect {
        Effect::Notify { notice } => Some(notice),
        _ => None,
    });
    told.collect()
}

fn failed() -> Result<(), String> {
    Err("nobody is there".to_owned())
}

/// A phase is done and the next one starts at once, while people are told. Told is told: the notice is not wanted again, and a
/// second answer about it is no fact.
#[test]
fn a_notice_is_due_until_it_is_sent_and_nothing_waits_for_it() {
    let mut story = driven(PLAN);
    assert_eq!(notices(&story), Vec::<u32>::new(), "nothing has happened of which anybody wants to hear");
    let events = story.end("a", Outcome::Exited { code: 0 });
    assert!(events.iter().any(|event| matches!(event, Event::AttemptStarted { .. })), "b waits: {events:?}");
    assert_eq!(notices(&story), [1]);
    let sent = Input::Notified { notice: 1, sent: Ok(()) };
    assert_eq!(story.take(&sent), [Event::NoticeSent { notice: 1 }]);
    assert_eq!((notices(&story), story.take(&sent)), (Vec::new(), Vec::new()));
    story.end("b", Outcome::Exited { code: 0 });
    assert_eq!(story.run.ending(), Some(Ending::Completed), "the end waits for nobody");
    let due: Vec<&str> = story.run.notices_due().map(|due| due.occasion.as_str()).collect();
    assert_eq!(due, ["phase-completed", "run-succeeded"]);
}

/// Nobody can be told. It is tried again later and later, so many times and no more, and what became of it is shown.
#[test]
fn a_notice_that_fails_is_tried_again_with_a_limit() {
    let mut story = driven(PLAN);
    story.end("a", Outcome::Exited { code: 0 });
    for tries in 1..NOTICE_TRIES_MAX {
        let events = story.take(&Input::Notified { notice: 1, sent: failed() });
        assert!(matches!(events[..], [Event::NoticeFailed { retry_at: Some(_), .. }]), "{tries}: {events:?}");
        assert_eq!(notices(&story), Vec::<u32>::new(), "it is wanted again at once");
        story.now += SignedDuration::from_mins(1);
        assert_eq!(notices(&story), [1]);
    }
    let events = story.take(&Input::Notified { notice: 1, sent: failed() });
    assert!(matches!(events[..], [Event::NoticeFailed { retry_at: None, .. }]), "{events:?}");
    assert_eq!(notices(&story), Vec::<u32>::new());
    assert_eq!(story.run.told_warnings(), ["people were not told of phase-completed: nobody is there"]);
}

/// Drivers die while they send. Each that follows sends the notice once more, until that was often enough.
#[test]
fn a_chain_of_kills_does_not_tell_people_for_ever() {
    let mut story = driven(PLAN);
    story.end("a", Outcome::Exited { code: 0 });
    let mut sent = 0;
    for _ in 0..NOTICE_TRIES_MAX * 2 {
        sent += notices(&story).len();
        story = story.driven();
    }
    assert_eq!(sent, usize::try_from(NOTICE_TRIES_MAX).expect("small"));
    assert!(story.run.told_warnings()[0].contains("died again and again"), "{:?}", story.run.told_warnings());
}

/// Very many people are to be told at once. The outbox has a limit, and says so.
#[test]
fn the_outbox_has_a_limit() {
    let rules = "{ when: run-started, command: tell }, ".repeat(NOTICES_DUE_MAX + 3);
    let story = driven(&format!("onward: 1\nname: demo\nnotify: [{rules}]\nphases: {{ a: {{ run: x }} }}\n"));
    assert_eq!(story.run.notices_due().count(), NOTICES_DUE_MAX);
    assert!(story.run.told_warnings()[0].starts_with("3 notices were not sent"), "{:?}", story.run.told_warnings());
}
