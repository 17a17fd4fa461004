//! External phases: approvals, reports, and silence. Small stories in virtual time.

use jiff::SignedDuration;
use onward_core::effect::Effect;
use onward_core::event::{Event, Outcome, RewindBegun, StopReason};
use onward_core::id::{Attempt, PhaseId};
use onward_core::input::{AttemptEnd, Choice, CommitIs, DoneSaid, Input, Posted, Says};
use onward_core::run::verification::{ArtifactCopied, ArtifactFound, ArtifactState, CheckEnd, Proof};
use onward_core::run::{self, Ending, NoNext, PhaseStatus, Refusal, RunStatus};

use crate::common;
use crate::story::{Story, names};

fn driven(phases: &str) -> Story {
    let mut story = Story::of(common::plan(&format!("onward: 1\nname: demo\nphases:\n{phases}")));
    story.resume(&[]);
    story
}

impl Story {
    fn answer(&mut self, phase: &str, choice: &str) -> Result<Vec<Event>, Refusal> {
        let (phase, choice) = (PhaseId::new(phase), choice.to_owned());
        self.step(&Input::Posted(Posted::Answer { phase, choice, by: "ada@h".to_owned(), reason: None, call: None }))
    }

    fn waits(&self) -> bool {
        self.run.ending() == Some(Ending::Stopped(StopReason::Waiting)) && self.run.status() == RunStatus::Waiting
    }

    fn next(&self) -> Result<&str, NoNext> {
        self.run.next_for_others(self.now).map(|phase| phase.id.as_str())
    }
}

fn claim(proof: Proof) -> Says {
    Says::Done(Box::new(DoneSaid { proof, ..DoneSaid::default() }))
}

fn fail(reason: &str) -> Says {
    Says::Fail { reason: reason.to_owned() }
}

fn remains(text: &str) -> Says {
    Says::Done(Box::new(DoneSaid { remaining: text.to_owned(), ..DoneSaid::default() }))
}

const GATE: &str = "  a: { run: x }\n  gate: { needs: a, approval: { message: go? } }\n  b: { needs: gate, run: x }\n";

/// A person says yes while nobody drives, and says it again. It counts once, and the next driver goes on.
#[test]
fn an_approval_is_given_once() {
    let mut story = driven(GATE);
    story.done("a");
    assert!(story.waits());
    assert_eq!(story.state("gate").status, PhaseStatus::Waiting);
    let events = story.answer("gate", "approve").expect("it was asked");
    assert_eq!(names(&events)[..2], ["approval_answered", "phase_completed"]);
    assert_eq!(story.state("gate").outputs["choice"], "approve");
    assert_eq!(story.answer("gate", "approve").expect("the same again"), []);
    assert!(story.answer("gate", "reject").is_err(), "it is decided");
    assert!(story.waits(), "nothing is started where nobody drives");
    assert!(names(&story.resume(&[])).contains(&"attempt_started".to_owned()));
}

/// A person says no. A resume does not ask again; a retry by hand does.
#[test]
fn a_rejection_stays_until_it_is_retried() {
    let mut story = driven(GATE);
    story.done("a");
    story.answer("gate", "reject").expect("it was asked");
    assert_eq!(story.run.status(), RunStatus::Failed);
    story.resume(&[]);
    assert_eq!((story.run.ending(), story.state("gate").status), (Some(Ending::Failed), PhaseStatus::Failed));
    let retry = Posted::Choose { phase: PhaseId::new("gate"), choice: Choice::Retry, by: None, reason: None };
    story.step(&Input::Posted(retry)).expect("a person may");
    story.resume(&[]);
    assert_eq!(story.state("gate").status, PhaseStatus::Waiting);
}

/// Nobody answers in time. What the plan says about that is done, by the clock alone.
#[test]
fn an_approval_expires() {
    for (policy, status) in
        [("approve", PhaseStatus::Completed), ("reject", PhaseStatus::Failed), ("pause", PhaseStatus::Waiting)]
    {
        let mut story = driven(&format!(
            "  gate: {{ approval: {{ message: go?, expires: 1h, if-expired: {policy} }} }}\n  side: {{ run: x }}\n"
        ));
        let due = story.now + SignedDuration::from_hours(1);
        assert!(run::wanted(&story.run, story.now).iter().any(|e| matches!(e, Effect::WakeAt(at) if *at <= due)));
        story.now += SignedDuration::from_hours(2);
        story.step(&Input::Tick).expect("time passes");
        assert_eq!(story.state("gate").status, status, "{policy}");
    }
}

