//! Questions that only a check-up or a forecast asks of a store, and the steps that only a repair takes.

use onward_core::id::{CheckpointId, RunId};

use crate::{
    Store,
    error::{Damage, StoreError},
    lease::Lease,
    types::{DurationRow, Health},
};

/// A store that can be checked and repaired, and that knows how long attempts took. No run needs any of it.
pub trait Inspection: Store {
    /// How the store itself is doing. Never fails: what goes wrong while looking is one of the alarms.
    fn health(&mut self) -> Health;

    /// Checks every byte: the database's own structure with its indexes, every journal, checkpoint, item and answer.
    ///
    /// This takes as long as reading the whole store does, so it belongs into a check-up and not into opening. At most
    /// a hundred findings are named.
    fn verify(&mut self) -> Result<Vec<Damage>, StoreError>;

    /// The database's own word about its structure, indexes included. It is blind to most flipped bits.
    fn check_structure(&mut self) -> Result<Vec<Damage>, StoreError>;

    /// Reads every item in the inbox of a run, and every answer.
    fn check_inbox(&mut self, run: &RunId) -> Result<(), StoreError>;

    /// The checkpoints of a run that are listed and cannot be read, and what is wrong with each. Every content is read
    /// once, however many checkpoints are built on it.
    fn unreadable_checkpoints(&mut self, run: &RunId) -> Result<Vec<(CheckpointId, Damage)>, StoreError>;

    /// The stored content of one checkpoint alone, unchecked: for people who want to see what is left of a damaged one. Empty
    /// where nothing is left.
    fn raw_checkpoint(&mut self, id: &CheckpointId) -> Result<Vec<u8>, StoreError>;

    /// Names of blob files that the database counts on and that are not there.
    fn missing_blob_files(&mut self) -> Result<Vec<String>, StoreError>;

    /// How many journals there are whose run is not listed: a row that went missing leaves its records behind.
    fn unlisted_journals(&mut self) -> Result<usize, StoreError>;

    /// Whether a checkpoint was deleted on purpose.
    fn checkpoint_was_deleted(&mut self, id: &CheckpointId) -> Result<bool, StoreError>;

    /// Whether a run was deleted on purpose.
    fn run_was_deleted(&mut self, run: &RunId) -> Result<bool, StoreError>;

    /// Forgets that a run and its checkpoints were deleted, so that the same run can be brought in again.
    fn forget_deletion(&mut self, run: &RunId, checkpoints: &[CheckpointId]) -> Result<(), StoreError>;

    /// Makes the epochs of a run go on behind this one, which somebody had who drove it elsewhere.
    fn raise_epoch(&mut self, run: &RunId, epoch: u64) -> Result<(), StoreError>;

    /// How long the newest attempts took at a phase of a plan that ended in this way, in all runs, the newest first.
    fn durations(&mut self, plan: &str, phase: &str, ended: &str, max: usize) -> Result<Vec<u64>, StoreError>;

    /// How long the attempts of a run took, as it is kept beside its journal, in the order of the journal.
    fn durations_of(&mut self, run: &RunId) -> Result<Vec<DurationRow>, StoreError>;

    /// Writes anew how a run is listed and how long its attempts took, and nothing else of it.
    fn relist(
        &mut self,
        lease: &Lease,
        status: &str,
        summary: &[u8],
        durations: &[DurationRow],
    ) -> Result<(), StoreError>;

    /// Makes the head file say what the database says, so that writing may go on after commits were lost.
    ///
    /// Only for a person who has seen [`StoreError::LostCommits`] and wants to keep what is left.
    fn accept_loss(&mut self) -> Result<(), StoreError>;
}
