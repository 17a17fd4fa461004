//! A run that stopped since a phase wants another plan, or failed and its plan says that a person is asked.

use onward_core::exit;
use onward_core::question;
use onward_core::replan::Because;
use onward_core::run::Run;
use onward_core::run::replans::{Asked, Stage};

use crate::failure::Failure;

/// The question, with the exit code of the worst: a limit, a refusal, a plan that waits for approval.
pub(super) fn failure(run: &Run) -> Failure {
    let failed = question::asks(run).then_some(exit::ANSWER_NEEDED);
    let wanted = run.replans.asked().map(|(_, asked)| code(asked));
    let code = failed.into_iter().chain(wanted).max_by_key(|code| rank(*code));
    let mut failure = Failure::stopped_for_an_answer(question::after_stop(run));
    failure.code = code.unwrap_or(exit::ANSWER_NEEDED);
    failure
}

fn code(asked: &Asked) -> u8 {
    match &asked.stage {
        Stage::Refused { because: Because::Limit, .. } => exit::REPLAN_LIMIT,
        Stage::Proposed(_) => exit::WAITING,
        Stage::Open | Stage::Refused { .. } => exit::ANSWER_NEEDED,
    }
}

/// Which code counts where several phases wait.
fn rank(code: u8) -> u8 {
    match code {
        exit::REPLAN_LIMIT => 2,
        exit::ANSWER_NEEDED => 1,
        _ => 0,
    }
}
