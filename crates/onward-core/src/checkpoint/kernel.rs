//! The stored form of a checkpoint: nothing that can be worked out from the rest.

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::model::{CheckpointMeta, FORMAT, KeptTree, PlanReference, Trigger};
use super::sections::Sections;
use crate::id::{CheckpointId, PhaseId, RunId, Seq};
use crate::patch::{Below, Op};
use crate::read_back::{self, Part};
use crate::replan::RevisionRecord;
use crate::run::{Run, RunStatus};
use crate::view::{self, PhaseRecord};

/// The stored document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kernel {
    /// The format version.
    pub onward: u32,
    pub fixed: Fixed,
    pub head: CheckpointHead,
    pub phases: Vec<PhaseRecord>,
    pub sections: Sections,
    pub state: Value,
}

/// The part of a checkpoint that stays the same as long as the run lives.
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
    /// How the plan became what it is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub revisions: Vec<RevisionRecord>,
}

/// The part of a checkpoint that is new each time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckpointHead {
    pub id: CheckpointId,
    pub seq: Seq,
    pub triggers: Vec<Trigger>,
    pub phase: Option<PhaseId>,
    pub name: Option<String>,
    pub created_at: Timestamp,
    pub status: RunStatus,
    pub can_resume: bool,
    #[serde(default)]
    pub snapshot: Option<KeptTree>,
}

/// A checkpoint that is about to be stored.
#[derive(Clone, Debug)]
pub struct NewCheckpointDocument {
    pub id: CheckpointId,
    pub seq: Seq,
    pub meta: CheckpointMeta,
    pub content: CheckpointBytes,
}

/// The bytes of a checkpoint: all of it, or what changed since the one before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckpointBytes {
    Whole(Vec<u8>),
    Patch(Vec<u8>),
}

/// A patch as it is stored, with its version.
#[derive(Deserialize)]
pub(super) struct StoredPatch {
    pub(super) onward: u64,
    pub(super) ops: Vec<Op>,
}

/// Documents up to this size are written anew on the commit path: it takes less than handing them to somebody else.
const WHOLE_AT_ONCE_BYTES_MAX: u64 = 16 * 1024;

/// Where the free-form state stands in the document.
const STATE: &str = "/state";
/// Where the sections stand in the document.
const SECTIONS: &str = "/sections";

/// The cost of reading the newest checkpoint (last whole document and the patches after it), as far as this process
/// knows it.
#[derive(Clone, Copy, Default)]
pub struct PatchDebt {
    /// How long the last whole document is; 0 as long as that is not known.
    pub whole_bytes: u64,
    /// How long the patches behind it are together.
    pub patch_bytes: u64,
}

/// Runs are compared by what they show, and this is no part of what a journal tells.
impl fmt::Debug for PatchDebt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Behind").finish_non_exhaustive()
    }
}

impl PatchDebt {
    /// Once the patches weigh as much as the document, writing a small one anew at most doubles what is written, and no
    /// reader goes through more than that.
    fn is_whole_due(self) -> bool {
        let is_small = self.whole_bytes + self.patch_bytes <= WHOLE_AT_ONCE_BYTES_MAX;
        self.whole_bytes > 0 && self.patch_bytes >= self.whole_bytes && is_small
    }

    /// The cost of reading once this content is stored as well.
    #[must_use]
    pub fn then(self, content: &CheckpointBytes) -> Self {
        match content {
            CheckpointBytes::Whole(bytes) => Self { whole_bytes: bytes.len() as u64, patch_bytes: 0 },
            CheckpointBytes::Patch(bytes) => Self { patch_bytes: self.patch_bytes + bytes.len() as u64, ..self },
        }
    }
}

/// The checkpoint of a run at `head`, which is the very next position. The first one of a run is whole, and so is one
/// now and then as long as they are small.
pub fn taken(run: &Run, head: CheckpointHead) -> NewCheckpointDocument {
    let meta = CheckpointMeta {
        triggers: head.triggers.clone(),
        phase: head.phase.clone(),
        batch: head.triggers.contains(&Trigger::BatchComplete).then(|| batch_of(run, head.phase.as_ref())).flatten(),
        created_at: head.created_at,
        name: head.name.clone(),
        can_resume: head.can_resume,
        snapshot: head.snapshot.clone(),
    };
    let (id, seq) = (head.id.clone(), head.seq);
    let content = if run.last_checkpoint.is_none() || run.whole_is_due || run.behind.is_whole_due() {
        CheckpointBytes::Whole(bytes(&WholeOut { beside: &beside(run, head), state: &run.state }))
    } else {
        CheckpointBytes::Patch(changes(run, &head))
    };
    NewCheckpointDocument { id, seq, meta, content }
}

