//! Agents: the sessions in which they write, the ends that they tell, and what they cost.

use std::collections::BTreeMap;

use onward_core::agent::{AgentWork, SessionPolicy};
use onward_core::event::{AgentBegun, AgentEnded, AgentHow, Outcome, PhaseError, nano_usd};
use onward_core::failure::FailureCode;
use onward_core::id::{Attempt, PhaseId};
use onward_core::plan::{Body, Budget, Phase, WhenLimited};
use onward_core::run::Run;

use super::Oracle;
use super::calls::CallFacts;
use super::ends::is_cut;
use crate::sim::limits::drawn_on;

const HAND_OFFS_MAX: u32 = 2;
const LOST_SESSIONS_MAX: u32 = 1;
const SAME_FAILURE_MAX: usize = 3;
const ROUNDS_MAX: usize = 20;
const SAME_ROUNDS_MAX: usize = 3;
/// A phase remembers no more of its failures.
const REMEMBERED_MAX: usize = 12;

/// Whether a client did not know of the call that it was to go on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallForgotten {
    Yes,
    No,
}

/// Money and tokens that were spent, from the ends on record.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SpentSoFar {
    pub(super) nano_usd: u64,
    pub(super) tokens: u64,
    turns: u64,
}

impl SpentSoFar {
    fn add(&mut self, ended: &AgentEnded) {
        self.nano_usd += ended.cost_nano_usd;
        self.tokens += ended.tokens;
        self.turns += ended.turns;
    }

    fn has_used_up(&self, most: Budget) -> bool {
        most.usd.is_some_and(|usd| self.nano_usd >= nano_usd(usd)) || most.tokens.is_some_and(|max| self.tokens >= max)
    }
}

/// The money of the whole run and of its limits: spent, and to be spent.
#[derive(Debug, Default)]
pub(super) struct Purse {
    all: SpentSoFar,
    of_limits: BTreeMap<String, SpentSoFar>,
    pub(super) most_nano_usd: Option<u64>,
}

/// The oracle's notes on the agent of one phase.
#[derive(Clone, Debug)]
pub(super) struct AgentFacts {
    agent: String,
    /// The session that it named last, in which it can go on.
    session: Option<String>,
    spent: SpentSoFar,
    /// Tokens on record of the present session.
    session_tokens: u64,
    hand_offs: u32,
    lost: u32,
    /// The work that remained, each time that it said it was done.
    rounds: Vec<String>,
    /// Its failures, in words without numbers.
    failures: Vec<(Attempt, String)>,
    attempt: Attempt,
    last: LastEnd,
}

/// The meaning of the last end for what may come next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum LastEnd {
    #[default]
    Nothing,
    Done,
    /// Done by its own word, and something remains.
    Round,
    /// A limit turned it away, and the plan waits for limits.
    Limited,
    /// It goes on, in another session or once there is more money.
    GoesOn,
    Failed,
    /// The same, and the machine or the service is to blame, or its time was up: it may come as often as it likes.
    Broken,
    /// A failure that another attempt does not change.
    FailedForGood,
}

impl AgentFacts {
    fn new() -> Self {
        Self {
            agent: String::new(),
            session: None,
            spent: SpentSoFar::default(),
            session_tokens: 0,
            hand_offs: 0,
            lost: 0,
            rounds: Vec::new(),
            failures: Vec::new(),
            attempt: Attempt(0),
            last: LastEnd::Nothing,
        }
    }

    /// It is done anew: nothing but what it has cost counts any more.
    pub(super) fn anew(&mut self) {
        *self = Self { agent: std::mem::take(&mut self.agent), spent: self.spent, ..Self::new() };
    }

    /// Somebody wants it tried again.
    pub(super) fn tried_again(&mut self) {
        (self.rounds, self.last) = (Vec::new(), LastEnd::Nothing);
    }

    /// A failure is remembered, whoever tells it.
    pub(super) fn remember(&mut self, attempt: Attempt, words: &str) {
        let letters = words.chars().filter(|letter| !letter.is_ascii_digit()).collect();
        self.failures.push((attempt, letters));
        let old = self.failures.len().saturating_sub(REMEMBERED_MAX);
        self.failures.drain(..old);
    }

    /// How often the last failure came in the same way.
    fn same_failures(&self) -> usize {
        let Some((_, last)) = self.failures.last() else { return 0 };
        self.failures.iter().filter(|(_, one)| one == last).count()
    }

    /// How often the same remained at last.
    fn same_rounds(&self) -> usize {
        let plain = |text: &String| text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
        let Some(last) = self.rounds.last().map(plain) else { return 0 };
        self.rounds.iter().rev().take_while(|text| plain(text) == last).count()
    }
}

