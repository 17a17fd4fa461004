//! Checkpoints: the run as it stood at a position of its journal, as a document for people and other tools.

mod model;

pub use model::*;

use jiff::Timestamp;

use crate::id::{CheckpointId, PhaseId};
use crate::run::{PhaseState, PhaseStatus, Run};
use crate::view;

/// The document of a checkpoint that was just recorded.
pub fn of(
    run: &Run,
    id: &CheckpointId,
    triggers: &[Trigger],
    phase: Option<&PhaseId>,
    name: Option<&str>,
    now: Timestamp,
) -> Checkpoint {
    let started = &run.started;
    let open = |status: PhaseStatus| run.phases().filter(move |(_, s)| s.status == status).map(|(p, _)| p.id.clone());
    Checkpoint {
        onward: FORMAT,
        id: id.clone(),
        run: run.id.clone(),
        seq: run.seq,
        triggers: triggers.to_vec(),
        phase: phase.cloned(),
        name: name.map(str::to_owned),
        created_at: now,
        session: None,
        label: run.status().as_str().to_owned(),
        kind: started.plan.kind.clone(),
        project: started.project.clone(),
        description: started.plan.description.clone(),
        run_created_at: run.created_at,
        updated_at: run.updated_at,
        status: run.status(),
        current_phases: open(PhaseStatus::Running).collect(),
        phases_total: run.phases_total(),
        completed_phases: open(PhaseStatus::Completed).chain(open(PhaseStatus::Skipped)).collect(),
        phases: run.phases().map(|(phase, state)| view::phase_record(phase, state)).collect(),
        state: serde_json::Map::new(),
        replans: Replans::default(),
        artifacts: Vec::new(),
        context: Context {
            branch: started.branch.clone(),
            decisions: Vec::new(),
            files: Vec::new(),
            research_reports: Vec::new(),
            plan: PlanReference {
                name: started.plan.name.clone(),
                path: started.plan_path.clone(),
                digest: started.plan_digest.clone(),
            },
            inputs: started.inputs.clone(),
        },
        issue: None,
        team: Vec::new(),
        graph: graph(run),
        agents: Vec::new(),
        messages: Messages::default(),
        knowledge: Knowledge::default(),
        files_modified: Vec::new(),
        recovery: recovery(run),
        error: run.error().map(|(phase, error)| LastError { phase: phase.clone(), error: error.clone() }),
    }
}

fn graph(run: &Run) -> Graph {
    Graph {
        batches: run.batches(),
        batches_completed: run.batches_completed(),
        nodes: run.phases().map(|(phase, state)| (phase.id.clone(), state.status)).collect(),
    }
}

fn recovery(run: &Run) -> Recovery {
    let next = |state: &PhaseState| !state.is_finished() && state.status != PhaseStatus::Pending;
    let mut from: Vec<PhaseId> = run.phases().filter(|(_, s)| next(s)).map(|(p, _)| p.id.clone()).collect();
    if from.is_empty() {
        from.extend(run.phases().find(|(_, s)| s.status == PhaseStatus::Pending).map(|(p, _)| p.id.clone()));
    }
    let doubt = run.in_doubt().map(|phase| format!("nobody knows whether the effect of {phase} happened"));
    Recovery {
        can_resume: run.is_unfinished(),
        resume_from: from,
        prerequisites: Vec::new(),
        warnings: doubt.collect(),
    }
}
