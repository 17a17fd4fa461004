//! A run of the tests: how it starts, and how a driver begins with it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use onward_core::checkpoint::Trigger;
use onward_core::event::{Orphans, RunStarted};
use onward_core::id::RunId;
use onward_core::input::{Begin, Bounds, Resumption};
use onward_core::plan::{self, Plan};

pub(crate) fn now() -> Timestamp {
    "2026-11-15T12:00:00Z".parse().expect("a time")
}

/// The plan of a text that has no errors.
pub(crate) fn plan(text: &str) -> Plan {
    let parsed = plan::parse(text);
    parsed.plan.unwrap_or_else(|| panic!("{:?}", parsed.diagnostics))
}

pub(crate) fn started(plan: Plan) -> RunStarted {
    let (plan_path, triggers) = ("onward.yaml".to_owned(), Trigger::ALL.to_vec());
    RunStarted { plan_path, triggers, ..RunStarted::bare(RunId::new("run_demo_1"), "w", plan, "demo") }
}

/// A driver that was told nothing.
pub(crate) fn begin(epoch: u64) -> Begin {
    Begin {
        epoch,
        host: "h".to_owned(),
        pid: 1,
        boot: "b".to_owned(),
        jobs: None,
        orphans: Orphans::Wait,
        head: None,
        environment: BTreeMap::new(),
        renew: false,
        choices: Vec::new(),
        resumption: Resumption::default(),
        bounds: Bounds::default(),
        closed: Vec::new(),
        busy: None,
    }
}
