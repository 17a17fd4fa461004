//! The live view as lines of text, for a screen of a given size.

use std::time::Duration;

use console::{measure_text_width, truncate_str};
use jiff::Timestamp;
use onward_core::view::durations::ExpectedTime;
use onward_core::view::live::{LiveRow, LiveView, PhaseAtWork, PhaseCounts, Progress};
use onward_core::words;

use super::super::{limits, paint, safe};
use crate::render::terminal_size::ScreenSize;

/// The view takes two of three lines of the screen at most, and never more than this.
const LINES_MAX: usize = 30;
/// On a narrower screen bars are shorter.
const WIDE_COLUMNS: usize = 80;
/// Less room than this is given to the note or to the last line, and not to both.
const BOTH_COLUMNS: usize = 32;
const GAP: &str = "  ";

/// The lines, none of them wider than the screen.
pub(super) fn frame(view: &LiveView, size: ScreenSize, now: Timestamp) -> Vec<String> {
    // In the last column some terminals break a line that is written over.
    let width = size.columns.saturating_sub(1).max(1);
    let rows = view.rows((size.lines * 2 / 3).clamp(1, LINES_MAX));
    let columns = TextColumns::new(&rows, width, now);
    let line = |row: &LiveRow<'_>| match row {
        LiveRow::AtWork(phase) => columns.at_work(phase, now),
        LiveRow::MoreAtWork(count) => paint::dim(&format!("{GAP}and {count} more at work")),
        LiveRow::Failed(phase) => {
            format!("{} {}{GAP}{}", paint::bad("✗"), columns.name(&phase.name), safe::line(&phase.error))
        }
        LiveRow::MoreFailed(count) => paint::dim(&format!("{GAP}and {count} more failed")),
        LiveRow::Waiting(phase) => {
            format!("{} {}{GAP}{}", paint::doubtful("?"), columns.name(&phase.name), safe::line(&phase.asks))
        }
        LiveRow::MoreWaiting(count) => paint::dim(&format!("{GAP}and {count} more wait for somebody")),
        LiveRow::Awaited(wait) => {
            let words = match wait.until {
                Some(until) => limits::awaited_words(&wait.what, until, now),
                None => format!("waiting for {}", safe::line(&wait.what)),
            };
            format!("{} {words}", paint::doubtful("◷"))
        }
        LiveRow::Totals => totals(view, width, now),
    };
    rows.iter().map(|row| truncate_str(&line(row), width, "…").into_owned()).collect()
}

/// The widths that lines have in common.
struct TextColumns {
    width: usize,
    name: usize,
    time: usize,
}

