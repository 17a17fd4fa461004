//! Reports of those who do a phase outside of onward.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::Attempt;

/// A report about an external phase by whoever does it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum ExternalReport {
    Started {
        attempt: Attempt,
    },
    Progress {
        note: Option<String>,
    },
    /// It said that it was done, and it was not: the phase stays open.
    Overruled {
        reason: String,
        /// The remaining work in the reporter's words, if there is any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        remaining: Option<String>,
    },
    /// It said that it was done, and a program has seen that it is.
    Done {
        commit: Option<String>,
    },
    Failed {
        reason: String,
    },
    /// It was not heard for longer than its heartbeat allows.
    Silent,
}
