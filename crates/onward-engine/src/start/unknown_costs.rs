//! The cost that a budget cannot keep down: of agents that do not say what they cost, and of several side by side.

use std::collections::BTreeSet;

use onward_core::agent::Adapter;
use onward_core::id::PhaseId;
use onward_core::plan::Phase;
use onward_core::run::{Run, agents};

use crate::executor::agent::client;
use crate::project::Project;
use crate::start::request::Request;

/// A line for each such agent of the run, and one where several draw on the budget of the run at the same time.
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
    let beside = whole && several_at_once(run, request);
    let beside = beside.then(|| {
        "agents that work side by side are each told what is left when they start: together they may cost more than the \
         budget; --jobs 1 keeps to it"
            .to_owned()
    });
    names.into_iter().filter(silent).map(told).chain(beside).collect()
}

/// Whether two agents of the run may be at work at the same time.
fn several_at_once(run: &Run, request: &Request) -> bool {
    let is_an_open_agents = |id: &&PhaseId| {
        let open = run.phase_state(id).is_some_and(|state| !state.is_finished());
        open && run.plan().phase(id).is_some_and(|phase| agents::work(phase).is_some())
    };
    let most = request.jobs.unwrap_or(run.plan().max_parallel);
    most > 1 && run.batches().iter().any(|batch| batch.iter().filter(is_an_open_agents).count() > 1)
}
