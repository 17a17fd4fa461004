//! Queries about runs: lists, status, logs, and one run in full. Nothing here writes.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use onward_core::checkpoint::{self, BadDocument, Checkpoint, CheckpointMeta, FORMAT};
use onward_core::chronicle::chronicle;
use onward_core::event::{LeftRunning, Outcome, Recorded};
use onward_core::id::{Attempt, CheckpointId, PhaseId, RunId, Seq};
use onward_core::lookup::{self, LookedUp, Name};
use onward_core::plan;
use onward_core::run::{Run, RunStatus};
use onward_core::tail;
use onward_core::view::{self, Alive, DriverView, StatusView, Summary};
use onward_store::private;
use onward_store::{
    Alarm, CheckpointFilter, CheckpointRow, DATABASE, DATABASE_FILES, Damage, HEAD, OpenMode, RunFilter, RunRow,
    StoreError, StoreExt, StoredCheckpoint,
};

use super::answers::{ListFilter, ListItem, LogItem, Logged, PlanDurations, RunShown, RunTold, Shown};
use super::by_age::by_age;
use super::checkpoints::ambiguous;
use super::list_items::{readable, unreadable};
use crate::Onward;
use crate::attendant;
use crate::commands::saved_state;
use crate::doctor;
use crate::drive::running_attempt;
use crate::durations;
use crate::error::{Error, Left, Result};
use crate::executor::shell;
use crate::journal;
use crate::names;
use crate::project::Project;
use crate::start::meant_work::summary_of;
use crate::start::open_question;
use crate::start::prepared_plan::PreparedPlan;
use crate::sys::process;
use crate::trust;

/// Of so many phases at work it is read what they printed last, and so much of their output.
const LAST_LINES_MAX: usize = 50;
const LAST_LINE_BYTES_MAX: u64 = 4 << 10;

/// The status of a run that was created and not yet begun.
pub(crate) const NEW: &str = "new";
/// The status of a run of whose journal nothing is left. It stays in the list for its checkpoints.
pub(crate) const LOST: &str = "lost";

/// The status of a run whose row cannot be understood.
pub(super) const UNREADABLE: &str = "unreadable";

impl Onward {
    /// Warnings about the store itself.
    pub fn warnings(&mut self) -> Vec<String> {
        let mut warnings: Vec<String> = self.doubt_in_words().into_iter().collect();
        let Ok(store) = self.inspection() else { return warnings };
        let alarms = store.health().alarms;
        warnings.extend(alarms.iter().filter(|alarm| is_worth_a_warning(alarm)).map(ToString::to_string));
        warnings
    }

    pub fn list(&mut self, filter: &ListFilter) -> Result<Vec<ListItem>> {
        let mut items = Vec::new();
        for row in self.rows(&RunFilter::default())? {
            let item = self.item(&row)?;
            let fits = |wanted: &Option<String>, found: &str| wanted.as_deref().is_none_or(|wanted| wanted == found);
            if !filter.query.is_empty() && !summary_of(&row).is_some_and(|summary| filter.query.fits(&summary)) {
                continue;
            }
            let shown = filter.all || item.status != RunStatus::Archived.as_str();
            let of_project = filter.project.as_deref().is_none_or(|wanted| saved_state::is_of(&item, wanted));
            if shown && fits(&filter.kind, &item.kind) && of_project {
                items.push(item);
            }
        }
        Ok(items)
    }

    /// How long the phases of these runs' plans took over all runs, by the newest run of each plan.
    pub fn durations(&mut self, items: &[ListItem]) -> Result<Vec<PlanDurations>> {
        let mut all: Vec<PlanDurations> = Vec::new();
        for item in items.iter().filter(|item| item.status != UNREADABLE && !item.plan.is_empty()) {
            if all.iter().any(|known| known.plan == item.plan) {
                continue;
            }
            let run = self.load(&item.run)?;
            all.push(PlanDurations {
                plan: item.plan.clone(),
                phases: durations::of_phases(self.inspection()?, &run)?,
            });
        }
        Ok(all)
    }

