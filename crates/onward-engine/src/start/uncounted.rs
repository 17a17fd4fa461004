//! Agents that do not say what they cost, where a budget in dollars counts on it.

use std::collections::BTreeSet;

use onward_core::agent::Adapter;
use onward_core::plan::Phase;
use onward_core::run::{Run, agents};

use crate::executor::agent::client;
use crate::project::Project;
use crate::start::starting::Request;

/// A line for each such agent of the run.
pub(crate) fn notes(project: &Project, run: &Run, request: &Request) -> Vec<String> {
    let whole = request.budget_nano_usd.is_some() || run.budget().is_some();
    let counts =
        |name: &&str| run.plan().limits.get(*name).is_some_and(|limit| limit.budget.is_some_and(|b| b.usd.is_some()));
    let counted = |phase: &&Phase| whole || phase.pools().iter().any(counts);
    let open = run.phases().filter(|(_, state)| !state.is_finished()).map(|(phase, _)| phase);
    let names: BTreeSet<String> = open.filter(counted).filter_map(|phase| Some(agents::work(phase)?.agent)).collect();
    let silent =
        |name: &String| client(project, name).adapter().is_some_and(|adapter: Adapter| !adapter.tells_its_cost());
    let told = |name: String| format!("{name} does not say what it costs: the budget does not count what it does");
    names.into_iter().filter(silent).map(told).collect()
}
