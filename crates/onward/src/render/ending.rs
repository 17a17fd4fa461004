//! The last words about a run that was driven: they stay on the screen when everything else is gone.

use jiff::Timestamp;
use onward_core::event::StopReason;
use onward_core::id::PhaseId;
use onward_core::plan::{Body, Phase};
use onward_core::question;
use onward_core::run::{Ending, PhaseState, PhaseStatus, Run, RunStatus};
use onward_core::view;
use onward_engine::Finished;

use super::{external_phases, limits, paint, requirements, safe, time};

/// Phases that failed and are named at the end.
const FAILURES_MAX: usize = 10;

/// Where to look after the last failure of something that prints, and what makes a person's no undone: a resume does not.
fn after_a_failure(run: &Run) -> String {
    let id = safe::line(run.id.as_str());
    let failed = || run.phases().filter(|(_, state)| state.status == PhaseStatus::Failed);
    let prints = |phase: &Phase| phase.children.is_none() && matches!(phase.body, Body::Run { .. } | Body::Agent(_));
    let printed = failed().filter(|(phase, state)| state.attempts > 0 && prints(phase));
    let logs = printed
        .max_by_key(|(_, state)| state.ended_at)
        .map(|(phase, _)| format!("see what it printed with  onward logs {id} {}\n", safe::line(phase.id.as_str())));
    let refused = failed().filter(|(phase, _)| matches!(phase.body, Body::Approval(_)));
    let again = refused
        .map(|(phase, _)| format!("have it asked again with  onward retry {id} {}\n", safe::line(phase.id.as_str())));
    let mut answered = question::failed(run).filter(|_| run.phases_total() > 1);
    let one = answered.next().filter(|_| answered.next().is_none());
    let answers = one.map(|one| {
        let phase = safe::line(one.phase.as_str());
        let adopt =
            if one.adopt { format!("take it as done with  onward adopt {id} {phase}\n") } else { String::new() };
        format!("leave it out with  onward skip {id} {phase}\n{adopt}")
    });
    logs.into_iter().chain(again).chain(answers).collect()
}

/// All phases that failed, and why.
fn failures(run: &Run) -> String {
    let all: Vec<_> = run.phases().filter(|(_, state)| state.status == PhaseStatus::Failed).collect();
    let line = |(phase, state): &(&Phase, &PhaseState)| {
        let error = state.error.as_ref().map(|error| safe::line(&error.message)).unwrap_or_default();
        format!("  {} {}  {error}\n", paint::bad("✗"), safe::line(phase.id.as_str()))
    };
    let more = all.len().saturating_sub(FAILURES_MAX);
    let more = (more > 0).then(|| format!("    and {more} more\n"));
    all.iter().take(FAILURES_MAX).map(line).chain(more).chain(never(run)).collect()
}

/// Phases that have no turn because of what was left out before them.
fn never(run: &Run) -> Option<String> {
    let told = run.never_met().filter_map(|(phase, _)| Some((&phase.id, run.why_never(&phase.id)?)));
    let line = |(phase, why): (&PhaseId, String)| {
        format!("  {} {}  {}\n", paint::bad("✗"), safe::line(phase.as_str()), safe::line(&why))
    };
    let lines: String = told.take(FAILURES_MAX).map(line).collect();
    (!lines.is_empty()).then_some(lines)
}

/// The end of a run for whoever watched it; `begun` is when this driver began.
pub(super) fn last_words(finished: &Finished, begun: Option<Timestamp>) -> String {
    let run = &finished.run;
    let id = safe::line(run.id.as_str());
    let took = begun.map(|at| took(at, run)).unwrap_or_default();
    let done = format!("{}{took}", view::progress(run));
    let resume = format!("go on with  {}\n", safe::line(&view::resume_with_inputs(run)));
    match finished.ending {
        Ending::Failed if run.status() == RunStatus::Archived => {
            format!("{} run {id} failed, {done}, and is archived\nlook at it with  onward show {id}\n", paint::bad("✗"))
        }
        Ending::Completed => format!("{} run {id} is complete, {done}\n", paint::good("✓")),
        Ending::Failed => {
            format!("{} run {id} failed, {done}\n{}{}{resume}", paint::bad("✗"), failures(run), after_a_failure(run))
        }
        Ending::Stopped(reason) => {
            let why = match reason {
                StopReason::Interrupt => "was interrupted",
                StopReason::SessionEnd => "was told to end",
                StopReason::Hangup => "lost its terminal; phases at work go on, and the next start takes their results",
                StopReason::Question => "needs an answer",
                StopReason::Requirement => "requires something that is not there",
                StopReason::OnlyThat => "did what was wanted of it",
                StopReason::DriverGone => "was stopped after a failure",
                StopReason::Rewind => "was rewound",
                StopReason::Import => "was taken over from a file",
                StopReason::Limit
                | StopReason::Budget
                | StopReason::Deadline
                | StopReason::Pause
                | StopReason::Cancel => {
                    return limits::last_words(run, reason);
                }
                StopReason::Waiting => "waits for an approval or a report",
            };
            let left = left_at_work(run, reason);
            let awaited = if reason == StopReason::Waiting { external_phases::awaited(run) } else { String::new() };
            let unmet = if reason == StopReason::Requirement { requirements::unmet(run) } else { String::new() };
            format!("{} run {id} {why}, {done}\n{left}{unmet}{awaited}{resume}", paint::doubtful("■"))
        }
    }
}

/// The time since this driver began, which is not what the phases took where others drove the run before.
fn took(begun: Timestamp, run: &Run) -> String {
    let span = time::span(begun, run.updated_at);
    if begun > run.created_at { format!("; {span} since it went on") } else { format!(" in {span}") }
}

/// Phases that were told to end and have not, where that is not what was wanted.
fn left_at_work(run: &Run, reason: StopReason) -> String {
    let ids: Vec<String> = run.running().map(|(phase, _)| safe::line(phase.id.as_str())).collect();
    if ids.is_empty() || reason == StopReason::Hangup {
        return String::new();
    }
    format!("did not end in time: {}; the next start finds what became of it\n", ids.join(", "))
}
