//! Money: the budget of the whole run, and the budgets of its limits. An attempt at work is not ended for money; no further one is
//! started.

use super::agents::{spent_with, work};
use super::state::Run;
use crate::event::{AgentEnded, AgentHow, nano_usd, usd};
use crate::id::PhaseId;
use crate::mutant::{self, Mutant};
use crate::plan::{Body, Budget, Phase};

/// Clients are told of dollars with four decimals: what is left below that is nothing.
const REMAINDER_NANO_USD: u64 = 100_000;

/// A budget that the phases of the run share, with what was spent of it.
#[derive(Clone, Debug, PartialEq)]
pub struct SharedBudget {
    /// The limit that it belongs to; none: it is that of the whole run.
    pub limit: Option<String>,
    pub most: Budget,
    pub spent: Budget,
    /// More was spent than is known.
    pub is_part: bool,
}

impl SharedBudget {
    pub fn is_used_up(&self) -> bool {
        if mutant::is(Mutant::SpendOn) {
            return false;
        }
        let money = self.most.usd.zip(self.spent.usd);
        let money = money.is_some_and(|(most, so_far)| money_is_used_up(nano_usd(most), nano_usd(so_far)));
        let tokens = self.most.tokens.zip(self.spent.tokens);
        money || tokens.is_some_and(|(most, so_far)| so_far >= most)
    }

    /// `the budget of the run ($5.00) is used up: $5.12`, with the way out.
    pub fn words(&self) -> String {
        let money = self.most.usd.map(|most| (format!("${most:.2}"), format!("${:.2}", self.spent.usd.unwrap_or(0.0))));
        let used = self.spent.tokens.unwrap_or(0);
        let tokens = self.most.tokens.map(|most| (format!("{most} tokens"), format!("{used} tokens")));
        let (most, spent): (Vec<String>, Vec<String>) = money.into_iter().chain(tokens).unzip();
        let (most, spent) = (most.join(", "), spent.join(", "));
        let spent = if self.is_part { format!("at least {spent}") } else { spent };
        match &self.limit {
            None => {
                format!("the budget of the run ({most}) is used up: {spent}; a start with a higher --budget goes on")
            }
            Some(name) => format!(
                "the budget of the limit {name} ({most}) is used up: {spent}; it goes on once the plan has a higher one"
            ),
        }
    }
}

pub(super) fn money_is_used_up(most: u64, so_far: u64) -> bool {
    so_far.saturating_add(REMAINDER_NANO_USD) >= most
}

pub(in crate::run) fn is_an_agents(phase: &Phase) -> bool {
    matches!(phase.body, Body::Agent(_))
}

/// The budget that the client is told: the phase's own, or what is left of a shared one where that is less.
pub fn told(run: &Run, phase: &Phase, own: Budget) -> Budget {
    let so_far = run.phase_state(&phase.id).and_then(|state| state.agent.as_deref());
    let so_far = so_far.map_or(0, |agent| agent.cost_nano_usd);
    let lefts = run.shared_budgets(phase).filter_map(|shared| {
        let (most, spent) = (nano_usd(shared.most.usd?), nano_usd(shared.spent.usd.unwrap_or(0.0)));
        Some(most.saturating_sub(spent))
    });
    let shared = lefts.min().map(|left| usd(so_far.saturating_add(left)));
    let least = match (own.usd, shared) {
        (Some(own), Some(shared)) => Some(own.min(shared)),
        (own, shared) => own.or(shared),
    };
    Budget { usd: least, ..own }
}

impl Run {
    /// The dollars that an agent may cost that is asked for another plan; none where nobody has set a budget.
    pub fn left_for_a_plan(&self) -> Option<f64> {
        let budget = self.budget()?;
        Some((budget.most.usd? - budget.spent.usd.unwrap_or(0.0)).max(0.0))
    }

    /// The budget of the whole run, as the last start that gave one gave it.
    pub fn budget(&self) -> Option<SharedBudget> {
        let most = Budget { usd: self.limits.budget_nano_usd.map(usd), tokens: None };
        let spent = Budget { usd: Some(usd(self.cost_nano_usd().unwrap_or(0))), tokens: None };
        most.usd.is_some().then_some(SharedBudget { limit: None, most, spent, is_part: self.cost_is_part() })
    }

    /// The largest cost of all agents together, where a start has named one.
    pub fn budget_nano_usd(&self) -> Option<u64> {
        self.limits.budget_nano_usd
    }

    /// The budgets that an attempt at this phase draws on, beside the phase's own.
    fn shared_budgets(&self, phase: &Phase) -> impl Iterator<Item = SharedBudget> {
        let of_limits = phase.pools().into_iter().filter_map(|name| {
            let most = self.plan().limits.get(name)?.budget?;
            let spent = self.limits.usage.get(name).map(|usage| usage.spent).unwrap_or_default();
            Some(SharedBudget { limit: Some(name.to_owned()), most, spent, is_part: false })
        });
        let of_the_run = is_an_agents(phase).then(|| self.budget()).flatten();
        of_the_run.into_iter().chain(of_limits.collect::<Vec<_>>())
    }

    /// The shared budget that keeps a phase from being started; time does not help.
    pub fn out_of_money(&self, phase: &Phase) -> Option<SharedBudget> {
        self.shared_budgets(phase).find(SharedBudget::is_used_up)
    }

    /// Every shared budget that is used up and keeps a phase that is not finished.
    pub fn used_up_budgets(&self) -> Vec<SharedBudget> {
        let mut found: Vec<SharedBudget> = Vec::new();
        let open = self.phases().filter(|(_, state)| !state.is_finished());
        for budget in open.filter_map(|(phase, _)| self.out_of_money(phase)) {
            if !found.contains(&budget) {
                found.push(budget);
            }
        }
        found
    }

    /// Whether the plan or whoever started the run has set a budget that phases share.
    pub(super) fn has_shared_budgets(&self) -> bool {
        self.limits.budget_nano_usd.is_some() || self.plan().limits.values().any(|limit| limit.budget.is_some())
    }

    /// Whether an agent was ended by its client because a shared budget is used up: the phase has not failed. `ended` is not
    /// folded in yet.
    pub(super) fn ended_for_shared_money(&self, phase: &Phase, ended: &AgentEnded) -> bool {
        if ended.how != AgentHow::Budget || work(phase).is_none() {
            return false;
        }
        let agent = self.phase_state(&phase.id).and_then(|state| state.agent.as_deref());
        let cost = ended.cost_usd();
        let with_this = |shared: SharedBudget| {
            let spent = Budget { usd: Some(shared.spent.usd.unwrap_or(0.0) + cost), ..shared.spent };
            SharedBudget { spent, ..shared }.is_used_up()
        };
        spent_with(phase, agent, ended).is_none() && self.shared_budgets(phase).any(with_this)
    }

    /// The cost of an attempt counts for the limits that its phase draws on.
    pub(super) fn spent_of_the_limits(&mut self, phase: &PhaseId, ended: &AgentEnded) {
        let plan = &self.started.plan;
        let cost = Budget { usd: Some(ended.cost_usd()), tokens: Some(ended.tokens) };
        for name in plan.phases[self.at(phase)].pools() {
            self.limits.usage.entry(name.to_owned()).or_default().spend(cost);
        }
    }
}
