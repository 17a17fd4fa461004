//! A run at a glance.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use jiff::Timestamp;
use onward_core::id::PhaseId;
use onward_core::run::{AdoptedPhase, PhaseStatus, RunStatus};
use onward_core::view::{self, Driven, PhaseRecord, StatusView};

use super::{agents, limits, paint, safe, time};

/// Parts of a phase that are shown one by one.
const PARTS_SHOWN_MAX: usize = 12;
/// Plans with more phases are not shown whole, but this many of those that are done, and of those that are to come.
const PHASES_SHOWN_MAX: usize = 40;
const CALM_SHOWN_MAX: usize = 5;
/// Failures whose output is pointed at.
const LOGS_TOLD_MAX: usize = 3;
/// Of what people are asked, so much is shown.
const ASKED_CHARS_MAX: usize = 80;

/// How much of a plan with many phases is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// Phases that need somebody, and a few of the others.
    AtAGlance,
    All,
}

/// `onward status`.
pub(crate) fn status(view: &StatusView, detail: Detail, now: Timestamp) -> String {
    format!("{}{}{}", heading(view, now), phases(view, detail, now), footer(view, now))
}

/// All that is said below the phases: what it waits for, and what to type.
pub(super) fn footer(view: &StatusView, now: Timestamp) -> String {
    let mut out = String::new();
    for warning in &view.warnings {
        let _ = writeln!(out, "{} {}", paint::doubtful("warning:"), safe::line(warning));
    }
    if let Some(budget) = view.budget_usd {
        let least = if view.cost_is_part { "at least " } else { "" };
        let _ = writeln!(out, "agents cost {least}${:.2} of ${budget:.2}", view.cost_usd.unwrap_or(0.0));
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
        let stopping = if view.stopping { ", and starts nothing more" } else { "" };
        let host = safe::line(&driver.host);
        let _ = writeln!(out, "driven by process {} on {host} since {since}{stopping}", driver.pid);
    }
    out.push_str(&of_failures(view));
    let driven = if view.driver.is_some() { Driven::Now } else { Driven::ByNobody };
    let asked = view.running.iter().chain(&view.remaining).filter(|record| record.status == PhaseStatus::Waiting);
    // A run that was put away takes no answer.
    let asked = asked.filter(|_| view.status != RunStatus::Archived);
    for record in asked {
        if let Some(call) = record.agent.as_ref().and_then(|agent| agent.call.as_ref()) {
            let how = format!("answer with  {}", view::answer_call_command(&view.run, &record.id, &call.id, driven));
            out.push_str(&agents::asked(&safe::line(record.id.as_str()), call, &how));
        } else if record.worktree.as_ref().is_some_and(|worktree| !worktree.conflicts.is_empty()) {
            let (run, phase) = (&view.run, &record.id);
            let how = ["retry", "adopt", "skip"].map(|verb| format!("onward {verb} {run} {phase}")).join("   or   ");
            let asks = record.asks.as_deref().unwrap_or_default();
            let _ = writeln!(
                out,
                "{}: {}\n  answer with  {}",
                safe::line(phase.as_str()),
                safe::line(asks),
                safe::line(&how)
            );
        } else {
            let how = format!("answer with  {}", view::approve_command(&view.run, &record.id, driven));
            let _ = writeln!(out, "{}", safe::line(&how));
        }
    }
    if let Some(resume) = &view.resume {
        let _ = writeln!(out, "go on with  {}", safe::line(resume));
    }
    out
}

/// Where to look after failures.
fn of_failures(view: &StatusView) -> String {
    let failed = view.remaining.iter().filter(|record| record.status == PhaseStatus::Failed && record.attempts > 0);
    let run = safe::line(view.run.as_str());
    let line = |record: &PhaseRecord| {
        format!("see what it printed with  onward logs {run} {}\n", safe::line(record.id.as_str()))
    };
    failed.take(LOGS_TOLD_MAX).map(line).collect()
}

