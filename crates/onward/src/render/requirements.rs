//! The surroundings of a phase, as lines for people: what it requires, and what the issue is told of it.

use onward_core::event::Event;
use onward_core::evidence::RequirementSeen;
use onward_core::id::PhaseId;
use onward_core::run::Run;

use super::{paint, safe};

/// A requirement that is met is not worth a line.
pub(super) fn line(phase: Option<&PhaseId>, seen: &[RequirementSeen]) -> Option<String> {
    let who = phase.map_or("the plan".to_owned(), |phase| safe::line(phase.as_str()));
    let unmet = seen.iter().filter(|one| !one.met);
    let lines: Vec<String> =
        unmet.map(|one| format!("{} {who} requires: {}", paint::doubtful("■"), words(one))).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// All that is not there, at the end of a run that could not go on for it.
pub(super) fn unmet(run: &Run) -> String {
    let line = |(phase, one): (&PhaseId, &RequirementSeen)| {
        format!("  {} requires: {}\n", safe::line(phase.as_str()), words(one))
    };
    run.unmet_requirements().map(line).collect()
}

fn words(one: &RequirementSeen) -> String {
    let why = if one.said.is_empty() { String::new() } else { format!(" ({})", safe::line(&one.said)) };
    format!("{}{why}", safe::line(&one.name))
}

/// That the labels were as they are to be is not worth a line.
pub(super) fn of_the_issue(event: &Event) -> Option<String> {
    match event {
        Event::IssueLabelled { added, .. } if !added.is_empty() => {
            Some(paint::dim(&format!("the issue has the label {} now", safe::line(&added.join(", ")))))
        }
        Event::IssueNotLabelled { phase, reason } => {
            let (phase, why) = (safe::line(phase.as_str()), safe::line(reason));
            Some(format!("{} the issue cannot be told that {phase} has started: {why}", paint::doubtful("!")))
        }
        _ => None,
    }
}
