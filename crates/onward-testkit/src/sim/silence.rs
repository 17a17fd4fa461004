//! Whether a run pauses where its plan says that silence pauses it.

use std::collections::BTreeSet;

use onward_core::event::{Event, ExternalReport};
use onward_core::id::PhaseId;
use onward_core::plan::{Body, IfSilent, Plan};

/// Phases whose silence was noticed, and for which the run was not yet asked to rest.
#[derive(Clone, Debug, Default)]
pub(super) struct Silence {
    unheeded: BTreeSet<PhaseId>,
}

impl Silence {
    pub(super) fn fold(&mut self, event: &Event, plan: &Plan) {
        match event {
            Event::Reported { phase, report: ExternalReport::Silent, .. } => {
                let body = plan.phase(phase).map(|phase| &phase.body);
                if matches!(body, Some(Body::External(external)) if external.if_silent == IfSilent::Pause) {
                    self.unheeded.insert(phase.clone());
                }
            }
            Event::AttemptStarted { phase, .. } => {
                assert!(self.unheeded.is_empty(), "{phase} is started though {:?} should pause the run", self.unheeded);
            }
            // A person says what becomes of it, or somebody takes it in hand.
            Event::PhaseReopened { phase, .. }
            | Event::PhaseSkipped { phase, .. }
            | Event::PhaseCompleted { phase, .. }
            | Event::Reported { phase, .. } => {
                self.unheeded.remove(phase);
            }
            // The run is to rest; or what was to be done is another thing now.
            Event::StopAsked { .. }
            | Event::RunPaused { .. }
            | Event::RunStopped { .. }
            | Event::Replanned(_)
            | Event::PlanRevised(_)
            | Event::RunRewound(_) => self.unheeded.clear(),
            _ => {}
        }
    }
}
