//! `onward prune`.

use onward_core::exit;
use onward_engine::{Onward, PruneDone};

use super::{here, person_only};
use crate::args;
use crate::failure::Failure;
use crate::prompt::{self, Answerer};
use crate::render;

pub(super) fn prune(args: &args::PruneArgs) -> Result<u8, Failure> {
    if args.dry_run {
        let plan = Onward::look(&here()?)?.prune_plan(args.older_than)?;
        if args.output.json {
            render::answer_json(&render::prune::answer(&plan));
        } else {
            render::answer(&render::prune::would(&plan));
        }
        return Ok(exit::DONE);
    }
    person_only::refuse("pruned")?;
    let mut onward = Onward::work(&here()?)?;
    let plan = onward.prune_plan(args.older_than)?;
    if !args.yes && !plan.delete.is_empty() {
        render::say(&render::prune::would(&plan));
        if !Answerer::here().is_person() {
            return Err(Failure::prune_unanswered(plan.delete.len()));
        }
        if !prompt::ask(&render::prune::question(&plan)).is_some_and(|answer| prompt::is_yes(&answer)) {
            render::say("nothing was deleted\n");
            return Ok(exit::DONE);
        }
    }
    let done = onward.prune(&plan, args.older_than)?;
    if args.output.json {
        render::answer_json(&render::prune::answer_done(&done, &plan));
    } else {
        render::answer(&render::prune::done(&done));
    }
    Ok(if done.failed.is_empty() { exit::DONE } else { exit::FAILED })
}

/// Housekeeping after the work of a verb. It is nobody's order, so what goes wrong with it is a note.
pub(super) fn housekeep() {
    let Ok(from) = here() else { return };
    let said = match Onward::work(&from).and_then(|mut onward| onward.housekeep()) {
        Ok(None) => return,
        Ok(Some(PruneDone { deleted, failed, .. })) if deleted.is_empty() && failed.is_empty() => return,
        Ok(Some(done)) => render::prune::kept_house(&done),
        Err(why) => format!("note: housekeeping was not done: {}\n", render::safe::line(&why.to_string())),
    };
    render::say(&said);
}
