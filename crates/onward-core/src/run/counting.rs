//! Phases as their author counts them: one that is taken apart is one phase, and its parts are counted within it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::state::{PhaseState, PhaseStatus, Run};
use crate::id::PhaseId;

/// How many of some phases are at their end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PhasesCounted {
    pub total: usize,
    /// Skipped ones are among them.
    pub finished: usize,
    pub skipped: usize,
}

/// How far a phase is that consists of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PartsCounted {
    pub done: usize,
    pub total: usize,
    /// They are the values of a matrix; otherwise the phases of a plan inside the plan.
    pub values: bool,
}

impl PartsCounted {
    /// `3/5 values`.
    pub fn words(&self) -> String {
        format!("{}/{} {}", self.done, self.total, if self.values { "values" } else { "phases" })
    }
}

impl PhasesCounted {
    fn add(&mut self, state: &PhaseState) {
        self.total += 1;
        self.finished += usize::from(state.is_finished());
        self.skipped += usize::from(state.status == PhaseStatus::Skipped);
    }
}

impl Run {
    /// The phases that the author wrote.
    pub fn phases_counted(&self) -> PhasesCounted {
        let mut counted = PhasesCounted::default();
        for (_, state) in self.phases().filter(|(phase, _)| phase.situation.parent.is_none()) {
            counted.add(state);
        }
        counted
    }

    /// The parts of a phase; none where it has none, or they are not known yet.
    pub fn parts_counted(&self, phase: &PhaseId) -> Option<PartsCounted> {
        let at = *self.derived.index.by_id.get(phase)?;
        let parts = &self.derived.index.children[at];
        let done = parts.iter().filter(|&&part| self.phases[part].is_finished()).count();
        let values = self.plan().phases[at].matrix.is_some();
        (!parts.is_empty()).then_some(PartsCounted { done, total: parts.len(), values })
    }

    /// The status of a phase as it is shown: one that consists of others stands where the busiest of them does.
    pub fn status_shown(&self, phase: &PhaseId) -> Option<PhaseStatus> {
        let at = *self.derived.index.by_id.get(phase)?;
        let own = self.phases[at].status;
        if self.derived.index.children[at].is_empty() || own != PhaseStatus::Pending {
            return Some(own);
        }
        let parts = self.parts(at);
        let any = |status| parts.iter().any(|&part| self.phases[part].status == status);
        Some([PhaseStatus::Running, PhaseStatus::Waiting].into_iter().find(|status| any(*status)).unwrap_or(own))
    }
}