    pub fn status(&mut self, name: Option<&str>) -> Result<StatusView> {
        let id = self.find_run(name)?;
        // Somebody who watches a run asks again and again, and others make runs meanwhile.
        self.learn_newest();
        let run = self.load_or_tell(&id)?;
        let mut warnings = self.warnings();
        warnings.extend(view::unended_rewind(&run));
        warnings.extend(doctor::notes(&self.project, &id));
        warnings.extend(open_question::last_findings(&self.project, &run, None));
        let driver = self.driver(&id)?;
        let mut expected = BTreeMap::new();
        if run.running().next().is_some() {
            // Notes are shown to whoever knows the secrets of the plan.
            PreparedPlan::learn_what_was_cut(&self.project, &run);
            // Where that cannot be read nothing is said about it.
            expected = durations::of_those_at_work(self.inspection()?, &run).unwrap_or_default();
        }
        let alive = Alive { expected, ..alive(&self.project, &run, driver) };
        let mut view = view::status(&run, &alive, warnings.into_iter().chain(left_running(&run)).collect());
        if trust::doubt(&self.project).is_some() {
            // Nobody goes on with it before a person has said that it is theirs, as the warning says.
            view.resume = None;
        }
        Ok(view)
    }

    pub fn log(&mut self, name: Option<&str>) -> Result<(RunId, Vec<LogItem>)> {
        let id = self.find_run(name)?;
        let items: Vec<LogItem> = self.checkpoint_rows(&id)?.iter().map(log_item).collect();
        self.learn_children(&id, items.iter().filter_map(|item| item.phase.as_ref()));
        Ok((id, items))
    }

    pub fn events(&mut self, name: Option<&str>) -> Result<(RunId, Vec<Recorded>)> {
        let id = self.find_run(name)?;
        let events = journal::events(self.store()?, &id, Seq(0))?;
        Ok((id, events))
    }

    /// A run with the course that it took.
    pub fn told(&mut self, name: Option<&str>) -> Result<RunTold> {
        let id = self.find_run(name)?;
        let shown = self.show_run(id.as_str())?;
        let chronicle = chronicle(&journal::events(self.store()?, &id, Seq(0))?);
        Ok(RunTold { run: self.load(&id)?, shown, chronicle })
    }

    pub fn show(&mut self, name: &str) -> Result<Shown> {
        match Name::parse(name).ok_or(Error::EmptyName("checkpoint"))? {
            Name::Id(id) if !self.is_meant_as_checkpoint(&id)? => Ok(Shown::Run(Box::new(self.show_run(&id)?))),
            name => {
                let checkpoint = self.show_checkpoint(&name, None)?;
                self.learn_children(&checkpoint.run, checkpoint.phases.iter().map(|phase| &phase.id));
                Ok(Shown::Checkpoint(Box::new(checkpoint)))
            }
        }
    }

    pub fn show_run(&mut self, name: &str) -> Result<RunShown> {
        let view = self.status(Some(name))?;
        let run = self.load(&view.run)?;
        let checkpoints = self.log(Some(view.run.as_str()))?.1;
        let plan = serde_json::to_value(run.plan()).expect("a plan has only string keys");
        let durations = durations::of_phases(self.inspection()?, &run)?;
        let removed = run.removed().filter(|(_, state)| state.is_finished() || state.attempts > 0);
        Ok(RunShown {
            view,
            inputs: run.started.inputs.clone(),
            description: run.plan().description.clone(),
            state: run.state.clone(),
            removed: removed.map(|(id, state)| view::removed_record(id, state)).collect(),
            plan,
            batches: run.batches(),
            durations,
            checkpoints,
        })
    }

    /// The output of the attempts at a phase, oldest first; all phases where none is named.
    pub fn logs(&mut self, name: Option<&str>, phase: Option<&str>) -> Result<Vec<Logged>> {
        let id = self.find_run(name)?;
        let run = self.load(&id)?;
        let wanted = phase.map(|wanted| require_tried(&run, wanted)).transpose()?;
        let mut all = Vec::new();
        for (found, attempts) in run.tried().filter(|(found, _)| wanted.as_ref().is_none_or(|it| it.contains(found))) {
            for number in 1..=attempts {
                let folder = shell::folder(&self.project, &run, found, Attempt(number));
                // A link on the way may lead to what somebody else wants shown. A phase with a new id has its old output under
                // the old one.
                let ours = private::demand_folders(&self.project.store_folder(), folder.path()).is_ok()
                    && folder.path().is_dir();
                if let Some(output) = ours.then(|| folder.read_output().ok()).flatten() {
                    let checks = folder.read_checks().unwrap_or_default();
                    all.push(Logged { phase: found.clone(), attempt: Attempt(number), output, checks });
                }
            }
        }
        Ok(all)
    }

