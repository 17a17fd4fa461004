//! `onward list`. Works anywhere: where there is no project there are no runs.

use jiff::Timestamp;
use onward_core::exit;
use onward_core::view::RunQuery;
use onward_engine::{Error, ListFilter, Onward};

use super::here;
use crate::args;
use crate::failure::Failure;
use crate::render;
use crate::render::list::ListAnswer;

pub(super) fn list(args: &args::ListArgs) -> Result<u8, Failure> {
    let query = RunQuery { inputs: args.input.clone(), words: args.grep.clone(), issue: args.issue.clone() };
    let filter = ListFilter { all: args.all, kind: args.kind.clone(), project: args.project.clone(), query };
    let (runs, warnings, durations) = match Onward::look_or_lost(&here()?) {
        Ok(mut onward) => {
            let (runs, mut warnings) = (onward.list(&filter)?, onward.warnings());
            // What is lost is said where nothing is left to be listed; else the doctor tells.
            let lost = if runs.is_empty() { onward.lost_with_the_store() } else { None };
            warnings.extend(lost.map(|lost| format!("{lost}; onward doctor --repair brings back what is there")));
            let durations = if args.durations { Some(onward.durations(&runs)?) } else { None };
            (runs, warnings, durations)
        }
        Err(Error::NoProject { .. }) => (Vec::new(), Vec::new(), None),
        Err(other) => return Err(other.into()),
    };
    if args.output.json {
        render::answer_json(&ListAnswer { runs: &runs, warnings: &warnings, durations: durations.as_deref() });
        return Ok(exit::DONE);
    }
    if runs.is_empty() {
        render::say("no runs\n");
    }
    render::answer(&render::list::list(&runs, Timestamp::now()));
    render::answer(&render::list::durations(&durations.unwrap_or_default()));
    for warning in &warnings {
        render::say(&format!("{} {}\n", render::paint::doubtful("warning:"), render::safe::line(warning)));
    }
    Ok(exit::DONE)
}
