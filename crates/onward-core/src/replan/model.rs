//! The words of a revision.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::PhaseId;
use crate::plan::Plan;
#[cfg(doc)]
use crate::plan::digest_of_all;

/// The exit code with which a phase asks for another plan; its last line of output is the reason.
pub const EXIT_REPLAN: i32 = 79;

/// The kind of a revision, by its largest step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RevisionKind {
    /// The phase that asked stays, and there are others that it now needs or that need it.
    Expand,
    /// There are more phases, none of which has to do with the one that asked.
    Add,
    /// The phase that asked is gone, and several stand in its place.
    Split,
    /// The same phases, some of them changed.
    Update,
    /// There are fewer phases.
    Collapse,
}

/// How far a phase has come, as far as a revision cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhaseProgress {
    /// Completed or skipped.
    Finished,
    AtWork,
    /// Not begun, failed, or interrupted.
    Open,
}

/// The state of the run that a proposed revision is judged by.
#[derive(Clone, Debug)]
pub struct ReplanStanding<'a> {
    pub plan: &'a Plan,
    /// The phase that asked, if one did.
    pub asked_by: Option<&'a PhaseId>,
    pub progress: &'a BTreeMap<PhaseId, PhaseProgress>,
    /// Revisions so far: in the run, and for this phase.
    pub made: u32,
    pub made_for_phase: u32,
    /// [`digest_of_all`] of every plan that this run has had, the present one included.
    pub tried: &'a BTreeSet<String>,
    pub limits: ReplanLimits,
}

/// Whether the limits count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReplanLimits {
    #[default]
    Hold,
    /// A person lets one more through: `--force-replan`.
    Waived,
}

/// A revision that may be made.
#[derive(Clone, Debug, PartialEq)]
pub struct Revision {
    pub kind: RevisionKind,
    /// The new plan, with what had to be kept.
    pub plan: Plan,
    /// To be remembered among the plans that were tried.
    pub digest: String,
    pub added: Vec<PhaseId>,
    pub removed: Vec<PhaseId>,
    pub changed: Vec<PhaseId>,
    /// Phases that the proposal left out and that stay on the books, since they, or parts of them, are finished.
    pub kept: Vec<PhaseId>,
    /// Finished phases that change and are done anew, each in its next generation.
    pub redone: Vec<PhaseId>,
}

/// Why a revision is not made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("the plan was revised {made} times in this run, and no more often may it be")]
    LimitOfRun { made: u32 },
    #[error("{phase} has asked for {made} revisions, and no more may it ask for")]
    LimitOfPhase { phase: PhaseId, made: u32 },
    #[error("this plan was tried before in this run")]
    TriedBefore,
    #[error("{phase} is finished, and this revision would change it")]
    ChangesFinished { phase: PhaseId },
    #[error("{phase} is at work, and this revision would change or remove it")]
    ChangesAtWork { phase: PhaseId },
    #[error("{phase} does not come after the phase that asked, and this revision would change or remove it")]
    NotDownstream { phase: PhaseId },
}

impl Refused {
    /// Whether a person may let it through all the same.
    pub fn is_limit(&self) -> bool {
        match self {
            Refused::LimitOfRun { .. } | Refused::LimitOfPhase { .. } => true,
            Refused::TriedBefore
            | Refused::ChangesFinished { .. }
            | Refused::ChangesAtWork { .. }
            | Refused::NotDownstream { .. } => false,
        }
    }
}

impl RevisionKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Expand => "expand",
            Self::Add => "add",
            Self::Split => "split",
            Self::Update => "update",
            Self::Collapse => "collapse",
        }
    }
}
