//! Runs by less than their id: the one that `@` means, and the time at the end of an id.

use onward_core::id::{PhaseId, RunId};
use onward_core::lookup;
use onward_store::{Inspection, Page, RunFilter};

use super::by_age::{by_age, is_taken_over};
use super::checkpoints::ambiguous;
use super::runs::{has_begun, is_current};
use crate::Onward;
use crate::error::{Error, Result};
use crate::names;

/// The sign in the id of a child of a matrix.
const CHILD: char = '@';
/// Rows that are looked at for the newest run; what is archived or was never begun does not count.
const NEWEST_LOOKED_AT_MAX: usize = 50;

/// The run that `@` means in a store; none where there is no run that is not archived, or where that cannot be read.
pub(crate) fn newest_run(store: &mut dyn Inspection) -> Option<RunId> {
    let rows = store.runs(&RunFilter::default(), Page::first(NEWEST_LOOKED_AT_MAX)).ok()?;
    let rows = by_age(rows.into_iter().filter(has_begun).collect());
    // Where only runs of files were looked at, a newer one may be behind them.
    rows.into_iter().find(is_current).filter(|row| !is_taken_over(row)).map(|row| row.run)
}

impl Onward {
    /// Tells whoever prints hints which run `@` means. Where that cannot be read, hints have whole ids.
    pub(crate) fn learn_newest(&mut self) {
        let newest = match &mut self.store {
            Some(store) => newest_run(&mut **store),
            None => None,
        };
        names::learn_newest(newest);
    }

    /// Learns how children of a matrix are called, where there are some: their names stand in the plan of their run.
    pub(crate) fn learn_children<'a>(&mut self, run: &RunId, mut phases: impl Iterator<Item = &'a PhaseId>) {
        if phases.any(|phase| phase.as_str().contains(CHILD)) {
            // Where it cannot be read they go by their ids.
            let _ = self.load(run);
        }
    }

    /// A run by the time at the end of its id.
    pub(super) fn run_by_time(&mut self, time: &str) -> Result<RunId> {
        let rows = self.rows(&RunFilter::default())?;
        let of_then = rows.into_iter().map(|row| row.run).filter(|run| lookup::has_time(run, time));
        match of_then.collect::<Vec<_>>() {
            none if none.is_empty() => Err(self.nothing_or_lost(Error::NoSuchRun(time.to_owned()))),
            mut one if one.len() == 1 => Ok(one.remove(0)),
            several => Err(ambiguous("run", time, &several)),
        }
    }
}
