//! Attempts that did not end well: repeated, failed, parked, or asked about. Small stories in virtual time.

use jiff::Timestamp;
use onward_core::effect::Effect;
use onward_core::event::{Event, Outcome, RunStarted, SnapshotRef, StopReason, StopRequest};
use onward_core::id::{Attempt, PhaseId};
use onward_core::input::{AttemptEnd, Choice, Input, Posted, Says};
use onward_core::run::verification::{self, Proof};
use onward_core::run::{self, PhaseStatus, RunStatus};

use crate::common;
use crate::story::Story;

/// One phase `a` with these keys, and `b` beside it.
fn driven_a(keys: &str) -> Story {
    driven(&format!("  a: {{ run: x{keys} }}\n  b: {{ run: x }}\n"))
}

fn driven(phases: &str) -> Story {
    let head = "onward: 1\nname: demo\non-failure: continue\nlimits: { api: {} }";
    Story::of(common::plan(&format!("{head}\nphases:\n{phases}"))).driven()
}

fn retry_of(events: &[Event]) -> Option<Timestamp> {
    events.iter().find_map(|event| match event {
        Event::RetryScheduled { not_before, .. } => Some(*not_before),
        _ => None,
    })
}

const FAILED: Outcome = Outcome::Exited { code: 3 };
const STOPPED: Outcome = Outcome::Stopped { by: StopRequest::OrphanKill, said_done: false };

/// A plan says after which ends a phase is tried again. After the others it has failed at once.
#[test]
fn each_kind_of_failure_has_its_word() {
    let could_not_start = Outcome::CouldNotStart { reason: "no such program".to_owned() };
    let ends = [
        (FAILED, "failed"),
        (Outcome::TimedOut, "timed-out"),
        (Outcome::Killed { signal: 9 }, "infra"),
        (could_not_start, "infra"),
    ];
    for word in ["failed", "timed-out", "infra"] {
        for (outcome, kind) in &ends {
            let mut story = driven_a(&format!(", retry: {{ max: 1, when: [{word}] }}"));
            let events = story.end("a", outcome.clone());
            assert_eq!(retry_of(&events).is_some(), word == *kind, "when: [{word}], and {outcome:?}");
            assert_eq!(
                story.state("a").status == PhaseStatus::Failed,
                word != *kind,
                "when: [{word}], and {outcome:?}"
            );
        }
    }
}

/// A plan repeats a phase only where the network was to blame. A mistake of the phase's own is not repeated, nor is an end by our
/// time limit or by a signal, whatever was printed.
#[test]
fn only_what_the_network_is_to_blame_for_is_repeated() {
    let reset = "curl: (56) Recv failure: Connection reset by peer\n";
    for (outcome, text, repeated) in [
        (FAILED, reset, true),
        (FAILED, "HTTP/1.1 503 Service Unavailable\n", true),
        (FAILED, "a mistake in line 503\n", false),
        (FAILED, "", false),
        (Outcome::TimedOut, reset, false),
        (Outcome::Killed { signal: 9 }, reset, false),
    ] {
        let mut story = driven_a(", retry: { max: 2, when: [transient] }");
        assert_eq!(
            retry_of(&story.end_saying("a", outcome.clone(), text)).is_some(),
            repeated,
            "{outcome:?}, {text:?}"
        );
    }
    let early = format!("{reset}{}", "a mistake of its own\n".repeat(300));
    let mut story = driven_a(", retry: { max: 2, when: [transient] }");
    assert_eq!(retry_of(&story.end_saying("a", FAILED, &early)), None, "what was said long before the end");
}

