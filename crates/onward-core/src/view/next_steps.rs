//! The next steps of a run, and the reason for which a phase runs or does not.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Driven, agents, approve_command};
use crate::expression::{Condition, Past};
use crate::id::PhaseId;
use crate::plan::Phase;
use crate::run::replans::{Asked, Stage};
use crate::run::{NotReached, PhaseState, PhaseStatus, ResumeAhead, Run, left_out_by_its_past};

/// Phases of one step that are named.
const NEXT_NAMED_MAX: usize = 40;

/// Why a phase will or will not run, as the run stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WillRun {
    pub phase: PhaseId,
    pub will_run: bool,
    /// The first step about it; none where nothing does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<NextStep>,
    pub reasons: Vec<String>,
}

/// The first step of a start about a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NextStep {
    /// It is at work and is waited for.
    Wait,
    /// It has ended while nobody drove the run.
    TakeResult,
    Run,
}

impl WillRun {
    pub fn new(phase: &PhaseId, next: Option<NextStep>, reasons: Vec<String>) -> Self {
        Self { phase: phase.clone(), will_run: next == Some(NextStep::Run), next, reasons }
    }
}

/// The steps of a start as one sentence: `wait for backend, then run test, pull-request`. None where nothing is done.
pub fn next_steps(all: &[WillRun]) -> Option<String> {
    let of = |step: NextStep, words: &str| {
        let ids: Vec<&str> = all.iter().filter(|why| why.next == Some(step)).map(|why| why.phase.as_str()).collect();
        let more = ids.len().saturating_sub(NEXT_NAMED_MAX);
        let shown = ids.iter().take(NEXT_NAMED_MAX).copied().collect::<Vec<_>>().join(", ");
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        (!ids.is_empty()).then(|| format!("{words} {shown}{more}"))
    };
    let steps = [(NextStep::TakeResult, "take the result of"), (NextStep::Wait, "wait for"), (NextStep::Run, "run")];
    let told: Vec<String> = steps.into_iter().filter_map(|(step, words)| of(step, words)).collect();
    (!told.is_empty()).then(|| told.join(", then "))
}

/// Whether a resume would run this phase, and why: the same answer for `why` and for a dry run.
pub fn why(ahead: &ResumeAhead, phase: &Phase) -> WillRun {
    let (run, state) = (ahead.run(), ahead.renewed(&phase.id));
    let answer = |next, reason: String| WillRun::new(&phase.id, next, vec![reason]);
    if run.archived {
        return answer(None, "its run is archived".to_owned());
    }
    match state.status {
        PhaseStatus::Completed => return answer(None, "it is completed".to_owned()),
        PhaseStatus::Skipped => return answer(None, why_skipped(ahead, phase)),
        PhaseStatus::Waiting => return answer(None, agents::why_it_waits(run, phase, state)),
        PhaseStatus::Running if state.external.is_some() => {
            return answer(None, "somebody else is at work on it".to_owned());
        }
        PhaseStatus::Pending | PhaseStatus::Running | PhaseStatus::Failed | PhaseStatus::Interrupted => {}
    }
    if state.in_doubt {
        let question = format!(
            "nobody knows whether its effect happened, and that is asked: --retry, --adopt or --skip {} says",
            phase.id
        );
        return answer(None, question);
    }
    if let Some(asked) = run.replans.asked_by(&phase.id) {
        let mut told = answer(None, wants_a_plan(run, &phase.id, asked));
        told.reasons.extend(run.proposed_edits(&phase.id));
        return told;
    }
    if state.status == PhaseStatus::Failed {
        let error = state.error.as_ref().map_or("it has failed", |error| error.message.as_str());
        return answer(None, error.to_owned());
    }
    if let Some(why) = ahead.why_never(&phase.id) {
        return answer(None, why);
    }
    if let Some(budget) = run.out_of_money(phase).filter(|_| state.attempt.is_none()) {
        return answer(None, budget.words());
    }
    if let Some(why) = ahead.not_reached(&phase.id) {
        return answer(None, not_reached(ahead, phase, why));
    }
    let before = run.phase_state(&phase.id).unwrap_or(state);
    let reason = if before.is_finished() {
        "it belongs to the end of the run, and is done once more when the run comes to its end anew".to_owned()
    } else {
        reason_to_run(run, phase, before)
    };
    answer(Some(NextStep::Run), reason)
}

