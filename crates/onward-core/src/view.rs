//! The read model: what every front end shows. Built from the run and from what was seen of its processes just now.

mod agents;
pub mod asks;
pub mod durations;
mod failed_attempts;
pub mod live;
mod next_steps;
mod rewinds;
mod saved;
mod summary;

use std::collections::{BTreeMap, BTreeSet};

pub use agents::{AgentRecord, CallRecord, WorktreeRecord};
pub use failed_attempts::FailedAttempt;
use jiff::Timestamp;
pub use next_steps::{NextStep, WillRun, next_steps, why, why_new};
pub use rewinds::unended_rewind;
pub use saved::{SavedProgress, saved_progress};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
pub use summary::{RunQuery, Summary, summary};

use crate::event::{ArtifactSeen, LeftRunning, RunResult, StopReason, usd};
use crate::failure::FailureCode;
use crate::id::{PhaseId, RunId};
use crate::plan::{Phase, shown_names, with_shown_names};
use crate::question::quoted;
use crate::resume::{Finding, Weight};
use crate::run::budgets::SharedBudget;
use crate::run::counting::{PartsCounted, PhasesCounted};
use crate::run::groups::AwaitedGroup;
use crate::run::{AdoptedPhase, MARK, PhaseState, PhaseStatus, Run, RunStatus, schedule};
use crate::view::durations::ExpectedTime;

/// Facts that the journal cannot know: who drives the run now, and which attempts still have a process.
#[derive(Clone, Debug, Default)]
pub struct Alive {
    pub driver: Option<DriverView>,
    /// Phases whose process was seen alive.
    pub phases: BTreeSet<PhaseId>,
    /// Notes of phases at work, newer than the journal's.
    pub notes: BTreeMap<PhaseId, String>,
    /// Sessions of agents at work, newer than the journal's.
    pub sessions: BTreeMap<PhaseId, String>,
    /// When each phase at work last printed something or left a note.
    pub heard_at: BTreeMap<PhaseId, Timestamp>,
    /// The last line that each phase at work printed.
    pub last_lines: BTreeMap<PhaseId, String>,
    /// Phases that have ended, which nobody has recorded yet.
    pub ended: BTreeSet<PhaseId>,
    /// How long phases took in earlier runs.
    pub expected: BTreeMap<PhaseId, ExpectedTime>,
    pub now: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DriverView {
    pub host: String,
    pub pid: u32,
    pub since: Timestamp,
}

/// `status --json`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StatusView {
    pub run: RunId,
    pub title: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub project: String,
    pub plan: String,
    pub status: RunStatus,
    pub branch: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// The newest of all that is known: the last record, output or note.
    pub last_sign_at: Timestamp,
    /// The end of its last driver, where nobody drives it; none where that is not on record.
    pub stopped: Option<StopReason>,
    pub driver: Option<DriverView>,
    /// Its driver starts nothing more, since somebody paused, cancelled or interrupted it, or something failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stopping: bool,
    pub completed: Vec<PhaseRecord>,
    pub running: Vec<PhaseRecord>,
    pub remaining: Vec<PhaseRecord>,
    pub warnings: Vec<String>,
    pub resumable: bool,
    pub resume: Option<String>,
    /// The thing that an otherwise idle run waits for, and until when.
    pub waiting: Option<WaitingFor>,
    /// The group that the run waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<AwaitedGroup>,
    /// When a run that is paused should be started again, where that is known.
    pub retry_at: Option<Timestamp>,
    /// How far a saved state says that its work is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saved: Option<SavedProgress>,
    /// The cost of all agents, in dollars; none where no agent was at work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Some agent was ended before it could tell all that it used: the sum is what is known at least.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cost_is_part: bool,
    /// The largest cost that `--budget` allows, in dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_usd: Option<f64>,
    /// Budgets that are used up and keep a phase from being started, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub out_of_money: Vec<String>,
}

/// A time that is waited for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaitingFor {
    /// In words.
    #[serde(rename = "for")]
    pub what: String,
    pub until: Timestamp,
}

impl StatusView {
    /// How far it is, in words.
    pub fn progress(&self) -> String {
        let counted = self.counted();
        progress_in_words(counted.finished, counted.skipped, counted.total)
    }

