//! `onward resume [RUN]`: an answer to "go on?" in itself.

use std::ffi::OsString;

use onward_core::id::RunId;
use onward_core::view::RunQuery;
use onward_engine::{After, Want};

use super::{detach, start};
use crate::args::{self, Cli, Typed, Verb};

pub(super) fn resume(args: &args::ResumeArgs) -> u8 {
    go_on_after(args, After::Nothing)
}

fn go_on_after(args: &args::ResumeArgs, after: After) -> u8 {
    let query = RunQuery { words: args.grep.clone(), issue: args.issue.clone(), ..RunQuery::default() };
    start::start_of((query, after), Want::ResumeRun(args.run.clone()), None, &args.start)
}

/// Goes on with a run as `onward resume RUN` does, on behalf of a verb that did something about it. What was said to that verb is
/// no answer to what the start asks.
pub(super) fn go_on(run: &RunId, output: args::Json) -> u8 {
    let json = output.json.then_some("--json");
    let words = ["onward", "resume", run.as_str()].into_iter().chain(json).map(OsString::from).collect::<Vec<_>>();
    match args::parse(&words) {
        Ok(Typed::Now(Cli { verb: Some(Verb::Resume(args)), .. })) => go_on_after(&args, After::AnAnswer),
        Ok(_) | Err(_) => unreachable!("it is the command that is printed everywhere"),
    }
}

/// Starts a driver for a run that needs nobody, and lets it go on alone; whether it did.
pub(super) fn in_background(run: &RunId) -> Result<bool, onward_engine::Error> {
    let words = ["onward", "resume", run.as_str(), "--no-input", "--detach"].map(OsString::from);
    detach::is_left_at_work(&words)
}
