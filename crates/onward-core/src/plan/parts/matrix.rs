//! Phases that become several: matrices, and plans inside plans.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::expression::Reference;
use crate::id::PhaseId;

/// Done once for every combination of its axes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Matrix {
    /// In the order written: the first one varies slowest.
    pub axes: Vec<(String, Axis)>,
    pub max_parallel: Option<u32>,
    /// One failure keeps the others from starting.
    pub fail_fast: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Axis {
    /// Each may hold `${{ }}`.
    Values(Vec<String>),
    /// A text that becomes a JSON array once its `${{ }}` are filled in.
    From(String),
}

/// Done by another plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Uses {
    /// Below the top of the project.
    pub path: String,
    /// Inputs of that plan; values may hold `${{ }}`.
    pub with: Vec<(String, String)>,
}

/// Where a phase stands that another one was taken apart into: what its expressions mean there. Empty for phases that the
/// author wrote into the plan itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Situation {
    /// The phase it is part of.
    pub parent: Option<PhaseId>,
    /// The value of each `matrix.NAME`.
    #[serde(default)]
    pub matrix: BTreeMap<String, String>,
    /// In a plan inside a plan: the phase that uses it. `phases.ID` means a phase below this one.
    #[serde(default)]
    pub within: Option<PhaseId>,
    /// In a plan inside a plan: its inputs, which hide those of the run.
    #[serde(default)]
    pub inputs: Option<BTreeMap<String, String>>,
}

impl Situation {
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }

    /// The value of an expression of a phase in this situation. `outer` answers for the run, in its own words: inputs
    /// of the run, full ids of phases.
    pub fn value(&self, reference: &Reference, outer: &dyn Fn(&Reference) -> Option<String>) -> Option<String> {
        match reference {
            Reference::Matrix(name) => self.matrix.get(name).cloned(),
            Reference::Input(name) => match &self.inputs {
                Some(inputs) => inputs.get(name).cloned(),
                None => outer(reference),
            },
            Reference::Output { phase, output } => {
                outer(&Reference::Output { phase: self.phase(phase), output: output.clone() })
            }
            Reference::Status(phase) => outer(&Reference::Status(self.phase(phase))),
            Reference::Env(_) | Reference::Run(_) | Reference::Attempt => outer(reference),
        }
    }

    /// The full id of a phase that an expression names here.
    pub fn phase(&self, named: &PhaseId) -> PhaseId {
        match &self.within {
            Some(outer) => PhaseId::new(format!("{outer}/{named}")),
            None => named.clone(),
        }
    }
}
