//! The live view of a run: what is at work, what failed, what waits, and how much is left. Which of it is shown where there is
//! room for so many lines is decided here, too.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::id::PhaseId;
use crate::plan::{Body, Phase, shown_names, shown_title};
use crate::run::counting::PartsCounted;
use crate::run::schedule::{self, Opens};
use crate::run::{PhaseState, PhaseStatus, Run};
use crate::view::durations::ExpectedTime;

/// A share of the lines that failures may take: one of so many.
const FAILED_SHARE: usize = 4;

/// Sights of an attempt that is at work, newer than the journal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AttemptSeen {
    pub note: Option<String>,
    /// The last line of its output that says something.
    pub last_line: Option<String>,
}

/// A run at one moment, as far as it is shown while it is driven.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveView {
    /// The longest at work first.
    pub at_work: Vec<PhaseAtWork>,
    /// The newest failure first.
    pub failed: Vec<FailedRow>,
    /// Phases that wait for a person or for somebody else.
    pub waiting: Vec<PhaseWaiting>,
    pub counts: PhaseCounts,
    /// When this driver began.
    pub since: Timestamp,
    /// When all of it is done, if all phases take as long as they did before.
    pub done_by: Option<Timestamp>,
    /// The next thing that time alone brings: a limit that opens, or a retry.
    pub awaited: Option<LiveWait>,
    pub stopping: bool,
}

/// A phase at work.
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseAtWork {
    pub name: String,
    pub started_at: Option<Timestamp>,
    pub expected: Option<ExpectedTime>,
    pub attempt: u32,
    pub progress: Option<Progress>,
    /// The note without the figures of the progress.
    pub note: Option<String>,
    pub last_line: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedRow {
    pub name: String,
    pub error: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhaseWaiting {
    pub name: String,
    pub asks: String,
}

/// A time that is counted down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveWait {
    /// As it is told behind "waiting for".
    pub what: String,
    /// None where nobody knows.
    pub until: Option<Timestamp>,
}

/// `3/10`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    pub done: u64,
    pub total: u64,
}

/// How many of the phases that the author wrote stand where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PhaseCounts {
    pub total: usize,
    pub completed: usize,
    pub skipped: usize,
    pub at_work: usize,
    pub failed: usize,
    pub waiting: usize,
    /// Those that are still to come.
    pub to_come: usize,
}

