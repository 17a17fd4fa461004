//! Why a phase cannot be expanded.

use crate::id::PhaseId;

/// Why a phase cannot be expanded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpandError {
    #[error("the matrix of {phase} cannot be read: {why}")]
    Matrix { phase: PhaseId, why: String },
    #[error("with {phase} the plan has more than {max} phases")]
    TooMany { phase: PhaseId, max: usize },
    #[error("{phase} uses {path}, {why}")]
    Uses { phase: PhaseId, path: String, why: String },
}