/// Nobody takes an approval as done, and only those who are named decide.
#[test]
fn nobody_else_decides() {
    let mut story = driven("  gate: { approval: { message: go?, who: [grace] } }\n");
    assert!(story.answer("gate", "approve").is_err());
    let adopt = Posted::Choose { phase: PhaseId::new("gate"), choice: Choice::Adopt, by: None, reason: None };
    assert!(story.step(&Input::Posted(adopt)).is_err());
    assert!(story.answer("gate", "maybe").is_err(), "a choice that the plan does not know");
}

/// Somebody begins, claims too much, gives up, and is retried. Each report has one outcome, and repeats have none.
#[test]
fn reports_are_taken_once() {
    let mut story = driven("  a: { external: { instructions: do it }, artifacts: { doc: d.md } }\n");
    assert!(story.waits());
    assert_eq!(story.next(), Ok("a"));
    assert_eq!(names(&story.report("a", Says::Start).expect("it is open")), ["reported"]);
    assert_eq!(story.report("a", Says::Start).expect("the same again"), []);
    assert!(story.waits() && story.state("a").status == PhaseStatus::Running);
    let missing = Proof {
        artifacts: vec![ArtifactFound { name: "doc".into(), path: "d.md".into(), state: ArtifactState::Missing }],
        ..Proof::default()
    };
    assert_eq!(names(&story.report("a", claim(missing)).expect("it is heard")), ["reported"]);
    assert_eq!(story.state("a").status, PhaseStatus::Running, "it stays open");
    story.report("a", fail("no luck")).expect("it is at work");
    assert_eq!((story.run.status(), story.next()), (RunStatus::Failed, Err(NoNext::Blocked)));
    assert_eq!(story.report("a", fail("no luck")).expect("the same again"), []);
    let retry = Posted::Choose { phase: PhaseId::new("a"), choice: Choice::Retry, by: None, reason: None };
    story.step(&Input::Posted(retry)).expect("a person may");
    assert_eq!(story.next(), Ok("a"));
    let there = ArtifactState::There { bytes: 1, digest: "d".into(), copy: ArtifactCopied::NotWanted };
    let proof = Proof {
        artifacts: vec![ArtifactFound { name: "doc".into(), path: "d.md".into(), state: there }],
        ..Proof::default()
    };
    story.report("a", claim(proof)).expect("it is open");
    assert_eq!((story.run.status(), story.state("a").attempts), (RunStatus::Completed, 2));
    assert_eq!(story.report("a", claim(Proof::default())).expect("the same again"), []);
}

/// Somebody says that a phase is done before anybody could look: what it needs was done a moment later. What nobody has looked at is
/// not done, whatever is said.
#[test]
fn what_nobody_looked_at_is_not_done() {
    for proves in ["artifacts: { doc: d.md }", "verify: [make test]", "done-when: test -e d.md"] {
        let mut story = driven(&format!("  a: {{ external: {{ instructions: do it }}, {proves} }}\n"));
        assert_eq!(names(&story.report("a", claim(Proof::default())).expect("it is heard")), ["reported"], "{proves}");
        assert_ne!(story.state("a").status, PhaseStatus::Completed, "{proves}");
    }
}

/// All parts of a phase are done by others, and nobody drives. What comes next wants a driver: that is a wait, and no failure stands
/// in the way.
#[test]
fn waiting_for_a_driver_is_not_being_blocked() {
    let mut story =
        driven("  a: { matrix: { k: [1, 2] }, external: { instructions: do it } }\n  b: { needs: a, run: x }\n");
    assert!(story.waits());
    while let Ok(part) = story.next().map(str::to_owned) {
        story.report(&part, claim(Proof::default())).expect("it was handed out");
    }
    assert_eq!(story.next(), Err(NoNext::Waiting));
    story.resume(&[]);
    assert_eq!(story.state("b").status, PhaseStatus::Running);
}

