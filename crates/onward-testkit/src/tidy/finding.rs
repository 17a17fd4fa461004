//! Breaches of a rule.

use std::fmt;

/// One breach of a rule: where, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breach {
    pub file: String,
    /// From 1; none where the whole file is meant.
    pub line: Option<usize>,
    pub message: String,
}

impl Breach {
    pub(super) fn at(file: &str, line: usize, message: String) -> Self {
        Self { file: file.to_owned(), line: Some(line), message }
    }

    pub(super) fn in_file(file: &str, message: String) -> Self {
        Self { file: file.to_owned(), line: None, message }
    }
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.file, self.message),
            None => write!(f, "{}: {}", self.file, self.message),
        }
    }
}
