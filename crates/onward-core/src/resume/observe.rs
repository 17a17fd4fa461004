//! Findings from the record of a run itself: failures, unknown ends, age, branch and plan.

use std::time::Duration;

use jiff::Timestamp;

use super::age::age;
use super::finding::{Finding, FindingKind};
use crate::id::PhaseId;
use crate::plan::Plan;
use crate::run::{PhaseStatus, Run};
use crate::short_sha;

/// The facts that are known when a run is to be resumed.
#[derive(Debug)]
pub struct ResumeFacts<'a> {
    pub run: &'a Run,
    pub plan: PlanFact,
    pub branch: BranchFact,
    /// The checked out commit differs from the recorded one, on the same branch.
    pub head: Option<HeadMoved>,
    /// Whether runs may go on without being asked about at all.
    pub auto: Auto,
    pub max_age: Duration,
    pub now: Timestamp,
}

/// Faults of a plan that are told in one finding.
const FAULTS_SHOWN_MAX: usize = 3;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanFact {
    /// The file is what the run was started with, to the letter.
    Same,
    /// Only names, descriptions, times or the like are different.
    Touched,
    Changed,
    /// It cannot be read.
    Gone,
    /// It is no valid plan any more, for these reasons.
    Invalid(Vec<String>),
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

/// How the commit that is checked out has moved since the run last recorded it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeadMoved {
    pub from: String,
    pub to: String,
    /// Commits that are new, and commits that are gone; none where git cannot tell.
    pub commits: Option<(u64, u64)>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Auto {
    #[default]
    Safe,
    Never,
}

/// All that the record and these facts give rise to.
pub fn observe(facts: &ResumeFacts<'_>) -> Vec<Finding> {
    let mut found: Vec<Finding> = branch(facts).into_iter().chain(head(facts)).chain(plan(facts)).collect();
    found.extend(forbidden(facts.run));
    found.extend(phases(facts.run));
    if facts.auto == Auto::Never {
        found.push(Finding::new(FindingKind::AutoResumeDisabled, "the configuration says resume.auto: never"));
    }
    found.extend(age(facts.run, facts.max_age, facts.now));
    found
}

fn branch(facts: &ResumeFacts<'_>) -> Option<Finding> {
    let branch = facts.run.branch().unwrap_or_default();
    match facts.branch {
        BranchFact::Gone => {
            let kind = super::branch::kind_if_gone(facts.run.plan())?;
            Some(Finding::new(kind, format!("the branch {branch} on which the run was last seen is gone")))
        }
        BranchFact::Unknown => {
            let message = format!("git did not say whether the branch {branch} of the run is still there");
            Some(Finding::new(FindingKind::BranchUnknown, message))
        }
        BranchFact::There | BranchFact::None => None,
    }
}

/// A commit of ours that was begun may have been made: the driver finds out, and nobody else moved HEAD then.
fn head(facts: &ResumeFacts<'_>) -> Option<Finding> {
    let moved = facts.head.as_ref().filter(|_| facts.run.vcs.begun.is_none())?;
    let how = match moved.commits {
        Some((new, 0)) => format!("has moved by {}", commits(new)),
        Some((new, gone)) => {
            format!("was moved elsewhere: {} of before not in its history, {new} new", commits_are(gone))
        }
        None => "was moved elsewhere".to_owned(),
    };
    let (from, to) = (short_sha(&moved.from), short_sha(&moved.to));
    let at_work: Vec<&str> = facts.run.running().map(|(phase, _)| phase.id.as_str()).collect();
    let meanwhile =
        if at_work.is_empty() { String::new() } else { format!("; {} was at work then", at_work.join(", ")) };
    let message = format!("HEAD {how} since the run last recorded it: {to} now, {from} then{meanwhile}");
    Some(Finding::new(FindingKind::HeadMoved, message))
}

fn commits(number: u64) -> String {
    if number == 1 { "1 commit".to_owned() } else { format!("{number} commits") }
}

fn commits_are(number: u64) -> String {
    if number == 1 { "1 commit is".to_owned() } else { format!("{number} commits are") }
}

/// The record that the run was taken over from says that nobody can go on with it.
fn forbidden(run: &Run) -> Option<Finding> {
    let told = &run.sections().recovery;
    let why = if told.warnings.is_empty() { String::new() } else { format!(": {}", told.warnings.join("; ")) };
    let message = format!("the record that it was taken over from says that it cannot be resumed{why}");
    told.forbidden.then(|| Finding::new(FindingKind::WorldStops, message))
}

fn plan(facts: &ResumeFacts<'_>) -> Option<Finding> {
    let path = &facts.run.started.plan_path;
    let (kind, message) = match &facts.plan {
        PlanFact::Same | PlanFact::Kept => return None,
        PlanFact::Touched => {
            (FindingKind::PlanTouched, format!("the plan {path} was edited, and the edit changes no work"))
        }
        PlanFact::Changed => {
            (FindingKind::PlanChanged, format!("the plan {path} was changed since the run was started"))
        }
        PlanFact::Gone => (FindingKind::PlanGone, format!("the plan {path} is gone or can no longer be read")),
        PlanFact::Invalid(faults) => {
            let shown = faults.iter().take(FAULTS_SHOWN_MAX).map(String::as_str).collect::<Vec<_>>().join("; ");
            let more = match faults.len().saturating_sub(FAULTS_SHOWN_MAX) {
                0 => String::new(),
                more => format!("; and {more} more, which `onward check {path}` shows"),
            };
            (FindingKind::PlanGone, format!("the plan {path} is no longer a valid plan: {shown}{more}"))
        }
    };
    Some(Finding::new(kind, message))
}

/// Files of an agent that are in the project, or on their way there, where the edited plan has no agent any more: nothing else tells.
pub fn files_came_in(run: &Run, revised: Option<&Plan>) -> Vec<Finding> {
    let phases = run.files_of_former_agents(revised.unwrap_or(run.plan()));
    let message = |phase| {
        format!(
            "files of an agent that worked at {phase} have come into the project, or are coming, and the plan has no agent there \
             any more: look at them; {phase} is not done by that"
        )
    };
    phases.map(|phase| Finding::about(FindingKind::FilesCameIn, phase, message(phase))).collect()
}

/// Unfinished work in worktrees of agents of which the edited plan takes nothing: it stays where it is, and nothing else tells.
pub fn worktrees_left(run: &Run, revised: Option<&Plan>) -> Vec<Finding> {
    let left = run.worktrees_left_by(revised.unwrap_or(run.plan()));
    let message = |phase: &PhaseId, place: &str| {
        format!(
            "what the agent of {phase} has done so far lies in .onward/{place}, and nothing of it comes into the project, since the \
             plan has no worktree for {phase} any more: take what you want of it; it goes when the run is deleted"
        )
    };
    left.map(|(phase, place)| Finding::about(FindingKind::WorktreeLeft, phase, message(phase, &place))).collect()
}

fn phases(run: &Run) -> impl Iterator<Item = Finding> {
    run.phases().filter_map(|(phase, state)| {
        // A doubt that a probe can settle is not put to a person.
        if state.in_doubt && phase.done_when.is_empty() {
            let damage = state.damage.as_ref().map(|damage| format!(": {damage}")).unwrap_or_default();
            let message = format!("nobody knows whether the effect of {} happened{damage}", phase.id);
            return Some(Finding::about(FindingKind::InDoubt, &phase.id, message));
        }
        (state.status == PhaseStatus::Failed).then(|| {
            let error = state.error.as_ref().map_or("", |error| error.message.as_str());
            Finding::about(FindingKind::Failed, &phase.id, format!("phase {} failed: {error}", phase.id))
        })
    })
}
