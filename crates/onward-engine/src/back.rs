//! The way back: a rewind is written down, done, and written down again, so that a kill in between leaves nothing half
//! done. What was there before is kept first, so that it can be undone.

use jiff::Timestamp;
use onward_core::checkpoint::Checkpoint;
use onward_core::event::{FilesBack, RewindBegun, RunRewound, StopBy};
use onward_core::input::{Input, Posted};
use onward_core::run::vcs;

use crate::drive::Committer;
use crate::error::Result;
use crate::kill_point::reached;
use crate::stop;
use crate::world::Tree;

/// What is to be brought back.
#[derive(Debug)]
pub struct Wish<'a> {
    pub to: &'a Checkpoint,
    pub files: Option<FilesBack>,
    pub state: bool,
    /// It takes the last rewind back.
    pub undoes: bool,
}

/// Keeps the present and records the intent. `ends` is what became of attempts that nobody drives any more.
pub fn begin(
    hand: &mut Committer<'_>,
    tree: &mut dyn Tree,
    ends: Vec<Input>,
    wish: &Wish<'_>,
    now: Timestamp,
) -> Result<()> {
    let mut inputs = Vec::new();
    if hand.run().ending().is_none() {
        inputs.push(Input::StopAsked { by: StopBy::Rewind });
    }
    // Also of a run that was stopped: after a hangup its phases lived on.
    inputs.extend(ends);
    if hand.run().started.snapshots {
        inputs.push(tree.snapshot(hand.run())?);
        // Nothing is taken back that was not kept.
        stop::demand_none()?;
    }
    inputs.push(Input::Posted(Posted::Checkpoint { name: None }));
    hand.tell(inputs, now)?;
    reached("rewind.kept");
    let before = hand.run().last_checkpoint.clone().expect("a checkpoint was just taken");
    let (to, files) = (wish.to.id.clone(), wish.files.clone());
    let begun = RewindBegun { to, before, files, state: wish.state, undoes: wish.undoes };
    hand.tell(vec![Input::Rewind(begun)], now)?;
    reached("rewind.begun");
    Ok(())
}

/// Does what was begun, also after a kill; gives the reason where it could not be done and all is as before.
pub fn finish(
    hand: &mut Committer<'_>,
    tree: &mut dyn Tree,
    to: &Checkpoint,
    now: Timestamp,
) -> Result<std::result::Result<(), String>> {
    let begun = hand.run().vcs.rewinding.clone().expect("a rewind was begun");
    let restored = match &begun.files {
        Some(files) => tree.restore(hand.run(), files)?.map(Some),
        None => Ok(None),
    };
    reached("rewind.files");
    let after = match restored {
        Ok(after) => after,
        Err(reason) => {
            hand.tell(vec![Input::Rewound(Err(reason.clone()))], now)?;
            return Ok(Err(reason));
        }
    };
    let restored = begun.state.then(|| vcs::back_to(hand.run(), to));
    let rewound = RunRewound { to: begun.to, restored, result: vcs::result_of(to) };
    let mut inputs = vec![Input::Rewound(Ok(Box::new(rewound)))];
    inputs.extend(after.map(|snapshot| Input::Snapshotted(Ok(snapshot))));
    inputs.push(Input::Posted(Posted::Checkpoint { name: None }));
    hand.tell(inputs, now)?;
    Ok(Ok(()))
}
