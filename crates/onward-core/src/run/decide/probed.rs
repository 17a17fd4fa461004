//! The probe `done-when` of a phase has answered.

use jiff::Timestamp;

use super::ended::{failed_for_good, has_probe, is_another_failure, retried_or_failed, tells_of_a_signal};
use super::{Refusal, agents};
use crate::event::{Claimed, Event, PhaseError, ProbeAnswer};
use crate::failure::FailureCode;
use crate::id::{Attempt, PhaseId};
use crate::plan::{Effects, OnInterrupt, Phase, RetryWhen};
use crate::run::budgets::is_an_agents;
use crate::run::state::{PhaseState, ProbeDue, Run};
use crate::run::transient;
use crate::run::verification::{self, Judgement, Proof};

pub(super) fn probed(run: &Run, id: &PhaseId, proof: &Proof, now: Timestamp) -> Result<Vec<Event>, Refusal> {
    let state = run.phase_state(id).ok_or_else(|| Refusal::NoSuchPhase(id.clone()))?;
    let phase = &run.plan().phases[run.at(id)];
    // Somebody answered for the phase meanwhile: what was seen does not matter any more.
    let Some(due) = state.probe.as_ref().filter(|_| !state.in_doubt) else { return Ok(Vec::new()) };
    let first = |answer, error| Event::PhaseProbed { phase: id.clone(), answer, error };
    let judgement = if nobody_said_no(phase, proof) { Judgement::Unclear } else { verification::judge(phase, proof) };
    let judgement = told_of_what_is_ignored(state, judgement);
    if judgement == Judgement::Done && state.is_apart() {
        // What is proven in a worktree comes into the project next, and is proven there once more.
        return Ok(vec![first(ProbeAnswer::Done, None)]);
    }
    Ok(match (judgement, due) {
        (
            Judgement::Done,
            ProbeDue::AfterTheRun(claimed) | ProbeDue::BeforeARerun(claimed) | ProbeDue::AfterAStop(claimed),
        ) => {
            vec![first(ProbeAnswer::Done, None), completed(id, claimed, proof)]
        }
        (Judgement::Done, ProbeDue::AfterACut(cut)) => {
            vec![first(ProbeAnswer::Done, None), completed(id, &cut.0, proof)]
        }
        (Judgement::NotDone(_), ProbeDue::AfterACut(cut)) => {
            let PhaseError { code, message } = cut.1.clone();
            // The end itself was counted when it was recorded.
            let failures = state.failures.saturating_sub(1);
            let next = if is_another_failure(phase, &message) {
                failed_for_good(run, phase, code, message)
            } else {
                let attempt = Attempt(state.attempts);
                retried_or_failed(run, phase, failures, kind_of(code), (code, message), attempt, now)
            };
            vec![first(ProbeAnswer::NotDone, Some(cut.1.clone())), next]
        }
        (Judgement::NotDone(error), ProbeDue::AfterTheRun(_)) => {
            let why = (error.code, error.message.clone());
            let next = if is_an_agents(phase) {
                agents::after(run, phase, state, error.clone(), Attempt(state.attempts), now)
            } else if is_another_failure(phase, &error.message) {
                failed_for_good(run, phase, why.0, why.1)
            } else {
                let said = proof.checks.iter().find(|check| check.code != Some(0)).map_or("", |check| &check.said);
                let when = transient::kind(phase, RetryWhen::Failed, said);
                retried_or_failed(run, phase, state.failures, when, why, Attempt(state.attempts), now)
            };
            vec![first(ProbeAnswer::NotDone, Some(error)), next]
        }
        (Judgement::NotDone(error), ProbeDue::AfterAStop(_)) => {
            // Without a `done-when` nothing says that its outward effect is absent.
            let doubt = asks(phase) || (phase.effects == Effects::External && !has_probe(phase));
            let doubt = doubt.then(|| Event::PhaseInDoubt { phase: id.clone() });
            std::iter::once(first(ProbeAnswer::NotDone, Some(error))).chain(doubt).collect()
        }
        (Judgement::NotDone(error), ProbeDue::BeforeARerun(_)) => {
            let doubt = asks(phase).then(|| Event::PhaseInDoubt { phase: id.clone() });
            std::iter::once(first(ProbeAnswer::NotDone, Some(error))).chain(doubt).collect()
        }
        (Judgement::Unclear, _) => {
            vec![first(ProbeAnswer::CannotTell, None), Event::PhaseInDoubt { phase: id.clone() }]
        }
    })
}

/// An artifact was there in the worktree and is not in the project: what git ignores stays behind, and that is to be said.
fn told_of_what_is_ignored(state: &PhaseState, judgement: Judgement) -> Judgement {
    match judgement {
        Judgement::NotDone(PhaseError { code: FailureCode::ArtifactMissing, message })
            if state.own.is_some() && !state.is_apart() =>
        {
            let message =
                format!("{message}; it was in its worktree, and files that git ignores do not come into the project");
            Judgement::NotDone(PhaseError { code: FailureCode::ArtifactMissing, message })
        }
        other => other,
    }
}

/// Whether a check of an outward effect was cut short: that it did not say yes is no no.
fn nobody_said_no(phase: &Phase, proof: &Proof) -> bool {
    let failed = proof.checks.iter().find(|check| check.code != Some(0));
    let cut = failed.is_some_and(|check| check.code.is_none_or(tells_of_a_signal));
    cut && phase.effects == Effects::External
}

fn kind_of(code: FailureCode) -> RetryWhen {
    match code {
        FailureCode::TimedOut => RetryWhen::TimedOut,
        FailureCode::Signal => RetryWhen::Infra,
        _ => RetryWhen::Failed,
    }
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
        adoption: None,
        seen: claimed.seen.clone(),
        artifacts: proof.left_behind(),
    }
}
