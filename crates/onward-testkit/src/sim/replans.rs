//! Other plans: a command that makes them, a person who answers for them, and what must hold of them.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use onward_core::event::Event;
use onward_core::id::PhaseId;
use onward_core::input::{Consent, Input, Posted};
use onward_core::plan::{Body, MayEdit, Plan, ReplanKeys, ReplanWhen, digest_of_all};
use onward_core::run::Run;
use onward_core::run::replans::{PlanMaker, Stage};
use onward_engine::{Committer, Error, KeepNothing, Result};
use onward_store::Lease;

use super::dice::Dice;
use super::store::FaultyStore;
use super::world::{ALONE, Machine, SharedMachine};
use super::{ACTOR, compound, plans};

pub(super) fn random_keys(dice: &mut Dice) -> ReplanKeys {
    let small = |dice: &mut Dice, limit: u64| u32::try_from(dice.below(limit)).expect("small");
    ReplanKeys {
        max: Some(small(dice, 5)),
        max_per_phase: Some(small(dice, 4)),
        may_edit: Some(*dice.pick(&[MayEdit::Downstream, MayEdit::Pending, MayEdit::All])),
        approval: Some(dice.percent(25)),
        run: dice.percent(75).then(|| "replan".to_owned()),
        when: Some(match dice.below(10) {
            0 => vec![ReplanWhen::Failed],
            1 => vec![ReplanWhen::TooComplex],
            2 | 3 => vec![ReplanWhen::VerifyFailed],
            _ => Vec::new(),
        }),
        ..ReplanKeys::default()
    }
}

/// The command of the plan's author: it takes its time, fails, prints what was tried before, or makes a plan.
pub(super) fn command(machine: &mut Machine, run: &Run, phase: &PhaseId) -> Result<Option<Input>> {
    machine.tick()?;
    machine.oracle.may_replan(run, phase);
    if machine.dice.percent(30) {
        return Ok(None);
    }
    if let Some(PlanMaker::Agent(work)) = run.plan_maker(phase)
        && machine.dice.percent(15)
    {
        let seconds = i64::try_from(machine.dice.below(200)).expect("small");
        let until = machine.dice.percent(60).then(|| machine.now + SignedDuration::from_secs(seconds));
        machine.tick()?;
        let (phase, said) = (phase.clone(), "You have hit your usage limit".to_owned());
        return Ok(Some(Input::ReplanLimited { phase, agent: work.agent, until, said }));
    }
    let plan = match machine.dice.below(10) {
        0 => Err("the replan command ended with code 1".to_owned()),
        1 => Ok(Box::new(as_written(run.plan()))),
        _ => Ok(Box::new(another_plan(run, phase, &mut machine.dice))),
    };
    machine.tick()?;
    Ok(Some(Input::Replan { phase: phase.clone(), plan }))
}

/// The phase that asked does other work, or what it is a part of; now and then there is a phase more, or one less.
fn another_plan(run: &Run, asked: &PhaseId, dice: &mut Dice) -> Plan {
    let asked = compound::ancestors(run.plan(), asked).pop().unwrap_or_else(|| asked.clone());
    let mut plan = as_written(run.plan());
    for phase in &mut plan.phases {
        if phase.id == asked || dice.percent(5) {
            let script = format!("work {}", dice.below(6));
            phase.body = Body::Run { script, shell: vec!["sh".to_owned()] };
        }
    }
    if dice.percent(40) {
        let phase = plans::another_phase(dice, &plan);
        plan.phases.push(phase);
    }
    if dice.percent(30) && plan.phases.len() > 1 {
        let gone = dice.pick(&plan.phases).id.clone();
        plan.phases.retain(|phase| phase.id != gone);
        for phase in &mut plan.phases {
            phase.needs.retain(|need| need.phase != gone);
        }
    }
    plan
}

/// The plan as its author knows it: nothing is taken apart.
pub(super) fn as_written(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    plan.phases.retain(|phase| phase.situation.parent.is_none());
    plan.phases.iter_mut().for_each(|phase| phase.children = None);
    plan
}

/// Whether a person says what becomes of a phase that wants another plan.
pub(super) fn person_speaks(run: &Run, phase: &PhaseId, dice: &mut Dice) -> bool {
    run.replans.asked_by(phase).is_some() && dice.percent(40)
}

