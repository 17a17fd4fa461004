//! State kept by a program itself: free-form values and checkpoints, without a plan. What `save` and `load` are made of,
//! and what a library user holds open for as many steps as it likes.

use std::borrow::Cow;
use std::slice;
use std::thread;

use jiff::Timestamp;
use onward_core::checkpoint::{Checkpoint, Trigger};
use onward_core::data_limits;
use onward_core::event::RunStarted;
use onward_core::id::{CheckpointId, RunId};
use onward_core::ids_and_keys;
use onward_core::input::{Input, Posted, Reply};
use onward_core::patch::{self, Op};
use onward_core::plan::Plan;
use onward_core::run::{self, Run, RunStatus, Stepped};
use onward_store::{CheckpointFilter, CheckpointRow, Lease, LeaseKind, Page, RunFilter};
use serde_json::{Map, Value};

use crate::Onward;
use crate::drive::Committer;
use crate::drive::committer::{self, CommitterState};
use crate::drive::keyframes::Keeper;
use crate::error::{Error, Result};
use crate::queries::answers::ListItem;
use crate::queries::by_age::is_taken_over;
use crate::queries::runs::checkpoint_from;
use crate::redact;
use crate::start::starting::{actor, holder};
use crate::sys::file_lock::exclusive;

/// To give back the memory of a larger document takes about as long as comparing it did. Nobody has to wait for that.
const DROPPED_AT_ONCE_BYTES_MAX: u64 = 1024 * 1024;

/// The run of one type and project, held open. Every change is durable when the call returns.
pub struct SavedState {
    /// First, so that its thread has let go of the store before ours closes it: the last one empties the log.
    keeper: Keeper,
    onward: Onward,
    lease: Lease,
    run: Run,
    standing: CommitterState,
    actor: String,
}

impl SavedState {
    /// Goes on with the unfinished run of exactly this type and project, or begins one. Others are kept out until it
    /// is dropped.
    pub fn open(mut onward: Onward, kind: &str, project: &str) -> Result<Self> {
        let id = onward.state_run(kind, project)?;
        Self::hold(onward, &id, LeaseKind::Driving)
    }

    fn hold(mut onward: Onward, id: &RunId, kind: LeaseKind) -> Result<Self> {
        let lease = onward.store()?.take_lease(id, kind, holder())?;
        let run = onward.load(id)?;
        let run = onward.demand_no_files_halfway(run, &lease)?;
        let keeper = Keeper::new(onward.project.store_folder(), run.seq.0);
        let actor = actor(&onward.project);
        Ok(Self { keeper, onward, lease, run, standing: CommitterState::AsStored, actor })
    }

    pub fn run(&self) -> &RunId {
        &self.run.id
    }

    pub fn state(&self) -> &Value {
        &self.run.state
    }

    /// Changes the state by path and takes a checkpoint: costs what changes.
    pub fn change(&mut self, ops: Vec<Op>) -> Result<CheckpointId> {
        data_limits::changes_fit(&ops)?;
        self.one(Posted::Change { ops: redact::inputs::ops(ops), ends: None })
    }

    /// Replaces the state and takes a checkpoint: costs a comparison, and stores what changed.
    pub fn save(&mut self, state: Map<String, Value>) -> Result<CheckpointId> {
        data_limits::object_fits(&state)?;
        self.demand_as_stored()?;
        let ends = run::ends_with(&state);
        let mut state = Value::Object(state);
        let changes = patch::diff(&self.run.state, &state);
        apart(redact::collisions::demand_apart_in(&changes))?;
        let as_a_whole = changes.iter().any(|op| tells_only_as_a_whole(op, &state));
        let mut ops = redact::inputs::ops(changes);
        if as_a_whole {
            apart(state.as_object().map_or(Ok(()), redact::collisions::demand_apart))?;
            state = redact::inputs::value(state);
            ops = patch::diff(&self.run.state, &state);
        }
        // Before anything is written: it is needed no more, and may be large.
        if self.run.behind.whole_bytes + self.run.behind.patch_bytes > DROPPED_AT_ONCE_BYTES_MAX {
            // Without a thread it is dropped here.
            drop(thread::Builder::new().spawn(move || drop(state)));
        } else {
            drop(state);
        }
        self.one(Posted::Change { ops, ends })
    }

