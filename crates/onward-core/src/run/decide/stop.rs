//! Somebody wants the run to stop; asked twice, it means now.

use crate::event::{Event, StopBy};
use crate::run::state::{Kill, Run};

pub(super) fn stop(run: &Run, by: StopBy) -> Vec<Event> {
    let again = matches!((run.stop, by), (Some((StopBy::Interrupt | StopBy::SessionEnd, Kill::Ask)), StopBy::Interrupt | StopBy::SessionEnd));
    match run.stop {
        None => vec![Event::StopAsked { by, kill: false }],
        Some((before, _)) if again => vec![Event::StopAsked { by: before, kill: true }],
        // A failure is ending the phases; a person who wants out as well is heard.
        Some((StopBy::Failure, _)) => vec![Event::StopAsked { by, kill: false }],
        // The terminal is gone while we wait for the phases to end: go on waiting.
        Some(_) => Vec::new(),
    }
}
