//! Phases that want another plan, and what comes of it, in the life of a run. Small stories in virtual time.

use jiff::SignedDuration;
use onward_core::effect::Effect;
use onward_core::event::{AgentEnded, AgentHow, Event, Outcome, PlanRevised, StopReason, StopRequest};
use onward_core::id::{Attempt, PhaseId};
use onward_core::input::{AttemptEnd, Choice, Consent, Input, Posted, Resumption, Says};
use onward_core::plan;
use onward_core::replan::{Because, ReplanLimits};
use onward_core::run::replans::{PlanMaker, Stage};
use onward_core::run::verification::{CheckEnd, EffectFound as EffectSeen, Proof};
use onward_core::run::{self, Before, Ending, PhaseStatus, Refusal};

use crate::common;
use crate::story::Story;

/// A plan with these rules about other plans, and these phases.
pub(crate) fn driven(rules: &str, phases: &str) -> Story {
    Story::of(text(rules, phases)).driven()
}

impl Story {
    fn find_too_big(&mut self, phase: &str, code: i32) -> Vec<Event> {
        self.end_saying(phase, Outcome::Exited { code }, "too big\n")
    }

    /// The command that makes plans prints this one.
    pub(crate) fn made(&mut self, phase: &str, rules: &str, phases: &str) -> Vec<Event> {
        self.take(&Input::Replan { phase: PhaseId::new(phase), plan: Ok(Box::new(text(rules, phases))) })
    }

    fn settle(&mut self, phase: &str, answer: Consent) -> Result<Vec<Event>, Refusal> {
        self.step(&Input::Posted(Posted::SettleReplan { phase: PhaseId::new(phase), answer }))
    }

    pub(crate) fn report_complexity(&mut self, phase: &str, says: Says, complexity: Option<u32>) -> Vec<Event> {
        let phase = PhaseId::new(phase);
        self.take(&Input::Posted(Posted::Report { phase, by: "ada@h".to_owned(), says, complexity }))
    }

    fn brought(&mut self, phase: &str, plan: &plan::Plan) -> Result<Vec<Event>, Refusal> {
        let (phase, plan) = (PhaseId::new(phase), Some(Box::new(plan.clone())));
        self.step(&Input::Posted(Posted::Replan { phase, reason: "more".to_owned(), plan }))
    }

    fn stage(&self, phase: &str) -> Option<&Stage> {
        self.run.replans.asked_by(&PhaseId::new(phase)).map(|asked| &asked.stage)
    }

    pub(crate) fn refused(&self, phase: &str) -> Option<Because> {
        match self.stage(phase) {
            Some(Stage::Refused { because, .. }) => Some(*because),
            Some(Stage::Open | Stage::Proposed(_)) | None => None,
        }
    }

    pub(crate) fn a_plan_is_wanted(&self) -> bool {
        run::wanted(&self.run, self.now).iter().any(|effect| matches!(effect, Effect::Replan { .. }))
    }

    pub(crate) fn asks(&self) -> bool {
        self.run.ending() == Some(Ending::Stopped(StopReason::Question))
    }
}

pub(crate) fn text(rules: &str, phases: &str) -> plan::Plan {
    common::plan(&format!("onward: 1\nname: demo\non-failure: continue\nreplan: {{ {rules} }}\nphases:\n{phases}"))
}

const FREE: &str = "run: make-plan, approval: false";
const ASKS_FIRST: &str = "run: make-plan";
const BIG: &str = "  a: { run: x }\n  b: { needs: a, run: x }\n";
/// The plan asked for in the place of `a`.
const SMALL: &str = "  a1: { run: x }\n  a2: { needs: a1, run: x }\n  b: { needs: a2, run: x }\n";

fn other_work(words: &str) -> String {
    BIG.replace("a: { run: x }", &format!("a: {{ run: {words} }}"))
}

