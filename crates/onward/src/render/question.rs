//! The unfinished run and the question about it.

use std::fmt::Write as _;
use std::io::Read as _;

use jiff::Timestamp;
use onward_core::checkpoint::Checkpoint;
use onward_core::event::{RunResult, StopReason};
use onward_core::id::{PhaseId, RunId};
use onward_core::plan::Phase;
use onward_core::question::FailedPhase;
use onward_core::resume::{Finding, Weight};
use onward_core::run::counting::PartsCounted;
use onward_core::run::{PhaseState, PhaseStatus, Run};
use onward_core::view::{self, NextStep, PhaseRecord, StatusView, WillRun, next_steps};
use onward_engine::{Logged, OutsideChange, RunShown, Unfinished};

use super::{paint, safe, show, status, time};

pub(crate) const RESUME: &str =
    "(r)esume  (p)ick a phase  (v)iew  (f)iles  (s)tart fresh, keeping this run  (d)elete  (a)bandon  (q)uit  [r]: ";
/// Where going on is refused it is not offered.
pub(crate) const REFUSED: &str = "(v)iew  (f)iles  (s)tart fresh, keeping this run  (d)elete  (a)bandon  (q)uit  [q]: ";
pub(crate) const NOT_RESUMED: &str =
    "(p)ick a phase to go on from  (a)bandon: archive this run and start nothing  (b)ack  [b]: ";
pub(crate) const ORPHANS: &str = "(w)ait until it ends  (k)ill it  (q)uit  [q]: ";
pub(crate) const DOUBT: &str = "(r)etry  (a)dopt: it is done  (s)kip  (l)eave it open  [l]: ";
pub(crate) const DAMAGED: &str =
    "(r)epair: keep what can be read  (a)side: put all of it aside and begin anew  (q)uit  [q]: ";
pub(crate) const PICK: &str = "Go on from which phase? A number or a name; Enter or q goes back: ";
pub(crate) const STALE: &str = "(k)eep what is done as it is  (r)edo these phases alone  (q)uit  [q]: ";
pub(crate) const PLAN: &str = "Go on with the plan as it was when the run was started? [y/N]: ";
pub(crate) const EDITED: &str = "Go on with the edited plan for all that is not done? [y/N]: ";
pub(crate) const WHICH_RUN: &str = "Which run? A number, (s)tart fresh, keeping them, (q)uit  [1]: ";

/// Columns that a line of short entries fills at most.
const COLUMNS_MAX: usize = 100;
/// Names up to this width stand in a column of their own where a phase is picked.
const PICK_NAME_COLUMNS: usize = 32;
/// Entries of one kind that are shown; the rest is counted.
const ENTRIES_MAX: usize = 40;
/// Lines of one difference that are shown.
const DIFF_LINES_MAX: usize = 200;
/// Of a long output, so many of the first and of the last lines are shown.
const LOG_LINES_FIRST: usize = 40;
const LOG_LINES_LAST: usize = 200;
/// More of an output is not looked at here; `logs` has it all.
const LOG_BYTES_MAX: u64 = 8 << 20;
/// Checkpoints that are shown with the details of a run.
const CHECKPOINTS_MAX: usize = 20;

/// The summary of an unfinished run: what is done, what was running, what is left, and what would be next.
pub(crate) fn summary(one: &Unfinished, next: &[WillRun], now: Timestamp) -> String {
    let view = &one.view();
    let columns = super::terminal_size::stderr_columns().unwrap_or(COLUMNS_MAX).min(COLUMNS_MAX);
    let mut out = heading(view, &one.run, now);
    let completed: Vec<PhaseRecord> =
        view.completed.iter().filter(|record| !is_told_by_its_parent(record)).cloned().collect();
    out.push_str(&entries(&completed, columns, |record| done(one, record, now)));
    for record in view.running.iter().chain(&view.remaining) {
        match record.status {
            // What it waits for says more than how long it ran.
            PhaseStatus::Running | PhaseStatus::Interrupted if record.replan.is_none() && !record.in_doubt => {
                out.push_str(&at_work(record, next, now));
            }
            PhaseStatus::Running | PhaseStatus::Interrupted | PhaseStatus::Waiting | PhaseStatus::Failed => {
                out.push_str(&status::phase(record, now));
            }
            PhaseStatus::Pending if let Some(parts) = begun(record) => {
                let _ = writeln!(out, "  {} {} {}", paint::sign(PhaseStatus::Running), called(record), parts.words());
            }
            PhaseStatus::Pending | PhaseStatus::Completed | PhaseStatus::Skipped => {}
        }
    }
    let pending: Vec<PhaseRecord> = view
        .remaining
        .iter()
        .filter(|record| record.status == PhaseStatus::Pending && begun(record).is_none())
        .cloned()
        .collect();
    out.push_str(&entries(&pending, columns, pending_entry));
    for reason in reasons(one).iter().chain(&view.warnings) {
        out.push_str(&reason_line(reason));
    }
    // What has begun and consists of others is done by those.
    let wholes: Vec<&PhaseId> = view.remaining.iter().filter(|one| begun(one).is_some()).map(|one| &one.id).collect();
    let next: Vec<WillRun> = next.iter().filter(|why| !wholes.contains(&&why.phase)).cloned().collect();
    if let Some(steps) = next_steps(&next) {
        let _ = writeln!(out, "Next: {}", safe::line(&steps));
    }
    out.push('\n');
    out
}