    /// The phases that the author wrote: parts of another one are counted there.
    pub fn counted(&self) -> PhasesCounted {
        let whole = |record: &&PhaseRecord| record.part_of.is_none();
        let skipped = |record: &&PhaseRecord| record.status == PhaseStatus::Skipped;
        let all = self.completed.iter().chain(&self.running).chain(&self.remaining);
        PhasesCounted {
            total: all.filter(whole).count(),
            finished: self.completed.iter().filter(whole).count(),
            skipped: self.completed.iter().filter(whole).filter(skipped).count(),
        }
    }

    /// Phases that outlived their driver.
    pub fn orphans(&self) -> impl Iterator<Item = &PhaseRecord> {
        self.running.iter().filter(|record| record.orphan)
    }
}

/// The record of one phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseRecord {
    pub id: PhaseId,
    /// The name by which people know it, where that is not the id: `fetch[2026-11-14]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<String>,
    /// The phase that it is a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part_of: Option<PhaseId>,
    /// How far its parts are, where it consists of others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<PartsCounted>,
    pub name: String,
    pub status: PhaseStatus,
    pub attempts: u32,
    pub generation: u32,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    pub duration_ms: Option<u64>,
    pub note: Option<String>,
    /// When it last printed something or left a note, while it is at work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heard_at: Option<Timestamp>,
    /// The last line that it printed, while it is at work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_line: Option<String>,
    /// How long it took in earlier runs, while it is at work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<ExpectedTime>,
    pub summary: Option<String>,
    pub needs: Vec<PhaseId>,
    pub outputs: BTreeMap<String, String>,
    pub commit_sha: Option<String>,
    #[serde(default)]
    pub artifacts: Vec<ArtifactSeen>,
    pub error: Option<String>,
    #[serde(default)]
    pub error_code: Option<FailureCode>,
    /// The word of a person that it is done, where that is why it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adopted: Option<AdoptedPhase>,
    /// Nobody knows whether its outward effect happened.
    #[serde(default)]
    pub in_doubt: bool,
    /// It outlived its driver and is still at work.
    #[serde(default)]
    pub orphan: bool,
    /// It has ended since its driver was gone: the next start takes its result.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub result_waits: bool,
    pub not_before: Option<Timestamp>,
    /// The reason it waits while time alone keeps it from being started, and when it is tried next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Timestamp>,
    /// The state of its request for another plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replan: Option<String>,
    /// The plan that waits for a person, beside the present one: a line for each difference.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replan_edits: Vec<String>,
    /// The question to a person, or the work for somebody else, while it waits for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asks: Option<String>,
    /// The coding agent that does it, from its first attempt on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentRecord>,
    /// Attempts that failed since it was begun, the newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed_attempts: Vec<FailedAttempt>,
    /// The git worktree in which it works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<WorktreeRecord>,
}

pub fn phase_record(phase: &Phase, state: &PhaseState) -> PhaseRecord {
    let needs = phase.needs.iter().map(|need| need.phase.clone()).collect();
    PhaseRecord { name: phase.title().to_owned(), needs, ..removed_record(&phase.id, state) }
}

/// The record of a phase that the plan no longer has.
pub fn removed_record(id: &PhaseId, state: &PhaseState) -> PhaseRecord {
    PhaseRecord {
        id: id.clone(),
        shown: None,
        part_of: None,
        parts: None,
        name: id.to_string(),
        status: state.status,
        attempts: state.attempts_that_count(),
        generation: state.generation.0,
        started_at: state.started_at,
        // When an attempt ended that left no record nobody knows.
        ended_at: state.ended_at.filter(|_| state.status != PhaseStatus::Interrupted || !state.ended_unknown()),
        duration_ms: state.duration_ms,
        note: state.note.clone(),
        heard_at: None,
        last_line: None,
        expected: None,
        summary: state.summary.clone(),
        needs: Vec::new(),
        outputs: state.outputs.clone(),
        commit_sha: state.commit_sha.clone(),
        artifacts: state.artifacts.clone(),
        error: state.error.as_ref().map(|error| error.message.clone()),
        error_code: state.error.as_ref().map(|error| error.code),
        adopted: state.adopted.clone(),
        in_doubt: state.in_doubt,
        orphan: false,
        result_waits: false,
        not_before: state.not_before,
        waits_for: None,
        retry_at: None,
        replan: None,
        replan_edits: Vec::new(),
        asks: None,
        agent: agents::record(state),
        failed_attempts: state.tries.iter().map(FailedAttempt::new).collect(),
        worktree: None,
    }
}

