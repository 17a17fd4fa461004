//! Phases that a coding agent does: its session, its cost over all attempts, and its failures so far.

use serde::{Deserialize, Serialize};

use super::agent_calls::{self, AgentCalls, CallEnd};
use super::iteration::UNCHANGED_MAX;
use super::state::{Before, PhaseState, Run};
use crate::agent::{AGENT_DEFAULT, AgentWork, SessionPolicy};
use crate::event::{AgentBegun, AgentEnded, AgentHow, Outcome, PhaseError, nano_usd, usd};
use crate::failure::FailureCode;
use crate::id::{Attempt, PhaseId};
use crate::ids_and_keys::session_id;
use crate::mutant::{self, Mutant};
use crate::plan::{Body, Phase};
use crate::replan::EXIT_REPLAN;

/// How often a full context is handed on to a new session.
pub const HAND_OFFS_MAX: u32 = 2;
/// How often a session that the client has lost is followed by a new one.
pub const LOST_SESSIONS_MAX: u32 = 1;
/// How often an agent that says it is done is sent back to what remains by its own word.
pub const ROUNDS_MAX: usize = 20;
/// The output, or the field of a structured answer, in which an agent says what remains.
pub const REMAINING_OUTPUT: &str = "remaining";
/// The client whose sessions have an id of our choosing.
const CHOSEN_BY_US: &str = AGENT_DEFAULT;

/// The agent of one phase, with everything that its attempts add up to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentState {
    pub agent: String,
    /// The session that it works in, or worked in last.
    pub session: Option<String>,
    /// The client has named it, so it can go on.
    pub named: bool,
    pub model: Option<String>,
    pub turns: u64,
    pub tokens: u64,
    pub cost_nano_usd: u64,
    /// An attempt ended before it could tell all that it used: the sums are what is known at least.
    pub is_part: bool,
    /// Tokens of its session so far, where its client counts those.
    pub session_tokens: u64,
    /// Times that its context was full.
    pub hand_offs: u32,
    /// Sessions that its client did not know any more.
    pub lost_sessions: u32,
    /// The end of its last attempt, in its own account.
    pub how: Option<AgentHow>,
    /// Times that it said it was done and named what remains.
    pub rounds: usize,
    /// The work that remained when its last attempt ended, in its own words.
    pub remaining: Option<String>,
    /// Calls that a person decides.
    pub calls: AgentCalls,
}

impl AgentState {
    /// As it is when the phase is done anew: only what it has cost stays.
    #[must_use]
    pub(super) fn anew(self) -> Self {
        let Self { agent, turns, tokens, cost_nano_usd, is_part, .. } = self;
        Self { agent, turns, tokens, cost_nano_usd, is_part, ..Self::default() }
    }

    /// Turns, tokens and cost of one more attempt.
    fn take(&mut self, ended: &AgentEnded) {
        self.is_part |= ended.is_part;
        self.turns = self.turns.saturating_add(ended.turns);
        self.tokens = self.tokens.saturating_add(ended.tokens);
        if ended.how != AgentHow::Done && mutant::is(Mutant::ForgetACost) {
            return;
        }
        self.cost_nano_usd = self.cost_nano_usd.saturating_add(ended.cost_nano_usd);
    }

    /// Whether its next attempt goes on in a session in which an answered call waits.
    pub fn goes_on_with_a_call(&self) -> bool {
        self.named && self.session.is_some() && self.calls.to_hand_over().is_some()
    }
}

/// The work that a phase gives an agent; none where somebody else does it.
pub fn work(phase: &Phase) -> Option<AgentWork> {
    match &phase.body {
        Body::Agent(block) => Some(AgentWork::read(block)),
        Body::Run { .. } | Body::Approval(_) | Body::External(_) | Body::Uses(_) => None,
    }
}