/// A line of the live view.
#[derive(Clone, Debug, PartialEq)]
pub enum LiveRow<'a> {
    AtWork(&'a PhaseAtWork),
    MoreAtWork(usize),
    Failed(&'a FailedRow),
    MoreFailed(usize),
    Waiting(&'a PhaseWaiting),
    MoreWaiting(usize),
    Awaited(&'a LiveWait),
    Totals,
}

impl LiveView {
    /// The run as it is now. What is expected is asked only for what is not done.
    pub fn new(
        run: &Run,
        seen: &BTreeMap<PhaseId, AttemptSeen>,
        expected: &BTreeMap<PhaseId, ExpectedTime>,
        since: Timestamp,
        now: Timestamp,
    ) -> Self {
        let mut view = Self {
            at_work: Vec::new(),
            failed: Vec::new(),
            waiting: Vec::new(),
            counts: PhaseCounts::default(),
            since,
            done_by: super::durations::done_by(run, expected, now),
            awaited: awaited(run, now),
            stopping: run.stop.is_some(),
        };
        let (mut failures, names) = (Vec::new(), shown_names(run.plan()));
        for (phase, state) in run.phases() {
            let shown = run.status_shown(&phase.id).unwrap_or(state.status);
            if phase.situation.parent.is_none() {
                view.counts.add(shown);
            }
            let title = || shown_title(phase, &names);
            if let Some(parts) = run.parts_counted(&phase.id).filter(|_| shown == PhaseStatus::Running) {
                view.at_work.push(whole_at_work(title(), parts, began(run, phase)));
                continue;
            }
            match state.status {
                PhaseStatus::Running => {
                    view.at_work.push(at_work(title, state, seen.get(&phase.id), expected.get(&phase.id)));
                }
                PhaseStatus::Failed => failures.push((state.ended_at, failure(title, state))),
                PhaseStatus::Waiting => view.waiting.push(waiting(title, run, phase, state)),
                PhaseStatus::Pending if is_wanted_of_others(run, phase, state) => {
                    view.waiting.push(waiting(title, run, phase, state));
                }
                PhaseStatus::Pending | PhaseStatus::Completed | PhaseStatus::Skipped | PhaseStatus::Interrupted => {}
            }
        }
        view.at_work.sort_by_key(|one| one.started_at);
        failures.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
        view.failed = failures.into_iter().map(|(_, one)| one).collect();
        view
    }

    /// The lines to show where there is room for so many: at work before all else, then failures and questions, and the totals
    /// below. At least one.
    pub fn rows(&self, lines_max: usize) -> Vec<LiveRow<'_>> {
        let room = lines_max.saturating_sub(1 + usize::from(self.awaited.is_some()));
        let reserved = (room / FAILED_SHARE).max(usize::from(room > 2));
        let failed = self.failed.len().min(reserved);
        let waiting = self.waiting.len().min(reserved);
        let at_work = self.at_work.len().min(room.saturating_sub(failed + waiting));
        let left = room.saturating_sub(at_work + failed + waiting);
        let waiting = self.waiting.len().min(waiting + left);
        let left = room.saturating_sub(at_work + failed + waiting);
        let failed = self.failed.len().min(failed + left);
        let mut rows = Vec::new();
        cut(&mut rows, &self.at_work, at_work, LiveRow::AtWork, LiveRow::MoreAtWork);
        cut(&mut rows, &self.failed, failed, LiveRow::Failed, LiveRow::MoreFailed);
        cut(&mut rows, &self.waiting, waiting, LiveRow::Waiting, LiveRow::MoreWaiting);
        if lines_max > 1 {
            rows.extend(self.awaited.as_ref().map(LiveRow::Awaited));
        }
        rows.push(LiveRow::Totals);
        rows
    }
}

/// So many of them; where that is not all, the last line says how many more there are.
fn cut<'a, T>(
    rows: &mut Vec<LiveRow<'a>>,
    all: &'a [T],
    lines: usize,
    one: fn(&'a T) -> LiveRow<'a>,
    more: fn(usize) -> LiveRow<'a>,
) {
    let shown = if all.len() > lines { lines.saturating_sub(1) } else { all.len() };
    rows.extend(all[..shown].iter().map(one));
    if lines > 0 && all.len() > shown {
        rows.push(more(all.len() - shown));
    }
}

fn awaited(run: &Run, now: Timestamp) -> Option<LiveWait> {
    if let Some(group) = run.awaited_group() {
        return Some(LiveWait { what: group.words(), until: None });
    }
    let awaited = schedule::awaited(run, now)?;
    let counts = run.running().next().is_none() || is_a_limit(&awaited.what);
    counts.then(|| LiveWait { what: awaited.words(), until: Some(awaited.until) })
}

fn is_a_limit(what: &Opens) -> bool {
    match what {
        Opens::Limit(_) | Opens::LimitOf(_) | Opens::Rate(_) => true,
        Opens::Retry(_) => false,
    }
}

fn at_work(
    title: impl Fn() -> String,
    state: &PhaseState,
    seen: Option<&AttemptSeen>,
    expected: Option<&ExpectedTime>,
) -> PhaseAtWork {
    let note = seen.and_then(|seen| seen.note.clone()).or_else(|| state.note.clone());
    let (progress, note) = match note {
        Some(note) => progress(&note),
        None => (None, None),
    };
    PhaseAtWork {
        name: title(),
        started_at: state.started_at,
        expected: expected.copied(),
        attempt: state.attempts,
        progress,
        note,
        last_line: seen.and_then(|seen| seen.last_line.clone()),
    }
}

/// A phase of which parts are at work.
fn whole_at_work(name: String, parts: PartsCounted, started_at: Option<Timestamp>) -> PhaseAtWork {
    let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    PhaseAtWork {
        name,
        started_at,
        expected: None,
        attempt: 1,
        progress: Some(Progress { done: count(parts.done), total: count(parts.total) }),
        note: Some(if parts.values { "values" } else { "phases" }.to_owned()),
        last_line: None,
    }
}

/// When the first of a phase's parts began.
fn began(run: &Run, whole: &Phase) -> Option<Timestamp> {
    let parts = whole.children.iter().flatten().filter_map(|part| run.phase_state(part)?.started_at);
    parts.min()
}

fn failure(title: impl Fn() -> String, state: &PhaseState) -> FailedRow {
    let error = state.error.as_ref().map_or_else(|| "it failed".to_owned(), |error| error.message.clone());
    FailedRow { name: title(), error }
}

fn waiting(title: impl Fn() -> String, run: &Run, phase: &Phase, state: &PhaseState) -> PhaseWaiting {
    let asks = run.asks(phase, state).unwrap_or_else(|| "waits for an answer".to_owned());
    PhaseWaiting { name: title(), asks }
}

fn is_wanted_of_others(run: &Run, phase: &Phase, state: &PhaseState) -> bool {
    matches!(phase.body, Body::External(_)) && run.asks(phase, state).is_some()
}

/// `3/10 tables` is a progress and a note.
fn progress(note: &str) -> (Option<Progress>, Option<String>) {
    let (figures, rest) = match note.trim().split_once(char::is_whitespace) {
        Some((figures, rest)) => (figures, rest.trim()),
        None => (note.trim(), ""),
    };
    let parsed = figures.trim_end_matches([':', ',']).split_once('/').and_then(|(done, total)| {
        let (done, total) = (done.parse().ok()?, total.parse().ok()?);
        (total > 0).then_some(Progress { done, total })
    });
    let rest = if parsed.is_some() { rest } else { note.trim() };
    (parsed, (!rest.is_empty()).then(|| rest.to_owned()))
}

impl PhaseCounts {
    fn add(&mut self, status: PhaseStatus) {
        self.total += 1;
        *match status {
            PhaseStatus::Pending | PhaseStatus::Interrupted => &mut self.to_come,
            PhaseStatus::Running => &mut self.at_work,
            PhaseStatus::Waiting => &mut self.waiting,
            PhaseStatus::Completed => &mut self.completed,
            PhaseStatus::Failed => &mut self.failed,
            PhaseStatus::Skipped => &mut self.skipped,
        } += 1;
    }
}