    /// Several changes in one durable commit, each with its own checkpoint.
    pub fn change_all(&mut self, changes: Vec<Vec<Op>>) -> Result<Vec<CheckpointId>> {
        changes.iter().try_for_each(|ops| data_limits::changes_fit(ops))?;
        self.take(changes.into_iter().map(|ops| Posted::Change { ops: redact::inputs::ops(ops), ends: None }).collect())
    }

    /// A checkpoint of any run of the store.
    pub fn load(&mut self, id: &CheckpointId) -> Result<Checkpoint> {
        let found = self.onward.store()?.checkpoint(id)?.ok_or_else(|| Error::NoSuchCheckpoint(id.to_string()))?;
        checkpoint_from(id, &found)
    }

    /// After a failure that could not be made good at once: what is compared with must be what is stored.
    fn demand_as_stored(&mut self) -> Result<()> {
        if self.standing == CommitterState::Ahead {
            self.run = self.onward.load(&self.run.id)?;
            self.standing = CommitterState::AsStored;
        }
        Ok(())
    }

    fn one(&mut self, posted: Posted) -> Result<CheckpointId> {
        let mut ids = self.take(vec![posted])?;
        Ok(ids.pop().expect("one change leaves one checkpoint"))
    }

    fn take(&mut self, all: Vec<Posted>) -> Result<Vec<CheckpointId>> {
        let inputs = all.into_iter().map(Input::Posted).collect();
        let (store, keep) = (self.onward.store()?, &mut self.keeper);
        let committer = Committer::new(store, &self.lease, keep, &mut self.run, &self.actor);
        let mut committer = committer.standing(self.standing);
        let stepped = committer.tell(inputs, Timestamp::now());
        self.standing = committer.left();
        Ok(stepped?.checkpoints.into_iter().map(|taken| taken.id).collect())
    }
}

impl Drop for SavedState {
    fn drop(&mut self) {
        if self.standing == CommitterState::AsStored {
            self.keeper.finish(&self.run);
        }
    }
}

impl Onward {
    /// Saves the state of a script that has no plan; the run and the checkpoint. Several scripts may save at once.
    pub fn save(mut self, kind: &str, project: &str, state: Map<String, Value>) -> Result<(RunId, CheckpointId)> {
        data_limits::object_fits(&state)?;
        data_limits::text_fits("the type", kind)?;
        data_limits::text_fits("the project", project)?;
        demand_no_secret("the type", kind)?;
        demand_no_secret("the project", project)?;
        let work = work_key(kind, project);
        if let Some(run) = self.open_state_run(&work)? {
            return self.save_into(run, state);
        }
        let first = first_changes(state)?;
        let started = started(kind, project, &work);
        // What is refused leaves nothing behind, not even the folder of the store.
        committer::demand_it_can_begin(&started, slice::from_ref(&first), Timestamp::now())?;
        self.store()?;
        let alone = exclusive(&self.project.runtime().join("start.lock"))?;
        if let Some(run) = self.open_state_run(&work)? {
            drop(alone);
            return self.save_into(run, state_after(&first));
        }
        let (run, stepped) = self.begin_state_run(started, slice::from_ref(&first))?;
        let taken = stepped.checkpoints.into_iter().next().expect("a save leaves a checkpoint");
        Ok((run, taken.id))
    }

