//! What people order while a run goes on or stands still: stop, pause, retry, only this, from here. In virtual time.

#[path = "common/checked.rs"]
mod checked;
mod common;

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use onward_core::effect::Effect;
use onward_core::event::{Event, Outcome, PlanRevised, Recorded, RewindBegun, StopBy};
use onward_core::id::{Attempt, PhaseId};
use onward_core::input::{AttemptEnd, Begin, Choice, Input, Posted, Resumption, Says};
use onward_core::plan::{self, Plan, expand};
use onward_core::run::{self, Ending, PhaseStatus, Refusal, Run, RunStatus};

struct Story {
    run: Run,
    journal: Vec<Recorded>,
    now: Timestamp,
    epoch: u64,
}

fn expanded(text: &str) -> Plan {
    let plan = common::plan(&format!("onward: 1\nname: demo\n{text}"));
    expand::joined(expand::at_start(&plan, &BTreeMap::new()).expect("it can be taken apart"))
}

impl Story {
    fn new(text: &str) -> Self {
        let now = common::now();
        let (run, stepped) = run::start(common::started(expanded(text)), "ada", now);
        let mut story = Self { run, journal: stepped.events, now, epoch: 0 };
        story.begin(Resumption::default(), &[]).expect("a driver may begin");
        story
    }

    fn step(&mut self, input: &Input) -> Result<Vec<Event>, Refusal> {
        self.now += SignedDuration::from_secs(1);
        checked::step(&mut self.run, &mut self.journal, input, self.now)
    }

    fn begin(&mut self, resumption: Resumption, choices: &[(&str, Choice)]) -> Result<Vec<Event>, Refusal> {
        self.epoch += 1;
        let choices = choices.iter().map(|(phase, choice)| (PhaseId::new(*phase), *choice)).collect();
        self.step(&Input::Begin(Begin { resumption, choices, ..common::begin(self.epoch) }))
    }

    fn only(&mut self, phase: &str) -> Result<Vec<Event>, Refusal> {
        self.begin(Resumption { only: Some(PhaseId::new(phase)), ..Resumption::default() }, &[])
    }

    fn end(&mut self, phase: &str, outcome: Outcome) {
        let attempt = Attempt(self.state(phase).attempts);
        let end = AttemptEnd::bare(outcome);
        self.step(&Input::AttemptEnded { phase: PhaseId::new(phase), attempt, end }).expect("it is at work");
    }

    fn done(&mut self, phase: &str) {
        self.end(phase, Outcome::Exited { code: 0 });
    }

    fn fail(&mut self, phase: &str) {
        self.end(phase, Outcome::Exited { code: 3 });
    }

    fn stop(&mut self, by: StopBy) -> Vec<Event> {
        self.step(&Input::StopAsked { by }).expect("anybody may")
    }

    fn choose(&mut self, phase: &str, choice: Choice) -> Result<Vec<Event>, Refusal> {
        self.step(&Input::Posted(Posted::Choose { phase: PhaseId::new(phase), choice }))
    }

    fn state(&self, phase: &str) -> &run::PhaseState {
        self.run.phase_state(&PhaseId::new(phase)).expect("a phase of the plan")
    }

    fn status(&self, phase: &str) -> PhaseStatus {
        self.state(phase).status
    }

    fn at_work(&self) -> Vec<String> {
        self.run.running().map(|(phase, _)| phase.id.to_string()).collect()
    }

    fn stops(&self) -> Option<StopBy> {
        self.run.stop.map(|(by, _)| by)
    }
}

const PAIR: &str = "phases:\n  a: { run: x }\n  b: { run: x }\n";

