//! Approvals that are due when a run has come as far as it goes without them: they are asked where its driver has a terminal.

use onward_core::question::{ApprovalReply, DueApproval, due_approvals};
use onward_core::run::Run;
use onward_engine::{Error, Onward};

use super::person_only;
use crate::failure::Failure;
use crate::prompt::{self, Answerer, TRIES_MAX};
use crate::render::{self, external_phases};

/// Whoever may decide about approvals: not a phase that would grant itself what a person has to.
pub(super) fn approver(answerer: Answerer) -> Answerer {
    match answerer {
        Answerer::Person if person_only::refuse("approved or rejected").is_ok() => Answerer::Person,
        Answerer::Person | Answerer::Nobody => Answerer::Nobody,
    }
}

/// Asks for every approval that is due. Whether one of them was decided, so that the run goes on.
pub(super) fn ask(onward: &mut Onward, run: &Run) -> Result<bool, Failure> {
    let mut decided = false;
    for due in due_approvals(run) {
        decided |= about(onward, run, &due)?;
    }
    Ok(decided)
}

fn about(onward: &mut Onward, run: &Run, due: &DueApproval) -> Result<bool, Failure> {
    render::say(&external_phases::due(due));
    for _ in 0..TRIES_MAX {
        let Some(typed) = prompt::ask(&external_phases::choices(due)) else { return Ok(false) };
        match due.reply(&typed) {
            ApprovalReply::Later => return Ok(false),
            ApprovalReply::Unclear => render::say("Please answer with one of the choices.\n"),
            ApprovalReply::Choice(choice) => {
                match onward.answer(Some(run.id.as_str()), due.phase.as_str(), &choice, None) {
                    Ok(_) => return Ok(true),
                    // It is for others to decide, or was decided elsewhere meanwhile.
                    Err(Error::Declined { reason }) => {
                        render::say(&format!("{}\n", render::safe::line(&reason)));
                        return Ok(false);
                    }
                    Err(other) => return Err(other.into()),
                }
            }
        }
    }
    Ok(false)
}
