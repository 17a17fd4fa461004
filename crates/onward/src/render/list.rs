//! Runs in a list.

use std::fmt::Write as _;

use jiff::Timestamp;
use onward_core::run::RunStatus;
use onward_core::view::{self, Driven, SavedProgress};
use onward_engine::{ListItem, PlanDurations};
use serde::Serialize;

use super::{paint, safe, show, time};

/// `list --json`.
#[derive(Debug, Serialize)]
pub(crate) struct ListAnswer<'a> {
    pub(crate) runs: &'a [ListItem],
    pub(crate) warnings: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) durations: Option<&'a [PlanDurations]>,
}

/// `onward list`.
pub(crate) fn list(items: &[ListItem], now: Timestamp) -> String {
    let width = items.iter().map(|item| item.run.as_str().chars().count()).max().unwrap_or(0);
    items.iter().map(|item| row(item, width, now)).collect()
}

fn row(item: &ListItem, width: usize, now: Timestamp) -> String {
    let status = format!("{:<11}", item.status);
    let status = match item.status.as_str() {
        "completed" => paint::good(&status),
        "failed" | "unreadable" => paint::bad(&status),
        "running" => paint::busy(&status),
        "archived" => paint::dim(&status),
        _ => paint::doubtful(&status),
    };
    let done = match &item.saved {
        Some(saved) => safe::line(&progress(saved)),
        None => format!("{}/{}", item.counted.finished - item.counted.skipped, item.counted.total),
    };
    let changed = item.updated_at.map(|at| time::ago(at, now)).unwrap_or_default();
    let run = safe::line(item.run.as_str());
    let mut out = format!("{run:<width$}  {status}  {done:>7}  {changed:<16}  {}", safe::line(&item.plan));
    out.truncate(out.trim_end().len());
    out.push('\n');
    if let Some(error) = &item.error {
        let _ = writeln!(out, "    {}", safe::line(error));
    }
    out.push_str(&found(item));
    out.push_str(&asks(item));
    out
}

/// Questions to people, and how they answer.
fn asks(item: &ListItem) -> String {
    let driven = if item.status == RunStatus::Running.as_str() { Driven::Now } else { Driven::ByNobody };
    let mut out = String::new();
    for one in &item.asks {
        let name = one.shown.as_deref().unwrap_or(one.phase.as_str());
        let how = match &one.call {
            Some(call) => view::answer_call_command(&item.run, &one.phase, call, driven),
            None => view::approve_command(&item.run, &one.phase, driven),
        };
        let _ = writeln!(out, "    {} {} asks: {}", paint::doubtful("?"), safe::line(name), safe::line(&one.asks));
        let _ = writeln!(out, "      {}", safe::line(&how));
    }
    out
}

/// How long phases take, plan by plan. Fewer than three attempts say nothing.
pub(crate) fn durations(all: &[PlanDurations]) -> String {
    let mut out = String::new();
    for one in all {
        let _ =
            writeln!(out, "{}, all its runs; phases with at least three attempts", paint::bold(&safe::line(&one.plan)));
        let told = show::durations(&one.phases);
        if told.is_empty() {
            out.push_str("  none yet\n");
        }
        for line in told.lines() {
            let _ = writeln!(out, "  {line}");
        }
    }
    out
}

/// The progress of a saved state.
pub(crate) fn progress(saved: &SavedProgress) -> String {
    match &saved.current {
        Some(current) => format!("phase {current} of {}", saved.total),
        None => format!("{} of {} phases done", saved.completed, saved.total),
    }
}

/// The last findings, of a start or of a driver.
fn found(item: &ListItem) -> String {
    let line = |finding: &String| format!("    {} {}\n", paint::doubtful("!"), safe::line(finding));
    item.findings.iter().map(line).collect()
}

/// The bare command: what is unfinished, and what to type.
pub(crate) fn unfinished(items: &[ListItem], now: Timestamp) -> String {
    let mut out = String::new();
    for item in items {
        let changed = item.updated_at.map(|at| format!(", last change {}", time::ago(at, now))).unwrap_or_default();
        let done = match &item.saved {
            Some(saved) => safe::line(&progress(saved)),
            None => view::progress_in_words(item.counted.finished, item.counted.skipped, item.counted.total),
        };
        let title = paint::bold(&safe::line(&item.title));
        let run = safe::line(item.run.as_str());
        let plan = if item.plan.is_empty() { String::new() } else { format!("   plan {}", safe::line(&item.plan)) };
        let _ = writeln!(out, "{title} ({run}){plan}   {}   {done}{changed}", item.status);
        if let Some(error) = &item.error {
            let _ = writeln!(out, "    {}", safe::line(error));
        }
        out.push_str(&found(item));
        out.push_str(&asks(item));
        let verb = if item.resumable { "resume" } else { "status" };
        let _ = writeln!(out, "    onward {verb} {run}");
    }
    out
}

pub(crate) const NO_RUNS: &str = "nothing is unfinished here\n    onward run [PLAN]   starts a plan\n    onward list         shows the runs of this project\n";

pub(crate) const WELCOME: &str = "\
onward runs long work in phases, records every step, and goes on where it stopped.
There is no project in this folder yet.
    onward init --plan    makes one, with a first plan to look at
    onward run PLAN       starts a plan
    onward --help         tells the rest
";
