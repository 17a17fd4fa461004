//! Coding agents on the simulated machine: clients whose sessions outlive every driver, and their own accounts of how they ended.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use onward_core::agent::AgentWork;
use onward_core::event::{AgentEnded, AgentHow, Outcome, PlanRevised};
use onward_core::id::PhaseId;
use onward_core::input::{AttemptEnd, Posted};
use onward_core::plan::{self, Budget, Limit};
use onward_core::run::Run;
use onward_core::run::agent_calls::AgentCalls;
use onward_core::run::agents::{REMAINING_OUTPUT, work};
use serde_json::{Value, json};

use super::dice::Dice;
use super::limits::HURRY_STARTS_MAX;

/// Costs and budgets are whole cents, so that nothing is lost by rounding.
const CENT_NANO_USD: u64 = 10_000_000;
/// The one client that counts the tokens of its whole session.
const COUNTS_SESSIONS: &str = "codex";
/// Agents with these prompts have a way of their own: one always names something else that remains, one always the same, one has its
/// context full again and again, and one's client loses its sessions.
const NEVER_DONE: &str = "never done";
const ALWAYS_THE_SAME: &str = "always the same";
const LONG: &str = "long work";
const FORGETFUL: &str = "forgetful";

/// The work of an agent, as a plan says it.
pub(super) fn random_block(dice: &mut Dice) -> Value {
    let mut block = json!({
        "use": *dice.pick(&["claude-code", "claude-code", COUNTS_SESSIONS, "helper"]),
        "prompt": match dice.below(100) {
            0 | 1 => NEVER_DONE,
            2..=4 => ALWAYS_THE_SAME,
            5..=9 => LONG,
            10..=14 => FORGETFUL,
            _ => "work",
        },
    });
    if dice.percent(15) {
        block["session"] = json!("new");
    }
    if dice.percent(10) {
        block["max-turns"] = json!(4 + dice.below(20));
    }
    if dice.percent(10) {
        block["budget"] = if dice.percent(50) { json!({ "usd": 0.5 }) } else { json!({ "tokens": 1500 }) };
    }
    if dice.percent(35) {
        block["ask"] = json!(["Bash(git push:*)"]);
    }
    if dice.percent(30) {
        block["worktree"] = json!("own");
    }
    block
}

/// The limit of an agent's name, which all its phases draw on.
pub(super) fn random_limit(dice: &mut Dice) -> Option<(String, Limit)> {
    let name = (*dice.pick(&["claude-code", COUNTS_SESSIONS])).to_owned();
    dice.percent(30).then(|| (name, Limit { budget: random_budget(dice), ..Limit::default() }))
}

pub(super) fn random_budget(dice: &mut Dice) -> Option<Budget> {
    let usd = dice.percent(70).then_some(0.8);
    dice.percent(40).then(|| Budget { usd, tokens: usd.is_none().then_some(3000) })
}

/// The budget of the run that a start gives: after many starts somebody has given it all that it may want.
pub(super) fn budget_of_a_start(dice: &mut Dice, start: u32) -> Option<u64> {
    if start >= HURRY_STARTS_MAX {
        return Some(100_000 * CENT_NANO_USD);
    }
    dice.percent(6).then(|| (20 + dice.below(300)) * CENT_NANO_USD)
}

/// The plan with limits that cost what they may.
pub(super) fn with_more_money(run: &Run) -> PlanRevised {
    let mut plan = run.plan().clone();
    plan.limits.values_mut().for_each(|limit| limit.budget = None);
    PlanRevised { plan_digest: plan::digest(&plan), plan, plan_text: String::new(), renamed: Vec::new() }
}

/// An agent at work asks for another plan.
pub(super) fn asks_for_a_plan(run: &Run) -> Option<Posted> {
    let (phase, _) = run.running().find(|(phase, _)| work(phase).is_some())?;
    Some(Posted::Replan { phase: phase.id.clone(), reason: "it is harder than that".to_owned(), plan: None })
}

/// All that the clients keep: it survives every driver.
#[derive(Debug, Default)]
pub(super) struct Clients {
    sessions: BTreeMap<String, ClientSession>,
    given: u64,
}

#[derive(Clone, Debug, Default)]
struct ClientSession {
    tokens: u64,
    /// Its client has lost it.
    gone: bool,
    /// The call that waits in it for a person.
    call: Option<String>,
}

impl Clients {
    fn new_name(&mut self) -> String {
        self.given += 1;
        format!("s{}", self.given)
    }
}

