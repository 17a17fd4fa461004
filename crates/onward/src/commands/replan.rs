//! A run that stopped since a phase wants another plan, or failed and its plan says that a person is asked.

use onward_core::exit;
use onward_core::replan::Because;
use onward_core::run::Run;
use onward_core::run::replans::{Asked, Stage};
use onward_core::view;
use onward_engine::{Offer, Question};

use super::after_failure;
use crate::failure::Failure;
use crate::render;

/// What is to be said, with the exit code of the worst: a limit, a refusal, a plan that waits for approval.
pub(super) fn failure(run: &Run) -> Failure {
    let resume = view::resume_command(&run.id);
    let (mut reasons, mut choices) = after_failure::offers(run);
    let failed = (!reasons.is_empty()).then_some(exit::ANSWER_NEEDED);
    let wanted = run.replans.asked().map(|(_, asked)| code(asked));
    let code = failed.into_iter().chain(wanted).max_by_key(|code| rank(*code));
    for (phase, asked) in run.replans.asked() {
        let (why, limit) = match &asked.stage {
            Stage::Open => ("nobody has made it yet".to_owned(), false),
            Stage::Proposed(_) => {
                let changes = run.proposed_changes(phase).as_ref().map(render::replan::changes).unwrap_or_default();
                (format!("it is there and waits for approval{changes}"), false)
            }
            Stage::Refused { because, why } => (why.clone(), *because == Because::Limit),
        };
        reasons.push(format!("{phase} wants another plan ({}): {why}", asked.reason));
        let mut offer = |choice: &str, command: String| choices.push(Offer { choice: choice.to_owned(), command });
        if matches!(asked.stage, Stage::Proposed(_)) {
            offer("take the plan", format!("onward approve {} {phase}", run.id));
            offer("refuse the plan", format!("onward reject {} {phase}", run.id));
        }
        if limit {
            offer("let one more revision through", format!("{resume} --force-replan"));
        }
        offer("edit the plan and go on with it", resume.clone());
        offer("do the phase again as it is", format!("{resume} --retry {phase}"));
        offer("take the phase as done", format!("{resume} --adopt {phase}"));
        offer("leave the phase out", format!("{resume} --skip {phase}"));
    }
    let question = Question { reasons, choices, ..Question::new(run.id.clone()) };
    let mut failure = Failure::stopped_for_an_answer(question);
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
