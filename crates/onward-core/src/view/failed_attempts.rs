//! Failed attempts as they are shown.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent_failures::FailedTry;
use crate::failure::FailureCode;

/// One attempt that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FailedAttempt {
    pub attempt: u32,
    pub code: FailureCode,
    pub message: String,
    /// The same failure has the same one, whatever lines, times and ids it names.
    pub signature: String,
    /// The last line that it printed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Files that it changed, as far as that is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
}

impl FailedAttempt {
    pub fn new(one: &FailedTry) -> Self {
        Self {
            attempt: one.attempt.0,
            code: one.code,
            message: one.message.clone(),
            signature: one.signature.clone(),
            said: one.said.clone(),
            note: one.note.clone(),
            changed: one.changed.clone(),
        }
    }

    /// For `why`.
    pub fn words(&self) -> String {
        let said = self.said.as_ref().map(|said| format!("; last line: {said}")).unwrap_or_default();
        let note = self.note.as_ref().map(|note| format!("; note: {note}")).unwrap_or_default();
        let changed =
            if self.changed.is_empty() { String::new() } else { format!("; it changed {}", self.changed.join(", ")) };
        let (attempt, code, signature) = (self.attempt, self.code.as_str(), &self.signature);
        format!("attempt {attempt} failed ({code}, {signature}): {}{said}{note}{changed}", self.message)
    }
}
