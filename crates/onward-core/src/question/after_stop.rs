//! Questions after a run was driven as far as it goes without an answer.

use crate::id::PhaseId;
use crate::input::Choice;
use crate::plan::{Phase, PhaseFailure};
use crate::replan::Because;
use crate::run::replans::{Asked, Stage};
use crate::run::{PhaseState, PhaseStatus, Run, clean_retry, is_legal};

use super::commands::{phase_offers, resume};
use super::{Offer, Question};

/// A phase that failed, and the answers about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedPhase {
    pub phase: PhaseId,
    pub error: String,
    /// Whether its files can be put back before a retry, or why not.
    pub clean: Result<(), &'static str>,
    /// Whether it may be taken as done: what a person has to approve may not.
    pub adopt: bool,
}

const ANY: [Choice; 4] = [Choice::Retry, Choice::RetryClean, Choice::Adopt, Choice::Skip];

/// The phases that failed.
pub fn failed(run: &Run) -> impl Iterator<Item = FailedPhase> {
    failed_phases(run).map(|(phase, state)| failure(run, phase, state))
}

/// Whether a phase failed of which the plan says that a person is asked.
pub fn asks(run: &Run) -> bool {
    failed_phases(run).any(|(phase, _)| phase.on_failure == Some(PhaseFailure::Ask))
}

fn failed_phases(run: &Run) -> impl Iterator<Item = (&Phase, &PhaseState)> {
    run.phases().filter(|(_, state)| state.status == PhaseStatus::Failed)
}

fn failure(run: &Run, phase: &Phase, state: &PhaseState) -> FailedPhase {
    let error = state.error.as_ref().map(|error| error.message.clone()).unwrap_or_default();
    let adopt = is_legal(run, &phase.id, Choice::Adopt);
    FailedPhase { phase: phase.id.clone(), error, clean: clean_retry(run, &phase.id), adopt }
}

/// Phases that failed and ask, and phases that want another plan.
pub fn after_stop(run: &Run) -> Question {
    let mut question = Question::new(run.id.clone());
    let asking = failed_phases(run).filter(|(phase, _)| phase.on_failure == Some(PhaseFailure::Ask));
    for FailedPhase { phase, error, .. } in asking.map(|(phase, state)| failure(run, phase, state)) {
        question.reasons.push(format!("phase {phase} failed: {error}"));
        question.choices.extend(phase_offers(run, &phase, &ANY, &resume(run)));
    }
    for (phase, asked) in run.replans.asked() {
        question.reasons.push(format!("{phase} wants another plan ({}): {}", asked.reason, stands(run, phase, asked)));
        question.reasons.extend(run.proposed_edits(phase).into_iter().map(|edit| format!("  {edit}")));
        question.choices.extend(about_a_plan(run, phase, asked));
    }
    question
}

/// How far another plan has come.
fn stands(run: &Run, phase: &PhaseId, asked: &Asked) -> String {
    match &asked.stage {
        Stage::Open => "nobody has made it yet".to_owned(),
        Stage::Proposed(_) => {
            let changes = run.proposed_changes(phase).map(|changes| changes.to_string()).unwrap_or_default();
            format!("it is there and waits for approval{changes}")
        }
        Stage::Refused { why, .. } => why.clone(),
    }
}

fn about_a_plan(run: &Run, phase: &PhaseId, asked: &Asked) -> Vec<Offer> {
    let (id, resume) = (&run.id, resume(run));
    let mut offers = match &asked.stage {
        Stage::Proposed(_) => vec![
            Offer::new("take the plan", format!("onward approve {id} {phase}")),
            Offer::new("refuse the plan", format!("onward reject {id} {phase}")),
        ],
        Stage::Refused { because: Because::Limit, .. } => {
            vec![Offer::new("let one more revision through", format!("{resume} --force-replan"))]
        }
        Stage::Open | Stage::Refused { .. } => Vec::new(),
    };
    offers.push(Offer::new("edit the plan and go on with it", resume.clone()));
    offers.extend(phase_offers(run, phase, &[Choice::Retry, Choice::Adopt, Choice::Skip], &resume));
    offers
}

/// Phases with an outward effect of which nobody knows whether it happened.
pub fn of_doubts(run: &Run) -> Question {
    let wanted = [Choice::Retry, Choice::Adopt, Choice::Skip];
    Question {
        reasons: run.in_doubt().map(|phase| format!("nobody knows whether the effect of {phase} happened")).collect(),
        in_doubt: run.in_doubt().cloned().collect(),
        choices: run.in_doubt().flat_map(|phase| phase_offers(run, phase, &wanted, &resume(run))).collect(),
        ..Question::new(run.id.clone())
    }
}
