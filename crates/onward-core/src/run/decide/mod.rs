//! What happened outside, turned into facts. One file for each kind of input.

mod begin;
pub(super) mod ended;
mod external_phases;
mod limited;
mod pause;
mod posted;
mod probed;
mod replan;
mod revise;
mod stop;
mod undo_phases;
mod vcs;

use jiff::Timestamp;

use super::state::Run;
use crate::data_limits::Unfit;
use crate::event::{Event, StopBy};
use crate::id::{Attempt, PhaseId};
use crate::input::Input;
use crate::patch::Misfit;

pub use begin::{clean_retry, is_legal};
pub use posted::ends_with;

/// Why an input leads to nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("run has no phase {0}")]
    NoSuchPhase(PhaseId),
    #[error("attempt {1} of {0} is not at work")]
    NotAtWork(PhaseId, Attempt),
    #[error("{0} cannot be chosen for phase {1}: {2}")]
    Illegal(&'static str, PhaseId, String),
    #[error("the run is archived")]
    Archived,
    #[error("the run is at work")]
    AtWork,
    #[error("the run is over")]
    Over,
    #[error("{1}")]
    NotTheirs(PhaseId, String),
    #[error("the run is being rewound")]
    Rewinding,
    #[error(transparent)]
    Misfit(#[from] Misfit),
    #[error(transparent)]
    Unfit(#[from] Unfit),
}

impl Refusal {
    /// A phase is to be retried while an attempt at it is at work.
    pub fn at_work(phase: &PhaseId) -> Self {
        let stop = "wait for its end; or stop its driver by Ctrl+C";
        Self::Illegal(
            "a retry",
            phase.clone(),
            format!("it is at work: {stop} and type  onward resume --retry {phase}"),
        )
    }

    /// The same where nobody drives the run.
    pub fn outlived_its_driver(phase: &PhaseId) -> Self {
        let wait = "onward resume waits for its end, and with --orphan it can be ended first";
        Self::Illegal("a retry", phase.clone(), format!("it is still at work, though nobody drives the run: {wait}"))
    }
}

pub(super) fn decide(run: &Run, input: &Input, now: Timestamp) -> Result<Vec<Event>, Refusal> {
    match input {
        Input::Begin(begin) => begin::begin(run, begin, now),
        Input::AttemptFound { phase, attempt, alive } => {
            at_work(run, phase, *attempt)?;
            let (phase, attempt, alive) = (phase.clone(), *attempt, *alive);
            Ok(vec![Event::AttemptAdopted { phase, attempt, epoch: run.epoch, alive }])
        }
        Input::AttemptEnded { phase, attempt, end } => {
            at_work(run, phase, *attempt)?;
            Ok(ended::ended(run, phase, *attempt, end, now))
        }
        Input::Probed { phase, proof } => probed::probed(run, phase, proof, now),
        Input::Replan { phase, plan } => Ok(replan::made(run, phase, plan)),
        Input::DriverGone => Ok(driver_gone(run)),
        Input::StopAsked { by } => Ok(stop::stop(run, *by)),
        Input::Snapshotted(result) => Ok(vec![vcs::snapshotted(result)]),
        Input::KeptBeforeClean { phase, attempt, snapshot } => {
            Ok(vcs::kept_before_clean(run, phase, *attempt, snapshot, now))
        }
        Input::Committed { number, made } => Ok(vcs::committed(run, *number, made).into_iter().collect()),
        Input::Rewind(begun) => vcs::rewind(run, begun),
        Input::Rewound(result) => vcs::rewound(run, result),
        Input::Forked { from, checkpoint, restored } => Ok(vec![vcs::forked(from, checkpoint, restored)]),
        Input::LimitElsewhere(closed) => Ok(limited::elsewhere(run, closed, now).into_iter().collect()),
        Input::Tick => Ok(Vec::new()),
        Input::Posted(posted) => posted::posted(run, posted, now),
    }
}

/// A run that ended or was stopped needs no such note.
fn driver_gone(run: &Run) -> Vec<Event> {
    let gone = !run.archived && run.ending().is_none();
    gone.then_some(Event::RunStopped { by: StopBy::DriverGone }).into_iter().collect()
}

fn at_work(run: &Run, phase: &PhaseId, attempt: Attempt) -> Result<(), Refusal> {
    let state = run.phase_state(phase).ok_or_else(|| Refusal::NoSuchPhase(phase.clone()))?;
    match &state.attempt {
        Some(running) if running.number == attempt => Ok(()),
        Some(_) | None => Err(Refusal::NotAtWork(phase.clone(), attempt)),
    }
}