/// The agent of one attempt: what it will have said once it comes to its own end.
#[derive(Clone, Debug, Default)]
pub(super) struct AgentAtWork {
    /// The session in which it writes.
    pub(super) session: Option<String>,
    ended: AgentEnded,
    /// It was given a person's answer, unless it was ended before.
    given: bool,
}

/// How an attempt of an agent comes to its end, and what is heard of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AccountHeard {
    /// It came to its own end.
    Everything,
    /// It was ended before.
    AsFarAsItCame,
    /// Nobody was there when it died.
    LittleOrNothing,
}

impl AgentAtWork {
    /// Its own account; none where not even a session was named.
    pub(super) fn account(&self, heard: AccountHeard) -> Option<Box<AgentEnded>> {
        let all = &self.ended;
        let cut = AgentEnded { session: self.session.clone(), turns: all.turns / 2, ..AgentEnded::default() };
        let odd = all.tokens % 3;
        Some(Box::new(match heard {
            AccountHeard::Everything => all.clone(),
            AccountHeard::AsFarAsItCame if odd == 0 => AgentEnded { how: AgentHow::Interrupted, ..cut },
            AccountHeard::AsFarAsItCame => AgentEnded { cost_nano_usd: all.cost_nano_usd / 2, tokens: 0, ..cut },
            AccountHeard::LittleOrNothing if odd == 0 => return None,
            AccountHeard::LittleOrNothing if odd == 1 => AgentEnded { session: None, turns: 0, ..cut },
            AccountHeard::LittleOrNothing => cut,
        }))
    }
}

/// Starts the client of a phase: its end, and how its process ends.
pub(super) fn begin(
    dice: &mut Dice,
    clients: &mut Clients,
    run: &Run,
    phase: &PhaseId,
    now: Timestamp,
) -> Option<(Outcome, AgentAtWork)> {
    let definition = run.plan().phase(phase).expect("of the plan");
    let work = work(definition)?;
    let known = run.phase_state(phase).and_then(|state| state.agent.as_deref()).expect("its beginning is on record");
    let prompt = work.prompt.as_deref().unwrap_or_default();
    let going_on = known.session.clone().filter(|_| known.named);
    if let Some(session) = &going_on {
        let kept = clients
            .sessions
            .entry(session.clone())
            .or_insert_with(|| ClientSession { gone: true, ..ClientSession::default() });
        kept.gone |= dice.percent(if prompt == FORGETFUL { 60 } else { 6 });
        if kept.gone {
            let ended = AgentEnded { how: AgentHow::SessionUnknown, ..AgentEnded::default() };
            return Some((Outcome::Exited { code: 1 }, AgentAtWork { ended, ..AgentAtWork::default() }));
        }
    }
    let waits = going_on.as_ref().and_then(|session| clients.sessions.get_mut(session)?.call.take());
    let session = match (&going_on, &known.session) {
        // Some clients give a session that goes on another name.
        (Some(_), _) if work.agent != COUNTS_SESSIONS && dice.percent(10) => clients.new_name(),
        (Some(session), _) | (None, Some(session)) => session.clone(),
        (None, None) => clients.new_name(),
    };
    let tokens = 1 + dice.below(400);
    let kept = clients.sessions.entry(session.clone()).or_default();
    kept.tokens += tokens;
    let answered = known.calls.open.as_ref().is_some_and(|call| call.answer.is_some());
    let handed_over = going_on.is_some() && known.calls.to_hand_over().is_some();
    let forgotten = handed_over && (waits.is_none() || dice.percent(10));
    let given = answered && !forgotten && (handed_over || dice.percent(70));
    let (outcome, how) = if forgotten {
        (Outcome::Exited { code: 1 }, AgentHow::NoResult)
    } else {
        call(dice, &work, &known.calls).unwrap_or_else(|| end(dice, prompt, going_on.as_ref(), now))
    };
    if let AgentHow::Deferred { digest, .. } = &how {
        kept.call.clone_from(digest);
    }
    if matches!(outcome, Outcome::CouldNotStart { .. }) {
        kept.tokens -= tokens;
        return Some((outcome, AgentAtWork::default()));
    }
    let of_the_session = (work.agent == COUNTS_SESSIONS && how != AgentHow::NoResult).then_some(kept.tokens);
    let done = how == AgentHow::Done;
    let ended = AgentEnded {
        session: Some(session.clone()),
        turns: 1 + dice.below(4),
        tokens: if work.agent == COUNTS_SESSIONS { 0 } else { tokens },
        session_tokens: of_the_session,
        cost_nano_usd: dice.below(12) * CENT_NANO_USD,
        denied: if done && prompt == "work" && dice.percent(6) { vec!["Bash (rm x)".to_owned()] } else { Vec::new() },
        remaining: done.then(|| remaining(dice, &work)).flatten(),
        how,
        ..AgentEnded::default()
    };
    Some((outcome, AgentAtWork { session: Some(session), ended, given }))
}

