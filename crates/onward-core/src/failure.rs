//! Codes of failed phases.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The `code` of a phase's error. Stored runs and scripts know the words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FailureCode {
    /// It ended with a code other than 0.
    ExitCode,
    /// A signal that was not ours ended it.
    Signal,
    TimedOut,
    CouldNotStart,
    /// It says that it is done, and its outputs cannot be read.
    BadOutputs,
    /// It says that it is done, and an artifact is not there.
    ArtifactMissing,
    /// It says that it is done, and a command of `verify` says no.
    VerifyFailed,
    /// It says that it is done, and its `done-when` says no.
    EffectMissing,
    /// It is said to be done, and not everything that would prove it was checked.
    NotLookedAt,
    /// It takes its host down again and again.
    CrashLoop,
    /// An approval that was not given.
    Rejected,
    /// The one who does it reported the failure.
    Reported,
    /// The one who does it says again and again that the same remains.
    Stuck,
    /// The one who does it was not heard for too long.
    Silent,
    /// One of its child phases has failed.
    PartFailed,
    /// Its child phases cannot be determined.
    CannotExpand,
    /// The agent says that it could not do it, or says nothing.
    AgentFailed,
    /// Nobody is logged in at the agent.
    NotLoggedIn,
    /// It took all the turns that it may take.
    MaxTurns,
    /// It spent all that it may spend.
    Budget,
    /// The agent was not allowed to use a tool, and nothing proves that it did without.
    Denied,
    /// Its files could not be put into the project.
    NotIntegrated,
    /// It wants another plan and does not get it.
    NotReplanned,
    /// Recorded elsewhere, without a code.
    Unknown,
}

impl FailureCode {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ExitCode => "exit-code",
            Self::Signal => "signal",
            Self::TimedOut => "timed-out",
            Self::CouldNotStart => "could-not-start",
            Self::BadOutputs => "bad-outputs",
            Self::ArtifactMissing => "artifact-missing",
            Self::VerifyFailed => "verify-failed",
            Self::EffectMissing => "effect-missing",
            Self::NotLookedAt => "not-looked-at",
            Self::CrashLoop => "crash-loop",
            Self::Rejected => "rejected",
            Self::Reported => "reported",
            Self::Stuck => "stuck",
            Self::Silent => "silent",
            Self::PartFailed => "part-failed",
            Self::CannotExpand => "cannot-expand",
            Self::AgentFailed => "agent-failed",
            Self::NotLoggedIn => "not-logged-in",
            Self::MaxTurns => "max-turns",
            Self::Budget => "budget",
            Self::Denied => "denied",
            Self::NotIntegrated => "not-integrated",
            Self::NotReplanned => "not-replanned",
            Self::Unknown => "unknown",
        }
    }

    /// Whether a phase with this code said that it was done, and the check of that said otherwise.
    pub fn is_of_a_proof(self) -> bool {
        matches!(self, Self::VerifyFailed | Self::EffectMissing | Self::ArtifactMissing)
    }
}