/// A phase ends with the code that asks for another plan. The plan is wanted, waits for a person, and counts when the person
/// agrees.
#[test]
fn a_plan_waits_for_a_person() {
    let mut story = driven(ASKS_FIRST, BIG);
    story.find_too_big("a", 79);
    assert!(story.a_plan_is_wanted() && story.at_work().is_empty());
    assert_eq!(story.run.ending(), None, "the run waits for the plan");
    story.made("a", ASKS_FIRST, SMALL);
    assert!(matches!(story.stage("a"), Some(Stage::Proposed(_))) && story.asks());
    story.settle("a", Consent::Yes).expect("it was asked");
    story.drive();
    assert_eq!(story.at_work(), ["a1"]);
    assert!(story.settle("a", Consent::Yes).is_err(), "no plan of it waits any more");
}

/// A person says no. The run asks what is to become of the phase; the plan is made once more, and the one that was turned down is
/// not brought before the person again.
#[test]
fn a_plan_that_was_turned_down_is_remembered() {
    let mut story = driven(ASKS_FIRST, BIG);
    story.find_too_big("a", 79);
    story.made("a", ASKS_FIRST, SMALL);
    story.settle("a", Consent::No).expect("it was asked");
    assert_eq!(story.refused("a"), Some(Because::Rejected));
    assert!(story.state("a").error.as_ref().is_some_and(|error| error.code.as_str() == "not-replanned"));
    story.drive();
    assert!(story.a_plan_is_wanted(), "whoever goes on wants it tried again");
    story.made("a", ASKS_FIRST, SMALL);
    assert_eq!(story.refused("a"), Some(Because::TriedBefore));
    assert!(story.asks());
}

/// No plan that the run ever had is taken a second time: not the present one, not one before it, not one that a person replaced.
#[test]
fn no_plan_is_tried_twice() {
    let mut story = driven(FREE, BIG);
    story.find_too_big("a", 79);
    story.made("a", FREE, BIG);
    assert_eq!(story.refused("a"), Some(Because::TriedBefore), "it is the present one");
    story.drive();
    story.made("a", FREE, &other_work("y"));
    assert_eq!(story.at_work(), ["a"]);
    story.find_too_big("a", 79);
    story.made("a", FREE, BIG);
    assert_eq!(story.refused("a"), Some(Because::TriedBefore), "it is the first one");
    let plan = text(FREE, &other_work("z"));
    let revised = PlanRevised { plan_digest: plan::digest(&plan), plan, plan_text: String::new(), renamed: Vec::new() };
    story.drive_told(Resumption { revised: Some(Box::new(revised)), ..Resumption::default() });
    story.find_too_big("a", 79);
    story.made("a", FREE, &other_work("y"));
    assert_eq!(story.refused("a"), Some(Because::TriedBefore), "a person has replaced it");
}

/// A phase may have one plan made. The second time it is refused before anybody tries; a person lets one more through, and one
/// only, and what people edit themselves is not counted.
#[test]
fn one_more_is_one_more() {
    let rules = "run: make-plan, approval: false, max: 9, max-per-phase: 1";
    let mut story = driven(rules, BIG);
    story.find_too_big("a", 79);
    story.made("a", rules, &other_work("1"));
    assert_eq!(story.run.replans.counts()["a"], 1);
    story.find_too_big("a", 79);
    assert_eq!((story.refused("a"), story.a_plan_is_wanted()), (Some(Because::Limit), false));
    assert!(story.asks());
    let waived = || Resumption { replan_limits: ReplanLimits::Waived, ..Resumption::default() };
    story.drive_told(waived());
    assert!(story.a_plan_is_wanted());
    story.made("a", rules, &other_work("2"));
    assert_eq!(story.at_work(), ["a"]);
    story.find_too_big("a", 79);
    assert_eq!(story.refused("a"), Some(Because::Limit), "it was one more");
    story.drive_told(waived());
    story.take(&Input::StopAsked { by: StopRequest::Interrupt });
    story.drive();
    assert_eq!(story.refused("a"), Some(Because::Limit), "who was let through is gone");
}

