//! A plan that an agent has written, as people and programs see it before and after it is saved.

use std::fmt::Write as _;
use std::path::Path;

use onward_core::words;
use onward_engine::{PlannedTask, PlanningNews};
use serde_json::{Value, json};

use super::{check, paint, planned_work, safe};

pub(crate) const BEGINS: &str = "an agent writes the plan; Ctrl+C ends it, and nothing is saved before you say so\n";
pub(crate) const TASK: &str = "What is to be done? An agent makes a plan of it, and you decide (Enter: nothing): ";
pub(crate) const SAVE: &str = "Save this plan? (y)es  (v)iew its text  (n)o  [n]: ";
pub(crate) const SAVE_AND_RUN: &str = "Save this plan and run it? (y)es  (v)iew its text  (n)o  [n]: ";

/// The fate of the plan.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kept<'a> {
    Saved,
    /// Nobody wanted it; the text is there.
    Aside(&'a Path),
    Nowhere,
}

pub(crate) fn news(news: &PlanningNews) -> String {
    match news {
        PlanningNews::Line(line) => format!("  {}\n", paint::dim(&safe::line(line))),
        PlanningNews::StillAtWork(since) => format!("  the agent is still at work, {}\n", words::duration(*since)),
        PlanningNews::Corrected { again, why } => {
            format!(
                "{} the plan is wrong, and the agent is told so ({again}): {}\n",
                paint::doubtful("↻"),
                safe::line(why)
            )
        }
    }
}

/// The phases with all that they would execute, the batches, and what the checker warns of.
pub(crate) fn page(planned: &PlannedTask) -> String {
    let mut out = String::from("\n");
    let plan = planned.checked.parsed.plan.as_ref().expect("a plan that passed the checks");
    if let Some(description) = &plan.description {
        let _ = writeln!(out, "{}", safe::line(description));
    }
    out.push_str(&planned_work::list(plan));
    out.push_str(&check::check(&planned.checked));
    out.push_str(&cost(planned));
    out
}

/// The whole text.
pub(crate) fn text(planned: &PlannedTask) -> String {
    format!("\n{}\n", safe::block(&planned.checked.text))
}

pub(crate) fn saved(planned: &PlannedTask) -> String {
    let path = path(planned).unwrap_or_default();
    let run = if path == "onward.yaml" { String::new() } else { format!(" {path}") };
    format!("saved to {path}; start it with  onward run{run}\n")
}

pub(crate) fn not_saved(kept: &Path) -> String {
    format!("nothing was saved and nothing was started; the text is in {}\n", safe::line(&kept.display().to_string()))
}

/// `plan --json`.
pub(crate) fn answer(planned: &PlannedTask, kept: Kept<'_>) -> Value {
    let mut answer = serde_json::to_value(check::answer(&planned.checked)).unwrap_or_else(|_| json!({}));
    let PlannedTask { cost, agent, .. } = planned;
    answer["saved"] = json!(matches!(kept, Kept::Saved));
    answer["path"] = match kept {
        Kept::Saved => json!(path(planned)),
        Kept::Aside(path) => json!(path.display().to_string()),
        Kept::Nowhere => Value::Null,
    };
    answer["text"] = json!(planned.checked.text);
    answer["agent"] = json!({
        "use": agent, "session": cost.session, "turns": cost.turns, "tokens": cost.tokens, "cost_usd": cost.cost_usd,
    });
    answer
}

fn cost(planned: &PlannedTask) -> String {
    let cost = planned.cost.cost_usd.map(|usd| format!(", ${usd:.4}")).unwrap_or_default();
    format!("written by {}{cost}\n", safe::line(&planned.agent))
}

/// From where the person stands, where that is shorter.
fn path(planned: &PlannedTask) -> Option<String> {
    let path = planned.path.as_ref()?;
    let here = std::env::current_dir().ok();
    let short = here.as_deref().and_then(|here| path.strip_prefix(here).ok()).unwrap_or(path);
    Some(safe::line(&short.display().to_string()))
}
