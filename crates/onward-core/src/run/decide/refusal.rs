//! Why an input leads to nothing.

use crate::data_limits::Unfit;
use crate::id::{Attempt, PhaseId};
use crate::patch::Misfit;

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
    #[error("files of {0} are being put into the project, and that has to end first")]
    FilesOnTheirWay(PhaseId),
    /// A message, an entry or the like of an agent cannot be taken.
    #[error("{0}")]
    NotShared(String),
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
        let wait = "onward resume waits for its end, and --orphan kill ends it first";
        Self::Illegal("a retry", phase.clone(), format!("it is still at work, though nobody drives the run: {wait}"))
    }
}
