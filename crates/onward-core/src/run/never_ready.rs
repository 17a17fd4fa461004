//! Phases that no start brings to their turn, because of what was left out or has failed before them.

use std::collections::BTreeSet;

use super::readiness::Readiness;
use super::state::{PhaseStatus, Run};
use crate::id::PhaseId;
use crate::plan::{Need, Phase};
use crate::view::past_what_was_skipped;

impl Run {
    /// Phases that need another to be completed, which was left out; each with that one.
    pub fn never_met(&self) -> impl Iterator<Item = (&Phase, &PhaseId)> {
        let open = (0..self.phases.len()).filter(|&at| !self.phases[at].is_finished());
        open.filter_map(|at| Some((&self.plan().phases[at], self.lacks(at)?)))
    }

    /// Why a phase has no turn until somebody decides otherwise: it, or something before it, needs what was left out.
    pub fn why_never(&self, phase: &PhaseId) -> Option<String> {
        let (at, need) = self.lacking_before(self.at(phase), |at| self.lacks(at))?;
        let lacking = &self.plan().phases[at].id;
        let of =
            if lacking == phase { "it needs".to_owned() } else { format!("it comes after {lacking}, which needs") };
        let ways = past_what_was_skipped(&self.id, need, lacking);
        Some(format!("{of} {need} to be completed, and {need} was skipped: {ways}"))
    }

    /// Whether a failure forbids that anything more is started.
    pub fn a_failure_forbids(&self) -> bool {
        !self.failure_allows()
    }

    /// The phase that this one needs to be completed, and that was left out.
    pub(super) fn lacks(&self, at: usize) -> Option<&PhaseId> {
        if self.derived.readiness[at] != Readiness::Never {
            return None;
        }
        let phase = &self.plan().phases[at];
        let skipped = |need: &&Need| {
            let status = self.phase_state(&need.phase).map(|state| state.status);
            need.must_be_completed && status == Some(PhaseStatus::Skipped)
        };
        phase.needs.iter().find(skipped).map(|need| &need.phase)
    }

    /// The nearest phase on the way to this one, itself included, of which `found` tells something. Only what never has its turn
    /// is followed.
    fn lacking_before<'a>(
        &'a self,
        at: usize,
        found: impl Fn(usize) -> Option<&'a PhaseId>,
    ) -> Option<(usize, &'a PhaseId)> {
        let (mut seen, mut next) = (BTreeSet::new(), vec![at]);
        while let Some(at) = next.pop() {
            if !seen.insert(at) {
                continue;
            }
            if let Some(told) = found(at) {
                return Some((at, told));
            }
            if self.derived.readiness[at] == Readiness::Never {
                next.extend(&self.derived.index.needs[at]);
                next.extend(self.derived.index.parent[at]);
            }
        }
        None
    }
}
