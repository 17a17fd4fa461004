//! The order of runs, newest first. Runs of our own stand as they were begun, whatever a clock said; one that was taken over from a
//! file stands where its own time puts it among them.

use std::cmp::Reverse;

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

/// These rows, which stand in the order of the store, by the age of their runs: one that was taken over stands before the first that was
/// begun earlier.
pub(crate) fn by_age(rows: Vec<RunRow>) -> Vec<RunRow> {
    let (taken, own): (Vec<RunRow>, Vec<RunRow>) = rows.into_iter().partition(is_taken_over);
    if taken.is_empty() {
        return own;
    }
    let begun = |row: &RunRow| age(row).map(|age| age.created_at);
    // Up to each row the earliest time: it only falls, so the first row that was begun earlier is found by halving.
    let mut earliest = Timestamp::MAX;
    let until_here: Vec<Timestamp> = own
        .iter()
        .map(|row| {
            earliest = begun(row).map_or(earliest, |at| at.min(earliest));
            earliest
        })
        .collect();
    let placed = |row: RunRow| {
        let at = begun(&row).unwrap_or(Timestamp::MIN);
        (until_here.partition_point(|earliest| *earliest >= at), at, row)
    };
    let mut taken: Vec<(usize, Timestamp, RunRow)> = taken.into_iter().map(placed).collect();
    taken.sort_by_key(|(place, at, _)| (*place, Reverse(*at)));
    let mut all = Vec::with_capacity(own.len() + taken.len());
    let mut taken = taken.into_iter().peekable();
    for (place, row) in own.into_iter().enumerate() {
        while let Some((_, _, earlier)) = taken.next_if(|(before, ..)| *before <= place) {
            all.push(earlier);
        }
        all.push(row);
    }
    all.extend(taken.map(|(_, _, row)| row));
    all
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use onward_core::id::{RunId, Seq};
    use proptest::prelude::*;

    use super::*;

    /// A run that was begun at this second. Our own ones stand by their numbers, whatever their clock said.
    fn row(number: u64, second: i64, imported: &str) -> RunRow {
        let at = Timestamp::UNIX_EPOCH + SignedDuration::from_secs(second);
        let summary = format!("{{\"created_at\":\"{at}\",\"imported\":{imported}}}").into_bytes();
        RunRow {
            run: RunId::new(format!("r{number}")),
            number,
            work: String::new(),
            status: String::new(),
            summary: Ok(summary),
            head: Seq(1),
        }
    }

    /// One after the other, each put in its place among those that stand there already.
    fn one_by_one(rows: &[RunRow]) -> Vec<RunRow> {
        let (taken, mut all): (Vec<RunRow>, Vec<RunRow>) = rows.iter().cloned().partition(is_taken_over);
        let begun = |row: &RunRow| age(row).map(|age| age.created_at);
        for row in taken {
            let place = all.iter().position(|other| begun(other) < begun(&row));
            all.insert(place.unwrap_or(all.len()), row);
        }
        all
    }

    proptest! {
        #[test]
        fn all_at_once_is_one_by_one(runs in proptest::collection::vec((0_i64..6, proptest::sample::select(vec!["true", "false"])), 0..12)) {
            let rows = (0..).zip(&runs).map(|(number, (second, imported))| row(99 - number, *second, imported));
            let rows: Vec<RunRow> = rows.collect();
            prop_assert_eq!(by_age(rows.clone()), one_by_one(&rows));
        }
    }
}
