//! Limits: named pools that phases draw on.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::document::word::words;

/// A reset further away than this is not waited for, unless the plan says otherwise.
pub const MAX_WAIT_DEFAULT: Duration = Duration::from_hours(6);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limit {
    /// Phases that draw on it at once.
    pub max_parallel: Option<u32>,
    pub rate: Option<Rate>,
    pub budget: Option<Budget>,
    pub detect: Option<Detect>,
    pub when_limited: WhenLimited,
    pub max_wait: Duration,
    pub scope: Scope,
}

impl Default for Limit {
    fn default() -> Self {
        Self {
            max_parallel: None,
            rate: None,
            budget: None,
            detect: None,
            when_limited: WhenLimited::Wait,
            max_wait: MAX_WAIT_DEFAULT,
            scope: Scope::Project,
        }
    }
}

/// Starts within a sliding window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rate {
    pub count: u32,
    pub window: Duration,
}

/// A limit of cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Budget {
    pub usd: Option<f64>,
    pub tokens: Option<u64>,
}

/// How a hit is recognised, beside what is known without being told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Detect {
    pub exit_codes: Vec<i32>,
    /// A regular expression that the checker has compiled once.
    pub output_matches: Option<String>,
    /// Likewise; its first group is the time.
    pub reset_at: Option<String>,
}

words! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum WhenLimited {
        Wait = "wait",
        Pause = "pause",
        Fail = "fail",
    }
}

words! {
    /// The runs that see a hit.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Scope {
        Run = "run",
        Project = "project",
        User = "user",
    }
}