    /// The same for a run that is there.
    fn save_into(mut self, run: RunId, state: Map<String, Value>) -> Result<(RunId, CheckpointId)> {
        if self.driver(&run)?.is_some() {
            // Somebody holds this run open: it is theirs to write, and ours to ask.
            apart(redact::collisions::demand_apart(&state))?;
            let state = redact::inputs::map(state);
            return match self.post(&run, Posted::Save { state })? {
                Reply::Checkpoint { id } => Ok((run, CheckpointId::new(id))),
                Reply::Done
                | Reply::Refused { .. }
                | Reply::Unfit { .. }
                | Reply::Overruled { .. }
                | Reply::NotReplanned { .. } => {
                    unreachable!("a save is answered with its checkpoint or refused")
                }
            };
        }
        let mut saved = SavedState::hold(self, &run, LeaseKind::Brief)?;
        let id = saved.save(state)?;
        Ok((run, id))
    }

    /// The unfinished run of exactly this type and project, or a new one.
    fn state_run(&mut self, kind: &str, project: &str) -> Result<RunId> {
        demand_no_secret("the type", kind)?;
        demand_no_secret("the project", project)?;
        let work = work_key(kind, project);
        if let Some(id) = self.open_state_run(&work)? {
            return Ok(id);
        }
        self.store()?;
        // Of several that save for the first time at once one begins the run; the others must see it.
        let _alone = exclusive(&self.project.runtime().join("start.lock"))?;
        match self.open_state_run(&work)? {
            Some(id) => Ok(id),
            None => self.begin_state_run(started(kind, project, &work), &[]).map(|(id, _)| id),
        }
    }

    /// The newest checkpoint of exactly this type, and project if one is named. An archived run was put away by somebody.
    pub fn load_saved(&mut self, kind: &str, project: Option<&str>) -> Result<Checkpoint> {
        let mut newest: Option<(CheckpointRow, Option<Timestamp>)> = None;
        let mut is_from_file = false;
        for row in self.rows(&RunFilter::default())? {
            if row.status == RunStatus::Archived.as_str() {
                continue;
            }
            let item = self.item(&row)?;
            if item.kind != kind || !project.is_none_or(|wanted| is_of(&item, wanted)) {
                continue;
            }
            let from_file = is_taken_over(&row);
            // A run that was begun earlier may have been saved later.
            let last = self.store()?.checkpoints(CheckpointFilter::OfRun(&row.run), Page::first(1))?.into_iter().next();
            let Some(last) = last else { continue };
            let is_later = newest.as_ref().is_none_or(|(before, at)| {
                // A file is as old as it says; of what was saved here the order counts, whatever a clock said.
                if from_file || is_from_file { item.updated_at > *at } else { last.number > before.number }
            });
            if is_later {
                (newest, is_from_file) = (Some((last, item.updated_at)), from_file);
            }
        }
        let nothing = || Error::NothingSaved { kind: kind.to_owned(), project: project.map(str::to_owned) };
        let id = newest.ok_or_else(nothing)?.0.id;
        let found = self.store()?.checkpoint(&id)?.ok_or_else(|| Error::NoSuchCheckpoint(id.to_string()))?;
        checkpoint_from(&id, &found)
    }

    /// Merges into the free-form state of a run (RFC 7396).
    pub fn merge_state(&mut self, name: Option<&str>, patch: Map<String, Value>) -> Result<RunId> {
        data_limits::object_fits(&patch)?;
        let run = self.find_run(name)?;
        self.demand_own_phase(&run, None)?;
        if redact::collisions::cuts_a_key(&patch) {
            // Only here, where the sender knows the secret, can it be told which one it is.
            apart(redact::collisions::demand_apart_from(&self.load(&run)?.state, &patch))?;
        }
        self.post(&run, Posted::Merge { patch })?;
        Ok(run)
    }

    /// The free-form state of a run, or the part at a JSON pointer.
    pub fn state(&mut self, name: Option<&str>, pointer: &str) -> Result<Value> {
        let run = self.find_run(name)?;
        let run = self.load(&run)?;
        let no_such = || Error::NoSuchState { run: run.id.clone(), pointer: pointer.to_owned() };
        run.state.pointer(pointer).cloned().ok_or_else(no_such)
    }

