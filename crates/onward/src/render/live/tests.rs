//! Screens of the live view, as text: what stands in each line, and what a terminal makes of all that is written.

use std::num::NonZeroU16;

use console::{measure_text_width, strip_ansi_codes};
use jiff::{SignedDuration, Timestamp};
use onward_core::view::durations::ExpectedTime;
use onward_core::view::live::{FailedRow, LiveView, LiveWait, PhaseAtWork, PhaseCounts, PhaseWaiting, Progress};

use super::lines::frame;
use super::painter::Painter;
use crate::render::terminal_size::ScreenSize;

fn now() -> Timestamp {
    "2026-11-15T12:00:00Z".parse().expect("a time")
}

fn before(seconds: i64) -> Timestamp {
    now() - SignedDuration::from_secs(seconds)
}

fn at_work(name: &str, seconds: i64) -> PhaseAtWork {
    PhaseAtWork {
        name: name.to_owned(),
        started_at: Some(before(seconds)),
        expected: None,
        attempt: 1,
        progress: None,
        note: None,
        last_line: None,
    }
}

fn usual(p50: u64, p90: u64) -> ExpectedTime {
    ExpectedTime { p50_ms: p50 * 1000, p90_ms: p90 * 1000, runs: 5 }
}

/// Something of everything.
fn busy() -> LiveView {
    let migrate = PhaseAtWork {
        expected: Some(usual(120, 150)),
        progress: Some(Progress { done: 3, total: 10 }),
        note: Some("customers, the others wait in the queue behind the old database".to_owned()),
        last_line: Some("moved 2,311 rows of table 顧客".to_owned()),
        ..at_work("Migrate the billing of all customers to the new schema", 41)
    };
    let build = PhaseAtWork {
        attempt: 2,
        expected: Some(usual(20, 30)),
        last_line: Some("compiling\u{202e} module seven".to_owned()),
        ..at_work("build", 95)
    };
    LiveView {
        at_work: vec![build, migrate, at_work("日本語の長い名前を持つフェーズ", 0)],
        failed: vec![FailedRow { name: "lint".to_owned(), error: "exited with code 3".to_owned() }],
        waiting: vec![PhaseWaiting { name: "gate".to_owned(), asks: "Go live?".to_owned() }],
        counts: PhaseCounts { total: 24, completed: 7, skipped: 1, at_work: 3, failed: 1, waiting: 1, to_come: 11 },
        since: before(200),
        done_by: Some(now() + SignedDuration::from_secs(300)),
        awaited: Some(LiveWait {
            what: "the limit api".to_owned(),
            until: Some(now() + SignedDuration::from_secs(83)),
        }),
        stopping: false,
    }
}

fn thousand() -> LiveView {
    let failure = |n| FailedRow { name: format!("fetch-{n}"), error: "exited with code 22".to_owned() };
    LiveView {
        at_work: (0..64).map(|n| at_work(&format!("load-{n}"), 64 - n)).collect(),
        failed: (0..12).map(failure).collect(),
        waiting: Vec::new(),
        counts: PhaseCounts {
            total: 1000,
            completed: 511,
            at_work: 64,
            failed: 12,
            to_come: 413,
            ..PhaseCounts::default()
        },
        awaited: None,
        ..busy()
    }
}

/// The screen as text, with the part of a line that depends on the zone of the machine left out.
fn screen(view: &LiveView, columns: usize, lines: usize) -> String {
    let frame = frame(view, ScreenSize { columns, lines }, now());
    for line in &frame {
        assert!(measure_text_width(line) < columns, "a line is as wide as the screen or wider: {line:?}");
    }
    let plain = frame.iter().map(|line| strip_ansi_codes(line).trim_end().to_owned());
    plain.map(|line| line.split(" (until").next().unwrap_or_default().to_owned() + "\n").collect()
}

#[test]
fn wide() {
    assert_eq!(
        screen(&busy(), 120, 40).lines().collect::<Vec<_>>(),
        [
            "→ build                                    1 min 35 s, usually 20 s  attempt 2  compiling\\u{202e} module seven",
            "→ Migrate the billing of all customers t…  41 s of ~2 min            ███░░░░░░░ 3/10  customers, the…  moved 2,311 row…",
            "→ 日本語の長い名前を持つフェーズ           0 s",
            "✗ lint                                     exited with code 3",
            "? gate                                     Go live?",
            "◷ waiting for the limit api: 1 min 23 s left",
            "  7 of 24 done · 3 at work · 1 failed · 1 waiting · 1 skipped · 11 to come · 3 min 20 s, ~5 min left",
        ]
    );
}

