//! Edits of the plan: results are those of the plan under which they were started, and an outward effect that happened, or may have,
//! happens again only where somebody wanted it, whatever its phase is called by then.

use std::collections::{BTreeMap, BTreeSet};

use onward_core::event::{Event, Outcome, PlanRevised, ProbeAnswer};
use onward_core::id::{Attempt, Generation, PhaseId};
use onward_core::plan::{Body, Effects, OnInterrupt, Phase};
use onward_core::run::Run;

use super::Oracle;
use crate::sim::facts::PhaseFacts;

/// The world as it really is, whatever the journal says: attempts and outward effects.
#[derive(Debug, Default)]
pub(super) struct Deeds {
    /// Processes as they really are: at work, or over in this way.
    really: BTreeMap<(PhaseId, Attempt), Option<Outcome>>,
    /// Phases whose outward effect happened or may have happened, by the name that its author gives it now.
    may_have: BTreeSet<PhaseId>,
    /// Names that the author of the edit that comes gave anew.
    coming: Vec<(PhaseId, PhaseId)>,
}

impl Oracle {
    /// A process ended, or died without a word.
    pub(in crate::sim) fn is_over(&mut self, phase: &PhaseId, attempt: Attempt, outcome: &Outcome) {
        self.deeds.really.insert((phase.clone(), attempt), Some(outcome.clone()));
    }

    /// The author has given phases other names, and a start brings that along.
    pub(in crate::sim) fn an_edit_comes(&mut self, renamed: Vec<(PhaseId, PhaseId)>) {
        self.deeds.coming = renamed;
    }

    pub(super) fn no_edit_comes(&mut self) {
        self.deeds.coming.clear();
    }

    /// The ids that were ever used for a phase.
    pub(in crate::sim) fn known_ids(&self) -> impl Iterator<Item = &PhaseId> {
        self.facts.keys()
    }

    pub(super) fn deed_begins(&mut self, phase: &PhaseId, attempt: Attempt) {
        self.deeds.really.insert((phase.clone(), attempt), None);
        let definition = self.plan.phase(phase).expect("of the plan");
        if is_outward(definition) {
            let again = !self.deeds.may_have.insert(phase.clone());
            assert!(!again, "E3: the outward effect of {phase} happens again, and nobody wanted that");
        }
    }

    /// A process is told its idempotency key: the one of before, as long as nobody wanted the work anew.
    pub(in crate::sim) fn goes_by_its_key(&mut self, run: &Run, phase: &PhaseId) {
        let facts = self.facts.get_mut(phase).expect("of the plan");
        let key = run.attempt_key(phase);
        if let Some((begun_in, before)) = facts.known_as.as_ref().filter(|(begun_in, _)| *begun_in == facts.generation)
        {
            assert_eq!(*before, key, "6.5: {phase} goes by another key in generation {begun_in}");
        }
        facts.known_as = Some((facts.generation, key));
    }

    pub(super) fn deed_never_began(&mut self, phase: &PhaseId, attempt: Attempt) {
        self.deeds.really.remove(&(phase.clone(), attempt));
        self.deeds.may_have.remove(phase);
    }

    /// The end on record is the one that the process really came to.
    pub(super) fn end_is_true(&self, event: &Event) {
        let Event::AttemptEnded { phase, attempt, outcome, agent: None, .. } = event else { return };
        match self.deeds.really.get(&(phase.clone(), *attempt)) {
            Some(None) => panic!("E1: {attempt} of {phase} is at work, and its end is on record as {outcome:?}"),
            Some(Some(real)) if real != outcome && !self.is_agents(phase) => {
                panic!("E1: {attempt} of {phase} ended as {real:?}, and is on record as {outcome:?}")
            }
            Some(Some(_)) | None => {}
        }
    }

    fn is_agents(&self, phase: &PhaseId) -> bool {
        self.plan.phase(phase).is_some_and(|phase| matches!(phase.body, Body::Agent(_)))
    }

    /// The edited plan takes the place of the other.
    pub(super) fn edit_counts(&mut self, revised: &PlanRevised) {
        for (phase, facts) in &self.facts {
            let Some(attempt) = facts.open else { continue };
            let real = self.deeds.really.get(&(phase.clone(), attempt));
            assert!(!matches!(real, Some(Some(_))), "E1: {phase} is over, and an edited plan is to judge it");
            let (then, now) = (self.plan.phase(phase).expect("of the plan"), revised.plan.phase(phase));
            let same = now.is_some_and(|now| now.body == then.body && now.effects == then.effects);
            assert!(real.is_none() || same, "E2: {phase} is at work, and nobody was asked what its edit means");
            *self.coverage.entry("edited: beside an orphan".to_owned()).or_default() += u64::from(real.is_some());
        }
        self.edits_are_met(revised);
        for (old, new) in std::mem::take(&mut self.deeds.coming) {
            if self.deeds.may_have.remove(&old) {
                self.deeds.may_have.insert(new);
            }
        }
        for (old, new) in &revised.renamed {
            self.renamed(old, new);
        }
    }

