//! The order of runs, newest first. Runs of our own stand as they were begun, whatever a clock said; one that was taken over from a
//! file stands where its own time puts it among them.

use jiff::Timestamp;
use onward_store::RunRow;
use serde::Deserialize;

/// In the summary of a run that was taken over.
const MARK: &[u8] = b"\"imported\":true";

/// The part of a summary that says how old a run is.
#[derive(Deserialize)]
struct SummaryAge {
    created_at: Timestamp,
    #[serde(default)]
    imported: bool,
}

fn age(row: &RunRow) -> Option<SummaryAge> {
    serde_json::from_slice(row.summary.as_ref().ok()?).ok()
}

/// Whether a run was taken over from a file of another tool.
pub(crate) fn is_taken_over(row: &RunRow) -> bool {
    let is_marked = row.summary.as_ref().is_ok_and(|bytes| bytes.windows(MARK.len()).any(|part| part == MARK));
    is_marked && age(row).is_some_and(|age| age.imported)
}

/// These rows, which stand in the order of the store, by the age of their runs.
pub(crate) fn by_age(rows: Vec<RunRow>) -> Vec<RunRow> {
    let (taken, mut all): (Vec<RunRow>, Vec<RunRow>) = rows.into_iter().partition(is_taken_over);
    if taken.is_empty() {
        return all;
    }
    let begun = |row: &RunRow| age(row).map(|age| age.created_at);
    for row in taken {
        let at = begun(&row);
        let place = all.iter().position(|other| begun(other).is_some_and(|other| Some(other) < at));
        all.insert(place.unwrap_or(all.len()), row);
    }
    all
}
