//! Results of git: a snapshot was taken, a commit was made, files were restored.

use jiff::Timestamp;

use super::Refusal;
use crate::checkpoint::Trigger;
use crate::event::{Event, NoCommit, RestoredState, RewindBegun, RunRewound, SnapshotRef};
use crate::id::{Attempt, CheckpointId, PhaseId, RunId, Seq};
use crate::ids_and_keys::checkpoint_id;
use crate::input::Made;
use crate::patch;
use crate::run::state::Run;
use crate::run::vcs::copy_name;

pub(super) fn snapshotted(result: &Result<SnapshotRef, String>) -> Event {
    match result {
        Ok(snapshot) => Event::SnapshotTaken(snapshot.clone()),
        Err(reason) => Event::SnapshotMissed { reason: reason.clone() },
    }
}

/// The copy gets a checkpoint of its own, so that people find it and a rewind reaches it.
pub(super) fn kept_before_clean(
    run: &Run,
    phase: &PhaseId,
    attempt: Attempt,
    snapshot: &SnapshotRef,
    now: Timestamp,
) -> Vec<Event> {
    let at_work = run.phase_state(phase).and_then(|state| state.attempt.as_ref());
    if !at_work.is_some_and(|running| running.number == attempt && running.kept.is_none()) {
        return Vec::new();
    }
    let id = checkpoint_id(&run.id, Some(phase), Seq(run.seq.0 + 2), now, run.ids);
    let (triggers, name) = (vec![Trigger::Manual], Some(copy_name(phase, attempt)));
    vec![
        Event::SnapshotTaken(snapshot.clone()),
        Event::CheckpointTaken { id, triggers, phase: Some(phase.clone()), name },
    ]
}

/// An answer about a commit that is no longer waited for is no fact.
pub(super) fn committed(run: &Run, number: u32, made: &Result<Made, NoCommit>) -> Option<Event> {
    run.vcs.begun.as_ref().filter(|begun| begun.number == number)?;
    Some(match made {
        Ok(made) => Event::CommitMade { number, commit: made.commit.clone(), left_out: made.left_out.clone() },
        Err(why) => Event::CommitLeft { number, why: why.clone() },
    })
}

pub(super) fn rewind(run: &Run, begun: &RewindBegun) -> Result<Vec<Event>, Refusal> {
    if run.archived {
        return Err(Refusal::Archived);
    }
    if run.vcs.rewinding.is_some() {
        return Err(Refusal::Rewinding);
    }
    if run.ending().is_none() || run.running().next().is_some() {
        return Err(Refusal::AtWork);
    }
    if let Some(phase) = run.files_on_their_way() {
        return Err(Refusal::FilesOnTheirWay(phase.clone()));
    }
    Ok(vec![Event::RewindBegun(begun.clone())])
}

pub(super) fn rewound(run: &Run, result: &Result<Box<RunRewound>, String>) -> Result<Vec<Event>, Refusal> {
    match result {
        Ok(rewound) => {
            if let Some(restored) = &rewound.restored {
                patch::fits(&run.state, &restored.state)?;
            }
            Ok(vec![Event::RunRewound((**rewound).clone())])
        }
        Err(reason) => Ok(vec![Event::RewindFailed { reason: reason.clone() }]),
    }
}

pub(super) fn forked(from: &RunId, checkpoint: &CheckpointId, restored: &RestoredState) -> Event {
    Event::RunForked { from: from.clone(), checkpoint: checkpoint.clone(), restored: restored.clone() }
}
