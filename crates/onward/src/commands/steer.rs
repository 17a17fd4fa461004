//! `onward retry|skip|adopt [RUN] PHASE`: a person's answer about one phase, on record for whoever drives the run next.

use onward_core::exit;
use onward_core::input::Choice;
use onward_core::view;
use onward_engine::Onward;
use serde_json::json;

use super::next::the_run;
use super::{here, person_only};
use crate::args;
use crate::failure::Failure;
use crate::render;

pub(super) fn steer(args: &args::SteerArgs, choice: Choice, reason: Option<String>) -> Result<u8, Failure> {
    refuse_inside_a_phase(choice)?;
    let mut onward = Onward::work(&here()?)?;
    let run = onward.choose(the_run(args.run.as_deref()).as_deref(), &args.phase, choice, reason)?;
    if args.output.json {
        render::answer_json(&json!({ "run": run, "phase": args.phase, "choice": choice }));
        return Ok(exit::DONE);
    }
    let what = match choice {
        Choice::Retry | Choice::RetryClean => "is to be done again",
        Choice::Skip => "is skipped",
        Choice::Adopt => "is taken as done",
    };
    let then = match onward.driver(&run)? {
        Some(driver) => format!("process {} on {} drives the run and goes on with it", driver.pid, driver.host),
        None => format!("nobody drives the run, go on with  {}", view::resume_command(&run)),
    };
    let words = format!("phase {} of run {run} {what}\n{then}\n", args.phase);
    render::say(&render::safe::block(&words));
    Ok(exit::DONE)
}

/// Refuses a person's answers inside a phase: skip and adopt let everything behind it start, past approvals too, and a retry asks
/// again for what was rejected, or gives more attempts than the plan does.
pub(super) fn refuse_inside_a_phase(choice: Choice) -> Result<(), Failure> {
    match choice {
        Choice::Retry | Choice::RetryClean => person_only::refuse("retried"),
        Choice::Skip => person_only::refuse("skipped"),
        Choice::Adopt => person_only::refuse("adopted"),
    }
}