    fn edits_are_met(&mut self, revised: &PlanRevised) {
        let mut met = |what: String| *self.coverage.entry(format!("edited: {what}")).or_default() += 1;
        for (old, _) in &revised.renamed {
            let facts = &self.facts[old];
            met(if facts.in_doubt { "renamed in doubt" } else { "renamed when it was done" }.to_owned());
        }
        let since = self.journal.iter().rev().map(|recorded| &recorded.event);
        let since = since.take_while(|event| !matches!(event, Event::DriverStarted { .. }));
        if since.into_iter().any(|event| matches!(event, Event::AttemptEnded { .. })) {
            met("after an end".to_owned());
        }
        for (id, facts) in &self.facts {
            let (then, now) = (self.plan.phase(id), revised.plan.phase(id));
            if facts.finished_as.is_some() && then.is_some() != now.is_some() {
                met(if now.is_some() { "put back when it was done" } else { "removed when it was done" }.to_owned());
            }
            if facts.in_doubt && then.zip(now).is_some_and(|(then, now)| then.body != now.body) {
                met("other work in doubt".to_owned());
            }
        }
    }

    /// The record of a phase goes to another id; its numbers stay under the old one as well.
    fn renamed(&mut self, old: &PhaseId, new: &PhaseId) {
        let mut then = self.facts.remove(old).expect("it was known");
        let begun_in = then.generation;
        let left = PhaseFacts {
            generation: then.generation + 1,
            started: then.started.clone(),
            finished_generation: then.finished_generation,
            ..PhaseFacts::default()
        };
        self.facts.insert(old.clone(), left);
        if let Some(earlier) = self.facts.remove(new) {
            then.started.extend(earlier.started);
            then.generation = then.generation.max(earlier.generation);
        }
        then.known_as = then.known_as.filter(|(in_it, _)| *in_it == begun_in).map(|(_, key)| (then.generation, key));
        then.key = then.key.map(|key| if key.0 == begun_in { Generation(then.generation) } else { key });
        then.finished_generation = then.finished_as.is_some().then_some(Generation(then.generation));
        self.facts.insert(new.clone(), then);
        moved(&mut self.agents, old, new);
        moved(&mut self.calls, old, new);
        moved(&mut self.trees, old, new);
        if self.disowned.remove(old) {
            self.disowned.insert(new.clone());
        } else {
            self.disowned.remove(new);
        }
        let integrated = self.really_integrated.iter().filter(|(phase, _)| phase == old);
        let integrated: Vec<_> = integrated.map(|(_, attempt)| (new.clone(), *attempt)).collect();
        self.really_integrated.extend(integrated);
        self.composed.renamed(old, new);
    }

    /// Forgets an effect that did not happen by what is on record now, or that is wanted once more.
    pub(super) fn deeds_after(&mut self, event: &Event) {
        match event {
            Event::AttemptEnded { phase, outcome, .. } => {
                let failed = match outcome {
                    Outcome::Exited { code } => (1..=128).contains(code),
                    Outcome::CouldNotStart { .. } | Outcome::NeverRan => true,
                    Outcome::Killed { .. } | Outcome::TimedOut => false,
                    Outcome::Stopped { .. } | Outcome::Unknown => self.facts[phase].need_not_ask,
                };
                if failed {
                    self.deeds.may_have.remove(phase);
                }
            }
            Event::PhaseReopened { phase, .. } | Event::PhaseProbed { phase, answer: ProbeAnswer::NotDone, .. } => {
                self.deeds.may_have.remove(phase);
            }
            Event::RunRewound(rewound) => {
                for back in rewound.restored.iter().flat_map(|restored| &restored.phases) {
                    self.deeds.may_have.remove(&back.phase);
                }
            }
            Event::Replanned(replanned) => {
                for phase in replanned.changed.iter().chain([&replanned.phase]) {
                    self.deeds.may_have.remove(phase);
                }
            }
            _ => {}
        }
    }
}

/// Whether its effect must not happen twice unasked. Of agents there are rules of their own.
fn is_outward(phase: &Phase) -> bool {
    let asks = !matches!(phase.on_interrupt, Some(OnInterrupt::Rerun));
    phase.effects == Effects::External && asks && matches!(phase.body, Body::Run { .. })
}

fn moved<T>(map: &mut BTreeMap<PhaseId, T>, old: &PhaseId, new: &PhaseId) {
    // What a removed phase of the new name left goes with it.
    match map.remove(old) {
        Some(value) => map.insert(new.clone(), value),
        None => map.remove(new),
    };
}
