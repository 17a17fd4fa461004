//! `onward plan TASK`: an agent writes a plan, a person looks at it, and it is saved.

use std::io::Read;

use onward_core::exit;
use onward_core::question::{Offer, quoted};
use onward_engine::{PlanTarget, PlannedTask, PlanningNews, TaskRequest, plan_task, stop};

use super::here;
use crate::args;
use crate::args::PLANNING_TIME_MAX;
use crate::failure::Failure;
use crate::prompt::{self, Answerer, TRIES_MAX};
use crate::render;
use crate::render::planning;

/// Longer than any task that an agent is given; what is read of it is enough to say so.
const TASK_BYTES_READ_MAX: u64 = 1 << 20;

pub(super) fn plan(args: &args::PlanArgs) -> Result<u8, Failure> {
    // Standard input that is read for the task has no answers.
    let answerer = if args.no_input || args.reads_stdin() { Answerer::Nobody } else { Answerer::here() };
    let task = if args.reads_stdin() { from_stdin()? } else { args.task.clone() };
    let request = args.request(task);
    let is_printed = request.target == PlanTarget::Printed;
    if !args.yes && !is_printed && !answerer.is_person() {
        return Err(nobody_to_say_yes(args));
    }
    let shows = if args.quiet { PlanningProgress::Hidden } else { PlanningProgress::Shown };
    let planned = written(&request, shows)?;
    if is_printed {
        planned.forget();
        return Ok(print(&planned, args));
    }
    if !args.yes && !agreed(&planned, AfterYes::Saved)? {
        return left(&planned, args);
    }
    let told = planning::saved(&planned);
    planned.save()?;
    if args.output_form.json {
        render::answer_json(&planning::answer(&planned, planning::Kept::Saved));
    } else {
        if args.yes {
            render::answer(&planning::page(&planned));
        }
        render::say(&told);
    }
    Ok(exit::DONE)
}

/// Whether what the agent says and does is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PlanningProgress {
    Shown,
    Hidden,
}

/// The step that follows a yes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AfterYes {
    Saved,
    SavedAndRun,
}

fn written(request: &TaskRequest, progress: PlanningProgress) -> Result<PlannedTask, Failure> {
    if progress == PlanningProgress::Shown {
        render::say(planning::BEGINS);
    }
    let mut heard = |news: PlanningNews| {
        if progress == PlanningProgress::Shown {
            render::say(&planning::news(&news));
        }
    };
    Ok(plan_task(&here()?, request, &mut heard)?)
}

/// Shows the plan and asks. Only an outspoken yes is one.
fn agreed(planned: &PlannedTask, then: AfterYes) -> Result<bool, Failure> {
    render::say(&planning::page(planned));
    let question = match then {
        AfterYes::Saved => planning::SAVE,
        AfterYes::SavedAndRun => planning::SAVE_AND_RUN,
    };
    for _ in 0..TRIES_MAX {
        let Some(answer) = prompt::ask(question) else { break };
        match answer.to_lowercase().as_str() {
            "y" | "yes" => return Ok(true),
            "" | "n" | "no" | "q" | "quit" => return Ok(false),
            "v" | "view" => render::say(&planning::text(planned)),
            _ => render::say("Please answer with one of the letters in brackets.\n"),
        }
    }
    stop::demand_none()?;
    Ok(false)
}

/// Nothing is saved; what the agent was paid for is kept where it is in nobody's way.
fn left(planned: &PlannedTask, args: &args::PlanArgs) -> Result<u8, Failure> {
    let kept = planned.keep()?;
    if args.output_form.json {
        render::answer_json(&planning::answer(planned, planning::Kept::Aside(&kept)));
    } else {
        render::say(&planning::not_saved(&kept));
    }
    Ok(exit::DONE)
}

fn print(planned: &PlannedTask, args: &args::PlanArgs) -> u8 {
    if args.output_form.json {
        render::answer_json(&planning::answer(planned, planning::Kept::Nowhere));
    } else {
        render::say(&planning::page(planned));
        render::answer(&planned.checked.text);
    }
    exit::DONE
}

/// Before the agent is asked: its work would be in vain.
fn nobody_to_say_yes(args: &args::PlanArgs) -> Failure {
    let task = if args.reads_stdin() { "-".to_owned() } else { quoted(&args.task) };
    let agent = args.agent.as_ref().map(|agent| format!(" --agent {}", quoted(agent))).unwrap_or_default();
    let output = args.output.as_ref().map(|path| format!(" --output {}", quoted(&path.to_string_lossy())));
    let output = output.unwrap_or_default();
    Failure::plan_unanswered(vec![
        Offer::new("save a plan that passes the checks, unseen", format!("onward plan {task}{agent}{output} --yes")),
        Offer::new("print the plan and save nothing", format!("onward plan {task}{agent} --output -")),
    ])
}

fn from_stdin() -> Result<String, Failure> {
    let mut text = String::new();
    let read = std::io::stdin().lock().take(TASK_BYTES_READ_MAX).read_to_string(&mut text);
    read.map_err(|why| Failure::usage(format!("the task cannot be read from standard input: {why}")))?;
    Ok(text)
}

/// The fate of the first plan of a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FirstPlanFate {
    Saved,
    Declined,
    /// The person named no task.
    NoTask,
}

/// `onward run` where there is no plan, at a terminal: the person says what is to be done, an agent plans it, and the person agrees.
pub(super) fn first(no_plan: &Failure) -> Result<FirstPlanFate, Failure> {
    render::say(&format!("{}\n", render::safe::line(&no_plan.what)));
    let Some(task) = prompt::ask(planning::TASK).filter(|task| !task.is_empty()) else {
        stop::demand_none()?;
        return Ok(FirstPlanFate::NoTask);
    };
    let request = TaskRequest { task, agent: None, target: PlanTarget::Project, time_max: PLANNING_TIME_MAX };
    let planned = written(&request, PlanningProgress::Shown)?;
    if !agreed(&planned, AfterYes::SavedAndRun)? {
        render::say(&planning::not_saved(&planned.keep()?));
        return Ok(FirstPlanFate::Declined);
    }
    planned.save()?;
    Ok(FirstPlanFate::Saved)
}
