//! The record of replans: who asked, what came of it, and every plan that was made.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::model::{Refused, RevisionKind};
use crate::failure::FailureCode;
use crate::id::PhaseId;
use crate::mutant::{self, Mutant};
use crate::plan::{Plan, ReplanWhen};

/// Why another plan is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReplanCause {
    /// The phase ended with the code that asks for it.
    Asked,
    /// Somebody who does the phase brought a plan along.
    Reported,
    /// It failed for good, and the plan says that this asks for another one.
    Failed,
    /// It said that it was done, and its checks say otherwise.
    VerifyFailed,
    /// It is more than one phase should be.
    TooComplex,
}

impl ReplanCause {
    /// The cause, as the key `when` names it, by the code of the phase's error.
    pub fn of_failure(code: FailureCode) -> Self {
        let unheard = mutant::is(Mutant::DoneWhenIsNoProof) && code == FailureCode::EffectMissing;
        if code.is_of_a_proof() && !unheard { Self::VerifyFailed } else { Self::Failed }
    }

    /// The word of the plan that makes this a cause; none where nobody has to say so.
    pub fn when(self) -> Option<ReplanWhen> {
        match self {
            Self::Asked => None,
            Self::Reported => Some(ReplanWhen::AgentAsked),
            Self::Failed => Some(ReplanWhen::Failed),
            Self::VerifyFailed => Some(ReplanWhen::VerifyFailed),
            Self::TooComplex => Some(ReplanWhen::TooComplex),
        }
    }
}

/// Why no other plan came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Because {
    /// There were as many revisions as there may be.
    Limit,
    /// The plan names no command that would make one.
    NoCommand,
    /// The command failed, or what it printed is no plan.
    NoPlan,
    TriedBefore,
    /// It would change what it may not.
    NotAllowed,
    /// A person does not want it.
    Rejected,
}

impl From<&Refused> for Because {
    fn from(refused: &Refused) -> Self {
        match refused {
            Refused::LimitOfRun { .. } | Refused::LimitOfPhase { .. } => Self::Limit,
            Refused::TriedBefore => Self::TriedBefore,
            Refused::ChangesFinished { .. } | Refused::ChangesAtWork { .. } | Refused::NotDownstream { .. } => {
                Self::NotAllowed
            }
        }
    }
}

/// The plan is another one: what is recorded of it, with the whole plan, so that every revision can be looked at later.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Replanned {
    /// Counted from 1 in a run.
    pub number: u32,
    pub phase: PhaseId,
    pub reason: String,
    pub cause: ReplanCause,
    pub kind: RevisionKind,
    #[schemars(with = "serde_json::Value")]
    pub plan: Plan,
    pub plan_digest: String,
    /// By this the plan as it was proposed is known again.
    pub tried: String,
    pub added: Vec<PhaseId>,
    pub removed: Vec<PhaseId>,
    pub changed: Vec<PhaseId>,
    /// Left out of the proposal, and kept since it is finished.
    pub kept: Vec<PhaseId>,
}

/// A revision as checkpoints list it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RevisionRecord {
    /// Counted from 1 in a run, edits of the plan's file included.
    pub revision: u32,
    pub at: Timestamp,
    /// The phase that asked; none where a person edited the plan's file.
    pub phase: Option<PhaseId>,
    pub reason: String,
    /// None where a person edited the plan's file.
    pub kind: Option<RevisionKind>,
    pub plan_digest: String,
    pub added: Vec<PhaseId>,
    pub removed: Vec<PhaseId>,
    pub changed: Vec<PhaseId>,
}