/// The whole run may have one plan made, and a person has edited the plan before. That does not count.
#[test]
fn what_people_edit_is_not_counted() {
    let rules = "run: make-plan, approval: false, max: 1";
    let mut story = driven(rules, BIG);
    story.take(&Input::StopAsked { by: StopRequest::Interrupt });
    let end = AttemptEnd::bare(Outcome::Stopped { by: StopRequest::Interrupt, said_done: false });
    story.take(&Input::AttemptEnded { phase: PhaseId::new("a"), attempt: Attempt(1), end });
    let plan = text(rules, &other_work("edited"));
    let revised = PlanRevised { plan_digest: plan::digest(&plan), plan, plan_text: String::new(), renamed: Vec::new() };
    story.drive_told(Resumption { revised: Some(Box::new(revised)), ..Resumption::default() });
    story.find_too_big("a", 79);
    story.made("a", rules, &other_work("1"));
    assert_eq!(story.at_work(), ["a"]);
    story.find_too_big("a", 79);
    assert_eq!(story.refused("a"), Some(Because::Limit));
    let numbers: Vec<u32> = story.run.replans.history().iter().map(|record| record.revision).collect();
    assert_eq!(numbers, [1, 2]);
}

/// The plan names no command that makes another one. The phase does not wait for what nobody can do.
#[test]
fn without_a_command_a_person_is_asked_at_once() {
    let mut story = driven("approval: false", BIG);
    story.find_too_big("a", 79);
    assert_eq!((story.refused("a"), story.asks()), (Some(Because::NoCommand), true));
}

/// A final failure asks for another plan where its plan says so, and only for the kind of failure that it names.
#[test]
fn failures_that_ask_for_another_plan() {
    let check = || CheckEnd { command: "make test".to_owned(), code: Some(2), said: String::new() };
    for (rules, keys, after_failing, after_checking) in [
        ("run: make-plan", "", false, false),
        ("run: make-plan, when: [failed]", "", true, false),
        ("run: make-plan, when: [verify-failed]", "", false, true),
        ("run: make-plan", ", on-failure: replan", true, true),
    ] {
        let phases = format!("  a: {{ run: x, verify: [make test]{keys} }}\n  b: {{ run: x }}\n");
        let mut story = driven(rules, &phases);
        story.find_too_big("a", 3);
        assert_eq!(story.a_plan_is_wanted(), after_failing, "{rules}{keys}");
        let mut story = driven(rules, &phases);
        story.find_too_big("a", 0);
        let proof = Box::new(Proof { checks: vec![check()], ..Proof::default() });
        story.take(&Input::Probed { phase: PhaseId::new("a"), proof });
        assert_eq!(story.a_plan_is_wanted(), after_checking, "{rules}{keys}");
    }
}

/// The phase says it is done, and `done-when` says no. That is what `verify-failed` is about, and `failed` is not.
#[test]
fn a_done_when_that_says_no_asks_for_another_plan() {
    for (rules, asks) in [("run: make-plan, when: [verify-failed]", true), ("run: make-plan, when: [failed]", false)] {
        let mut story = driven(rules, "  a: { run: x, done-when: test -f done }\n  b: { run: x }\n");
        story.find_too_big("a", 0);
        let proof = Box::new(Proof { effect: Some(EffectSeen::Absent), ..Proof::default() });
        story.take(&Input::Probed { phase: PhaseId::new("a"), proof });
        assert_eq!(story.a_plan_is_wanted(), asks, "{rules}");
    }
}

const BESIDE: &str = "  a: { run: x }\n  b: { needs: a, run: x }\n  c: { run: x }\n  d: { needs: c, run: x }\n";

/// A phase waits for a plan that may touch only what comes after it. The rest of the run goes on; where the plan may touch
/// everything that has not begun, nothing is begun before it is there.
#[test]
fn who_goes_on_while_a_plan_is_made() {
    for (may_edit, goes_on) in [("downstream", true), ("pending", false)] {
        for asks_first in [false, true] {
            let rules = format!("run: make-plan, may-edit: {may_edit}, approval: {asks_first}");
            let mut story = driven(&rules, BESIDE);
            story.find_too_big("a", 79);
            if asks_first {
                story.made("a", &rules, &BESIDE.replace("b: { needs: a, run: x }", "b: { needs: a, run: y }"));
            }
            story.find_too_big("c", 0);
            assert_eq!(story.at_work() == ["d"], goes_on, "{rules}");
            assert_eq!(story.asks(), asks_first && !goes_on, "{rules}");
        }
    }
}

