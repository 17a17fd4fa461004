//! `onward delete RUN`.

use onward_core::exit;
use onward_core::id::RunId;
use onward_core::question::{Offer, Question};
use onward_engine::{Error, Onward};
use serde_json::json;

use super::start::say_notes;
use super::{here, person_only};
use crate::args;
use crate::failure::Failure;
use crate::prompt::{self, Answerer};
use crate::render;

pub(super) fn delete(args: &args::DeleteArgs) -> Result<u8, Failure> {
    person_only::refuse("deleted")?;
    let mut onward = Onward::work(&here()?)?;
    let run = whole(&mut onward, &args.run)?;
    if !args.yes && !confirmed(&run)? {
        if args.output.json {
            render::answer_json(&json!({ "run": run, "deleted": false }));
        }
        render::say(&format!("run {} was not deleted\n", render::safe::line(run.as_str())));
        return Ok(exit::DONE);
    }
    let said = onward.notices.len();
    onward.delete(run.as_str())?;
    say_notes(&onward.notices[said..]);
    if args.output.json {
        render::answer_json(&json!({ "run": run, "deleted": true }));
        return Ok(exit::DONE);
    }
    render::say(&format!("run {} is deleted\n", render::safe::line(run.as_str())));
    Ok(exit::DONE)
}

/// The run of exactly this name. A prefix that fits one run today may fit another tomorrow.
fn whole(onward: &mut Onward, name: &str) -> Result<RunId, Failure> {
    let found = onward.find_run(Some(name))?;
    if found.as_str() == name {
        return Ok(found);
    }
    let mut failure = Failure::from(Error::NoSuchRun(name.to_owned()));
    failure.more.push(format!("the whole id is needed here: {found}"));
    Err(failure)
}

fn confirmed(run: &RunId) -> Result<bool, Failure> {
    let question = render::question::delete(run.as_str());
    let answer = if Answerer::here().is_person() { prompt::ask(&question) } else { None };
    if let Some(answer) = answer {
        return Ok(prompt::is_yes(&answer));
    }
    let reason = "a deletion cannot be taken back: a person must say yes, at a terminal or with --yes";
    let choices = vec![Offer::new("look at it", format!("onward show {run}"))];
    let reasons = vec![reason.to_owned()];
    Err(Failure::answer_needed(Question { reasons, choices, ..Question::new(run.clone()) }))
}
