//! Orders of people while a run goes on or stands still: stop, pause, retry, only this, from here. In virtual time.

use std::collections::BTreeMap;

use onward_core::effect::Effect;
use onward_core::event::{Event, Outcome, PlanRevised, RewindBegun, StopReason, StopRequest, Urgency};
use onward_core::id::PhaseId;
use onward_core::input::{Choice, Input, Posted, Resumption, Says};
use onward_core::plan::{self, Plan, expand};
use onward_core::run::{self, Ending, PhaseStatus, Refusal, RunStatus};

use crate::common;
use crate::story::Story;

fn expanded(text: &str) -> Plan {
    let plan = common::plan(&format!("onward: 1\nname: demo\n{text}"));
    expand::joined(expand::at_start(&plan, &BTreeMap::new()).expect("it can be taken apart"))
}

fn driven(text: &str) -> Story {
    Story::of(expanded(text)).driven()
}

impl Story {
    fn only(&mut self, phase: &str) -> Result<Vec<Event>, Refusal> {
        self.try_drive_told(Resumption { only: Some(PhaseId::new(phase)), ..Resumption::default() })
    }

    fn stops(&self) -> Option<StopRequest> {
        self.run.stop.map(|(by, _)| by)
    }
}

const PAIR: &str = "phases:\n  a: { run: x }\n  b: { run: x }\n";

/// A stop is under way, and somebody asks for something else. A pause does not weaken it; a person who wants out is heard in a
/// pause and beside a failure; who rewinds is always heard.
#[test]
fn one_stop_on_top_of_another() {
    let mut story = driven(PAIR);
    story.stop(StopRequest::Interrupt);
    assert!(story.step(&Input::Posted(Posted::Pause)).expect("anybody may").is_empty());
    assert_eq!(story.stops(), Some(StopRequest::Interrupt));
    story.stop(StopRequest::Rewind);
    assert_eq!(story.stops(), Some(StopRequest::Rewind));

    let mut story = driven(PAIR);
    story.step(&Input::Posted(Posted::Pause)).expect("anybody may");
    assert!(!run::wanted(&story.run, story.now).iter().any(|effect| matches!(effect, Effect::Stop { .. })));
    story.stop(StopRequest::Interrupt);
    assert_eq!(story.stops(), Some(StopRequest::Interrupt));

    let mut story = driven(&format!("on-failure: stop\n{PAIR}"));
    story.fail("a");
    assert!(story.step(&Input::Posted(Posted::Pause)).expect("anybody may").is_empty());
    assert_eq!(story.stops(), Some(StopRequest::Failure));
    story.stop(StopRequest::Interrupt);
    story.end("b", Outcome::Stopped { by: StopRequest::Interrupt, said_done: false });
    assert_eq!(story.run.ending(), Some(Ending::Stopped(StopReason::Interrupt)));
}

/// A phase says that its failure stops everything, in a plan that would go on. What is at work is ended, and what waits for its
/// place is not begun, even where nothing was there to be ended.
#[test]
fn a_failure_that_stops_everything() {
    for side_by_side in [1, 2] {
        let plan = "phases:\n  a: { on-failure: stop, priority: critical, run: x }\n  b: { run: x }\n  c: { run: x }\n";
        let mut story = driven(&format!("max-parallel: {side_by_side}\non-failure: continue\n{plan}"));
        story.fail("a");
        assert!(!story.at_work().contains(&"c"), "{side_by_side}");
        if side_by_side == 2 {
            story.end("b", Outcome::Stopped { by: StopRequest::Failure, said_done: false });
        }
        assert_eq!((story.run.ending(), story.state("c").attempts), (Some(Ending::Failed), 0), "{side_by_side}");
    }
}

/// A driver begins and nobody has said that what failed is to be tried again. It is not.
#[test]
fn a_failure_stays_until_somebody_says_otherwise() {
    let mut story = driven("phases:\n  a: { run: x }\n");
    story.fail("a");
    story.drive();
    assert_eq!((story.run.status(), story.state("a").attempts), (RunStatus::Failed, 1));
}

