//! Attempts that failed, as they are remembered: what went wrong, what was said of it, what it changed, and a signature by which
//! the same failure is known again.

mod signature;

use serde::{Deserialize, Serialize};
pub(crate) use signature::signature;

use crate::event::PhaseError;
use crate::failure::FailureCode;
use crate::id::Attempt;

/// The same failure so often is no accident any more.
pub(crate) const SAME_FAILURE_MAX: usize = 3;
/// Failures of a phase that are remembered; older ones are forgotten first.
pub(crate) const TRIES_KEPT_MAX: usize = 12;
const MESSAGE_BYTES_MAX: usize = 2_000;
/// Of its last line and its note.
const LINE_BYTES_MAX: usize = 400;
/// Files that are named.
const CHANGED_NAMED_MAX: usize = 20;

/// An attempt that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedTry {
    pub attempt: Attempt,
    pub code: FailureCode,
    pub message: String,
    pub signature: String,
    /// The last line that it printed.
    pub said: Option<String>,
    /// Its last note.
    pub note: Option<String>,
    /// Files that are not as they were before it, where nobody else was at work and somebody has looked.
    pub changed: Vec<String>,
    pub changed_more: u64,
}

impl FailedTry {
    pub fn new(attempt: Attempt, error: &PhaseError) -> Self {
        Self::saying(attempt, error, None, None)
    }

    /// The same, with the last line that it printed and its note.
    pub fn saying(attempt: Attempt, error: &PhaseError, said: Option<&str>, note: Option<&str>) -> Self {
        Self {
            attempt,
            code: error.code,
            message: cut(&error.message, MESSAGE_BYTES_MAX),
            signature: signature(error, said),
            said: said.map(|said| cut(said, LINE_BYTES_MAX)),
            note: note.map(|note| cut(note, LINE_BYTES_MAX)),
            changed: Vec::new(),
            changed_more: 0,
        }
    }

    /// The files that it changed, by name; none where nobody knows of any.
    pub fn changed_in_words(&self) -> Option<String> {
        let more = (self.changed_more > 0).then(|| format!("{} more", self.changed_more));
        let all: Vec<String> = self.changed.iter().cloned().chain(more).collect();
        (!all.is_empty()).then(|| all.join(", "))
    }

    /// Files were looked at after it.
    pub(crate) fn has_changed(&mut self, paths: impl ExactSizeIterator<Item = String>, more: u64) {
        let over = paths.len().saturating_sub(CHANGED_NAMED_MAX);
        self.changed = paths.take(CHANGED_NAMED_MAX).collect();
        self.changed_more = more.saturating_add(u64::try_from(over).unwrap_or(u64::MAX));
    }
}

fn cut(text: &str, bytes_max: usize) -> String {
    text[..text.floor_char_boundary(bytes_max)].to_owned()
}
