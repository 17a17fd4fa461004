//! The labels of the issue, set as phases start: `issue: { sync: labels }`. An outward effect, so the issue is asked first: a label that
//! is there was set, whoever died before that could be written down.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::state::{PhaseStatus, Run};
use crate::event::Event;
use crate::evidence::IssueSeen;
use crate::id::PhaseId;
use crate::input::LabelsSet;
use crate::mutant::{self, Mutant};
use crate::plan::{IssueSync, Plan};

/// The part of a run that is about labels.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IssueLabels {
    /// Phases that have started and of which the issue is still to say so, the oldest first.
    due: VecDeque<PhaseId>,
    /// The phase that started last, of those that have a label.
    last: Option<PhaseId>,
    /// The issue could not be reached. It is tried again with the next label that is due, or by the next driver.
    held: bool,
    /// Why not, the last time.
    pub(super) trouble: Option<String>,
}

/// The labels by which an issue says that a phase has started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelRule {
    on: BTreeSet<String>,
    /// Labels of phases that are not at work.
    off: BTreeSet<String>,
}

impl LabelRule {
    /// The labels to set and to take away, on an issue that has these.
    pub fn change(&self, present: &[String]) -> LabelsSet {
        let added: Vec<String> = self.on.iter().filter(|label| !present.contains(label)).cloned().collect();
        let removed: Vec<String> = self.off.iter().filter(|label| present.contains(label)).cloned().collect();
        let left = present.iter().filter(|label| !removed.contains(label)).cloned();
        LabelsSet { labels: left.chain(added.iter().cloned()).collect(), added, removed }
    }
}

impl LabelsSet {
    /// Whether the labels were as they are to be.
    pub fn changes_nothing(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty()
    }
}

impl IssueLabels {
    pub(super) fn anew(&mut self) {
        self.held = false;
    }

    /// A phase that the plan does not have any more has no label.
    pub(super) fn only_of(&mut self, plan: &Plan) {
        self.due.retain(|phase| plan.phase(phase).is_some());
    }
}

impl Run {
    /// The phase of which the issue is to say now that it has started.
    pub fn label_wanted(&self) -> Option<&PhaseId> {
        // Whoever wants to stop is not kept waiting.
        let wanted = self.stop.is_none_or(|(by, _)| by.reason().is_none());
        let now = wanted && !self.labels.held && !self.archived && self.epoch > 0;
        self.labels.due.front().filter(|_| now && self.vcs.rewinding.is_none())
    }

    /// Whether the run is not over, because its issue is still to be told something.
    pub(super) fn labels_are_left(&self) -> bool {
        !self.labels.due.is_empty() && !self.labels.held
    }

    /// The labels that an issue has, and those that it does not have, once it says that this phase has started.
    pub fn label_rule(&self, phase: &PhaseId) -> LabelRule {
        let states = self.plan().issue.as_ref().map(|issue| issue.states.as_slice()).unwrap_or_default();
        let at_work = self.phases_at_work();
        let labels = |wanted: &dyn Fn(&PhaseId) -> bool| -> BTreeSet<String> {
            states.iter().filter(|(_, of)| wanted(of)).map(|(label, _)| label.clone()).collect()
        };
        let (on, busy) = (labels(&|of| of == phase), labels(&|of| at_work.contains(of)));
        let off = labels(&|of| of != phase).into_iter().filter(|label| !on.contains(label) && !busy.contains(label));
        LabelRule { off: off.collect(), on }
    }

    /// Whether a label comes or goes by this run's own hand, which may not be on record yet.
    pub(crate) fn is_changing_label(&self, label: &str) -> bool {
        let states = self.plan().issue.iter().flat_map(|issue| &issue.states);
        !self.labels.due.is_empty() && states.into_iter().any(|(name, _)| name == label)
    }

    /// Phases at work, with those that they are parts of.
    fn phases_at_work(&self) -> BTreeSet<&PhaseId> {
        let busy = |at: &usize| matches!(self.phases[*at].status, PhaseStatus::Running | PhaseStatus::Waiting);
        let index = &self.derived.index;
        let at_work = (0..self.phases.len()).filter(busy).flat_map(|at| index.with_ancestors(at));
        at_work.map(|at| &self.plan().phases[at].id).collect()
    }

    /// A phase has started.
    pub(super) fn label_is_due(&mut self, phase: &PhaseId) {
        let Some(issue) = self.started.plan.issue.as_ref().filter(|issue| issue.sync == Some(IssueSync::Labels)) else {
            return;
        };
        let of = self.derived.index.with_ancestors(self.at(phase)).map(|at| &self.started.plan.phases[at].id);
        let with_a_label = of.filter(|id| issue.states.iter().any(|(_, of)| of == *id));
        let news: Vec<PhaseId> = with_a_label.filter(|id| self.labels.last.as_ref() != Some(*id)).cloned().collect();
        for id in news {
            self.labels.last = Some(id.clone());
            self.labels.held = false;
            if !self.labels.due.contains(&id) && !mutant::is(Mutant::ForgetTheLabel) {
                self.labels.due.push_back(id);
            }
        }
    }

    pub(super) fn issue_labelled(&mut self, phase: &PhaseId, labels: &[String]) {
        self.labels.due.retain(|due| due != phase);
        self.labels.trouble = None;
        self.issue_has(labels);
    }

    pub(super) fn issue_not_labelled(&mut self, reason: &str) {
        self.labels.held = true;
        self.labels.trouble = Some(reason.to_owned());
    }

    /// Labels that the run set itself are no change from outside.
    fn issue_has(&mut self, labels: &[String]) {
        let mut labels = labels.to_vec();
        labels.sort_unstable();
        let Some(issue) = self.look.as_ref().and_then(|look| look.world.issue.as_ref()) else { return };
        let seen = IssueSeen { labels, ..issue.clone() };
        self.issue_read(&seen);
        if let Some(look) = &mut self.look {
            Arc::make_mut(look).world.issue = Some(seen);
        }
    }
}

/// An answer that nobody waits for any more is no fact.
pub(super) fn labelled(run: &Run, phase: &PhaseId, set: &Result<LabelsSet, String>) -> Option<Event> {
    let phase = run.labels.due.front().filter(|due| *due == phase)?.clone();
    Some(match set {
        Ok(LabelsSet { added, removed, labels }) => {
            let (added, removed, labels) = (added.clone(), removed.clone(), labels.clone());
            Event::IssueLabelled { phase, added, removed, labels }
        }
        Err(reason) => Event::IssueNotLabelled { phase, reason: reason.clone() },
    })
}