#[test]
fn narrow() {
    assert_eq!(
        screen(&busy(), 60, 20).lines().collect::<Vec<_>>(),
        [
            "→ build                1 min 35 s/~20 s  attempt 2  compil…",
            "→ Migrate the billin…  41 s/~2 min       █░░░░░ 3/10  move…",
            "→ 日本語の長い名前を…  0 s",
            "✗ lint                 exited with code 3",
            "? gate                 Go live?",
            "◷ waiting for the limit api: 1 min 23 s left",
            "  7 of 24 done · 1 failed · 3 min 20 s, ~5 min left",
        ]
    );
}

#[test]
fn a_thousand_phases() {
    assert_eq!(
        screen(&thousand(), 60, 20).lines().collect::<Vec<_>>(),
        [
            "→ load-0   1 min 4 s",
            "→ load-1   1 min 3 s",
            "→ load-2   1 min 2 s",
            "→ load-3   1 min 1 s",
            "→ load-4   1 min",
            "→ load-5   59 s",
            "→ load-6   58 s",
            "→ load-7   57 s",
            "  and 56 more at work",
            "✗ fetch-0  exited with code 22",
            "✗ fetch-1  exited with code 22",
            "  and 10 more failed",
            "  511 of 1000 done · 12 failed · 3 min 20 s, ~5 min left",
        ]
    );
}

/// Ever smaller, down to a screen that has no room for anything: no line is too wide and there are no more than fit.
#[test]
fn every_size_has_its_view() {
    for columns in (1..140).step_by(9) {
        for lines in [1, 2, 3, 4, 7, 20, 49] {
            for view in [busy(), thousand()] {
                let shown = frame(&view, ScreenSize { columns, lines }, now());
                assert!(shown.len() <= lines, "{} lines of {lines}", shown.len());
                let widest = shown.iter().map(|line| measure_text_width(line)).max().unwrap_or_default();
                assert!(widest < columns.max(2), "{widest} of {columns} columns");
            }
        }
    }
}

fn terminal(lines: u16, columns: u16) -> vt100::Parser {
    let count = |count| NonZeroU16::new(count).expect("a screen has some");
    vt100::Parser::new(count(lines), count(columns), 100)
}

fn contents(terminal: &vt100::Parser) -> String {
    terminal.screen().contents()
}

fn lines(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// Lines are written over, grow and shrink, and text comes above them. Nothing of what was there is left, nothing that was said is
/// lost, and in the end there is only what was said.
#[test]
fn a_terminal_shows_the_last_view_below_all_that_was_said() {
    let mut terminal = terminal(8, 20);
    let mut painter = Painter::default();
    terminal.process(b"$ onward run\r\n");
    terminal.process(painter.paint("", lines(&["one 1 s", "two 1 s", "total"]), 20).as_bytes());
    assert_eq!(contents(&terminal), "$ onward run\none 1 s\ntwo 1 s\ntotal");
    terminal.process(painter.paint("said\r\n", lines(&["one", "total"]), 20).as_bytes());
    assert_eq!(contents(&terminal), "$ onward run\nsaid\none\ntotal");
    terminal.process(painter.paint("", lines(&["1", "2", "3", "4", "5", "6"]), 20).as_bytes());
    terminal.process(painter.paint("again\r\n", lines(&["1", "2", "3"]), 20).as_bytes());
    terminal.process(painter.paint("", Vec::new(), 20).as_bytes());
    assert_eq!(contents(&terminal), "said\nagain");
    assert!(!terminal.screen().hide_cursor(), "the cursor is there");
    assert_eq!(painter.paint("", Vec::new(), 20), "", "nothing to do");
}

/// A narrower terminal has broken the lines that were on it into two rows each. All of them are written over.
#[test]
fn lines_that_a_resize_has_broken_are_written_over() {
    let mut painter = Painter::default();
    painter.paint("", lines(&["twelve chars", "short"]), 20);
    let out = painter.paint("", lines(&["now"]), 8);
    assert!(out.contains("\u{1b}[3A"), "two rows and one: {out:?}");
    assert!(out.contains("\u{1b}[J"), "what is below goes: {out:?}");
}

/// A line with characters that the terminal takes for wider than we do is cut off at the edge, and the next one is in its place.
#[test]
fn a_line_that_is_too_wide_after_all_breaks_nothing() {
    let mut terminal = terminal(4, 10);
    let mut painter = Painter::default();
    terminal.process(painter.paint("", lines(&["0123456789abc", "end"]), 10).as_bytes());
    terminal.process(painter.paint("", lines(&["0123456789abd", "end"]), 13).as_bytes());
    let shown = contents(&terminal);
    assert_eq!(shown.lines().count(), 2, "{shown}");
    assert!(shown.starts_with("012345678") && shown.ends_with("end"), "{shown}");
    terminal.process(b"it wraps again here");
    assert_eq!(contents(&terminal).lines().last(), Some("it wraps again here"), "lines are broken again as they were");
}
