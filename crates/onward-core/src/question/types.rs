//! A question, and one way to answer it.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::id::{PhaseId, RunId};
use crate::resume::{Finding, Offered};

/// A question with its answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    pub run: RunId,
    pub reasons: Vec<String>,
    /// Phases of which nobody knows whether their effect happened.
    pub in_doubt: Vec<PhaseId>,
    /// Phases of the run that still have a process although nobody drives it.
    pub orphans: Vec<PhaseId>,
    pub choices: Vec<Offer>,
    /// All that was found, the worst first.
    pub findings: Vec<Finding>,
    /// Finished phases that were done with something else.
    pub stale: Vec<PhaseId>,
    /// The kinds of answer that are possible.
    pub offered: BTreeSet<Offered>,
}

impl Question {
    /// A question about a run with nothing in it yet.
    pub fn new(run: RunId) -> Self {
        Self {
            run,
            reasons: Vec::new(),
            in_doubt: Vec::new(),
            orphans: Vec::new(),
            choices: Vec::new(),
            findings: Vec::new(),
            stale: Vec::new(),
            offered: BTreeSet::new(),
        }
    }
}

/// One way to answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Offer {
    pub choice: String,
    pub command: String,
}

impl Offer {
    pub fn new(choice: impl Into<String>, command: impl Into<String>) -> Self {
        Self { choice: choice.into(), command: command.into() }
    }
}