/// A need of a phase can never be done, and the phase is to run all the same. Whoever it is handed to can do it.
#[test]
fn what_is_handed_out_can_be_done() {
    let mut story = driven(
        "  a: { if: run.type == 'other', run: x }\n  b: { needs: [{ phase: a, state: completed }], run: x }\n  \
         c: { needs: b, if: always(), external: { instructions: clean up } }\n",
    );
    assert_eq!(story.next(), Ok("c"));
    story.report("c", Says::Start).expect("it was handed out");
    story.report("c", claim(Proof::default())).expect("it is at work");
    assert_eq!(story.state("c").status, PhaseStatus::Completed);
}

/// Two phases hold one lock, and a third writes what the first does; one of them is for others. While somebody is at work on
/// it the others are not started, and the run waits; while one of ours is at work, it is not handed out.
#[test]
fn what_others_have_taken_is_taken() {
    let mut story = driven(
        "  s: { run: x }\n  a: { external: { instructions: do it }, locks: [m], writes: docs/** }\n  \
         b: { needs: s, locks: [m], run: x }\n  c: { needs: s, writes: docs/a.md, run: x }\n  \
         d: { needs: b, locks: [m], external: { instructions: do that } }\n",
    );
    story.report("a", Says::Start).expect("it is open");
    story.done("s");
    assert_eq!((story.state("b").status, story.state("c").status), (PhaseStatus::Pending, PhaseStatus::Pending));
    assert!(story.waits(), "nothing can be started before somebody has reported");
    story.resume(&[]);
    assert!(story.waits());
    story.report("a", claim(Proof::default())).expect("it is at work");
    story.resume(&[]);
    assert_eq!((story.state("b").status, story.state("c").status), (PhaseStatus::Running, PhaseStatus::Running));
    story.done("c");
    assert_eq!(story.next(), Err(NoNext::Waiting));
    story.done("b");
    assert_eq!(story.next(), Ok("d"));
}

/// A phase of ours holds what a phase of others needs. Nobody is to begin that one; but whoever has done it is believed.
#[test]
fn what_we_have_taken_is_not_begun() {
    let plan = "  a: { run: x, kind: commit }\n  b: { external: { instructions: do it }, locks: [git] }\n";
    let mut story = driven(plan);
    assert_eq!(story.next(), Err(NoNext::Waiting));
    let refused = story.report("b", Says::Start).expect_err("the lock is held");
    assert!(refused.to_string().contains("a holds the lock git"), "{refused}");
    story.report("b", claim(Proof::default())).expect("it is done");
    assert_eq!(story.state("b").status, PhaseStatus::Completed);
}

/// Somebody says again and again that it is done, and the same remains each time. After the third time it has failed: going on
/// would not help. A change in what remains gives it more time.
#[test]
fn who_goes_round_in_circles_is_stuck() {
    let mut story = driven("  a: { external: { instructions: do it } }\n");
    story.report("a", Says::Start).expect("it is open");
    for text in ["two tests", "Two  tests", "one test", "one test"] {
        assert_eq!(names(&story.report("a", remains(text)).expect("it is heard")), ["reported"], "{text}");
        assert_eq!(story.state("a").status, PhaseStatus::Running, "{text}");
    }
    story.report("a", remains("one test")).expect("it is heard");
    let error = story.state("a").error.as_ref().expect("it has failed");
    assert_eq!((error.code.as_str(), story.state("a").status), ("stuck", PhaseStatus::Failed));
    assert!(error.message.contains("one test"), "{}", error.message);
}