/// Between two drivers a person answers for the plans that wait, or brings one.
pub(super) fn answered(machine: &SharedMachine, store: &mut FaultyStore, lease: &Lease, run: Run) -> Result<Run> {
    let (inputs, now) = {
        let mut machine = machine.lock().expect(ALONE);
        let dice = &mut machine.dice;
        let mut inputs = Vec::new();
        for (phase, asked) in run.replans.asked() {
            if matches!(asked.stage, Stage::Proposed(_)) && dice.percent(70) {
                let answer = if dice.percent(70) { Consent::Yes } else { Consent::No };
                inputs.push(Posted::SettleReplan { phase: phase.clone(), answer });
                break;
            }
        }
        let open = run.phases().find(|(_, state)| !state.is_finished() && state.attempt.is_none());
        if let (true, Some((phase, _))) = (inputs.is_empty() && run.epoch > 0 && dice.percent(5), open) {
            let plan = dice.percent(80).then(|| Box::new(another_plan(&run, &phase.id, dice)));
            inputs.push(Posted::Replan { phase: phase.id.clone(), reason: "reported".to_owned(), plan });
        }
        (inputs, machine.now)
    };
    let (mut run, mut keep) = (run, KeepNothing);
    let mut hand = Committer::new(store, lease, &mut keep, &mut run, ACTOR);
    for posted in inputs {
        match hand.tell(vec![Input::Posted(posted)], now) {
            // Whoever asks for what nobody can make is told so, and nothing changes.
            Ok(_) | Err(Error::Illegal(_)) => {}
            Err(other) => return Err(other),
        }
    }
    Ok(run)
}

/// The journal's account of revisions, counted the simple way.
#[derive(Debug, Default)]
pub(super) struct Revisions {
    asked: BTreeSet<PhaseId>,
    made: BTreeMap<PhaseId, u32>,
    /// Every plan that ever counted.
    tried: BTreeSet<String>,
    waived: bool,
}

impl Revisions {
    pub(super) fn asks(&self, phase: &PhaseId) -> bool {
        self.asked.contains(phase)
    }

    /// `plan` is what counted before this event; `done` tells which phases are finished.
    pub(super) fn fold(&mut self, event: &Event, plan: &Plan, done: impl Fn(&PhaseId) -> bool) {
        match event {
            Event::ReplanAsked { phase, .. } => {
                assert!(!done(phase), "{phase} is finished and wants another plan");
                self.asked.insert(phase.clone());
            }
            Event::AttemptStarted { phase, .. } => {
                assert!(!self.asked.contains(phase), "A9: {phase} is started before it has the plan that it asked for");
            }
            Event::DriverStarted { .. } => self.waived = false,
            Event::ReplanAllowed => self.waived = true,
            Event::PhaseReopened { phase, .. }
            | Event::PhaseSkipped { phase, .. }
            | Event::PhaseCompleted { phase, .. } => {
                self.asked.remove(phase);
            }
            Event::PlanRevised(_) => {
                self.tried.insert(digest_of_all(plan));
                self.asked.clear();
            }
            Event::RunRewound(_) => self.asked.clear(),
            Event::Replanned(replanned) => {
                let keys = plan.replan.as_ref().expect("the plans of the simulator");
                let (all, own) = (self.made.values().sum::<u32>(), self.made.get(&replanned.phase).copied());
                let within = Some(all) < keys.max && own.unwrap_or(0) < keys.max_per_phase.unwrap_or(0);
                assert!(within || self.waived, "A9: revision {} is beyond the limits", all + 1);
                assert!(self.asked.remove(&replanned.phase), "A9: {} did not ask", replanned.phase);
                self.tried.insert(digest_of_all(plan));
                let again = self.tried.contains(&digest_of_all(&replanned.plan));
                assert!(!again, "A9: a plan counts again that was tried before");
                for phase in plan.phases.iter().filter(|phase| done(&phase.id)) {
                    assert!(replanned.plan.phase(&phase.id).is_some(), "A9: {} is done and dropped", phase.id);
                }
                *self.made.entry(replanned.phase.clone()).or_default() += 1;
                self.waived = false;
                self.asked.retain(|id| replanned.plan.phase(id).is_some() && !replanned.changed.contains(id));
            }
            _ => {}
        }
    }
}
