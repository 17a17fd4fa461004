//! The fold cache: a run as bytes, so that opening it costs the cache and the events behind it, not the whole journal.
//!
//! Private and dispensable: it may be dropped at any time, and what does not fit this version exactly is as good as
//! none. Nothing derived is in it; that is worked out anew. All but the start of the run is told apart by
//! place alone, so nothing of it may leave a field out when it is written.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::index::PlanIndex;
use super::limits::Limits;
use super::replans::Replans;
use super::state::{Dirty, Due, Kill, PhaseState, Run};
use super::vcs::Vcs;
use crate::checkpoint::Behind;
use crate::data_limits::json_bytes;
use crate::event::{Orphans, RunResult, RunStarted, StopBy};
use crate::id::{CheckpointId, PhaseId, Seq};
use crate::mutant::{self, Mutant};
use crate::naming::IdTry;
use crate::seen::LastLook;

/// Raised with every change of the fold or of what is kept here.
pub const FOLD_VERSION: u32 = 10;

#[derive(Serialize)]
struct Out<'a> {
    seq: Seq,
    created_at: Timestamp,
    updated_at: Timestamp,
    archived: bool,
    result: Option<RunResult>,
    stop: Option<(StopBy, Kill)>,
    stop_asked_at: Option<Timestamp>,
    stopped: Option<StopBy>,
    epoch: u64,
    boot: &'a str,
    jobs: Option<u32>,
    orphans: Orphans,
    last_checkpoint: &'a Option<CheckpointId>,
    only: &'a Option<PhaseId>,
    main_ended: Option<RunResult>,
    look: Option<&'a LastLook>,
    removed: &'a BTreeMap<PhaseId, PhaseState>,
    whole_is_due: bool,
    state: &'a Value,
    dirty: &'a Dirty,
    phases: &'a [PhaseState],
    vcs: &'a Vcs,
    replans: &'a Replans,
    limits: &'a Limits,
    due: &'a VecDeque<Due>,
    settled_last: &'a Option<PhaseId>,
    batches_recorded: &'a BTreeSet<u32>,
}

#[derive(Deserialize)]
struct In {
    seq: Seq,
    created_at: Timestamp,
    updated_at: Timestamp,
    archived: bool,
    result: Option<RunResult>,
    stop: Option<(StopBy, Kill)>,
    stop_asked_at: Option<Timestamp>,
    stopped: Option<StopBy>,
    epoch: u64,
    boot: String,
    jobs: Option<u32>,
    orphans: Orphans,
    last_checkpoint: Option<CheckpointId>,
    only: Option<PhaseId>,
    main_ended: Option<RunResult>,
    look: Option<LastLook>,
    removed: BTreeMap<PhaseId, PhaseState>,
    whole_is_due: bool,
    state: Value,
    dirty: Dirty,
    phases: Vec<PhaseState>,
    vcs: Vcs,
    replans: Replans,
    limits: Limits,
    due: VecDeque<Due>,
    settled_last: Option<PhaseId>,
    batches_recorded: BTreeSet<u32>,
}

/// A run as bytes.
pub fn encode(run: &Run) -> Vec<u8> {
    let out = Out {
        seq: run.seq,
        created_at: run.created_at,
        updated_at: run.updated_at,
        archived: run.archived,
        result: run.result,
        stop: run.stop,
        stop_asked_at: run.stop_asked_at,
        stopped: run.stopped,
        epoch: run.epoch,
        boot: &run.boot,
        jobs: run.jobs,
        orphans: run.orphans,
        last_checkpoint: &run.last_checkpoint,
        only: &run.only,
        main_ended: run.main_ended,
        look: run.look.as_deref(),
        removed: &run.removed,
        whole_is_due: run.whole_is_due,
        state: &run.state,
        dirty: &run.dirty,
        phases: &run.phases,
        vcs: &run.vcs,
        replans: &run.replans,
        limits: &run.limits,
        due: &run.due,
        settled_last: &run.settled_last,
        batches_recorded: &run.batches_recorded,
    };
    // Its fields are told apart by name, since a plan leaves out what it does not say.
    let started = rmp_serde::to_vec_named(&*run.started).expect("plain data");
    let rest = rmp_serde::to_vec(&out).expect("plain data");
    [&(started.len() as u64).to_le_bytes(), started.as_slice(), rest.as_slice()].concat()
}

/// The run that the bytes hold; none if they are not exactly what [`encode`] of this version gives.
pub fn decode(bytes: &[u8]) -> Option<Run> {
    let (length, bytes) = bytes.split_first_chunk::<8>()?;
    let (started, rest) = bytes.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
    let started: RunStarted = rmp_serde::from_slice(started).ok()?;
    let read: In = rmp_serde::from_slice(rest).ok()?;
    if read.phases.len() != started.plan.phases.len() {
        return None;
    }
    let index = Arc::new(PlanIndex::new(&started.plan));
    let mut run = Run {
        id: started.run.clone(),
        seq: read.seq,
        created_at: read.created_at,
        updated_at: read.updated_at,
        archived: read.archived,
        result: read.result,
        stop: read.stop,
        stop_asked_at: read.stop_asked_at,
        stopped: read.stopped,
        epoch: read.epoch,
        boot: read.boot,
        jobs: read.jobs,
        orphans: read.orphans,
        last_checkpoint: read.last_checkpoint,
        only: read.only,
        main_ended: read.main_ended,
        look: read.look.map(Arc::new),
        removed: read.removed,
        whole_is_due: read.whole_is_due,
        state_bytes: json_bytes(&read.state),
        state: read.state,
        dirty: if mutant::is(Mutant::ForgetWhatIsDirty) { Dirty::default() } else { read.dirty },
        behind: Behind::default(),
        ids: IdTry::FIRST,
        phases: read.phases,
        vcs: read.vcs,
        replans: read.replans,
        limits: read.limits,
        due: read.due,
        settled_last: read.settled_last,
        ready: BTreeSet::new(),
        delayed: BTreeSet::new(),
        running: BTreeSet::new(),
        in_doubt: BTreeSet::new(),
        probing: BTreeSet::new(),
        for_others: BTreeSet::new(),
        people: BTreeSet::new(),
        with_error: BTreeSet::new(),
        turns: Vec::new(),
        to_skip: BTreeSet::new(),
        to_open: BTreeSet::new(),
        batch_left: Vec::new(),
        batches_recorded: read.batches_recorded,
        finished: 0,
        failed: 0,
        index,
        started: Arc::new(started),
    };
    run.derive();
    Some(run)
}
