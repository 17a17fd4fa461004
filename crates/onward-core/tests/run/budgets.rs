//! Money that phases share: the budget of the run and those of its limits. Small stories in virtual time.

use onward_core::effect::Effect;
use onward_core::event::{AgentEnded, AgentHow, Event, Outcome, PlanRevised, PlanningBill, StopReason, nano_usd};
use onward_core::failure::FailureCode;
use onward_core::id::PhaseId;
use onward_core::input::{AttemptEnd, Begin, Bounds, Input, Resumption};
use onward_core::plan::{self, Budget};
use onward_core::run::{self, Ending, PhaseStatus, RunStatus, budgets};

use crate::common;
use crate::story::Story;

const TWO: &str = "
onward: 1
name: demo
max-parallel: 1
phases:
  a: { agent: { prompt: x } }
  b: { agent: { prompt: x } }
  free: { run: x }
";

fn driven(plan: &str, usd: f64) -> Story {
    let mut story = Story::of(common::plan(plan));
    within(&mut story, Some(usd));
    story
}

fn within(story: &mut Story, usd: Option<f64>) {
    let bounds = Bounds { budget_nano_usd: usd.map(nano_usd), ..Bounds::default() };
    story.begin(Begin { bounds, ..common::begin(0) }).expect("a driver may begin");
}

fn cost(story: &mut Story, phase: &str, how: AgentHow, usd: f64) -> Vec<Event> {
    let code = i32::from(how != AgentHow::Done);
    let agent = AgentEnded {
        session: Some("s1".to_owned()),
        cost_nano_usd: nano_usd(usd),
        tokens: 100,
        how,
        ..AgentEnded::default()
    };
    let end = AttemptEnd { agent: Some(Box::new(agent)), ..AttemptEnd::bare(Outcome::Exited { code }) };
    story.end_as(phase, end)
}

fn paused(story: &Story) -> bool {
    story.run.ending() == Some(Ending::Stopped(StopReason::Budget)) && story.run.status() == RunStatus::Paused
}

/// The first agent takes all there is. No other is started, what costs nothing is done, and then the run is paused; a start that
/// says nothing changes nothing, one with more goes on.
#[test]
pub(crate) fn no_agent_starts_without_money() {
    let mut story = driven(TWO, 1.0);
    assert_eq!(story.at_work(), ["a"]);
    cost(&mut story, "a", AgentHow::Done, 1.2);
    assert_eq!(story.at_work(), ["free"]);
    let why = story.why("b");
    assert!(!why.will_run && why.reasons[0].contains("$1.20"), "{why:?}");
    story.done("free");
    assert!(paused(&story), "{:?}", story.run.ending());
    within(&mut story, None);
    assert!(paused(&story), "the budget stays with the run");
    within(&mut story, Some(2.0));
    assert_eq!(story.at_work(), ["b"]);
    cost(&mut story, "b", AgentHow::Done, 5.0);
    assert_eq!(story.run.ending(), Some(Ending::Completed), "what is done is done, whatever it cost");
}

/// A phase is taken out of the plan after its agent was paid, and later another one gets its name. The money stays spent.
#[test]
fn what_a_removed_phase_has_cost_is_not_forgotten() {
    let mut story =
        driven("{onward: 1, name: demo, phases: {a: {agent: {prompt: x}}, z: {approval: \"Go on?\"}}}", 9.0);
    cost(&mut story, "a", AgentHow::Done, 0.5);
    for (phases, renamed) in [
        ("b: {agent: {prompt: x}}, z: {approval: \"Go on?\"}", Vec::new()),
        ("a: {agent: {prompt: x}}, z: {approval: \"Go on?\"}", vec![(PhaseId::new("b"), PhaseId::new("a"))]),
    ] {
        let plan = common::plan(&format!("{{onward: 1, name: demo, phases: {{{phases}}}}}"));
        let revised = PlanRevised { plan_digest: plan::digest(&plan), plan, plan_text: String::new(), renamed };
        let resumption = Resumption { revised: Some(Box::new(revised)), ..Resumption::default() };
        story.begin(Begin { resumption, ..common::begin(0) }).expect("a person may");
        if story.at_work() == ["b"] {
            cost(&mut story, "b", AgentHow::Done, 0.2);
        }
    }
    assert_eq!(story.run.cost_nano_usd(), Some(nano_usd(0.7)));
}

/// The client ends an agent because what the run had left is used up. That is no failure: no retry is used, nothing is remembered
/// against it, and with more money it goes on in its session.
#[test]
fn an_agent_that_is_ended_for_the_runs_money_has_not_failed() {
    let mut story = driven(TWO, 1.0);
    cost(&mut story, "a", AgentHow::Budget, 1.0);
    let state = story.state("a").clone();
    assert_eq!((state.status, state.failures), (PhaseStatus::Pending, 0));
    assert!(state.tries.is_empty());
    story.done("free");
    assert!(paused(&story), "{:?}", story.run.ending());
    within(&mut story, Some(3.0));
    cost(&mut story, "b", AgentHow::Done, 0.5);
    assert_eq!(story.at_work(), ["a"]);
    let going = story.state("a").agent.clone().expect("an agent");
    assert_eq!((going.session.as_deref(), going.named), (Some("s1"), true));
}

/// The phase's own budget is another matter: reaching it is a failure of the phase.
#[test]
fn the_budget_of_a_phase_fails_it() {
    let plan = TWO.replace("b: { agent: { prompt: x }", "b: { agent: { prompt: x, budget: { usd: 1 } }");
    let mut story = driven(&plan.replace("a: { agent: { prompt: x } }", "a: { run: x }"), 50.0);
    story.done("a");
    cost(&mut story, "b", AgentHow::Budget, 1.0);
    assert_eq!(story.state("b").error.as_ref().map(|error| error.code), Some(FailureCode::Budget));
}