    /// Whether a run has a phase of this name; no run, no phase.
    pub fn has_phase(&mut self, name: Option<&str>, phase: &str) -> Result<bool> {
        match self.find_run(name) {
            Ok(id) => Ok(require_tried(&self.load(&id)?, phase).is_ok()),
            Err(Error::NoRuns) => Ok(false),
            Err(other) => Err(other),
        }
    }

    /// The run as its journal tells it.
    pub fn load(&mut self, run: &RunId) -> Result<Run> {
        let loaded = journal::load(self.store()?, run);
        names::learn_phases_of(&loaded);
        loaded.map_err(|why| match why {
            // It is listed, or it would not have come to this: a repair kept what was left of it.
            Error::NoSuchRun(_) => {
                let what = "nothing of its journal is left".to_owned();
                let path = Some(self.project.store_folder().join(DATABASE));
                Error::Store(StoreError::Damaged(Damage { run: Some(run.clone()), seq: None, path, what }))
            }
            other => other,
        })
    }

    /// A run by what a person typed; the newest that is not archived where nothing was typed.
    pub fn find_run(&mut self, name: Option<&str>) -> Result<RunId> {
        let name = match name {
            None => Name::Newest,
            Some(text) => Name::parse(text).ok_or(Error::EmptyName("run"))?,
        };
        let nth = match &name {
            Name::Newest => 0,
            Name::Before => 1,
            Name::Id(id) => return self.run_by_id(id),
        };
        let rows = self.rows(&RunFilter::default())?;
        let found = rows.iter().filter(|row| is_current(row)).nth(nth).map(|row| row.run.clone());
        found.map_or_else(|| Err(self.nothing_or_lost(Error::NoRuns)), Ok)
    }

    /// That nothing is there may mean that it was lost, which is another thing to say.
    pub(super) fn nothing_or_lost(&mut self, otherwise: Error) -> Error {
        self.lost().unwrap_or(otherwise)
    }

    /// The loss of acknowledged records, if the head file or git knows of it. Whoever finds nothing asks this first.
    pub fn lost(&mut self) -> Option<Error> {
        self.lost_by_the_head().or_else(|| self.lost_with_the_store())
    }

    fn lost_by_the_head(&mut self) -> Option<Error> {
        // To open it would make one.
        if self.has_no_store() {
            return None;
        }
        let path = self.project.store_folder().join(DATABASE);
        let health = match self.inspection() {
            Ok(store) => store.health(),
            Err(lost @ Error::Store(StoreError::LostCommits { .. })) => return Some(lost),
            Err(_) => return None,
        };
        let lost = health.alarms.iter().any(|alarm| match alarm {
            Alarm::HeadAhead { .. } | Alarm::HeadDiffers { .. } | Alarm::HeadForeign => true,
            Alarm::HeadMissing
            | Alarm::HeadSlot
            | Alarm::HeadUnreadable
            | Alarm::HeadNewer { .. }
            | Alarm::FlushFailed
            | Alarm::Network
            | Alarm::NoReserve
            | Alarm::Unreadable(_) => false,
        });
        let head = health.head_commits.filter(|_| lost)?;
        Some(StoreError::LostCommits { head, database: health.commits, path }.into())
    }

    fn run_by_id(&mut self, id: &str) -> Result<RunId> {
        let rows = self.rows(&RunFilter { run_prefix: Some(id.to_owned()), ..RunFilter::default() })?;
        match lookup::choose(id, rows.into_iter().map(|row| row.run).collect()) {
            LookedUp::Found(run) => Ok(run),
            LookedUp::NotThere if lookup::is_time(id) => self.run_by_time(id),
            LookedUp::NotThere => match self.lost_run(id) {
                Some(lost) => Err(lost),
                None => Err(self.nothing_or_lost(Error::NoSuchRun(id.to_owned()))),
            },
            LookedUp::Ambiguous(runs) => Err(ambiguous("run", id, &runs)),
        }
    }

    /// Whether there is no store, and none was lost that the folder would know of.
    fn has_no_store(&self) -> bool {
        let gone = |name: &str| matches!(self.project.store_folder().join(name).try_exists(), Ok(false));
        self.store.is_none() && DATABASE_FILES.into_iter().chain([HEAD]).all(gone)
    }

