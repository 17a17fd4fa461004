//! The content of the page, whatever its form. All of it is harmless text of one line each.

use std::fmt::Write as _;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use onward_core::chronicle::{AttemptEndTold, AttemptTold, Chronicle};
use onward_core::event::StopReason;
use onward_core::id::PhaseId;
use onward_core::run::{PhaseStatus, RunStatus};
use onward_core::view::{PhaseRecord, StatusView};
use onward_core::words;
use onward_engine::{RunShown, RunTold};

use crate::render::graph::GraphJson;
use crate::render::{safe, time};

/// Rows of one table; more are counted.
const ROWS_MAX: usize = 1_000;
/// Enough of a commit to find it.
const SHA_CHARS: usize = 12;

/// A run as one page.
#[derive(Debug)]
pub(crate) struct SummaryPage {
    pub(super) title: String,
    pub(super) status: RunStatus,
    /// One sentence: how it stands.
    pub(super) lead: String,
    pub(super) facts: Vec<(&'static str, String)>,
    pub(super) phases: Vec<PhaseRow>,
    pub(super) sections: Vec<SummarySection>,
    pub(super) graph: GraphJson,
    pub(super) attempts: Vec<AttemptTold>,
    pub(super) now: Timestamp,
}

#[derive(Debug)]
pub(super) struct PhaseRow {
    pub(super) phase: PhaseId,
    pub(super) id: String,
    pub(super) name: String,
    pub(super) status: PhaseStatus,
    /// `completed`, `taken as done`, `failed`.
    pub(super) word: String,
    pub(super) took: String,
    pub(super) attempts: u32,
    /// Its summary, its error or its note.
    pub(super) told: String,
}

/// A list under a heading; none where there is nothing to list.
#[derive(Debug)]
pub(super) struct SummarySection {
    pub(super) heading: &'static str,
    pub(super) lines: Vec<String>,
}

impl SummaryPage {
    pub(crate) fn new(told: &RunTold, now: Timestamp) -> Self {
        let RunTold { run, shown, chronicle } = told;
        let view = &shown.view;
        let records = || view.completed.iter().chain(&view.running).chain(&view.remaining);
        // In the order of the plan, and not of how far they are.
        let mut phases: Vec<PhaseRow> = Vec::new();
        for (phase, _) in run.phases() {
            phases.extend(records().find(|record| record.id == phase.id).map(|record| row(record, chronicle)));
        }
        Self {
            title: safe::line(&view.title),
            status: view.status,
            lead: lead(view, chronicle),
            facts: facts(shown, chronicle, now),
            phases,
            sections: sections(shown, chronicle),
            graph: GraphJson::of_run(run, view),
            attempts: chronicle.attempts.clone(),
            now,
        }
    }
}

fn row(record: &PhaseRecord, chronicle: &Chronicle) -> PhaseRow {
    let by_hand = chronicle.decisions.iter().rev().find(|one| one.phase == record.id);
    let by_hand = by_hand.filter(|one| record.status == PhaseStatus::Completed && one.what == "taken as done");
    let word = match (record.status, by_hand) {
        (PhaseStatus::Completed, Some(one)) => format!("taken as done by {}", safe::line(&one.by)),
        (PhaseStatus::Completed, None) => "completed".to_owned(),
        (PhaseStatus::Skipped, _) => "skipped".to_owned(),
        (PhaseStatus::Failed, _) => "failed".to_owned(),
        (PhaseStatus::Running, _) => "at work".to_owned(),
        (PhaseStatus::Waiting, _) => "waiting".to_owned(),
        (PhaseStatus::Interrupted, _) => "interrupted".to_owned(),
        (PhaseStatus::Pending, _) => "to come".to_owned(),
    };
    let shown = record.shown.as_deref().unwrap_or(record.id.as_str());
    let told = record.error.as_ref().or(record.summary.as_ref()).or(record.note.as_ref());
    PhaseRow {
        phase: record.id.clone(),
        id: safe::line(shown),
        // What has no name of its own goes by its id.
        name: safe::line(if record.name == record.id.as_str() { shown } else { &record.name }),
        status: record.status,
        word,
        took: record.duration_ms.map(time::milliseconds).unwrap_or_default(),
        attempts: record.attempts,
        told: told.map(|text| safe::line(text)).unwrap_or_default(),
    }
}

fn lead(view: &StatusView, chronicle: &Chronicle) -> String {
    let counted = view.counted();
    let mut out = format!("{} of {} phases done", counted.finished, counted.total);
    if counted.skipped > 0 {
        let _ = write!(out, ", {} of them skipped", counted.skipped);
    }
    let retried = chronicle.attempts.iter().filter(|one| one.end == AttemptEndTold::Failed).count();
    let stopped = chronicle.stops.iter().filter(|one| is_interruption(one.reason)).count();
    for (count, word) in
        [(retried, "failed attempts"), (stopped, "interruptions"), (chronicle.revisions, "changes of the plan")]
    {
        if count > 0 {
            let _ = write!(out, ", {word}: {count}");
        }
    }
    out
}

fn is_interruption(reason: StopReason) -> bool {
    match reason {
        StopReason::Interrupt
        | StopReason::SessionEnd
        | StopReason::Hangup
        | StopReason::DriverGone
        | StopReason::Deadline => true,
        StopReason::Import
        | StopReason::Question
        | StopReason::Requirement
        | StopReason::OnlyThat
        | StopReason::Rewind
        | StopReason::Limit
        | StopReason::Budget
        | StopReason::Pause
        | StopReason::Cancel
        | StopReason::Waiting => false,
    }
}

fn facts(shown: &RunShown, chronicle: &Chronicle, now: Timestamp) -> Vec<(&'static str, String)> {
    let view = &shown.view;
    let ended = chronicle.ended.map(|ended| ended.at);
    let worked = worked(&chronicle.attempts, now);
    let mut facts = vec![
        ("Run", view.run.to_string()),
        ("Plan", view.plan.clone()),
        ("Type and project", format!("{}, {}", view.kind, view.project)),
        ("Began", moment(view.created_at)),
        ("Last change", moment(view.updated_at)),
        ("From begin to end", time::span(view.created_at, ended.unwrap_or(view.updated_at))),
        ("Phases at work for", worked),
        ("Starts", chronicle.starts.len().to_string()),
        ("Checkpoints", chronicle.checkpoints.to_string()),
    ];
    facts.extend(view.branch.clone().map(|branch| ("Branch", branch)));
    facts.extend(ended.map(|at| ("Ended", moment(at))));
    facts.extend(shown.inputs.iter().map(|(name, value)| ("Input", format!("{name} = {value}"))));
    facts.extend(view.resume.clone().map(|resume| ("Go on with", resume)));
    facts.into_iter().map(|(name, value)| (name, safe::line(&value))).collect()
}

/// Time in which at least one attempt was at work.
fn worked(attempts: &[AttemptTold], now: Timestamp) -> String {
    let total: i64 = super::timeline::busy(attempts, now).iter().map(|(from, to)| to - from).sum();
    time::milliseconds(u64::try_from(total).unwrap_or_default())
}

fn sections(shown: &RunShown, chronicle: &Chronicle) -> Vec<SummarySection> {
    let view = &shown.view;
    let records = || view.completed.iter().chain(&view.running).chain(&view.remaining);
    let failures = chronicle.failures.iter().map(|one| format!("{}  {}: {}", moment(one.at), one.phase, one.message));
    let decisions = chronicle
        .decisions
        .iter()
        .map(|one| format!("{}  {}: {}, said {}", moment(one.at), one.phase, one.what, one.by));
    let stops = chronicle.stops.iter().map(|one| format!("{}  {}", moment(one.at), stopped(one.reason)));
    let commits = chronicle.commits.iter().map(|one| {
        let sha: String = one.commit.chars().take(SHA_CHARS).collect();
        format!("{}  {sha}", moment(one.at))
    });
    let of_phases = records().filter_map(|record| {
        let sha: String = record.commit_sha.as_ref()?.chars().take(SHA_CHARS).collect();
        Some(format!("{sha}  of {}", record.id))
    });
    let artifacts = records().flat_map(|record| {
        record.artifacts.iter().map(|one| {
            let kept = if one.kept { ", kept" } else { "" };
            format!("{}: {} of {} ({}{kept})", one.path, one.name, record.id, words::bytes(one.bytes))
        })
    });
    let named = shown.checkpoints.iter().filter_map(|one| Some(format!("{}: {}", one.name.as_ref()?, one.id)));
    [
        section("Failures", failures),
        section("Decisions", decisions),
        section("Stops", stops),
        section("Commits", commits.chain(of_phases)),
        section("Artifacts", artifacts),
        section("Named checkpoints", named),
        section("Warnings", view.warnings.iter().cloned()),
    ]
    .into_iter()
    .filter(|section| !section.lines.is_empty())
    .collect()
}

fn section(heading: &'static str, lines: impl Iterator<Item = String>) -> SummarySection {
    let mut lines: Vec<String> = lines.map(|line| safe::line(&line)).collect();
    if lines.len() > ROWS_MAX {
        let more = lines.len() - ROWS_MAX;
        lines.truncate(ROWS_MAX);
        lines.push(format!("and {more} more"));
    }
    SummarySection { heading, lines }
}

fn stopped(reason: StopReason) -> &'static str {
    match reason {
        StopReason::Interrupt => "interrupted by Ctrl+C",
        StopReason::SessionEnd => "told to end (SIGTERM)",
        StopReason::Hangup => "lost its terminal",
        StopReason::Import => "was imported",
        StopReason::Question => "needed an answer",
        StopReason::Requirement => "required something that was not there",
        StopReason::OnlyThat => "had done the one phase that was wanted",
        StopReason::DriverGone => "its driver was gone",
        StopReason::Rewind => "rewound or branched off",
        StopReason::Limit => "paused, rate-limited",
        StopReason::Budget => "paused, its budget was used up",
        StopReason::Deadline => "paused at its deadline",
        StopReason::Pause => "paused by somebody",
        StopReason::Cancel => "cancelled",
        StopReason::Waiting => "waited for an approval or a report",
    }
}

/// A page is read on other days, so a time has its day and its zone.
fn moment(at: Timestamp) -> String {
    at.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S %Z").to_string()
}
