//! `onward pause|cancel [RUN]`.

use onward_core::exit;
use onward_core::view;
use onward_engine::Onward;
use serde_json::json;

use super::next::the_run;
use super::start::say_notes;
use super::{here, person_only};
use crate::args;
use crate::failure::Failure;
use crate::render;

pub(super) fn pause(args: &args::HaltArgs) -> Result<u8, Failure> {
    let mut onward = Onward::work(&here()?)?;
    let run = onward.pause(the_run(args.run.as_deref()).as_deref())?;
    if args.output.json {
        render::answer_json(&json!({ "run": run, "asked": "pause" }));
        return Ok(exit::DONE);
    }
    let words = format!("run {run} starts nothing more; go on with  {}\n", view::resume_command(&run));
    render::say(&render::safe::block(&words));
    Ok(exit::DONE)
}

pub(super) fn cancel(args: &args::HaltArgs) -> Result<u8, Failure> {
    person_only::refuse("cancelled")?;
    let mut onward = Onward::work(&here()?)?;
    let said = onward.notices.len();
    let run = onward.cancel(the_run(args.run.as_deref()).as_deref())?;
    say_notes(&onward.notices[said..]);
    if args.output.json {
        render::answer_json(&json!({ "run": run, "asked": "cancel" }));
        return Ok(exit::DONE);
    }
    render::say(&render::safe::block(&format!(
        "run {run} is cancelled and archived; it is kept, and can be looked at\n"
    )));
    Ok(exit::DONE)
}
