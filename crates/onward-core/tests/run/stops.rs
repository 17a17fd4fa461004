//! Somebody wants a run to stop: nothing is begun any more, nothing is waited for that may hang, and nothing is lost by it.

use jiff::SignedDuration;
use onward_core::effect::Effect;
use onward_core::event::{CommitRule, Event, Outcome, RunStarted, SnapshotRef, StopReason, StopRequest};
use onward_core::input::Input;
use onward_core::run::Ending;

use crate::common;
use crate::story::Story;

/// The time goes on only where the story says so.
fn driven(plan: &str, change: impl FnOnce(RunStarted) -> RunStarted) -> Story {
    let story = Story::started(change(common::started(common::plan(plan))));
    Story { pace: SignedDuration::ZERO, ..story }.driven()
}

const CHAIN: &str = "onward: 1\nname: demo\nphases:\n  a: { run: x }\n  b: { needs: a, run: x }\n";

fn snapshots(started: RunStarted) -> RunStarted {
    RunStarted { snapshots: true, ..started }
}

/// A snapshot is wanted and a stop is asked for. The checkpoints are taken without it, the run is left, and nothing is started.
#[test]
fn a_stop_does_not_wait_for_a_snapshot() {
    for by in [StopRequest::Interrupt, StopRequest::SessionEnd, StopRequest::Hangup] {
        let mut story = driven(CHAIN, snapshots);
        assert_eq!(story.wanted(), [Effect::Snapshot], "of the start");
        let kept = SnapshotRef { commit: "1".repeat(40), number: 1, left_out: Vec::new(), head: None };
        story.take(&Input::Snapshotted(Ok(kept)));
        story.end("a", Outcome::Exited { code: 0 });
        assert_eq!(story.wanted(), [Effect::Snapshot]);
        let events = story.stop(by);
        let taken = events.iter().filter(|event| matches!(event, Event::CheckpointTaken { .. })).count();
        assert_eq!((taken, story.run.ending()), (2, by.reason().map(Ending::Stopped)), "{events:?}");
        assert!(
            !events.iter().any(|event| matches!(event, Event::AttemptStarted { .. } | Event::SnapshotMissed { .. }))
        );
    }
}

/// A commit was begun and a stop is asked for. The run is left with the commit begun, and the next driver wants it first.
#[test]
fn a_stop_leaves_a_commit_begun() {
    let rule =
        CommitRule { every: 1, message: "work".to_owned(), trailers: Vec::new(), names_agents: false, hooks: false };
    let mut story = driven(CHAIN, |started| RunStarted { commits: Some(rule), ..started });
    story.end("a", Outcome::Exited { code: 0 });
    assert_eq!(story.wanted(), [Effect::Commit { number: 1 }]);
    story.stop(StopRequest::Interrupt);
    assert_eq!(story.run.ending(), Some(Ending::Stopped(StopReason::Interrupt)));
    story.take(&Input::Begin(common::begin(2)));
    assert_eq!(story.wanted(), [Effect::Commit { number: 1 }]);
}

/// A phase does not end by what it is asked, or cannot be reached at all. The run is left with the phase at work, later where it
/// was asked and soon where it was to be killed, and the next driver looks what became of it.
#[test]
fn a_stop_does_not_wait_for_ever() {
    for (asked, patience_ms) in [(1, 9_200), (2, 2_500)] {
        let mut story = driven(CHAIN, |started| started);
        for _ in 0..asked {
            story.stop(StopRequest::SessionEnd);
        }
        assert!(story.after(SignedDuration::from_millis(patience_ms - 1)).is_empty());
        assert_eq!(story.after(SignedDuration::from_millis(1)), [Event::RunStopped { reason: StopReason::SessionEnd }]);
        assert_eq!(story.run.running().count(), 1);
        story.take(&Input::Begin(common::begin(2)));
        assert!(matches!(story.wanted()[..], [Effect::Recover { .. }]));
    }
}

/// A retry becomes due, a phase ends well, another one fails, phases of `finally` and another plan wait: whatever comes after a
/// stop, nothing is begun.
#[test]
fn a_stop_begins_nothing() {
    let plan = "
        onward: 1
        name: demo
        max-parallel: 3
        replan: { run: x, approval: false }
        phases:
          a: { run: x, retry: { max: 3, backoff: { initial: 5s } } }
          b: { run: x }
          c: { run: x, on-failure: replan }
          d: { needs: b, run: x }
        finally:
          z: { run: x }
        ";
    for by in [StopRequest::Interrupt, StopRequest::SessionEnd] {
        let mut story = driven(plan, snapshots);
        let kept = SnapshotRef { commit: "1".repeat(40), number: 1, left_out: Vec::new(), head: None };
        story.take(&Input::Snapshotted(Ok(kept)));
        story.end("a", Outcome::Exited { code: 1 });
        let mut events = story.stop(by);
        events.extend(story.end("b", Outcome::Exited { code: 0 }));
        events.extend(story.after(SignedDuration::from_secs(6)));
        assert!(story.wanted().iter().all(|effect| matches!(effect, Effect::Stop { .. } | Effect::WakeAt(_))));
        events.extend(story.end("c", Outcome::Exited { code: 1 }));
        let begun = |event: &&Event| matches!(event, Event::AttemptStarted { .. } | Event::CommitBegun { .. });
        assert_eq!(events.iter().find(begun), None);
        assert_eq!(story.run.ending(), by.reason().map(Ending::Stopped));
    }
}