/// No plan comes of it. A person has to speak before anything else is begun; the end of what is at work is waited for.
#[test]
fn nothing_else_starts_after_a_refusal() {
    let mut story = driven(FREE, &format!("{BESIDE}  e: {{ run: x }}\n"));
    story.find_too_big("a", 79);
    story.take(&Input::Replan { phase: PhaseId::new("a"), plan: Err("it ended with code 1".to_owned()) });
    assert_eq!((story.refused("a"), story.run.ending()), (Some(Because::NoPlan), None));
    story.find_too_big("c", 0);
    assert_eq!((story.at_work(), story.asks()), (vec!["e"], false), "d waits for the person too");
    story.find_too_big("e", 0);
    assert!(story.at_work().is_empty() && story.asks());
    assert_eq!(story.run.status(), run::RunStatus::Interrupted, "it is no approval that is waited for");
}

/// Two phases ask for another plan. The one that is made for the first has other work for the second too, so the second asks no
/// more; one that does not touch it leaves it asking.
#[test]
fn one_plan_for_two_who_asked() {
    let phases = "  a: { run: x }\n  b: { run: x }\n  last: { needs: [a, b], run: x }\n";
    let rules = "run: make-plan, approval: false, may-edit: pending";
    for (words, asks) in [("y", false), ("x", true)] {
        let mut story = driven(rules, phases);
        story.find_too_big("a", 79);
        story.find_too_big("b", 79);
        let other = phases.replace("a: { run: x }", "a: { run: y }");
        story.made("a", rules, &other.replace("b: { run: x }", &format!("b: {{ run: {words} }}")));
        assert_eq!(story.stage("b").is_some(), asks, "run: {words}");
    }
}

/// A person edits the plan, and then the one that the person has replaced is proposed. It is not taken.
#[test]
fn what_a_person_has_replaced_does_not_come_back() {
    let mut story = driven(FREE, BIG);
    story.find_too_big("a", 79);
    let plan = text(FREE, &other_work("edited"));
    let revised = PlanRevised { plan_digest: plan::digest(&plan), plan, plan_text: String::new(), renamed: Vec::new() };
    story.drive_told(Resumption { revised: Some(Box::new(revised)), ..Resumption::default() });
    story.find_too_big("a", 79);
    story.made("a", FREE, BIG);
    assert_eq!(story.refused("a"), Some(Because::TriedBefore));
}

/// A phase took its host down and was parked. Somebody brings a plan with other work for it, and it is begun again.
#[test]
fn what_was_parked_begins_anew() {
    let mut story = driven(FREE, BIG);
    for _ in 0..3 {
        let attempt = Attempt(story.state("a").attempts);
        let end = AttemptEnd::bare(Outcome::Unknown);
        story.take(&Input::AttemptEnded { phase: PhaseId::new("a"), attempt, end });
    }
    assert!(story.state("a").parked);
    story.brought("a", &text(FREE, &other_work("y"))).expect("it is heard");
    assert!(!story.state("a").parked && story.state("a").unknowns_in_a_row == 0);
    story.drive();
    assert_eq!(story.at_work(), ["a"]);
}

/// A phase was taken apart when its list was known. One part is done or has failed, and the other asks for another plan, which has
/// other work for both. What became of the first does not count any more: it was the old work.
#[test]
fn parts_with_other_work_are_done_anew() {
    let rules = "run: make-plan, approval: false, may-edit: all";
    let phases = "  list: { run: x }\n  m: { needs: list, matrix: { n: '${{ phases.list.outputs.all }}' }, run: x }\n";
    for code in [0, 3] {
        let mut story = driven(rules, phases);
        let outputs = Ok([("all".to_owned(), "[1, 2]".to_owned())].into());
        let end = AttemptEnd { outputs, ..AttemptEnd::bare(Outcome::Exited { code: 0 }) };
        story.take(&Input::AttemptEnded { phase: PhaseId::new("list"), attempt: Attempt(1), end });
        let parts = story.names_at_work();
        story.find_too_big(&parts[0], code);
        story.find_too_big(&parts[1], 79);
        story.made(&parts[1], rules, &phases.replace("}}' }, run: x", "}}' }, run: y"));
        assert_eq!(story.at_work(), parts, "code {code}");
        assert_eq!(story.state(&parts[0]).attempts, 2, "code {code}");
    }
}