/// The phases that the author wrote, each with its parts below it: what is done first, then what is at work, then the rest. Of many
/// that are done or still to come only some are shown: what needs somebody is not to be searched for.
fn phases(view: &StatusView, detail: Detail, now: Timestamp) -> String {
    let mut out = String::new();
    let all: Vec<&PhaseRecord> = view.completed.iter().chain(&view.running).chain(&view.remaining).collect();
    let mut parts: BTreeMap<&PhaseId, Vec<&PhaseRecord>> = BTreeMap::new();
    for record in &all {
        if let Some(whole) = &record.part_of {
            parts.entry(whole).or_default().push(record);
        }
    }
    let written: Vec<&&PhaseRecord> = all.iter().filter(|record| record.part_of.is_none()).collect();
    let is_done = |record: &&&&PhaseRecord| matches!(record.status, PhaseStatus::Completed | PhaseStatus::Skipped);
    let is_to_come = |record: &&&&PhaseRecord| record.status == PhaseStatus::Pending && record.started_at.is_none();
    let many = detail == Detail::AtAGlance && written.len() > PHASES_SHOWN_MAX;
    let (done, to_come) = (written.iter().filter(is_done).count(), written.iter().filter(is_to_come).count());
    let hidden = |count: usize| if many { count.saturating_sub(CALM_SHOWN_MAX) } else { 0 };
    let (done_hidden, to_come_shown) = (hidden(done), to_come - hidden(to_come));
    if done_hidden > 0 {
        let _ =
            writeln!(out, "  {} {done_hidden} phases are done; the last of them:", paint::sign(PhaseStatus::Completed));
    }
    let (mut done_told, mut to_come_told) = (0, 0);
    for record in &written {
        if is_done(&record) {
            done_told += 1;
            if done_told <= done_hidden {
                continue;
            }
        } else if is_to_come(&record) {
            to_come_told += 1;
            if to_come_told > to_come_shown {
                continue;
            }
        }
        with_parts(&mut out, record, &parts, 1, now);
    }
    if to_come > to_come_shown {
        let (run, more) = (safe::line(view.run.as_str()), to_come - to_come_shown);
        let sign = paint::sign(PhaseStatus::Pending);
        let _ = writeln!(out, "  {sign} and {more} more to come; all of them:  onward show {run}");
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
    let line = format!("{}{sign} {}  {told}", "  ".repeat(depth), title(record));
    let _ = writeln!(out, "{}", line.trim_end());
    out.push_str(&edits(record));
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
        "{}  {} ({})   plan {}{branch}\n{}, {}\n",
        run_status(view.status),
        paint::bold(&safe::line(&view.title)),
        safe::line(view.run.as_str()),
        safe::line(&view.plan),
        view.saved.as_ref().map_or_else(|| progress(view), |saved| safe::line(&super::list::progress(saved))),
        last_heard(view, now),
    )
}

/// How far it is, and how much went wrong.
fn progress(view: &StatusView) -> String {
    let failed = |record: &&PhaseRecord| record.status == PhaseStatus::Failed && record.part_of.is_none();
    match view.remaining.iter().filter(failed).count() {
        0 => view.progress(),
        count => format!("{}, {count} failed", view.progress()),
    }
}

/// While something is at work its output is a sign of life, too.
fn last_heard(view: &StatusView, now: Timestamp) -> String {
    if view.running.is_empty() {
        format!("last change {}", time::ago(view.updated_at, now))
    } else {
        format!("last sign of life {}", time::ago(view.last_sign_at, now))
    }
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
    let (title, told) = (title(record), safe::line(&told(record, now)));
    format!("  {} {title}  {told}\n{}", paint::sign(record.status), edits(record))
}

/// The plan that waits for a person, beside the present one.
fn edits(record: &PhaseRecord) -> String {
    record.replan_edits.iter().map(|edit| format!("      {}\n", safe::line(edit))).collect()
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
            let span = record.started_at.map(|at| format!(" for {}", worked(record, at, now))).unwrap_or_default();
            let orphan = if record.orphan { ", although nobody drives the run" } else { "" };
            format!("at work{span}{attempt}{orphan}{note}{}", printed(record, now))
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
        PhaseStatus::Interrupted if record.result_waits => {
            format!("has ended meanwhile, and the next start takes its result{note}")
        }
        // It was at work where this run was forked or imported from.
        PhaseStatus::Interrupted if record.attempts == 0 => format!("interrupted, not tried in this run yet{note}"),
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

/// How long it is at work, and how long it usually is.
fn worked(record: &PhaseRecord, from: Timestamp, now: Timestamp) -> String {
    let told = time::span(from, now);
    let Some(expected) = record.expected else { return told };
    let usual = time::milliseconds(expected.p50_ms.max(1_000));
    let worked = u128::try_from(now.duration_since(from).as_millis()).unwrap_or(0);
    if worked > u128::from(expected.p90_ms.max(1_000)) {
        format!("{told}, usually {usual}")
    } else {
        format!("{told} of ~{usual}")
    }
}

/// The last line that it printed, and when: whoever asks whether it hangs sees that here.
fn printed(record: &PhaseRecord, now: Timestamp) -> String {
    let Some(heard) = record.heard_at else { return String::new() };
    let line = record.last_line.as_ref().map(|line| format!(": {line}")).unwrap_or_default();
    format!(", heard {}{line}", time::ago(heard, now))
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
