//! From what is stored to what is read.

use std::collections::BTreeMap;

use serde_json::Value;

use super::kernel::{CheckpointHead, Fixed, Kernel, StoredPatch, bytes};
use super::model::{
    ArtifactRecord, Checkpoint, FORMAT, Knowledge, LastError, Messages, PlanGraph, Recovery, ReplanSummary, WorkContext,
};
use crate::event::{ArtifactSeen, PhaseError};
use crate::failure::FailureCode;
use crate::id::PhaseId;
use crate::patch;
use crate::run::PhaseStatus;
use crate::view::PhaseRecord;

/// Why stored bytes are not a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadDocument {
    #[error("format {0} is newer than this program, which knows up to {FORMAT}")]
    Newer(u64),
    #[error("{0}")]
    Damaged(String),
}

/// The whole document that a keyframe and the patches behind it give: what to store as the next keyframe.
pub fn keyframe(keyframe: &[u8], patches: &[Vec<u8>]) -> Result<Vec<u8>, BadDocument> {
    Ok(bytes(&document(keyframe, patches)?))
}

/// The checkpoint that a keyframe and the patches behind it give.
pub fn assemble(keyframe: &[u8], patches: &[Vec<u8>]) -> Result<Checkpoint, BadDocument> {
    let mut document = document(keyframe, patches)?;
    // The state is taken as it is: going through it a second time would take as long as reading it.
    let state = document.get_mut("state").map(Value::take).unwrap_or_default();
    let kernel: Kernel = serde_json::from_value(document).map_err(|why| BadDocument::Damaged(why.to_string()))?;
    Ok(complete(Kernel { state, ..kernel }))
}

fn document(keyframe: &[u8], patches: &[Vec<u8>]) -> Result<Value, BadDocument> {
    let damaged = |why: serde_json::Error| BadDocument::Damaged(why.to_string());
    let mut document: Value = serde_json::from_slice(keyframe).map_err(damaged)?;
    known(&document)?;
    for bytes in patches {
        let patch = read_patch(bytes)?;
        patch::apply_all(&mut document, patch.ops).map_err(|why| BadDocument::Damaged(why.to_string()))?;
    }
    Ok(document)
}

/// Reads a stored patch. A patch of a newer version is refused by its version, not for its shape.
fn read_patch(bytes: &[u8]) -> Result<StoredPatch, BadDocument> {
    let damaged = |why: serde_json::Error| BadDocument::Damaged(why.to_string());
    match serde_json::from_slice::<StoredPatch>(bytes) {
        Ok(patch) => not_newer(patch.onward).map(|()| patch),
        Err(why) => {
            known(&serde_json::from_slice(bytes).map_err(damaged)?)?;
            Err(damaged(why))
        }
    }
}

/// Newer data is refused before anything in it is believed.
fn known(document: &Value) -> Result<(), BadDocument> {
    match document.get("onward").and_then(Value::as_u64) {
        Some(version) => not_newer(version),
        None => Err(BadDocument::Damaged("it says no format version".to_owned())),
    }
}

fn not_newer(version: u64) -> Result<(), BadDocument> {
    if version <= u64::from(FORMAT) { Ok(()) } else { Err(BadDocument::Newer(version)) }
}

/// Works out everything that follows from the kernel.
fn complete(kernel: Kernel) -> Checkpoint {
    let Kernel { onward, fixed, head, phases, state } = kernel;
    let with = |status: PhaseStatus| phases.iter().filter(move |p| p.status == status).map(|p| p.id.clone());
    let state = match state {
        Value::Object(map) => map,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => serde_json::Map::new(),
    };
    Checkpoint {
        onward,
        session: None,
        label: head.status.as_str().to_owned(),
        current_phases: with(PhaseStatus::Running).collect(),
        phases_total: phases.len(),
        completed_phases: with(PhaseStatus::Completed).chain(with(PhaseStatus::Skipped)).collect(),
        state,
        replans: replans(&fixed),
        artifacts: artifacts(&phases),
        context: context(&fixed),
        issue: None,
        team: Vec::new(),
        graph: graph(&fixed, &phases),
        agents: Vec::new(),
        messages: Messages::default(),
        knowledge: Knowledge::default(),
        files_modified: Vec::new(),
        recovery: recovery(&head, &phases),
        error: last_error(&phases),
        id: head.id,
        run: fixed.run,
        seq: head.seq,
        triggers: head.triggers,
        phase: head.phase,
        name: head.name,
        created_at: head.created_at,
        kind: fixed.kind,
        project: fixed.project,
        description: fixed.description,
        run_created_at: fixed.created_at,
        updated_at: head.created_at,
        status: head.status,
        snapshot: head.snapshot,
        phases,
    }
}

