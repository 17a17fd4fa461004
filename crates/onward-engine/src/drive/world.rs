//! The world as the driver needs it: a clock, attempts, and things that happen. The real one is `process_world.rs`; the
//! simulator has another, so that both go through the same loop.

use std::time::Duration;

use jiff::Timestamp;
use onward_core::event::{FilesBack, LimitHit, SnapshotRef, StopRequest, Urgency};
use onward_core::id::{Attempt, PhaseId};
use onward_core::input::Input;
use onward_core::run::Run;
use onward_core::run::notices::DueNotice;
use onward_core::view::StatusView;

use crate::drive::reporter::{AttemptOutput, NoOutput};
use crate::error::Result;

/// The result of a wait.
#[derive(Debug, Default)]
pub struct Happened {
    pub inputs: Vec<Input>,
    /// Somebody left a message in the inbox, or says so.
    pub posted: bool,
    /// Somebody wants to know how far it is.
    pub status_asked: bool,
}

pub trait World {
    fn now(&self) -> Timestamp;

    /// Sees to it that an attempt of ours is at work; what is known about it at once comes back.
    fn perform(&mut self, run: &Run, phase: &PhaseId, attempt: Attempt) -> Result<Option<Input>>;

    /// Finds out what became of an attempt that an earlier driver had started.
    fn recover(&mut self, run: &Run, phase: &PhaseId, attempt: Attempt) -> Result<Input>;

    /// Sees to it that the probe of a phase is asked; its answer comes back when it is there.
    fn probe(&mut self, run: &Run, phase: &PhaseId) -> Result<Option<Input>>;

    /// Has the requirements of a phase checked; the answer comes back as an input.
    fn require(&mut self, run: &Run, phase: &PhaseId) -> Result<Option<Input>>;

    /// Sees to it that the issue says that a phase has started.
    fn label_issue(&mut self, run: &Run, phase: &PhaseId) -> Result<Option<Input>>;

    /// Sees to it that another plan is made, since a phase asks for it; it comes back when it is there.
    fn replan(&mut self, run: &Run, phase: &PhaseId) -> Result<Option<Input>>;

    /// Sees to it that the files of a phase come from its worktree into the project; how that went comes back when it is known.
    fn integrate(&mut self, run: &Run, phase: &PhaseId) -> Result<Option<Input>> {
        self.tree().integrate(run, phase).map(Some)
    }

    /// Sees to it that the worktree of a phase goes, unless something is in it that is nowhere else.
    fn remove_worktree(&mut self, run: &Run, phase: &PhaseId) -> Result<Option<Input>> {
        self.tree().remove_worktree(run, phase).map(Some)
    }

    /// Whether files are being put into the project, or looked at for that: what is about all files waits.
    fn tree_is_busy(&self) -> bool {
        false
    }

    /// Sees to it that an attempt ends. Asking again for the same is harmless.
    fn stop(&mut self, phase: &PhaseId, attempt: Attempt, by: StopRequest, urgency: Urgency) -> Result<Option<Input>>;

    fn tree(&mut self) -> &mut dyn TreeWorld;

    /// A limit was hit, and that is on record: others in its scope may be told.
    fn limit_hit(&mut self, run: &Run, hit: &LimitHit);

    /// Limits that other runs have hit since the last call.
    fn limits_elsewhere(&mut self, run: &Run) -> Vec<Input>;

    /// Whether it is the turn of a run that waits for its group; none where nothing is known.
    fn group(&mut self, _run: &Run) -> Option<Input> {
        None
    }

    /// Signals to this process since the last call, without waiting for more.
    fn signals(&mut self) -> Vec<Input> {
        Vec::new()
    }

    /// Ends what is at work, where that cannot be written down: because a stop was asked for, or for the reason that is given.
    fn end_all(&mut self, _by: Option<StopRequest>) {}

    /// An error if the project is not where it was: nothing that was seen since then counts, and nothing may be started.
    fn demand_in_place(&self) -> Result<()> {
        Ok(())
    }

    /// Sleeps until something happens or the time is up.
    fn wait(&mut self, limit: Duration) -> Result<Happened>;

    /// The files of attempts.
    fn output(&self) -> &dyn AttemptOutput {
        &NoOutput
    }

    /// The run with what can be seen of its processes.
    fn status(&self, run: &Run) -> StatusView;
}

/// The working tree of a run. The real one is `tree.rs`.
pub trait TreeWorld {
    /// Keeps the working tree as it is.
    fn snapshot(&mut self, run: &Run) -> Result<Input>;

    /// The files that the snapshot just taken shows as changed; none where that is not known, or nothing new.
    fn modified(&mut self, _run: &Run, _kept: &Input) -> Option<Input> {
        None
    }

    /// Brings the files of other tools up to date; tells what went wrong.
    fn mirror(&mut self, _run: &Run) -> Vec<Input> {
        Vec::new()
    }

    /// Has the plan's file in Markdown say that a phase is done.
    fn mark(&mut self, run: &Run, phase: &PhaseId) -> Result<Input>;

    /// Sees to it that people are told; says how that ended when it is known.
    fn notify(&mut self, run: &Run, notice: &DueNotice) -> Result<Option<Input>>;

    /// Ends what is under way of that; says how it ended.
    fn end_notices(&mut self) -> Option<Input> {
        None
    }

    /// Has the issue say that a phase has started, while somebody waits for it.
    fn label(&mut self, run: &Run, phase: &PhaseId) -> Result<Input>;

    /// Makes the commit that was begun, or finds it made.
    fn commit(&mut self, run: &Run, number: u32) -> Result<Input>;

    /// Puts the files of a phase that worked in a worktree of its own into the project, one step further.
    fn integrate(&mut self, _run: &Run, _phase: &PhaseId) -> Result<Input> {
        Ok(Input::Tick)
    }

    /// Removes the worktree of a phase, unless something is in it that is nowhere else.
    fn remove_worktree(&mut self, _run: &Run, _phase: &PhaseId) -> Result<Input> {
        Ok(Input::Tick)
    }

    /// Brings files back, all of them or none.
    fn restore(
        &mut self,
        run: &Run,
        files: &FilesBack,
        begun: RewindSince,
        direction: Direction,
    ) -> Result<FilesOutcome>;
}

/// Keeps the working tree as it is, with the names of what is changed in it first: both are in the checkpoint that waits for it.
pub(crate) fn keep(tree: &mut dyn TreeWorld, run: &Run) -> Result<Vec<Input>> {
    let kept = tree.snapshot(run)?;
    Ok(tree.modified(run, &kept).into_iter().chain([kept]).collect())
}

/// When the rewind was begun that is being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RewindSince {
    /// A moment ago, by this process: nothing has been moved yet.
    Now,
    /// Earlier: some files may have been moved.
    Earlier,
}

/// Which way files go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// To where the rewind is to lead.
    There,
    /// To where they were before it.
    BackAgain,
}

/// The result of bringing files back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FilesOutcome {
    /// All are there; the snapshot shows them.
    Back(SnapshotRef),
    /// All is as it was before the rewind was begun, for this reason.
    AsBefore(String),
    /// It was not ended, for this reason, and may be the next time. Some files may have been moved.
    Halfway(String),
    /// The same, and the next time would end in the same way.
    Refused(String),
}
