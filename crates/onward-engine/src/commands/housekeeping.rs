//! Housekeeping: the part of retention that needs nobody's word, at most daily and beside other work; and what is noted for it.

use std::path::PathBuf;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use onward_core::retention::{ClockNote, ClockReading, ClockVerdict, PruneLine, judge_clock};
use onward_store::ownership;
use serde::{Deserialize, Serialize};

use super::prune::PruneDone;
use crate::Onward;
use crate::error::Result;
use crate::project::Project;
use crate::sys::process;

const EVERY: SignedDuration = SignedDuration::from_hours(24);
const NOTE: &str = "housekeeping";

/// The note about the last housekeeping, in the runtime folder. It may be lost at any time: then a day is waited from now on.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct HouseNote {
    done_at: Timestamp,
    clock: ClockNote,
}

impl Onward {
    /// Deletes checkpoints by their counts, and completed or archived runs past their time, if that was not done within a day. A
    /// clock that was set is not gone by.
    pub fn housekeep(&mut self) -> Result<Option<PruneDone>> {
        let Some(reading) = reading() else { return Ok(None) };
        let last = read_note(&self.project);
        if let Some(last) = &last
            && (SignedDuration::ZERO..EVERY).contains(&reading.at.duration_since(last.done_at))
        {
            return Ok(None);
        }
        let ClockVerdict { note, doubt } = judge_clock(last.as_ref().map(|last| &last.clock), &reading);
        // Before anything is done: what fails today is not tried again by every command.
        write_note(&self.project, &HouseNote { done_at: reading.at, clock: note });
        if last.is_none() || doubt.is_some() {
            return Ok(None);
        }
        let plan = self.prune_plan(None)?;
        let lines: Vec<PruneLine> = plan.standing().cloned().collect();
        self.delete_lines(lines).map(Some)
    }
}

/// Why the clock of this machine is not to be relied on, by what was noted of it.
pub(super) fn clock_doubt(project: &Project) -> Option<String> {
    let last = read_note(project);
    judge_clock(last.as_ref().map(|last| &last.clock), &reading()?).doubt
}

/// Notes how the clocks stand at a prune that somebody asked for. A jump that it noticed stays on record.
pub(super) fn note_prune(project: &Project) {
    let Some(reading) = reading() else { return };
    let last = read_note(project);
    let ClockVerdict { note, .. } = judge_clock(last.as_ref().map(|last| &last.clock), &reading);
    write_note(project, &HouseNote { done_at: reading.at, clock: note });
}

fn reading() -> Option<ClockReading> {
    let since_boot: Duration = process::boottime();
    Some(ClockReading { at: Timestamp::now(), boot: process::boot_id().ok()?, since_boot })
}

fn path(project: &Project) -> PathBuf {
    project.runtime().join(NOTE)
}

fn read_note(project: &Project) -> Option<HouseNote> {
    serde_json::from_str(&ownership::read_note(&path(project))?).ok()
}

/// Where it cannot be written there is no housekeeping either.
fn write_note(project: &Project, note: &HouseNote) {
    let text = serde_json::to_string(note).expect("a note has only string keys");
    drop(ownership::write_note(&path(project), &text));
}
