//! Failures of agents as they are remembered: what went wrong, and a signature by which the same failure is known again.

use serde::{Deserialize, Serialize};

use crate::event::PhaseError;
use crate::failure::FailureCode;
use crate::id::Attempt;

/// The same failure so often is no accident any more.
pub(crate) const SAME_FAILURE_MAX: usize = 3;
const MESSAGE_BYTES_MAX: usize = 2_000;
const SIGNATURE_CHARS: usize = 16;

/// An attempt that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedTry {
    pub attempt: Attempt,
    pub code: FailureCode,
    pub message: String,
    pub signature: String,
}

impl FailedTry {
    pub fn new(attempt: Attempt, error: &PhaseError) -> Self {
        let mut message = error.message.clone();
        message.truncate(message.floor_char_boundary(MESSAGE_BYTES_MAX));
        Self { attempt, code: error.code, message, signature: signature(error) }
    }
}

/// The common part of failures of one kind: their code and their words, but for numbers, case and blanks.
pub(crate) fn signature(error: &PhaseError) -> String {
    let mut plain = String::with_capacity(error.message.len());
    for word in error.message.split_whitespace() {
        // A number with what clings to it: a line, a time, an address.
        let mut in_number = false;
        for letter in word.chars() {
            if letter.is_ascii_digit() {
                if !in_number {
                    plain.push('#');
                }
                in_number = true;
            } else {
                in_number = false;
                plain.extend(letter.to_lowercase());
            }
        }
        plain.push(' ');
    }
    let text = format!("{}\n{plain}", error.code.as_str());
    blake3::hash(text.as_bytes()).to_hex()[..SIGNATURE_CHARS].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signature_of(message: &str) -> String {
        signature(&PhaseError { code: FailureCode::AgentFailed, message: message.to_owned() })
    }

    /// The same mistake in another line and after another time is the same; another word is not.
    #[test]
    fn numbers_case_and_blanks_do_not_make_another_failure() {
        assert_eq!(
            signature_of("error E0308 in login.rs:12 after 3s"),
            signature_of("Error e0308  in login.rs:7 after 41s")
        );
        assert_ne!(signature_of("error in the parser"), signature_of("error in the linker"));
    }
}
