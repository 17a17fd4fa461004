//! Requirements of the plan and its phases: verified before anything of theirs is started. That a requirement is not met is no failure:
//! the phase waits, and so does what needs it. When nothing else can be started the driver lets go; the next one looks again.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::schedule;
use super::state::Run;
use crate::checkpoint::Prerequisite;
use crate::effect::Effect;
use crate::event::Event;
use crate::evidence::RequirementSeen;
use crate::id::PhaseId;
use crate::mutant::{self, Mutant};
use crate::plan::{Plan, Requirement};

/// Whether what a phase requires is there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum RequirementState {
    /// To be looked at before the next attempt.
    #[default]
    NotLookedAt,
    Met,
    /// These are not there. Nobody looks again before the next driver.
    Unmet(Vec<RequirementSeen>),
}

impl Run {
    /// Phases that cannot start, with what they require and is not there.
    pub fn unmet_requirements(&self) -> impl Iterator<Item = (&PhaseId, &RequirementSeen)> {
        self.derived.unmet.iter().flat_map(move |&at| {
            let unmet = match &self.phases[at].requirements {
                RequirementState::Unmet(unmet) => unmet.as_slice(),
                RequirementState::NotLookedAt | RequirementState::Met => &[],
            };
            unmet.iter().map(move |one| (&self.plan().phases[at].id, one))
        })
    }

    /// Whether it is to be looked at what the phase requires before it may start.
    pub(super) fn awaits_requirements(&self, at: usize) -> bool {
        let requires = !self.plan().phases[at].requires.is_empty();
        requires && self.phases[at].requirements == RequirementState::NotLookedAt && !mutant::is(Mutant::RequireNothing)
    }

    pub(super) fn requirements_seen(&mut self, phase: Option<&PhaseId>, seen: &[RequirementSeen]) {
        let mut known = self.prerequisites_of(self.plan());
        for one in seen {
            match known.iter_mut().find(|known| known.name == one.name) {
                Some(known) => known.met = one.met,
                None => known.push(Prerequisite { name: one.name.clone(), met: one.met }),
            }
        }
        self.put_prerequisites(known);
        let Some(phase) = phase else { return };
        let unmet: Vec<RequirementSeen> = seen.iter().filter(|one| !one.met).cloned().collect();
        self.change(phase, |state| {
            assert!(state.attempt.is_none(), "{phase} is at work, and it is looked at what it requires");
            state.requirements = if unmet.is_empty() { RequirementState::Met } else { RequirementState::Unmet(unmet) };
        });
    }

    /// A new driver looks at all of them again.
    pub(super) fn requirements_anew(&mut self) {
        let looked_at = self.phases().filter(|(_, state)| state.requirements != RequirementState::NotLookedAt);
        let looked_at: Vec<PhaseId> = looked_at.map(|(phase, _)| phase.id.clone()).collect();
        for phase in looked_at {
            self.change(&phase, |state| state.requirements = RequirementState::NotLookedAt);
        }
    }

    /// Forgets prerequisites that the plan does not require any more.
    pub(super) fn only_prerequisites_of(&mut self, plan: &Plan) {
        let left = self.prerequisites_of(plan);
        self.put_prerequisites(left);
    }

    /// Those that are known; of a run that was taken over from a file all that the file names, too.
    fn prerequisites_of(&self, plan: &Plan) -> Vec<Prerequisite> {
        let known = &self.sections().recovery.prerequisites;
        if self.sections().imported.is_some() {
            return known.clone();
        }
        let phases = plan.phases.iter().flat_map(|phase| &phase.requires);
        let names: BTreeSet<&str> = plan.requires.iter().chain(phases).map(Requirement::words).collect();
        known.iter().filter(|known| names.contains(known.name.as_str())).cloned().collect()
    }

    fn put_prerequisites(&mut self, all: Vec<Prerequisite>) {
        if all != self.sections().recovery.prerequisites {
            self.set_section("/recovery/prerequisites", |sections| &mut sections.recovery.prerequisites, all);
        }
    }
}

/// The looks that are wanted: at phases that could start now.
pub(super) fn wanted(run: &Run, now: Timestamp) -> impl Iterator<Item = Effect> {
    let wanted = if run.derived.index.requires { schedule::awaiting_requirements(run, now) } else { Vec::new() };
    wanted.into_iter().map(|at| Effect::Require { phase: run.plan().phases[at].id.clone() })
}

/// An answer that nobody waits for any more is no fact. What was not looked at is not met.
pub(super) fn required(run: &Run, id: &PhaseId, seen: &[RequirementSeen]) -> Option<Event> {
    let at = *run.derived.index.by_id.get(id)?;
    let state = &run.phases[at];
    let waits = run.awaits_requirements(at) && state.attempt.is_none() && !state.is_finished();
    let missing = run.plan().phases[at].requires.iter().skip(seen.len());
    let missing = missing.map(|one| RequirementSeen {
        name: one.words().to_owned(),
        met: false,
        said: "it was not looked at".to_owned(),
    });
    waits.then(|| Event::RequirementsSeen {
        phase: Some(id.clone()),
        seen: seen.iter().cloned().chain(missing).collect(),
    })
}
