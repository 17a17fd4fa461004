//! Stops: the request that something ends, and the reason why a driver let go of a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A request that a run stops, or that an attempt ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StopRequest {
    /// Ctrl+C.
    Interrupt,
    /// SIGTERM.
    SessionEnd,
    /// The terminal was closed; the phases live on.
    Hangup,
    /// Another phase failed and the plan says `on-failure: stop`.
    Failure,
    /// A person did not want to wait for an orphan.
    OrphanKill,
    /// The run is being rewound.
    Rewind,
    /// The time that the driver was given is over.
    Deadline,
    /// Nothing more is to be started.
    Pause,
    /// The run is cancelled.
    Cancel,
}

/// The force of a request: asked twice, it means now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Urgency {
    /// Attempts at work are asked to end.
    Ask,
    /// Attempts at work are killed.
    Kill,
}

impl StopRequest {
    /// The reason that a driver lets go with once this request is met. After a failure, or the end of an orphan, the run
    /// itself says how it goes on.
    pub fn reason(self) -> Option<StopReason> {
        match self {
            Self::Interrupt => Some(StopReason::Interrupt),
            Self::SessionEnd => Some(StopReason::SessionEnd),
            Self::Hangup => Some(StopReason::Hangup),
            Self::Rewind => Some(StopReason::Rewind),
            Self::Deadline => Some(StopReason::Deadline),
            Self::Pause => Some(StopReason::Pause),
            Self::Cancel => Some(StopReason::Cancel),
            Self::Failure | Self::OrphanKill => None,
        }
    }
}

/// The reason why a driver let go of a run that is not over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// Ctrl+C.
    Interrupt,
    /// SIGTERM.
    SessionEnd,
    /// The terminal was closed; the phases live on.
    Hangup,
    /// Only a person can say how it goes on: a phase is in doubt, or wants another plan that it does not get.
    Question,
    /// The one phase that was wanted has come to its end.
    OnlyThat,
    /// Something that a phase requires is not there, and nothing else can be started.
    Requirement,
    /// The driver went away without a word; somebody else has noticed.
    DriverGone,
    /// The run was rewound, or branched off another; it waits to be resumed.
    Rewind,
    /// All that is left waits for a limit, and nobody wants to wait for it.
    Limit,
    /// All that is left waits for money: a budget is used up.
    Budget,
    /// The time that the driver was given is over.
    Deadline,
    /// Somebody asked it to start nothing more.
    Pause,
    /// Somebody gave the run up.
    Cancel,
    /// The run was taken over from a file; it waits to be resumed.
    Import,
    /// All that is left is for others to do: a person who decides, somebody who reports.
    Waiting,
}

impl StopReason {
    /// Whether a run that stopped for this reason counts as paused.
    pub fn is_a_pause(self) -> bool {
        match self {
            Self::Limit | Self::Budget | Self::Deadline | Self::Pause => true,
            Self::Interrupt
            | Self::SessionEnd
            | Self::Hangup
            | Self::Question
            | Self::Requirement
            | Self::OnlyThat
            | Self::DriverGone
            | Self::Rewind
            | Self::Cancel
            | Self::Import
            | Self::Waiting => false,
        }
    }
}