/// Somebody answers for the phase while its plan is being made. The plan that comes then changes nothing.
#[test]
fn a_plan_that_comes_too_late() {
    for (choice, status) in [(Choice::Skip, PhaseStatus::Skipped), (Choice::Adopt, PhaseStatus::Completed)] {
        let mut story = driven(FREE, BIG);
        story.find_too_big("a", 79);
        story.choose("a", choice).expect("a person may");
        assert!(story.made("a", FREE, SMALL).is_empty() && !story.a_plan_is_wanted());
        assert_eq!((story.state("a").status, story.at_work()), (status, vec!["b"]));
    }
    let mut story = driven(ASKS_FIRST, BIG);
    story.find_too_big("a", 79);
    story.made("a", ASKS_FIRST, SMALL);
    assert!(story.made("a", ASKS_FIRST, &other_work("y")).is_empty(), "one waits for a person");
    story.choose("a", Choice::Retry).expect("a person may");
    assert!(story.settle("a", Consent::Yes).is_err(), "it was answered for");
}

/// The phase stays, with other work. It has its retries again, is not parked any more, and its next attempt knows why.
#[test]
fn a_phase_with_other_work_begins_anew() {
    let mut story = driven(FREE, "  a: { run: x, retry: { max: 1, backoff: { initial: 0s } } }\n  b: { run: x }\n");
    story.find_too_big("a", 3);
    story.take(&Input::Tick);
    story.find_too_big("a", 79);
    story.made("a", FREE, "  a: { run: y, retry: { max: 1, backoff: { initial: 0s } } }\n  b: { run: x }\n");
    let attempt = story.state("a").attempt.as_ref().expect("it is at work");
    assert_eq!((attempt.number, attempt.before), (Attempt(3), Some(Before::Replanned)));
    assert_eq!(story.state("a").failures, 0);
    story.find_too_big("a", 3);
    assert_eq!((story.at_work(), story.state("a").attempts), (vec!["a", "b"], 4), "it has its retry again");
}

/// A plan may change what is finished, and does; and it has other work for a phase that had failed. Both are done anew, the first
/// under a new key.
#[test]
fn what_changes_is_done_anew() {
    let rules = "run: make-plan, approval: false, may-edit: all";
    let phases =
        "  done: { run: x }\n  failed: { run: x }\n  a: { run: x }\n  rest: { needs: [done, failed, a], run: x }\n";
    let mut story = driven(rules, phases);
    story.find_too_big("done", 0);
    story.find_too_big("failed", 3);
    story.find_too_big("a", 79);
    story.made("a", rules, &phases.replace("run: x }\n  failed: { run: x }", "run: y }\n  failed: { run: y }"));
    assert_eq!(story.at_work(), ["done", "failed", "a"]);
    assert_eq!((story.state("done").generation.0, story.state("failed").generation.0), (2, 1));
}

const BY_HAND: &str = "  a: { external: { instructions: do it } }\n  b: { needs: a, run: x }\n";

/// Whoever does a phase says how hard it is. More than the plan allows asks for another plan, once; what is done or failed is not
/// asked about.
#[test]
fn how_hard_a_phase_may_be() {
    let rules = "run: make-plan, when: [too-complex], complexity-max: 5";
    let progress = || Says::Progress { note: None };
    let asked = |events: &[Event]| events.iter().filter(|event| matches!(event, Event::ReplanAsked { .. })).count();
    let mut story = driven(rules, BY_HAND);
    assert_eq!(asked(&story.report_complexity("a", Says::Start, Some(5))), 0, "as much as may be");
    assert_eq!(asked(&story.report_complexity("a", progress(), None)), 0);
    assert_eq!(asked(&story.report_complexity("a", progress(), Some(6))), 1);
    assert_eq!(asked(&story.report_complexity("a", progress(), Some(7))), 0, "it has asked");
    for says in [Says::Done(Box::default()), Says::Fail { reason: "no".to_owned() }] {
        let mut story = driven(rules, BY_HAND);
        story.report_complexity("a", Says::Start, None);
        assert_eq!(asked(&story.report_complexity("a", says, Some(99))), 0);
    }
    let mut story = driven("run: make-plan, when: [failed], complexity-max: 5", BY_HAND);
    assert_eq!(asked(&story.report_complexity("a", Says::Start, Some(99))), 0, "nobody wants to know");
    let mut story = driven("run: make-plan, complexity-max: 5", BY_HAND);
    assert_eq!(asked(&story.report_complexity("a", Says::Start, Some(6))), 1, "nobody writes a figure for nothing");
}

