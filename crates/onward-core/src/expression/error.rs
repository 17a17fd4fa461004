//! Why an expression cannot be used.

use super::Reference;

/// Why an expression cannot be used. `offset` is in bytes from the start of the text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpressionError {
    #[error("`${{{{` has no `}}}}`")]
    Unclosed { offset: usize },
    #[error("{what}")]
    Malformed { offset: usize, what: String },
    #[error("`{reference}` has no value here")]
    NoValue { reference: Reference },
}

impl ExpressionError {
    /// Where in the text it went wrong, for a caret.
    pub fn offset(&self) -> usize {
        match self {
            ExpressionError::Unclosed { offset } | ExpressionError::Malformed { offset, .. } => *offset,
            ExpressionError::NoValue { .. } => 0,
        }
    }
}
