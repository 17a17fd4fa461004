//! Runs that must not be at work at the same time.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::document::word::words;
use crate::expression::{self, Reference};

/// The group of a plan's runs, and the way of one whose group is busy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Concurrency {
    /// May ask for inputs.
    pub group: String,
    pub when_busy: WhenBusy,
}

impl Concurrency {
    /// The group of a run with these inputs.
    pub fn group_of(&self, inputs: &BTreeMap<String, String>) -> String {
        let value = |reference: &Reference| match reference {
            Reference::Input(name) => inputs.get(name).cloned(),
            Reference::Env(_)
            | Reference::Run(_)
            | Reference::Output { .. }
            | Reference::Status(_)
            | Reference::Attempt
            | Reference::Matrix(_) => None,
        };
        expression::substitute(&self.group, &value).unwrap_or_else(|_| self.group.clone())
    }
}

words! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum WhenBusy {
        Wait = "wait",
        Fail = "fail",
        Cancel = "cancel",
    }
}
