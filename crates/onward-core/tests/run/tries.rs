//! Failed attempts are remembered, whoever makes them. Small stories in virtual time.

use jiff::SignedDuration;
use onward_core::brief::brief;
use onward_core::checkpoint::FileModified;
use onward_core::event::Outcome;
use onward_core::failure::FailureCode;
use onward_core::input::{Choice, Input, Says};
use onward_core::run::PhaseStatus;
use onward_core::view;

use crate::common;
use crate::story::Story;

fn driven(phases: &str) -> Story {
    Story::of(common::plan(&format!("onward: 1\nname: demo\nphases:\n{phases}"))).driven()
}

const THREE: Outcome = Outcome::Exited { code: 3 };

/// A command fails four times in the same way. Each attempt is on record with its last line, all of them have one signature, and its
/// author's retries count, nothing else.
#[test]
fn a_command_is_remembered_and_never_stuck() {
    let mut story = driven("  a: { run: x, retry: { max: 3 } }\n");
    for line in [3, 14, 159, 2653] {
        story.end_saying("a", THREE, &format!("reading\nline {line}: no such file\n"));
        story.after(SignedDuration::from_hours(1));
    }
    let state = story.state("a").clone();
    assert_eq!(state.error.as_ref().map(|error| error.code), Some(FailureCode::ExitCode));
    assert_eq!(state.tries.len(), 4);
    assert!(state.tries.iter().all(|one| one.signature == state.tries[0].signature), "{:?}", state.tries);
    let record = view::phase_record(story.run.plan().phase(&onward_core::id::PhaseId::new("a")).expect("a"), &state);
    let last = record.failed_attempts.last().expect("the last one");
    assert_eq!((last.attempt, last.said.as_deref()), (4, Some("line 2653: no such file")));
    assert!(last.words().contains("last line: line 2653"), "{}", last.words());
    let told = brief(&story.run, 2_000).text;
    assert!(told.contains("attempt 4 (exit-code, ") && told.contains("line 14: no such file"), "{told}");
}

/// An attempt that is turned away by a limit, or is asked to end, has not failed; a phase that is done anew begins with a clean slate.
#[test]
fn what_is_no_failure_is_not_remembered() {
    let mut story = driven("  a: { run: x, retry: { max: 3 } }\n");
    story.end_saying("a", Outcome::Exited { code: 75 }, "retry-after: 30");
    assert!(story.state("a").tries.is_empty(), "{:?}", story.state("a").tries);
    story.later("a");
    story.fail("a");
    assert_eq!(story.state("a").tries.len(), 1);
    story.later("a");
    story.done("a");
    story.resume(&[("a", Choice::Retry)]);
    assert!(story.state("a").tries.is_empty());
}

/// Whoever reports the same failure three times, over retries and starts, is stuck. The same report once more says nothing new.
#[test]
pub(crate) fn the_same_report_three_times_is_stuck() {
    let mut story = driven("  a: { external: { instructions: Do it. }, retry: { max: 9, when: [failed] } }\n");
    let fails = |story: &mut Story, reason: &str| {
        story.report("a", Says::Start).expect("it may be begun");
        story.report("a", Says::Fail { reason: reason.to_owned() }).expect("it may fail");
        story.after(SignedDuration::from_hours(1));
    };
    fails(&mut story, "no such table: users (after 3 s)");
    fails(&mut story, "another thing");
    fails(&mut story, "no such table: users (after 14 s)");
    assert_eq!(story.status("a"), PhaseStatus::Pending);
    story.drive();
    fails(&mut story, "no such table: users (after 159 s)");
    assert_eq!(story.state("a").error.as_ref().map(|error| error.code), Some(FailureCode::Stuck));
    let again = story.report("a", Says::Fail { reason: "no such table: users (after 159 s)".to_owned() });
    assert_eq!(again, Ok(Vec::new()), "it did not hear the answer");
    assert_eq!(story.state("a").tries.len(), 4);
}

/// Files are looked at after an attempt failed alone: that is what it changed. Where another phase was at work nobody can say.
#[test]
fn what_a_failed_attempt_changed() {
    let file = |path: &str| FileModified { path: path.to_owned(), ..modified() };
    let mut story = driven("  a: { run: x }\n");
    story.fail("a");
    let files = (0..25).map(|number| file(&format!("src/{number:02}.rs"))).collect();
    story.take(&Input::TreeSeen { files });
    let last = story.state("a").tries[0].clone();
    assert_eq!((last.changed.len(), last.changed[0].as_str(), last.changed_more), (20, "src/00.rs", 5));
    story.take(&Input::TreeSeen { files: vec![file("later.rs")] });
    assert_eq!(story.state("a").tries[0].changed.len(), 20, "that was somebody else");
    let mut story = driven("  a: { run: x }\n  b: { run: x }\n");
    story.fail("a");
    story.take(&Input::TreeSeen { files: vec![file("src/a.rs")] });
    assert!(story.state("a").tries[0].changed.is_empty());
}

fn modified() -> FileModified {
    serde_json::from_value(serde_json::json!({ "path": "x", "status": "modified", "staged": false, "digest": "1" }))
        .expect("a file")
}
