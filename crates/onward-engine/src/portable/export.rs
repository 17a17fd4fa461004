//! Writing a run into a file.

use jiff::Timestamp;
use onward_core::id::{RunId, Seq};
use onward_store::portable::{PortableCheckpoint, PortableHead, PortableRun};
use onward_store::{Record, StoredCheckpoint, portable};
use serde_json::Value;

use super::artifacts;
use crate::Onward;
use crate::error::{Error, Result};
use crate::journal;
use crate::redact;
use crate::vcs::working_tree::WorkingTree;

const RECORDS_PER_READ: usize = 256;

/// Whether the snapshots of the working tree go into the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Snapshots {
    LeftOut,
    Included,
}

/// Whether secrets are cut out once more, with those that are known now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redacted {
    AsStored,
    OnceMore,
}

/// The parts of a run that are wanted.
#[derive(Clone, Copy, Debug)]
pub struct ExportParts {
    pub snapshots: Snapshots,
    pub redacted: Redacted,
}

/// A run, as it goes into a file.
pub struct Exported {
    pub run: RunId,
    pub bytes: Vec<u8>,
    /// Parts that are not in it, and why.
    pub notes: Vec<String>,
}

impl Onward {
    /// A run as one file. Nothing is written by it; a run that is driven is exported as it stands at this moment.
    pub fn export(&mut self, name: Option<&str>, parts: ExportParts) -> Result<Exported> {
        let id = self.find_run(name)?;
        // What cannot be folded here cannot be anywhere else.
        let run = self.load_or_tell(&id)?;
        let mut notes = Vec::new();
        let mut records = self.all_records(&id)?;
        let mut checkpoints = self.portable_checkpoints(&id, Seq(records.len() as u64), &mut notes)?;
        let (mut kept, left_out) = artifacts::read(&self.project.store_folder(), id.as_str())
            .map_err(Error::io(format!("reading the artifacts of {id}")))?;
        notes.extend(
            left_out
                .into_iter()
                .map(|name| format!("the copy {name} of an artifact is left out: it holds links, or was changed")),
        );
        if parts.redacted == Redacted::OnceMore {
            if !kept.is_empty() {
                notes.push(format!("{} kept artifacts are left out, since they are exact copies", kept.len()));
            }
            kept.clear();
            records = redacted_records(&id, records)?;
            for one in &mut checkpoints {
                redact_checkpoint(one);
            }
        }
        let bundle = match parts.snapshots {
            Snapshots::LeftOut => None,
            Snapshots::Included => self.bundle_of(&id, run.started.worktree.as_deref(), &mut notes)?,
        };
        let head = PortableHead {
            run: id.clone(),
            work: run.started.work.clone(),
            exported_at: Timestamp::now(),
            by: concat!("onward ", env!("CARGO_PKG_VERSION")).to_owned(),
            records: records.len() as u64,
            checkpoints: checkpoints.len() as u64,
            artifacts: kept.len() as u64,
            redacted: parts.redacted == Redacted::OnceMore,
        };
        let whole = PortableRun { head, records, checkpoints, artifacts: kept, bundle };
        let mut bytes = Vec::new();
        portable::write(&whole, &mut bytes).map_err(Error::io(format!("exporting {id}")))?;
        // What cannot be read again is no export.
        if portable::read(&bytes)? != whole {
            return Err(Error::Unfit { why: "it would be read as something else".to_owned() });
        }
        Ok(Exported { run: id, bytes, notes })
    }

    pub(super) fn all_records(&mut self, id: &RunId) -> Result<Vec<Record>> {
        let mut all: Vec<Record> = Vec::new();
        loop {
            let after = all.last().map_or(Seq(0), |last| last.seq);
            let read = self.store()?.events(id, after, RECORDS_PER_READ)?;
            let is_last = read.len() < RECORDS_PER_READ;
            all.extend(read);
            if is_last {
                return Ok(all);
            }
        }
    }

    /// The checkpoints up to a position, oldest first, each told by what the one before it does not have.
    fn portable_checkpoints(
        &mut self,
        id: &RunId,
        end: Seq,
        notes: &mut Vec<String>,
    ) -> Result<Vec<PortableCheckpoint>> {
        let mut rows = self.checkpoint_rows(id)?;
        rows.sort_by_key(|row| (row.seq, row.number));
        let mut all = Vec::new();
        let mut before: Option<StoredCheckpoint> = None;
        for row in rows.into_iter().filter(|row| row.seq <= end) {
            let found = match self.store()?.checkpoint(&row.id) {
                Ok(Some(found)) if row.damage.is_none() => found,
                Ok(None) => continue,
                Ok(Some(_)) | Err(_) => {
                    notes.push(format!("checkpoint {} is left out: it cannot be read", row.id));
                    continue;
                }
            };
            let goes_on = before
                .as_ref()
                .filter(|before| before.keyframe == found.keyframe && found.patches.starts_with(&before.patches));
            let (whole, patches) = match goes_on {
                Some(before) => (None, found.patches[before.patches.len()..].to_vec()),
                None => (Some(found.keyframe.clone()), found.patches.clone()),
            };
            all.push(PortableCheckpoint { id: row.id, seq: row.seq, meta: row.meta, whole, patches });
            before = Some(found);
        }
        Ok(all)
    }

    fn bundle_of(&self, id: &RunId, worktree: Option<&str>, notes: &mut Vec<String>) -> Result<Option<Vec<u8>>> {
        let tree = WorkingTree::of(&self.project, worktree);
        let repository = match tree.repository() {
            Ok(repository) => repository,
            Err(why) => {
                notes.push(format!("there are no snapshots to export: {why}"));
                return Ok(None);
            }
        };
        let bundle = repository.bundle(id).map_err(|why| Error::NotExported { why: why.to_string() })?;
        if bundle.is_none() {
            notes.push("there are no snapshots to export: none was taken".to_owned());
        }
        Ok(bundle)
    }
}

/// The same journal without the secrets that are known now: another one, if there were any.
fn redacted_records(id: &RunId, records: Vec<Record>) -> Result<Vec<Record>> {
    let mut again: Vec<Record> = Vec::with_capacity(records.len());
    for record in records {
        let body = redacted_text(&record.body);
        let actor = redact::secrets().text(&record.actor).into_owned();
        let before = again.last().map(|last| last.hash);
        again.push(onward_store::chained(id, before, Record { body, actor, ..record }));
    }
    for record in &again {
        journal::decode(id, record.clone())?;
    }
    Ok(again)
}

fn redact_checkpoint(one: &mut PortableCheckpoint) {
    one.meta = redacted_text(&one.meta);
    one.whole = one.whole.take().map(|whole| redacted_text(&whole));
    one.patches = one.patches.iter().map(|patch| redacted_text(patch)).collect();
}

/// JSON with every text in it cut; as it was where there is nothing to cut.
fn redacted_text(bytes: &[u8]) -> Vec<u8> {
    let Ok(value) = serde_json::from_slice::<Value>(bytes) else { return bytes.to_vec() };
    let cut = redact::inputs::value(value.clone());
    if cut == value { bytes.to_vec() } else { serde_json::to_vec(&cut).expect("it was JSON") }
}
