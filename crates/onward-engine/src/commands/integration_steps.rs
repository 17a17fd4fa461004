//! Files of a worktree that a driver left halfway into the project: whoever changes what the run goes by ends that first. Another plan,
//! a rewind or an archive would leave nobody who knows that some are there.

use jiff::Timestamp;
use onward_core::id::{PhaseId, RunId};
use onward_core::run::Run;
use onward_core::run::worktrees::WorktreeStage;
use onward_store::{Lease, LeaseKind};

use crate::Onward;
use crate::drive::keyframes::KeepNothing;
use crate::drive::world::TreeWorld;
use crate::drive::{Committer, inbox};
use crate::error::{Error, Result};
use crate::start::starting::actor;
use crate::sys::stop;
use crate::vcs::working_tree::WorkingTree;

/// Ends it, and says how that went: the files are all there, or are taken back.
pub fn end(hand: &mut Committer<'_>, tree: &mut dyn TreeWorld, now: Timestamp) -> Result<Option<String>> {
    let Some(phase) = hand.run().files_on_their_way().cloned() else { return Ok(None) };
    inbox::note_that_the_driver_is_gone(hand, now)?;
    let found = tree.integrate(hand.run(), &phase)?;
    // What was given up says nothing about the files.
    stop::demand_none()?;
    hand.tell(vec![found], now)?;
    match hand.run().files_on_their_way() {
        Some(_) => Err(Error::Refused { run: hand.run().id.clone(), reasons: vec![halfway(&phase)] }),
        None => Ok(Some(words(hand.run(), &phase))),
    }
}

fn halfway(phase: &PhaseId) -> String {
    format!("files of {phase} are halfway into the project, and what was begun with them could not be ended")
}

fn words(run: &Run, phase: &PhaseId) -> String {
    let what = format!("the files of {phase}, which were on their way into the project when its driver ended,");
    let error = run.phase_state(phase).and_then(|state| state.error.as_ref()).map(|error| &error.message);
    match run.phase_state(phase).and_then(|state| state.own.as_deref()).map(|own| &own.stage) {
        Some(WorktreeStage::Integrated { .. }) => format!("{what} are all there now"),
        Some(WorktreeStage::Conflict(_)) => format!("{what} do not go together with it, and a person is asked"),
        Some(WorktreeStage::AtWork) => {
            let why = error.map(|why| format!(": {why}")).unwrap_or_default();
            format!("{what} did not come in{why}")
        }
        Some(WorktreeStage::Due | WorktreeStage::Begun(_)) | None => format!("{what} were taken back"),
    }
}

impl Onward {
    /// The same for a run in hand.
    pub(crate) fn end_an_integration(&mut self, run: Run, lease: &Lease) -> Result<(Run, Option<String>)> {
        if run.files_on_their_way().is_none() {
            return Ok((run, None));
        }
        let _alone = self.hold_tree_alone(&run)?;
        let mut tree = WorkingTree::of(&self.project, run.started.worktree.as_deref());
        let (mut run, actor, mut keep) = (run, actor(&self.project), KeepNothing);
        let mut hand = Committer::new(self.store()?, lease, &mut keep, &mut run, &actor);
        let told = end(&mut hand, &mut tree, Timestamp::now())?;
        Ok((run, told))
    }

    /// The same for a run that nobody drives. Whoever drives it sees to it.
    pub(crate) fn end_integration_of(&mut self, id: &RunId) -> Result<()> {
        if self.load(id)?.files_on_their_way().is_none() {
            return Ok(());
        }
        let lease = match self.take_lease(id, LeaseKind::Brief) {
            Err(Error::Driven { .. }) => return Ok(()),
            other => other?,
        };
        let run = self.load(id)?;
        let (_, told) = self.end_an_integration(run, &lease)?;
        self.notices.extend(told);
        drop(lease);
        Ok(())
    }
}