/// It was skipped before, or is as soon as the run goes on.
fn why_skipped(ahead: &ResumeAhead, phase: &Phase) -> String {
    let before = ahead.run().phase_state(&phase.id).is_some_and(PhaseState::is_finished);
    match &phase.condition {
        Some(_) if !before => not_reached(ahead, phase, NotReached::Condition),
        None if !before => "it is left out, as what came before it says".to_owned(),
        Some(_) | None => "it was skipped".to_owned(),
    }
}

fn not_reached(ahead: &ResumeAhead, phase: &Phase, why: NotReached<'_>) -> String {
    match why {
        NotReached::Doubt(open) => {
            format!("nothing is started before it is known whether the effect of {open} happened")
        }
        NotReached::Behind(before) => format!("it comes after {before}, {}", as_it_stays(ahead, before)),
        NotReached::Part(part) => format!("its part {part} is not done, {}", as_it_stays(ahead, part)),
        NotReached::AfterAFailure(failed) => format!("{failed} has failed, and nothing more is started then"),
        NotReached::Asked(failed) => {
            format!("{failed} has failed, and it is asked what becomes of that before the run ends")
        }
        NotReached::Condition => {
            let condition = phase.condition.as_ref().map_or("", Condition::as_str);
            format!("its condition ({condition}) does not hold as far as can be told now")
        }
    }
}

/// How a phase stays that no start of a resume does.
fn as_it_stays(ahead: &ResumeAhead, id: &PhaseId) -> &'static str {
    let (run, state) = (ahead.run(), ahead.renewed(id));
    let money = || run.plan().phase(id).is_some_and(|phase| run.out_of_money(phase).is_some());
    match state.status {
        PhaseStatus::Failed if state.parked => "which is parked",
        PhaseStatus::Failed => "which has failed",
        _ if money() => "whose budget is used up",
        _ => "which will not be done",
    }
}

/// The state of a request for another plan.
pub(super) fn wants_a_plan(run: &Run, id: &PhaseId, asked: &Asked) -> String {
    let then = match &asked.stage {
        Stage::Open => "which is still to be made".to_owned(),
        Stage::Proposed(_) => {
            format!("which is there and waits for a person's approval: {}", approve_command(&run.id, id, Driven::Now))
        }
        Stage::Refused { why, .. } => format!("and a resume asks for it again: {why}"),
    };
    format!("it wants another plan ({}), {then}", asked.reason)
}

fn reason_to_run(run: &Run, phase: &Phase, state: &PhaseState) -> String {
    let waits: Vec<&str> = phase
        .needs
        .iter()
        .filter(|need| run.phase_state(&need.phase).is_some_and(|s| !s.is_finished()))
        .map(|need| need.phase.as_str())
        .collect();
    match state.status {
        PhaseStatus::Failed => {
            let error = state.error.as_ref().map_or("it failed", |error| error.message.as_str());
            format!("a resume tries it again: it failed after attempt {} ({error})", state.attempts_that_count())
        }
        PhaseStatus::Running | PhaseStatus::Interrupted => {
            format!("attempt {} has no result yet", state.attempts_that_count())
        }
        PhaseStatus::Pending | PhaseStatus::Waiting | PhaseStatus::Completed | PhaseStatus::Skipped
            if waits.is_empty() =>
        {
            if phase.needs.is_empty() {
                "it needs nothing".to_owned()
            } else {
                "all it needs is done".to_owned()
            }
        }
        PhaseStatus::Pending | PhaseStatus::Waiting | PhaseStatus::Completed | PhaseStatus::Skipped => {
            format!("after {}", waits.join(", "))
        }
    }
}

/// The answer of `run --dry-run` for a plan that has no run yet.
pub fn why_new(phase: &Phase) -> WillRun {
    let needs: Vec<&str> = phase.needs.iter().map(|need| need.phase.as_str()).collect();
    if let Some(condition) = phase.condition.as_ref().filter(|_| left_out_by_its_past(phase, Past::Good)) {
        let reason = format!("its condition ({}) holds only after a failure", condition.as_str());
        return WillRun::new(&phase.id, None, vec![reason]);
    }
    let reason = if needs.is_empty() { "it needs nothing".to_owned() } else { format!("after {}", needs.join(", ")) };
    WillRun::new(&phase.id, Some(NextStep::Run), vec![reason])
}