/// A clean retry puts files back. Where it is not said which, or where no snapshot has them, it is refused.
#[test]
fn a_clean_retry_needs_something_to_go_back_to() {
    for keys in ["", ", writes: [out]"] {
        let mut story = driven(&format!("phases:\n  a: {{ run: x{keys} }}\n"));
        story.fail("a");
        let refused = story.choose("a", Choice::RetryClean).expect_err("nothing can be put back");
        assert!(matches!(refused, Refusal::Illegal("a clean retry", _, _)), "{refused}");
    }
}

const PARTS: &str =
    "on-failure: continue\nphases:\n  m: { matrix: { n: [1, 2] }, run: x }\n  after: { needs: m, run: x }\n";

fn parts(story: &Story) -> [String; 2] {
    [1, 2].map(|at| story.run.plan().phases[at].id.to_string())
}

/// A phase consists of two parts, and one of them failed. Retrying the whole retries that one; once the whole is done, retrying it
/// does both again, under new keys.
#[test]
fn a_whole_is_retried_by_its_parts() {
    let mut story = driven(PARTS);
    let [one, two] = parts(&story);
    story.done(&one);
    story.fail(&two);
    assert_eq!(story.run.ending(), Some(Ending::Failed));
    story.drive_with(&[("m", Choice::Retry)]);
    assert_eq!((story.at_work(), story.state(&two).generation.0), (vec![two.as_str()], 1));
    story.done(&two);
    assert_eq!(story.status("m"), PhaseStatus::Completed);
    story.done("after");
    story.drive_with(&[("m", Choice::Retry)]);
    assert_eq!(story.at_work(), [one.clone(), two.clone()]);
    assert_eq!((story.state(&one).generation.0, story.state(&two).generation.0), (2, 2));
}

/// One part is at work. The whole is not skipped or taken as done over its head, and nobody begins it by hand.
#[test]
fn a_whole_is_left_alone_while_a_part_works() {
    let mut story = driven(PARTS);
    for choice in [Choice::Skip, Choice::Adopt] {
        story.choose("m", choice).expect_err("its parts are at work");
    }
    let mut story = driven(&PARTS.replace("run: x }\n  after", "external: { instructions: x } }\n  after"));
    let begun = Posted::Report { phase: PhaseId::new("m"), by: "ada".to_owned(), says: Says::Start, complexity: None };
    story.step(&Input::Posted(begun)).expect_err("it consists of parts");
}

/// One phase alone is wanted. It is refused where something it needs is not done as it needs it, and for what belongs to the end;
/// nobody is asked about anything else meanwhile.
#[test]
fn only_one_phase() {
    let text = "phases:\n  a: { run: x }\n  gate: { approval: { message: go? } }\n  b: { needs: [{ phase: a, state: completed }], run: x }\n  c: { needs: a, run: x }\nfinally:\n  clean: { run: x }\n";
    let mut story = driven(text);
    story.stop(StopRequest::Interrupt);
    story.end("a", Outcome::Stopped { by: StopRequest::Interrupt, said_done: false });
    story.only("b").expect_err("a is not done");
    story.only("clean").expect_err("it belongs to the end");
    story.choose("a", Choice::Skip).expect("a person may");
    story.only("b").expect_err("a was skipped, and has to be completed");
    story.only("c").expect("a skipped need is enough for it");
    assert_eq!(story.at_work(), ["c"]);
    story.fail("c");
    assert_eq!((story.run.ending(), story.state("clean").attempts), (Some(Ending::Failed), 0), "the end is not wanted");
    story.choose("c", Choice::Retry).expect("a person may");
    story.only("c").expect("a skipped need is enough for it");
    story.done("c");
    assert_eq!((story.run.ending(), story.state("clean").attempts), (Some(Ending::Stopped(StopReason::OnlyThat)), 0));

    let mut story =
        driven("phases:\n  a: { run: x }\n  gate: { needs: a, approval: { message: go? } }\n  b: { run: x }\n");
    story.stop(StopRequest::Interrupt);
    story.end("b", Outcome::Stopped { by: StopRequest::Interrupt, said_done: false });
    story.done("a");
    story.only("b").expect("it needs nothing");
    assert_eq!((story.at_work(), story.status("gate")), (vec!["b"], PhaseStatus::Pending));
}

