//! Assembles the document of a checkpoint from its stored parts.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::kernel::{CheckpointHead, Fixed, Kernel, StoredPatch, bytes};
use super::model::{
    ArtifactRecord, Checkpoint, FORMAT, Knowledge, LastError, Messages, PlanGraph, Recovery, ReplanSummary, WorkContext,
};
use super::sections::{AgentMessage, KnowledgeState, Sections};
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
    let Kernel { onward, fixed, head, phases, sections, state } = kernel;
    let with = |status: PhaseStatus| phases.iter().filter(move |p| p.status == status).map(|p| p.id.clone());
    let state = match state {
        Value::Object(map) => map,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => serde_json::Map::new(),
    };
    Checkpoint {
        onward,
        session: sections.session.clone(),
        label: sections.label.clone().unwrap_or_else(|| head.status.as_str().to_owned()),
        current_phases: with(PhaseStatus::Running).collect(),
        phases_total: phases.len(),
        completed_phases: with(PhaseStatus::Completed).chain(with(PhaseStatus::Skipped)).collect(),
        state,
        replans: replans(&fixed, &sections),
        artifacts: artifacts(&phases),
        context: context(&fixed, &phases, &sections),
        artifact_paths: sections.artifact_paths.clone(),
        issue: sections.issue.clone(),
        team: sections.team.clone(),
        graph: graph(&fixed, &phases),
        agents: sections.agents.clone(),
        messages: messages(&sections),
        knowledge: knowledge(&sections),
        files_modified: sections.files_modified.values().cloned().collect(),
        recovery: recovery(&head, &phases, &sections),
        error: last_error(&phases, &sections),
        imported: sections.imported.clone(),
        sections,
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

fn context(fixed: &Fixed, phases: &[PhaseRecord], sections: &Sections) -> WorkContext {
    let told = &sections.context;
    let left_behind = phases.iter().flat_map(|phase| &phase.artifacts).map(|seen| &seen.path);
    let reports = phases.iter().flat_map(|phase| &phase.artifacts).filter(|seen| seen.report).map(|seen| &seen.path);
    WorkContext {
        branch: fixed.branch.clone(),
        decisions: sections.decisions.clone(),
        files: each_once(told.files.iter().chain(left_behind)),
        research_reports: each_once(told.research_reports.iter().chain(reports)),
        plan: fixed.plan.clone(),
        plan_metadata: told.plan.clone(),
        inputs: fixed.inputs.clone(),
    }
}

fn each_once<'a>(all: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut known = BTreeSet::new();
    all.filter(|one| known.insert(*one)).cloned().collect()
}

fn messages(sections: &Sections) -> Messages {
    let ids = |wanted: fn(&AgentMessage) -> bool| -> Vec<String> {
        sections.messages.iter().filter(|message| wanted(message)).map(|message| message.id.clone()).collect()
    };
    Messages {
        pending: ids(|message| message.pending),
        awaiting: ids(|message| message.awaits_response),
        sent: sections.messages.clone(),
        conflicts: sections.conflicts.clone(),
    }
}

fn knowledge(sections: &Sections) -> Knowledge {
    let ids = |state: KnowledgeState| -> Vec<String> {
        sections.knowledge.iter().filter(|entry| entry.state == state).map(|entry| entry.id.clone()).collect()
    };
    Knowledge {
        injected: ids(KnowledgeState::Injected),
        captured: ids(KnowledgeState::Captured),
        pending: ids(KnowledgeState::Pending),
        entries: sections.knowledge.clone(),
    }
}

fn replans(fixed: &Fixed, sections: &Sections) -> ReplanSummary {
    let mut counts = sections.earlier_revisions.clone();
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

fn recovery(head: &CheckpointHead, phases: &[PhaseRecord], sections: &Sections) -> Recovery {
    let is_finished = |status: PhaseStatus| matches!(status, PhaseStatus::Completed | PhaseStatus::Skipped);
    let finished: BTreeSet<&PhaseId> = phases.iter().filter(|p| is_finished(p.status)).map(|p| &p.id).collect();
    let goes_on = |phase: &&PhaseRecord| match phase.status {
        PhaseStatus::Completed | PhaseStatus::Skipped => false,
        PhaseStatus::Running | PhaseStatus::Waiting | PhaseStatus::Failed | PhaseStatus::Interrupted => true,
        PhaseStatus::Pending => phase.needs.iter().all(|need| finished.contains(need)),
    };
    let doubt = phases.iter().filter(|phase| phase.in_doubt);
    let doubt = doubt.map(|p| format!("nobody knows whether the effect of {} happened", p.id));
    let told = &sections.recovery;
    Recovery {
        can_resume: head.can_resume,
        resume_from: phases.iter().filter(goes_on).map(|phase| phase.id.clone()).collect(),
        prerequisites: told.prerequisites.clone(),
        prerequisites_met: told.prerequisites.iter().all(|prerequisite| prerequisite.met),
        warnings: told.warnings.iter().cloned().chain(doubt).collect(),
    }
}

fn last_error(phases: &[PhaseRecord], sections: &Sections) -> Option<LastError> {
    let failed = phases.iter().filter(|phase| phase.error.is_some());
    let of_a_phase = failed.max_by_key(|phase| phase.ended_at).map(|phase| {
        let (code, message) = (phase.error_code.unwrap_or(FailureCode::Unknown), phase.error.clone());
        LastError { phase: Some(phase.id.clone()), error: PhaseError { code, message: message.unwrap_or_default() } }
    });
    let of_none = || {
        let message = sections.recovery.last_error.clone()?;
        Some(LastError { phase: None, error: PhaseError { code: FailureCode::Unknown, message } })
    };
    of_a_phase.or_else(of_none)
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
