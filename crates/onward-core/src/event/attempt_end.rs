//! How an attempt ended, and what it left.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::StopRequest;
use crate::evidence::Evidence;

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum Outcome {
    Exited {
        code: i32,
    },
    /// By a signal that was not ours.
    Killed {
        signal: i32,
    },
    TimedOut,
    /// It could not be started at all.
    CouldNotStart {
        reason: String,
    },
    /// It was provably never executed, though its attendant was started.
    NeverRan,
    /// We asked it to end. Never a failure.
    Stopped {
        by: StopRequest,
        /// It ended with code 0 all the same: done, or stopped half-way and polite about it.
        #[serde(default)]
        said_done: bool,
    },
    /// It was at work and left no record: nobody can know.
    Unknown,
}

/// A process that was there when the outcome of its attempt was written: let be after a success, or not to be ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftRunning {
    pub pid: i32,
    /// In clock ticks since boot: with the number it names the process within one boot.
    pub start_time: u64,
    /// The name of its program.
    pub name: String,
}

/// The result that an attempt claims, until somebody else confirms it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Claimed {
    pub summary: Option<String>,
    pub outputs: BTreeMap<String, String>,
    #[serde(default)]
    pub seen: Option<Box<Evidence>>,
}
