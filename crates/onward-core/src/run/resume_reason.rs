//! The reason of resuming, from the way in which the last attempt ended.

use super::state::Before;
use crate::event::Outcome;

/// The reason of resuming that the next attempt is given.
pub(super) fn resume_reason(outcome: &Outcome) -> Before {
    match outcome {
        Outcome::Exited { code: 0 } => Before::Redone,
        Outcome::Exited { .. } | Outcome::Killed { .. } => Before::Failed,
        Outcome::TimedOut => Before::TimedOut,
        Outcome::CouldNotStart { .. } => Before::CouldNotStart,
        Outcome::NeverRan => Before::NeverRan,
        Outcome::Stopped { .. } => Before::Interrupted,
        Outcome::Unknown => Before::Unknown,
    }
}