/// Two phases draw on a limit with a budget, in dollars or in tokens. Once it is used up neither is tried again; a plan with more lets
/// them go on.
#[test]
fn a_limit_has_its_own_budget() {
    for budget in ["usd: 1", "tokens: 100"] {
        let limits = format!("limits: {{ team: {{ budget: {{ {budget} }} }} }}\nphases:");
        let plan = TWO.replace("phases:", &limits).replace("prompt: x }", "prompt: x }, limits: [team]");
        let mut story = Story::of(common::plan(&plan)).driven();
        cost(&mut story, "a", AgentHow::Done, 1.0);
        assert_eq!(story.at_work(), ["free"], "{budget}");
        story.done("free");
        assert!(paused(&story), "{budget}: {:?}", story.run.ending());
        let told = story.run.used_up_budgets();
        assert!(told.len() == 1 && told[0].words().contains("limit team"), "{told:?}");
        within(&mut story, None);
        assert!(paused(&story), "{budget}");
    }
}

/// A client is told the least of all that it may cost: of its phase, of the run, of its limits, less what was spent already.
#[test]
fn a_client_is_told_what_is_left() {
    let story = driven(TWO, 2.0);
    let told = |story: &Story, own: Option<f64>| {
        let phase = story.run.plan().phase(&PhaseId::new("b")).expect("b");
        budgets::told(&story.run, phase, Budget { usd: own, tokens: None }).usd
    };
    assert_eq!(
        (told(&story, None), told(&story, Some(5.0)), told(&story, Some(1.0))),
        (Some(2.0), Some(2.0), Some(1.0))
    );
    let mut story = story;
    cost(&mut story, "a", AgentHow::Done, 0.5);
    assert_eq!(told(&story, Some(5.0)), Some(1.5));
    let free = Story::of(common::plan(TWO)).driven();
    assert_eq!((told(&free, None), told(&free, Some(5.0))), (None, Some(5.0)));
}

/// A script wants another plan, and an agent would make it. Without money it is not asked: what costs nothing is done, the run is
/// paused, and a start with more has the plan made.
#[test]
fn no_plan_is_made_without_money() {
    let plan = "onward: 1\nname: demo\nmax-parallel: 1\ndefaults: { agent: { use: claude-code } }\nphases:\n  a: { agent: { prompt: x } }\n  \
                b: { run: x }\n  c: { run: x }\n";
    let mut story = driven(plan, 1.0);
    cost(&mut story, "a", AgentHow::Done, 1.2);
    story.end_saying("b", Outcome::Exited { code: 79 }, "too big\n");
    let is_wanted =
        |story: &Story| run::wanted(&story.run, story.now).iter().any(|effect| matches!(effect, Effect::Replan { .. }));
    assert_eq!((story.at_work(), is_wanted(&story)), (vec!["c"], false));
    story.done("c");
    assert!(paused(&story), "{:?}", story.run.ending());
    within(&mut story, Some(2.0));
    assert!(is_wanted(&story));
}

/// The cost of an agent that is asked for another plan is part of the sum and of the budget, however often it is told. One that was ended
/// before it could tell makes the sum one of what is known at least.
#[test]
pub(crate) fn what_a_plan_costs_counts() {
    let plan = "onward: 1\nname: demo\ndefaults: { agent: { use: claude-code } }\nphases:\n  a: { run: x }\n  b: { agent: { prompt: x } }\n";
    let mut story = driven(plan, 1.0);
    let bill = |request, usd, is_part| PlanningBill {
        agent: "claude-code".to_owned(),
        cost_nano_usd: nano_usd(usd),
        is_part,
        request,
        ..PlanningBill::default()
    };
    let pay = |story: &mut Story, bill: PlanningBill| {
        story
            .step(&Input::PlanningPaid { phase: PhaseId::new("a"), bill, answer: Box::new(Input::Tick) })
            .expect("a bill is always taken")
    };
    pay(&mut story, bill(1, 0.25, false));
    assert_eq!((story.run.cost_nano_usd(), story.run.cost_is_part()), (Some(nano_usd(0.25)), false));
    assert_eq!(story.run.left_for_a_plan(), Some(0.75));
    assert_eq!(pay(&mut story, bill(1, 0.25, false)), [], "a bill is paid once");
    pay(&mut story, bill(3, 0.75, true));
    let used_up = story.run.used_up_budgets();
    assert!(used_up[0].words().contains("at least $1.00"), "{used_up:?}");
    assert!(story.run.cost_is_part());
}

/// An attempt is killed before its client could say what it used. What the frames said counts, and that it is not all is told.
#[test]
fn a_killed_attempt_has_cost_something() {
    let mut story = driven(TWO, 1.0);
    let agent =
        AgentEnded { turns: 2, tokens: 100, is_part: true, how: AgentHow::Interrupted, ..AgentEnded::default() };
    let end = AttemptEnd { agent: Some(Box::new(agent)), ..AttemptEnd::bare(Outcome::Killed { signal: 9 }) };
    story.end_as("a", end);
    let known = story.state("a").agent.clone().expect("an agent");
    assert_eq!((known.turns, known.tokens, known.is_part), (2, 100, true));
    assert!(story.run.budget().is_some_and(|budget| budget.is_part), "the sum is what is known at least");
}
