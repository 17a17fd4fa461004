//! Somebody wants the run to stop; asked twice, it means now.

use crate::event::{Event, StopBy};
use crate::run::state::{Kill, Run};

pub(super) fn stop(run: &Run, by: StopBy) -> Vec<Event> {
    let asks = |by: StopBy| matches!(by, StopBy::Interrupt | StopBy::SessionEnd);
    match run.stop {
        // Where a failure is ending the phases, a person who wants out as well is heard.
        None | Some((StopBy::Failure, _)) => vec![Event::StopAsked { by, kill: false }],
        Some((before, Kill::Ask)) if asks(before) && asks(by) => vec![Event::StopAsked { by: before, kill: true }],
        // The terminal is gone while we wait for the phases to end: go on waiting.
        Some(_) => Vec::new(),
    }
}
