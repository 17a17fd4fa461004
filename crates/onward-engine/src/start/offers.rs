//! Where a start must ask: what was typed, and what stands in the way.

use std::path::PathBuf;

use onward_core::id::PhaseId;
use onward_core::input::Choice;
use onward_core::question::{self, Question, TypedWords};
use onward_core::resume::Accept;

use crate::Onward;
use crate::error::{Error, Result};
use crate::start::findings::{Judged, Unfinished};
use crate::start::request::{PlanFrom, Request};
use crate::start::starting::Ready;

pub(crate) fn fresh(request: &Request, all: &[Unfinished]) -> Result<Ready> {
    for one in all {
        refuse_if_driven(one)?;
        let orphans: Vec<PhaseId> = one.orphans().cloned().collect();
        if !orphans.is_empty() && request.orphans.is_none() {
            let question = question::fresh_start(&one.run.id, orphans, &request.typed());
            return Err(Error::AnswerNeeded(Box::new(question)));
        }
    }
    Ok(Ready::Start)
}

pub(crate) fn refuse_if_driven(one: &Unfinished) -> Result<()> {
    match one.driver() {
        Some(driver) => Err(Error::Driven { run: one.run.id.clone(), driver: driver.clone() }),
        None => Ok(()),
    }
}

pub(crate) fn question(one: &Unfinished, judged: &Judged, request: &Request, typed: &TypedWords) -> Question {
    let by_kept_plan = one.open_by_kept_plan(request);
    let (open, offered) = (&judged.open, &judged.offered);
    question::on_resume(&one.run_as_edited(), &one.findings, open, &by_kept_plan, offered, (typed, one.edited_plan()))
}

impl Onward {
    /// The words of this start. A `resume` names no plan: a fresh start of the same work names that of the run.
    pub fn typed(&self, one: &Unfinished, request: &Request) -> TypedWords {
        if request.plan.is_some() || !request.inputs.is_empty() {
            return request.typed();
        }
        let started = &one.run.started;
        let path = PathBuf::from(&started.plan_path);
        let plan = if self.from == self.project.top { path } else { self.project.top.join(path) };
        let inputs = started.given.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        Request { plan: Some(plan), inputs, ..request.clone() }.typed()
    }
}

impl Request {
    /// The words of this start, as they would be typed again.
    pub fn typed(&self) -> TypedWords {
        let plan = self.plan.as_ref().map(|plan| {
            let plan = plan.display().to_string();
            if plan.starts_with('-') { format!("./{plan}") } else { plan }
        });
        let inputs = self.inputs.iter().map(|(name, value)| format!("--input={name}={value}"));
        let plan: Vec<String> = plan.into_iter().chain(inputs).collect();
        TypedWords::new(plan.iter().map(String::as_str), answers(self).iter().map(String::as_str))
    }
}

/// The answers that were given already.
fn answers(request: &Request) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    words.extend(request.checkpoint.iter().flat_map(|id| ["--checkpoint".to_owned(), id.clone()]));
    for (phase, choice) in &request.choices {
        let (flag, phase) = match choice {
            Choice::Retry => ("--retry", phase.clone()),
            Choice::RetryClean => ("--retry", format!("{phase}=clean")),
            Choice::Skip => ("--skip", phase.clone()),
            Choice::Adopt => ("--adopt", phase.clone()),
        };
        words.extend([flag.to_owned(), phase]);
    }
    for (flag, phase) in [("--from", &request.from), ("--only", &request.only)] {
        words.extend(phase.iter().flat_map(|phase| [flag.to_owned(), phase.clone()]));
    }
    if request.accept_stale == Accept::Yes {
        words.push("--accept-stale".to_owned());
    }
    if request.plan_from == PlanFrom::Run {
        words.push("--plan-from=run".to_owned());
    }
    words
}
