//! Somebody wants the run to stop; asked twice, it means now.

use crate::event::{Event, StopRequest, Urgency};
use crate::run::state::Run;

pub(super) fn stop(run: &Run, by: StopRequest) -> Vec<Event> {
    let asks = |by: StopRequest| {
        matches!(by, StopRequest::Interrupt | StopRequest::SessionEnd | StopRequest::Deadline | StopRequest::Cancel)
    };
    match run.stop {
        // Whatever a driver was told before it was gone: who rewinds waits for nothing of it.
        _ if by == StopRequest::Rewind => vec![Event::StopAsked { by, urgency: Urgency::Ask }],
        // Nothing that stops the run is turned into a pause.
        Some(_) if by == StopRequest::Pause => Vec::new(),
        // Where a failure is ending the phases, or a pause lets them end, a person who wants out as well is heard.
        None | Some((StopRequest::Failure | StopRequest::Pause, _)) => {
            vec![Event::StopAsked { by, urgency: Urgency::Ask }]
        }
        Some((before, Urgency::Ask)) if asks(before) && asks(by) => {
            vec![Event::StopAsked { by: before, urgency: Urgency::Kill }]
        }
        // The terminal is gone while we wait for the phases to end: go on waiting.
        Some(_) => Vec::new(),
    }
}
