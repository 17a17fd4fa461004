//! Requirements of a run or a phase: commands that must succeed before it starts or goes on.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requirement {
    /// The command; it must end with 0.
    pub run: String,
    /// The author's words for whoever has to see to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl Requirement {
    /// As it is told to people: the message, else the command.
    pub fn words(&self) -> &str {
        self.message.as_deref().unwrap_or(&self.run).trim()
    }
}