fn work(phase: &Phase) -> Option<AgentWork> {
    match &phase.body {
        Body::Agent(block) => Some(AgentWork::read(block)),
        Body::Run { .. } | Body::Approval(_) | Body::External(_) | Body::Uses(_) => None,
    }
}

impl Oracle {
    /// An agent is started: there is money for it, and it goes on where it was.
    pub(super) fn agent_started(&mut self, phase: &Phase, attempt: Attempt, begun: Option<&AgentBegun>) {
        if let Some(facts) = self.agents.get_mut(&phase.id) {
            (facts.last, facts.attempt) = (LastEnd::Nothing, attempt);
        }
        let Some(work) = work(phase) else {
            assert!(begun.is_none(), "{} is no agent's and is given to one", phase.id);
            return;
        };
        let begun = begun.expect("an agent's attempt says which agent begins");
        let id = &phase.id;
        let most = self.purse.most_nano_usd;
        assert!(
            most.is_none_or(|most| self.purse.all.nano_usd < most),
            "G1: {id} is started, and the run has cost all that it may"
        );
        for (name, most) in self.budgets_of_limits(phase) {
            let used_up = self.purse.of_limits.get(name).is_some_and(|spent| spent.has_used_up(most));
            assert!(!used_up, "G1: {id} is started, and the budget of {name} is used up");
        }
        let facts = self.agents.entry(id.clone()).or_insert_with(AgentFacts::new);
        let turns = work.max_turns.is_some_and(|max| facts.spent.turns >= u64::from(max));
        assert!(!turns && !facts.spent.has_used_up(work.budget), "G1: {id} is started, and has had all that it may");
        // A call that waits for its answer is one of its session, whatever the plan says.
        let handed_over = self.calls.get(id).is_some_and(CallFacts::is_handed_over);
        let goes_on = work.session == SessionPolicy::Continue || handed_over;
        let may_go_on = goes_on && facts.agent == work.agent;
        let expected = facts.session.clone().filter(|_| may_go_on);
        assert_eq!(begun.continues, expected.is_some(), "G2: {id} goes on in a session that it has, and in no other");
        assert!(expected.is_none() || begun.session == expected, "G2: {id} goes on in {:?}", begun.session);
        facts.agent.clone_from(&begun.agent);
        if !begun.continues {
            (facts.session, facts.session_tokens) = (None, 0);
        }
        facts.attempt = attempt;
    }