/// A line of what stands in the way; more of it stands below it, indented.
pub(crate) fn reason_line(reason: &str) -> String {
    let sign = if reason.starts_with(' ') { "      ".to_owned() } else { paint::doubtful("Check:") };
    format!("{sign} {}\n", safe::line(reason.trim_start()))
}

/// A child that is done is counted with its parent.
fn is_told_by_its_parent(record: &PhaseRecord) -> bool {
    record.part_of.is_some()
}

/// How far a phase is whose turn has come and that consists of others.
fn begun(record: &PhaseRecord) -> Option<PartsCounted> {
    record.parts.filter(|_| record.started_at.is_some())
}

fn heading(view: &StatusView, run: &Run, now: Timestamp) -> String {
    let branch = view.branch.as_ref().map(|branch| format!("   branch {}", safe::line(branch))).unwrap_or_default();
    let title = paint::bold(&safe::line(&view.title));
    let mut out = format!("Unfinished run  {title} ({}){branch}\n", safe::line(view.run.as_str()));
    if let Some(description) = run.plan().description.as_ref().and_then(|text| text.trim().lines().next()) {
        let _ = writeln!(out, "  {}", safe::line(description));
    }
    let created = time::clock(view.created_at, now);
    let _ = writeln!(out, "  {}   created {created}   {}", view.progress(), ended(view, run, now));
    out
}

/// How the run came to rest, and when, as far as that is on record.
fn ended(view: &StatusView, run: &Run, now: Timestamp) -> String {
    let ago = time::ago(view.updated_at, now);
    match (run.result, view.stopped) {
        (Some(RunResult::Failed), _) => format!("failed {ago}"),
        (Some(RunResult::Completed), _) => format!("completed {ago}"),
        (None, Some(StopReason::Pause)) => format!("paused {ago}"),
        (None, Some(by)) if how(by) != KILLED => format!("stopped {ago}: {}", how(by)),
        (None, _) => format!("last sign of life {}: {KILLED}", time::ago(view.last_sign_at, now)),
    }
}

const KILLED: &str = "killed";

fn how(by: StopReason) -> &'static str {
    match by {
        StopReason::Interrupt => "Ctrl+C",
        StopReason::SessionEnd => "told to end",
        StopReason::Hangup => "its terminal was closed",
        StopReason::OnlyThat => "one phase was wanted",
        StopReason::DriverGone => KILLED,
        StopReason::Question => "it needs an answer",
        StopReason::Requirement => "something that it requires was not there",
        StopReason::Waiting => "it waits for an approval or a report",
        StopReason::Rewind => "rewound",
        StopReason::Import => "taken over from a file",
        StopReason::Limit => "rate-limited",
        StopReason::Budget => "its budget was used up",
        StopReason::Deadline => "its deadline was reached",
        StopReason::Pause => "paused",
        StopReason::Cancel => "cancelled",
    }
}

/// The findings, the worst first; those that only need a line stand in the summary already.
fn reasons(one: &Unfinished) -> Vec<String> {
    let worth = one.findings.iter().filter(|finding| finding.kind.row().weight > Weight::Note);
    worth.flat_map(Finding::lines).collect()
}

/// `lay: Lay the cable (10:05, a1b2c3d)`, `research 3/3 (10:06)`.
fn done(one: &Unfinished, record: &PhaseRecord, now: Timestamp) -> String {
    let phase = one.run.plan().phase(&record.id);
    let children = phase.and_then(|phase| phase.children.as_ref()).map_or(0, Vec::len);
    let count = if children > 0 { format!(" {children}/{children}") } else { String::new() };
    let word = match (&record.adopted, record.status) {
        (Some(adopted), _) => Some(status::taken_as_done(adopted)),
        (None, PhaseStatus::Skipped) => Some("skipped".to_owned()),
        (None, _) => None,
    };
    let at = record.ended_at.map(|at| time::clock(at, now));
    let commit = record.commit_sha.as_ref().map(|sha| safe::line(sha).chars().take(7).collect::<String>());
    let facts: Vec<String> = word.into_iter().chain(at).chain(commit).collect();
    let facts = if facts.is_empty() { String::new() } else { format!(" ({})", facts.join(", ")) };
    format!("{} {}{count}{facts}", paint::sign(record.status), called(record))
}

