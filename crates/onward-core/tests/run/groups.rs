//! Runs of a group, which are not at work at the same time: inputs in, events out.

use onward_core::event::{Event, Outcome, StopReason, StopRequest};
use onward_core::id::RunId;
use onward_core::input::{Begin, BusyGroup, GroupSeen, Input};
use onward_core::run::{Ending, RunStatus};

use crate::common;
use crate::story::Story;

const PLAN: &str = "
onward: 1
name: demo
concurrency: load
phases:
  a: { run: x }
  b: { needs: a, run: x }
";

fn busy(by: &str) -> BusyGroup {
    BusyGroup { group: "load".to_owned(), by: Some(RunId::new(by)) }
}

fn seen(by: &str) -> Input {
    Input::GroupSeen(GroupSeen::Busy { by: Some(RunId::new(by)) })
}

/// Another run of the group is at work. Nothing is started and nothing ends before the turn of this one has come; each run that it
/// waits for is on record once.
#[test]
fn nothing_is_started_before_the_turn() {
    let mut story = Story::of(common::plan(PLAN));
    story.begin(Begin { busy: Some(Box::new(busy("run_1"))), ..common::begin(0) }).expect("a driver may begin");
    assert_eq!((story.at_work(), story.run.ending()), (Vec::new(), None));
    assert_eq!(story.run.status(), RunStatus::Running);
    let since = story.run.awaited_group().expect("a group").since;
    assert!(story.take(&seen("run_1")).is_empty(), "that is known");
    let news = story.take(&seen("run_2"));
    assert!(
        matches!(news.as_slice(), [Event::GroupAwaited { by: Some(by), .. }] if by.as_str() == "run_2"),
        "{news:?}"
    );
    let awaited = story.run.awaited_group().expect("a group");
    assert_eq!((awaited.words().as_str(), awaited.since), ("run run_2, which is at work in the group load", since));
    let entered = story.take(&Input::GroupSeen(GroupSeen::Entered));
    assert!(matches!(&entered[0], Event::GroupEntered { group } if group == "load"), "{entered:?}");
    assert_eq!(story.at_work(), ["a"]);
    assert!(story.take(&seen("run_3")).is_empty(), "it has its turn");
}

/// Whoever waits can be stopped, and the next driver asks anew.
#[test]
fn one_that_waits_is_stopped_and_begins_again() {
    let mut story = Story::of(common::plan(PLAN));
    story.begin(Begin { busy: Some(Box::new(busy("run_1"))), ..common::begin(0) }).expect("a driver may begin");
    story.take(&Input::StopAsked { by: StopRequest::Interrupt });
    assert_eq!(story.run.ending(), Some(Ending::Stopped(StopReason::Interrupt)));
    story.begin(common::begin(0)).expect("a driver may begin");
    assert_eq!(story.at_work(), ["a"]);
    story.end("a", Outcome::Exited { code: 0 });
    assert_eq!(story.at_work(), ["b"]);
}

/// The name of a group may ask for inputs, and the short form is the name alone.
#[test]
fn groups_are_named_by_inputs() {
    let plan = "
onward: 1
name: demo
inputs: { region: { type: string, default: eu } }
concurrency: { group: \"load-${{ inputs.region }}\", when-busy: fail }
phases: { a: { run: x } }
";
    let concurrency = common::plan(plan).concurrency.expect("a group");
    let inputs = [("region".to_owned(), "us".to_owned())].into();
    assert_eq!(concurrency.group_of(&inputs), "load-us");
    assert_eq!(common::plan(PLAN).concurrency.expect("a group").group, "load");
}
