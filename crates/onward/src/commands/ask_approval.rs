//! Approvals that are due when a run has come as far as it goes without them: they are asked where its driver has a terminal.

use onward_core::question::{ApprovalReply, DueApproval, due_approvals};
use onward_core::run::Run;
use onward_engine::{AtThePrompt, Error, Onward, PersonsAnswer};

use super::person_only;
use crate::failure::Failure;
use crate::prompt::{self, Answerer, Prompted, TRIES_MAX, Waited};
use crate::render::{self, external_phases};

/// The one who may decide about approvals: not a phase that would grant itself what a person has to.
pub(super) fn approver(answerer: Answerer) -> Answerer {
    match answerer {
        Answerer::Person if person_only::refuse("approved or rejected").is_ok() => Answerer::Person,
        Answerer::Person | Answerer::Nobody => Answerer::Nobody,
    }
}

/// Asks for every approval that is due. Whether the run goes on: one of them was decided, here or in another place, or something
/// else can be started.
pub(super) fn ask(onward: &mut Onward, run: &Run) -> Result<bool, Failure> {
    let mut decided = false;
    for due in due_approvals(run) {
        match about(onward, run, &due)? {
            ApprovalEnd::Decided => decided = true,
            ApprovalEnd::Moved => return Ok(true),
            ApprovalEnd::Open => {}
        }
    }
    Ok(decided)
}

/// The end of one question.
enum ApprovalEnd {
    Decided,
    /// The run went on without the person: what is due has to be looked at anew.
    Moved,
    Open,
}

fn about(onward: &mut Onward, run: &Run, due: &DueApproval) -> Result<ApprovalEnd, Failure> {
    prompt::forget_what_was_typed();
    render::say(&external_phases::due(due));
    for _ in 0..TRIES_MAX {
        let prompted = prompt::ask_until(&external_phases::choices(due), |stdin| {
            Ok(match onward.hold_at_the_prompt(&run.id, stdin)? {
                AtThePrompt::Typed => Waited::Line,
                AtThePrompt::Moved(answers) => Waited::Void(answers),
                AtThePrompt::GivenUp => Waited::Nobody,
            })
        })?;
        let typed = match prompted {
            Prompted::Typed(typed) => typed,
            Prompted::Nobody => return Ok(ApprovalEnd::Open),
            Prompted::TakenBack(answers) => {
                render::say(&external_phases::answered_elsewhere(&answers));
                return Ok(ApprovalEnd::Moved);
            }
        };
        match due.reply(&typed) {
            ApprovalReply::Later => return Ok(ApprovalEnd::Open),
            ApprovalReply::Unclear => render::say("Please answer with one of the choices.\n"),
            ApprovalReply::Choice(choice) => return decide(onward, run, due, &choice),
        }
    }
    Ok(ApprovalEnd::Open)
}

fn decide(onward: &mut Onward, run: &Run, due: &DueApproval, choice: &str) -> Result<ApprovalEnd, Failure> {
    let said = PersonsAnswer { choice, reason: None, call: due.call.as_deref() };
    match onward.answer(Some(run.id.as_str()), due.phase.as_str(), &said) {
        Ok(_) => Ok(ApprovalEnd::Decided),
        // It is for others to decide, or was decided elsewhere meanwhile.
        Err(Error::Declined { reason }) => {
            render::say(&format!("{}\n", render::safe::line(&reason)));
            let is_due = due_approvals(&onward.load(&run.id)?).contains(due);
            Ok(if is_due { ApprovalEnd::Open } else { ApprovalEnd::Moved })
        }
        Err(other) => Err(other.into()),
    }
}