/// A run that nobody drives is interrupted, whatever the journal says last.
pub fn status_seen(status: RunStatus, driver: Option<&DriverView>) -> RunStatus {
    match (status, driver) {
        (RunStatus::Running, None) => RunStatus::Interrupted,
        (RunStatus::Interrupted | RunStatus::Paused | RunStatus::Failed, Some(_)) => RunStatus::Running,
        (status, _) => status,
    }
}

pub fn is_resumable(status: RunStatus) -> bool {
    match status {
        RunStatus::Interrupted | RunStatus::Paused | RunStatus::Waiting | RunStatus::Failed => true,
        RunStatus::Running | RunStatus::Completed | RunStatus::Archived => false,
    }
}

/// The warning about processes that a phase left running.
pub fn left_running<'a>(phase: &PhaseId, left: impl IntoIterator<Item = &'a LeftRunning>) -> String {
    let named: Vec<String> = left.into_iter().map(|one| format!("{} (process {})", one.name, one.pid)).collect();
    format!("phase {phase} left running: {}", named.join(", "))
}

pub fn status(run: &Run, alive: &Alive, warnings: Vec<String>) -> StatusView {
    let seen = status_seen(run.status(), alive.driver.as_ref());
    let (mut completed, mut running, mut remaining) = (Vec::new(), Vec::new(), Vec::new());
    let waits = schedule::waits(run, alive.now);
    let names = shown_names(run.plan());
    for (phase, state) in run.phases() {
        let mut record = phase_record(phase, state);
        let lives = alive.phases.contains(&phase.id);
        add_what_is_heard(&mut record, alive);
        if let Some(awaited) = waits.get(&phase.id) {
            (record.waits_for, record.retry_at) = (Some(awaited.words()), Some(awaited.until));
        }
        record.shown = names.get(&phase.id).cloned();
        record.part_of.clone_from(&phase.situation.parent);
        record.parts = run.parts_counted(&phase.id);
        record.asks = run.asks(phase, state);
        record.worktree = run.worktree_record(phase, state);
        record.replan = run.replans.asked_by(&phase.id).map(|asked| next_steps::wants_a_plan(run, &phase.id, asked));
        record.replan_edits = run.proposed_edits(&phase.id);
        match state.status {
            PhaseStatus::Completed | PhaseStatus::Skipped => completed.push(record),
            PhaseStatus::Running if alive.driver.is_some() || state.external.is_some() => running.push(record),
            PhaseStatus::Running if lives => running.push(PhaseRecord { orphan: true, ..record }),
            PhaseStatus::Running => {
                let result_waits = alive.ended.contains(&phase.id);
                remaining.push(PhaseRecord { status: PhaseStatus::Interrupted, result_waits, ..record });
            }
            PhaseStatus::Pending | PhaseStatus::Waiting | PhaseStatus::Failed | PhaseStatus::Interrupted => {
                remaining.push(record);
            }
        }
    }
    let warnings = warnings.into_iter().chain(run.told_warnings()).collect();
    // A run without phases holds saved state; there is nothing to go on with.
    let resumable = is_resumable(seen) && run.phases_total() > 0;
    StatusView {
        run: run.id.clone(),
        title: run.started.title.clone(),
        kind: run.plan().kind.clone(),
        project: run.started.project.clone(),
        plan: run.started.plan_path.clone(),
        status: seen,
        branch: run.branch().map(str::to_owned),
        created_at: run.created_at,
        updated_at: run.updated_at,
        last_sign_at: alive.heard_at.values().copied().fold(run.updated_at, Timestamp::max),
        stopped: run.stopped.filter(|_| alive.driver.is_none()),
        driver: alive.driver.clone(),
        stopping: alive.driver.is_some() && run.stop.is_some(),
        completed,
        running,
        remaining,
        warnings,
        resumable,
        resume: resumable.then(|| resume_command(&run.id)),
        waiting: waiting(run, alive),
        group: run.awaited_group().filter(|_| alive.driver.is_some()).cloned(),
        retry_at: run.retry_at().filter(|_| seen == RunStatus::Paused),
        saved: saved_progress(run),
        cost_usd: run.cost_nano_usd().map(usd),
        cost_is_part: run.cost_is_part(),
        budget_usd: run.budget().and_then(|budget| budget.most.usd),
        out_of_money: run.used_up_budgets().iter().map(SharedBudget::words).collect(),
    }
}