/// A stop is under way, and somebody asks for something else. A pause does not weaken it; a person who wants out is heard in a
/// pause and beside a failure; who rewinds is always heard.
#[test]
fn one_stop_on_top_of_another() {
    let mut story = Story::new(PAIR);
    story.stop(StopBy::Interrupt);
    assert!(story.step(&Input::Posted(Posted::Pause)).expect("anybody may").is_empty());
    assert_eq!(story.stops(), Some(StopBy::Interrupt));
    story.stop(StopBy::Rewind);
    assert_eq!(story.stops(), Some(StopBy::Rewind));

    let mut story = Story::new(PAIR);
    story.step(&Input::Posted(Posted::Pause)).expect("anybody may");
    assert!(!run::wanted(&story.run, story.now).iter().any(|effect| matches!(effect, Effect::Stop { .. })));
    story.stop(StopBy::Interrupt);
    assert_eq!(story.stops(), Some(StopBy::Interrupt));

    let mut story = Story::new(&format!("on-failure: stop\n{PAIR}"));
    story.fail("a");
    assert!(story.step(&Input::Posted(Posted::Pause)).expect("anybody may").is_empty());
    assert_eq!(story.stops(), Some(StopBy::Failure));
    story.stop(StopBy::Interrupt);
    story.end("b", Outcome::Stopped { by: StopBy::Interrupt, said_done: false });
    assert_eq!(story.run.ending(), Some(Ending::Stopped(StopBy::Interrupt)));
}

/// A phase says that its failure stops everything, in a plan that would go on. What is at work is ended, and what waits for its
/// place is not begun, even where nothing was there to be ended.
#[test]
fn a_failure_that_stops_everything() {
    for side_by_side in [1, 2] {
        let plan = "phases:\n  a: { on-failure: stop, priority: critical, run: x }\n  b: { run: x }\n  c: { run: x }\n";
        let mut story = Story::new(&format!("max-parallel: {side_by_side}\non-failure: continue\n{plan}"));
        story.fail("a");
        assert!(!story.at_work().contains(&"c".to_owned()), "{side_by_side}");
        if side_by_side == 2 {
            story.end("b", Outcome::Stopped { by: StopBy::Failure, said_done: false });
        }
        assert_eq!((story.run.ending(), story.state("c").attempts), (Some(Ending::Failed), 0), "{side_by_side}");
    }
}

/// A driver begins and nobody has said that what failed is to be tried again. It is not.
#[test]
fn a_failure_stays_until_somebody_says_otherwise() {
    let mut story = Story::new("phases:\n  a: { run: x }\n");
    story.fail("a");
    story.begin(Resumption::default(), &[]).expect("a driver may begin");
    assert_eq!((story.run.status(), story.state("a").attempts), (RunStatus::Failed, 1));
}