/// Whoever does a phase brings a plan along that cannot be taken. The phase stays as it is; for what is finished, or at work by
/// itself, no plan is brought.
#[test]
fn a_plan_that_is_brought_in_vain() {
    let mut story = driven(FREE, BY_HAND);
    story.report_complexity("a", Says::Start, None);
    let same = text(FREE, BY_HAND);
    let events = story.brought("a", &same).expect("it is heard");
    assert!(matches!(events[..], [Event::ReplanRefused { because: Because::TriedBefore, .. }]), "{events:?}");
    assert_eq!((story.stage("a"), story.state("a").status), (None, PhaseStatus::Running));
    let other = text(FREE, &BY_HAND.replace("do it", "do more"));
    assert!(story.brought("b", &other).is_ok(), "b has not begun");
    story.report_complexity("a", Says::Done(Box::default()), None);
    assert!(story.brought("a", &other).is_err(), "it is finished");
    story.drive();
    assert_eq!(story.at_work(), ["b"]);
    assert!(story.brought("b", &other).is_err(), "it is at work");
}

/// Whoever did a phase was not heard for too long, and that asks for another plan. With the plan somebody else takes the phase in
/// hand.
#[test]
fn silence_that_asks_for_another_plan() {
    let phases = "  a: { on-failure: replan, external: { instructions: do it, heartbeat: 10m, if-silent: fail } }\n  b: { needs: a, run: x }\n";
    let mut story = driven(FREE, phases);
    story.report_complexity("a", Says::Start, None);
    story.now += SignedDuration::from_mins(11);
    story.take(&Input::Tick);
    story.drive();
    assert!(story.a_plan_is_wanted() && story.state("a").external.is_none());
    story.made("a", FREE, &phases.replace("do it", "do half of it"));
    story.report_complexity("a", Says::Start, None);
    assert_eq!((story.state("a").status, story.state("a").attempts), (PhaseStatus::Running, 2));
}

/// An agent asks for another plan while it works, and its client says that it is done. The plan is made when it has ended and not
/// before, and nothing is taken for done; whoever asks by the code of its process has not failed either.
#[test]
fn an_agent_asks_while_it_works() {
    let phases = "  a: { agent: { prompt: x }, verify: ['true'] }";
    let mut story = driven(FREE, phases);
    let ask = |story: &mut Story, plan| {
        let phase = PhaseId::new("a");
        story.step(&Input::Posted(Posted::Replan { phase, reason: "more".to_owned(), plan }))
    };
    assert_eq!(ask(&mut story, None).expect("an agent may ask").len(), 1);
    assert_eq!(ask(&mut story, None).expect("the same again"), []);
    let brought = Some(Box::new(text(FREE, "  b: { run: x }")));
    assert!(matches!(ask(&mut story, brought), Err(Refusal::Illegal(..))), "a plan is brought when it has ended");
    assert!(!story.a_plan_is_wanted(), "it is still at work");
    let done = AgentEnded { how: AgentHow::Done, session: Some("s1".to_owned()), ..AgentEnded::default() };
    let end = |outcome| AttemptEnd { agent: Some(Box::new(done.clone())), ..AttemptEnd::bare(outcome) };
    story.end_as("a", end(Outcome::Exited { code: 0 }));
    assert!(story.a_plan_is_wanted() && story.state("a").probe.is_none(), "its word does not count");
    story.made("a", FREE, "  a: { agent: { prompt: less }, verify: ['true'] }\n  b: { run: x }");
    assert_eq!(story.status("a"), PhaseStatus::Running, "it goes on by the new plan");

    let mut story = driven(FREE, phases);
    let how = AgentHow::NoResult;
    let agent = Some(Box::new(AgentEnded { how, ..AgentEnded::default() }));
    story.end_as("a", AttemptEnd { agent, ..AttemptEnd::bare(Outcome::Exited { code: 79 }) });
    assert!(story.a_plan_is_wanted());
    assert!(story.state("a").tries.is_empty(), "it has not failed");
}