/// Everything from a phase on is to be done again. What is finished gets a new key, and what failed has its retries again.
#[test]
fn from_a_phase_on() {
    let retry = "retry: { max: 1, backoff: { initial: 0s } }";
    let mut story = driven(&format!(
        "phases:\n  a: {{ run: x }}\n  b: {{ needs: a, {retry}, run: x }}\n  c: {{ needs: b, run: x }}\n"
    ));
    story.done("a");
    story.fail("b");
    story.fail("b");
    assert_eq!(story.status("b"), PhaseStatus::Failed);
    let from = Resumption { from: Some(PhaseId::new("a")), ..Resumption::default() };
    story.drive_told(from);
    assert_eq!((story.at_work(), story.state("a").generation.0), (vec!["a"], 2));
    story.done("a");
    story.fail("b");
    assert_eq!((story.at_work(), story.state("b").generation.0), (vec!["b"], 1), "it has its retry again");
}

/// Phases are named that are to be done again. Those that are not finished are not touched by it.
#[test]
fn only_what_is_finished_is_done_again() {
    let mut story = driven("phases:\n  a: { run: x }\n  b: { needs: a, run: x }\n");
    story.done("a");
    story.fail("b");
    let rerun = vec![PhaseId::new("a"), PhaseId::new("b")];
    story.drive_told(Resumption { rerun, ..Resumption::default() });
    assert_eq!((story.state("a").generation.0, story.state("b").generation.0), (2, 1));
}

/// A question stands open, and the plan is edited: a program does it now. The question is gone with the old plan.
#[test]
fn a_question_goes_with_its_plan() {
    let mut story = driven("phases:\n  gate: { approval: { message: go? } }\n");
    assert_eq!(story.status("gate"), PhaseStatus::Waiting);
    let plan = expanded("phases:\n  gate: { run: x }\n");
    let revised = PlanRevised { plan_digest: plan::digest(&plan), plan, plan_text: String::new(), renamed: Vec::new() };
    story.drive_told(Resumption { revised: Some(Box::new(revised)), ..Resumption::default() });
    assert_eq!(story.at_work(), ["gate"]);
}

/// Somebody waits for another plan that may touch whatever has not begun. Nobody is asked about an approval before it is there.
#[test]
fn nobody_is_asked_before_the_other_plan_is_there() {
    let mut story = driven(
        "on-failure: continue\nreplan: { run: x, may-edit: pending }\nphases:\n  a: { run: x }\n  b: { run: x }\n  gate: { needs: b, approval: { message: go? } }\n",
    );
    story.end("a", Outcome::Exited { code: 79 });
    story.done("b");
    assert_eq!(story.status("gate"), PhaseStatus::Pending);
}

/// Somebody pressed Ctrl+C, and then the terminal is closed. The phases are still given the time to end: only a person who asks
/// twice wants them killed.
#[test]
fn a_terminal_that_goes_is_no_second_order() {
    let mut story = driven(PAIR);
    story.stop(StopRequest::Interrupt);
    assert!(story.stop(StopRequest::Hangup).is_empty());
    let stops = run::wanted(&story.run, story.now);
    assert!(stops.iter().all(|effect| matches!(effect, Effect::Stop { urgency: Urgency::Ask, .. })), "{stops:?}");
}

/// The terminal is gone and its phases live on. A run is not taken back while something of it is at work.
#[test]
fn no_rewind_beside_what_is_at_work() {
    let mut story = driven(PAIR);
    story.stop(StopRequest::Hangup);
    assert_eq!((story.run.ending(), story.at_work().len()), (Some(Ending::Stopped(StopReason::Hangup)), 2));
    let checkpoint = story.run.last_checkpoint.clone().expect("one was taken");
    let begun = RewindBegun { to: checkpoint.clone(), before: checkpoint, files: None, state: true, undoes: false };
    assert_eq!(story.step(&Input::Rewind(begun)), Err(Refusal::AtWork));
}