/// Whoever does a phase is not heard any more. The plan says what that means.
#[test]
fn silence_means_what_the_plan_says() {
    let policies = [
        ("wait", PhaseStatus::Running, false),
        ("pause", PhaseStatus::Interrupted, false),
        ("fail", PhaseStatus::Failed, false),
        ("ask", PhaseStatus::Interrupted, true),
    ];
    for (policy, status, in_doubt) in policies {
        let mut story = driven(&format!(
            "  a: {{ external: {{ instructions: do it, heartbeat: 10m, if-silent: {policy} }} }}\n  b: {{ run: x }}\n"
        ));
        story.report("a", Says::Start).expect("it is open");
        story.now += SignedDuration::from_mins(9);
        story.report("a", Says::Progress { note: Some("1/2".to_owned()) }).expect("it is at work");
        story.now += SignedDuration::from_mins(9);
        story.step(&Input::Tick).expect("time passes");
        assert_eq!(story.state("a").status, PhaseStatus::Running, "{policy}: it was heard in time");
        story.now += SignedDuration::from_mins(9);
        story.step(&Input::Tick).expect("time passes");
        assert_eq!((story.state("a").status, story.state("a").in_doubt), (status, in_doubt), "{policy}");
    }
}

/// Somebody is not heard any more, and the plan says pause. What is at work comes to its end and nothing else is started; then
/// the run is paused, once: started again, it waits for somebody to take the phase in hand.
#[test]
fn silence_pauses_the_run_once() {
    let mut story = driven(
        "  a: { external: { instructions: do it, heartbeat: 10m, if-silent: pause } }\n  b: { run: x }\n  c: { needs: b, run: x }\n",
    );
    story.report("a", Says::Start).expect("it is open");
    story.now += SignedDuration::from_mins(11);
    story.step(&Input::Tick).expect("time passes");
    assert_eq!((story.state("b").status, story.run.ending()), (PhaseStatus::Running, None));
    story.done("b");
    assert_eq!(story.run.ending(), Some(Ending::Stopped(StopReason::Pause)));
    assert_eq!((story.state("a").status, story.state("c").status), (PhaseStatus::Interrupted, PhaseStatus::Pending));
    story.resume(&[]);
    assert_eq!(story.state("c").status, PhaseStatus::Running);
    story.done("c");
    assert_eq!(story.run.ending(), Some(Ending::Stopped(StopReason::Waiting)));
    story.report("a", Says::Start).expect("somebody takes it in hand");
    assert_eq!(story.state("a").attempts, 2);
    story.now += SignedDuration::from_mins(11);
    story.report("a", Says::Progress { note: None }).expect("it may be begun again");
    assert_eq!(story.run.ending(), Some(Ending::Stopped(StopReason::Waiting)), "whoever reports late is heard");
}

/// An attempt ends with code 0 and its check fails. It is tried again as after a failure, and the error names the command.
#[test]
fn what_is_not_proven_is_not_done() {
    let mut story = driven("  a: { run: x, verify: [make test], retry: { max: 1, backoff: { initial: 1s } } }\n");
    for last in [false, true] {
        story.now += SignedDuration::from_mins(1);
        story.step(&Input::Tick).expect("time passes");
        story.done("a");
        assert!(run::wanted(&story.run, story.now).contains(&Effect::Probe { phase: PhaseId::new("a") }));
        let check = CheckEnd { command: "make test".to_owned(), code: Some(2), said: "boom".to_owned() };
        let proof = Box::new(Proof { checks: vec![check], ..Proof::default() });
        story.step(&Input::Probed { phase: PhaseId::new("a"), proof }).expect("it was asked");
        assert_eq!(story.state("a").status == PhaseStatus::Failed, last);
    }
    let error = story.state("a").error.as_ref().expect("it failed");
    assert!(error.code.as_str() == "verify-failed" && error.message.contains("make test"), "{error:?}");
}

/// Somebody who did not hear the answer says once more that a phase is done; somebody else says it with another result.
/// The first is told yes, the second is told no, and what was recorded stays.
#[test]
fn what_is_done_is_not_reported_otherwise() {
    let mut story = driven("  a: { external: { instructions: do it } }\n");
    let done = |value: &str| {
        let outputs = [("url".to_owned(), value.to_owned())].into();
        Says::Done(Box::new(DoneSaid { outputs, ..DoneSaid::default() }))
    };
    story.report("a", done("one")).expect("it is theirs");
    assert_eq!(story.report("a", done("one")).expect("the same again"), []);
    assert_eq!(story.report("a", claim(Proof::default())).expect("the same again"), []);
    story.report("a", done("two")).expect_err("it was done otherwise");
    assert_eq!(story.state("a").outputs["url"], "one");
}

