//! The surroundings of the simulated run: things that phases require, and an issue with labels. And what the oracle thinks of both.

use std::collections::BTreeSet;

use onward_core::event::{Event, ExternalReport};
use onward_core::evidence::RequirementSeen;
use onward_core::id::{PhaseId, Seq};
use onward_core::input::{Input, LabelsSet};
use onward_core::plan::{Issue, IssueSync, Phase, Plan, Requirement};
use onward_core::run::Run;
use onward_engine::Result;

use super::compound::ancestors;
use super::dice::Dice;
use super::world::Machine;

/// Now and then a phase requires something.
pub(super) fn random_requirements(dice: &mut Dice, phase: Phase) -> Phase {
    let requires =
        if dice.percent(12) { vec![Requirement { run: "tool".to_owned(), message: None }] } else { Vec::new() };
    Phase { requires, ..phase }
}

/// Now and then the work belongs to an issue that is told how far it is.
pub(super) fn random_issue(dice: &mut Dice, plan: &Plan) -> Option<Issue> {
    if !dice.percent(30) {
        return None;
    }
    let labelled = plan.phases.iter().filter(|phase| phase.situation.parent.is_none() && dice.percent(60));
    let states = labelled.map(|phase| (format!("state:{}", phase.id), phase.id.clone())).collect();
    Some(Issue { number: "42".to_owned(), provider: None, states, sync: Some(IssueSync::Labels), if_ahead: None })
}

/// The oracle's notes on both.
#[derive(Debug, Default)]
pub(super) struct SurroundingsFacts {
    /// Phases of which it was seen that what they require is there, since their last attempt.
    met: BTreeSet<PhaseId>,
    /// Phases that have started and of which the issue is still to say so.
    due: Vec<PhaseId>,
    last: Option<PhaseId>,
    /// The issue could not be told, and no driver or phase has begun since.
    held: bool,
    labels: BTreeSet<String>,
    /// The present driver waits for its turn among the runs of its group.
    waits: bool,
}

impl SurroundingsFacts {
    pub(super) fn fold(&mut self, event: &Event, plan: &Plan) {
        match event {
            Event::DriverStarted { .. } => {
                self.met.clear();
                (self.held, self.waits) = (false, false);
            }
            Event::GroupAwaited { .. } => self.waits = true,
            Event::GroupEntered { .. } => {
                assert!(self.waits, "a turn has come that nobody waited for");
                self.waits = false;
            }
            Event::RequirementsSeen { phase: Some(phase), seen } => {
                assert!(!seen.is_empty(), "{phase} is said to have what it requires, and nobody looked");
                let _ = if seen.iter().all(|one| one.met) {
                    self.met.insert(phase.clone())
                } else {
                    self.met.remove(phase)
                };
            }
            Event::AttemptStarted { phase, .. } => {
                let requires = plan.phase(phase).is_some_and(|phase| !phase.requires.is_empty());
                let met = self.met.remove(phase);
                assert!(!self.waits, "{phase} is started before the turn of its run");
                assert!(met || !requires, "C5: {phase} is started, and what it requires was not seen");
                self.started(phase, plan);
            }
            Event::PhaseReopened { phase, .. } => {
                self.met.remove(phase);
            }
            Event::ApprovalAsked { phase } | Event::Reported { phase, report: ExternalReport::Started { .. }, .. } => {
                self.started(phase, plan);
            }
            Event::IssueLabelled { phase, .. } => {
                let label = format!("state:{phase}");
                assert!(self.labels.contains(&label), "the issue does not have {label}, and the journal says so");
                self.due.retain(|due| due != phase);
            }
            Event::IssueNotLabelled { .. } => self.held = true,
            Event::PlanRevised(revised) => self.only_of(&revised.plan),
            Event::Replanned(replanned) => self.only_of(&replanned.plan),
            Event::RunEnded { .. } => {
                let due = &self.due;
                assert!(self.held || due.is_empty(), "the run ended, and the issue was not told that {due:?} started");
            }
            _ => {}
        }
    }

    /// Another plan counts, and may require something else.
    fn only_of(&mut self, plan: &Plan) {
        self.met.clear();
        self.due.retain(|phase| plan.phase(phase).is_some());
    }

    fn started(&mut self, phase: &PhaseId, plan: &Plan) {
        let states = plan.issue.as_ref().map(|issue| issue.states.as_slice()).unwrap_or_default();
        let all = std::iter::once(phase.clone()).chain(ancestors(plan, phase));
        for phase in all.filter(|phase| states.iter().any(|(_, of)| of == phase)) {
            if self.last.as_ref() != Some(&phase) {
                (self.last, self.held) = (Some(phase.clone()), false);
                if !self.due.contains(&phase) {
                    self.due.push(phase);
                }
            }
        }
    }
}

impl Machine {
    /// The requirements of a phase are checked.
    pub(super) fn require(&mut self, run: &Run, phase: &PhaseId) -> Result<Option<Input>> {
        self.tick()?;
        self.is_durable(run);
        if self.dice.percent(30) {
            return Ok(None);
        }
        let names = run.plan().phase(phase).expect("of the plan").requires.iter().map(|one| one.words().to_owned());
        let names: Vec<String> = names.collect();
        let mut seen = Vec::new();
        for name in names {
            let met = !self.dice.percent(15);
            let said = if met { String::new() } else { "no".to_owned() };
            seen.push(RequirementSeen { name, met, said });
        }
        self.tick()?;
        Ok(Some(Input::Required { phase: phase.clone(), seen }))
    }

    /// The issue is told that a phase has started: asked first, so that no label is set twice.
    pub(super) fn label_issue(&mut self, run: &Run, phase: &PhaseId) -> Result<Input> {
        self.tick()?;
        self.is_durable(run);
        assert_eq!(self.oracle.surroundings.due.first(), Some(phase), "I2: a label is set for no reason on record");
        if self.dice.percent(10) {
            return Ok(Input::IssueLabelled { phase: phase.clone(), set: Err("nobody answers".to_owned()) });
        }
        let present: Vec<String> = self.oracle.surroundings.labels.iter().cloned().collect();
        let set: LabelsSet = run.label_rule(phase).change(&present);
        assert!(set.added.iter().all(|label| !present.contains(label)), "a label is set that is there");
        self.oracle.surroundings.labels = set.labels.iter().cloned().collect();
        // Set, and perhaps nobody lives to write that down.
        self.tick()?;
        Ok(Input::IssueLabelled { phase: phase.clone(), set: Ok(set) })
    }

    fn is_durable(&self, run: &Run) {
        let durable = self.oracle.journal.last().map_or(Seq(0), |last| last.seq);
        assert!(run.seq <= durable, "I2: the driver acts on {} while {durable} is durable", run.seq);
    }
}
