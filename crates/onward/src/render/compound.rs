//! Lines about phases that consist of others, are left out, or come at the very end.

use onward_core::event::{Event, RunResult, SkippedBy};
use onward_core::id::PhaseId;
use onward_core::run::Run;

use super::{paint, safe};

pub(super) fn line(event: &Event, run: &Run) -> Option<String> {
    let name = |phase: &PhaseId| safe::line(phase.as_str());
    match event {
        Event::PhaseSkipped { phase, by } => {
            let why = match by {
                SkippedBy::Person => "",
                SkippedBy::Condition => ": its condition does not hold",
                SkippedBy::Parent => ": what it is a part of is over",
                SkippedBy::Parts => ": all its parts were",
                SkippedBy::Failure => ": it failed, and the plan goes on without it",
            };
            Some(format!("{} {} skipped{why}", paint::dim("-"), name(phase)))
        }
        Event::PhaseExpanded { phase, .. } => {
            let parts = run.plan().phase(phase).and_then(|phase| phase.children.as_ref()).map_or(0, Vec::len);
            let parts = if parts == 1 { "one part".to_owned() } else { format!("{parts} parts") };
            Some(format!("{} {} begins: {parts}", paint::busy("▸"), name(phase)))
        }
        Event::MainPartEnded { result: RunResult::Failed } => {
            Some(format!("{} the plan cannot be completed; what belongs to its end follows", paint::doubtful("■")))
        }
        _ => None,
    }
}