/// A call that a person has to approve: none where the agent makes none, or is told that it was rejected.
fn call(dice: &mut Dice, work: &AgentWork, calls: &AgentCalls) -> Option<(Outcome, AgentHow)> {
    if work.ask.is_empty() || !dice.percent(30) {
        return None;
    }
    let digest = format!("d{}", dice.below(3));
    let rejected = calls.rejected.iter().any(|call| call.digest == digest);
    let how = AgentHow::Deferred { tool: "Bash".to_owned(), input: format!("git push {digest}"), digest: Some(digest) };
    (!rejected).then(|| (Outcome::Exited { code: i32::from(dice.percent(10)) }, how))
}

/// The work that is left by the agent's own word.
fn remaining(dice: &mut Dice, work: &AgentWork) -> Option<String> {
    match work.prompt.as_deref() {
        Some(NEVER_DONE) => return Some(format!("part {}", dice.below(1000))),
        Some(ALWAYS_THE_SAME) => return Some("the tests".to_owned()),
        Some(_) | None => {}
    }
    dice.percent(15).then(|| (*dice.pick(&["the tests", "The  tests", "the page", "none"])).to_owned())
}

fn end(dice: &mut Dice, prompt: &str, going_on: Option<&String>, now: Timestamp) -> (Outcome, AgentHow) {
    let exited = |code, how| (Outcome::Exited { code }, how);
    let said = "You have hit your usage limit".to_owned();
    // The code of a client says nothing.
    let code = i32::from(dice.percent(70));
    let throw = match prompt {
        NEVER_DONE | ALWAYS_THE_SAME => 0,
        LONG if dice.percent(60) => 60,
        FORGETFUL if dice.percent(60) => 50,
        _ => dice.below(100),
    };
    match throw {
        0..=49 => exited(i32::from(prompt == "work" && dice.percent(3)), AgentHow::Done),
        50..=56 => {
            let seconds = i64::try_from(dice.below(300)).expect("small");
            let until = dice.percent(60).then(|| now + SignedDuration::from_secs(seconds));
            exited(code, AgentHow::Limited { until, said })
        }
        57..=59 => exited(code, AgentHow::Overloaded { message: "overloaded, come back".to_owned() }),
        60..=66 => exited(code, AgentHow::Exhausted),
        67..=68 if going_on.is_some() => exited(1, AgentHow::SessionInUse),
        69..=71 => exited(0, AgentHow::Interrupted),
        72..=73 => exited(1, AgentHow::MaxTurns),
        74..=76 => exited(1, AgentHow::Budget),
        77 => exited(1, AgentHow::NotLoggedIn { message: "nobody is logged in".to_owned() }),
        78..=79 => exited(code, AgentHow::NoResult),
        80..=82 => (Outcome::Killed { signal: 9 }, AgentHow::NoResult),
        83 => (Outcome::TimedOut, AgentHow::NoResult),
        84 => (Outcome::TimedOut, AgentHow::Done),
        85 => (Outcome::CouldNotStart { reason: "no room".to_owned() }, AgentHow::NoResult),
        _ => {
            let why = *dice.pick(&["cannot do it", "cannot do it", "its answer does not fit the schema"]);
            exited(code, AgentHow::Failed { message: format!("{why}, line {}", dice.below(100)) })
        }
    }
}

/// The end of an attempt with the account of its agent. What remains is said in an output as often as by open boxes.
pub(super) fn told_by(agent: Option<&AgentAtWork>, heard: AccountHeard, mut end: AttemptEnd) -> AttemptEnd {
    let Some(agent) = agent else { return end };
    end.answer_given = agent.given && (heard == AccountHeard::Everything || agent.ended.tokens.is_multiple_of(2));
    end.agent = agent.account(heard);
    if let (Some(agent), Ok(outputs)) = (&mut end.agent, &mut end.outputs)
        && agent.turns % 2 == 0
        && let Some(remaining) = agent.remaining.take()
    {
        outputs.insert(REMAINING_OUTPUT.to_owned(), remaining);
    }
    end
}
