//! The unfinished run and the question about it.

use std::fmt::Write as _;

use jiff::Timestamp;
use onward_core::event::{RunResult, StopReason};
use onward_core::id::PhaseId;
use onward_core::resume::Weight;
use onward_core::run::{PhaseStatus, Run};
use onward_core::view::{PhaseRecord, StatusView, WillRun};
use onward_engine::Unfinished;

use super::{paint, safe, status, time};

pub(crate) const RESUME: &str =
    "(r)esume  (p)ick a phase  (v)iew details  (s)tart fresh, keeping this run  (d)elete  (a)bandon  [r]: ";
/// Where going on is refused it is not offered.
pub(crate) const REFUSED: &str = "(v)iew details  (s)tart fresh, keeping this run  (d)elete  (a)bandon  [a]: ";
pub(crate) const ORPHANS: &str = "(w)ait until it ends  (k)ill it  (a)bandon  [a]: ";
pub(crate) const DOUBT: &str = "(r)etry  (a)dopt: it is done  (s)kip  (l)eave it open  [l]: ";
pub(crate) const FAILED: &str = "retry  adopt: it is done by hand  skip  abort: put the run away  quit  [quit]: ";
/// Where there is a snapshot to go back to.
pub(crate) const FAILED_CLEAN: &str = "retry  clean: put its files back and retry  adopt: it is done by hand  skip  abort: put the run away  quit  [quit]: ";
pub(crate) const DAMAGED: &str =
    "(r)epair: keep what can be read  (a)side: put all of it aside and begin anew  (q)uit  [q]: ";
pub(crate) const PICK: &str = "From which phase? ";
pub(crate) const STALE: &str = "(k)eep what is done as it is  (r)edo it  (a)bandon  [a]: ";
pub(crate) const PLAN: &str = "Go on with the plan as it was when the run was started? [y/N]: ";

/// Columns that a line of short entries fills at most.
const COLUMNS_MAX: usize = 100;
/// Entries of one kind that are shown; the rest is counted.
const ENTRIES_MAX: usize = 40;

/// The summary of an unfinished run: what is done, what was running, what is left, and what would be next.
pub(crate) fn summary(one: &Unfinished, next: &[WillRun], now: Timestamp) -> String {
    let view = &one.view();
    let mut out = heading(view, &one.run, now);
    out.push_str(&entries(&view.completed, |record| done(record, now)));
    for record in view.running.iter().chain(&view.remaining) {
        match record.status {
            // What it waits for says more than how long it ran.
            PhaseStatus::Running | PhaseStatus::Interrupted if record.replan.is_none() && !record.in_doubt => {
                out.push_str(&at_work(record, now));
            }
            PhaseStatus::Running | PhaseStatus::Interrupted | PhaseStatus::Waiting | PhaseStatus::Failed => {
                out.push_str(&status::phase(record, now));
            }
            PhaseStatus::Pending | PhaseStatus::Completed | PhaseStatus::Skipped => {}
        }
    }
    let pending: Vec<PhaseRecord> =
        view.remaining.iter().filter(|record| record.status == PhaseStatus::Pending).cloned().collect();
    out.push_str(&entries(&pending, pending_entry));
    for reason in reasons(one).iter().chain(&view.warnings) {
        let _ = writeln!(out, "{} {}", paint::doubtful("Check:"), safe::line(reason));
    }
    let next: Vec<&PhaseId> = next.iter().filter(|why| why.will_run).map(|why| &why.phase).collect();
    if !next.is_empty() {
        let shown: Vec<String> = next.iter().take(ENTRIES_MAX).map(|id| safe::line(id.as_str())).collect();
        let _ = writeln!(out, "Next: {}{}", shown.join(", "), more(next.len()));
    }
    out.push('\n');
    out
}

fn heading(view: &StatusView, run: &Run, now: Timestamp) -> String {
    let branch = view.branch.as_ref().map(|branch| format!("   branch {}", safe::line(branch))).unwrap_or_default();
    let title = paint::bold(&safe::line(&view.title));
    let stopped = format!("stopped {}: {}", time::ago(view.updated_at, now), how(run));
    format!("Unfinished run  {title} ({}){branch}   {stopped}\n", safe::line(view.run.as_str()))
}

