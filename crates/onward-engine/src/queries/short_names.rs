//! Runs by less than their id: the one that `@` means, and the time at the end of an id.

use onward_core::id::RunId;
use onward_core::lookup;
use onward_store::{Page, RunFilter};

use super::checkpoints::ambiguous;
use super::runs::{has_begun, is_current};
use crate::Onward;
use crate::error::{Error, Result};
use crate::names;

/// Rows that are looked at for the newest run; what is archived or was never begun does not count.
const NEWEST_LOOKED_AT_MAX: usize = 50;

impl Onward {
    /// Tells whoever prints hints which run `@` means. Where that cannot be read, hints have whole ids.
    pub(crate) fn learn_newest(&mut self) {
        let filter = RunFilter::default();
        let rows = self.store.as_mut().and_then(|store| store.runs(&filter, Page::first(NEWEST_LOOKED_AT_MAX)).ok());
        let newest = rows.and_then(|rows| rows.into_iter().filter(has_begun).find(is_current));
        names::learn_newest(newest.map(|row| row.run));
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
