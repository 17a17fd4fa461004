//! The state of a run and of its phases, at one position of the journal.

mod phase;
mod run;

pub use phase::{AdoptedPhase, Before, EarlierKey, PhaseState, PhaseStatus, ProbeDue, RunningAttempt};
pub(crate) use run::Dirty;
pub(in crate::run) use run::Due;
pub use run::{Ending, Run, RunStatus};
