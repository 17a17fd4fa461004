//! Worktrees of phases, as lines for people.

use onward_core::event::{WorktreeConflict, WorktreeFact};
use onward_core::id::PhaseId;
use onward_core::run::Run;

use super::{paint, safe};

/// A line where a person wants to know; an integration that went well is followed by the end of its phase.
pub(super) fn line(phase: &PhaseId, fact: &WorktreeFact, run: &Run) -> Option<String> {
    let name = safe::line(phase.as_str());
    match fact {
        WorktreeFact::Begun { content: Some(_), unresolved, .. } => {
            let open = if unresolved.is_empty() { String::new() } else { format!("; open: {}", list(unresolved)) };
            Some(format!("{} {name} goes on with its files and those of the project together{open}", paint::busy("↻")))
        }
        WorktreeFact::Integrated { left_out, .. } if !left_out.is_empty() => {
            Some(format!("{} not taken from the worktree of {name}: {}", paint::doubtful("!"), list(left_out)))
        }
        WorktreeFact::CalledOff { reason, .. } => Some(format!(
            "{} the files of {name} are brought together anew: {}",
            paint::doubtful("↻"),
            safe::line(reason)
        )),
        WorktreeFact::Conflict(WorktreeConflict { told, .. }) => {
            let state = run.phase_state(phase)?;
            let asks = run.asks(run.plan().phase(phase)?, state).unwrap_or_default();
            let told: String = told.iter().map(|line| format!("\n    {}", safe::line(line))).collect();
            Some(format!("{} {name}: {}{told}", paint::doubtful("?"), safe::line(&asks)))
        }
        WorktreeFact::Removed { put_away: Some(commit), .. } => {
            let commit = safe::line(commit);
            let name = format!("{} the work of {name}", paint::busy("·"));
            Some(format!("{name} that was left out is kept, as long as its run is, in  git show {commit}"))
        }
        WorktreeFact::Removed { kept: Some(why), .. } => {
            Some(format!("{} the worktree of {name} stays: {}", paint::doubtful("!"), safe::line(why)))
        }
        WorktreeFact::Begun { content: None, .. }
        | WorktreeFact::IntegrationBegun { .. }
        | WorktreeFact::Integrated { .. }
        | WorktreeFact::Removed { kept: None, put_away: None } => None,
    }
}

fn list(paths: &[String]) -> String {
    paths.iter().map(|path| safe::line(path)).collect::<Vec<_>>().join(", ")
}
