//! The markers in the file of a plan in Markdown, read and set, as lines for people.

use onward_core::event::Event;
use onward_core::id::PhaseId;
use onward_core::run::Run;

use super::{paint, safe};

/// A marker that was set is not worth a line: it stands in the file.
pub(super) fn line(event: &Event, run: &Run) -> Option<String> {
    let file = safe::line(&run.started.plan_path);
    match event {
        Event::MarkersTaken { completed, skipped } => {
            let parts = [("complete", completed), ("skipped", skipped)];
            let parts = parts.iter().filter(|(_, ids)| !ids.is_empty());
            let told: Vec<String> = parts.map(|(how, ids)| format!("{how}: {}", names(ids))).collect();
            Some(format!("{} marked in {file} as {}", paint::good("✓"), told.join("; ")))
        }
        Event::PhaseNotMarked { reason, .. } => Some(format!("{} {}", paint::doubtful("!"), safe::line(reason))),
        Event::MarkersSettled { marks } => {
            let ids: Vec<PhaseId> = marks.iter().map(|mark| mark.phase.clone()).collect();
            Some(format!("{} the record counts, whatever {file} marks: {}", paint::doubtful("~"), names(&ids)))
        }
        _ => None,
    }
}

fn names(phases: &[PhaseId]) -> String {
    phases.iter().map(|id| safe::line(id.as_str())).collect::<Vec<_>>().join(", ")
}
