//! Which runs a timer goes on with by itself.

use onward_core::auto_resume::{KeepVerdict, verdict};
use onward_core::event::{Event, Outcome, StopReason, StopRequest};
use onward_core::input::{Input, Posted};

use crate::common;
use crate::story::Story;

fn plan() -> onward_core::plan::Plan {
    common::plan("onward: 1\nname: x\nphases:\n  a: { run: x }\n  b: { needs: a, run: x }\n")
}

fn goes_on(story: &Story, boot: &str) -> bool {
    verdict(&story.run, boot, story.now) == KeepVerdict::GoOn
}

/// Killed without a word: left alone as long as the machine is up, and gone on with once it was started anew.
#[test]
fn a_killed_run_goes_on_after_a_restart_of_the_machine() {
    let story = Story::of(plan()).driven();
    let boot = story.run.boot.clone();
    assert!(!goes_on(&story, &boot) && goes_on(&story, "another boot"));
}

/// A machine that goes down tells its programs to end. That counts as a restart, and so does a closed terminal before it.
#[test]
fn what_was_told_to_end_goes_on_after_a_restart() {
    for by in [StopRequest::SessionEnd, StopRequest::Hangup] {
        let mut story = Story::of(plan()).driven();
        story.stop(by);
        if story.run.ending().is_none() {
            story.end("a", Outcome::Stopped { by, said_done: false });
        }
        let boot = story.run.boot.clone();
        assert!(!goes_on(&story, &boot) && goes_on(&story, "another boot"), "{by:?}");
    }
}

/// A person paused it, interrupted it, or gave it up: no timer goes on with it, whatever the machine did.
#[test]
fn what_a_person_stopped_is_theirs() {
    let mut story = Story::of(plan());
    let events = story.step(&Input::Posted(Posted::Pause)).expect("it can be paused");
    assert!(events.iter().any(|event| matches!(event, Event::RunPaused { reason: StopReason::Pause, .. })));
    assert!(!goes_on(&story, "another boot"));
    let mut story = Story::of(plan()).driven();
    story.step(&Input::Posted(Posted::Cancel)).expect("it can be cancelled");
    story.step(&Input::Posted(Posted::Archive)).expect("it can be archived");
    assert!(!goes_on(&story, "another boot"));
}

/// A run that nobody has begun is nobody's to go on with.
#[test]
fn a_run_that_was_never_driven_is_left_alone() {
    assert!(!goes_on(&Story::of(plan()), "another boot"));
}
