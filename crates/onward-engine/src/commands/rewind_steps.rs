//! The way back: a rewind is written down, done, and written down again, so that a kill in between leaves nothing half
//! done for good: whoever writes next to the run ends it first. What was there before is kept first, so that it can be undone.

use jiff::Timestamp;
use onward_core::checkpoint::Checkpoint;
use onward_core::event::{FilesBack, RewindBegun, RunRewound, SnapshotRef, StopRequest};
use onward_core::id::CheckpointId;
use onward_core::input::{Input, Posted};
use onward_core::run::{Run, vcs};

use crate::drive::Committer;
use crate::drive::world::{Direction, FilesOutcome, RewindSince, TreeWorld};
use crate::error::Result;
use crate::kill_point::reached;
use crate::sys::stop;

/// The parts that are to be brought back.
#[derive(Debug)]
pub struct RewindWish<'a> {
    pub to: &'a Checkpoint,
    pub files: Option<FilesBack>,
    pub state: bool,
    /// It takes the last rewind back.
    pub undoes: bool,
    /// A checkpoint that may show what is there now, so that none need be taken.
    pub present: Option<&'a Checkpoint>,
}

/// Keeps the present and records the intent. `ends` is what became of attempts that nobody drives any more.
pub fn begin(
    hand: &mut Committer<'_>,
    tree: &mut dyn TreeWorld,
    ends: Vec<Input>,
    wish: &RewindWish<'_>,
    now: Timestamp,
) -> Result<()> {
    let mut inputs = Vec::new();
    if hand.run().ending().is_none() {
        inputs.push(Input::StopAsked { by: StopRequest::Rewind });
    }
    // Also of a run that was stopped: after a hangup its phases lived on.
    inputs.extend(ends);
    if hand.run().started.snapshots {
        inputs.push(tree.snapshot(hand.run())?);
        // Nothing is taken back that was not kept.
        stop::demand_none()?;
    }
    let known = wish.present.filter(|known| stands_as(hand.run(), known, &inputs));
    if known.is_none() {
        inputs.push(Input::Posted(Posted::Checkpoint { name: None }));
    }
    hand.tell(inputs, now)?;
    reached("rewind.kept");
    let taken = || hand.run().last_checkpoint.clone().expect("a checkpoint was just taken");
    let before = known.map_or_else(taken, |known| known.id.clone());
    let (to, files) = (wish.to.id.clone(), wish.files.clone());
    let begun = RewindBegun { to, before, files, state: wish.state, undoes: wish.undoes };
    hand.tell(vec![Input::Rewind(begun)], now)?;
    reached("rewind.begun");
    Ok(())
}

/// Whether a checkpoint shows the run as it stands, and nothing is told that changes it: the files that were kept last are
/// those that are there, and a rewind to it would change nothing.
fn stands_as(run: &Run, checkpoint: &Checkpoint, told: &[Input]) -> bool {
    let is_last = |taken: &SnapshotRef| run.vcs.last.as_ref().is_some_and(|last| last.commit == taken.commit);
    let files = told.iter().all(|input| matches!(input, Input::Snapshotted(Ok(taken)) if is_last(taken)));
    let back = vcs::back_to(run, checkpoint);
    files && back.phases.is_empty() && back.state.is_empty() && vcs::result_of(checkpoint) == run.result
}

/// Why a rewind did not come to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotBack {
    /// All is as it was before.
    AsBefore(String),
    /// Some files may have been moved. It stays on record, and the next run, resume, rewind or undo ends it.
    Pending(String),
}

impl NotBack {
    /// The same, with something else to be told.
    pub(crate) fn and(self, words: Option<String>) -> Self {
        let all = |reason: String| [Some(reason), words].into_iter().flatten().collect::<Vec<_>>().join("; ");
        match self {
            Self::AsBefore(reason) => Self::AsBefore(all(reason)),
            Self::Pending(reason) => Self::Pending(all(reason)),
        }
    }
}

/// Leaves a checkpoint with files that were edited since a rewind was cut off: its end may replace them.
pub(crate) fn keep_edited(
    hand: &mut Committer<'_>,
    edited: SnapshotRef,
    now: Timestamp,
) -> Result<Option<CheckpointId>> {
    let taken = Input::Snapshotted(Ok(edited));
    hand.tell(vec![taken, Input::Posted(Posted::Checkpoint { name: None })], now)?;
    reached("rewind.edited-kept");
    Ok(hand.run().last_checkpoint.clone())
}

/// Does what was begun, also after a kill. What cannot be done is put back as far as it was done.
pub fn finish(
    hand: &mut Committer<'_>,
    tree: &mut dyn TreeWorld,
    to: &Checkpoint,
    when: RewindSince,
    now: Timestamp,
) -> Result<std::result::Result<(), NotBack>> {
    let begun = hand.run().vcs.rewinding.clone().expect("a rewind was begun");
    let outcome = match &begun.files {
        Some(files) => Some(tree.restore(hand.run(), files, when, Direction::There)?),
        None => None,
    };
    reached("rewind.files");
    let after = match outcome {
        None => None,
        Some(FilesOutcome::Back(snapshot)) => Some(snapshot),
        Some(FilesOutcome::AsBefore(reason)) => return called_off(hand, reason, None, now),
        Some(FilesOutcome::Halfway(reason)) => return Ok(Err(NotBack::Pending(reason))),
        Some(FilesOutcome::Refused(reason)) => return put_back(hand, tree, reason, now),
    };
    let restored = begun.state.then(|| vcs::back_to(hand.run(), to));
    let result = if begun.undoes { vcs::result_before(to) } else { vcs::result_of(to) };
    let rewound = RunRewound { to: begun.to, restored, result };
    let mut inputs = vec![Input::Rewound(Ok(Box::new(rewound)))];
    inputs.extend(after.map(|snapshot| Input::Snapshotted(Ok(snapshot))));
    hand.tell(inputs, now)?;
    Ok(Ok(()))
}

/// The way there is closed: files that an earlier try has moved go back to where they were.
fn put_back(
    hand: &mut Committer<'_>,
    tree: &mut dyn TreeWorld,
    reason: String,
    now: Timestamp,
) -> Result<std::result::Result<(), NotBack>> {
    let Some(before) = hand.run().files_before_rewind().map(str::to_owned) else {
        return Ok(Err(NotBack::Pending(reason)));
    };
    let files = FilesBack { to: before, later: Vec::new() };
    match tree.restore(hand.run(), &files, RewindSince::Earlier, Direction::BackAgain)? {
        FilesOutcome::Back(snapshot) => called_off(hand, reason, Some(snapshot), now),
        FilesOutcome::AsBefore(_) => called_off(hand, reason, None, now),
        FilesOutcome::Halfway(_) | FilesOutcome::Refused(_) => Ok(Err(NotBack::Pending(reason))),
    }
}

fn called_off(
    hand: &mut Committer<'_>,
    reason: String,
    after: Option<SnapshotRef>,
    now: Timestamp,
) -> Result<std::result::Result<(), NotBack>> {
    let mut inputs = vec![Input::Rewound(Err(reason.clone()))];
    inputs.extend(after.map(|snapshot| Input::Snapshotted(Ok(snapshot))));
    hand.tell(inputs, now)?;
    Ok(Err(NotBack::AsBefore(reason)))
}