/// Whoever does a phase names a commit that nobody knows. The phase is not done.
#[test]
fn a_commit_that_nobody_knows() {
    let mut story = driven("  a: { external: { instructions: do it } }\n");
    let done = |commit_is| {
        Says::Done(Box::new(DoneSaid { commit: Some("c0ffee".to_owned()), commit_is, ..DoneSaid::default() }))
    };
    story.report("a", done(CommitIs::Unknown)).expect("it is theirs");
    assert_ne!(story.state("a").status, PhaseStatus::Completed);
    story.report("a", done(CommitIs::Known)).expect("it is theirs");
    assert_eq!(story.state("a").commit_sha.as_deref(), Some("c0ffee"));
}

/// Somebody says it is done when it is not, again and again. Whoever is overruled was heard, so it is no silence.
#[test]
fn who_is_overruled_was_heard() {
    let mut story =
        driven("  a: { external: { instructions: do it, heartbeat: 10m, if-silent: fail } }\n  b: { run: x }\n");
    story.report("a", Says::Start).expect("it is open");
    for text in ["three", "two", "one"] {
        story.now += SignedDuration::from_mins(9);
        story.report("a", remains(text)).expect("it is heard");
        assert_eq!(story.state("a").status, PhaseStatus::Running, "{text}");
    }
}

/// A phase that others do has one retry. However an attempt fails, by a report, in circles or by silence, the retry is handed out
/// when its time has come, and the second failure is the last.
#[test]
fn others_have_retries_too() {
    let phase = "  a: { retry: { max: 1, backoff: { initial: 1h, jitter: false } }, external: { instructions: do it, heartbeat: 10m, if-silent: fail } }\n  b: { needs: a, run: x }\n";
    for how in ["fail", "circles", "silence"] {
        let mut story = driven(phase);
        for status in [PhaseStatus::Pending, PhaseStatus::Failed] {
            assert_eq!(story.next(), Ok("a"), "{how}");
            story.report("a", Says::Start).expect("it is open");
            match how {
                "fail" => drop(story.report("a", fail("no luck"))),
                "silence" => {
                    story.now += SignedDuration::from_mins(11);
                    story.step(&Input::Tick).expect("time passes");
                }
                _ => {
                    for _ in 0..3 {
                        assert_eq!(story.state("a").status, PhaseStatus::Running, "each attempt has all its rounds");
                        story.report("a", remains("the same")).expect("it is heard");
                    }
                }
            }
            assert_eq!(story.state("a").status, status, "{how}");
            if status == PhaseStatus::Pending {
                assert_eq!(story.next(), Err(NoNext::Waiting), "{how}: its time has not come");
                story.now += SignedDuration::from_hours(1);
            }
        }
    }
}

/// One phase failed, and the plan says that no other is begun. Nothing is handed out, and what somebody begins all the same is
/// refused; who is at work already may come to the end.
#[test]
fn nothing_new_is_handed_out_after_a_failure() {
    let external = "external: { instructions: do it }";
    let phases = format!("  a: {{ {external} }}\n  b: {{ {external} }}\n  c: {{ {external} }}\n");
    let mut story = driven(&phases);
    story.report("a", Says::Start).expect("it is open");
    story.report("b", Says::Start).expect("it is open");
    story.report("a", fail("no luck")).expect("it is at work");
    assert!(story.waits(), "b is at work");
    assert!(story.report("c", Says::Start).is_err(), "a has failed");
    assert!(story.report("a", Says::Start).is_err(), "nobody has said that it is retried");
    assert!(story.report("a", fail("another reason")).is_err(), "it has failed, and not for this");
    story.report("b", claim(Proof::default())).expect("it is at work");
    assert_eq!((story.run.status(), story.next()), (RunStatus::Failed, Err(NoNext::Blocked)));
}

