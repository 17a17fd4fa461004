//! A run at a glance.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use jiff::Timestamp;
use onward_core::id::PhaseId;
use onward_core::run::{AdoptedPhase, PhaseStatus, RunStatus};
use onward_core::view::{self, PhaseRecord, StatusView};

use super::{agents, limits, paint, safe, time};

/// Parts of a phase that are shown one by one.
const PARTS_SHOWN_MAX: usize = 12;
/// Of what people are asked, so much is shown.
const ASKED_CHARS_MAX: usize = 80;

/// `onward status`.
pub(crate) fn status(view: &StatusView, now: Timestamp) -> String {
    let mut out = heading(view, now);
    out.push_str(&phases(view, now));
    for warning in &view.warnings {
        let _ = writeln!(out, "{} {}", paint::doubtful("warning:"), safe::line(warning));
    }
    if let Some(budget) = view.budget_usd {
        let _ = writeln!(out, "agents cost ${:.2} of ${budget:.2}", view.cost_usd.unwrap_or(0.0));
    }
    for words in &view.out_of_money {
        let _ = writeln!(out, "{}", safe::line(words));
    }
    if let Some(waiting) = &view.waiting {
        let _ = writeln!(out, "{}", limits::awaited_words(&waiting.what, waiting.until, now));
    }
    if let Some(group) = &view.group {
        let _ = writeln!(out, "waiting for {}", safe::line(&group.words()));
    }
    if let Some(at) = view.retry_at {
        let _ = writeln!(out, "paused until {}", time::clock(at, now));
    }
    if let Some(driver) = &view.driver {
        let since = time::clock(driver.since, now);
        let _ = writeln!(out, "driven by process {} on {} since {since}", driver.pid, safe::line(&driver.host));
    }
    let asked = view.running.iter().chain(&view.remaining).filter(|record| record.status == PhaseStatus::Waiting);
    for record in asked {
        let how = format!("answer with  {}", view::approve_command(&view.run, &record.id));
        match record.agent.as_ref().and_then(|agent| agent.call.as_ref()) {
            Some(call) => out.push_str(&agents::asked(&safe::line(record.id.as_str()), call, &how)),
            None => {
                let _ = writeln!(out, "{}", safe::line(&how));
            }
        }
    }
    if let Some(resume) = &view.resume {
        let _ = writeln!(out, "go on with  {}", safe::line(resume));
    }
    out
}

/// The phases that the author wrote, each with its parts below it: what is done first, then what is at work, then the rest.
fn phases(view: &StatusView, now: Timestamp) -> String {
    let mut out = String::new();
    let all: Vec<&PhaseRecord> = view.completed.iter().chain(&view.running).chain(&view.remaining).collect();
    let mut parts: BTreeMap<&PhaseId, Vec<&PhaseRecord>> = BTreeMap::new();
    for record in &all {
        if let Some(whole) = &record.part_of {
            parts.entry(whole).or_default().push(record);
        }
    }
    for record in all.iter().filter(|record| record.part_of.is_none()) {
        with_parts(&mut out, record, &parts, 1, now);
    }
    out
}

fn with_parts(
    out: &mut String,
    record: &PhaseRecord,
    parts: &BTreeMap<&PhaseId, Vec<&PhaseRecord>>,
    depth: usize,
    now: Timestamp,
) {
    let own = parts.get(&record.id).map(Vec::as_slice).unwrap_or_default();
    let busy = own.iter().any(|part| part.status == PhaseStatus::Running);
    let sign = paint::sign(if busy { PhaseStatus::Running } else { record.status });
    let told = safe::line(&told(record, now));
    let _ = writeln!(out, "{}{sign} {}  {told}", "  ".repeat(depth), title(record));
    let is_done = |part: &&&PhaseRecord| matches!(part.status, PhaseStatus::Completed | PhaseStatus::Skipped);
    let open = own.iter().filter(|part| !is_done(part)).count();
    // What is done is told by the count of its whole, once there is too much of it.
    let shown = own.iter().filter(|part| own.len() <= PARTS_SHOWN_MAX || !is_done(part)).take(PARTS_SHOWN_MAX);
    for part in shown.filter(|_| open > 0 || own.len() <= PARTS_SHOWN_MAX) {
        with_parts(out, part, parts, depth + 1, now);
    }
    if open > PARTS_SHOWN_MAX {
        let _ = writeln!(out, "{}and {} more that are not done", "  ".repeat(depth + 1), open - PARTS_SHOWN_MAX);
    }
}

pub(super) fn heading(view: &StatusView, now: Timestamp) -> String {
    let branch = view.branch.as_ref().map(|branch| format!("   branch {}", safe::line(branch))).unwrap_or_default();
    format!(
        "{}  {} ({})   plan {}{branch}\n{}, last change {}\n",
        run_status(view.status),
        paint::bold(&safe::line(&view.title)),
        safe::line(view.run.as_str()),
        safe::line(&view.plan),
        view.saved.as_ref().map_or_else(|| view.progress(), |saved| safe::line(&super::list::progress(saved))),
        time::ago(view.updated_at, now),
    )
}

pub(crate) fn run_status(status: RunStatus) -> String {
    let word = status.as_str();
    match status {
        RunStatus::Running => paint::busy(word),
        RunStatus::Interrupted | RunStatus::Paused | RunStatus::Waiting => paint::doubtful(word),
        RunStatus::Failed => paint::bad(word),
        RunStatus::Completed => paint::good(word),
        RunStatus::Archived => paint::dim(word),
    }
}

/// One phase on a line of its own.
pub(crate) fn phase(record: &PhaseRecord, now: Timestamp) -> String {
    format!("  {} {}  {}\n", paint::sign(record.status), title(record), safe::line(&told(record, now)))
}

