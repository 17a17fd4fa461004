//! `onward approve|reject [RUN] PHASE`: a person's answer, on record for whoever drives the run.

use onward_core::exit;
use onward_core::plan::{APPROVE, REJECT};
use onward_core::view;
use onward_engine::{Answered, Onward, PersonsAnswer};
use serde_json::json;

use super::next::the_run;
use super::{here, person_only, resume};
use crate::args;
use crate::failure::Failure;
use crate::render;

pub(super) fn approve(args: &args::ApproveArgs) -> Result<u8, Failure> {
    match args.choice.as_deref() {
        Some(REJECT) => contradiction("`onward approve` does not say no: `onward reject` does"),
        Some(choice) => answer(args, choice, choice),
        None => answer(args, APPROVE, "approved"),
    }
}

pub(super) fn reject(args: &args::ApproveArgs) -> Result<u8, Failure> {
    match args.choice.as_deref() {
        None | Some(REJECT) => answer(args, REJECT, "rejected"),
        Some(_) => contradiction("`onward reject` says no and nothing else: `onward approve --choice` makes a choice"),
    }
}

/// Whichever of the two was meant, the other one must not happen.
fn contradiction(why: &str) -> Result<u8, Failure> {
    Err(Failure::usage(why.to_owned()))
}

fn answer(args: &args::ApproveArgs, choice: &str, done: &str) -> Result<u8, Failure> {
    person_only::refuse("approved or rejected")?;
    let mut onward = Onward::work(&here()?)?;
    let said = PersonsAnswer { choice, reason: args.reason.as_deref(), call: args.call.as_deref() };
    let Answered { run, call } = onward.answer(the_run(args.run.as_deref()).as_deref(), &args.phase, &said)?;
    if args.resume && onward.driver(&run)?.is_none() {
        drop(onward);
        return Ok(resume::go_on(&run, args.output));
    }
    if args.output.json {
        render::answer_json(&json!({ "run": run, "phase": args.phase, "choice": choice }));
        return Ok(exit::DONE);
    }
    let then = match onward.driver(&run)? {
        Some(driver) => format!("process {} on {} drives the run and goes on with it", driver.pid, driver.host),
        None => format!("nobody drives the run, go on with  {}", view::resume_command(&run)),
    };
    let about = call.map(|call| format!("  {}\n", call.replace('\n', "\n  "))).unwrap_or_default();
    let words = format!("the answer about {} of run {run} is on record: {done}\n{about}{then}\n", args.phase);
    render::say(&render::safe::block(&words));
    Ok(exit::DONE)
}