/// Phases of which one is an agent's, without a command that makes plans.
const BY_AGENTS: &str = "  a: { run: x }\n  b: { agent: { use: codex, prompt: x } }\n";

fn planned_by_agents(top: &str) -> Story {
    Story::of(common::plan(&format!("onward: 1\nname: demo\non-failure: continue\n{top}\nphases:\n{BY_AGENTS}")))
        .driven()
}

fn maker(story: &Story, phase: &str) -> String {
    match story.run.plan_maker(&PhaseId::new(phase)) {
        Some(PlanMaker::Command(script)) => script,
        Some(PlanMaker::Agent(work)) => work.agent,
        None => "nobody".to_owned(),
    }
}

/// The command of the plan makes another one; without one the agent of the phase that asks, else the one that phases share.
#[test]
fn whoever_makes_another_plan() {
    let makers = |top: &str| ["a", "b"].map(|phase| maker(&planned_by_agents(top), phase));
    assert_eq!(makers("replan: { run: make-plan }"), ["make-plan", "make-plan"]);
    assert_eq!(makers("defaults: { agent: { use: claude-code } }"), ["claude-code", "codex"]);
    assert_eq!(makers("max-parallel: 2"), ["nobody", "codex"]);
    let mut story = planned_by_agents("max-parallel: 2");
    story.find_too_big("a", 79);
    assert_eq!(story.refused("a"), Some(Because::NoCommand));
    let mut story = planned_by_agents("defaults: { agent: { use: claude-code } }");
    story.find_too_big("a", 79);
    assert!(story.a_plan_is_wanted());
}

fn turned_away(story: &mut Story, seconds: Option<i64>) -> Vec<Event> {
    let until = seconds.map(|seconds| story.now + SignedDuration::from_secs(seconds));
    let (agent, said) = ("claude-code".to_owned(), "usage limit".to_owned());
    story.take(&Input::ReplanLimited { phase: PhaseId::new("a"), agent, until, said })
}

/// The agent that is to make a plan meets a limit. The request stays and is made again once the limit is open; where nobody says
/// until when, the second wait is longer. A plan that is made then counts, and the row of hits is broken.
#[test]
fn a_limit_of_whoever_makes_the_plan_is_waited_for() {
    let top = "replan: { approval: false }\ndefaults: { agent: { use: claude-code } }\nmax-parallel: 1";
    let mut story = planned_by_agents(top);
    story.find_too_big("a", 79);
    story.done("b");
    turned_away(&mut story, Some(100));
    assert!(!story.a_plan_is_wanted() && story.run.ending().is_none(), "it waits");
    story.after(SignedDuration::from_secs(90));
    assert!(!story.a_plan_is_wanted());
    story.after(SignedDuration::from_secs(20));
    assert!(story.a_plan_is_wanted(), "the limit is open");
    let until = |events: &[Event]| match events {
        [Event::LimitHit(hit), ..] => hit.until,
        other => panic!("{other:?}"),
    };
    let hit = turned_away(&mut story, None);
    assert_eq!(until(&hit), story.now + SignedDuration::from_mins(2), "the second of a row");
    story.after(SignedDuration::from_mins(3));
    assert!(story.a_plan_is_wanted());
    let plan = text("approval: false", "  a1: { run: x }\n  b: { agent: { use: codex, prompt: x } }\n");
    story.take(&Input::Replan { phase: PhaseId::new("a"), plan: Ok(Box::new(plan)) });
    assert_eq!(story.at_work(), ["a1"]);
}

/// Nobody wants to wait for limits: the run is paused with the time, and the next driver makes the plan. A phase that can be done
/// is done first.
#[test]
fn a_limit_that_is_not_waited_for_pauses() {
    let top =
        "defaults: { agent: { use: claude-code } }\nlimits: { claude-code: { when-limited: pause } }\nmax-parallel: 1";
    let mut story = planned_by_agents(top);
    story.find_too_big("a", 79);
    story.end("b", Outcome::Exited { code: 0 });
    turned_away(&mut story, Some(100));
    assert_eq!(story.run.ending(), Some(Ending::Stopped(StopReason::Limit)));
    assert!(story.run.retry_at().is_some());
    story.after(SignedDuration::from_secs(200));
    story.drive();
    assert!(story.a_plan_is_wanted());
}
