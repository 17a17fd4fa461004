//! What other processes ask of the one that holds the lease.

use jiff::Timestamp;

use super::Refusal;
use crate::checkpoint::Trigger;
use crate::event::Event;
use crate::input::Posted;
use crate::naming::checkpoint_id;
use crate::run::state::Run;

pub(super) fn posted(run: &Run, posted: &Posted, now: Timestamp) -> Result<Vec<Event>, Refusal> {
    match posted {
        Posted::Checkpoint { name } => {
            let phase = run.running().next().map(|(phase, _)| phase.id.clone());
            let id = checkpoint_id(&run.id, phase.as_ref(), run.seq.next(), now);
            Ok(vec![Event::CheckpointTaken { id, triggers: vec![Trigger::Manual], phase, name: name.clone() }])
        }
        Posted::Archive if run.archived => Err(Refusal::Archived),
        Posted::Archive => Ok(vec![Event::RunArchived]),
    }
}