/// The check of a phase could not reach what it asks, and whoever does another says that the network failed: both are repeated, and
/// a check that says no is not.
#[test]
fn a_check_and_a_report_can_blame_the_network_too() {
    for (said, repeated) in [("ssh: connect to host h port 22: Connection refused", true), ("3 tests failed", false)] {
        let mut story =
            driven_a(", verify: [\"! grep -q 'connection refused' log\"], retry: { max: 1, when: transient }");
        story.done("a");
        let check = verification::CheckEnd { command: String::new(), code: Some(1), said: said.to_owned() };
        let proof = Box::new(Proof { checks: vec![check], ..Proof::default() });
        let events = story.take(&Input::Probed { phase: PhaseId::new("a"), proof });
        assert_eq!(retry_of(&events).is_some(), repeated, "{said}");

        let mut story = driven("  a: { external: { instructions: x }, retry: { max: 1, when: transient } }\n");
        let events = story.report("a", Says::Fail { reason: said.to_owned() }).expect("it may say so");
        assert_eq!(retry_of(&events).is_some(), repeated, "{said}");
    }
}

/// One kind of message is worth another try. A failure that says something else, or nothing, is not repeated.
#[test]
fn only_a_certain_message_is_repeated() {
    for (text, repeated) in [("read ECONNRESET\n", true), ("a typo\n", false), ("", false)] {
        let mut story = driven_a(", retry: { max: 2, output-matches: ECONN }");
        assert_eq!(retry_of(&story.end_saying("a", FAILED, text)).is_some(), repeated, "{text:?}");
    }
}

/// Somebody wants the run to end, and a phase fails before it was told. It has failed: no retry is left behind for a time at
/// which nobody is there.
#[test]
fn nothing_is_repeated_while_the_run_stops() {
    let mut story = driven_a(", retry: { max: 2 }");
    story.take(&Input::StopAsked { by: StopRequest::Interrupt });
    assert_eq!(retry_of(&story.end("a", FAILED)), None);
    assert_eq!(story.state("a").status, PhaseStatus::Failed);
}

/// Two phases fail at the same time. They do not come back at the same time, and neither before half of its wait is over.
#[test]
fn phases_that_failed_together_come_back_apart() {
    let mut story = driven_a(", retry: { max: 9, backoff: { initial: 100s, factor: 1 } }");
    let mut waits = Vec::new();
    for _ in 0..4 {
        let until = retry_of(&story.end("a", FAILED)).expect("it has retries left");
        waits.push(until.duration_since(story.now).as_millis());
        story.later("a");
    }
    assert!(waits.iter().all(|wait| (50_000..=100_000).contains(wait)), "{waits:?}");
    waits.sort_unstable();
    waits.dedup();
    assert!(waits.len() == 4, "{waits:?}");
}

/// Nobody saw how an attempt ended, or it was told to end. Who is asked about it follows from what the phase says, and without
/// a word from what it does: an outward effect is not repeated unasked because somebody pressed Ctrl+C in the middle of it.
#[test]
fn who_is_asked_about_an_end_that_nobody_saw() {
    for (keys, asked) in [
        ("", false),
        (", effects: external", true),
        (", on-interrupt: ask", true),
        (", effects: external, on-interrupt: rerun", false),
        (", effects: external, on-interrupt: continue", false),
        (", effects: external, done-when: [test -e x]", false),
        // No snapshot was taken that its files could be put back from.
        (", writes: [out], on-interrupt: rerun-clean", true),
    ] {
        for outcome in [Outcome::Unknown, STOPPED] {
            let mut story = driven_a(keys);
            story.end("a", outcome.clone());
            assert_eq!(story.state("a").in_doubt, asked, "{keys:?}, {outcome:?}");
        }
    }
}

/// An attempt was stopped, or nobody saw its end, and its outputs cannot be read. Its probe is asked all the same before anything
/// is done again.
#[test]
fn a_probe_is_asked_also_where_outputs_cannot_be_read() {
    for outcome in [Outcome::Unknown, STOPPED] {
        let mut story = driven_a(", effects: external, done-when: [test -e x]");
        let phase = PhaseId::new("a");
        let end = AttemptEnd { outputs: Err("they are torn".to_owned()), ..AttemptEnd::bare(outcome) };
        story.take(&Input::AttemptEnded { phase: phase.clone(), attempt: Attempt(1), end });
        assert_eq!(story.state("a").attempts, 1, "it is not begun again unseen");
        assert!(run::wanted(&story.run, story.now).contains(&Effect::Probe { phase }));
    }
}