/// The id, and the name where it says something else.
pub(crate) fn title(record: &PhaseRecord) -> String {
    let id = safe::line(record.id.as_str());
    if record.name == record.id.as_str() { id } else { format!("{id} ({})", safe::line(&record.name)) }
}

fn told(record: &PhaseRecord, now: Timestamp) -> String {
    let note = record.note.as_ref().map(|note| format!(" \"{note}\"")).unwrap_or_default();
    let attempt = if record.attempts > 1 { format!(", attempt {}", record.attempts) } else { String::new() };
    if let Some(replan) = &record.replan {
        return replan.clone();
    }
    let parts = record.parts.map(|parts| parts.words());
    match record.status {
        // Its turn has come.
        PhaseStatus::Pending
            if record.started_at.is_some()
                && let Some(parts) = &parts =>
        {
            parts.clone()
        }
        PhaseStatus::Pending if let Some(parts) = &parts => format!("{parts} {}", waiting(record, now)),
        PhaseStatus::Completed if let Some(adopted) = &record.adopted => {
            let (at, by) = (time::clock(adopted.at, now), taken_as_done(adopted));
            let summary = record.summary.as_ref().map(|summary| format!(" \"{summary}\"")).unwrap_or_default();
            format!("{by} at {at}{summary}")
        }
        PhaseStatus::Completed => {
            let at = record.ended_at.map(|at| format!(" at {}", time::clock(at, now))).unwrap_or_default();
            let took = record.duration_ms.map(|count| format!(", {}", time::milliseconds(count))).unwrap_or_default();
            let summary = record.summary.as_ref().map(|summary| format!(" \"{summary}\"")).unwrap_or_default();
            let parts = parts.map(|parts| format!(", {parts}")).unwrap_or_default();
            format!("done{at}{took}{parts}{summary}")
        }
        PhaseStatus::Skipped => "skipped".to_owned(),
        PhaseStatus::Running => {
            let span = record.started_at.map(|at| format!(" for {}", time::span(at, now))).unwrap_or_default();
            let orphan = if record.orphan { ", although nobody drives the run" } else { "" };
            format!("at work{span}{attempt}{orphan}{note}")
        }
        PhaseStatus::Waiting => {
            let asks = asks(record).map(|asks| format!(": {asks}")).unwrap_or_default();
            format!("waits for a person to decide{asks}")
        }
        PhaseStatus::Interrupted if record.in_doubt => format!(
            "interrupted in attempt {}, and nobody knows what came of it: a resume wants --retry {id}, --adopt {id} or --skip {id}",
            record.attempts,
            id = record.id,
        ),
        PhaseStatus::Interrupted => format!("interrupted in attempt {}{note}", record.attempts),
        PhaseStatus::Failed => {
            let error = record.error.as_deref().unwrap_or("for no known reason");
            // What consists of parts has no attempts of its own.
            let attempt = if record.attempts == 0 { String::new() } else { format!(" in attempt {}", record.attempts) };
            let parts = parts.map(|parts| format!(", {parts} done")).unwrap_or_default();
            format!("failed{attempt}{parts}: {error}")
        }
        PhaseStatus::Pending => waiting(record, now),
    }
}

/// The person's word that a phase is done, and why.
pub(crate) fn taken_as_done(adopted: &AdoptedPhase) -> String {
    let reason = adopted.reason.as_ref().map(|reason| format!(" ({})", safe::line(reason))).unwrap_or_default();
    format!("taken as done by {}{reason}", safe::line(&adopted.by))
}

/// The beginning of what people are asked; all of it is told by `next`, or when it is asked.
fn asks(record: &PhaseRecord) -> Option<String> {
    let first = record.asks.as_ref()?.trim().lines().next()?;
    let cut: String = first.chars().take(ASKED_CHARS_MAX).collect();
    Some(if cut.len() < record.asks.as_ref()?.trim().len() { format!("{cut} …") } else { cut })
}

fn waiting(record: &PhaseRecord, now: Timestamp) -> String {
    let awaited = record.waits_for.as_ref().zip(record.retry_at);
    let awaited = awaited.map(|(what, until)| limits::awaited_words(what, until, now));
    let again = || record.not_before.map(|at| format!("next attempt at {}", time::clock(at, now)));
    let others = || asks(record).map(|asks| format!("waits for somebody to do it: {asks}"));
    awaited
        .or_else(again)
        .or_else(others)
        .unwrap_or_else(|| if record.needs.is_empty() { String::new() } else { needs(record) })
}

pub(crate) fn needs(record: &PhaseRecord) -> String {
    let needs: Vec<&str> = record.needs.iter().map(AsRef::as_ref).collect();
    format!("(needs {})", safe::line(&needs.join(", ")))
}

/// How far it is, on one line, for somebody who asked while it runs.
pub(crate) fn short(view: &StatusView, now: Timestamp) -> String {
    let at_work: Vec<String> = view.running.iter().map(|record| at_work(record, now)).collect();
    let at_work = if at_work.is_empty() { "nothing at work".to_owned() } else { at_work.join(", ") };
    let waiting = view.waiting.as_ref().map(|it| format!("; {}", limits::awaited_words(&it.what, it.until, now)));
    let group = view.group.as_ref().map(|group| format!("; waiting for {}", safe::line(&group.words())));
    format!("{}; at work: {at_work}{}{}\n", view.progress(), waiting.unwrap_or_default(), group.unwrap_or_default())
}

fn at_work(record: &PhaseRecord, now: Timestamp) -> String {
    let span = record.started_at.map(|at| time::span(at, now)).unwrap_or_default();
    let note = record.note.as_ref().map(|note| format!(", \"{}\"", safe::line(note))).unwrap_or_default();
    format!("{} ({span}{note})", safe::line(record.id.as_str()))
}
