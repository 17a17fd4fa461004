//! A start before it is made: which phases it would do, and why.

use std::collections::BTreeSet;

use jiff::Timestamp;
use onward_core::event::Outcome;
use onward_core::id::PhaseId;
use onward_core::input::{Choice, Input};
use onward_core::plan::{self, Body, Phase};
use onward_core::resume::{Finding, FindingKind};
use onward_core::run::{self, PhaseState, PhaseStatus, Run};
use onward_core::view::{self, NextStep, WillRun};

use super::findings::Unfinished;
use super::request::{Request, Want};
use super::starting::StartFound;
use crate::Onward;
use crate::drive::running_attempt;
use crate::error::Result;
use crate::executor::shell;
use crate::probe::phase::ProofLook;

/// The run as a start would find it, with the failures taken that are recorded beside its journal.
struct RunAhead {
    run: Run,
    /// Phases whose failure is taken, and those of them that are not tried again.
    taken: BTreeSet<PhaseId>,
    failed: BTreeSet<PhaseId>,
}

impl Onward {
    /// The phases that would run, and why.
    pub fn would_do(&self, request: &Request, found: &StartFound) -> Result<Vec<WillRun>> {
        let new = matches!(request.want, Want::Fresh) || found.unfinished.is_empty();
        match (new, &found.work, found.unfinished.first()) {
            (true, Some(work), _) => Ok(work.plan.phases.iter().map(|phase| of_new(request, phase)).collect()),
            (_, _, Some(one)) => {
                one.demand_phases(request)?;
                let ahead = self.ahead(one.preview(request)?);
                let mut all: Vec<WillRun> =
                    ahead.run.phases().map(|(phase, state)| self.why_ahead(&ahead, phase, state)).collect();
                for why in &mut all {
                    one.explain(request, why);
                }
                Ok(all)
            }
            (_, _, None) => Ok(Vec::new()),
        }
    }

    /// Takes what ended and failed while nobody drove the run. An agent's end is for its adapter to read.
    fn ahead(&self, run: Run) -> RunAhead {
        let shell = |phase: &Phase| matches!(phase.body, Body::Run { .. });
        let ends: Vec<Input> = run
            .running()
            .filter(|(phase, _)| shell(phase))
            .filter_map(|(phase, state)| {
                let attempt = state.attempt.as_ref()?.number;
                let end = running_attempt::recorded_failure(&shell::folder(&self.project, &run, &phase.id, attempt))?;
                Some(Input::AttemptEnded { phase: phase.id.clone(), attempt, end })
            })
            .collect();
        let of = |input: &Input| match input {
            Input::AttemptEnded { phase, .. } => Some(phase.clone()),
            _ => None,
        };
        let taken: BTreeSet<PhaseId> = ends.iter().filter_map(of).collect();
        let unknown = self.without_a_trace(&run);
        let run = run::preview_inputs(run, &ends, Timestamp::now());
        let run = run::preview_inputs(run, &unknown, Timestamp::now());
        let has_failed = |id: &&PhaseId| run.phase_state(id).is_some_and(|state| state.status == PhaseStatus::Failed);
        let failed = taken.iter().filter(has_failed).cloned().collect();
        RunAhead { run, taken, failed }
    }

    /// Attempts that are over without a record of their end.
    fn without_a_trace(&self, run: &Run) -> Vec<Input> {
        let lost = run.running().filter_map(|(phase, state)| {
            let attempt = state.attempt.as_ref()?;
            let folder = shell::folder(&self.project, run, &phase.id, attempt.number);
            let look = ProofLook::new(&self.project, run, phase).without_files();
            let end = running_attempt::end_told(&folder, &attempt.boot, &look)?;
            let (phase, attempt) = (phase.id.clone(), attempt.number);
            (end.outcome == Outcome::Unknown).then_some(Input::AttemptEnded { phase, attempt, end })
        });
        lost.collect()
    }

    fn why_ahead(&self, ahead: &RunAhead, phase: &Phase, state: &PhaseState) -> WillRun {
        let RunAhead { run, taken, failed } = ahead;
        let id = &phase.id;
        if failed.contains(id) {
            let error = state.error.as_ref().map_or("", |error| error.message.as_str());
            let reason = format!("it has ended and failed ({error}), and that result is taken");
            return WillRun::new(id, Some(NextStep::TakeResult), vec![reason]);
        }
        let why = self.why_now(run, phase, state);
        let open = run.phases().find(|(_, state)| state.in_doubt).map(|(phase, _)| &phase.id);
        if let Some(open) = open.filter(|_| !state.is_finished()) {
            let reason = if open == id {
                "nobody knows whether its effect happened, and that is asked".to_owned()
            } else {
                format!("nothing is started before it is known whether the effect of {open} happened")
            };
            return WillRun::new(id, None, vec![reason]);
        }
        if taken.contains(id) && why.will_run {
            return WillRun::new(id, why.next, vec!["it has ended and failed, and is tried again".to_owned()]);
        }
        if !why.will_run || failed.is_empty() {
            return why;
        }
        if let Some(before) = run.kept_by_failure(id, failed) {
            return WillRun::new(id, None, vec![format!("it comes after {before}, which has failed")]);
        }
        if run.a_failure_forbids() && !phase.closing {
            let first = failed.iter().next().map_or("", PhaseId::as_str);
            return WillRun::new(id, None, vec![format!("{first} has failed, and nothing more is started then")]);
        }
        why
    }
}

impl Unfinished {
    /// Adds what was found about a phase, and what was said about it.
    fn explain(&self, request: &Request, why: &mut WillRun) {
        let chosen = request.choices.iter().find(|(phase, _)| phase == why.phase.as_str());
        if let Some((_, choice)) = chosen {
            *why = of_choice(&why.phase, *choice);
        } else if self.chosen(request).contains(&why.phase) && why.will_run {
            why.reasons = vec![format!("--from {}", request.from.as_deref().unwrap_or_default())];
        }
        if request.only.as_ref().is_some_and(|only| only != why.phase.as_str()) && why.will_run {
            *why = WillRun::new(&why.phase, None, vec!["another phase alone is wanted".to_owned()]);
        }
        let about = |finding: &&Finding| finding.phase.as_ref() == Some(&why.phase);
        let told = [FindingKind::Stale, FindingKind::StaleReruns, FindingKind::Renamed, FindingKind::OutputChanged];
        let found = self.findings.iter().filter(about).filter(|finding| told.contains(&finding.kind));
        let found: Vec<String> = found.map(|finding| finding.message.clone()).collect();
        why.reasons.extend(found);
        if self.run.phase_state(&why.phase).is_none() {
            why.reasons.push("it is new in the edited plan".to_owned());
        }
    }
}

fn of_new(request: &Request, phase: &plan::Phase) -> WillRun {
    let chosen = request.choices.iter().find(|(name, _)| name == phase.id.as_str());
    chosen.map_or_else(|| view::why_new(phase), |(_, choice)| of_choice(&phase.id, *choice))
}

fn of_choice(phase: &PhaseId, choice: Choice) -> WillRun {
    let (next, reason) = match choice {
        Choice::Retry => (Some(NextStep::Run), "it is to be retried"),
        Choice::RetryClean => (Some(NextStep::Run), "what it writes is put back, and it is to be retried"),
        Choice::Skip => (None, "it is to be skipped"),
        Choice::Adopt => (None, "it is to be taken as done"),
    };
    WillRun::new(phase, next, vec![reason.to_owned()])
}
