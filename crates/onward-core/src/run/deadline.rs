//! The deadline of a run: `--deadline 3h` stops it when the time is over.

use std::time::Duration;

use jiff::Timestamp;

use super::state::Run;
use crate::event::{Event, StopRequest, Urgency};

/// The end of a time that is allowed from a moment on.
pub fn after(started_at: Timestamp, allowed: Duration) -> Timestamp {
    started_at.checked_add(allowed).unwrap_or(Timestamp::MAX)
}

/// Asks for a stop once the time that the driver was given is over and work is left.
pub(super) fn stop(run: &Run, now: Timestamp) -> Option<Event> {
    let over = run.limits.deadline.is_some_and(|deadline| deadline <= now);
    let work_is_left = run.derived.finished < run.phases.len();
    (over && work_is_left && run.epoch > 0 && run.stop.is_none())
        .then_some(Event::StopAsked { by: StopRequest::Deadline, urgency: Urgency::Ask })
}
