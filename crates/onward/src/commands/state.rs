//! `onward state merge` and `onward state get`.

use onward_core::exit;
use onward_engine::Onward;
use serde_json::json;

use super::here;
use super::save::object;
use crate::args::{StateGet, StateMerge, StateVerb};
use crate::failure::Failure;
use crate::render;

pub(super) fn state(verb: &StateVerb) -> Result<u8, Failure> {
    match verb {
        StateVerb::Merge(args) => merge(args),
        StateVerb::Get(args) => get(args),
    }
}

fn merge(args: &StateMerge) -> Result<u8, Failure> {
    let patch = object(&args.patch)?;
    let own = own_run();
    let run = Onward::work(&here()?)?.merge_state(args.run.as_deref().or(own.as_deref()), patch)?;
    if args.output.json {
        render::answer_json(&json!({ "run": run }));
    }
    Ok(exit::DONE)
}

fn get(args: &StateGet) -> Result<u8, Failure> {
    let own = own_run();
    let value = Onward::look(&here()?)?.state(args.run.as_deref().or(own.as_deref()), &args.pointer)?;
    render::answer_json(&value);
    Ok(exit::DONE)
}

/// Inside a phase its own run is meant, whichever is the newest.
pub(super) fn own_run() -> Option<String> {
    std::env::var("ONWARD_RUN").ok().filter(|run| !run.is_empty())
}
