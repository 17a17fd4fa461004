//! The remains where something is damaged: the bytes as they are, and the last checkpoint that can be read. Nothing is
//! written.

use onward_core::checkpoint::Checkpoint;
use onward_core::id::{CheckpointId, RunId};
use onward_core::resume::{Finding, FindingKind};
use onward_core::run::Run;
use onward_store::{CheckpointFilter, StoreError, StoreExt};

use crate::Onward;
use crate::error::{Error, Left, Result};
use crate::queries::runs::checkpoint_from;

/// Checkpoints that are tried, from the newest on, until one can be read.
const TRIED_MAX: usize = 50;
/// Of a run with more phases the latest checkpoint is not read on every start: that would take longer than all else.
const LATEST_READ_PHASES_MAX: usize = 2_000;
/// Bytes of a damaged checkpoint that are shown.
const RAW_BYTES_MAX: usize = 256 * 1024;

impl Onward {
    /// A checkpoint; where it is damaged, what is left of it.
    pub(crate) fn read_checkpoint(&mut self, id: &CheckpointId) -> Result<Checkpoint> {
        let (why, mut bytes) = match self.store()?.checkpoint(id) {
            Ok(Some(found)) => match checkpoint_from(id, &found) {
                Err(Error::BadCheckpoint { why, left, .. }) => (why, left.raw.into_bytes()),
                other => return other,
            },
            Ok(None) => return Err(Error::NoSuchCheckpoint(id.to_string())),
            Err(StoreError::Damaged(damage)) => {
                (damage.to_string(), self.inspection()?.raw_checkpoint(id).unwrap_or_default())
            }
            Err(other) => return Err(other.into()),
        };
        bytes.truncate(RAW_BYTES_MAX);
        let rows = self.store()?.all_checkpoints(CheckpointFilter::IdPrefix(id.as_str()));
        let row = rows.unwrap_or_default().into_iter().find(|row| row.id == *id);
        let run = row.map(|row| row.run).filter(|run| !run.as_str().is_empty());
        let good = run.as_ref().and_then(|run| self.last_good(run));
        let (raw, place) = (String::from_utf8_lossy(&bytes).into_owned(), self.project.store_folder());
        Err(Error::BadCheckpoint { id: id.to_string(), why, left: Box::new(Left { raw, place, run, good }) })
    }

    /// The newest checkpoint of a run that can be read.
    fn last_good(&mut self, run: &RunId) -> Option<CheckpointId> {
        let rows = self.checkpoint_rows(run).ok()?;
        let mut tried = rows.into_iter().take(TRIED_MAX).map(|row| row.id);
        tried.find(|id| {
            let found = self.store().ok().and_then(|store| store.checkpoint(id).ok().flatten());
            found.is_some_and(|found| checkpoint_from(id, &found).is_ok())
        })
    }

    /// Whether the latest checkpoint of a run can be read. It is not needed to go on, but whoever relies on it should know.
    pub(crate) fn latest_is_damaged(&mut self, run: &Run) -> Option<Finding> {
        let id = run.last_checkpoint.as_ref().filter(|_| run.phases_total() <= LATEST_READ_PHASES_MAX)?;
        let Err(StoreError::Damaged(damage)) = self.store().ok()?.checkpoint(id) else { return None };
        let good = match self.last_good(&run.id) {
            Some(good) => format!("the last good one is {good}"),
            None => "no other one can be read".to_owned(),
        };
        let message = format!(
            "the latest checkpoint {id} cannot be read: {damage}; it is left as it is, {good}, and the run goes on by its journal"
        );
        Some(Finding::new(FindingKind::CheckpointDamaged, message))
    }

    /// The run as its journal tells it; where that is damaged, with the last checkpoint that can be read.
    pub(crate) fn load_or_tell(&mut self, id: &RunId) -> Result<Run> {
        let why = match self.load(id) {
            Err(why @ (Error::Store(StoreError::Damaged(_)) | Error::BadRecord { .. })) => why.to_string(),
            other => return other,
        };
        let (good, place) = (self.last_good(id), self.project.store_folder());
        let left = Left { raw: String::new(), place, run: Some(id.clone()), good };
        Err(Error::BadJournal { run: id.clone(), why, left: Box::new(left) })
    }
}