/// The id, and the name where it says something else.
fn called(record: &PhaseRecord) -> String {
    let id = safe::line(record.id.as_str());
    if record.name == record.id.as_str() { id } else { format!("{id}: {}", safe::line(&record.name)) }
}

fn pending_entry(record: &PhaseRecord) -> String {
    let needs = if record.needs.is_empty() { String::new() } else { format!(" {}", status::needs(record)) };
    format!("{} {}{needs}", paint::sign(record.status), called(record))
}

fn at_work(record: &PhaseRecord, next: &[WillRun], now: Timestamp) -> String {
    // When a killed phase ended nobody knows, only when it began.
    let span = match (record.started_at, record.ended_at) {
        (Some(from), _) if record.orphan => format!(" {}", time::span(from, now)),
        (Some(from), Some(to)) if to >= from => format!(" {}", time::span(from, to)),
        (Some(from), _) => format!(" since {}", time::clock(from, now)),
        (None, _) => String::new(),
    };
    let over = next.iter().any(|why| why.phase == record.id && why.next == Some(NextStep::TakeResult));
    let alive = match (record.orphan, over) {
        (true, _) => "; its process is still alive",
        (false, true) => "; it has ended meanwhile",
        (false, false) => "",
    };
    let note = record.note.as_ref().map(|note| format!(": \"{}\"", safe::line(note))).unwrap_or_default();
    let (sign, title) = (paint::sign(record.status), status::title(record));
    // None of it is this run's where it was forked or imported.
    let attempt = if record.attempts == 0 { String::new() } else { format!(", attempt {}", record.attempts) };
    format!("  {sign} {title}  was running{span}{attempt}{alive}{note}\n")
}