    /// Rows of runs that have begun, newest first. A row without a journal is what a kill left of a start.
    pub(crate) fn rows(&mut self, filter: &RunFilter) -> Result<Vec<RunRow>> {
        // A store is made by a start, and not by the look that comes before it: the plan may be one that cannot be started.
        if self.has_no_store() {
            if self.mode == OpenMode::ReadWrite && self.project.store_folder().symlink_metadata().is_ok() {
                self.demand_a_local_disk(self.mode)?;
                self.demand_a_store_of_ones_own()?;
            }
            return Ok(Vec::new());
        }
        let store = match self.store() {
            Ok(store) => store,
            Err(Error::NoRuns) => return Ok(Vec::new()),
            Err(other) => return Err(other),
        };
        let rows = store.all_runs(filter)?;
        Ok(by_age(rows.into_iter().filter(has_begun).collect()))
    }

    pub(crate) fn checkpoint_rows(&mut self, run: &RunId) -> Result<Vec<CheckpointRow>> {
        Ok(self.store()?.all_checkpoints(CheckpointFilter::OfRun(run))?)
    }

    pub(crate) fn item(&mut self, row: &RunRow) -> Result<ListItem> {
        let summary = row.summary.as_ref().map_err(ToString::to_string);
        let summary = summary.and_then(|bytes| {
            serde_json::from_slice::<Summary>(bytes).map_err(|why| format!("its summary cannot be understood: {why}"))
        });
        match summary {
            Ok(summary) => {
                let driver = self.driver(&row.run)?;
                Ok(readable(&self.project, summary, driver.as_ref()))
            }
            Err(why) => Ok(unreadable(row, why)),
        }
    }
}

/// A row whose bytes are damaged, or one of whose journal nothing could be kept, is listed all the same.
pub(super) fn has_begun(row: &RunRow) -> bool {
    row.head.0 > 0 || row.summary.is_err() || row.status != NEW
}

/// Whether `@` and `@-` count this run.
pub(super) fn is_current(row: &RunRow) -> bool {
    ![RunStatus::Archived.as_str(), LOST].contains(&row.status.as_str())
}

/// A phase of the run by its whole id, or by the name that is shown: a name is never matched by its beginning.
pub(crate) fn require_phase(run: &Run, phase: &str) -> Result<PhaseId> {
    if phase.is_empty() {
        return Err(Error::EmptyName("phase"));
    }
    match plan::phase_meant(run.plan(), phase) {
        Some(id) => Ok(id),
        None => Err(Error::NoSuchPhase { run: run.id.clone(), phase: phase.to_owned() }),
    }
}

/// The phase that was typed and all that it consists of; one that the plan no longer has is known by its id.
fn require_tried(run: &Run, phase: &str) -> Result<BTreeSet<PhaseId>> {
    match require_phase(run, phase) {
        Ok(id) => {
            let all = run.plan().phases.iter().map(|found| &found.id);
            Ok(all.filter(|found| run.is_within(found, &id)).cloned().collect())
        }
        Err(why) => match run.removed().find(|(id, _)| id.as_str() == phase) {
            Some((id, _)) => Ok(BTreeSet::from([id.clone()])),
            None => Err(why),
        },
    }
}

fn is_worth_a_warning(alarm: &onward_store::Alarm) -> bool {
    match alarm {
        Alarm::HeadAhead { .. }
        | Alarm::HeadDiffers { .. }
        | Alarm::HeadForeign
        | Alarm::HeadUnreadable
        | Alarm::HeadNewer { .. }
        | Alarm::HeadMissing
        | Alarm::FlushFailed
        | Alarm::Network
        | Alarm::Unreadable(_) => true,
        // The doctor tells of these; nobody need look now.
        Alarm::HeadSlot | Alarm::NoReserve => false,
    }
}

pub(crate) fn log_item(row: &CheckpointRow) -> LogItem {
    let meta: Option<CheckpointMeta> = journal::meta(&row.meta);
    let damage = row.damage.as_ref().map(ToString::to_string);
    let damage = damage.or_else(|| meta.is_none().then(|| "its description cannot be understood".to_owned()));
    let triggers: Vec<String> =
        meta.iter().flat_map(|meta| &meta.triggers).map(|trigger| trigger.as_str().to_owned()).collect();
    LogItem {
        id: row.id.clone(),
        seq: row.seq.0,
        trigger: triggers.first().cloned().unwrap_or_default(),
        triggers,
        phase: meta.as_ref().and_then(|meta| meta.phase.clone()),
        created_at: meta.as_ref().map(|meta| meta.created_at),
        name: meta.as_ref().and_then(|meta| meta.name.clone()),
        can_resume: meta.as_ref().is_some_and(|meta| meta.can_resume),
        bytes: row.bytes,
        snapshot: meta.as_ref().and_then(|meta| meta.snapshot.as_ref()).map(|kept| kept.commit.clone()),
        damage,
    }
}