    /// The unfinished run of this work that has no plan.
    fn open_state_run(&mut self, work: &str) -> Result<Option<RunId>> {
        let rows = self.rows(&RunFilter { work: Some(work.to_owned()), ..RunFilter::default() })?;
        let closed = [RunStatus::Completed, RunStatus::Failed, RunStatus::Archived].map(RunStatus::as_str);
        Ok(rows.into_iter().find(|row| !closed.contains(&row.status.as_str())).map(|row| row.run))
    }

    /// The run and the first that is told to it, in one commit: there is never a run without what it was begun for.
    fn begin_state_run(&mut self, started: RunStarted, first: &[Input]) -> Result<(RunId, Stepped)> {
        let (id, lease) = self.create(&started, LeaseKind::Brief)?;
        let started = RunStarted { run: id.clone(), ..started };
        let actor = actor(&self.project);
        let (_, stepped) = committer::begin(self.store()?, &lease, &started, first, (&actor, Timestamp::now()))?;
        drop(lease);
        Ok((id, stepped))
    }
}

/// Whether a run is of the project of this name. Where there is a plan the name is kept as a word of ids, which may stand for several.
pub(crate) fn is_of(item: &ListItem, wanted: &str) -> bool {
    if item.plan.is_empty() && item.title == wanted {
        return true;
    }
    item.project == wanted || !item.plan.is_empty() && ids_and_keys::word(wanted) == item.project
}

/// The input of a first save: all of the state, without its secrets.
fn first_changes(state: Map<String, Value>) -> Result<Input> {
    apart(redact::collisions::demand_apart(&state))?;
    let ends = run::ends_with(&state);
    let state = Value::Object(redact::inputs::map(state));
    let ops = patch::diff(&Value::Object(Map::new()), &state);
    Ok(Input::Posted(Posted::Change { ops, ends }))
}

/// The state that the first save makes.
fn state_after(first: &Input) -> Map<String, Value> {
    let mut state = Value::Object(Map::new());
    if let Input::Posted(Posted::Change { ops, .. }) = first {
        patch::apply(&mut state, ops).expect("changes of nothing fit nothing");
    }
    match state {
        Value::Object(state) => state,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    }
}

fn started(kind: &str, project: &str, work: &str) -> RunStarted {
    let bare = RunStarted::bare(RunId::new(""), work, no_plan(kind, project), project);
    RunStarted { plan_digest: String::new(), project: project.to_owned(), triggers: vec![Trigger::Manual], ..bare }
}

/// Whether a change must be cut together with what it changes: a secret key is kept as another one, and a text that goes on may
/// make a secret only with what stands before.
fn tells_only_as_a_whole(op: &Op, state: &Value) -> bool {
    let secret = |text: &str| matches!(redact::secrets().text(text), Cow::Owned(_));
    let grown = matches!(op, Op::Extend { .. }) && state.pointer(op.path()).and_then(Value::as_str).is_some_and(secret);
    grown || secret(op.path())
}

fn apart(names: std::result::Result<(), String>) -> Result<()> {
    names.map_err(|why| Error::Unfit { why })
}

/// Runs are found by these names: two that are cut would be one, and none would be found again.
fn demand_no_secret(what: &str, name: &str) -> Result<()> {
    let Some(secret) = redact::secret_in(name) else { return Ok(()) };
    let why = format!(
        "{what} holds {secret}, and a name cannot be cut out of what is kept; choose another one (redact.except of the \
         configuration takes a variable out)"
    );
    Err(Error::Unfit { why })
}

/// A type and a project are matched exactly, never by how they begin.
fn work_key(kind: &str, project: &str) -> String {
    ids_and_keys::work_key(
        "saved state",
        [(&"type".to_owned(), &kind.to_owned()), (&"project".to_owned(), &project.to_owned())],
    )
}

fn no_plan(kind: &str, project: &str) -> Plan {
    Plan { max_parallel: 1, ..Plan::new(project, kind) }
}
