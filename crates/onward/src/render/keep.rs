//! The timer that goes on by itself, and what it found.

use std::fmt::Write as _;

use jiff::Timestamp;
use onward_engine::{WaitingRun, keep_timer};

use super::{safe, time};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Done {
    Installed,
    TakenAway,
}

pub(crate) fn report(report: &keep_timer::TimerReport, done: Done) -> String {
    let every = keep_timer::EVERY_MINUTES;
    let mut out = match (done, report.unchanged) {
        (Done::Installed, false) => {
            format!("a timer checks the unfinished runs every {every} minutes, and after a restart of the machine\n")
        }
        (Done::Installed, true) => {
            format!("the timer is installed already; it checks the unfinished runs every {every} minutes\n")
        }
        (Done::TakenAway, false) => "removed:\n".to_owned(),
        (Done::TakenAway, true) => "this project has no timer\n".to_owned(),
    };
    for place in &report.places {
        let _ = writeln!(out, "  {}", safe::line(place));
    }
    if done == Done::Installed {
        out.push_str(
            "it resumes runs that wait for a rate limit, stopped at a deadline, or were cut off by a restart\n",
        );
        out.push_str("remove it with  onward keep --off\n");
    }
    for note in &report.notes {
        let _ = writeln!(out, "note: {}", safe::line(note));
    }
    out
}

/// The driver of a run that was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunDriver {
    Started,
    None,
}

/// A line for each run.
pub(crate) fn kept(kept: &WaitingRun, driver: RunDriver) -> String {
    let run = safe::line(kept.run.as_str());
    let until = kept.not_before.map(|at| format!(" until {}", time::clock(at, Timestamp::now()))).unwrap_or_default();
    match (&kept.why, driver) {
        (_, RunDriver::Started) => format!("{run}  is resumed\n"),
        (Some(why), RunDriver::None) => format!("{run}  is left alone: {}{until}\n", safe::line(why)),
        (None, RunDriver::None) => format!("{run}  was not resumed; onward status {run} says why\n"),
    }
}
