//! `onward approve|reject RUN PHASE`: a person's answer, on record for whoever drives the run.

use onward_core::exit;
use onward_core::plan::{APPROVE, REJECT};
use onward_core::view;
use onward_engine::Onward;
use serde_json::json;

use super::{here, inside};
use crate::args::people;
use crate::failure::Failure;
use crate::render;

pub(super) fn approve(args: &people::Approve) -> Result<u8, Failure> {
    answer(args, args.choice.as_deref().unwrap_or(APPROVE), "approved")
}

pub(super) fn reject(args: &people::Approve) -> Result<u8, Failure> {
    answer(args, args.choice.as_deref().unwrap_or(REJECT), "rejected")
}

fn answer(args: &people::Approve, choice: &str, done: &str) -> Result<u8, Failure> {
    inside::refuse(done)?;
    let mut onward = Onward::work(&here()?)?;
    let run = onward.answer(&args.run, &args.phase, choice)?;
    if args.output.json {
        render::answer_json(&json!({ "run": run, "phase": args.phase, "choice": choice }));
        return Ok(exit::DONE);
    }
    let resume = view::resume_command(&run);
    let words = format!(
        "the answer about {} of run {run} is on record: {done}; where nobody drives it, go on with  {resume}\n",
        args.phase
    );
    render::say(&render::safe::block(&words));
    Ok(exit::DONE)
}