/// A phase that may not be begun is not begun: it needs something else, is a parent, is in doubt, or belongs to an
/// archived run. A claim that is overruled begins nothing either.
#[test]
fn what_cannot_be_begun() {
    let external = "external: { instructions: do it, heartbeat: 10m, if-silent: ask }";
    let mut story = driven(&format!("  a: {{ {external} }}\n  b: {{ needs: a, {external} }}\n"));
    assert!(story.report("b", Says::Start).is_err(), "a is not done");
    story.report("a", remains("all of it")).expect("it is heard");
    assert_eq!((story.state("a").status, story.state("a").attempts), (PhaseStatus::Pending, 0));
    story.report("a", Says::Start).expect("it is open");
    story.now += SignedDuration::from_mins(11);
    story.step(&Input::Tick).expect("time passes");
    assert!(story.state("a").in_doubt && story.report("a", Says::Start).is_err(), "a person has to speak");
    let retry = Posted::Choose { phase: PhaseId::new("a"), choice: Choice::Retry, by: None, reason: None };
    story.step(&Input::Posted(retry)).expect("a person may");
    assert_eq!(story.next(), Ok("a"));
    story.step(&Input::Posted(Posted::Archive)).expect("anybody may");
    assert_eq!(story.next(), Err(NoNext::Blocked));
}

/// The effect of what somebody did cannot be seen, and cannot be denied. That is not done.
#[test]
fn what_nobody_can_tell_is_not_done() {
    let mut story = driven("  a: { external: { instructions: do it }, done-when: [test -e x] }\n");
    let proof = Proof { effect: Some(onward_core::run::verification::EffectFound::CannotTell), ..Proof::default() };
    story.report("a", Says::Start).expect("it is open");
    story.report("a", claim(proof)).expect("it is heard");
    assert_eq!(story.state("a").status, PhaseStatus::Running);
}

/// Whoever is named decides, with or without a machine behind the name. Whose name only begins like it does not.
#[test]
fn those_who_are_named_decide() {
    for (who, may) in [("ada", true), ("ada@h", true), ("ad", false), ("ada@g", false)] {
        let mut story = driven(&format!("  gate: {{ approval: {{ message: go?, who: ['{who}'] }} }}\n"));
        assert_eq!(story.answer("gate", "approve").is_ok(), may, "{who}");
    }
}

/// The turn of an approval comes while the run is being paused, or after a failure. Nobody is asked then.
#[test]
fn nobody_is_asked_in_vain() {
    let beside = "  a: { run: x }\n  bad: { run: x }\n  gate: { needs: a, approval: { message: go? } }\n";
    let mut story = driven(beside);
    story.step(&Input::Posted(Posted::Pause)).expect("anybody may");
    story.done("a");
    assert_eq!(story.state("gate").status, PhaseStatus::Pending, "the run is being paused");

    let mut story = driven(beside);
    let end = AttemptEnd::bare(Outcome::Exited { code: 1 });
    story.step(&Input::AttemptEnded { phase: PhaseId::new("bad"), attempt: Attempt(1), end }).expect("it is at work");
    story.done("a");
    assert_eq!((story.state("gate").status, story.run.status()), (PhaseStatus::Pending, RunStatus::Failed));
}

/// Two questions stand open. The first that expires is what somebody wakes up for.
#[test]
fn the_first_patience_to_end_is_heard() {
    let story = driven(
        "  one: { approval: { message: go?, expires: 1h } }\n  two: { approval: { message: go?, expires: 2h } }\n  b: { run: x }\n",
    );
    let due: Vec<i64> = run::wanted(&story.run, story.now)
        .iter()
        .filter_map(
            |effect| if let Effect::WakeAt(at) = effect { Some(at.duration_since(story.now).as_mins()) } else { None },
        )
        .collect();
    assert_eq!(due, [60]);
}

/// Nobody drives the run, whoever was at work is not heard any more, and the plan says pause. It is paused at once.
#[test]
fn silence_where_nobody_drives() {
    let mut story = driven("  a: { external: { instructions: do it, heartbeat: 10m, if-silent: pause } }\n");
    story.report("a", Says::Start).expect("it is open");
    assert!(story.waits());
    story.now += SignedDuration::from_mins(11);
    story.step(&Input::Tick).expect("time passes");
    assert_eq!((story.run.status(), story.run.ending()), (RunStatus::Paused, Some(Ending::Stopped(StopReason::Pause))));
}

