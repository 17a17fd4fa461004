//! What others do and say: approvals, reports, and silence. Small stories in virtual time.

mod common;

use jiff::{SignedDuration, Timestamp};
use onward_core::effect::Effect;
use onward_core::event::{Event, Outcome, Recorded, StopBy};
use onward_core::id::{Attempt, PhaseId};
use onward_core::input::{AttemptEnd, Begin, Choice, CommitIs, DoneSaid, Input, Posted, Says};
use onward_core::run::proof::{ArtifactFound, ArtifactState, CheckEnd, Copied, Proof};
use onward_core::run::{self, Ending, NoNext, PhaseStatus, Refusal, Run, RunStatus, cache};

struct Story {
    run: Run,
    journal: Vec<Recorded>,
    now: Timestamp,
    epoch: u64,
}

impl Story {
    fn new(phases: &str) -> Self {
        let plan = common::plan(&format!("onward: 1\nname: demo\nphases:\n{phases}"));
        let now = common::now();
        let started = common::started(plan);
        let (run, stepped) = run::start(started, "ada", now);
        let mut story = Self { run, journal: stepped.events, now, epoch: 0 };
        story.drive();
        story
    }

    fn step(&mut self, input: &Input) -> Result<Vec<String>, Refusal> {
        self.now += SignedDuration::from_secs(1);
        let stepped = run::step(&mut self.run, input, "ada", self.now)?;
        self.journal.extend(stepped.events.clone());
        let replayed = run::fold(&self.journal).expect("a journal");
        assert_eq!(format!("{:?}", self.run), format!("{replayed:?}"), "I1: live equals replayed");
        let cached = cache::decode(&cache::encode(&self.run)).expect("our own bytes");
        assert_eq!(format!("{:?}", self.run), format!("{cached:?}"), "the cache holds all of it");
        Ok(stepped.events.iter().map(|recorded| name(&recorded.event)).collect())
    }

    fn drive(&mut self) -> Vec<String> {
        self.epoch += 1;
        let begin = Begin { renew: true, ..common::begin(self.epoch) };
        self.step(&Input::Begin(begin)).expect("a driver may begin")
    }

    fn done(&mut self, phase: &str) -> Vec<String> {
        let attempt = Attempt(self.state(phase).attempts);
        let end = AttemptEnd::bare(Outcome::Exited { code: 0 });
        self.step(&Input::AttemptEnded { phase: PhaseId::new(phase), attempt, end }).expect("it is at work")
    }

    fn answer(&mut self, phase: &str, choice: &str) -> Result<Vec<String>, Refusal> {
        let (phase, choice) = (PhaseId::new(phase), choice.to_owned());
        self.step(&Input::Posted(Posted::Answer { phase, choice, by: "ada@h".to_owned() }))
    }

    fn report(&mut self, phase: &str, says: Says) -> Result<Vec<String>, Refusal> {
        let phase = PhaseId::new(phase);
        self.step(&Input::Posted(Posted::Report { phase, by: "ada@h".to_owned(), says, complexity: None }))
    }

    fn state(&self, phase: &str) -> &run::PhaseState {
        self.run.phase_state(&PhaseId::new(phase)).expect("a phase of the plan")
    }

    fn waits(&self) -> bool {
        self.run.ending() == Some(Ending::Stopped(StopBy::Waiting)) && self.run.status() == RunStatus::Waiting
    }

    fn next(&self) -> Result<&str, NoNext> {
        self.run.next_for_others(self.now).map(|phase| phase.id.as_str())
    }
}

fn name(event: &Event) -> String {
    serde_json::to_value(event).expect("plain data")["type"].as_str().expect("a tag").to_owned()
}

fn claim(proof: Proof) -> Says {
    Says::Done(Box::new(DoneSaid { proof, ..DoneSaid::default() }))
}

fn fail(reason: &str) -> Says {
    Says::Fail { reason: reason.to_owned() }
}

const GATE: &str = "  a: { run: x }\n  gate: { needs: a, approval: { message: go? } }\n  b: { needs: gate, run: x }\n";

/// A person says yes while nobody drives, and says it again. It counts once, and the next driver goes on.
#[test]
fn an_approval_is_given_once() {
    let mut story = Story::new(GATE);
    story.done("a");
    assert!(story.waits());
    assert_eq!(story.state("gate").status, PhaseStatus::Waiting);
    let events = story.answer("gate", "approve").expect("it was asked");
    assert_eq!(events[..2], ["approval_answered", "phase_completed"]);
    assert_eq!(story.state("gate").outputs["choice"], "approve");
    assert_eq!(story.answer("gate", "approve").expect("the same again"), Vec::<String>::new());
    assert!(story.answer("gate", "reject").is_err(), "it is decided");
    assert!(story.waits(), "nothing is started where nobody drives");
    assert!(story.drive().contains(&"attempt_started".to_owned()));
}

