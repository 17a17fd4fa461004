//! Phases that somebody else does: a person who decides, a worker who reports in.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::document::word::words;

/// The answers where the plan names none, and those that decide.
pub const APPROVE: &str = "approve";
pub const REJECT: &str = "reject";
/// The output under which an approval gives out what was chosen.
pub const CHOICE: &str = "choice";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    pub message: String,
    /// Artifacts and texts to look at first.
    pub show: Vec<String>,
    /// The possible answers; the first one is a yes.
    pub choices: Vec<String>,
    /// The names that may answer; anybody if empty.
    pub who: Vec<String>,
    pub expires: Option<Duration>,
    pub if_expired: IfExpired,
}

impl Approval {
    /// The choice that an answer names: `approve` and `reject` always can be said, whatever the plan calls them.
    pub fn choice(&self, said: &str) -> Option<&str> {
        let named = self.choices.iter().find(|choice| *choice == said).map(String::as_str);
        named.or(match said {
            APPROVE => self.choices.first().map(String::as_str).or(Some(APPROVE)),
            REJECT => Some(REJECT),
            _ => None,
        })
    }
}

words! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum IfExpired {
        Approve = "approve",
        Reject = "reject",
        Pause = "pause",
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct External {
    pub instructions: String,
    /// How often whoever does it shall report.
    pub heartbeat: Option<Duration>,
    pub if_silent: IfSilent,
}

words! {
    /// The meaning of silence once it has lasted longer than the heartbeat.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum IfSilent {
        Wait = "wait",
        Pause = "pause",
        Fail = "fail",
        Ask = "ask",
    }
}