/// Short entries, as many on a line as fit.
fn entries(records: &[PhaseRecord], columns_max: usize, entry: impl Fn(&PhaseRecord) -> String) -> String {
    let mut out = String::new();
    let mut columns = columns_max;
    for record in records.iter().take(ENTRIES_MAX) {
        let text = entry(record);
        let width = console::measure_text_width(&text) + 2;
        if columns + width > columns_max {
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

/// The list of phases to go on from.
pub(crate) fn pick_list(offered: &[(&Phase, &PhaseState)]) -> String {
    let mut out = String::new();
    let records = offered.iter().take(ENTRIES_MAX).map(|(phase, state)| view::phase_record(phase, state));
    let records: Vec<PhaseRecord> = records.collect();
    let widest = records.iter().map(|record| console::measure_text_width(&called(record))).max().unwrap_or(0);
    for (number, (record, (_, state))) in (1..).zip(records.iter().zip(offered)) {
        let attempts = state.attempts_that_count();
        let attempt = match attempts {
            0 => String::new(),
            1 => ", tried once".to_owned(),
            more => format!(", tried {more} times"),
        };
        let word = match state.status {
            PhaseStatus::Running => "was running",
            PhaseStatus::Completed if record.adopted.is_some() => "taken as done",
            other => other.as_str(),
        };
        let name = called(record);
        let name = console::pad_str(&name, widest.min(PICK_NAME_COLUMNS), console::Alignment::Left, None);
        let _ = writeln!(out, "  {number:>2}) {name}   {word}{attempt}");
    }
    if offered.len() > ENTRIES_MAX {
        let _ = writeln!(out, "      and {} more, by name", offered.len() - ENTRIES_MAX);
    }
    out.push_str("The phase that you pick is run again, and all that need it.\n");
    out
}

/// Several unfinished runs of the same work, numbered, the newest first.
pub(crate) fn which_run(runs: &[Unfinished], now: Timestamp) -> String {
    let mut out = String::from("Several runs of this plan are unfinished:\n");
    for (number, one) in (1..).zip(runs) {
        let (view, id) = (one.view(), safe::line(one.run.id.as_str()));
        let age = time::ago(view.last_sign_at, now);
        let (word, progress) = (status::run_status(view.status), view.progress());
        let _ = writeln!(out, "  {number}) {id}   {word}, {progress}, last sign of life {age}");
    }
    out
}

/// Files that were changed outside the run, with what was changed.
pub(crate) fn files(changes: &[OutsideChange]) -> String {
    if changes.is_empty() {
        return "no file that the run wrote was changed outside it\n".to_owned();
    }
    let mut out = String::new();
    for change in changes {
        let (phase, path) = (safe::line(change.phase.as_str()), safe::line(&change.path));
        match &change.diff {
            Ok(diff) => {
                let _ = writeln!(out, "{}", paint::bold(&format!("{path}, of phase {phase}")));
                out.push_str(&diff_lines(diff));
            }
            Err(why) => {
                let _ = writeln!(out, "{}: {why}", paint::bold(&format!("{path}, of phase {phase}")));
            }
        }
    }
    out
}

fn diff_lines(diff: &str) -> String {
    let painted = |line: &str| match line.chars().next() {
        Some('+') => paint::good(&safe::line(line)),
        Some('-') => paint::bad(&safe::line(line)),
        Some('@') => paint::dim(&safe::line(line)),
        Some(_) | None => safe::line(line),
    };
    let mut out: String = diff.lines().take(DIFF_LINES_MAX).map(|line| format!("{}\n", painted(line))).collect();
    let more = diff.lines().count().saturating_sub(DIFF_LINES_MAX);
    if more > 0 {
        let _ = writeln!(out, "[… {more} more lines …]");
    }
    out
}

/// State, context and checkpoints of a run, the newest of these.
pub(crate) fn details(mut shown: RunShown, now: Timestamp) -> String {
    let more = shown.checkpoints.len().saturating_sub(CHECKPOINTS_MAX);
    shown.checkpoints.truncate(CHECKPOINTS_MAX);
    let mut out = show::whole(&shown, now);
    if more > 0 {
        let _ = writeln!(out, "  and {more} more, see  onward log {}", safe::line(shown.view.run.as_str()));
    }
    out.push('\n');
    out
}

/// The question about a phase that failed for good, with the answers that are legal.
pub(crate) fn failed(one: &FailedPhase) -> String {
    let clean = if one.clean.is_ok() { "(c)lean: put its files back and retry  " } else { "" };
    let adopt = if one.adopt { "(a)dopt: it is done by hand  " } else { "" };
    format!("(r)etry  {clean}{adopt}(s)kip  abort: archive the run  (q)uit  (l)og  [q]: ")
}

/// The output of the last attempt: its beginning and its end where it is long.
pub(crate) fn log(run: &RunId, logged: Logged) -> String {
    let mut bytes = Vec::new();
    // What cannot be read is as good as not printed.
    let _ = logged.output.take(LOG_BYTES_MAX).read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<String> = text.lines().map(safe::line).collect();
    if lines.is_empty() {
        return no_log();
    }
    let phase = safe::line(logged.phase.as_str());
    let mut out = format!("{}\n", paint::bold(&format!("output of {phase}, attempt {}", logged.attempt)));
    let hidden = lines.len().saturating_sub(LOG_LINES_FIRST + LOG_LINES_LAST);
    for (at, line) in lines.iter().enumerate() {
        if hidden == 0 || at < LOG_LINES_FIRST || at >= LOG_LINES_FIRST + hidden {
            let _ = writeln!(out, "  {line}");
        } else if at == LOG_LINES_FIRST {
            let _ = writeln!(out, "  [… {hidden} lines left out …]");
        }
    }
    let _ = writeln!(out, "all of it:  onward logs {} {phase}", safe::line(run.as_str()));
    out
}

pub(crate) fn no_log() -> String {
    "its last attempt printed nothing\n".to_owned()
}

pub(crate) fn delete(run: &str) -> String {
    format!("Delete run {} and all that is recorded of it? This cannot be taken back. [y/N]: ", safe::line(run))
}

/// The letters of the question about a saved state.
pub(crate) const SAVED_CHOICES: &str = "(r)esume  (s)tart fresh, keeping this one  (v)iew  (d)elete  [r]: ";

/// The question about a saved state.
pub(crate) fn saved(checkpoint: &Checkpoint, now: Timestamp) -> String {
    let text = |key: &str| checkpoint.state.get(key).and_then(serde_json::Value::as_str).map(str::to_owned);
    let what = text("workflow_description").unwrap_or_else(|| checkpoint.project.clone());
    let value = |key: &str| checkpoint.state.get(key).filter(|value| !value.is_null()).map(ToString::to_string);
    let progress = match (value("current_phase"), value("total_phases")) {
        (Some(current), Some(total)) => format!("Progress: phase {} of {}\n", safe::line(&current), safe::line(&total)),
        _ => String::new(),
    };
    format!(
        "Saved state  {}  ({})\nSaved {}\n{progress}\n{SAVED_CHOICES}",
        safe::line(&what),
        safe::line(checkpoint.run.as_str()),
        time::ago(checkpoint.updated_at, now),
    )
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
        let text = anstream::adapter::strip_str(&entries(&records, COLUMNS_MAX, pending_entry)).to_string();
        assert!(text.lines().all(|line| line.chars().count() <= COLUMNS_MAX + 20), "{text}");
        assert!(text.ends_with("· phase-39 (needs a) and 10 more\n"), "{text}");
        assert_eq!(entries(&[], COLUMNS_MAX, pending_entry), "");
    }
}
