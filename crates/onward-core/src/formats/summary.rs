//! A file as people read it: where the work stands, and the free-form state that it holds.

use std::fmt::Write;

use jiff::Timestamp;

use super::TakenRun;
use super::yaml::to_yaml;
use crate::run::PhaseStatus;

/// The summary of a file, a line for each phase, and its state. Nothing in it is cut; whoever prints it does that.
pub fn summary(taken: &TakenRun) -> String {
    let imported = &taken.step.imported;
    let mut text = String::new();
    let mut line = |words: String| {
        let _ = writeln!(text, "{words}");
    };
    line(format!("Pipeline: {}", taken.title));
    line(format!("Branch: {}", taken.branch.as_deref().unwrap_or("none is named")));
    let numbered: Vec<_> = taken.plan.phases.iter().zip(&imported.phases).zip(1..).collect();
    let with = |wanted: &[PhaseStatus]| {
        numbered.iter().filter(|((_, back), _)| wanted.contains(&back.status)).collect::<Vec<_>>()
    };
    let done = with(&[PhaseStatus::Completed, PhaseStatus::Skipped]);
    line(format!("Completed ({}):", done.len()));
    for ((phase, back), number) in done {
        let time = back.ended_at.map(clock);
        let sha = back.commit_sha.as_ref().map(|sha| format!("sha: {sha}"));
        let facts: Vec<String> = time.into_iter().chain(sha).collect();
        let facts = if facts.is_empty() { String::new() } else { format!(" ({})", facts.join(", ")) };
        line(format!("  ✓ Phase {number}: {}{facts}", phase.title()));
    }
    let begun = with(&[PhaseStatus::Interrupted, PhaseStatus::Failed, PhaseStatus::Running, PhaseStatus::Waiting]);
    if !begun.is_empty() {
        line("In progress:".to_owned());
    }
    for ((phase, back), number) in begun {
        line(format!("  → Phase {number}: {}", phase.title()));
        if let Some(note) = &back.note {
            line(format!("    Progress: {note}"));
        }
        if let Some(error) = &back.error {
            line(format!("    Error: {}", error.message));
        }
    }
    let left = with(&[PhaseStatus::Pending]);
    line(format!("Remaining ({}):", left.len()));
    for ((phase, _), number) in left {
        let needs: Vec<&str> = phase.needs.iter().map(|need| need.phase.as_str()).collect();
        let needs = if needs.is_empty() { String::new() } else { format!(" (needs {})", needs.join(", ")) };
        line(format!("  · Phase {number}: {}{needs}", phase.title()));
    }
    for decision in &imported.sections.decisions {
        line(format!("Decision: {}", decision.text));
    }
    for warning in &imported.sections.recovery.warnings {
        line(format!("Warning: {warning}"));
    }
    let state = taken.step.state.as_ref().filter(|state| !state.is_empty());
    if let Some(state) = state {
        line("State:".to_owned());
        to_yaml(state).lines().for_each(|words| line(format!("  {words}")));
    }
    text
}

/// The time of day, as the file has it.
fn clock(at: Timestamp) -> String {
    at.to_zoned(jiff::tz::TimeZone::UTC).strftime("%H:%M").to_string()
}
