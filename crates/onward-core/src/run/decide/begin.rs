//! A driver takes the run in hand, with a person's answers if there were any.

use super::Refusal;
use crate::event::Event;
use crate::id::{Generation, PhaseId};
use crate::input::{Begin, Choice};
use crate::mutant::{self, Mutant};
use crate::run::state::{PhaseState, PhaseStatus, Run};

pub(super) fn begin(run: &Run, begin: &Begin) -> Result<Vec<Event>, Refusal> {
    if run.archived {
        return Err(Refusal::Archived);
    }
    let mut events = vec![Event::DriverStarted {
        epoch: begin.epoch,
        host: begin.host.clone(),
        pid: begin.pid,
        boot: begin.boot.clone(),
        jobs: begin.jobs,
        orphans: begin.orphans,
        head: begin.head.clone(),
    }];
    for (phase, choice) in &begin.choices {
        let state = run.phase_state(phase).ok_or_else(|| Refusal::NoSuchPhase(phase.clone()))?;
        let writes = !run.plan().phases[run.at(phase)].writes.is_empty();
        if *choice == Choice::RetryClean && (!writes || state.base.is_none()) {
            let why = if writes { "no snapshot was taken before it" } else { "it does not say what it writes" };
            return Err(Refusal::Illegal("a clean retry", phase.clone(), why.to_owned()));
        }
        events.extend(choose(phase, state, *choice)?);
    }
    if begin.renew {
        let chosen = |id: &PhaseId| begin.choices.iter().any(|(phase, _)| phase == id);
        let failed = run.phases().filter(|(p, s)| s.status == PhaseStatus::Failed && !s.parked && !chosen(&p.id));
        events.extend(failed.map(|(p, s)| reopened(&p.id, s.generation, Choice::Retry)));
    }
    Ok(events)
}

/// What a person's answer does to a phase, or why it is not possible.
fn choose(phase: &PhaseId, state: &PhaseState, choice: Choice) -> Result<Option<Event>, Refusal> {
    let illegal = |what, why: &str| Err(Refusal::Illegal(what, phase.clone(), why.to_owned()));
    match (choice, state.status) {
        (Choice::Retry | Choice::RetryClean, PhaseStatus::Completed | PhaseStatus::Skipped) => {
            let raise = u32::from(!mutant::is(Mutant::ReuseAGeneration));
            Ok(Some(reopened(phase, Generation(state.generation.0 + raise), choice)))
        }
        (
            Choice::Retry | Choice::RetryClean,
            PhaseStatus::Pending | PhaseStatus::Running | PhaseStatus::Failed | PhaseStatus::Interrupted,
        ) => Ok(Some(reopened(phase, state.generation, choice))),
        (Choice::Skip, PhaseStatus::Completed) => illegal("skip", "it is completed"),
        (Choice::Adopt, PhaseStatus::Completed) => illegal("adopt", "it is completed"),
        (Choice::Skip, PhaseStatus::Running) => illegal("skip", "an attempt may still be at work"),
        (Choice::Adopt, PhaseStatus::Running) => illegal("adopt", "an attempt may still be at work"),
        (Choice::Skip, PhaseStatus::Skipped) => Ok(None),
        (Choice::Skip, PhaseStatus::Pending | PhaseStatus::Failed | PhaseStatus::Interrupted) => {
            Ok(Some(Event::PhaseSkipped { phase: phase.clone() }))
        }
        (
            Choice::Adopt,
            PhaseStatus::Pending | PhaseStatus::Failed | PhaseStatus::Interrupted | PhaseStatus::Skipped,
        ) => Ok(Some(adopted(phase, state))),
    }
}

fn reopened(phase: &PhaseId, generation: Generation, choice: Choice) -> Event {
    Event::PhaseReopened { phase: phase.clone(), generation, clean: choice == Choice::RetryClean }
}

fn adopted(phase: &PhaseId, state: &PhaseState) -> Event {
    Event::PhaseCompleted {
        phase: phase.clone(),
        summary: state.summary.clone(),
        outputs: state.outputs.clone(),
        adopted: true,
    }
}