/// Nobody saw how an attempt ended, and its phase has a probe. It is asked before anything is done again, and where the effect is
/// there nothing is.
#[test]
fn a_probe_is_asked_before_the_second_attempt() {
    for (seen, status, in_doubt) in [
        (verification::EffectFound::There, PhaseStatus::Completed, false),
        (verification::EffectFound::Absent, PhaseStatus::Running, false),
        (verification::EffectFound::CannotTell, PhaseStatus::Interrupted, true),
    ] {
        let mut story = driven_a(", effects: external, done-when: [test -e x]");
        story.end("a", Outcome::Unknown);
        assert_eq!(story.state("a").attempts, 1, "it is not begun again unseen");
        let phase = PhaseId::new("a");
        assert!(run::wanted(&story.run, story.now).contains(&Effect::Probe { phase: phase.clone() }));
        let proof = Box::new(Proof { effect: Some(seen), ..Proof::default() });
        story.take(&Input::Probed { phase, proof });
        assert_eq!((story.state("a").status, story.state("a").in_doubt), (status, in_doubt), "{seen:?}");
    }
}

/// The effect is not there, and the plan wants a person to say what happens then.
#[test]
fn a_probe_that_says_no_is_no_answer_where_a_person_is_to_give_it() {
    let mut story = driven_a(", on-interrupt: ask, done-when: [test -e x]");
    story.end("a", Outcome::Unknown);
    let proof = Box::new(Proof { effect: Some(verification::EffectFound::Absent), ..Proof::default() });
    story.take(&Input::Probed { phase: PhaseId::new("a"), proof: proof.clone() });
    assert!(story.state("a").in_doubt && story.state("a").attempts == 1);
    assert!(story.take(&Input::Probed { phase: PhaseId::new("a"), proof }).is_empty(), "it was heard once");
}

/// A phase says it is done, and what it gives out cannot be read. It has failed, and says so.
#[test]
fn outputs_that_cannot_be_read_are_a_failure() {
    let mut story = driven_a("");
    story
        .end_as("a", AttemptEnd { outputs: Err("line 2".to_owned()), ..AttemptEnd::bare(Outcome::Exited { code: 0 }) });
    let error = story.state("a").error.as_ref().expect("it failed");
    assert!(error.code.as_str() == "bad-outputs" && error.message.contains("line 2"), "{error:?}");
}

/// Outputs that cannot be read are a failure like any other: it is tried again while there are retries, and its plan
/// says what comes then.
#[test]
fn outputs_that_cannot_be_read_are_retried_and_then_as_the_plan_says() {
    let unreadable =
        || AttemptEnd { outputs: Err("line 2".to_owned()), ..AttemptEnd::bare(Outcome::Exited { code: 0 }) };
    let mut story = driven_a(", retry: { max: 1, backoff: { initial: 10s } }");
    story.end_as("a", unreadable());
    assert_eq!(
        (story.state("a").status, story.state("a").failures),
        (PhaseStatus::Pending, 1),
        "{:?}",
        story.state("a").error
    );
    assert!(story.state("a").not_before.is_some(), "a retry is due");
    let mut story = driven_a(", on-failure: replan");
    story.end_as("a", unreadable());
    assert!(story.run.replans.asked_by(&PhaseId::new("a")).is_some(), "another plan is asked for");
    let mut story = driven_a(", on-failure: skip");
    story.end_as("a", unreadable());
    assert_eq!(story.state("a").status, PhaseStatus::Skipped);
}

/// A phase never comes to run, three times in a row. It is parked as one that takes its host down.
#[test]
fn what_never_runs_is_parked() {
    let mut story = driven_a("");
    for attempts in 1..=3 {
        assert_eq!((story.state("a").attempts, story.state("a").parked), (attempts, false));
        story.end("a", Outcome::NeverRan);
    }
    assert!(story.state("a").parked && story.state("a").attempts == 3);
}

