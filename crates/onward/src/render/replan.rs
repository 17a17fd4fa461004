//! Revisions of the plan, as lines for people.

use onward_core::event::Event;
use onward_core::id::PhaseId;
use onward_core::replan::PlanChanges;
use onward_core::run::Run;

use super::{paint, safe};

pub(super) fn line(event: &Event, run: &Run) -> Option<String> {
    let name = |phase: &PhaseId| safe::line(phase.as_str());
    match event {
        Event::ReplanAsked { phase, reason, .. } => {
            Some(format!("{} {} wants another plan: {}", paint::doubtful("↻"), name(phase), safe::line(reason)))
        }
        Event::ReplanAllowed => Some(format!("{} one more revision of the plan is let through", paint::doubtful("↻"))),
        Event::ReplanProposed { phase, .. } => {
            let edits = run.proposed_edits(phase).into_iter().map(|edit| format!("\n    {}", safe::line(&edit)));
            let edits: String = edits.collect();
            Some(format!(
                "{} {} another plan is there and waits for approval{edits}",
                paint::doubtful("?"),
                name(phase)
            ))
        }
        Event::ReplanRefused { phase, why, .. } => {
            Some(format!("{} {} gets no other plan: {}", paint::bad("✗"), name(phase), safe::line(why)))
        }
        Event::Replanned(revision) => {
            let (number, kind) = (revision.number, revision.kind.as_str());
            let differs = PlanChanges {
                added: revision.added.clone(),
                removed: revision.removed.clone(),
                changed: revision.changed.clone(),
            };
            let parts = safe::line(&differs.to_string());
            let asked = name(&revision.phase);
            Some(format!("{} revision {number} of the plan counts ({kind}, for {asked}){parts}", paint::busy("↻")))
        }
        _ => None,
    }
}
