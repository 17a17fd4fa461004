//! How long attempts took in earlier runs of a plan: written with their ends, read when a run is driven or shown.

use std::collections::{BTreeMap, BTreeSet};

use onward_core::event::Recorded;
use onward_core::id::PhaseId;
use onward_core::plan::Phase;
use onward_core::run::Run;
use onward_core::view::durations::{self, EndKind, ExpectedTime, PhaseDurations, RUNS_MAX};
use onward_store::{DurationRow, Inspection, StoreError};

/// Phases of a plan for which it is looked how long they took: a look for each takes some microseconds.
const PHASES_MAX: usize = 2_000;

/// The row that belongs to an event of a run of this plan.
pub(crate) fn row(plan: &str, recorded: &Recorded) -> Option<DurationRow> {
    let told = durations::told(recorded)?;
    Some(DurationRow {
        seq: recorded.seq,
        plan: plan.to_owned(),
        phase: durations::key(told.phase),
        ended: told.end.as_str().to_owned(),
        ms: told.ms,
    })
}

/// How long the phases of a run are expected to take, where that can be said.
pub(crate) fn expected(store: &mut dyn Inspection, run: &Run) -> Result<BTreeMap<PhaseId, ExpectedTime>, StoreError> {
    let open = run.phases().take(PHASES_MAX).filter(|(_, state)| !state.is_finished()).map(|(phase, _)| phase);
    of_these(store, run, open)
}

/// The same of the phases that are at work.
pub(crate) fn of_those_at_work(
    store: &mut dyn Inspection,
    run: &Run,
) -> Result<BTreeMap<PhaseId, ExpectedTime>, StoreError> {
    of_these(store, run, run.running().take(PHASES_MAX).map(|(phase, _)| phase))
}

fn of_these<'a>(
    store: &mut dyn Inspection,
    run: &Run,
    phases: impl Iterator<Item = &'a Phase>,
) -> Result<BTreeMap<PhaseId, ExpectedTime>, StoreError> {
    let mut by_key: BTreeMap<String, Option<ExpectedTime>> = BTreeMap::new();
    let mut expected = BTreeMap::new();
    for phase in phases {
        let key = durations::key(&phase.id);
        let known = match by_key.get(&key) {
            Some(known) => *known,
            None => ask(store, run, &key, EndKind::Done)?,
        };
        by_key.insert(key, known);
        expected.extend(known.map(|known| (phase.id.clone(), known)));
    }
    Ok(expected)
}

/// How long the phases of a run took in all runs of its plan, by how they ended.
pub(crate) fn of_phases(store: &mut dyn Inspection, run: &Run) -> Result<Vec<PhaseDurations>, StoreError> {
    let (mut all, mut seen) = (Vec::new(), BTreeSet::new());
    for (phase, _) in run.phases().take(PHASES_MAX) {
        // All values of a matrix count together.
        let key = durations::key(&phase.id);
        if !seen.insert(key.clone()) {
            continue;
        }
        let mut ends = BTreeMap::new();
        for end in EndKind::ALL {
            ends.extend(ask(store, run, &key, end)?.map(|known| (end, known)));
        }
        if !ends.is_empty() {
            all.push(PhaseDurations { phase: PhaseId::new(key), ends });
        }
    }
    Ok(all)
}

fn ask(store: &mut dyn Inspection, run: &Run, key: &str, end: EndKind) -> Result<Option<ExpectedTime>, StoreError> {
    let took = store.durations(&run.started.plan_path, key, end.as_str(), RUNS_MAX)?;
    Ok(ExpectedTime::from_durations(&took))
}
