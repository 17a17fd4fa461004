//! Effects: what the core wants of the world. Derived from the state, never remembered: asking twice is harmless.

use jiff::Timestamp;

use crate::event::{StopRequest, Urgency};
use crate::id::{Attempt, PhaseId};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// This attempt is ours and should be at work: start it if nobody has.
    Perform { phase: PhaseId, attempt: Attempt },
    /// An earlier driver started this attempt: find out what became of it.
    Recover { phase: PhaseId, attempt: Attempt },
    /// The probe `done-when` of this phase should be asked.
    Probe { phase: PhaseId },
    /// The requirements of this phase should be checked.
    Require { phase: PhaseId },
    /// The issue should say by its labels that this phase has started.
    LabelIssue { phase: PhaseId },
    /// Another plan should be made, since this phase asks for it.
    Replan { phase: PhaseId },
    /// This attempt should end.
    Stop { phase: PhaseId, attempt: Attempt, by: StopRequest, urgency: Urgency },
    /// Bring the files of other tools up to date.
    Mirror,
    /// Keep the working tree: checkpoints wait for it.
    Snapshot,
    /// The plan's file in Markdown should say that this phase is done.
    MarkPhase { phase: PhaseId },
    /// Put the files of this phase into the project, one step further.
    Integrate { phase: PhaseId },
    /// Remove the worktree of this phase, whose files are in the project.
    RemoveWorktree { phase: PhaseId },
    /// Make the commit that was begun, or find it made.
    Commit { number: u32 },
    /// People should be told of an event.
    Notify { notice: u32 },
    /// Nothing else is due before this time.
    WakeAt(Timestamp),
}
