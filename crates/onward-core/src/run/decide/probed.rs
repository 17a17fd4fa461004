//! It was looked whether a phase that says so is done.

use jiff::Timestamp;

use super::Refusal;
use super::ended::{failed_for_good, is_another_failure, retried_or_failed};
use crate::event::{Answer, Claimed, Event};
use crate::id::{Attempt, PhaseId};
use crate::plan::{OnInterrupt, Phase, RetryWhen};
use crate::run::proof::{self, Judgement, Proof};
use crate::run::state::{ProbeDue, Run};

pub(super) fn probed(run: &Run, id: &PhaseId, proof: &Proof, now: Timestamp) -> Result<Vec<Event>, Refusal> {
    let state = run.phase_state(id).ok_or_else(|| Refusal::NoSuchPhase(id.clone()))?;
    let phase = &run.plan().phases[run.at(id)];
    // Somebody answered for the phase meanwhile: what was seen does not matter any more.
    let Some(due) = state.probe.as_ref().filter(|_| !state.in_doubt) else { return Ok(Vec::new()) };
    let first = |answer, error| Event::PhaseProbed { phase: id.clone(), answer, error };
    Ok(match (proof::judge(phase, proof), due) {
        (Judgement::Done, ProbeDue::AfterTheRun(claimed) | ProbeDue::BeforeARerun(claimed)) => {
            vec![first(Answer::Done, None), completed(id, claimed, proof)]
        }
        (Judgement::NotDone(error), ProbeDue::AfterTheRun(_)) => {
            let why = (error.code.as_str(), error.message.clone());
            let next = if is_another_failure(phase, &error.message) {
                failed_for_good(run, phase, why.0, why.1)
            } else {
                retried_or_failed(run, phase, state, RetryWhen::Failed, why, Attempt(state.attempts), now)
            };
            vec![first(Answer::NotDone, Some(error)), next]
        }
        (Judgement::NotDone(error), ProbeDue::BeforeARerun(_)) => {
            let doubt = asks(phase).then(|| Event::PhaseInDoubt { phase: id.clone() });
            std::iter::once(first(Answer::NotDone, Some(error))).chain(doubt).collect()
        }
        (Judgement::Unclear, _) => vec![first(Answer::CannotTell, None), Event::PhaseInDoubt { phase: id.clone() }],
    })
}

fn asks(phase: &Phase) -> bool {
    phase.on_interrupt == Some(OnInterrupt::Ask)
}

fn completed(phase: &PhaseId, claimed: &Claimed, proof: &Proof) -> Event {
    Event::PhaseCompleted {
        phase: phase.clone(),
        summary: claimed.summary.clone(),
        outputs: claimed.outputs.clone(),
        adopted: false,
        seen: claimed.seen.clone(),
        artifacts: proof.left_behind(),
    }
}
