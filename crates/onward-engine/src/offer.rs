//! What only a person can answer, with every answer as a command that can be typed.

use onward_core::id::PhaseId;
use onward_core::resume::{PlanFact, Verdict};

use crate::error::{Error, Offer, Question, Result};
use crate::start::{Ready, Request, Unfinished};

pub(crate) fn fresh(request: &Request, all: &[Unfinished]) -> Result<Ready> {
    for one in all {
        refuse_if_driven(one)?;
        let orphans: Vec<PhaseId> = one.view.running.iter().map(|record| record.id.clone()).collect();
        if !orphans.is_empty() && request.orphans.is_none() {
            let ways =
                [("wait", "start fresh when what is still at work has ended"), ("kill", "end it, then start fresh")];
            let choices = ways.map(|(how, choice)| Offer {
                choice: choice.to_owned(),
                command: format!("onward run{} --fresh --orphan {how}", as_typed(request)),
            });
            let reasons =
                orphans.iter().map(|phase| format!("phase {phase} of the old run is still at work")).collect();
            let run = one.run.id.clone();
            let question = Question { run, reasons, in_doubt: Vec::new(), orphans, choices: choices.into() };
            return Err(Error::AnswerNeeded(Box::new(question)));
        }
    }
    Ok(Ready::Start)
}

pub(crate) fn refuse_if_driven(one: &Unfinished) -> Result<()> {
    match &one.view.driver {
        Some(driver) => Err(Error::Driven { run: one.run.id.clone(), driver: driver.clone() }),
        None => Ok(()),
    }
}

/// Whether the doubts about phases are all that stands in the way of going on.
pub(crate) fn only_doubts(one: &Unfinished) -> bool {
    match &one.verdict_on_resume {
        Verdict::Ask(reasons) => reasons.len() == one.run.in_doubt().count(),
        Verdict::GoOn | Verdict::Refuse(_) => false,
    }
}

/// The question with every answer as a command that can be typed.
pub(crate) fn question(one: &Unfinished, reasons: &[String], request: &Request) -> Question {
    let run = &one.run.id;
    let mut choices = Vec::new();
    let mut offer = |choice: &str, command: String| choices.push(Offer { choice: choice.to_owned(), command });
    let in_doubt: Vec<PhaseId> = one.run.in_doubt().cloned().collect();
    if one.plan == PlanFact::Changed || one.plan == PlanFact::Gone {
        offer(
            "go on with the plan kept with the run (taking up an edited plan is not there yet)",
            format!("onward run --resume={run} --plan-from run"),
        );
    } else if in_doubt.is_empty() {
        offer("go on", format!("onward run --resume={run}"));
    }
    for phase in &in_doubt {
        offer("do it again", format!("onward resume {run} --retry {phase}"));
        offer("take it as done", format!("onward resume {run} --adopt {phase}"));
        offer("leave it out", format!("onward resume {run} --skip {phase}"));
    }
    if one.plan != PlanFact::Gone {
        offer("start fresh and keep this run in the archive", format!("onward run{} --fresh", as_typed(request)));
    }
    offer("look at it", format!("onward show {run}"));
    Question { run: run.clone(), reasons: reasons.to_vec(), in_doubt, orphans: Vec::new(), choices }
}

/// The plan and the inputs of a start, as they would be typed again.
fn as_typed(request: &Request) -> String {
    let plan = request.plan.as_ref().map(|plan| {
        let plan = plan.display().to_string();
        if plan.starts_with('-') { format!("./{plan}") } else { plan }
    });
    let inputs = request.inputs.iter().map(|(name, value)| format!("--input={name}={value}"));
    plan.into_iter().chain(inputs).fold(String::new(), |typed, word| typed + " " + &quoted(&word))
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}
