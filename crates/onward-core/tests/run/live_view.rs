//! The live view of a run: what is in it, and which of it is shown where there is little room.

use std::collections::BTreeMap;

use jiff::Timestamp;
use onward_core::id::PhaseId;
use onward_core::view::durations::ExpectedTime;
use onward_core::view::live::{AttemptSeen, LiveRow, LiveView, PhaseCounts, Progress};

use crate::common;
use crate::story::Story;

fn driven(phases: &str) -> Story {
    Story::of(common::plan(&format!("onward: 1\nname: demo\non-failure: continue\nphases:\n{phases}"))).driven()
}

fn view(story: &Story, notes: &[(&str, &str)], expected: &[(&str, u64)]) -> LiveView {
    let seen = |note: &str| AttemptSeen { note: Some(note.to_owned()), last_line: None };
    let seen = notes.iter().map(|(phase, note)| (PhaseId::new(*phase), seen(note))).collect();
    let took = |ms| ExpectedTime { p50_ms: ms, p90_ms: ms, runs: 3 };
    let expected: BTreeMap<_, _> = expected.iter().map(|(phase, ms)| (PhaseId::new(*phase), took(*ms))).collect();
    LiveView::new(&story.run, &seen, &expected, common::now(), story.now)
}

fn names(view: &LiveView) -> Vec<&str> {
    view.at_work.iter().map(|phase| phase.name.as_str()).collect()
}

/// Three phases are at work, one has failed, one waits for a person, one is to come. Each stands where it belongs, by its name.
#[test]
fn every_phase_is_told_once() {
    let mut story = driven(
        "  a: { run: x, name: First }\n  b: { run: x }\n  c: { run: x }\n  gate: { approval: \"Go live?\" }\n  d: { needs: a, run: x }\n",
    );
    story.fail("b");
    let seen = view(&story, &[("a", "3/10 tables\n"), ("c", "counting")], &[]);
    assert_eq!(names(&seen), ["First", "c"]);
    let [first, c] = seen.at_work.as_slice() else { panic!("two are at work") };
    assert_eq!((first.progress, first.note.as_deref()), (Some(Progress { done: 3, total: 10 }), Some("tables")));
    assert_eq!((c.progress, c.note.as_deref()), (None, Some("counting")));
    assert_eq!(seen.failed.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["b"]);
    assert_eq!(seen.waiting.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["gate"]);
    assert!(seen.waiting[0].asks.contains("Go live?"), "{:?}", seen.waiting);
    let counts = PhaseCounts { total: 5, at_work: 2, failed: 1, waiting: 1, to_come: 1, ..PhaseCounts::default() };
    assert_eq!(seen.counts, counts);
    assert_eq!(seen.done_by, None, "nobody knows when a person answers");
}

/// A note that begins with figures moves the bar; one that only looks like it is a note.
#[test]
fn figures_are_a_progress() {
    let story = driven("  a: { run: x }\n");
    let told = |note: &str| {
        let seen = view(&story, &[("a", note)], &[]);
        (seen.at_work[0].progress.map(|one| (one.done, one.total)), seen.at_work[0].note.clone())
    };
    assert_eq!(told("3/10"), (Some((3, 10)), None));
    assert_eq!(told("3/10: the rest"), (Some((3, 10)), Some("the rest".to_owned())));
    for note in ["3/0", "src/main.rs is done", "1/2/3", "-1/4"] {
        assert_eq!(told(note), (None, Some(note.to_owned())), "{note}");
    }
}

/// All phases were done before. The run takes as long as its longest way, or as its work for those who do it side by side.
#[test]
fn the_end_is_expected_from_what_was_before() {
    let story = driven("  a: { run: x }\n  b: { needs: a, run: x }\n  c: { run: x }\n");
    let left = |expected: &[(&str, u64)]| {
        let by: Option<Timestamp> = view(&story, &[], expected).done_by;
        by.map(|at| at.duration_since(story.now).as_millis())
    };
    assert_eq!(left(&[("a", 5_000), ("b", 7_000), ("c", 9_000)]), Some(12_000));
    assert_eq!(left(&[("a", 5_000), ("b", 7_000), ("c", 90_000)]), Some(90_000));
    assert_eq!(left(&[("a", 5_000), ("b", 7_000)]), None, "nothing is known of c");
}

/// Two hundred phases, of which many are at work and have failed. There is a line for the totals whatever the room, failures
/// have some of it, and what is not shown is counted.
#[test]
fn what_has_no_room_is_counted() {
    let phases: String = (0..200).map(|n| format!("  p{n}: {{ run: x }}\n")).collect();
    let mut story = Story::of(common::plan(&format!(
        "onward: 1\nname: demo\non-failure: continue\nmax-parallel: 60\nphases:\n{phases}"
    )))
    .driven();
    for n in 0..30 {
        story.fail(&format!("p{n}"));
    }
    let view = view(&story, &[], &[]);
    assert_eq!((view.at_work.len(), view.failed.len()), (60, 30));
    for lines_max in 1..40 {
        let rows = view.rows(lines_max);
        assert!(rows.len() <= lines_max.max(1), "{} lines where there is room for {lines_max}", rows.len());
        assert!(matches!(rows.last(), Some(LiveRow::Totals)), "{lines_max}");
        let told = |row: &LiveRow<'_>| match row {
            LiveRow::AtWork(_) | LiveRow::Failed(_) => 1,
            LiveRow::MoreAtWork(count) | LiveRow::MoreFailed(count) => *count,
            LiveRow::Waiting(_) | LiveRow::MoreWaiting(_) | LiveRow::Awaited(_) | LiveRow::Totals => 0,
        };
        if lines_max > 3 {
            assert_eq!(rows.iter().map(told).sum::<usize>(), 90, "{lines_max}");
        }
    }
    assert_eq!(view.rows(1000).len(), 91);
}
