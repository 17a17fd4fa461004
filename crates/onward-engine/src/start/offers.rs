//! What only a person can answer, with every answer as a command that can be typed.

use onward_core::id::PhaseId;
use onward_core::input::Choice;
use onward_core::resume::{Accept, Finding, Kind, Offered};

use crate::error::{Error, Offer, Question, Result};
use crate::start::findings::{Judged, Unfinished};
use crate::start::starting::{PlanFrom, Ready, Request};

/// Phases that are offered one by one; the others are answered in the same way.
const PHASES_OFFERED_MAX: usize = 10;

pub(crate) fn fresh(request: &Request, all: &[Unfinished]) -> Result<Ready> {
    for one in all {
        refuse_if_driven(one)?;
        let orphans: Vec<PhaseId> = one.orphans().cloned().collect();
        if !orphans.is_empty() && request.orphans.is_none() {
            let start = format!("onward run{} --fresh", as_typed(request));
            let message = |phase: &PhaseId| format!("phase {phase} of the old run is still at work");
            let findings: Vec<Finding> =
                orphans.iter().map(|phase| Finding::of(Kind::OrphanInTheWay, phase, message(phase))).collect();
            let question = Question {
                reasons: findings.iter().map(|finding| finding.message.clone()).collect(),
                orphans,
                choices: ways(&start, "start fresh when what is still at work has ended", "end it, then start fresh"),
                findings,
                ..Question::new(one.run.id.clone())
            };
            return Err(Error::AnswerNeeded(Box::new(question)));
        }
    }
    Ok(Ready::Start)
}

fn ways(command: &str, wait: &str, kill: &str) -> Vec<Offer> {
    let offer =
        |how: &str, choice: &str| Offer { choice: choice.to_owned(), command: format!("{command} --orphan {how}") };
    vec![offer("wait", wait), offer("kill", kill)]
}

pub(crate) fn refuse_if_driven(one: &Unfinished) -> Result<()> {
    match one.driver() {
        Some(driver) => Err(Error::Driven { run: one.run.id.clone(), driver: driver.clone() }),
        None => Ok(()),
    }
}

/// The question with every answer as a command that can be typed.
pub(crate) fn question(one: &Unfinished, judged: &Judged, request: &Request) -> Question {
    let run = &one.run.id;
    let again = format!("onward resume {run}{}", said(request));
    // Without its file nothing goes on but by the plan that is kept, whatever else is answered.
    let plan_gone = judged.open.iter().any(|finding| finding.kind == Kind::PlanGone);
    let kept = if plan_gone { " --plan-from run" } else { "" };
    let offer = |choice: &str, command: String| Offer { choice: choice.to_owned(), command };
    let mut choices = Vec::new();
    for offered in &judged.offered {
        match offered {
            // Going on by the plan that is kept is offered below.
            Offered::GoOn if plan_gone => {}
            Offered::GoOn => choices.push(offer(go_on(judged), format!("onward run --resume={run}{}", said(request)))),
            Offered::AcceptStale => {
                choices.push(offer("go on and keep what is done as it is", format!("{again}{kept} --accept-stale")));
            }
            Offered::Choice => choices.extend(about_phases(&format!("{again}{kept}"), &judged.open)),
            Offered::PlanFromRun => {
                choices.push(offer("go on with the plan kept with the run", format!("{again} --plan-from run")));
            }
            Offered::Orphan => choices.extend(ways(&again, "wait until it has ended", "end it first")),
            Offered::Fresh => {
                let command = format!("onward run{} --fresh", as_typed(request));
                choices.push(offer("start fresh and keep this run in the archive", command));
            }
        }
    }
    choices.push(offer("look at it", format!("onward show {run}")));
    let of = |kind: Kind| -> Vec<PhaseId> {
        let found = judged.open.iter().filter(|finding| finding.kind == kind);
        found.filter_map(|finding| finding.phase.clone()).collect()
    };
    Question {
        reasons: judged.open.iter().map(|finding| finding.message.clone()).collect(),
        in_doubt: of(Kind::InDoubt),
        orphans: of(Kind::OrphanInTheWay),
        choices,
        findings: one.findings.clone(),
        stale: of(Kind::Stale).into_iter().chain(of(Kind::Renamed)).collect(),
        offered: judged.offered.clone(),
        ..Question::new(run.clone())
    }
}

fn go_on(judged: &Judged) -> &'static str {
    if judged.open.iter().any(|finding| finding.kind == Kind::PlanChanged) {
        "go on, with the edited plan for all that is not done"
    } else {
        "go on"
    }
}

fn about_phases(again: &str, open: &[Finding]) -> Vec<Offer> {
    let mut offers = Vec::new();
    for finding in open {
        let Some(phase) = &finding.phase else { continue };
        let ways: &[(&str, &str)] = match finding.kind {
            Kind::InDoubt | Kind::Failed => {
                &[("do it again", "retry"), ("take it as done", "adopt"), ("leave it out", "skip")]
            }
            Kind::Stale | Kind::Renamed => &[("do it again", "retry")],
            Kind::WorkChanged => &[("run it again, with the files as they are", "retry"), ("leave it out", "skip")],
            _ => &[],
        };
        offers.extend(ways.iter().map(|(choice, flag)| Offer {
            choice: (*choice).to_owned(),
            command: format!("{again} --{flag} {}", quoted(phase.as_str())),
        }));
    }
    offers.truncate(PHASES_OFFERED_MAX * 3);
    offers
}

/// What was answered already, as it would be typed again.
fn said(request: &Request) -> String {
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
    words.iter().fold(String::new(), |typed, word| typed + " " + &quoted(word))
}

/// The plan and the inputs of a start, as they would be typed again.
pub(crate) fn as_typed(request: &Request) -> String {
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