/// The agent of the next attempt at a phase; none where it is not an agent's.
pub(super) fn begun(run: &Run, phase: &Phase, state: &PhaseState) -> Option<Box<AgentBegun>> {
    let work = work(phase)?;
    let may_go_on =
        |known: &&AgentState| known.agent == work.agent && known.named && !mutant::is(Mutant::ForgetTheSession);
    // A call that waits is one of its session: whatever the plan says, it is handed over there.
    let goes_on = |known: &&AgentState| work.session == SessionPolicy::Continue || known.calls.to_hand_over().is_some();
    let known = state.agent.as_deref().filter(may_go_on).filter(goes_on);
    let going_on = known.and_then(|known| known.session.clone());
    let continues = going_on.is_some();
    let chosen = || session_id(&run.id, &phase.id, Attempt(state.attempts + 1));
    let session = going_on.or_else(|| (work.agent == CHOSEN_BY_US).then(chosen));
    Some(Box::new(AgentBegun { agent: work.agent, session, continues, model: work.model }))
}

/// Why an agent is not called again: it has had all that the phase may take.
pub(super) fn spent(phase: &Phase, agent: Option<&AgentState>) -> Option<PhaseError> {
    let (work, agent) = (work(phase)?, agent?);
    let over = |limit: Option<u64>, used: u64| limit.filter(|limit| used >= *limit);
    if let Some(limit) = over(work.max_turns.map(u64::from), agent.turns) {
        let message = format!("it took {} turns, and may take {limit}", agent.turns);
        return Some(PhaseError { code: FailureCode::MaxTurns, message });
    }
    if let Some(limit) = over(work.budget.tokens, agent.tokens) {
        let message = format!("it used {} tokens, and may use {limit}", agent.tokens);
        return Some(PhaseError { code: FailureCode::Budget, message });
    }
    over(work.budget.usd.map(nano_usd), agent.cost_nano_usd).map(|limit| {
        let (spent, limit) = (usd(agent.cost_nano_usd), usd(limit));
        PhaseError { code: FailureCode::Budget, message: format!("it cost ${spent:.4}, and may cost ${limit:.4}") }
    })
}

/// The same, with an attempt that is not folded in yet.
pub(super) fn spent_with(phase: &Phase, agent: Option<&AgentState>, ended: &AgentEnded) -> Option<PhaseError> {
    let mut agent = agent.cloned().unwrap_or_default();
    agent.take(ended);
    spent(phase, Some(&agent))
}

/// Whether an end like this is followed by a new session without being a failure.
pub(super) fn hands_off(how: &AgentHow, agent: Option<&AgentState>) -> bool {
    let (hand_offs, lost) = agent.map_or((0, 0), |agent| (agent.hand_offs, agent.lost_sessions));
    match how {
        AgentHow::Exhausted => hand_offs < HAND_OFFS_MAX || mutant::is(Mutant::HandOnForEver),
        AgentHow::SessionUnknown => lost < LOST_SESSIONS_MAX || mutant::is(Mutant::LoseSessionsForEver),
        AgentHow::Done
        | AgentHow::Limited { .. }
        | AgentHow::Overloaded { .. }
        | AgentHow::MaxTurns
        | AgentHow::Budget
        | AgentHow::NotLoggedIn { .. }
        | AgentHow::Deferred { .. }
        | AgentHow::Failed { .. }
        | AgentHow::SessionInUse
        | AgentHow::Interrupted
        | AgentHow::NoResult => false,
    }
}

/// Whether an agent said that it was done, and what remains.
pub(super) fn is_a_round(outcome: &Outcome, ended: &AgentEnded) -> bool {
    *outcome == (Outcome::Exited { code: 0 }) && ended.how == AgentHow::Done && ended.remaining.is_some()
}

impl Run {
    /// The cost of all agents of this run, those that made plans for it included; none where no agent was at work.
    pub fn cost_nano_usd(&self) -> Option<u64> {
        let of_plans = self.replans.paid().map(|paid| paid.cost_nano_usd);
        self.all_agents().map(|agent| agent.cost_nano_usd).chain(of_plans).reduce(u64::saturating_add)
    }