/// A checkpoint from what is stored of it, or what is wrong with it.
pub(crate) fn checkpoint_from(id: &CheckpointId, found: &StoredCheckpoint) -> Result<Checkpoint> {
    checkpoint::assemble(&found.keyframe, &found.patches).map_err(|why| match why {
        BadDocument::Newer(found) => {
            Error::Store(StoreError::Newer { what: "a checkpoint", found, known: FORMAT.into() })
        }
        BadDocument::Damaged(why) => {
            let parts = std::iter::once(&found.keyframe).chain(&found.patches);
            let raw = parts.map(|part| String::from_utf8_lossy(part)).collect::<Vec<_>>().join("\n");
            let left = Left { raw, run: Some(found.row.run.clone()), ..Left::default() };
            Error::BadCheckpoint { id: id.to_string(), why, left: Box::new(left) }
        }
    })
}

/// A run with what can be seen of its processes now.
pub(crate) fn status_of(project: &Project, run: &Run, driver: Option<DriverView>, warnings: Vec<String>) -> StatusView {
    let warnings = warnings.into_iter().chain(left_running(run)).collect();
    view::status(run, &alive(project, run, driver), warnings)
}

/// Processes that phases left behind and that live now.
fn left_running(run: &Run) -> impl Iterator<Item = String> {
    run.phases().filter_map(|(phase, state)| {
        let lives = |one: &&LeftRunning| process::alive(process::Pid::from_raw(one.pid), one.start_time);
        let left: Vec<&LeftRunning> = state.left_running.iter().filter(lives).collect();
        (!left.is_empty()).then(|| view::left_running(&phase.id, left))
    })
}

/// A failure that nobody has recorded yet.
fn words_of(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Exited { code } => format!("it ended with exit code {code} while nobody drove the run"),
        Outcome::Killed { signal } => format!("it was ended by signal {signal} while nobody drove the run"),
        Outcome::TimedOut => "it took too long, and was ended while nobody drove the run".to_owned(),
        Outcome::CouldNotStart { .. } | Outcome::Stopped { .. } | Outcome::Unknown | Outcome::NeverRan => {
            "it ended while nobody drove the run".to_owned()
        }
    }
}

/// The processes of a run that can be seen now.
pub(crate) fn alive(project: &Project, run: &Run, driver: Option<DriverView>) -> Alive {
    let mut alive = Alive { driver, now: Timestamp::now(), ..Alive::default() };
    for (phase, state) in run.running() {
        let Some(attempt) = &state.attempt else { continue };
        let folder = shell::folder(project, run, &phase.id, attempt.number);
        if attendant::is_at_work(&folder).unwrap_or(false) {
            alive.phases.insert(phase.id.clone());
        } else if folder.exit().is_ok_and(|exit| exit.is_some_and(|exit| exit.stopped_by.is_none())) {
            alive.ended.insert(phase.id.clone());
        }
        alive.heard_at.extend(folder.last_sign().map(|at| (phase.id.clone(), at)));
        if alive.last_lines.len() < LAST_LINES_MAX {
            let end = folder.output_end(LAST_LINE_BYTES_MAX).unwrap_or_default();
            alive.last_lines.extend(tail::last_line(&end).map(|line| (phase.id.clone(), line)));
        }
        if let Some(session) = state.agent.as_ref().and_then(|_| folder.session()) {
            alive.sessions.insert(phase.id.clone(), session);
        }
        let ended = || running_attempt::recorded_failure(&folder).map(|end| words_of(&end.outcome));
        if let Some(end) = ended().filter(|_| alive.driver.is_none()) {
            alive.notes.insert(phase.id.clone(), format!("{end}; the next start takes that result"));
        } else if let Some(note) = running_attempt::note_shown(&folder) {
            alive.notes.insert(phase.id.clone(), note);
        }
    }
    alive
}