/// A person says no. A resume does not ask again; a retry by hand does.
#[test]
fn a_rejection_stays_until_it_is_retried() {
    let mut story = Story::new(GATE);
    story.done("a");
    story.answer("gate", "reject").expect("it was asked");
    assert_eq!(story.run.status(), RunStatus::Failed);
    story.drive();
    assert_eq!((story.run.ending(), story.state("gate").status), (Some(Ending::Failed), PhaseStatus::Failed));
    let retry = Posted::Choose { phase: PhaseId::new("gate"), choice: Choice::Retry };
    story.step(&Input::Posted(retry)).expect("a person may");
    story.drive();
    assert_eq!(story.state("gate").status, PhaseStatus::Waiting);
}

/// Nobody answers in time. What the plan says about that is done, by the clock alone.
#[test]
fn an_approval_expires() {
    for (policy, status) in
        [("approve", PhaseStatus::Completed), ("reject", PhaseStatus::Failed), ("pause", PhaseStatus::Waiting)]
    {
        let mut story = Story::new(&format!(
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
    let mut story = Story::new("  gate: { approval: { message: go?, who: [grace] } }\n");
    assert!(story.answer("gate", "approve").is_err());
    let adopt = Posted::Choose { phase: PhaseId::new("gate"), choice: Choice::Adopt };
    assert!(story.step(&Input::Posted(adopt)).is_err());
    assert!(story.answer("gate", "maybe").is_err(), "a choice that the plan does not know");
}

/// Somebody begins, claims too much, gives up, and is retried. Each report has one outcome, and repeats have none.
#[test]
fn reports_are_taken_once() {
    let mut story = Story::new("  a: { external: { instructions: do it }, artifacts: { doc: d.md } }\n");
    assert!(story.waits());
    assert_eq!(story.next(), Ok("a"));
    assert_eq!(story.report("a", Says::Start).expect("it is open"), ["reported"]);
    assert_eq!(story.report("a", Says::Start).expect("the same again"), Vec::<String>::new());
    assert!(story.waits() && story.state("a").status == PhaseStatus::Running);
    let missing = Proof {
        artifacts: vec![ArtifactFound { name: "doc".into(), path: "d.md".into(), state: ArtifactState::Missing }],
        ..Proof::default()
    };
    assert_eq!(story.report("a", claim(missing)).expect("it is heard"), ["reported"]);
    assert_eq!(story.state("a").status, PhaseStatus::Running, "it stays open");
    story.report("a", fail("no luck")).expect("it is at work");
    assert_eq!((story.run.status(), story.next()), (RunStatus::Failed, Err(NoNext::Blocked)));
    assert_eq!(story.report("a", fail("no luck")).expect("the same again"), Vec::<String>::new());
    let retry = Posted::Choose { phase: PhaseId::new("a"), choice: Choice::Retry };
    story.step(&Input::Posted(retry)).expect("a person may");
    assert_eq!(story.next(), Ok("a"));
    let there = ArtifactState::There { bytes: 1, digest: "d".into(), copy: Copied::NotWanted };
    let proof = Proof {
        artifacts: vec![ArtifactFound { name: "doc".into(), path: "d.md".into(), state: there }],
        ..Proof::default()
    };
    story.report("a", claim(proof)).expect("it is open");
    assert_eq!((story.run.status(), story.state("a").attempts), (RunStatus::Completed, 2));
    assert_eq!(story.report("a", claim(Proof::default())).expect("the same again"), Vec::<String>::new());
}

/// Somebody says that a phase is done before anybody could look: what it needs was done a moment later. What nobody has looked at is
/// not done, whatever is said.
#[test]
fn what_nobody_looked_at_is_not_done() {
    for proves in ["artifacts: { doc: d.md }", "verify: [make test]", "done-when: test -e d.md"] {
        let mut story = Story::new(&format!("  a: {{ external: {{ instructions: do it }}, {proves} }}\n"));
        assert_eq!(story.report("a", claim(Proof::default())).expect("it is heard"), ["reported"], "{proves}");
        assert_ne!(story.state("a").status, PhaseStatus::Completed, "{proves}");
    }
}

/// All parts of a phase are done by others, and nobody drives. What comes next wants a driver: that is a wait, and no failure stands
/// in the way.
#[test]
fn waiting_for_a_driver_is_not_being_blocked() {
    let mut story =
        Story::new("  a: { matrix: { k: [1, 2] }, external: { instructions: do it } }\n  b: { needs: a, run: x }\n");
    assert!(story.waits());
    while let Ok(part) = story.next().map(str::to_owned) {
        story.report(&part, claim(Proof::default())).expect("it was handed out");
    }
    assert_eq!(story.next(), Err(NoNext::Waiting));
    story.drive();
    assert_eq!(story.state("b").status, PhaseStatus::Running);
}

/// What a phase needs can never be done, and the phase wants its turn all the same. Whoever it is handed to can do it.
#[test]
fn what_is_handed_out_can_be_done() {
    let mut story = Story::new(
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
    let mut story = Story::new(
        "  s: { run: x }\n  a: { external: { instructions: do it }, locks: [m], writes: docs/** }\n  \
         b: { needs: s, locks: [m], run: x }\n  c: { needs: s, writes: docs/a.md, run: x }\n  \
         d: { needs: b, locks: [m], external: { instructions: do that } }\n",
    );
    story.report("a", Says::Start).expect("it is open");
    story.done("s");
    assert_eq!((story.state("b").status, story.state("c").status), (PhaseStatus::Pending, PhaseStatus::Pending));
    assert!(story.waits(), "nothing can be started before somebody has reported");
    story.drive();
    assert!(story.waits());
    story.report("a", claim(Proof::default())).expect("it is at work");
    story.drive();
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
    let mut story = Story::new(plan);
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
    let remains = |text: &str| Says::Done(Box::new(DoneSaid { remaining: text.to_owned(), ..DoneSaid::default() }));
    let mut story = Story::new("  a: { external: { instructions: do it } }\n");
    story.report("a", Says::Start).expect("it is open");
    for text in ["two tests", "Two  tests", "one test", "one test"] {
        assert_eq!(story.report("a", remains(text)).expect("it is heard"), ["reported"], "{text}");
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
        let mut story = Story::new(&format!(
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
    let mut story = Story::new(
        "  a: { external: { instructions: do it, heartbeat: 10m, if-silent: pause } }\n  b: { run: x }\n  c: { needs: b, run: x }\n",
    );
    story.report("a", Says::Start).expect("it is open");
    story.now += SignedDuration::from_mins(11);
    story.step(&Input::Tick).expect("time passes");
    assert_eq!((story.state("b").status, story.run.ending()), (PhaseStatus::Running, None));
    story.done("b");
    assert_eq!(story.run.ending(), Some(Ending::Stopped(StopBy::Pause)));
    assert_eq!((story.state("a").status, story.state("c").status), (PhaseStatus::Interrupted, PhaseStatus::Pending));
    story.drive();
    assert_eq!(story.state("c").status, PhaseStatus::Running);
    story.done("c");
    assert_eq!(story.run.ending(), Some(Ending::Stopped(StopBy::Waiting)));
    story.report("a", Says::Start).expect("somebody takes it in hand");
    assert_eq!(story.state("a").attempts, 2);
    story.now += SignedDuration::from_mins(11);
    story.report("a", Says::Progress { note: None }).expect("it may be begun again");
    assert_eq!(story.run.ending(), Some(Ending::Stopped(StopBy::Waiting)), "whoever reports late is heard");
}

/// An attempt ends with code 0 and its check fails. It is tried again as after a failure, and the error names the command.
#[test]
fn what_is_not_proven_is_not_done() {
    let mut story = Story::new("  a: { run: x, verify: [make test], retry: { max: 1, backoff: { initial: 1s } } }\n");
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
    assert!(error.code == "verify-failed" && error.message.contains("make test"), "{error:?}");
}

/// Somebody who did not hear the answer says once more that a phase is done; somebody else says it with another result.
/// The first is told yes, the second is told no, and what was recorded stays.
#[test]
fn what_is_done_is_not_reported_otherwise() {
    let mut story = Story::new("  a: { external: { instructions: do it } }\n");
    let done = |value: &str| {
        let outputs = [("url".to_owned(), value.to_owned())].into();
        Says::Done(Box::new(DoneSaid { outputs, ..DoneSaid::default() }))
    };
    story.report("a", done("one")).expect("it is theirs");
    assert_eq!(story.report("a", done("one")).expect("the same again"), Vec::<String>::new());
    assert_eq!(story.report("a", claim(Proof::default())).expect("the same again"), Vec::<String>::new());
    story.report("a", done("two")).expect_err("it was done otherwise");
    assert_eq!(story.state("a").outputs["url"], "one");
}

/// Whoever does a phase names a commit that nobody knows. The phase is not done.
#[test]
fn a_commit_that_nobody_knows() {
    let mut story = Story::new("  a: { external: { instructions: do it } }\n");
    let done = |commit_is| {
        Says::Done(Box::new(DoneSaid { commit: Some("c0ffee".to_owned()), commit_is, ..DoneSaid::default() }))
    };
    story.report("a", done(CommitIs::Unknown)).expect("it is theirs");
    assert_ne!(story.state("a").status, PhaseStatus::Completed);
    story.report("a", done(CommitIs::Known)).expect("it is theirs");
    assert_eq!(story.state("a").commit_sha.as_deref(), Some("c0ffee"));
}
