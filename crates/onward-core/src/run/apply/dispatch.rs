//! Folding one fact into the run: which function does it. Asserts what must hold: an event that does not fit is a bug or a
//! damaged journal, and both must be seen at once.

use crate::event::{Event, Recorded};
use crate::run::state::Run;
use crate::run::vcs::{Fresh, leaves_the_tree_alone};

impl Run {
    pub fn apply(&mut self, recorded: &Recorded) {
        self.take_place_and_time(recorded);
        let at = recorded.at;
        self.asks_are_answered(&recorded.event, at);
        match &recorded.event {
            Event::RunStarted(_) => unreachable!("run {} was started before", self.id),
            Event::DriverStarted { .. } => self.driver_started(&recorded.event),
            event @ (Event::WorldSeen { .. }
            | Event::PlanRevised(_)
            | Event::StaleAccepted { .. }
            | Event::PhaseProbed { .. }) => self.apply_what_was_seen(event, at),
            event @ (Event::ApprovalAsked { .. } | Event::ApprovalAnswered { .. } | Event::Reported { .. }) => {
                self.apply_what_others_said(event, at);
            }
            event @ (Event::CallAsked { .. } | Event::CallAnswered { .. }) => self.apply_to_the_calls(event, at),
            event @ (Event::AttemptStarted { .. }
            | Event::AttemptAdopted { .. }
            | Event::AttemptEnded { .. }
            | Event::RetryScheduled { .. }) => self.apply_to_the_attempts(event, at),
            event @ (Event::PhaseCompleted { .. }
            | Event::PhaseFailed { .. }
            | Event::PhaseInDoubt { .. }
            | Event::PhaseReopened { .. }
            | Event::PhaseSkipped { .. }) => self.apply_to_the_phases(event, recorded),
            Event::PhaseExpanded { phase, children } => self.phase_expanded(phase, children, at),
            Event::MainPartEnded { result } => self.main_part_ended(*result),
            Event::BatchCompleted { batch } => self.batch_completed(*batch),
            Event::StopAsked { by, urgency } => self.stop_asked(*by, *urgency, at),
            Event::RunStopped { reason } => self.stopped = Some(*reason),
            Event::RunEnded { result } => self.run_ended(*result),
            Event::RunArchived => self.archived = true,
            Event::StateChanged { ops } => self.change_state(ops),
            Event::CheckpointTaken { id, triggers, phase, name } => {
                self.checkpoint_taken(id, triggers, phase.as_ref());
                self.copy_kept(phase.as_ref(), name.as_ref());
            }
            event @ (Event::ReplanAsked { .. }
            | Event::ReplanAllowed
            | Event::ReplanProposed { .. }
            | Event::ReplanRefused { .. }
            | Event::Replanned(_)) => self.apply_replan(event, at),
            event @ (Event::MarkersTaken { .. }
            | Event::PhaseMarked { .. }
            | Event::PhaseNotMarked { .. }
            | Event::MarkersSettled { .. }) => self.apply_to_the_marks(event),
            event @ (Event::NoticeSent { .. } | Event::NoticeFailed { .. }) => self.apply_to_the_notices(event),
            event @ (Event::LimitHit(_) | Event::RunPaused { .. }) => self.apply_to_the_limits(event, at),
            Event::WorktreeChanged { phase, fact } => self.apply_to_the_worktree(phase, fact),
            event @ (Event::GroupAwaited { .. } | Event::GroupEntered { .. }) => self.apply_to_the_group(event, at),
            Event::RequirementsSeen { phase, seen } => self.requirements_seen(phase.as_ref(), seen),
            event @ (Event::IssueLabelled { .. } | Event::IssueNotLabelled { .. }) => self.apply_to_the_labels(event),
            event @ (Event::RunImported(_)
            | Event::FilesModified { .. }
            | Event::Shared { .. }
            | Event::MirrorTroubled { .. }) => {
                self.apply_to_the_sections(event, at);
            }
            event @ (Event::SnapshotTaken(_)
            | Event::SnapshotMissed { .. }
            | Event::CommitBegun { .. }
            | Event::CommitMade { .. }
            | Event::CommitLeft { .. }
            | Event::RewindBegun(_)
            | Event::RunRewound(_)
            | Event::RewindFailed { .. }
            | Event::RunForked { .. }) => self.apply_to_the_tree(event),
        }
        self.notices_become_due(recorded);
    }

    fn take_place_and_time(&mut self, recorded: &Recorded) {
        assert_eq!(recorded.seq, self.seq.next(), "run {}: events are folded in order, without gaps", self.id);
        self.seq = recorded.seq;
        // That people were told is no change of the run.
        if !matches!(recorded.event, Event::NoticeSent { .. } | Event::NoticeFailed { .. }) {
            self.updated_at = recorded.at;
        }
        if !leaves_the_tree_alone(&recorded.event) {
            self.vcs.fresh = Fresh::No;
        }
    }
}
