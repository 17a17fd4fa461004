//! The probe of a phase has spoken, or could not.

use jiff::Timestamp;

use super::Refusal;
use super::ended::retried_or_failed;
use crate::event::{Answer, Claimed, Event};
use crate::id::{Attempt, PhaseId};
use crate::plan::{OnInterrupt, Phase, RetryWhen};
use crate::run::state::{ProbeDue, Run};

pub(super) fn probed(run: &Run, id: &PhaseId, answer: Answer, now: Timestamp) -> Result<Vec<Event>, Refusal> {
    let state = run.phase_state(id).ok_or_else(|| Refusal::NoSuchPhase(id.clone()))?;
    let phase = &run.plan().phases[run.at(id)];
    // Somebody answered for the phase meanwhile: what the probe says does not matter any more.
    let Some(due) = state.probe.as_ref().filter(|_| !state.in_doubt) else { return Ok(Vec::new()) };
    let first = Event::PhaseProbed { phase: id.clone(), answer };
    let next = match (answer, due) {
        (Answer::Done, ProbeDue::AfterTheRun(claimed) | ProbeDue::BeforeARerun(claimed)) => {
            Some(completed(id, claimed))
        }
        (Answer::NotDone, ProbeDue::AfterTheRun(_)) => {
            let why = "it ended with code 0, but its done-when probe says that the effect is not there".to_owned();
            let attempt = Attempt(state.attempts);
            Some(retried_or_failed(run, phase, state, RetryWhen::Failed, ("not-done", why), attempt, now))
        }
        (Answer::NotDone, ProbeDue::BeforeARerun(_)) => asks(phase).then(|| Event::PhaseInDoubt { phase: id.clone() }),
        (Answer::CannotTell, _) => Some(Event::PhaseInDoubt { phase: id.clone() }),
    };
    Ok(std::iter::once(first).chain(next).collect())
}

fn asks(phase: &Phase) -> bool {
    phase.on_interrupt == Some(OnInterrupt::Ask)
}

fn completed(phase: &PhaseId, claimed: &Claimed) -> Event {
    Event::PhaseCompleted {
        phase: phase.clone(),
        summary: claimed.summary.clone(),
        outputs: claimed.outputs.clone(),
        adopted: false,
        seen: claimed.seen.clone(),
    }
}
