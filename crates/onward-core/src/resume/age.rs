//! The age limit: a run that has not moved for long is asked about before it goes on.

use std::time::Duration;

use jiff::Timestamp;

use super::finding::{Finding, FindingKind};
use crate::run::Run;
use crate::words;

/// A run that last moved longer ago than the limit, or in the future.
pub(super) fn age(run: &Run, max_age: Duration, now: Timestamp) -> Option<Finding> {
    match Duration::try_from(now.duration_since(run.updated_at)) {
        Ok(age) if age <= max_age => None,
        Ok(age) => {
            Some(Finding::new(FindingKind::Old, format!("the last change of the run was {} ago", words::duration(age))))
        }
        Err(_) => Some(Finding::new(
            FindingKind::ClockWentBack,
            "the last change of the run lies in the future: the clock went back",
        )),
    }
}
