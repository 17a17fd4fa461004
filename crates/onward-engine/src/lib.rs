//! The shell around the core: it does what core wants and tells it what happened.
//!
//! [`Onward`] is what every front end calls; `driver.rs` is the loop that everything else serves.

pub mod attendant;
mod background;
mod commands;
pub mod demo;
mod doctor;
mod drive;
mod durations;
mod error;
mod executor;
mod files_taken;
mod journal;
mod markdown_file;
mod mirror;
pub mod names;
mod plan_files;
mod planning;
mod portable;
mod probe;
mod project;
mod queries;
pub mod redact;
mod start;
mod sys;
mod trust;
pub mod vcs;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use background::timer as keep_timer;
pub use background::{Awake, Detached, HandOver, WaitingRun, detach};
pub use commands::at_the_prompt::{AnsweredElsewhere, AtThePrompt};
pub use commands::external_phases::{Answered, DoneClaim, NextPhase, NextWork, PersonsAnswer, PhaseReport, Reported};
pub use commands::fork::Forked;
pub use commands::import::{BadImport, ForeignFile, FormatExport, Imported};
pub use commands::init_and_delete::{FirstPlan, InitReport};
pub use commands::integration_steps;
pub use commands::plugin::PLUGIN_FOLDER;
pub use commands::prune::PruneDone;
pub use commands::replan::Proposed;
pub use commands::rewind::{CheckpointDiff, Preview, RewindParts, Rewound, WorkSince};
pub use commands::rewind_steps;
pub use commands::saved_state::SavedState;
pub use commands::share::{SharedOn, new_message_id};
pub use commands::start_reported::StartedReported;
pub use doctor::{DoctorCode, DoctorFinding, DoctorSeverity, Findings, Repair, Repaired, Soundness, StoreFacts};
pub use drive::committer::begin as begin_run;
pub use drive::keyframes::{CommitObserver, KeepNothing, keyframe_is_due, put_fold, put_keyframe};
pub use drive::reporter::{AttemptOutput, NoOutput, Reporter, Silent, Update};
pub use drive::world::{Direction, FilesOutcome, Happened, RewindSince, TreeWorld, World};
pub use drive::{Arrived, Committer, Driver};
pub use error::{CopyInGit, Error, Left, Result};
pub use executor::tool_calls::{AskingAttempt, CALL_EVENT, CALLS_FLAG, CallReply, heed as heed_call};
pub use journal::load as load_run;
pub use plan_files::{Checked, check};
pub use planning::{
    PlanTarget, PlannedTask, PlanningCost, PlanningError, PlanningNews, TaskRequest, WrongPlan, plan_task,
};
pub use portable::{ExportParts, Exported, ImportedRun, Lineage, Redacted, Snapshots};
pub use project::{FOLDER, Project};
pub use queries::answers::{ListFilter, ListItem, LogItem, Logged, PlanDurations, RunShown, RunTold, Shown};
pub use queries::follow::{Followed, Printed};
pub use start::changed_files::OutsideChange;
pub use start::findings::{Going, Judged, Unfinished};
pub use start::request::{After, PlanFrom, Request, Want};
pub use start::starting::{Finished, Ready, StartFound};
pub use sys::caller_guard::{CallingPhase, Inside, calling_phase, inside};
pub use sys::threads::NoThread;
pub use sys::{patient_io, process, signals, stop};
pub use trust::{Doubt, Trusted};
pub use vcs::tree_lock::TreeUser;

use drive::project_moved::InPlace;
use onward_core::config::{Config, OnNetwork};
use onward_core::run::Run;
pub use onward_store::portable::{FILE_BYTES_MAX as PORTABLE_BYTES_MAX, is_one as is_portable};
use onward_store::{Inspection, OpenMode, Store};
pub use onward_store::{StoreCause, StoreError, Vanished, kill_point};

/// A project with its store: what every front end calls.
pub struct Onward {
    pub project: Project,
    pub config: Config,
    /// Settings without effect: whoever starts something should know.
    pub notices: Vec<String>,
    /// Where the caller stands.
    from: PathBuf,
    mode: OpenMode,
    store: Option<Box<dyn Inspection>>,
    /// Where the store was when it was opened to be written.
    place: Option<Arc<InPlace>>,
    /// The unfinished run that was found last, as its journal tells it: whoever goes on with it reads only what came since.
    found: Option<Box<Run>>,
}

impl Onward {
    /// For looking: needs a project, writes nothing.
    pub fn look(from: &Path) -> Result<Self> {
        let project = Project::find_or_tell(from)?;
        Self::new(project, from, OpenMode::Look)
    }

    /// The same for the project in this very folder, wherever the caller works and whatever its environment names.
    pub(crate) fn look_at(top: &Path) -> Result<Self> {
        Self::new(Project::at(top.to_owned()), top, OpenMode::Look)
    }

    /// For work in the project of this very folder.
    pub(crate) fn work_at(top: &Path) -> Result<Self> {
        Self::new(Project::at(top.to_owned()), top, OpenMode::ReadWrite)
    }

