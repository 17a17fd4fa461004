//! Which unfinished runs a timer goes on with by itself, while nobody is there.

use jiff::Timestamp;

use crate::event::{RunResult, StopReason};
use crate::run::Run;

/// The action of a timer about a run that nobody drives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeepVerdict {
    /// It waits for nothing that is still to come.
    GoOn,
    /// For a limit that is closed until then.
    NotBefore(Timestamp),
    /// It is left alone, for this reason.
    Leave(&'static str),
}

/// A run goes on by itself where it waited for a limit or a deadline, or where the machine was started anew since. Whatever a person
/// stopped, or has to decide, is left to them.
pub fn verdict(run: &Run, boot_now: &str, now: Timestamp) -> KeepVerdict {
    if run.archived || run.result == Some(RunResult::Completed) || run.phases_total() == 0 {
        return KeepVerdict::Leave("it is over");
    }
    if run.result == Some(RunResult::Failed) {
        return KeepVerdict::Leave("it failed, and a person decides what is to be done");
    }
    if run.vcs.rewinding.is_some() {
        return KeepVerdict::Leave("a rewind was cut off, and a person decides how it goes on");
    }
    match run.stopped {
        Some(StopReason::Limit) => match run.retry_at() {
            Some(until) if until > now => KeepVerdict::NotBefore(until),
            Some(_) | None => KeepVerdict::GoOn,
        },
        Some(StopReason::Deadline) => KeepVerdict::GoOn,
        // Without a word, or told to end: that is what a machine does that goes down.
        None | Some(StopReason::DriverGone | StopReason::SessionEnd | StopReason::Hangup) if run.epoch > 0 => {
            if run.boot == boot_now {
                KeepVerdict::Leave("its driver was ended, and the machine was not started anew since")
            } else {
                KeepVerdict::GoOn
            }
        }
        None | Some(StopReason::DriverGone | StopReason::SessionEnd | StopReason::Hangup) => {
            KeepVerdict::Leave("nobody has driven it yet")
        }
        Some(StopReason::Interrupt | StopReason::Pause | StopReason::Cancel) => {
            KeepVerdict::Leave("a person stopped it")
        }
        Some(StopReason::OnlyThat | StopReason::Rewind) => {
            KeepVerdict::Leave("a person ran one phase of it or went back, and decides how it goes on")
        }
        Some(StopReason::Import) => KeepVerdict::Leave("it was imported, and nobody has driven it here yet"),
        Some(StopReason::Budget) => {
            KeepVerdict::Leave("its budget is used up, and a person decides whether there is more")
        }
        Some(StopReason::Question) => KeepVerdict::Leave("it waits for an answer"),
        Some(StopReason::Requirement) => KeepVerdict::Leave("something that it requires is not there"),
        Some(StopReason::Waiting) => KeepVerdict::Leave("it waits for an approval or a report"),
    }
}
