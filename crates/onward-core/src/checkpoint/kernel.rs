//! What a checkpoint stores: nothing that can be worked out from the rest.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::model::{CheckpointMeta, FORMAT, PlanReference, Trigger};
use crate::id::{CheckpointId, PhaseId, RunId, Seq};
use crate::patch::{self, Op};
use crate::run::{Run, RunStatus};
use crate::view::{self, PhaseRecord};

/// The stored document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kernel {
    /// The format version.
    pub onward: u32,
    pub fixed: Fixed,
    pub head: Head,
    pub phases: Vec<PhaseRecord>,
    pub state: Value,
}

/// What stays the same as long as the run lives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fixed {
    pub run: RunId,
    #[serde(rename = "type")]
    pub kind: String,
    pub project: String,
    pub description: Option<String>,
    pub created_at: Timestamp,
    pub branch: Option<String>,
    pub plan: PlanReference,
    pub inputs: BTreeMap<String, String>,
    pub batches: Vec<Vec<PhaseId>>,
}

/// What is new in every checkpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Head {
    pub id: CheckpointId,
    pub seq: Seq,
    pub triggers: Vec<Trigger>,
    pub phase: Option<PhaseId>,
    pub name: Option<String>,
    pub created_at: Timestamp,
    pub status: RunStatus,
    pub can_resume: bool,
}

/// A checkpoint that is about to be stored.
#[derive(Clone, Debug)]
pub struct Taken {
    pub id: CheckpointId,
    pub seq: Seq,
    pub meta: CheckpointMeta,
    pub content: Content,
}

/// The bytes of a checkpoint: all of it, or what changed since the one before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    Whole(Vec<u8>),
    Patch(Vec<u8>),
}

/// A patch as it is stored, with its version.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredPatch {
    pub(super) onward: u32,
    pub(super) ops: Vec<Op>,
}

/// The checkpoint of a run at `head`, which is the very next position. The first one of a run is whole.
pub fn taken(run: &Run, head: Head) -> Taken {
    let meta = CheckpointMeta {
        triggers: head.triggers.clone(),
        phase: head.phase.clone(),
        created_at: head.created_at,
        name: head.name.clone(),
        can_resume: head.can_resume,
    };
    let (id, seq) = (head.id.clone(), head.seq);
    let content = match (&run.last_checkpoint, run.whole_is_due) {
        (None, _) | (_, true) => Content::Whole(bytes(&whole(run, head))),
        (Some(_), false) => Content::Patch(bytes(&StoredPatch { onward: FORMAT, ops: changes(run, &head) })),
    };
    Taken { id, seq, meta, content }
}

/// The whole kernel of a run.
pub fn whole(run: &Run, head: Head) -> Kernel {
    let started = &run.started;
    Kernel {
        onward: FORMAT,
        fixed: Fixed {
            run: run.id.clone(),
            kind: started.plan.kind.clone(),
            project: started.project.clone(),
            description: started.plan.description.clone(),
            created_at: run.created_at,
            branch: started.branch.clone(),
            plan: PlanReference {
                name: started.plan.name.clone(),
                path: started.plan_path.clone(),
                digest: started.plan_digest.clone(),
            },
            inputs: started.inputs.clone(),
            batches: run.batches(),
        },
        head,
        phases: run.phases().map(|(phase, state)| view::phase_record(phase, state)).collect(),
        state: run.state.clone(),
    }
}

/// What changed since the last checkpoint.
fn changes(run: &Run, head: &Head) -> Vec<Op> {
    let mut ops = vec![Op::Set { path: "/head".to_owned(), value: json!(head) }];
    for (at, phase, state) in run.dirty_phases() {
        ops.push(Op::Set { path: format!("/phases/{at}"), value: json!(view::phase_record(phase, state)) });
    }
    ops.extend(patch::below("/state", run.dirty_state()));
    ops
}

pub(super) fn bytes<T: Serialize>(value: &T) -> Vec<u8> {
    serde_json::to_vec(value).expect("a document has only string keys")
}
