//! `onward keep`: a timer that goes on by itself with what waits.

use onward_core::exit;
use onward_engine::{Onward, WaitingRun, keep_timer};
use serde_json::json;

use super::here;
use super::person_only;
use crate::args;
use crate::failure::Failure;
use crate::render;
use crate::render::keep::RunDriver;

pub(super) fn keep(args: &args::KeepArgs) -> Result<u8, Failure> {
    if args.once {
        return once(args);
    }
    person_only::refuse("installed")?;
    let onward = Onward::work(&here()?)?;
    let (report, done) = if args.off {
        (keep_timer::remove(&onward.project)?, render::keep::Done::TakenAway)
    } else {
        (keep_timer::install(&onward.project)?, render::keep::Done::Installed)
    };
    if args.output.json {
        let (on, places) = (!args.off, &report.places);
        render::answer_json(
            &json!({ "on": on, "places": places, "unchanged": report.unchanged, "notes": report.notes }),
        );
    } else {
        render::say(&render::keep::report(&report, done));
    }
    Ok(exit::DONE)
}

/// Does as the timer does: each run that may go on gets a driver of its own, which lives on.
fn once(args: &args::KeepArgs) -> Result<u8, Failure> {
    let mut onward = Onward::work(&here()?)?;
    let found = onward.waiting_runs()?;
    drop(onward);
    let mut started = Vec::new();
    for kept in found.iter().filter(|kept| kept.goes_on) {
        if super::resume::in_background(&kept.run)? {
            started.push(kept.run.clone());
        }
    }
    if args.output.json {
        render::answer_json(&json!({ "runs": found, "started": started }));
    } else {
        let driver = |run: &_| if started.contains(run) { RunDriver::Started } else { RunDriver::None };
        let line = |kept: &WaitingRun| render::keep::kept(kept, driver(&kept.run));
        render::say(&found.iter().map(line).collect::<String>());
    }
    Ok(exit::DONE)
}
