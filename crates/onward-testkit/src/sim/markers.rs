//! The simulated file of a plan in Markdown: which phases it says are done, and what the oracle thinks of that.

use std::collections::BTreeSet;

use onward_core::event::{Event, Recorded};
use onward_core::id::PhaseId;
use onward_core::input::Input;
use onward_core::markdown::Marker;
use onward_core::plan::{MarkdownOrigin, PhaseMark, Plan, expand};
use onward_core::run::{PhaseStatus, Run};
use onward_engine::Result;

use super::dice::Dice;
use super::world::Machine;

/// Now and then a plan is one in Markdown, and some of it is done already.
pub(super) fn random_origin(dice: &mut Dice, plan: &Plan) -> Option<Box<MarkdownOrigin>> {
    if !dice.percent(35) {
        return None;
    }
    let mut marks = Vec::new();
    for phase in plan.phases.iter().filter(|phase| has_a_heading(plan, &phase.id)) {
        let marker = *dice.pick(&[Marker::Completed, Marker::Skipped, Marker::Blocked]);
        marks.extend(dice.percent(8).then(|| PhaseMark { phase: phase.id.clone(), marker }));
    }
    Some(Box::new(MarkdownOrigin { marks, ..MarkdownOrigin::default() }))
}

/// Now and then somebody edits markers, and a person says that the record counts.
pub(super) fn random_marks(dice: &mut Dice, run: &Run) -> Vec<PhaseMark> {
    if run.plan().markdown.is_none() || !dice.percent(10) {
        return Vec::new();
    }
    let edited = run.phases().filter(|(phase, _)| dice.percent(20) && has_a_heading(run.plan(), &phase.id));
    edited.map(|(phase, _)| PhaseMark { phase: phase.id.clone(), marker: Marker::Pending }).collect()
}

fn has_a_heading(plan: &Plan, id: &PhaseId) -> bool {
    plan.phase(id).is_some_and(|phase| {
        let whole = phase.children.is_some() || expand::is_compound(phase);
        !whole && phase.situation.parent.is_none() && !phase.closing
    })
}

/// Phases that the plan said to be done when the run was started.
pub(super) fn done_before(journal: &[Recorded]) -> BTreeSet<&PhaseId> {
    let taken = journal.iter().filter_map(|recorded| match &recorded.event {
        Event::MarkersTaken { completed, .. } => Some(completed),
        _ => None,
    });
    taken.flatten().collect()
}

/// The oracle's notes on the file.
#[derive(Debug, Default)]
pub(super) struct MarkerFacts {
    /// Phases that are done and that the file is still to name.
    due: BTreeSet<PhaseId>,
    /// Phases that the file names.
    in_the_file: BTreeSet<PhaseId>,
    /// The file could not be written, and no driver has begun since.
    held: bool,
}

impl MarkerFacts {
    pub(super) fn fold(&mut self, event: &Event, plan: &Plan, is_done: impl Fn(&PhaseId) -> bool) {
        match event {
            Event::DriverStarted { .. } => self.held = false,
            Event::PhaseCompleted { phase, .. } if plan.markdown.is_some() && has_a_heading(plan, phase) => {
                self.due.insert(phase.clone());
            }
            Event::PhaseReopened { phase, .. } => {
                self.due.remove(phase);
            }
            Event::RunRewound(rewound) => {
                for back in rewound.restored.iter().flat_map(|restored| &restored.phases) {
                    self.due.remove(&back.phase);
                    let done = back.status == PhaseStatus::Completed && has_a_heading(plan, &back.phase);
                    self.due.extend((done && plan.markdown.is_some()).then(|| back.phase.clone()));
                }
            }
            Event::PhaseMarked { phase } => {
                assert!(
                    self.in_the_file.contains(phase),
                    "the file does not say that {phase} is done, and the journal does"
                );
                self.due.remove(phase);
            }
            Event::PhaseNotMarked { .. } => self.held = true,
            Event::MarkersSettled { marks } => {
                let done = marks.iter().map(|mark| &mark.phase).filter(|phase| is_done(phase));
                self.due.extend(done.filter(|phase| has_a_heading(plan, phase)).cloned());
            }
            Event::PlanRevised(revised) => self.due.retain(|phase| revised.plan.phase(phase).is_some()),
            Event::Replanned(replanned) => self.due.retain(|phase| replanned.plan.phase(phase).is_some()),
            Event::RunEnded { .. } => {
                let open = &self.due;
                assert!(
                    self.held || open.is_empty(),
                    "the run ended, and the file was not told that {open:?} are done"
                );
            }
            _ => {}
        }
    }

    /// The driver is about to write to the file.
    fn may_mark(&self, phase: &PhaseId) {
        assert!(self.due.contains(phase), "I2: the file is told that {phase} is done, and that is not on record");
    }
}

impl Machine {
    pub(super) fn mark(&mut self, phase: &PhaseId) -> Result<Input> {
        self.tick()?;
        self.oracle.markers.may_mark(phase);
        if self.dice.percent(5) {
            return Ok(Input::PhaseMarked { phase: phase.clone(), marked: Err("the file is read-only".to_owned()) });
        }
        self.oracle.markers.in_the_file.insert(phase.clone());
        // Written, and perhaps nobody lives to write that down.
        self.tick()?;
        Ok(Input::PhaseMarked { phase: phase.clone(), marked: Ok(()) })
    }
}
