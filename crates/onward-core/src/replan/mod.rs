//! Revisions of a plan while it is carried out: what kind it is, whether it may be made, and what the plan is then.

mod facts;
mod judge;
mod kept;
mod loosened;
mod model;

pub use facts::{Because, ReplanCause, Replanned, RevisionRecord};
pub use judge::{PlanChanges, judge, may_ask};
pub use loosened::{approvals_loosened, loosened};
pub use model::{EXIT_REPLAN, PhaseProgress, Refused, ReplanLimits, ReplanStanding, Revision, RevisionKind};
