//! What git has to say: the working tree was kept, a commit was made, the files are back.

use super::Refusal;
use crate::event::{Event, NoCommit, Restored, RewindBegun, RunRewound, Snapshot};
use crate::id::{CheckpointId, RunId};
use crate::input::Made;
use crate::patch;
use crate::run::state::Run;

pub(super) fn snapshotted(result: &Result<Snapshot, String>) -> Event {
    match result {
        Ok(snapshot) => Event::SnapshotTaken(snapshot.clone()),
        Err(reason) => Event::SnapshotMissed { reason: reason.clone() },
    }
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

pub(super) fn forked(from: &RunId, checkpoint: &CheckpointId, restored: &Restored) -> Event {
    Event::RunForked { from: from.clone(), checkpoint: checkpoint.clone(), restored: restored.clone() }
}