    /// For the doctor: a project whose folder is gone is known by what git has of its runs.
    pub fn look_or_lost(from: &Path) -> Result<Self> {
        match Self::look(from) {
            Err(none @ Error::NoProject { .. }) => {
                doctor::lost_project(from).map_or(Err(none), |project| Self::new(project, from, OpenMode::Look))
            }
            other => other,
        }
    }

    /// For a dry run: as for looking, but the project may be one that does not exist yet.
    pub fn look_or_new(from: &Path) -> Result<Self> {
        Self::new(Project::find_or_new(from, home().as_deref())?, from, OpenMode::Look)
    }

    /// For work in a project that has to be there.
    pub fn work(from: &Path) -> Result<Self> {
        let project = Project::find_or_tell(from)?;
        Self::new(project, from, OpenMode::ReadWrite)
    }

    /// For work that makes the project if need be.
    pub fn work_or_new(from: &Path) -> Result<Self> {
        Self::new(Project::find_or_new(from, home().as_deref())?, from, OpenMode::ReadWrite)
    }

    fn new(project: Project, from: &Path, mode: OpenMode) -> Result<Self> {
        let (config, notices) = plan_files::config(&project)?;
        demand_a_store_of_our_own(&config)?;
        redact::go_by(&secret_names(&config));
        onward_store::go_by_compression(config.compression());
        tracing::info!(top = %project.top.display(), "the project");
        if mode == OpenMode::ReadWrite {
            // With a handler, a write beyond the limit of file sizes is an error like a full disk, not the end.
            let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
        }
        Ok(Self { project, config, notices, from: from.to_owned(), mode, store: None, place: None, found: None })
    }

    /// The store, opened when it is first needed: what is wrong with a plan is said before anything is made.
    pub(crate) fn store(&mut self) -> Result<&mut dyn Store> {
        Ok(self.inspection()?)
    }

    /// The same, with what a check-up asks of it.
    pub(crate) fn inspection(&mut self) -> Result<&mut dyn Inspection> {
        if self.store.is_none() {
            self.demand_a_local_disk(self.mode)?;
            if self.mode == OpenMode::ReadWrite {
                self.demand_a_store_of_ones_own()?;
            }
            let opened = onward_store::open(&self.project.store_folder(), self.mode);
            let store = opened.map_err(no_store_is_no_runs)?;
            if self.mode == OpenMode::ReadWrite {
                self.place = Some(Arc::new(InPlace::new(&self.project)?));
                names::works_on(self.project.store_folder());
            }
            self.store = Some(store);
            tracing::debug!(folder = %self.project.store_folder().display(), mode = ?self.mode, "the store is open");
            self.learn_newest();
        }
        Ok(self.store.as_deref_mut().expect("it was just opened"))
    }

    /// Nothing is written on a file system whose locks and flushes cannot be relied on, unless somebody takes that upon them.
    pub(crate) fn demand_a_local_disk(&self, mode: OpenMode) -> Result<()> {
        let path = self.project.store_folder();
        match (mode, self.config.store_on_network(), onward_store::network_file_system(&path)) {
            (OpenMode::ReadWrite, OnNetwork::Refused, Some(kind)) => Err(StoreError::Network { path, kind }.into()),
            (OpenMode::ReadWrite | OpenMode::Look, OnNetwork::Refused | OnNetwork::Allowed, _) => Ok(()),
        }
    }
}

impl Onward {
    /// Refuses to write to a store that came with a clone or in an archive, until a person trusts it.
    pub(crate) fn demand_a_store_of_ones_own(&self) -> Result<()> {
        // What is unsafe is said as that: no word of a person's makes a link safe.
        onward_store::demand_safe(&self.project.store_folder())?;
        match trust::doubt(&self.project) {
            Some(doubt) => Err(Error::Untrusted { folder: self.project.store_folder(), doubt }),
            None => Ok(()),
        }
    }
}

/// A store that is named and cannot be used must not be silently replaced by another one.
fn demand_a_store_of_our_own(config: &Config) -> Result<()> {
    let named = std::env::var("ONWARD_STORE").ok().filter(|store| !store.is_empty()).map(|_| "ONWARD_STORE");
    let configured = config.values().iter().any(|value| value.key == "store" && value.value.is_string());
    match named.or(configured.then_some("store, in the configuration,")) {
        Some(by) => Err(Error::NotYet(format!("{by} names a shared store, which this version does not have yet"))),
        None => Ok(()),
    }
}

/// The names of variables that hold secrets, as the project has it.
pub(crate) fn secret_names(config: &Config) -> redact::SecretNames {
    redact::SecretNames { more: config.secret_names(), except: config.no_secret_names() }
}

fn no_store_is_no_runs(why: StoreError) -> Error {
    match why {
        StoreError::NoStore { .. } => Error::NoRuns,
        other => other.into(),
    }
}

fn home() -> Option<PathBuf> {
    std::env::var_os("HOME").map(PathBuf::from)
}