fn with_an_end(result: &str) -> Story {
    let text =
        "onward: 1\nname: demo\nphases:\n  a: { external: { instructions: do it } }\nfinally:\n  clean: { run: x }\n";
    let mut story = Story::of(onward_core::plan::expand::joined(common::plan(text)));
    story.resume(&[]);
    story.report("a", Says::Start).expect("it is open");
    let says = if result == "done" { claim(Proof::default()) } else { fail("no luck") };
    story.report("a", says).expect("it is at work");
    story
}

/// The last report comes while nobody drives, and something belongs to the end of the run. The run is not over, whatever was
/// reported, and the next driver does it.
#[test]
fn the_end_is_not_forgotten_where_nobody_drives() {
    for result in ["done", "failed"] {
        let mut story = with_an_end(result);
        assert_eq!(story.run.result, None, "{result}");
        story.drive();
        assert_eq!(story.state("clean").status, PhaseStatus::Running, "{result}");
    }
}

/// The end was done once, after a failure. What had failed is retried and reported as done while nobody drives: the end comes
/// once more before the run is complete.
#[test]
fn the_end_comes_again_where_nobody_drives() {
    let mut story = with_an_end("failed");
    let drive = |story: &mut Story| {
        story.drive();
    };
    drive(&mut story);
    story.done("clean");
    assert_eq!(story.run.ending(), Some(Ending::Failed));
    let retry = Posted::Choose { phase: PhaseId::new("a"), choice: Choice::Retry, by: None, reason: None };
    story.step(&Input::Posted(retry)).expect("a person may");
    story.report("a", claim(Proof::default())).expect("it is open");
    assert_eq!(story.run.result, None);
    drive(&mut story);
    assert_eq!(story.state("clean").status, PhaseStatus::Running);
}

/// Others fail and finish while nobody drives, and the plan says continue. The run is not over as long as a driver could go on
/// with something, or a person has to say something.
#[test]
fn a_run_is_not_over_while_something_can_go_on() {
    let external = "external: { instructions: do it, heartbeat: 10m, if-silent: ask }";
    let plan =
        |more: &str| format!("onward: 1\nname: demo\non-failure: continue\nreplan: {{ run: x }}\nphases:\n{more}");
    let story_of = |phases: &str| {
        let mut story = Story::of(common::plan(&plan(phases)));
        story.resume(&[]);
        story
    };
    let mut story = story_of(&format!("  a: {{ {external} }}\n  b: {{ {external} }}\n  c: {{ needs: b, run: x }}\n"));
    story.report("a", fail("no luck")).expect("it is open");
    assert!(story.report("a", Says::Start).is_err(), "nobody has said that it is retried");
    story.report("b", claim(Proof::default())).expect("it is open");
    assert!(story.waits(), "c can be done");
    story.drive();
    assert_eq!(story.state("c").status, PhaseStatus::Running);

    let mut story = story_of(&format!("  a: {{ {external} }}\n  b: {{ {external} }}\n"));
    story.report("b", Says::Start).expect("it is open");
    story.report("a", fail("no luck")).expect("it is open");
    story.now += SignedDuration::from_mins(11);
    story.step(&Input::Tick).expect("time passes");
    assert!(story.state("b").in_doubt && story.run.result.is_none(), "a person has to speak about b");

    let mut story = story_of(&format!("  a: {{ {external} }}\n  b: {{ on-failure: replan, {external} }}\n"));
    story.report("a", fail("no luck")).expect("it is open");
    story.report("b", fail("too big")).expect("it is open");
    assert_eq!(story.run.result, None, "another plan is wanted");
}

/// The run is being taken back to an earlier state. Nobody begins anything until that is done.
#[test]
fn nothing_begins_during_a_rewind() {
    let mut story = driven("  a: { external: { instructions: do it } }\n");
    let checkpoint = story.run.last_checkpoint.clone().expect("one was taken at the start");
    let begun = RewindBegun { to: checkpoint.clone(), before: checkpoint, files: None, state: true, undoes: false };
    story.step(&Input::Rewind(begun)).expect("nothing is at work");
    assert_eq!(story.report("a", Says::Start), Err(Refusal::Rewinding));
}