impl TextColumns {
    fn new(rows: &[LiveRow<'_>], width: usize, now: Timestamp) -> Self {
        let names = rows.iter().filter_map(|row| match row {
            LiveRow::AtWork(phase) => Some(phase.name.as_str()),
            LiveRow::Failed(phase) => Some(phase.name.as_str()),
            LiveRow::Waiting(phase) => Some(phase.name.as_str()),
            LiveRow::MoreAtWork(_)
            | LiveRow::MoreFailed(_)
            | LiveRow::MoreWaiting(_)
            | LiveRow::Awaited(_)
            | LiveRow::Totals => None,
        });
        let widest = names.map(|name| measure_text_width(&safe::line(name))).max().unwrap_or(0);
        let times = rows.iter().filter_map(|row| match row {
            LiveRow::AtWork(phase) => Some(measure_text_width(&time(phase, width, now))),
            _ => None,
        });
        Self { width, name: widest.min((width / 3).max(10)), time: times.max().unwrap_or(0) }
    }

    fn name(&self, name: &str) -> String {
        padded(&safe::line(name), self.name)
    }

    fn at_work(&self, phase: &PhaseAtWork, now: Timestamp) -> String {
        let mut line = format!(
            "{} {}{GAP}{}",
            paint::busy("→"),
            paint::bold(&self.name(&phase.name)),
            padded(&time(phase, self.width, now), self.time)
        );
        if phase.attempt > 1 {
            line.push_str(&format!("{GAP}attempt {}", phase.attempt));
        }
        if let Some(progress) = phase.progress {
            line.push_str(&format!("{GAP}{}", bar(progress, if self.width < WIDE_COLUMNS { 6 } else { 10 })));
        }
        let room = self.width.saturating_sub(measure_text_width(&line));
        let note = phase.note.as_deref().map(safe::line);
        let last = phase.last_line.as_deref().map(safe::line);
        match (note, last) {
            (Some(note), Some(last)) if room < BOTH_COLUMNS => {
                // Where figures move the bar already, the last line says more.
                let one = if phase.progress.is_some() { paint::dim(&last) } else { note };
                line.push_str(&format!("{GAP}{one}"));
            }
            (Some(note), Some(last)) => {
                // The last line has at least half of the room that is left.
                let needed = measure_text_width(&last) + GAP.len();
                let for_note = room.saturating_sub(needed).max(room / 2).saturating_sub(GAP.len());
                line.push_str(&format!("{GAP}{}{GAP}{}", truncate_str(&note, for_note, "…"), paint::dim(&last)));
            }
            (Some(note), None) => line.push_str(&format!("{GAP}{note}")),
            (None, Some(last)) => line.push_str(&format!("{GAP}{}", paint::dim(&last))),
            (None, None) => {}
        }
        line
    }
}

/// Cut or filled up to a width.
fn padded(text: &str, width: usize) -> String {
    console::pad_str(text, width, console::Alignment::Left, Some("…")).into_owned()
}

/// `41 s of ~2 min`, and how long it usually takes where it has been longer than nine of ten before. On a narrow screen the colour
/// alone tells the two apart.
fn time(phase: &PhaseAtWork, width: usize, now: Timestamp) -> String {
    let worked = phase.started_at.map_or(Duration::ZERO, |at| since(at, now));
    let told = span(worked);
    match phase.expected {
        None => told,
        Some(ExpectedTime { p50_ms, p90_ms, .. }) => {
            let usual = span(Duration::from_millis(p50_ms).max(Duration::from_secs(1)));
            let is_late = worked > Duration::from_millis(p90_ms).max(Duration::from_secs(1));
            match (is_late, width < WIDE_COLUMNS) {
                (true, true) => paint::doubtful(&format!("{told}/~{usual}")),
                (true, false) => paint::doubtful(&format!("{told}, usually {usual}")),
                (false, true) => format!("{told}/~{usual}"),
                (false, false) => format!("{told} of ~{usual}"),
            }
        }
    }
}

fn since(from: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(now.duration_since(from)).unwrap_or_default()
}

/// In seconds at least: what changes faster cannot be read.
fn span(span: Duration) -> String {
    if span < Duration::from_secs(1) { "0 s".to_owned() } else { words::duration(span) }
}

/// `██████░░░░ 6/10`.
fn bar(progress: Progress, cells: usize) -> String {
    let Progress { done, total } = progress;
    let filled = usize::try_from(u128::from(done.min(total)) * cells as u128 / u128::from(total)).unwrap_or(cells);
    format!("{}{} {done}/{total}", paint::busy(&"█".repeat(filled)), paint::dim(&"░".repeat(cells - filled)))
}

/// The last line: how many phases stand where, and the time. What fits least is left out first.
fn totals(view: &LiveView, width: usize, now: Timestamp) -> String {
    let PhaseCounts { total, completed, skipped, at_work, failed, waiting, to_come } = view.counts;
    let count = |count: usize, what: &str| (count > 0).then(|| format!("{count} {what}"));
    let left = view.done_by.map(|at| format!("~{} left", span(since(now, at))));
    let elapsed = span(since(view.since, now));
    let time = left.map_or_else(|| elapsed.clone(), |left| format!("{elapsed}, {left}"));
    let parts = |rest: bool, states: bool| -> String {
        let stopping = view.stopping.then(|| paint::doubtful("stopping"));
        let states = [
            count(at_work, "at work").filter(|_| states),
            count(failed, "failed").map(|text| paint::bad(&text)),
            count(waiting, "waiting").filter(|_| states),
            count(skipped, "skipped").filter(|_| rest),
            count(to_come, "to come").filter(|_| rest),
        ];
        let done = Some(paint::bold(&format!("{completed} of {total} done")));
        let all = [stopping, done].into_iter().chain(states).chain([Some(time.clone())]);
        format!("{GAP}{}", all.flatten().collect::<Vec<_>>().join(" · "))
    };
    let tried = [(true, true), (false, true), (false, false)].map(|(rest, states)| parts(rest, states));
    let last = tried.len() - 1;
    let fits = tried.iter().position(|line| measure_text_width(line) <= width).unwrap_or(last);
    tried[fits].clone()
}
