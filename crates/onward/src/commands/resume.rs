//! `onward resume [RUN]`: an answer to "go on?" in itself.

use std::ffi::OsString;

use onward_core::id::RunId;
use onward_core::view::RunQuery;
use onward_engine::Want;

use super::{detach, start};
use crate::args::{self, Cli, Typed, Verb};

pub(super) fn resume(args: &args::ResumeArgs) -> u8 {
    let query = RunQuery { words: args.grep.clone(), issue: args.issue.clone(), ..RunQuery::default() };
    start::start_of(query, Want::ResumeRun(args.run.clone()), None, &args.start)
}

/// Goes on with a run as `onward resume RUN` does, on behalf of a verb that did something about it.
pub(super) fn go_on(run: &RunId, output: args::Json) -> u8 {
    let json = output.json.then_some("--json");
    let words = ["onward", "resume", run.as_str()].into_iter().chain(json).map(OsString::from).collect::<Vec<_>>();
    match args::parse(&words) {
        Ok(Typed::Now(Cli { verb: Some(Verb::Resume(args)), .. })) => resume(&args),
        Ok(_) | Err(_) => unreachable!("it is the command that is printed everywhere"),
    }
}

/// Starts a driver for a run that needs nobody, and lets it go on alone; whether it did.
pub(super) fn in_background(run: &RunId) -> Result<bool, onward_engine::Error> {
    let words = ["onward", "resume", run.as_str(), "--no-input", "--detach"].map(OsString::from);
    detach::is_left_at_work(&words)
}