/// Two ends that nobody saw, then one that somebody did. The row is broken, whatever that end was, and two more do not park the
/// phase.
#[test]
fn an_end_that_was_seen_breaks_the_row() {
    for seen in [FAILED, STOPPED] {
        let mut story = driven_a(", retry: { max: 9 }");
        for outcome in [Outcome::Unknown, Outcome::Unknown, seen.clone(), Outcome::Unknown, Outcome::Unknown] {
            story.end("a", outcome);
            if story.state("a").status != PhaseStatus::Running {
                story.later("a");
            }
        }
        assert!(!story.state("a").parked, "{seen:?}");
        story.end("a", Outcome::Unknown);
        assert!(story.state("a").parked, "{seen:?}");
    }
}

/// A phase was parked and a person has it retried. It has all its tries again: those after a failure, and those after an end that
/// nobody saw.
#[test]
fn a_retry_by_hand_gives_everything_back() {
    let again =
        Input::Posted(Posted::Choose { phase: PhaseId::new("a"), choice: Choice::Retry, by: None, reason: None });
    let mut story = driven_a("");
    for _ in 0..3 {
        story.end("a", Outcome::Unknown);
    }
    story.take(&again);
    story.end("a", Outcome::Unknown);
    assert_eq!((story.state("a").parked, story.state("a").status), (false, PhaseStatus::Running));

    let mut story = driven_a(", retry: { max: 1 }");
    story.end("a", FAILED);
    story.later("a");
    story.end("a", FAILED);
    assert_eq!(story.state("a").status, PhaseStatus::Failed);
    story.take(&again);
    assert!(retry_of(&story.end("a", FAILED)).is_some(), "it has its retry again");
}

/// A phase takes its host down, and its plan would skip what fails. It is left alone all the same: nobody knows what it did.
#[test]
fn what_is_parked_is_not_skipped() {
    let mut story = driven_a(", on-failure: skip");
    for _ in 0..3 {
        story.end("a", Outcome::Unknown);
    }
    assert_eq!((story.state("a").status, story.run.status()), (PhaseStatus::Failed, RunStatus::Running), "b goes on");
}

/// An agent is ended by its time limit, or by a signal, while a service turns it away. It was the limit, and not a failure.
#[test]
fn who_is_turned_away_until_it_is_killed_has_not_failed() {
    for outcome in [Outcome::TimedOut, Outcome::Killed { signal: 9 }] {
        let mut story = driven_a(", limits: [api]");
        let events = story.end_saying("a", outcome.clone(), "HTTP 429 Too Many Requests\nretry-after: 30\n");
        assert!(events.iter().any(|event| matches!(event, Event::LimitHit(_))), "{outcome:?}: {events:?}");
    }
}

/// Nobody knows whether an outward effect happened. Until a person has said so nothing is begun, not even what has nothing to do
/// with it and has a place.
#[test]
fn nothing_begins_beside_a_doubt() {
    let mut story = driven(
        "  a: { run: x, effects: external, priority: critical }\n  b: { run: x }\n  c: { run: x, needs: b }\n  d: { run: x }\n",
    );
    story.end("a", Outcome::Unknown);
    let end = AttemptEnd::bare(Outcome::Exited { code: 0 });
    story.take(&Input::AttemptEnded { phase: PhaseId::new("b"), attempt: Attempt(1), end });
    let at_work: Vec<&str> = story.run.running().map(|(phase, _)| phase.id.as_str()).collect();
    assert_eq!(at_work, ["d"], "c could begin");
}

