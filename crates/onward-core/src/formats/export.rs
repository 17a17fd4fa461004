//! From a checkpoint to a document of another format.

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::merge::merged;
use super::model::{BadFile, TakenRun};
use super::{checkpoint_form, crunch, pipeline_state, read, validate, workflow};
use crate::checkpoint::{self, Checkpoint, CheckpointHead, FileFormat};
use crate::id::RunId;
use crate::ids_and_keys;
use crate::input::Input;
use crate::plan::{Need, Phase};
use crate::run::{self, Run};

/// The run as a checkpoint would show it now.
pub fn as_it_stands(run: &Run) -> Checkpoint {
    let phase = run.in_hand().cloned();
    let id = run.last_checkpoint.clone();
    let head = CheckpointHead {
        id: id
            .unwrap_or_else(|| ids_and_keys::checkpoint_id(&run.id, phase.as_ref(), run.seq, run.updated_at, run.ids)),
        seq: run.seq,
        triggers: Vec::new(),
        phase,
        name: None,
        created_at: run.updated_at,
        status: run.status(),
        can_resume: run.is_unfinished() && !run.sections().recovery.forbidden,
        snapshot: None,
    };
    let whole = serde_json::to_vec(&checkpoint::whole(run, head)).expect("a document has only string keys");
    checkpoint::assemble(&whole, &[]).expect("it was written a moment ago")
}

/// The document of a checkpoint in a format. What was imported in that format comes out with all that it said.
pub fn export(checkpoint: &Checkpoint, format: FileFormat) -> Result<Map<String, Value>, BadFile> {
    let now = write(checkpoint, format);
    let imported = checkpoint.imported.as_ref().filter(|imported| imported.format == format);
    let Some(imported) = imported else {
        validate::own(&now, format)?;
        return Ok(now);
    };
    let document = &imported.document;
    let taken = read(document.clone(), "", checkpoint.run_created_at)?;
    // This moment is the file's own; what came later may have changed the plan around it.
    if taken.step.checkpoint.as_ref() == Some(&checkpoint.id) && taken.updated_at == checkpoint.created_at {
        return Ok(document.clone());
    }
    let base = write(&standing(&taken, checkpoint), format);
    let mut all = merged(document, &base, &now);
    if format == FileFormat::PipelineState {
        pipeline_state::carry(&mut all, document);
    }
    Ok(all)
}

fn write(checkpoint: &Checkpoint, format: FileFormat) -> Map<String, Value> {
    match format {
        FileFormat::Workflow => workflow::write(checkpoint),
        FileFormat::Checkpoint => checkpoint_form::write(checkpoint),
        FileFormat::PipelineState => pipeline_state::write(checkpoint),
        FileFormat::Crunch => crunch::write(checkpoint),
    }
}

/// The state of a pipeline that has not begun, on this branch.
pub fn skeleton(branch: &str, now: Timestamp) -> Map<String, Value> {
    pipeline_state::skeleton(branch, now)
}

/// The run as it stood when a document was taken over, as a checkpoint of today's run: what was added to the run since is in both.
fn standing(taken: &TakenRun, today: &Checkpoint) -> Checkpoint {
    let mut taken = taken.clone();
    let known = |taken: &TakenRun, id: &crate::id::PhaseId| taken.plan.phases.iter().any(|phase| phase.id == *id);
    for record in &today.phases {
        if taken.format == FileFormat::Crunch && !known(&taken, &record.id) {
            let body = crate::plan::Body::External(crate::plan::External {
                instructions: String::new(),
                heartbeat: None,
                if_silent: crate::plan::IfSilent::Wait,
            });
            let mut phase = Phase::new(record.id.clone(), body);
            phase.name = (record.name != record.id.as_str()).then(|| record.name.clone());
            phase.needs = record.needs.iter().cloned().map(Need::new).collect();
            taken.plan.phases.push(phase);
        }
    }
    let id: RunId = today.run.clone();
    let (mut run, _) = run::start(taken.started(id, &today.project), "", taken.created_at);
    let input = Input::Import(Box::new(taken.step.clone()));
    let stepped = run::step(&mut run, &input, "", taken.updated_at).expect("a run that has just begun takes it");
    let whole = stepped.checkpoints.last().expect("an import leaves a checkpoint");
    let checkpoint::CheckpointBytes::Whole(bytes) = &whole.content else { return as_it_stands(&run) };
    checkpoint::assemble(bytes, &[]).expect("it was written a moment ago")
}
