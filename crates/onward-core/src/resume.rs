//! Whether an unfinished run may simply go on, must be asked about, or must not go on.

use std::time::Duration;

use jiff::Timestamp;

use crate::run::{PhaseStatus, Run};
use crate::words;

/// What is known when somebody wants to go on.
#[derive(Debug)]
pub struct Facts<'a> {
    pub run: &'a Run,
    pub plan: PlanFact,
    pub branch: BranchFact,
    /// Whether runs may go on without being asked about at all.
    pub auto: Auto,
    pub max_age: Duration,
    pub now: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanFact {
    /// The file says what the run was started with, in all that matters.
    Same,
    Changed,
    /// It cannot be read or is no longer a valid plan.
    Gone,
    /// The person decided that the plan kept with the run counts.
    Kept,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BranchFact {
    There,
    Gone,
    /// The run was not started on a branch.
    None,
    /// Git gave no answer.
    Unknown,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Auto {
    #[default]
    Safe,
    Never,
}

/// How the start was worded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wording {
    /// `onward run`: nothing was said about the unfinished run.
    Plain,
    /// `resume` or `--resume`: an answer to "go on?", and to no other question.
    Resume,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    GoOn,
    Ask(Vec<String>),
    Refuse(Vec<String>),
}

/// All findings are collected; the worst of them is the verdict.
pub fn judge(facts: &Facts<'_>, wording: Wording) -> Verdict {
    let refusals = refusals(facts);
    let mut questions = questions_about_the_world(facts);
    if wording == Wording::Plain {
        questions.extend(questions_about_the_run(facts));
    }
    if !refusals.is_empty() {
        Verdict::Refuse(refusals.into_iter().chain(questions).collect())
    } else if questions.is_empty() {
        Verdict::GoOn
    } else {
        Verdict::Ask(questions)
    }
}

fn refusals(facts: &Facts<'_>) -> Vec<String> {
    let branch = facts.run.started.branch.as_deref().unwrap_or_default();
    match facts.branch {
        BranchFact::Gone => vec![format!("the branch {branch} on which the run was started is gone")],
        BranchFact::There | BranchFact::None | BranchFact::Unknown => Vec::new(),
    }
}

fn questions_about_the_world(facts: &Facts<'_>) -> Vec<String> {
    let path = &facts.run.started.plan_path;
    let plan = match facts.plan {
        PlanFact::Same | PlanFact::Kept => None,
        PlanFact::Changed => Some(format!("the plan {path} was changed since the run was started")),
        PlanFact::Gone => Some(format!("the plan {path} is gone or can no longer be read")),
    };
    let branch = match facts.branch {
        BranchFact::Unknown => Some("git did not say whether the branch of the run is still there".to_owned()),
        BranchFact::There | BranchFact::Gone | BranchFact::None => None,
    };
    let doubts = facts.run.in_doubt().map(|phase| format!("nobody knows whether the effect of {phase} happened"));
    plan.into_iter().chain(branch).chain(doubts).collect()
}

fn questions_about_the_run(facts: &Facts<'_>) -> Vec<String> {
    let mut questions = Vec::new();
    if facts.auto == Auto::Never {
        questions.push("the configuration says resume.auto: never".to_owned());
    }
    for (phase, state) in facts.run.phases().filter(|(_, s)| s.status == PhaseStatus::Failed) {
        let error = state.error.as_ref().map_or("", |error| error.message.as_str());
        questions.push(format!("phase {} failed: {error}", phase.id));
    }
    match Duration::try_from(facts.now.duration_since(facts.run.updated_at)) {
        Ok(age) if age <= facts.max_age => {}
        Ok(age) => questions.push(format!("the run last moved {} ago", words::duration(age))),
        Err(_) => questions.push("the run last moved in the future: the clock went back".to_owned()),
    }
    questions
}