    /// Whether some agent was ended before it could tell all that it had used.
    pub fn cost_is_part(&self) -> bool {
        self.all_agents().any(|agent| agent.is_part) || self.replans.paid().is_some_and(|paid| paid.is_part)
    }

    fn all_agents(&self) -> impl Iterator<Item = &AgentState> {
        let by_phase = self.phases.iter().chain(self.removed.values()).filter_map(|state| state.agent.as_deref());
        by_phase.chain(&self.displaced_agents)
    }

    pub(super) fn agent_begun(&mut self, phase: &PhaseId, begun: Option<&AgentBegun>) {
        let Some(begun) = begun else { return };
        self.session_is(begun.session.as_ref());
        self.change(phase, |state| {
            let agent = state.agent.get_or_insert_default();
            agent.agent.clone_from(&begun.agent);
            agent.session.clone_from(&begun.session);
            agent.named = begun.continues;
            if !begun.continues {
                agent.session_tokens = 0;
            }
        });
    }

    fn session_is(&mut self, session: Option<&String>) {
        if session.is_some() && self.sections.session.as_ref() != session {
            self.set_section("/session", |sections| &mut sections.session, session.cloned());
        }
    }

    /// The agent's own account of an attempt; gives the failure that it tells, where it is one.
    pub(super) fn agent_ended(
        &mut self,
        phase: &PhaseId,
        error: Option<&PhaseError>,
        end: CallEnd<'_>,
    ) -> Option<PhaseError> {
        let (outcome, ended) = (end.outcome, end.agent?);
        self.session_is(ended.session.as_ref());
        let asks = *outcome == (Outcome::Exited { code: EXIT_REPLAN });
        let failed = error.cloned().or_else(|| super::decide::agent_failure(outcome, ended)).filter(|_| !asks);
        let for_shared_money = self.ended_for_shared_money(&self.started.plan.phases[self.at(phase)], ended);
        self.spent_of_the_limits(phase, ended);
        let mut counts = true;
        self.change(phase, |state| {
            let agent = state.agent.get_or_insert_default();
            let not_taken = agent_calls::was_not_taken(Some(agent), end);
            if ended.session.is_some() {
                (agent.session, agent.named) = (ended.session.clone(), true);
            }
            if ended.model.is_some() {
                agent.model.clone_from(&ended.model);
            }
            agent.take(ended);
            agent.session_tokens = ended.session_tokens.unwrap_or(agent.session_tokens);
            agent.how = Some(ended.how.clone());
            if ended.remaining.is_some() || ended.how == AgentHow::Done {
                agent.remaining.clone_from(&ended.remaining);
            }
            if let Some(remaining) = ended.remaining.clone().filter(|_| is_a_round(outcome, ended)) {
                agent.rounds += 1;
                state.rounds.push(remaining);
                let old = state.rounds.len().saturating_sub(UNCHANGED_MAX + 1);
                state.rounds.drain(..old);
                state.last_end = Some(Before::Failed);
            }
            let handed_off = hands_off(&ended.how, Some(agent)) || not_taken;
            let (full, lost) = (ended.how == AgentHow::Exhausted, ended.how == AgentHow::SessionUnknown);
            if full || lost {
                (agent.session, agent.named) = (None, false);
                agent.hand_offs += u32::from(full);
                agent.lost_sessions += u32::from(lost);
            }
            let deferred = agent_calls::waits(Some(ended)) && super::decide::counts_as_failure(outcome);
            if handed_off || for_shared_money || deferred {
                // An end that we asked for was not counted: there is nothing to give back.
                let counted = super::decide::counts_as_failure(outcome) || error.is_some();
                state.failures = state.failures.saturating_sub(u32::from(counted));
                counts = false;
            }
        });
        failed.filter(|_| counts)
    }
}