fn how(run: &Run) -> &'static str {
    match (run.result, run.stopped) {
        (Some(RunResult::Failed), _) => "failed",
        (Some(RunResult::Completed), _) => "completed",
        (None, None) => "killed",
        (None, Some(reason)) => match reason {
            StopReason::Interrupt => "Ctrl+C",
            StopReason::SessionEnd => "told to end",
            StopReason::Hangup => "its terminal was closed",
            StopReason::OnlyThat => "one phase was wanted",
            StopReason::DriverGone => "killed",
            StopReason::Question => "it needs an answer",
            StopReason::Waiting => "it waits for others",
            StopReason::Rewind => "rewound",
            StopReason::Import => "taken over from a file",
            StopReason::Limit => "a limit was hit",
            StopReason::Deadline => "its time was over",
            StopReason::Pause => "paused",
            StopReason::Cancel => "cancelled",
        },
    }
}

/// The findings, the worst first; those that only need a line stand in the summary already.
fn reasons(one: &Unfinished) -> Vec<String> {
    let worth = one.findings.iter().filter(|finding| finding.kind.row().weight > Weight::Note);
    worth.map(|finding| finding.message.clone()).collect()
}

fn done(record: &PhaseRecord, now: Timestamp) -> String {
    let at = record.ended_at.map(|at| time::clock(at, now));
    let commit = record.commit_sha.as_ref().map(|sha| safe::line(sha).chars().take(7).collect::<String>());
    let facts: Vec<String> = at.into_iter().chain(commit).collect();
    let facts = if facts.is_empty() { String::new() } else { format!(" ({})", facts.join(", ")) };
    format!("{} {}{facts}", paint::sign(record.status), safe::line(record.id.as_str()))
}

fn pending_entry(record: &PhaseRecord) -> String {
    let needs = if record.needs.is_empty() { String::new() } else { format!(" {}", status::needs(record)) };
    format!("{} {}{needs}", paint::sign(record.status), safe::line(record.id.as_str()))
}

fn at_work(record: &PhaseRecord, now: Timestamp) -> String {
    // When a killed phase ended nobody knows, only when it began.
    let span = match (record.started_at, record.ended_at) {
        (Some(from), _) if record.orphan => format!(" {}", time::span(from, now)),
        (Some(from), Some(to)) if to >= from => format!(" {}", time::span(from, to)),
        (Some(from), _) => format!(" since {}", time::clock(from, now)),
        (None, _) => String::new(),
    };
    let alive = if record.orphan { "; its process is still alive" } else { "" };
    let note = record.note.as_ref().map(|note| format!(": \"{}\"", safe::line(note))).unwrap_or_default();
    let (sign, title) = (paint::sign(record.status), status::title(record));
    format!("  {sign} {title}  was running{span}, attempt {}{alive}{note}\n", record.attempts)
}

/// Short entries, as many on a line as fit.
fn entries(records: &[PhaseRecord], entry: impl Fn(&PhaseRecord) -> String) -> String {
    let mut out = String::new();
    let mut columns = COLUMNS_MAX;
    for record in records.iter().take(ENTRIES_MAX) {
        let text = entry(record);
        let width = anstream::adapter::strip_str(&text).to_string().chars().count() + 2;
        if columns + width > COLUMNS_MAX {
            out.push_str(if out.is_empty() { "  " } else { "\n  " });
            columns = 0;
        } else {
            out.push_str("  ");
        }
        out.push_str(&text);
        columns += width;
    }
    if !out.is_empty() {
        out.push_str(&more(records.len()));
        out.push('\n');
    }
    out
}

fn more(count: usize) -> String {
    if count > ENTRIES_MAX { format!(" and {} more", count - ENTRIES_MAX) } else { String::new() }
}

pub(crate) fn delete(run: &str) -> String {
    format!("Delete run {} and all that is recorded of it? This cannot be taken back. [y/N]: ", safe::line(run))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(id: &str) -> PhaseRecord {
        serde_json::from_value(serde_json::json!({
            "id": id, "name": id, "status": "pending", "attempts": 0, "generation": 1, "needs": ["a"], "outputs": {},
        }))
        .expect("a record")
    }

    #[test]
    fn many_entries_are_wrapped_and_the_rest_is_counted() {
        let records: Vec<PhaseRecord> = (0..50).map(|number| record(&format!("phase-{number}"))).collect();
        let text = anstream::adapter::strip_str(&entries(&records, pending_entry)).to_string();
        assert!(text.lines().all(|line| line.chars().count() <= COLUMNS_MAX + 20), "{text}");
        assert!(text.ends_with("· phase-39 (needs a) and 10 more\n"), "{text}");
        assert_eq!(entries(&[], pending_entry), "");
    }
}
