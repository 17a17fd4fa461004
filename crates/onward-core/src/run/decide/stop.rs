//! Somebody wants the run to stop; asked twice, it means now.

use crate::event::{Event, StopBy};
use crate::run::state::{Kill, Run};

pub(super) fn stop(run: &Run, by: StopBy) -> Vec<Event> {
    let asks = |by: StopBy| matches!(by, StopBy::Interrupt | StopBy::SessionEnd | StopBy::Deadline | StopBy::Cancel);
    match run.stop {
        // Whatever a driver was told before it was gone: who rewinds waits for nothing of it.
        _ if by == StopBy::Rewind => vec![Event::StopAsked { by, kill: false }],
        // Nothing that stops the run is turned into a pause.
        Some(_) if by == StopBy::Pause => Vec::new(),
        // Where a failure is ending the phases, or a pause lets them end, a person who wants out as well is heard.
        None | Some((StopBy::Failure | StopBy::Pause, _)) => vec![Event::StopAsked { by, kill: false }],
        Some((before, Kill::Ask)) if asks(before) && asks(by) => vec![Event::StopAsked { by: before, kill: true }],
        // The terminal is gone while we wait for the phases to end: go on waiting.
        Some(_) => Vec::new(),
    }
}
