//! A run that goes on without this terminal.

use std::path::Path;

use onward_core::id::RunId;
use serde_json::{Value, json};

use super::run::ExitLine;
use super::safe;

/// The id alone, for scripts.
pub(crate) fn id(run: &RunId) -> String {
    format!("{}\n", safe::line(run.as_str()))
}

pub(crate) fn text(run: &RunId, log: &Path) -> String {
    let (run, log) = (safe::line(run.as_str()), safe::line(&log.to_string_lossy()));
    format!(
        "it goes on without this terminal; its own words are in {log}\n\
         watch it with  onward status {run} --watch   or   onward logs -f {run}\n\
         stop it with   onward pause {run}   or   onward cancel {run}\n"
    )
}

pub(crate) fn lines(run: &RunId, pid: u32, log: &Path) -> [Value; 2] {
    let told = json!({ "type": "detached", "run": run, "pid": pid, "log": log });
    let exit = serde_json::to_value(ExitLine::at_work(run)).expect("it has only text keys");
    [told, exit]
}