fn artifacts(phases: &[PhaseRecord]) -> Vec<ArtifactRecord> {
    let of = |phase: &PhaseRecord, seen: &ArtifactSeen| ArtifactRecord {
        phase: phase.id.clone(),
        name: seen.name.clone(),
        path: seen.path.clone(),
        bytes: seen.bytes,
        digest: seen.digest.clone(),
        kept: seen.kept,
    };
    phases.iter().flat_map(|phase| phase.artifacts.iter().map(move |seen| of(phase, seen))).collect()
}

fn context(fixed: &Fixed) -> WorkContext {
    WorkContext {
        branch: fixed.branch.clone(),
        decisions: Vec::new(),
        files: Vec::new(),
        research_reports: Vec::new(),
        plan: fixed.plan.clone(),
        inputs: fixed.inputs.clone(),
    }
}

fn replans(fixed: &Fixed) -> ReplanSummary {
    let mut counts = BTreeMap::new();
    for phase in fixed.revisions.iter().filter_map(|record| record.phase.as_ref()) {
        *counts.entry(phase.to_string()).or_default() += 1;
    }
    ReplanSummary { history: fixed.revisions.clone(), counts }
}

fn graph(fixed: &Fixed, phases: &[PhaseRecord]) -> PlanGraph {
    let nodes: BTreeMap<PhaseId, PhaseStatus> = phases.iter().map(|phase| (phase.id.clone(), phase.status)).collect();
    let finished = |id: &PhaseId| matches!(nodes.get(id), Some(PhaseStatus::Completed | PhaseStatus::Skipped));
    let batches_completed = fixed.batches.iter().filter(|batch| batch.iter().all(finished)).count();
    PlanGraph { batches: fixed.batches.clone(), batches_completed, nodes }
}

fn recovery(head: &CheckpointHead, phases: &[PhaseRecord]) -> Recovery {
    let begun =
        |p: &&PhaseRecord| !matches!(p.status, PhaseStatus::Pending | PhaseStatus::Completed | PhaseStatus::Skipped);
    let mut from: Vec<PhaseId> = phases.iter().filter(begun).map(|phase| phase.id.clone()).collect();
    if from.is_empty() {
        from.extend(phases.iter().find(|p| p.status == PhaseStatus::Pending).map(|p| p.id.clone()));
    }
    let doubt = phases.iter().filter(|phase| phase.in_doubt);
    Recovery {
        can_resume: head.can_resume,
        resume_from: from,
        prerequisites: Vec::new(),
        warnings: doubt.map(|p| format!("nobody knows whether the effect of {} happened", p.id)).collect(),
    }
}

fn last_error(phases: &[PhaseRecord]) -> Option<LastError> {
    let failed = phases.iter().filter(|phase| phase.error.is_some());
    let phase = failed.max_by_key(|phase| phase.ended_at)?;
    let error = PhaseError {
        code: phase.error_code.unwrap_or(FailureCode::Unknown),
        message: phase.error.clone().unwrap_or_default(),
    };
    Some(LastError { phase: phase.id.clone(), error })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A patch was written by a later version, once in a form that looks like ours and once in its own. Both are refused
    /// by their version; what says no version at all is damaged.
    #[test]
    fn a_later_patch_is_refused_by_its_version() {
        for text in [r#"{"onward": 7, "ops": []}"#, r#"{"onward": 7, "ops": [{"op": "move"}], "more": 1}"#] {
            assert_eq!(read_patch(text.as_bytes()).map(drop), Err(BadDocument::Newer(7)), "{text}");
        }
        assert!(read_patch(br#"{"onward": 0, "ops": []}"#).is_ok());
        for text in [r#"{"ops": []}"#, r#"{"onward": 0}"#, "[]", ""] {
            assert!(matches!(read_patch(text.as_bytes()), Err(BadDocument::Damaged(_))), "{text}");
        }
    }
}
