//! The names by which people know runs and phases: `@` for the newest run, a child of a matrix by its values. Learned whenever a
//! run is found or read, asked where words are let out to people; programs always get the ids.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use onward_core::id::{PhaseId, RunId};
use onward_core::plan::{self, Plan};
use onward_core::run::Run;
use onward_store::OpenMode;

use crate::queries::short_names::newest_run;

/// The names that are known to this process.
#[derive(Clone, Debug, Default)]
pub struct ShortNames {
    /// The run that `@` means.
    pub newest: Option<RunId>,
    /// Phases by their ids, where people know them by another name.
    pub phases: BTreeMap<String, String>,
}

static KNOWN: Mutex<ShortNames> = Mutex::new(ShortNames { newest: None, phases: BTreeMap::new() });
/// The store that this process works on. Other processes make runs there meanwhile.
static WORKED_ON: Mutex<Option<PathBuf>> = Mutex::new(None);

fn known() -> MutexGuard<'static, ShortNames> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The names for a text that is let out now. Where the text has the run that `@` meant when this process last looked, it is looked
/// again: a phase or another terminal may have made a newer run since.
pub fn short_names_for(text: &str) -> ShortNames {
    let names = known().clone();
    let worked_on = WORKED_ON.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match (&names.newest, worked_on) {
        (Some(newest), Some(folder)) if text.contains(newest.as_str()) => {
            let store = onward_store::open(&folder, OpenMode::Look);
            ShortNames { newest: store.ok().and_then(|mut store| newest_run(&mut *store)), ..names }
        }
        (Some(_) | None, _) => names,
    }
}

/// This process works on the store in this folder for as long as it lives.
pub(crate) fn works_on(folder: PathBuf) {
    *WORKED_ON.lock().unwrap_or_else(PoisonError::into_inner) = Some(folder);
}

/// Keeps the names of the phases of a plan.
pub fn learn_phases(plan: &Plan) {
    let named = plan::shown_names(plan).into_iter().map(|(id, name): (PhaseId, String)| (id.to_string(), name));
    known().phases.extend(named);
}

/// The same for a run that was read.
pub(crate) fn learn_phases_of<E>(read: &Result<Run, E>) {
    if let Ok(run) = read {
        learn_phases(run.plan());
    }
}

/// From now on `@` means this run; none where there is no run that is not archived.
pub(crate) fn learn_newest(run: Option<RunId>) {
    known().newest = run;
}