/// A snapshot was taken before the first attempt. After an interruption the files are put back from it where the plan says so,
/// after a failure only where a person says so.
#[test]
fn files_are_put_back_after_an_interruption() {
    let text = "onward: 1\nname: demo\nphases:\n  a: { run: x, writes: [out], on-interrupt: rerun-clean, retry: { max: 1, backoff: { initial: 0s } } }\n";
    let started = RunStarted { snapshots: true, ..common::started(common::plan(text)) };
    let mut story = Story::started(started).driven();
    let mut number = 0;
    let mut snapshots = |story: &mut Story| {
        while run::wanted(&story.run, story.now).contains(&Effect::Snapshot) {
            number += 1;
            let snapshot = SnapshotRef { commit: format!("c{number}"), number, left_out: Vec::new(), head: None };
            story.take(&Input::Snapshotted(Ok(snapshot)));
        }
    };
    let clean = |story: &Story| story.state("a").attempt.as_ref().expect("at work").clean.clone();
    snapshots(&mut story);
    assert_eq!((story.state("a").attempts, clean(&story)), (1, None));
    story.end("a", FAILED);
    assert_eq!((story.state("a").attempts, clean(&story)), (2, None), "a failure may leave something to go on with");
    story.end("a", STOPPED);
    assert_eq!((story.state("a").attempts, clean(&story).as_deref()), (3, Some("c1")));
    story.end("a", FAILED);
    snapshots(&mut story);
    assert_eq!(story.state("a").status, PhaseStatus::Failed);
    story.take(&Input::Posted(Posted::Choose {
        phase: PhaseId::new("a"),
        choice: Choice::RetryClean,
        by: None,
        reason: None,
    }));
    story.drive();
    snapshots(&mut story);
    assert_eq!(
        (story.state("a").attempts, clean(&story).as_deref()),
        (4, Some("c1")),
        "as it was before the first attempt"
    );
}

/// The end of an attempt is told that is not the one at work: it comes late, or from somebody who counts otherwise. It is refused,
/// and the one at work goes on.
#[test]
fn the_end_of_another_attempt_is_refused() {
    let mut story = driven_a(", retry: { max: 1 }");
    story.end("a", FAILED);
    story.later("a");
    for number in [1, 3] {
        let end = AttemptEnd::bare(Outcome::Exited { code: 0 });
        let input = Input::AttemptEnded { phase: PhaseId::new("a"), attempt: Attempt(number), end };
        let refused = run::step(&mut story.run, &input, "ada", story.now).map(|_| ());
        assert_eq!(refused, Err(run::Refusal::NotAtWork(PhaseId::new("a"), Attempt(number))));
    }
    assert_eq!((story.state("a").status, story.state("a").attempts), (PhaseStatus::Running, 2));
}

/// A driver is gone without a word. That is noted once, and not of a run that had come to its end.
#[test]
fn a_driver_that_is_gone_is_noted_once() {
    let mut story = driven("  a: { run: x }\n");
    assert_eq!(story.take(&Input::DriverGone), [Event::RunStopped { reason: StopReason::DriverGone }]);
    assert_eq!(story.take(&Input::DriverGone), []);
    let mut story = driven("  a: { run: x }\n");
    story.end("a", Outcome::Exited { code: 0 });
    assert_eq!((story.take(&Input::DriverGone), story.run.status()), (vec![], RunStatus::Completed));
}

/// A phase was interrupted, and its plan does not say that its files are to be put back. They are left as they are.
#[test]
fn files_are_left_as_they_are_without_a_word() {
    for word in ["", ", on-interrupt: rerun", ", on-interrupt: continue"] {
        let text = format!("onward: 1\nname: demo\nphases:\n  a: {{ run: x, writes: [out]{word} }}\n");
        let started = RunStarted { snapshots: true, ..common::started(common::plan(&text)) };
        let mut story = Story::started(started).driven();
        let snapshot = SnapshotRef { commit: "c1".to_owned(), number: 1, left_out: Vec::new(), head: None };
        story.take(&Input::Snapshotted(Ok(snapshot)));
        story.end("a", STOPPED);
        let attempt = story.state("a").attempt.as_ref().expect("it is at work again");
        assert_eq!((attempt.number, &attempt.clean), (Attempt(2), &None), "{word:?}");
    }
}
