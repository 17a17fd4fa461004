//! A start before it is made: which phases it would do, and why.

use std::collections::BTreeSet;

use jiff::Timestamp;
use onward_core::event::Outcome;
use onward_core::id::PhaseId;
use onward_core::input::{Begin, Choice, Input};
use onward_core::plan::{self, Body, Phase};
use onward_core::resume::{Finding, FindingKind, Weight};
use onward_core::run::{self, PhaseState, PhaseStatus, ResumeAhead, Run};
use onward_core::view::{self, NextStep, WillRun};

use super::findings::Unfinished;
use super::request::{Request, Want, begin_told};
use super::starting::StartFound;
use crate::Onward;
use crate::attendant;
use crate::drive::running_attempt;
use crate::error::Result;
use crate::executor::shell;
use crate::probe::phase::ProofLook;

/// The run as a start would find it, with what is recorded beside its journal.
pub(crate) struct FoundAhead {
    ahead: ResumeAhead,
    /// Phases whose failure is taken.
    failures: BTreeSet<PhaseId>,
}

impl Unfinished {
    /// The run as it would stand after this start, before anything is started.
    pub(super) fn preview(&self, request: &Request) -> Result<Run> {
        Ok(run::preview(&self.run, &self.begin_ahead(request), Timestamp::now())?)
    }

    /// This start as the run would be told of it.
    pub(super) fn begin_ahead(&self, request: &Request) -> Begin {
        let resumption = self.resumption(request);
        let plan = resumption.revised.as_ref().map_or(self.run.plan(), |revised| &revised.plan);
        let environment = shell::variables_on_record(plan);
        Begin { environment, ..begin_told(request, self.run.epoch + 1, resumption) }
    }
}

impl Onward {
    /// The phases that would run, and why.
    pub fn would_do(&self, request: &Request, found: &StartFound) -> Result<Vec<WillRun>> {
        let new = matches!(request.want, Want::Fresh) || found.unfinished.is_empty();
        match (new, &found.work, found.unfinished.first()) {
            (true, Some(work), _) => Ok(work.plan.phases.iter().map(|phase| of_new(request, phase)).collect()),
            (_, _, Some(one)) => {
                one.demand_phases(request)?;
                let found = self.ahead(&one.run, &one.begin_ahead(request))?;
                let refused = one.refusals(request);
                let all = found.ahead.run().phases().map(|(phase, state)| {
                    let mut why = self.why_ahead(&found, phase);
                    one.explain(request, found.ahead.run(), &mut why);
                    unless_refused(why, state, &refused)
                });
                Ok(all.collect())
            }
            (_, _, None) => Ok(Vec::new()),
        }
    }

    /// The run after this begin, with what ended while nobody drove it and failed, or left no trace of its end. An agent's end is for its
    /// adapter to read.
    pub(crate) fn ahead(&self, run: &Run, begin: &Begin) -> Result<FoundAhead> {
        let now = Timestamp::now();
        let ahead = run::preview(run, begin, now)?;
        let shell = |phase: &Phase| matches!(phase.body, Body::Run { .. });
        let failed = |(phase, state): (&Phase, &PhaseState)| {
            let attempt = state.attempt.as_ref().filter(|_| shell(phase))?.number;
            let end = running_attempt::recorded_failure(&shell::folder(&self.project, &ahead, &phase.id, attempt))?;
            Some(Input::AttemptEnded { phase: phase.id.clone(), attempt, end })
        };
        let mut ended: Vec<Input> = ahead.running().filter_map(failed).collect();
        let of = |input: &Input| match input {
            Input::AttemptEnded { phase, .. } => Some(phase.clone()),
            _ => None,
        };
        let failures = ended.iter().filter_map(of).collect();
        ended.extend(self.without_a_trace(&ahead));
        Ok(FoundAhead { ahead: ResumeAhead::new(run, begin, &ended, now)?, failures })
    }

    /// The run with what follows from attempts that are over and left no trace of their end.
    pub(crate) fn with_unknown_ends(&self, run: &Run) -> Run {
        run::preview_inputs(run.clone(), &self.without_a_trace(run), Timestamp::now())
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

    /// Why a phase runs or does not, with what the folder of its attempt says: an end that nobody has recorded yet, or a process that
    /// lives.
    pub(crate) fn why_ahead(&self, found: &FoundAhead, phase: &Phase) -> WillRun {
        let Some(state) = found.ahead.run().phase_state(&phase.id) else { return view::why(&found.ahead, phase) };
        let first = |step, reason: &str| WillRun::new(&phase.id, Some(step), vec![reason.to_owned()]);
        let taken = found.failures.contains(&phase.id);
        if taken && state.status == PhaseStatus::Failed {
            let error = state.error.as_ref().map_or("", |error| error.message.as_str());
            return first(
                NextStep::TakeResult,
                &format!("it has ended and failed ({error}), and that result is taken"),
            );
        }
        if let Some(attempt) = &state.attempt {
            let folder = shell::folder(&self.project, found.ahead.run(), &phase.id, attempt.number);
            match folder.exit() {
                Ok(Some(exit)) if exit.stopped_by.is_none() => {
                    return first(NextStep::TakeResult, "it has ended, and its result is taken");
                }
                Ok(_) | Err(_) if attendant::is_at_work(&folder).unwrap_or(false) => {
                    return first(NextStep::Wait, "it is at work, and is waited for");
                }
                Ok(_) | Err(_) => {}
            }
        }
        let why = view::why(&found.ahead, phase);
        if taken && why.will_run {
            return WillRun::new(&phase.id, why.next, vec!["it has ended and failed, and is tried again".to_owned()]);
        }
        why
    }
}

/// Nothing is done by a start that is refused.
pub(crate) fn unless_refused(why: WillRun, state: &PhaseState, refused: &[String]) -> WillRun {
    if refused.is_empty() || state.is_finished() && !why.will_run {
        return why;
    }
    let reasons = refused.iter().map(|reason| format!("a resume is refused: {reason}"));
    WillRun::new(&why.phase, None, reasons.collect())
}

impl Unfinished {
    /// The findings for which a resume is refused, whatever is answered.
    fn refusals(&self, request: &Request) -> Vec<String> {
        let judged = self.judge(&Request { want: Want::Resume(None), ..request.clone() });
        let refused = |finding: &&Finding| finding.kind.row().weight == Weight::Refuse;
        judged.open.iter().filter(refused).flat_map(Finding::lines).collect()
    }

    /// Adds what was found about a phase, and what was said about it.
    fn explain(&self, request: &Request, ahead: &Run, why: &mut WillRun) {
        let chosen = request.choices.iter().find(|(phase, _)| phase == why.phase.as_str());
        if let Some((_, choice)) = chosen {
            *why = of_choice(&why.phase, *choice);
        } else if self.chosen(request).contains(&why.phase) && why.will_run {
            why.reasons = vec![format!("--from {}", request.from.as_deref().unwrap_or_default())];
        }
        let alone = request.only.as_ref().is_some_and(|only| !ahead.is_within(&why.phase, &PhaseId::new(only)));
        if alone && why.will_run {
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
