//! The file of a plan in Markdown was to be marked, or says something else than the run knows.

use crate::event::Event;
use crate::id::PhaseId;
use crate::input::Resumption;
use crate::run::state::Run;

/// An answer about a marker that is no longer waited for is no fact.
pub(super) fn marked(run: &Run, phase: &PhaseId, marked: &Result<(), String>) -> Option<Event> {
    let phase = Some(phase).filter(|phase| run.marks.is_due(phase))?.clone();
    Some(match marked {
        Ok(()) => Event::PhaseMarked { phase },
        Err(reason) => Event::PhaseNotMarked { phase, reason: reason.clone() },
    })
}

pub(super) fn settled(told: &Resumption) -> Option<Event> {
    (!told.marks.is_empty()).then(|| Event::MarkersSettled { marks: told.marks.clone() })
}
