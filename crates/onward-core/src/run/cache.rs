//! The fold cache: a run as bytes, so that opening it costs the cache and the events behind it, not the whole journal.
//!
//! Private and dispensable: it may be dropped at any time, and what does not fit this version exactly is as good as
//! none. Nothing derived is in it; that is worked out anew. Fields are told apart by their place alone, so nothing that
//! is kept here may leave a field out when it is written.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::index::PlanIndex;
use super::state::{Dirty, Kill, PhaseState, Run};
use crate::checkpoint::Trigger;
use crate::event::{Orphans, RunResult, RunStarted, StopBy};
use crate::id::{CheckpointId, PhaseId, Seq};
use crate::mutant::{self, Mutant};
use crate::seen::LastLook;

/// Raised with every change of the fold or of what is kept here.
pub const FOLD_VERSION: u32 = 2;

#[derive(Serialize)]
struct Out<'a> {
    seq: Seq,
    started: &'a RunStarted,
    created_at: Timestamp,
    updated_at: Timestamp,
    archived: bool,
    result: Option<RunResult>,
    stop: Option<(StopBy, Kill)>,
    stopped: Option<StopBy>,
    epoch: u64,
    boot: &'a str,
    jobs: Option<u32>,
    orphans: Orphans,
    last_checkpoint: &'a Option<CheckpointId>,
    only: &'a Option<PhaseId>,
    look: Option<&'a LastLook>,
    removed: &'a BTreeMap<PhaseId, PhaseState>,
    whole_is_due: bool,
    state: &'a Value,
    dirty: &'a Dirty,
    phases: &'a [PhaseState],
    due: &'a [Trigger],
    due_phase: &'a Option<PhaseId>,
    due_name: &'a Option<String>,
    batches_recorded: &'a BTreeSet<u32>,
}

#[derive(Deserialize)]
struct In {
    seq: Seq,
    started: RunStarted,
    created_at: Timestamp,
    updated_at: Timestamp,
    archived: bool,
    result: Option<RunResult>,
    stop: Option<(StopBy, Kill)>,
    stopped: Option<StopBy>,
    epoch: u64,
    boot: String,
    jobs: Option<u32>,
    orphans: Orphans,
    last_checkpoint: Option<CheckpointId>,
    only: Option<PhaseId>,
    look: Option<LastLook>,
    removed: BTreeMap<PhaseId, PhaseState>,
    whole_is_due: bool,
    state: Value,
    dirty: Dirty,
    phases: Vec<PhaseState>,
    due: Vec<Trigger>,
    due_phase: Option<PhaseId>,
    due_name: Option<String>,
    batches_recorded: BTreeSet<u32>,
}

/// A run as bytes.
pub fn encode(run: &Run) -> Vec<u8> {
    let out = Out {
        seq: run.seq,
        started: &run.started,
        created_at: run.created_at,
        updated_at: run.updated_at,
        archived: run.archived,
        result: run.result,
        stop: run.stop,
        stopped: run.stopped,
        epoch: run.epoch,
        boot: &run.boot,
        jobs: run.jobs,
        orphans: run.orphans,
        last_checkpoint: &run.last_checkpoint,
        only: &run.only,
        look: run.look.as_deref(),
        removed: &run.removed,
        whole_is_due: run.whole_is_due,
        state: &run.state,
        dirty: &run.dirty,
        phases: &run.phases,
        due: &run.due,
        due_phase: &run.due_phase,
        due_name: &run.due_name,
        batches_recorded: &run.batches_recorded,
    };
    rmp_serde::to_vec(&out).expect("plain data")
}

/// The run that the bytes hold; none if they are not exactly what [`encode`] of this version gives.
pub fn decode(bytes: &[u8]) -> Option<Run> {
    let read: In = rmp_serde::from_slice(bytes).ok()?;
    if read.phases.len() != read.started.plan.phases.len() {
        return None;
    }
    let index = Arc::new(PlanIndex::new(&read.started.plan));
    let mut run = Run {
        id: read.started.run.clone(),
        seq: read.seq,
        created_at: read.created_at,
        updated_at: read.updated_at,
        archived: read.archived,
        result: read.result,
        stop: read.stop,
        stopped: read.stopped,
        epoch: read.epoch,
        boot: read.boot,
        jobs: read.jobs,
        orphans: read.orphans,
        last_checkpoint: read.last_checkpoint,
        only: read.only,
        look: read.look.map(Arc::new),
        removed: read.removed,
        whole_is_due: read.whole_is_due,
        state: read.state,
        dirty: if mutant::is(Mutant::ForgetWhatIsDirty) { Dirty::default() } else { read.dirty },
        phases: read.phases,
        due: read.due,
        due_phase: read.due_phase,
        due_name: read.due_name,
        ready: BTreeSet::new(),
        delayed: BTreeSet::new(),
        running: BTreeSet::new(),
        in_doubt: BTreeSet::new(),
        probing: BTreeSet::new(),
        with_error: BTreeSet::new(),
        unmet: Vec::new(),
        batch_left: Vec::new(),
        batches_recorded: read.batches_recorded,
        finished: 0,
        failed: 0,
        index,
        started: Arc::new(read.started),
    };
    run.derive();
    Some(run)
}
