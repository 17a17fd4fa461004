//! Work that was done since a rewind: an undo would take it back.

use crate::event::{Event, Recorded};
use crate::id::PhaseId;

/// The phases that were worked on since the first rewind among these events, in the order in which that began.
pub fn worked_on_since_rewind(events: &[Recorded]) -> Vec<PhaseId> {
    let since = events.iter().skip_while(|recorded| !matches!(recorded.event, Event::RunRewound(_)));
    let mut worked: Vec<PhaseId> = Vec::new();
    for recorded in since {
        let (Event::AttemptStarted { phase, .. }
        | Event::PhaseCompleted { phase, .. }
        | Event::ApprovalAnswered { phase, .. }
        | Event::CallAnswered { phase, .. }
        | Event::Reported { phase, .. }) = &recorded.event
        else {
            continue;
        };
        if !worked.contains(phase) {
            worked.push(phase.clone());
        }
    }
    worked
}