/// The wave of the plan that a phase is in, from 1.
fn batch_of(run: &Run, phase: Option<&PhaseId>) -> Option<u32> {
    let phase = phase?;
    let at = run.batches().iter().position(|batch| batch.contains(phase))?;
    u32::try_from(at + 1).ok()
}

/// [`Kernel`] without the state, which may be large.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Beside {
    onward: u32,
    fixed: Fixed,
    head: CheckpointHead,
    phases: Vec<PhaseRecord>,
    sections: Sections,
}

/// [`Kernel`] on its way out, without a copy of the state.
#[derive(Serialize)]
struct WholeOut<'a> {
    #[serde(flatten)]
    beside: &'a Beside,
    state: &'a Value,
}

/// The whole kernel of a run.
pub fn whole(run: &Run, head: CheckpointHead) -> Kernel {
    let Beside { onward, fixed, head, phases, sections } = beside(run, head);
    Kernel { onward, fixed, head, phases, sections, state: run.state.clone() }
}

fn beside(run: &Run, head: CheckpointHead) -> Beside {
    let started = &run.started;
    Beside {
        onward: FORMAT,
        fixed: Fixed {
            run: run.id.clone(),
            kind: started.plan.kind.clone(),
            project: started.project.clone(),
            description: started.plan.description.clone(),
            created_at: run.created_at,
            branch: run.branch().map(str::to_owned),
            plan: PlanReference {
                name: started.plan.name.clone(),
                path: started.plan_path.clone(),
                digest: started.plan_digest.clone(),
            },
            inputs: started.inputs.clone(),
            batches: run.batches(),
            revisions: run.replans.history().to_vec(),
        },
        head,
        phases: run.phases().map(|(phase, state)| view::phase_record(phase, state)).collect(),
        sections: run.sections().clone(),
    }
}

/// The patch that is stored: what changed since the last checkpoint. What changed of the state may be large, so nothing
/// of it is copied on the way.
fn changes(run: &Run, head: &CheckpointHead) -> Vec<u8> {
    let beside = beside_the_state(run, head);
    bytes(&PatchOut { onward: FORMAT, ops: below(run, &beside) })
}

/// The changes outside the free-form state: few.
fn beside_the_state(run: &Run, head: &CheckpointHead) -> Vec<Op> {
    let mut ops = vec![Op::Set { path: "/head".to_owned(), value: json!(head) }];
    if run.vcs.branch_moved {
        ops.push(Op::Set { path: "/fixed/branch".to_owned(), value: json!(run.branch()) });
    }
    for (at, phase, state) in run.dirty_phases() {
        ops.push(Op::Set { path: format!("/phases/{at}"), value: json!(view::phase_record(phase, state)) });
    }
    ops
}

/// Whether the bytes of a checkpoint of `run` at `head` say what they were made from. Costs what they cost to read; nothing of
/// the state is copied.
pub fn reads_back(run: &Run, head: &CheckpointHead, content: &CheckpointBytes) -> Result<(), String> {
    let unreadable = |why: String| format!("its checkpoint could not be read again: {why}");
    match content {
        CheckpointBytes::Whole(bytes) => {
            let read: Beside = serde_json::from_slice(bytes).map_err(|why| unreadable(why.to_string()))?;
            if read != beside(run, head.clone()) {
                return Err("its checkpoint would be read as something else".to_owned());
            }
            let members = ["onward", "fixed", "head", "phases", "sections"].map(|name| (name, Part::Anything));
            let state = ("state", Part::Value(&run.state));
            read_back::demand(bytes, &Part::Object(members.into_iter().chain([state]).collect())).map_err(unreadable)
        }
        CheckpointBytes::Patch(bytes) => {
            let beside = beside_the_state(run, head);
            let parts = vec![("onward", Part::Number(FORMAT.into())), ("ops", Part::Changes(below(run, &beside)))];
            read_back::demand(bytes, &Part::Object(parts)).map_err(unreadable)
        }
    }
}

/// All changes since the last checkpoint, as changes of the document.
fn below<'a>(run: &'a Run, beside: &'a [Op]) -> Vec<Below<'a>> {
    let state = run.dirty_state().iter().map(|op| Below { parent: STATE, op });
    let sections = run.dirty_sections().iter().map(|op| Below { parent: SECTIONS, op });
    beside.iter().map(|op| Below { parent: "", op }).chain(sections).chain(state).collect()
}

/// [`StoredPatch`] on its way out.
#[derive(Serialize)]
struct PatchOut<'a> {
    onward: u32,
    ops: Vec<Below<'a>>,
}

pub(super) fn bytes<T: Serialize>(value: &T) -> Vec<u8> {
    serde_json::to_vec(value).expect("a document has only string keys")
}