/// A clean retry puts files back. Where it is not said which, or where no snapshot has them, it is refused.
#[test]
fn a_clean_retry_needs_something_to_go_back_to() {
    for keys in ["", ", writes: [out]"] {
        let mut story = Story::new(&format!("phases:\n  a: {{ run: x{keys} }}\n"));
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
    let mut story = Story::new(PARTS);
    let [one, two] = parts(&story);
    story.done(&one);
    story.fail(&two);
    assert_eq!(story.run.ending(), Some(Ending::Failed));
    story.begin(Resumption::default(), &[("m", Choice::Retry)]).expect("a person may");
    assert_eq!((story.at_work(), story.state(&two).generation.0), (vec![two.clone()], 1));
    story.done(&two);
    assert_eq!(story.status("m"), PhaseStatus::Completed);
    story.done("after");
    story.begin(Resumption::default(), &[("m", Choice::Retry)]).expect("a person may");
    assert_eq!(story.at_work(), [one.clone(), two.clone()]);
    assert_eq!((story.state(&one).generation.0, story.state(&two).generation.0), (2, 2));
}

/// One part is at work. The whole is not skipped or taken as done over its head, and nobody begins it by hand.
#[test]
fn a_whole_is_left_alone_while_a_part_works() {
    let mut story = Story::new(PARTS);
    for choice in [Choice::Skip, Choice::Adopt] {
        story.choose("m", choice).expect_err("its parts are at work");
    }
    let mut story = Story::new(&PARTS.replace("run: x }\n  after", "external: { instructions: x } }\n  after"));
    let begun = Posted::Report { phase: PhaseId::new("m"), by: "ada".to_owned(), says: Says::Start, complexity: None };
    story.step(&Input::Posted(begun)).expect_err("it consists of parts");
}

/// One phase alone is wanted. It is refused where something it needs is not done as it needs it, and for what belongs to the end;
/// nobody is asked about anything else meanwhile.
#[test]
fn only_one_phase() {
    let text = "phases:\n  a: { run: x }\n  gate: { approval: { message: go? } }\n  b: { needs: [{ phase: a, state: completed }], run: x }\n  c: { needs: a, run: x }\nfinally:\n  clean: { run: x }\n";
    let mut story = Story::new(text);
    story.stop(StopBy::Interrupt);
    story.end("a", Outcome::Stopped { by: StopBy::Interrupt, said_done: false });
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
    assert_eq!((story.run.ending(), story.state("clean").attempts), (Some(Ending::Stopped(StopBy::OnlyThat)), 0));

    let mut story =
        Story::new("phases:\n  a: { run: x }\n  gate: { needs: a, approval: { message: go? } }\n  b: { run: x }\n");
    story.stop(StopBy::Interrupt);
    story.end("b", Outcome::Stopped { by: StopBy::Interrupt, said_done: false });
    story.done("a");
    story.only("b").expect("it needs nothing");
    assert_eq!((story.at_work(), story.status("gate")), (vec!["b".to_owned()], PhaseStatus::Pending));
}

/// Everything from a phase on is to be done again. What is finished gets a new key, and what failed has its retries again.
#[test]
fn from_a_phase_on() {
    let retry = "retry: { max: 1, backoff: { initial: 0s } }";
    let mut story = Story::new(&format!(
        "phases:\n  a: {{ run: x }}\n  b: {{ needs: a, {retry}, run: x }}\n  c: {{ needs: b, run: x }}\n"
    ));
    story.done("a");
    story.fail("b");
    story.fail("b");
    assert_eq!(story.status("b"), PhaseStatus::Failed);
    let from = Resumption { from: Some(PhaseId::new("a")), ..Resumption::default() };
    story.begin(from, &[]).expect("a person may");
    assert_eq!((story.at_work(), story.state("a").generation.0), (vec!["a".to_owned()], 2));
    story.done("a");
    story.fail("b");
    assert_eq!((story.at_work(), story.state("b").generation.0), (vec!["b".to_owned()], 1), "it has its retry again");
}

/// Phases are named that are to be done again. Those that are not finished are not touched by it.
#[test]
fn only_what_is_finished_is_done_again() {
    let mut story = Story::new("phases:\n  a: { run: x }\n  b: { needs: a, run: x }\n");
    story.done("a");
    story.fail("b");
    let rerun = vec![PhaseId::new("a"), PhaseId::new("b")];
    story.begin(Resumption { rerun, ..Resumption::default() }, &[]).expect("a person may");
    assert_eq!((story.state("a").generation.0, story.state("b").generation.0), (2, 1));
}

/// A question stands open, and the plan is edited: a program does it now. The question is gone with the old plan.
#[test]
fn a_question_goes_with_its_plan() {
    let mut story = Story::new("phases:\n  gate: { approval: { message: go? } }\n");
    assert_eq!(story.status("gate"), PhaseStatus::Waiting);
    let plan = expanded("phases:\n  gate: { run: x }\n");
    let revised = PlanRevised { plan_digest: plan::digest(&plan), plan, plan_text: String::new(), renamed: Vec::new() };
    story.begin(Resumption { revised: Some(Box::new(revised)), ..Resumption::default() }, &[]).expect("a person may");
    assert_eq!(story.at_work(), ["gate"]);
}

/// Somebody waits for another plan that may touch whatever has not begun. Nobody is asked about an approval before it is there.
#[test]
fn nobody_is_asked_before_the_other_plan_is_there() {
    let mut story = Story::new(
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
    let mut story = Story::new(PAIR);
    story.stop(StopBy::Interrupt);
    assert!(story.stop(StopBy::Hangup).is_empty());
    let stops = run::wanted(&story.run, story.now);
    assert!(stops.iter().all(|effect| matches!(effect, Effect::Stop { kill: false, .. })), "{stops:?}");
}

/// The terminal is gone and its phases live on. A run is not taken back while something of it is at work.
#[test]
fn no_rewind_beside_what_is_at_work() {
    let mut story = Story::new(PAIR);
    story.stop(StopBy::Hangup);
    assert_eq!((story.run.ending(), story.at_work().len()), (Some(Ending::Stopped(StopBy::Hangup)), 2));
    let checkpoint = story.run.last_checkpoint.clone().expect("one was taken");
    let begun = RewindBegun { to: checkpoint.clone(), before: checkpoint, files: None, state: true, undoes: false };
    assert_eq!(story.step(&Input::Rewind(begun)), Err(Refusal::AtWork));
}
