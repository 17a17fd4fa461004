//! The rules of a run: inputs in, events out. Each test tells a small story in virtual time.

use jiff::SignedDuration;
use onward_core::checkpoint::{self, CheckpointBytes, Trigger};
use onward_core::effect::Effect;
use onward_core::event::{Event, Orphans, Outcome, StopReason, StopRequest, Urgency};
use onward_core::id::{Attempt, PhaseId};
use onward_core::input::{Begin, Choice, Input, Posted};
use onward_core::run::{self, Ending, PhaseStatus, RunStatus, cache};

use crate::common;
use crate::story::{Story, chosen, names};

fn driven(plan: &str) -> Story {
    Story::of(common::plan(plan)).driven()
}

const CHAIN: &str =
    "onward: 1\nname: demo\nphases:\n  a: { run: x }\n  b: { needs: a, run: x }\n  c: { needs: b, run: x }\n";

/// One phase ends and the next begins. All of it, checkpoint included, is one step and so one commit.
#[test]
fn the_end_of_a_phase_its_checkpoint_and_the_next_start_are_one_step() {
    let mut story = driven(CHAIN);
    assert_eq!(story.at_work(), ["a"]);
    let events = story.done("a");
    let expected = ["attempt_ended", "phase_completed", "batch_completed", "checkpoint_taken", "attempt_started"];
    assert_eq!(names(&events), expected);
    assert_eq!(story.at_work(), ["b"]);
}

/// The last phase ends. Its checkpoint comes before the end of the run, and nothing is wanted any more.
#[test]
fn the_last_phase_leaves_a_checkpoint_too() {
    let mut story = driven(CHAIN);
    story.done("a");
    story.done("b");
    let events = story.done("c");
    let expected = ["attempt_ended", "phase_completed", "batch_completed", "checkpoint_taken", "run_ended"];
    assert_eq!(names(&events), expected);
    assert_eq!(story.run.ending(), Some(Ending::Completed));
    assert!(story.wanted().is_empty());
}

/// A phase fails without retries. What needs it never starts, the run has failed, and a resume tries it again.
#[test]
fn a_failure_ends_the_run_and_a_resume_tries_again() {
    let mut story = driven(CHAIN);
    story.done("a");
    story.fail("b");
    assert_eq!(story.run.status(), RunStatus::Failed);
    assert_eq!(story.state("b").error.as_ref().map(|error| error.message.as_str()), Some("exited with code 3"));
    story.resume(&[]);
    assert_eq!(story.at_work(), ["b"]);
    assert_eq!((story.state("b").attempts, story.state("b").generation.0), (2, 1));
}

/// Two retries are allowed. The third failure is the last, and each wait is longer than the one before.
#[test]
fn retries_are_counted_and_spaced() {
    let plan = "onward: 1\nname: demo\nphases:\n  a: { run: x, retry: { max: 2, backoff: { initial: 10s, jitter: false } } }\n";
    let mut story = driven(plan);
    for seconds in [10, 20] {
        let events = story.fail("a");
        let Some(Event::RetryScheduled { not_before, .. }) = events.last() else { panic!("{events:?}") };
        assert_eq!(not_before.duration_since(story.now), SignedDuration::from_secs(seconds));
        assert_eq!(story.wanted(), [Effect::WakeAt(*not_before)]);
        assert!(story.take(&Input::Tick).is_empty(), "it is not started before its time");
        story.now = *not_before;
        assert_eq!(names(&story.take(&Input::Tick)), ["attempt_started"]);
    }
    story.fail("a");
    assert_eq!((story.run.status(), story.state("a").attempts), (RunStatus::Failed, 3));
}

/// I6: Ctrl+C comes ten times. None of it uses up the retries, of which there are none.
#[test]
fn i6_interruptions_use_up_no_retries() {
    let mut story = driven(CHAIN);
    for round in 1..=10 {
        let events = story.take(&Input::StopAsked { by: StopRequest::Interrupt });
        assert_eq!(names(&events), ["stop_asked", "checkpoint_taken"], "the checkpoint comes first, at once");
        assert!(matches!(story.wanted()[..], [Effect::Stop { urgency: Urgency::Ask, .. }]));
        story.end("a", Outcome::Stopped { by: StopRequest::Interrupt, said_done: false });
        assert_eq!(story.run.ending(), Some(Ending::Stopped(StopReason::Interrupt)));
        assert_eq!(story.state("a").status, PhaseStatus::Interrupted);
        story.drive();
        assert_eq!((story.at_work(), story.state("a").attempts), (vec!["a"], round + 1));
    }
}

