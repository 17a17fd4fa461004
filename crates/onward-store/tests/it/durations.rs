//! How long attempts took: written with their ends, asked for over all runs.

use onward_core::id::Seq;
use onward_store::{DurationRow, Entry, Inspection, PruneList};

use crate::kit::{OnDisk, drive, entry, run};

fn took(seq: u64, phase: &str, ms: u64) -> DurationRow {
    DurationRow { seq: Seq(seq), plan: "p".to_owned(), phase: phase.to_owned(), ended: "done".to_owned(), ms }
}

fn newest(store: &mut dyn Inspection, phase: &str, max: usize) -> Vec<u64> {
    store.durations("p", phase, "done", max).expect("a look")
}

#[test]
fn the_newest_durations_come_first_and_go_with_their_run() {
    // Two appends tell how long three attempts took. Another handle reads them, and a prune takes them away.
    let disk = OnDisk::default();
    let mut store = disk.store();
    let lease = drive(store.as_mut());
    let entry_with = |durations| Entry { durations, ..entry(b"event") };
    store.append(&lease, Seq(0), entry_with(vec![took(1, "a", 11)])).expect("an append");
    store.append(&lease, Seq(1), entry_with(vec![took(2, "a", 12), took(2, "b", 7)])).expect("an append");
    assert_eq!(newest(disk.look().as_mut(), "a", 9), [12, 11]);
    assert_eq!(newest(store.as_mut(), "a", 1), [12]);
    assert_eq!(newest(store.as_mut(), "b", 9), [7]);
    assert_eq!(store.durations("p", "a", "failed", 9).expect("a look"), [0; 0]);
    assert_eq!(store.durations("q", "a", "done", 9).expect("a look"), [0; 0]);
    drop(lease);
    store.prune(&PruneList { runs: vec![run()], ..PruneList::default() }).expect("a prune");
    assert_eq!(newest(store.as_mut(), "a", 9), [0; 0], "they go with their run");
}
