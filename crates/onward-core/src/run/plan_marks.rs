//! Markers in the file of a plan in Markdown: what it said at the start, what is to be said in it, what it said last.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::derived_state::batch_number;
use super::state::{PhaseState, PhaseStatus, Run};
use crate::event::{Event, PhaseBack};
use crate::id::{PhaseId, Seq};
use crate::markdown::Marker;
use crate::mutant::{self, Mutant};
use crate::plan::{PhaseMark, Plan};

/// The part of a run that is about the file of its plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanMarks {
    /// The file's word on each phase when it was last read or written, or when a person was last asked.
    known: BTreeMap<PhaseId, Marker>,
    /// Phases that are done and of which the file is still to say so.
    due: BTreeSet<PhaseId>,
    /// The file could not be written; it is not tried again before the run goes on.
    pub(super) held: bool,
}

impl PlanMarks {
    pub(super) fn from_plan(plan: &Plan) -> Self {
        let marks = plan.markdown.iter().flat_map(|origin| &origin.marks);
        Self { known: marks.map(|mark| (mark.phase.clone(), mark.marker)).collect(), ..Self::default() }
    }

    /// The last known word of the file of a phase.
    pub fn known(&self, phase: &PhaseId) -> Marker {
        self.known.get(phase).copied().unwrap_or_default()
    }

    /// Whether the file is still to say that a phase is done.
    pub fn is_due(&self, phase: &PhaseId) -> bool {
        self.due.contains(phase)
    }

    pub(super) fn undone(&mut self, phase: &PhaseId) {
        self.due.remove(phase);
    }

    /// A phase that the plan does not have any more has no heading.
    pub(super) fn only_of(&mut self, plan: &Plan) {
        self.due.retain(|phase| plan.phase(phase).is_some());
    }

    /// The file is as it was when these phases stood like this.
    pub(super) fn restored(&mut self, phases: &[PhaseBack]) {
        for back in phases {
            let marker = if back.status == PhaseStatus::Completed { Marker::Completed } else { Marker::Pending };
            self.known.insert(back.phase.clone(), marker);
        }
    }
}

impl Run {
    /// Phases of which the file is to say now that they are done.
    pub fn marks_wanted(&self) -> impl Iterator<Item = &PhaseId> {
        let now = !self.marks.held && !self.archived && self.vcs.rewinding.is_none();
        self.marks.due.iter().filter(move |_| now)
    }

    /// At the very start the markers in the file count.
    pub(super) fn marks_of_the_start(&self) -> Option<Event> {
        let origin = self.plan().markdown.as_ref().filter(|_| self.seq == Seq(1))?;
        let of = |marker: Marker| -> Vec<PhaseId> {
            let marks = origin.marks.iter().filter(|mark| mark.marker == marker);
            marks.map(|mark| mark.phase.clone()).filter(|id| self.phase_state(id).is_some()).collect()
        };
        let (completed, skipped) = (of(Marker::Completed), of(Marker::Skipped));
        let any = !completed.is_empty() || !skipped.is_empty();
        any.then_some(Event::MarkersTaken { completed, skipped })
    }

    pub(super) fn mark_is_due(&mut self, phase: &PhaseId) {
        let at = self.at(phase);
        let definition = &self.plan().phases[at];
        let has_a_heading = !self.is_whole(at) && definition.situation.parent.is_none() && !definition.closing;
        if self.plan().markdown.is_some() && has_a_heading && !mutant::is(Mutant::ForgetTheMarker) {
            self.marks.due.insert(phase.clone());
        }
    }

    pub(super) fn phase_marked(&mut self, phase: &PhaseId) {
        self.marks.due.remove(phase);
        self.marks.known.insert(phase.clone(), Marker::Completed);
    }

    pub(super) fn markers_settled(&mut self, marks: &[PhaseMark]) {
        for PhaseMark { phase, marker } in marks {
            self.marks.known.insert(phase.clone(), *marker);
            if self.phase_state(phase).is_some_and(|state| state.status == PhaseStatus::Completed) {
                self.mark_is_due(phase);
            }
        }
    }

    /// Work that was done before the run is none of its work: no checkpoint of its own, no part of a commit.
    pub(super) fn markers_taken(&mut self, completed: &[PhaseId], skipped: &[PhaseId]) {
        let all = [(completed, PhaseStatus::Completed), (skipped, PhaseStatus::Skipped)];
        for (phases, status) in all {
            for phase in phases {
                self.change(phase, |state| {
                    assert_eq!(*state, PhaseState::new(), "{phase} was done before the run began");
                    state.status = status;
                });
            }
        }
        let complete = self.derived.batch_left.iter().enumerate().filter(|(_, left)| **left == 0);
        self.batches_recorded.extend(complete.map(|(batch, _)| batch_number(batch)).collect::<Vec<_>>());
    }
}
