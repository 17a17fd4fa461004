//! A resume foretold, against the resume: what is said not to run does not, as long as nothing fails and nobody
//! speaks.

use std::collections::{BTreeMap, BTreeSet};

use onward_core::event::{Event, Outcome, SkippedBy};
use onward_core::failure::FailureCode;
use onward_core::id::PhaseId;
use onward_core::input::Begin;
use onward_core::plan::Phase;
use onward_core::run::{PhaseState, ResumeAhead, Run};
use onward_core::view;

use super::world::{ALONE, SharedMachine};

/// The name under which phases are counted that run although it was told that they do not.
pub const FORETOLD_WRONGLY: &str = "foretold: told not to run, and runs";

/// The answers that were given before a driver began.
pub(super) struct Foretold {
    /// Whether a phase runs.
    told: BTreeMap<PhaseId, bool>,
    /// Phases about which a person said something at the start.
    chosen: BTreeSet<PhaseId>,
    /// Events that were there before.
    events: usize,
}

impl Foretold {
    /// Nothing is told where this begin is no resume of the whole run, or is refused.
    pub(super) fn new(machine: &SharedMachine, run: &Run, begin: &Begin) -> Self {
        let machine = machine.lock().expect(ALONE);
        let whole = begin.renew && begin.resumption.only.is_none();
        let ahead = ResumeAhead::new(run, begin, &[], machine.now).ok().filter(|_| whole);
        let told = |ahead: &ResumeAhead| {
            // Of one at work it is told what becomes of its attempt.
            let told = |(phase, state): &(&Phase, &PhaseState)| state.attempt.is_none() && phase.children.is_none();
            let why = |(phase, _): (&Phase, &PhaseState)| (phase.id.clone(), view::why(ahead, phase).will_run);
            ahead.run().phases().filter(told).map(why).collect()
        };
        let chosen = begin.choices.iter().map(|(phase, _)| phase.clone()).collect();
        Self { told: ahead.as_ref().map(told).unwrap_or_default(), chosen, events: machine.oracle.journal.len() }
    }

    /// Counts the phases that run although it was told that they do not. No run is wrong because of that, and in a few of ten thousand
    /// worlds it happens, so it ends no world: the tests look at the count.
    pub(super) fn judge(&self, machine: &SharedMachine) {
        let mut machine = machine.lock().expect(ALONE);
        let (mut quiet, mut wrong) = (true, 0);
        for recorded in &machine.oracle.journal[self.events..] {
            if let Event::AttemptStarted { phase, .. } = &recorded.event {
                let runs = self.told.get(phase).copied().unwrap_or(true);
                wrong += u64::from(quiet && !runs);
            }
            quiet &= !self.is_news(&recorded.event);
        }
        if wrong > 0 {
            *machine.oracle.coverage.entry(FORETOLD_WRONGLY.to_owned()).or_default() += wrong;
        }
    }

    /// Whether nobody can know this beforehand: failures, answers of probes, and words of people.
    fn is_news(&self, event: &Event) -> bool {
        match event {
            Event::AttemptEnded { outcome, .. } => *outcome != Outcome::Exited { code: 0 },
            Event::PhaseFailed { error, .. } => error.code != FailureCode::PartFailed,
            Event::PhaseReopened { phase, .. } => !self.told.get(phase).copied().unwrap_or(true),
            Event::PhaseSkipped { phase, by: SkippedBy::Person }
            | Event::PhaseCompleted { phase, adopted: true, .. } => !self.chosen.contains(phase),
            Event::ApprovalAnswered { .. }
            | Event::CallAnswered { .. }
            | Event::MarkersTaken { .. }
            | Event::PhaseInDoubt { .. }
            | Event::PhaseProbed { .. }
            | Event::ReplanAsked { .. }
            | Event::Replanned(_)
            | Event::Reported { .. }
            | Event::RequirementsSeen { .. }
            | Event::RetryScheduled { .. }
            | Event::RunRewound(_)
            | Event::StopAsked { .. }
            | Event::WorktreeChanged { .. } => true,
            _ => false,
        }
    }
}
