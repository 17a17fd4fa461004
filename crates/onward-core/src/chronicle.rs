//! A run as it went, worked out from its journal: who drove it when, every attempt, what failed, what was decided by people.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::event::{Event, Outcome, Recorded, RunResult, StopReason};
use crate::id::{Attempt, PhaseId};

/// The course of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Chronicle {
    /// The starts of drivers: the first one, and every resume.
    pub starts: Vec<Timestamp>,
    pub stops: Vec<StopTold>,
    pub ended: Option<RunEndTold>,
    /// In the order in which they began.
    pub attempts: Vec<AttemptTold>,
    pub failures: Vec<FailureTold>,
    pub decisions: Vec<DecisionTold>,
    pub commits: Vec<CommitTold>,
    /// How often the plan was replaced or edited.
    pub revisions: usize,
    pub checkpoints: usize,
}

/// The end of a driver before the end of its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StopTold {
    pub at: Timestamp,
    pub reason: StopReason,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RunEndTold {
    pub at: Timestamp,
    pub result: RunResult,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AttemptTold {
    pub phase: PhaseId,
    pub attempt: Attempt,
    pub began_at: Timestamp,
    /// None while it is at work, and where nobody ever learned of its end.
    pub ended_at: Option<Timestamp>,
    pub end: AttemptEndTold,
}

/// The end of an attempt in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AttemptEndTold {
    AtWork,
    /// It ended with code 0; whether its phase was done is told by the phase.
    Well,
    Failed,
    Interrupted,
    /// A limit turned it away.
    Limited,
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FailureTold {
    pub at: Timestamp,
    pub phase: PhaseId,
    pub message: String,
}

/// The decision of a person, or of the plan on their behalf.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DecisionTold {
    pub at: Timestamp,
    pub phase: PhaseId,
    pub by: String,
    /// `approved`, `taken as done`, and the like.
    pub what: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CommitTold {
    pub at: Timestamp,
    pub commit: String,
}

/// Reads the course of a run from its events, oldest first.
pub fn chronicle(events: &[Recorded]) -> Chronicle {
    let mut told = Chronicle::default();
    for recorded in events {
        told.add(recorded);
    }
    told
}

impl Chronicle {
    fn add(&mut self, recorded: &Recorded) {
        let (at, by) = (recorded.at, &recorded.actor);
        match &recorded.event {
            Event::DriverStarted { .. } => {
                self.starts.push(at);
                self.ended = None;
            }
            Event::AttemptStarted { phase, attempt, .. } => self.attempts.push(AttemptTold {
                phase: phase.clone(),
                attempt: *attempt,
                began_at: at,
                ended_at: None,
                end: AttemptEndTold::AtWork,
            }),
            Event::AttemptEnded { phase, attempt, outcome, ended_at, .. } => {
                self.attempt_ended(phase, *attempt, outcome, ended_at.unwrap_or(at));
            }
            Event::LimitHit(hit) => {
                // The attempt that just ended was rate-limited, and has not failed.
                let last = self.attempts.iter_mut().rev().find(|one| Some(&one.phase) == hit.phase.as_ref());
                if let Some(last) = last {
                    last.end = AttemptEndTold::Limited;
                }
            }
            Event::PhaseFailed { phase, error } => {
                self.failures.push(FailureTold { at, phase: phase.clone(), message: error.message.clone() });
            }
            Event::PhaseCompleted { phase, adopted: true, .. } => self.decided(at, phase, by, "taken as done"),
            Event::PhaseSkipped { phase, by: crate::event::SkippedBy::Person } => {
                self.decided(at, phase, by, "skipped");
            }
            Event::ApprovalAnswered { phase, choice, by } => self.decided(at, phase, by, choice),
            Event::CallAnswered { phase, answer, by, .. } => {
                self.decided(at, phase, by, &format!("its agent's call {}", answer.as_str()));
            }
            Event::StaleAccepted { phase, .. } => self.decided(at, phase, by, "kept although something changed"),
            of_the_run => self.add_of_the_run(of_the_run, at),
        }
    }

    /// Facts that are about no phase.
    fn add_of_the_run(&mut self, event: &Event, at: Timestamp) {
        match event {
            Event::PlanRevised(_) | Event::Replanned(_) => self.revisions += 1,
            Event::CommitMade { commit, .. } => self.commits.push(CommitTold { at, commit: commit.clone() }),
            Event::CheckpointTaken { .. } => self.checkpoints += 1,
            Event::RunStopped { reason } | Event::RunPaused { reason, .. } => {
                self.stops.push(StopTold { at, reason: *reason });
            }
            Event::RunEnded { result } => self.ended = Some(RunEndTold { at, result: *result }),
            Event::RunStarted(_)
            | Event::WorldSeen { .. }
            | Event::AttemptAdopted { .. }
            | Event::PhaseProbed { .. }
            | Event::PhaseCompleted { .. }
            | Event::ApprovalAsked { .. }
            | Event::CallAsked { .. }
            | Event::CallAnswered { .. }
            | Event::CallAnswerGiven { .. }
            | Event::Reported { .. }
            | Event::RetryScheduled { .. }
            | Event::PhaseInDoubt { .. }
            | Event::PhaseReopened { .. }
            | Event::PhaseSkipped { .. }
            | Event::PhaseExpanded { .. }
            | Event::MainPartEnded { .. }
            | Event::BatchCompleted { .. }
            | Event::StopAsked { .. }
            | Event::RunArchived
            | Event::StateChanged { .. }
            | Event::SnapshotTaken(_)
            | Event::SnapshotMissed { .. }
            | Event::CommitBegun { .. }
            | Event::CommitLeft { .. }
            | Event::RewindBegun(_)
            | Event::RunRewound(_)
            | Event::RewindFailed { .. }
            | Event::ReplanAsked { .. }
            | Event::PlanningPaid { .. }
            | Event::ReplanAllowed
            | Event::ReplanProposed { .. }
            | Event::ReplanRefused { .. }
            | Event::MarkersTaken { .. }
            | Event::PhaseMarked { .. }
            | Event::PhaseNotMarked { .. }
            | Event::MarkersSettled { .. }
            | Event::RunImported(_)
            | Event::FilesModified { .. }
            | Event::MirrorTroubled { .. }
            | Event::WorktreeChanged { .. }
            | Event::Shared { .. }
            | Event::NoticeSent { .. }
            | Event::NoticeFailed { .. }
            | Event::RequirementsSeen { .. }
            | Event::IssueLabelled { .. }
            | Event::GroupAwaited { .. }
            | Event::GroupEntered { .. }
            | Event::IssueNotLabelled { .. }
            | Event::DriverStarted { .. }
            | Event::AttemptStarted { .. }
            | Event::AttemptEnded { .. }
            | Event::LimitHit(_)
            | Event::PhaseFailed { .. }
            | Event::ApprovalAnswered { .. }
            | Event::StaleAccepted { .. }
            | Event::RunForked { .. } => {}
        }
    }

    fn decided(&mut self, at: Timestamp, phase: &PhaseId, by: &str, what: &str) {
        self.decisions.push(DecisionTold { at, phase: phase.clone(), by: by.to_owned(), what: what.to_owned() });
    }

    fn attempt_ended(&mut self, phase: &PhaseId, attempt: Attempt, outcome: &Outcome, at: Timestamp) {
        let last = self.attempts.iter_mut().rev().find(|one| one.phase == *phase && one.attempt == attempt);
        let Some(last) = last else { return };
        let (end, ended_at) = match outcome {
            Outcome::Exited { code: 0 } | Outcome::Stopped { said_done: true, .. } => (AttemptEndTold::Well, Some(at)),
            Outcome::Exited { .. } | Outcome::Killed { .. } | Outcome::TimedOut | Outcome::CouldNotStart { .. } => {
                (AttemptEndTold::Failed, Some(at))
            }
            Outcome::Stopped { .. } => (AttemptEndTold::Interrupted, Some(at)),
            // When it ended is not known: only when somebody looked.
            Outcome::Unknown => (AttemptEndTold::Unknown, None),
            Outcome::NeverRan => (AttemptEndTold::Unknown, Some(last.began_at)),
        };
        (last.end, last.ended_at) = (end, ended_at);
    }
}