    fn budgets_of_limits<'a>(&'a self, phase: &'a Phase) -> impl Iterator<Item = (&'a str, Budget)> {
        drawn_on(phase).into_iter().filter_map(|name| Some((name, self.plan.limits.get(name)?.budget?)))
    }

    /// An attempt of an agent is over. True if it counts as a failure.
    pub(super) fn agent_ended(
        &mut self,
        phase: &PhaseId,
        attempt: Attempt,
        outcome: &Outcome,
        (ended, call_forgotten): (&AgentEnded, CallForgotten),
    ) -> bool {
        let tag = serde_json::to_value(&ended.how).expect("plain data")["is"].as_str().expect("a tag").to_owned();
        *self.coverage.entry(format!("agent_ended:{tag}")).or_default() += 1;
        let definition = self.plan.phase(phase).expect("of the plan").clone();
        let last = match call_forgotten {
            // The next attempt is told in words.
            CallForgotten::Yes => LastEnd::GoesOn,
            CallForgotten::No => self.meaning(&definition, outcome, ended),
        };
        self.purse.all.add(ended);
        for name in drawn_on(&definition) {
            self.purse.of_limits.entry(name.to_owned()).or_default().add(ended);
        }
        let facts = self.agents.entry(phase.clone()).or_insert_with(AgentFacts::new);
        facts.spent.add(ended);
        facts.session_tokens += ended.tokens;
        let counted = ended.session_tokens.unwrap_or(facts.session_tokens);
        assert_eq!(facts.session_tokens, counted, "G3: the tokens of a session of {phase} are not those on record");
        facts.session = ended.session.clone().or(facts.session.take());
        match ended.how {
            AgentHow::Exhausted => (facts.session, facts.hand_offs) = (None, facts.hand_offs + 1),
            AgentHow::SessionUnknown => (facts.session, facts.lost) = (None, facts.lost + 1),
            _ => {}
        }
        if says_done(outcome, ended)
            && let Some(remaining) = &ended.remaining
        {
            facts.rounds.push(remaining.clone());
        }
        facts.last = last;
        let remembered = match last {
            LastEnd::Failed | LastEnd::FailedForGood => true,
            LastEnd::Broken => !is_turned_away(&ended.how) || *outcome == (Outcome::Exited { code: 0 }),
            LastEnd::Nothing | LastEnd::Done | LastEnd::Round | LastEnd::Limited | LastEnd::GoesOn => false,
        };
        if remembered {
            let denied = if says_done(outcome, ended) { ended.denied.as_slice() } else { &[] };
            facts.remember(attempt, &format!("{:?}{outcome:?}{denied:?}", ended.how));
        }
        matches!(last, LastEnd::Failed | LastEnd::FailedForGood | LastEnd::Broken | LastEnd::Limited)
    }

    fn meaning(&self, phase: &Phase, outcome: &Outcome, ended: &AgentEnded) -> LastEnd {
        let none = AgentFacts::new();
        let facts = self.agents.get(&phase.id).unwrap_or(&none);
        match outcome {
            Outcome::Stopped { said_done: true, .. } if ended.how == AgentHow::Done && ended.remaining.is_none() => {
                return LastEnd::Done;
            }
            Outcome::Stopped { .. } | Outcome::Unknown | Outcome::NeverRan => return LastEnd::Nothing,
            Outcome::TimedOut | Outcome::CouldNotStart { .. } => return LastEnd::Broken,
            Outcome::Killed { .. } if is_cut(phase, outcome) => return LastEnd::Broken,
            Outcome::Killed { .. } | Outcome::Exited { .. } => {}
        }
        let waits = |name: &str| self.plan.limits.get(name).is_none_or(|one| one.when_limited != WhenLimited::Fail);
        let proves = !(phase.artifacts.is_empty() && phase.verify.is_empty() && phase.done_when.is_empty());
        match &ended.how {
            AgentHow::Done if *outcome != (Outcome::Exited { code: 0 }) => LastEnd::Failed,
            AgentHow::Done if !ended.denied.is_empty() && !proves => LastEnd::Failed,
            AgentHow::Done if ended.remaining.is_some() => LastEnd::Round,
            AgentHow::Done => LastEnd::Done,
            AgentHow::Limited { .. } if drawn_on(phase).into_iter().all(waits) => LastEnd::Limited,
            AgentHow::Exhausted if facts.hand_offs < HAND_OFFS_MAX => LastEnd::GoesOn,
            AgentHow::SessionUnknown if facts.lost < LOST_SESSIONS_MAX => LastEnd::GoesOn,
            AgentHow::Budget if self.ended_for_shared_money(phase, ended) => LastEnd::GoesOn,
            AgentHow::MaxTurns | AgentHow::Budget | AgentHow::NotLoggedIn { .. } => LastEnd::FailedForGood,
            AgentHow::Deferred { .. } => LastEnd::Nothing,
            AgentHow::Limited { .. } | AgentHow::Overloaded { .. } => LastEnd::Broken,
            AgentHow::Exhausted
            | AgentHow::SessionUnknown
            | AgentHow::SessionInUse
            | AgentHow::Interrupted
            | AgentHow::Failed { .. }
            | AgentHow::NoResult => LastEnd::Failed,
        }
    }

    /// Its client ended it since others have spent with it what they share; its own money is left.
    fn ended_for_shared_money(&self, phase: &Phase, ended: &AgentEnded) -> bool {
        let with_this = |spent: Option<&SpentSoFar>| {
            let mut spent = spent.copied().unwrap_or_default();
            spent.add(ended);
            spent
        };
        let work = work(phase).expect("an agent has ended");
        let own = with_this(self.agents.get(&phase.id).map(|facts| &facts.spent));
        let own_is_spent =
            own.has_used_up(work.budget) || work.max_turns.is_some_and(|max| own.turns >= u64::from(max));
        let of_the_run = self.purse.most_nano_usd.is_some_and(|most| with_this(Some(&self.purse.all)).nano_usd >= most);
        // The tokens of a limit are counted once the end is on record.
        let money = |most: Budget| Budget { tokens: None, ..most };
        let mut of_limits = self.budgets_of_limits(phase);
        let of_limits = of_limits.any(|(name, most)| {
            let before = self.purse.of_limits.get(name);
            with_this(before).has_used_up(money(most)) || before.is_some_and(|spent| spent.has_used_up(most))
        });
        !own_is_spent && (of_the_run || of_limits)
    }

    /// It has not failed after all.
    pub(super) fn agent_was_limited(&mut self, phase: &PhaseId) {
        if let Some(facts) = self.agents.get_mut(phase) {
            facts.last = LastEnd::Nothing;
        }
    }

    /// It was looked whether it is done, and it is not; or nobody can read what it gave out.
    pub(super) fn agent_was_not_done(&mut self, phase: &PhaseId, error: &PhaseError) {
        let Some(facts) = self.agents.get_mut(phase) else { return };
        let attempt = facts.attempt;
        facts.remember(attempt, &format!("{:?}{}", error.code, error.message));
        facts.last = if error.code == FailureCode::BadOutputs { LastEnd::Broken } else { LastEnd::Failed };
    }

    /// It is tried again.
    pub(super) fn agent_may_be_retried(&self, phase: &PhaseId) {
        let an_agents = self.plan.phase(phase).and_then(work).is_some();
        let Some(facts) = self.agents.get(phase).filter(|_| an_agents) else { return };
        assert_ne!(facts.last, LastEnd::Limited, "G4: a limit turned {phase} away, and that is called a failure");
        assert_ne!(facts.last, LastEnd::FailedForGood, "{phase} has failed for good and is tried again");
        assert_ne!(facts.last, LastEnd::Done, "{phase} is done and is tried again");
        if facts.last == LastEnd::Failed {
            let same = facts.same_failures();
            assert!(same < SAME_FAILURE_MAX, "G6: {phase} failed {same} times in the same way and is tried again");
        }
        if facts.last == LastEnd::Round {
            let (all, same) = (facts.rounds.len(), facts.same_rounds());
            assert!(all < ROUNDS_MAX, "G7: {phase} goes into another round after {all}");
            assert!(same < SAME_ROUNDS_MAX, "G7: the same remains of {phase} after {same} rounds, and it goes on");
        }
    }

    /// An agent is done when it says so, and nothing remains.
    pub(super) fn agent_may_be_completed(&self, phase: &PhaseId) {
        let Some(facts) = self.agents.get(phase) else { return };
        assert!(
            facts.last == LastEnd::Done || self.facts[phase].confirmed,
            "{phase} is done, and its agent does not say so: {:?}",
            facts.last
        );
    }

    /// Whether an agent's failure for good has a reason beside retries that are used up.
    pub(super) fn agent_has_failed_for_good(&self, phase: &PhaseId, code: &str) -> bool {
        let Some(facts) = self.agents.get(phase) else { return false };
        let Some(work) = self.plan.phase(phase).and_then(work) else { return false };
        assert_ne!(facts.last, LastEnd::Limited, "G4: a limit turned {phase} away, and it has failed");
        let spent = work.max_turns.is_some_and(|max| facts.spent.turns >= u64::from(max));
        let spent = spent || facts.spent.has_used_up(work.budget);
        assert!(facts.last != LastEnd::GoesOn || spent, "{phase} was to go on, and has failed");
        let stuck = facts.same_failures() >= SAME_FAILURE_MAX || facts.same_rounds() >= SAME_ROUNDS_MAX;
        let rounds = facts.last == LastEnd::Round && facts.rounds.len() >= ROUNDS_MAX;
        match code {
            "stuck" => stuck,
            "max-turns" | "budget" | "not-logged-in" => spent || facts.last == LastEnd::FailedForGood,
            _ => spent || rounds,
        }
    }

    /// An agent is about to make another plan.
    pub(super) fn agent_may_plan(&self) {
        let most = self.purse.most_nano_usd;
        assert!(most.is_none_or(|most| self.purse.all.nano_usd < most), "G1: an agent plans, and the run has cost all");
    }

    pub(super) fn agent_says_done(&self, phase: &PhaseId) -> bool {
        self.agents.get(phase).is_some_and(|facts| facts.last == LastEnd::Done)
    }

    /// Whether hand-offs and rounds are what brought the last end about: no failure, and so no retry.
    pub(super) fn agent_goes_on(&self, phase: &PhaseId) -> bool {
        self.agents.get(phase).is_some_and(|facts| matches!(facts.last, LastEnd::GoesOn | LastEnd::Round))
    }

    /// The sum that a driver shows is the sum of what is on record.
    pub(in crate::sim) fn compare_costs(&self, live: &Run) {
        let shown = live.cost_nano_usd().unwrap_or(0);
        assert_eq!(shown, self.purse.all.nano_usd, "G3: the cost of the run is not what its attempts have cost");
    }
}

/// Whether an agent's attempt came to its own good end.
pub(super) fn says_done(outcome: &Outcome, ended: &AgentEnded) -> bool {
    *outcome == (Outcome::Exited { code: 0 }) && ended.how == AgentHow::Done
}

/// Whether it says that others are to blame.
fn is_turned_away(how: &AgentHow) -> bool {
    matches!(how, AgentHow::Limited { .. } | AgentHow::Overloaded { .. })
}