/// The second Ctrl+C means now.
#[test]
fn asked_twice_means_kill() {
    let mut story = driven(CHAIN);
    story.take(&Input::StopAsked { by: StopRequest::Interrupt });
    story.take(&Input::StopAsked { by: StopRequest::Interrupt });
    assert!(matches!(story.wanted()[..], [Effect::Stop { urgency: Urgency::Kill, by: StopRequest::Interrupt, .. }]));
    assert!(story.take(&Input::StopAsked { by: StopRequest::Interrupt }).is_empty());
}

/// The terminal is closed. The run is left at once, and its phase stays on record as running.
#[test]
fn a_hangup_leaves_the_phases_alone() {
    let mut story = driven(CHAIN);
    let events = story.take(&Input::StopAsked { by: StopRequest::Hangup });
    assert_eq!(names(&events), ["stop_asked", "checkpoint_taken", "run_stopped"]);
    assert_eq!((story.at_work(), story.run.status()), (vec!["a"], RunStatus::Interrupted));
    story.drive();
    assert!(matches!(story.wanted()[..], [Effect::Recover { .. }]));
}

/// I5: a new driver finds an attempt of the old one. Nothing is started before it was looked at, and then only the rest.
#[test]
fn i5_nothing_starts_before_orphans_were_looked_at() {
    let plan = "onward: 1\nname: demo\nphases:\n  a: { run: x }\n  b: { run: x, priority: low }\n  c: { needs: a, run: x }\nmax-parallel: 1\n";
    let mut story = driven(plan);
    let begun = story.begin(Begin { pid: 2, jobs: Some(4), ..common::begin(0) }).expect("a driver may begin");
    assert_eq!(names(&begun), ["driver_started"]);
    let found = Input::AttemptFound { phase: PhaseId::new("a"), attempt: Attempt(1), alive: true };
    assert_eq!(names(&story.take(&found)), ["attempt_adopted", "attempt_started"]);
    assert_eq!(story.at_work(), ["a", "b"]);
}

/// An orphan is to be killed. It is stopped by our order, so the phase is neither failed nor done, and runs again.
#[test]
fn an_unwanted_orphan_is_killed_first() {
    let mut story = driven(CHAIN);
    story.begin(Begin { orphans: Orphans::Kill, ..common::begin(0) }).expect("a driver may begin");
    story.take(&Input::AttemptFound { phase: PhaseId::new("a"), attempt: Attempt(1), alive: true });
    assert!(matches!(story.wanted()[..], [Effect::Stop { urgency: Urgency::Kill, by: StopRequest::OrphanKill, .. }]));
    story.end("a", Outcome::Stopped { by: StopRequest::OrphanKill, said_done: false });
    assert_eq!((story.at_work(), story.state("a").attempts), (vec!["a"], 2));
}

/// A phase takes the host down three times in a row. It is parked, the rest goes on, and only an order starts it again.
#[test]
fn three_unknown_ends_in_a_row_park_a_phase() {
    let plan =
        "onward: 1\nname: demo\nmax-parallel: 1\nphases:\n  bomb: { run: x, priority: critical }\n  rest: { run: x }\n";
    let mut story = driven(plan);
    for _ in 0..2 {
        story.resume(&[]);
        story.end("bomb", Outcome::Unknown);
        assert_eq!(story.at_work(), ["bomb"]);
    }
    story.resume(&[]);
    story.end("bomb", Outcome::Unknown);
    assert_eq!(story.at_work(), ["rest"]);
    story.done("rest");
    assert_eq!(story.run.ending(), Some(Ending::Failed));
    story.resume(&[]);
    assert_eq!(story.run.ending(), Some(Ending::Failed), "a plain resume leaves it alone");
    story.resume(&[("bomb", Choice::Retry)]);
    assert_eq!(story.at_work(), ["bomb"]);
}