/// Adds to a record what attempts at work say of themselves.
fn add_what_is_heard(record: &mut PhaseRecord, alive: &Alive) {
    if let Some(note) = alive.notes.get(&record.id) {
        record.note = Some(note.clone());
    }
    if record.status == PhaseStatus::Running {
        record.heard_at = alive.heard_at.get(&record.id).copied();
        record.last_line = alive.last_lines.get(&record.id).cloned();
        record.expected = alive.expected.get(&record.id).copied();
    }
    if let (Some(session), Some(agent)) = (alive.sessions.get(&record.id), &mut record.agent) {
        agent.session = Some(session.clone());
    }
}

/// The thing that an otherwise idle driver waits for.
fn waiting(run: &Run, alive: &Alive) -> Option<WaitingFor> {
    alive.driver.as_ref().filter(|_| run.running().next().is_none())?;
    let awaited = schedule::awaited(run, alive.now)?;
    Some(WaitingFor { what: awaited.words(), until: awaited.until })
}

pub fn resume_command(run: &RunId) -> String {
    format!("onward resume {run}")
}

/// The same, with the inputs that have to be given again: a secret was cut out of what is kept of them.
pub fn resume_with_inputs(run: &Run) -> String {
    let cut = run.started.inputs.iter().filter(|(_, value)| value.contains(MARK));
    let again: String = cut.map(|(name, _)| format!(" --input {}=VALUE", quoted(name))).collect();
    format!("{}{again}", resume_command(&run.id))
}

/// The last error on record; else what keeps a phase from its turn for good.
fn error_told(run: &Run) -> Option<String> {
    let failed = run.error().map(|(phase, error)| format!("{phase}: {}", error.message));
    let kept = || run.never_met().find_map(|(phase, _)| Some(format!("{}: {}", phase.id, run.why_never(&phase.id)?)));
    failed.or_else(kept).map(|text| with_names(run, text))
}

/// The ways on for a phase that needs another to be completed, which was left out.
pub fn past_what_was_skipped(run: &RunId, skipped: &PhaseId, phase: &PhaseId) -> String {
    let (skipped, phase) = (quoted(skipped.as_str()), quoted(phase.as_str()));
    format!("onward resume {run} --adopt {skipped}, or --skip {phase}")
}

/// How a person answers, in one way or the other.
pub fn approve_command(run: &RunId, phase: &PhaseId, driven: Driven) -> String {
    let on = driven.flag();
    format!("onward approve {run} {phase}{on}   or   onward reject {run} {phase}")
}

/// Whether somebody drives a run and goes on with it by themselves once it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Driven {
    Now,
    ByNobody,
}

impl Driven {
    /// The flag with which an answer goes on with a run that nobody drives.
    fn flag(self) -> &'static str {
        match self {
            Self::Now => "",
            Self::ByNobody => " --resume",
        }
    }
}

/// How a person answers the tool call of an agent that was shown, and no other.
pub fn answer_call_command(run: &RunId, phase: &PhaseId, call: &str, driven: Driven) -> String {
    let on = driven.flag();
    format!("onward approve {run} {phase} --call {call}{on}   or   onward reject {run} {phase} --call {call}")
}

/// How far a run is, in words.
pub fn progress(run: &Run) -> String {
    let counted = run.phases_counted();
    progress_in_words(counted.finished, counted.skipped, counted.total)
}

/// `3 of 4 phases done, 1 skipped`: what was skipped is among the finished ones, and is not done.
pub fn progress_in_words(finished: usize, skipped: usize, total: usize) -> String {
    let done = format!("{} of {total} phases done", finished - skipped.min(finished));
    if skipped == 0 { done } else { format!("{done}, {skipped} skipped") }
}

/// The same with the names that people know phases by.
fn with_names(run: &Run, text: String) -> String {
    let names = shown_names(run.plan()).into_iter().map(|(id, name)| (id.to_string(), name)).collect();
    with_shown_names(&text, &names, str::to_owned).unwrap_or(text)
}

/// Findings of the last driver's start that are worth a line: about one phase, or about the run as a whole.
pub fn findings(run: &Run, phase: Option<&PhaseId>) -> Vec<String> {
    let worth = |finding: &&Finding| finding.kind.row().weight == Weight::Warn;
    let about = |finding: &&Finding| phase.is_none_or(|phase| finding.phase.as_ref() == Some(phase));
    let found = run.last_look().into_iter().flat_map(|look| &look.findings);
    found.filter(worth).filter(about).map(|finding| finding.message.clone()).collect()
}

/// How a run ended, in a word.
pub fn result_word(result: RunResult) -> &'static str {
    match result {
        RunResult::Completed => "completed",
        RunResult::Failed => "failed",
    }
}
