//! Errors, as far as a caller can tell the difference. The binary turns each into a page and an exit code.

use std::path::{Path, PathBuf};

use onward_core::data_limits::Unfit;
use onward_core::diagnostic::Diagnostic;
use onward_core::evidence::RequirementSeen;
use onward_core::id::{CheckpointId, PhaseId, RunId};
use onward_core::question::{Question, TypedWords};
use onward_core::resume::Finding;
use onward_core::run::Refusal;
use onward_core::view::DriverView;
use onward_store::{StoreError, Vanished};

use crate::planning::PlanningError;
use crate::trust::Doubt;

use crate::vcs::tree_lock::TreeUser;

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("there is no project here: no folder upwards from {} has a .onward folder", from.display())]
    NoProject { from: PathBuf },
    /// A variable names the project, and wrongly.
    #[error("there is no project: {variable} names the folder {}, which is not there", folder.display())]
    NoFolder { variable: &'static str, folder: PathBuf },
    #[error("the home folder is not made a project: go to the folder of your work, or make one with `git init`")]
    HomeFolder,
    #[error("no run {0}")]
    NoSuchRun(String),
    /// One word, where a phase of the newest run could stand, or a run.
    #[error("no run and no phase {0}")]
    NoRunOrPhase(String),
    #[error("this project has no run, or none that is not archived")]
    NoRuns,
    /// Runs on record are not in the store any more, and git has a copy of it.
    #[error("the store lost runs that git has: {}", runs.iter().map(RunId::as_str).collect::<Vec<_>>().join(", "))]
    RunsLost { runs: Vec<RunId> },
    /// There is no store, and git, which may have runs of it, does not answer.
    #[error("cannot tell whether runs were lost, because git did not answer: {why}")]
    LossUnknown { why: String },
    #[error("the store lost records of run {run}: it has {store}, and git has {git}")]
    JournalBehind { run: RunId, store: u64, git: u64 },
    #[error("no unfinished run")]
    NothingUnfinished,
    #[error("no unfinished run matches the request")]
    NothingFits,
    #[error("no run of this plan has been completed, so nothing can be done again")]
    NothingToRedo,
    #[error("run {run} has no phase {phase}")]
    NoSuchPhase { run: RunId, phase: String },
    #[error("no checkpoint {0}")]
    NoSuchCheckpoint(String),
    #[error("ambiguous {what} id {name}")]
    Ambiguous { what: &'static str, name: String, candidates: Vec<String> },
    #[error("the name of a {0} is empty")]
    EmptyName(&'static str),
    #[error("no plan: neither onward.yaml nor .onward/plan.yaml is in {}", folder.display())]
    NoPlan { folder: PathBuf },
    #[error("{} cannot be imported: {why}", path.display())]
    ImportUnreadable { path: PathBuf, why: String },
    /// Another run of that name is here.
    #[error("{why}")]
    ImportConflict { why: String },
    #[error("run {run} cannot be exported: {why}")]
    NoSuchForm { run: RunId, why: String },
    #[error("cannot read the plan {}: {why}", path.display())]
    PlanUnreadable { path: PathBuf, why: String, beside: Vec<String> },
    /// Paths are kept as text, and another plan would have the same.
    #[error("the path of the plan {} is no text in UTF-8: rename it", path.display())]
    PlanNotText { path: PathBuf },
    #[error("cannot read the configuration {}: {why}", path.display())]
    ConfigUnreadable { path: PathBuf, why: String },
    #[error("{file} is not a valid plan")]
    PlanInvalid { file: String, text: String, diagnostics: Vec<Diagnostic> },
    /// `--agent` is for plans in Markdown.
    #[error("--agent is for plans in Markdown, and {plan} is not one")]
    AgentOfNoMarkdown { plan: String },
    #[error("{file} needs a newer onward")]
    PlanNewer { file: String, text: String, diagnostics: Vec<Diagnostic> },
    #[error("{file} uses keys that this version does not support yet")]
    PlanUnsupported { file: String, text: String, diagnostics: Vec<Diagnostic> },
    #[error("the inputs do not fit the plan {file}")]
    Inputs { file: String, diagnostics: Vec<Diagnostic> },
    #[error("{file} is not a valid configuration")]
    Config { file: String, text: String, diagnostics: Vec<Diagnostic> },
    #[error("run {run} is driven by process {} on {} since {}", driver.pid, driver.host, driver.since)]
    Driven { run: RunId, driver: DriverView },
    /// The plan says that such a run is not to wait.
    #[error("the group {group} is busy: {} is at work in it", by_in_words(by.as_ref()))]
    GroupBusy { group: String, by: Option<RunId> },
    /// It would wait for the run that it is a phase of.
    #[error("the group {group} is busy for good: run {by}, in a phase of which this was started, is at work in it")]
    GroupOfItself { group: String, by: RunId },
    /// Something was asked of a run that it does not do, as it stands.
    #[error("run {run} refused the request: {reason}")]
    RequestRefused { run: RunId, reason: String },
    #[error("cannot resume run {run}")]
    Refused { run: RunId, reasons: Vec<String> },
    /// Findings around the run forbid it.
    #[error("cannot resume run {run}")]
    Forbidden { run: RunId, findings: Vec<Finding> },
    /// Before anything of a new run was made.
    #[error("the plan requires something that is not there")]
    RequirementUnmet { unmet: Vec<RequirementSeen> },
    /// Before anything of a new run was made.
    #[error("phase {phase} cannot have a git worktree of its own (`worktree: own`): {why}")]
    NoWorktree { phase: PhaseId, why: String },
    #[error("{reason}")]
    Declined { reason: String },
    #[error("an answer is needed about run {}", .0.run)]
    AnswerNeeded(Box<Question>),
    #[error("run {run} cannot go back to the checkpoint: {reason}")]
    NotRewound { run: RunId, reason: String },
    /// Some of its files may have been moved, and that is on record.
    #[error("run {run} is half-way back to a checkpoint: {reason}")]
    RewindPending { run: RunId, reason: String },
    #[error("nothing to undo: run {run} was not rewound")]
    NothingToUndo { run: RunId },
    #[error("phase {phase} of run {run} is still at work")]
    PhaseLives { run: RunId, phase: PhaseId },
    #[error("cannot put files of run {run} back: {by}")]
    TreeInUse { run: RunId, by: TreeUser },
    #[error("something that a run has started is still at work: {}", path.display())]
    StillAtWork { path: PathBuf },
    /// A process of a run that the store has lost.
    #[error("phase {phase} of run {run}, which the store does not know, is still at work: process {pid}")]
    Survives { run: String, phase: String, pid: i32 },
    #[error("cannot fork a run from there: {reason}")]
    NotForked { reason: String },
    #[error("{file} is not a state: {why}")]
    NotAnObject { file: String, why: String },
    #[error("nothing of type {kind} is saved{}", project.as_ref().map(|project| format!(" for {project}")).unwrap_or_default())]
    NothingSaved { kind: String, project: Option<String> },
    #[error("the state of run {run} has nothing at {pointer:?}")]
    NoSuchState { run: RunId, pointer: String },
    #[error("run {run} has no {what} {id}")]
    NotShared { run: RunId, what: &'static str, id: String },
    #[error("run {run} holds saved state and has no phases to go on with: onward load gives the state back")]
    NoPhases { run: RunId },
    #[error("several runs of this work are unfinished")]
    Several { runs: Vec<RunId>, typed: TypedWords },
    /// Data, or what would come of it, is beyond what is kept and read again.
    #[error("this cannot be kept: {why}")]
    Unfit { why: String },
    #[error(transparent)]
    Illegal(#[from] Refusal),
    #[error("run {run}: the record of its journal at {seq} cannot be understood: {why}")]
    BadRecord { run: RunId, seq: u64, why: String },
    #[error("checkpoint {id} cannot be understood: {why}")]
    BadCheckpoint { id: String, why: String, left: Box<Left> },
    #[error("the journal of run {run} cannot be read: {why}")]
    BadJournal { run: RunId, why: String, left: Box<Left> },
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("cannot write to {}: {doubt}", folder.display())]
    Untrusted { folder: PathBuf, doubt: Doubt },
    /// The machine has no room, no descriptors or no permission for what is to be done; no phase is to blame.
    #[error("{what}")]
    NoRoom { what: String },
    /// Nothing on this machine starts programs at a given time, or it does not take what it is told.
    #[error("no timer: {why}")]
    NoTimer { why: String },
    /// The project folder was renamed under its driver.
    #[error("the project was moved away from {} while its run was at work", from.display())]
    Moved { from: PathBuf, to: Option<PathBuf> },
    /// The store was taken away from under the driver of a run.
    #[error("the store of run {run} is gone: {} {how} while the run was at work", path.display())]
    StoreGone { run: RunId, path: PathBuf, how: Vanished, copy: CopyInGit },
    #[error("{what}: {why}")]
    Io { what: String, why: std::io::Error },
    /// A file that was to be imported.
    #[error("cannot read {}: {why}", path.display())]
    NotReadable { path: PathBuf, why: std::io::Error },
    #[error("{why}")]
    NotAForm { why: String },
    #[error("{file} cannot be imported: {why}")]
    BadFile { file: String, why: String },
    #[error("{why}")]
    NotImported { why: String },
    #[error("cannot export the run: {why}")]
    NotExported { why: String },
    /// Two journals that went different ways.
    #[error("run {run} exists already with other content, and was not overwritten")]
    OtherContent { run: RunId },
    #[error("stopped by signal {signal} before it was done")]
    Stopped { signal: i32 },
    /// Part of what was asked for is done, and the rest is not, since a stop was asked for.
    #[error("stopped by signal {signal} half-way")]
    HalfDone { signal: i32, run: RunId, done: &'static str },
    /// A message that could neither be waited for nor taken back.
    #[error("the request to run {run} waits for whoever drives it, and could not be taken back")]
    LeftWaiting { run: RunId },
    /// An agent was to write a plan.
    #[error(transparent)]
    Planning(#[from] PlanningError),
    #[error("{0}")]
    NotYet(String),
    #[error("run {run} did not answer within {seconds} s")]
    NoAnswer { run: RunId, seconds: u64 },
}

/// How much of the journal of a run git has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyInGit {
    /// All that was on record.
    Whole,
    /// Its beginning.
    Part,
    /// Nothing, or git does not answer.
    None,
}

/// The remains where something is damaged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// The stored bytes, as far as they are shown.
    pub raw: String,
    /// Where it lies.
    pub place: PathBuf,
    pub run: Option<RunId>,
    /// The newest checkpoint of the run that can be read.
    pub good: Option<CheckpointId>,
}

fn by_in_words(by: Option<&RunId>) -> String {
    by.map_or_else(|| "another run".to_owned(), |by| format!("run {by}"))
}

impl From<Unfit> for Error {
    fn from(why: Unfit) -> Self {
        Self::Unfit { why: why.to_string() }
    }
}

impl Error {
    /// Whether the store itself is damaged, or what it says about the work that is meant.
    pub fn is_damage(&self) -> bool {
        matches!(
            self,
            Self::Store(StoreError::Damaged(_) | StoreError::LostCommits { .. })
                | Self::JournalBehind { .. }
                | Self::BadRecord { .. }
                | Self::BadJournal { .. }
                | Self::BadCheckpoint { .. }
        )
    }

    /// The same, of a file that somebody named.
    #[must_use]
    pub fn in_file(self, path: &Path) -> Self {
        match self {
            Self::BadFile { why, .. } => Self::BadFile { file: path.display().to_string(), why },
            other => other,
        }
    }

    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |why| Self::Io { what, why }
    }
}
