//! Approvals, and phases on which others report: one beginning, and one end to each.

use onward_core::event::{Event, ExternalReport};
use onward_core::id::PhaseId;
use onward_core::plan::{Body, IfSilent};

use super::Oracle;
use crate::sim::facts::{Unprobed, YesNo};

impl Oracle {
    pub(super) fn fold_of_external_phases(&mut self, event: &Event) {
        match event {
            Event::ApprovalAsked { phase } => self.approval_asked(phase),
            Event::ApprovalAnswered { phase, choice, .. } => self.answered(phase, choice),
            Event::Reported { phase, report, .. } => self.reported(phase, report),
            _ => unreachable!("not about phases of others"),
        }
    }

    fn approval_asked(&mut self, phase: &PhaseId) {
        self.needs_are_met(phase);
        self.facts.get_mut(phase).expect("of the plan").word = None;
    }

    fn answered(&mut self, phase: &PhaseId, choice: &str) {
        let word = if choice == "reject" { YesNo::No } else { YesNo::Yes };
        let before = self.facts.get_mut(phase).expect("of the plan").word.replace(word);
        assert_eq!(before, None, "{phase} is answered twice");
    }

    /// One beginning, and one end to each.
    fn reported(&mut self, phase: &PhaseId, report: &ExternalReport) {
        let what = serde_json::to_value(report).expect("plain data")["what"].as_str().expect("a tag").to_owned();
        *self.coverage.entry(format!("reported:{what}")).or_default() += 1;
        if let ExternalReport::Started { .. } = report {
            self.needs_are_met(phase);
        }
        let Body::External(external) = &self.plan.phase(phase).expect("of the plan").body else {
            panic!("somebody else reports on {phase}, which is not theirs");
        };
        let silence_fails = external.if_silent == IfSilent::Fail;
        let silence_asks = external.if_silent == IfSilent::Ask;
        let has_probe = !self.plan.phase(phase).expect("of the plan").done_when.is_empty();
        let facts = self.facts.get_mut(phase).expect("of the plan");
        match report {
            ExternalReport::Started { attempt } => {
                assert!(!facts.begun && facts.finished_as.is_none(), "{phase} is begun twice");
                assert!(facts.started.insert(*attempt), "I5: attempt {attempt} of {phase} was recorded twice");
                (facts.begun, facts.word) = (true, None);
            }
            ExternalReport::Progress { .. } => assert!(facts.begun, "{phase} goes on without a beginning"),
            ExternalReport::Overruled { .. } => {
                assert!(facts.finished_as.is_none(), "{phase} is overruled after its end");
            }
            ExternalReport::Done { .. } => {
                assert!(facts.begun, "a second end of {phase}");
                // Whoever reports proves it at the same time, or is overruled.
                (facts.begun, facts.word, facts.unprobed) = (false, Some(YesNo::Yes), None);
            }
            ExternalReport::Failed { .. } => {
                assert!(facts.begun, "a second end of {phase}");
                (facts.begun, facts.failures) = (false, facts.failures + 1);
            }
            ExternalReport::Silent => {
                assert!(facts.begun, "a second end of {phase}");
                (facts.begun, facts.failures) = (false, facts.failures + u32::from(silence_fails));
                facts.unprobed = (silence_asks && has_probe).then_some(Unprobed::NobodyKnows);
            }
        }
    }
}