/// Nobody knows whether an outward effect happened. Nothing starts, the run waits for a person, and each answer counts.
#[test]
fn an_outward_effect_in_doubt_is_asked_about() {
    let plan = "onward: 1\nname: demo\nphases:\n  a: { run: x, effects: external }\n  b: { run: x, needs: a }\n";
    for (choice, at_work) in [(Choice::Retry, "a"), (Choice::Skip, "b"), (Choice::Adopt, "b")] {
        let mut story = driven(plan);
        story.drive();
        story.end("a", Outcome::Unknown);
        assert_eq!(story.run.ending(), Some(Ending::Stopped(StopReason::Question)));
        story.resume(&[]);
        assert_eq!(story.run.ending(), Some(Ending::Stopped(StopReason::Question)), "--resume is no answer");
        story.resume(&[("a", choice)]);
        assert_eq!(story.at_work(), [at_work]);
        assert_eq!(story.state("a").generation.0, 1, "the same idempotency key");
    }
}

/// I3: a finished phase is started again only under a new generation.
#[test]
fn i3_a_finished_phase_wants_a_new_generation() {
    let mut story = driven(CHAIN);
    story.done("a");
    story.take(&Input::StopAsked { by: StopRequest::Interrupt });
    story.end("b", Outcome::Stopped { by: StopRequest::Interrupt, said_done: false });
    story.drive_with(&[("a", Choice::Retry)]);
    assert_eq!(story.state("a").generation.0, 2);
    assert!(story.at_work().contains(&"a"));
    let refused = story.begin(Begin { choices: chosen(&[("nosuch", Choice::Retry)]), ..common::begin(0) });
    assert_eq!(refused, Err(run::Refusal::NoSuchPhase(PhaseId::new("nosuch"))));
}

/// One phase fails while another is at work and a third is waiting: the three policies of a plan.
#[test]
fn what_happens_to_the_others_after_a_failure() {
    for (policy, after_failure, late_runs) in [("continue", 2, true), ("finish", 1, false), ("stop", 1, false)] {
        let plan = format!(
            "onward: 1\nname: demo\nmax-parallel: 2\non-failure: {policy}\nphases:\n  bad: {{ run: x }}\n  busy: {{ run: x }}\n  late: {{ run: x }}\n"
        );
        let mut story = driven(&plan);
        story.fail("bad");
        assert_eq!(story.at_work().len(), after_failure, "{policy}");
        let stops = story.wanted().iter().any(|effect| matches!(effect, Effect::Stop { by: StopRequest::Failure, .. }));
        assert_eq!(stops, policy == "stop");
        let end = if stops {
            Outcome::Stopped { by: StopRequest::Failure, said_done: false }
        } else {
            Outcome::Exited { code: 0 }
        };
        story.end("busy", end);
        if late_runs {
            story.done("late");
        }
        assert_eq!(story.run.ending(), Some(Ending::Failed), "{policy}");
        assert_eq!(story.state("late").attempts > 0, late_runs, "{policy}");
    }
}

/// Two phases write the same files, a third does not. The two take turns.
#[test]
fn writers_of_the_same_files_take_turns() {
    let plan = "onward: 1\nname: demo\nphases:\n  a: { run: x, writes: out/** }\n  b: { run: x, writes: out/b.txt }\n  c: { run: x, writes: doc/** }\n";
    let mut story = driven(plan);
    assert_eq!(story.at_work(), ["a", "c"]);
    story.done("a");
    assert_eq!(story.at_work(), ["b", "c"]);
}

/// Ready phases are started by priority first, then by what would be hardest to reconstruct.
#[test]
fn the_hardest_to_reconstruct_goes_first() {
    let plan = "onward: 1\nname: demo\nmax-parallel: 1\nphases:\n  docs: { kind: docs, run: x }\n  code: { kind: code, run: x }\n  commit: { kind: commit, run: x }\n  issue: { kind: issue, run: x }\n  late: { kind: issue, priority: low, run: x }\n  first: { kind: docs, priority: critical, run: x }\n";
    let mut story = driven(plan);
    let mut order = Vec::new();
    while let [phase] = story.at_work()[..] {
        let phase = phase.to_owned();
        order.push(phase.clone());
        story.done(&phase);
    }
    assert_eq!(order, ["first", "issue", "commit", "code", "docs", "late"]);
}

