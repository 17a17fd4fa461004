//! Somebody wants the run to pause, or to be given up.

use super::Refusal;
use super::stop::stop;
use crate::event::{Event, RunResult, StopReason, StopRequest};
use crate::run::state::Run;

/// Nothing more is started, and what is at work comes to its end. Where nobody drives the run it is paused at once.
pub(super) fn pause(run: &Run) -> Result<Vec<Event>, Refusal> {
    if run.result.is_some() {
        return Err(Refusal::Over);
    }
    if run.stopped == Some(StopReason::Pause) {
        return Ok(Vec::new());
    }
    if run.epoch == 0 || run.stopped.is_some() {
        return Ok(vec![Event::RunPaused { reason: StopReason::Pause, until: run.retry_at() }]);
    }
    Ok(stop(run, StopRequest::Pause))
}

/// Cancels the run: running attempts are ended and the run is archived. Without a driver it is archived at once.
pub(super) fn cancel(run: &Run) -> Result<Vec<Event>, Refusal> {
    if run.result == Some(RunResult::Completed) {
        return Err(Refusal::Over);
    }
    let nobody_drives = run.epoch == 0 || run.ending().is_some();
    if let (true, Some(phase)) = (nobody_drives, run.files_on_their_way()) {
        return Err(Refusal::FilesOnTheirWay(phase.clone()));
    }
    Ok(if nobody_drives { vec![Event::RunArchived] } else { stop(run, StopRequest::Cancel) })
}
