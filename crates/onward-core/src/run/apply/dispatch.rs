//! Folding one fact into the run: the table of the functions that do it, in the order of `event.rs`. Asserts what must hold: an event that does not fit is a bug or a
//! damaged journal, and both must be seen at once.

use crate::event::{Event, Recorded};
use crate::run::agent_calls::GivenAnswer;
use crate::run::state::Run;
use crate::run::vcs::{Fresh, leaves_the_tree_alone};

impl Run {
    #[expect(clippy::too_many_lines, reason = "a table: one entry for each event")]
    pub fn apply(&mut self, recorded: &Recorded) {
        self.take_place_and_time(recorded);
        let at = recorded.at;
        self.asks_are_answered(&recorded.event, at);
        match &recorded.event {
            Event::RunStarted(_) => unreachable!("run {} was started before", self.id),
            Event::DriverStarted { .. } => self.driver_started(&recorded.event),
            Event::WorldSeen { world, findings } => self.world_seen(world, findings, at),
            Event::PlanRevised(revised) => self.plan_revised(revised),
            Event::StaleAccepted { phase, seen } => self.stale_accepted(phase, seen.clone()),
            Event::RequirementsSeen { phase, seen } => self.requirements_seen(phase.as_ref(), seen),
            Event::IssueLabelled { phase, labels, .. } => self.issue_labelled(phase, labels),
            Event::IssueNotLabelled { reason, .. } => self.issue_not_labelled(reason),
            Event::GroupAwaited { group, by } => self.group_awaited(group, by.as_ref(), at),
            Event::GroupEntered { .. } => self.group = None,
            Event::AttemptStarted { phase, attempt, generation, epoch, boot, clean, agent } => {
                self.attempt_started(phase, (*attempt, *generation, *epoch), boot, clean.as_ref(), at);
                self.agent_begun(phase, agent.as_deref());
            }
            Event::AttemptAdopted { phase, attempt, epoch, alive } => {
                let running = self.running_attempt(phase, *attempt);
                (running.epoch, running.adopted) = (*epoch, *alive);
            }
            Event::AttemptEnded { .. } => self.end_of_an_attempt(&recorded.event, at),
            Event::RetryScheduled { phase, not_before } => self.retry_scheduled(phase, *not_before),
            Event::PhaseProbed { phase, answer, error } => self.probe_answered(phase, *answer, error.as_ref()),
            Event::PhaseCompleted { .. } => self.completion_of_a_phase(&recorded.event, recorded),
            Event::PhaseFailed { phase, error } => self.phase_failed(phase, error, at),
            Event::PhaseInDoubt { phase } => self.phase_in_doubt(phase),
            Event::PhaseReopened { phase, generation, clean } => {
                self.phase_reopened(phase, *generation);
                self.change(phase, |state| state.clean = *clean);
            }
            Event::PhaseSkipped { phase, by } => self.phase_skipped(phase, *by),
            Event::PhaseExpanded { phase, children } => self.phase_expanded(phase, children, at),
            Event::ApprovalAsked { phase } => self.approval_asked(phase, at),
            Event::ApprovalAnswered { phase, choice, .. } => self.approval_answered(phase, choice, at),
            Event::CallAsked { phase } => self.call_asked(phase, at),
            Event::CallAnswered { phase, answer, by, reason } => {
                self.call_answered(phase, GivenAnswer { is: *answer, by: by.clone(), reason: reason.clone() });
            }
            Event::CallAnswerGiven { phase, .. } => self.call_answer_given(phase),
            Event::Reported { phase, report, .. } => self.reported(phase, report, at),
            Event::LimitHit(hit) => self.limit_hit(hit, at),
            Event::RunPaused { reason, until } => self.paused(*reason, *until),
            Event::MainPartEnded { result } => self.main_part_ended(*result),
            Event::BatchCompleted { batch } => self.batch_completed(*batch),
            Event::StopAsked { by, urgency } => self.stop_asked(*by, *urgency, at),
            // What was over is open again where somebody else can go on with it.
            Event::RunStopped { reason } => (self.result, self.stopped) = (None, Some(*reason)),
            Event::RunEnded { result } => self.run_ended(*result),
            Event::RunArchived => self.archived = true,
            Event::StateChanged { ops } => self.change_state(ops),
            Event::CheckpointTaken { id, triggers, phase, name } => {
                self.checkpoint_taken(id, triggers, phase.as_ref());
                self.copy_kept(phase.as_ref(), name.as_ref());
            }
            Event::SnapshotTaken(snapshot) => self.snapshot_taken(snapshot),
            Event::SnapshotMissed { .. } => self.vcs.fresh = Fresh::Missed,
            Event::CommitBegun { number, token, head } => self.commit_begun(*number, token, head.as_ref()),
            Event::CommitMade { number, commit, .. } => self.commit_made(*number, commit),
            Event::CommitLeft { number, why } => self.commit_left(*number, why),
            Event::RewindBegun(begun) => self.rewind_begun(begun),
            Event::RunRewound(rewound) => self.rewound(rewound),
            Event::RewindFailed { .. } => (self.vcs.rewinding, self.vcs.before_rewind) = (None, None),
            Event::RunForked { restored, .. } => self.forked(restored),
            Event::ReplanAsked { phase, reason, cause } => self.replan_asked(phase, reason, *cause),
            Event::PlanningPaid { phase, bill } => self.planning_paid(phase, bill),
            Event::ReplanAllowed => self.replan_allowed(),
            Event::ReplanProposed { phase, plan } => self.replan_proposed(phase, plan),
            Event::ReplanRefused { phase, because, why } => self.replan_refused(phase, *because, why),
            Event::Replanned(replanned) => self.replanned(replanned, at),
            Event::MarkersTaken { completed, skipped } => self.markers_taken(completed, skipped),
            Event::PhaseMarked { phase } => self.phase_marked(phase),
            Event::PhaseNotMarked { .. } => self.marks.held = true,
            Event::MarkersSettled { marks } => self.markers_settled(marks),
            Event::RunImported(imported) => self.imported(imported, at),
            Event::FilesModified { changed, as_committed, more } => self.files_modified(changed, as_committed, *more),
            Event::Shared { fact } => self.apply_shared(fact, at),
            Event::WorktreeChanged { phase, fact } => self.apply_to_the_worktree(phase, fact),
            Event::MirrorTroubled { path, what } => self.mirror_troubled(path, what),
            Event::NoticeSent { notice } => self.notice_sent(*notice),
            Event::NoticeFailed { notice, reason, retry_at } => self.notice_failed(*notice, reason, *retry_at),
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
