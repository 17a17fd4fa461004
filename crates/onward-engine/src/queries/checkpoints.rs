//! Finding checkpoints by what people type: an id, the beginning of one, or a name.

use std::collections::BTreeSet;

use onward_core::checkpoint::{Checkpoint, CheckpointMeta};
use onward_core::id::{CheckpointId, RunId};
use onward_core::lookup::{self, LookedUp, Name};
use onward_store::{CheckpointFilter, CheckpointRow, RunFilter, StoreExt};

use crate::Onward;
use crate::error::{Error, Result};
use crate::journal;
use crate::redact;

/// Candidates that an ambiguous name lists at most.
const CANDIDATES_MAX: usize = 10;

impl Onward {
    /// A checkpoint by what a person typed. Where a run is given, names and `@` are meant among its own.
    pub(crate) fn show_checkpoint(&mut self, name: &Name, of: Option<&RunId>) -> Result<Checkpoint> {
        let id = self.find_checkpoint(name, of)?;
        self.read_checkpoint(&id)
    }

    fn find_checkpoint(&mut self, name: &Name, of: Option<&RunId>) -> Result<CheckpointId> {
        let nth = match name {
            Name::Newest => 0,
            Name::Before => 1,
            Name::Id(text) => return self.checkpoint_called(text, of),
        };
        let run = of.map_or_else(|| self.find_run(None), |run| Ok(run.clone()))?;
        let rows = self.checkpoint_rows(&run)?;
        rows.get(nth).map(|row| row.id.clone()).ok_or_else(|| Error::NoSuchCheckpoint("@".to_owned()))
    }

    fn checkpoint_called(&mut self, text: &str, of: Option<&RunId>) -> Result<CheckpointId> {
        let ids = match self.store() {
            Ok(store) => store.all_checkpoints(CheckpointFilter::IdPrefix(text))?,
            Err(Error::NoRuns) => Vec::new(),
            Err(other) => return Err(other),
        };
        let ids: Vec<CheckpointId> = ids.into_iter().map(|row| row.id).collect();
        let exact = ids.iter().any(|id| id.as_str() == text);
        let named = if exact { Vec::new() } else { self.checkpoints_named(text, of)? };
        let of_run = |id: &CheckpointId| named.iter().find(|row| row.id == *id).map(|row| &row.run);
        match lookup::choose_named(text, ids, named.iter().map(|row| row.id.clone()).collect()) {
            LookedUp::Found(found) => Ok(found),
            LookedUp::NotThere => Err(Error::NoSuchCheckpoint(text.to_owned())),
            LookedUp::Ambiguous(candidates) => {
                let told = candidates.into_iter().map(|id| match of_run(&id) {
                    Some(run) => format!("{id} of run {run}"),
                    None => id.to_string(),
                });
                Err(ambiguous("checkpoint", text, &told.collect::<Vec<_>>()))
            }
        }
    }

    /// Checkpoints that this very name means: in each run the newest that was given it.
    fn checkpoints_named(&mut self, name: &str, of: Option<&RunId>) -> Result<Vec<CheckpointRow>> {
        // Of a secret only the place is kept, and another one would look the same.
        if redact::secrets().text(name) != name {
            return Ok(Vec::new());
        }
        let store = match self.store() {
            Err(Error::NoRuns) => return Ok(Vec::new()),
            other => other?,
        };
        let rows = store.all_checkpoints(of.map_or(CheckpointFilter::All, CheckpointFilter::OfRun))?;
        let is_meant = |row: &CheckpointRow| {
            let meta: Option<CheckpointMeta> = journal::meta(&row.meta);
            meta.and_then(|meta| meta.name).is_some_and(|given| given == name)
        };
        // A phase that is tried again takes the same checkpoint again: the name goes with the newest of a run.
        let mut runs = BTreeSet::new();
        Ok(rows.into_iter().filter(is_meant).filter(|row| runs.insert(row.run.clone())).collect())
    }

    /// Whether a checkpoint is meant where a run could be, too. The whole id of a run is that run.
    pub(super) fn is_meant_as_checkpoint(&mut self, text: &str) -> Result<bool> {
        if text.starts_with("CP-") {
            return Ok(true);
        }
        let rows = self.rows(&RunFilter { run_prefix: Some(text.to_owned()), ..RunFilter::default() })?;
        if rows.iter().any(|row| row.run.as_str() == text) {
            return Ok(false);
        }
        // A run can be shown where some checkpoints cannot be read.
        Ok(self.checkpoints_named(text, None).is_ok_and(|named| !named.is_empty()))
    }
}

pub(super) fn ambiguous<T: ToString>(what: &'static str, name: &str, candidates: &[T]) -> Error {
    let mut told: Vec<String> = candidates.iter().take(CANDIDATES_MAX).map(ToString::to_string).collect();
    if candidates.len() > CANDIDATES_MAX {
        told.push("and more".to_owned());
    }
    Error::Ambiguous { what, name: name.to_owned(), candidates: told }
}