/// A checkpoint by hand is about the phase at work, and an archived run accepts nothing more.
#[test]
fn posted_requests_are_decided_like_everything_else() {
    let mut story = driven(CHAIN);
    let events = story.take(&Input::Posted(Posted::Checkpoint { name: Some("before".to_owned()) }));
    let [Event::CheckpointTaken { phase, name, .. }] = &events[..] else { panic!("{events:?}") };
    assert_eq!((phase.as_ref().map(PhaseId::as_str), name.as_deref()), (Some("a"), Some("before")));
    story.take(&Input::Posted(Posted::Archive));
    assert_eq!(story.run.status(), RunStatus::Archived);
    assert!(story.wanted().is_empty());
    assert_eq!(story.begin(common::begin(0)), Err(run::Refusal::Archived));
}

/// An agent is about to lose what it knows. What is not in the newest checkpoint is put into one; where nothing is new, none is
/// taken.
#[test]
fn the_end_of_an_agents_session_saves_what_is_new() {
    let mut story = driven(CHAIN);
    let saved = |story: &mut Story| story.take(&Input::Posted(Posted::SessionEnd));
    let events = saved(&mut story);
    let [Event::CheckpointTaken { triggers, phase, .. }] = &events[..] else { panic!("{events:?}") };
    assert_eq!((&triggers[..], phase.as_ref().map(PhaseId::as_str)), (&[Trigger::SessionEnd][..], Some("a")));
    assert_eq!(saved(&mut story), []);
    story.take(&Input::Posted(Posted::Merge { patch: object(r#"{"note": "new"}"#) }));
    assert_eq!(saved(&mut story).len(), 1);
}

/// The checkpoints of a run are one whole document and patches. Each can be read without the journal, and each says
/// where to go on.
#[test]
fn i8_a_checkpoint_is_read_without_its_journal() {
    let mut story = driven(CHAIN);
    let CheckpointBytes::Whole(keyframe) = story.taken[0].content.clone() else { panic!("the first one is whole") };
    story.take(&Input::Posted(Posted::Merge { patch: object(r#"{"note": "kept"}"#) }));
    story.done("a");
    let CheckpointBytes::Patch(patch) = story.taken[1].content.clone() else { panic!("later ones are patches") };
    let first = checkpoint::assemble(&keyframe, &[]).expect("our own bytes");
    let second = checkpoint::assemble(&keyframe, &[patch]).expect("our own bytes");
    assert_eq!((first.completed_phases.len(), first.state.len()), (0, 0));
    assert_eq!(second.completed_phases, [PhaseId::new("a")]);
    assert_eq!(second.recovery.resume_from, [PhaseId::new("b")]);
    assert_eq!(second.state["note"], "kept");
    assert_eq!(second.seq, story.taken[1].seq);
}

/// A state is saved as completed by a script without a plan. The run ends; the next save would begin another.
#[test]
fn a_saved_state_may_end_its_run() {
    let mut story = driven("onward: 1\nname: demo\nphases:\n  a: { run: x }\n");
    story.take(&Input::Posted(Posted::Save { state: object(r#"{"status": "completed", "n": 1}"#) }));
    assert_eq!(story.run.status(), RunStatus::Running, "a run with phases ends when they do");
    assert_eq!(story.run.state["n"], 1);
    let refused =
        Posted::Change { ops: vec![onward_core::patch::Op::Remove { path: "/nosuch".to_owned() }], ends: None };
    let mut copy = story.run.clone();
    assert!(run::step(&mut copy, &Input::Posted(refused), "ada", story.now).is_err());
}

/// A run goes through the fold cache and back. It is the same run, and goes on in the same way.
#[test]
fn i1_the_fold_cache_gives_the_same_run() {
    let mut story = driven(CHAIN);
    story.take(&Input::Posted(Posted::Merge { patch: object(r#"{"list": [1, 2, {"x": null}]}"#) }));
    story.fail("a");
    let back = cache::decode(&cache::encode(&story.run)).expect("our own bytes");
    assert_eq!(format!("{back:?}"), format!("{:?}", story.run));
    assert!(cache::decode(b"something else").is_none());
}

fn object(text: &str) -> serde_json::Map<String, serde_json::Value> {
    serde_json::from_str(text).expect("an object")
}
