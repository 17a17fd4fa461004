//! Checkpoints: whether each can be read, and whether it shows the run as its journal says it stood there.

use std::collections::BTreeMap;

use onward_core::checkpoint::{self, BadDocument, CheckpointHead};
use onward_core::event::Recorded;
use onward_core::id::{CheckpointId, RunId, Seq};
use onward_core::run::{self, Run};
use onward_store::{CheckpointFilter, Inspection, StoreExt};
use serde_json::Value;

use super::code::DoctorCode;
use super::findings::{FindingsSoFar, NEWER, REPAIR, of_run, rebuilt};
use super::stored_form;
use crate::error::Error;

/// Of more than these, only some are compared with the journal, spread evenly. All of them are read.
const COMPARED_MAX: usize = 200;

/// Names the checkpoints of a run that cannot be read; how many there are in all.
pub(super) fn unreadable(store: &mut dyn Inspection, id: &RunId, found: &mut FindingsSoFar) -> Vec<CheckpointId> {
    match store.unreadable_checkpoints(id) {
        Ok(bad) => {
            for (checkpoint, damage) in &bad {
                let help = format!(
                    "the other checkpoints of the run are judged by themselves (onward log {id}): {REPAIR} makes this one \
                     again from the journal if it can, and keeps the damaged bytes in .onward/damaged"
                );
                found.error(DoctorCode::Checkpoint, checkpoint.as_str(), damage.to_string(), &help);
            }
            bad.into_iter().map(|(checkpoint, _)| checkpoint).collect()
        }
        Err(why) => {
            if !found.0.iter().any(|finding| finding.path == format!("run {id}")) {
                of_run(&Error::Store(why), &format!("run {id}"), DoctorCode::Checkpoint, &rebuilt(), found);
            }
            Vec::new()
        }
    }
}

/// The checkpoints of one run, held against its journal while that is folded.
pub(super) struct Comparison {
    /// The readable checkpoints of the list, and whether their documents are to be compared.
    listed: BTreeMap<CheckpointId, ListedCheckpoint>,
    bad: Vec<CheckpointId>,
}

struct ListedCheckpoint {
    seq: Seq,
    is_sample: bool,
    is_seen: bool,
}

impl Comparison {
    pub(super) fn new(store: &mut dyn Inspection, id: &RunId, found: &mut FindingsSoFar) -> Self {
        let bad = unreadable(store, id, found);
        let rows = store.all_checkpoints(CheckpointFilter::OfRun(id)).unwrap_or_default();
        let step = rows.len().div_ceil(COMPARED_MAX).max(1);
        let listed = rows.into_iter().enumerate().filter(|(_, row)| !bad.contains(&row.id));
        let listed = listed
            .map(|(at, row)| (row.id, ListedCheckpoint { seq: row.seq, is_sample: at % step == 0, is_seen: false }));
        Self { listed: listed.collect(), bad }
    }

    /// `run` stands right before the event.
    pub(super) fn compare(
        &mut self,
        store: &mut dyn Inspection,
        run: &Run,
        recorded: &Recorded,
        found: &mut FindingsSoFar,
    ) {
        let Some(head) = run::checkpoint_at(run, recorded) else { return };
        let id = head.id.clone();
        let Some(listed) = self.listed.get_mut(&id) else {
            if !self.bad.contains(&id) && matches!(store.checkpoint_was_deleted(&id), Ok(false)) {
                let message = "the journal names it, nobody deleted it, and it is missing";
                let help = format!("the journal is good: {REPAIR} makes the checkpoint again from it");
                found.error(DoctorCode::CheckpointMissing, id.as_str(), message, &help);
            }
            return;
        };
        listed.is_seen = true;
        if !listed.is_sample {
            return;
        }
        match document(store, &id) {
            Ok(stored) if shows(&stored, run, head) => {}
            Ok(_) => {
                let message = format!("it differs from the run at record {} of its journal", recorded.seq);
                let help = format!("the journal counts and is good: {REPAIR} makes the checkpoint again from it");
                found.error(DoctorCode::CheckpointDiffers, id.as_str(), message, &help);
            }
            Err(why) => not_understood(&id, &why, found),
        }
    }

    /// Reports the checkpoints that the journal does not mention.
    pub(super) fn finish(self, store: &mut dyn Inspection, run: &Run, found: &mut FindingsSoFar) {
        // One behind the end was taken after the journal was read.
        let unknown = |listed: &ListedCheckpoint| !listed.is_seen && listed.seq <= run.seq;
        for (id, _) in self.listed.into_iter().filter(|(_, listed)| unknown(listed)) {
            match document(store, &id) {
                Ok(_) => {
                    let message = format!("it is newer than its journal, which ends at record {}", run.seq);
                    let help = format!("it can be read and is kept: onward show {id}");
                    found.info(DoctorCode::CheckpointBeyond, id.as_str(), message, &help);
                }
                Err(why) => not_understood(&id, &why, found),
            }
        }
    }
}

/// Whether a stored document shows a run at this checkpoint. One that goes on from a keyframe of an earlier version says that version.
fn shows(stored: &Value, run: &Run, head: CheckpointHead) -> bool {
    let mut now = checkpoint::whole(run, head);
    if let Some(version) = stored.get("onward").and_then(Value::as_u64).and_then(|version| version.try_into().ok()) {
        now.onward = version;
    }
    // Of the work's own state no version knows more or less than another.
    stored.get("state") == Some(&now.state) && stored_form::says(stored, &now)
}

/// The whole document of a checkpoint, as it is stored.
pub(super) fn document(store: &mut dyn Inspection, id: &CheckpointId) -> Result<Value, BadDocument> {
    let damaged = |why: String| BadDocument::Damaged(why);
    let found = store.checkpoint(id).map_err(|why| damaged(why.to_string()))?;
    let found = found.ok_or_else(|| damaged("it is listed and not there".to_owned()))?;
    let bytes = checkpoint::keyframe(&found.keyframe, &found.patches)?;
    serde_json::from_slice(&bytes).map_err(|why| damaged(why.to_string()))
}

fn not_understood(id: &CheckpointId, why: &BadDocument, found: &mut FindingsSoFar) {
    match why {
        BadDocument::Newer(_) => found.error(DoctorCode::Newer, id.as_str(), why.to_string(), NEWER),
        BadDocument::Damaged(_) => {
            let help =
                format!("its bytes are kept: onward show {id} shows them; {REPAIR} makes it again from the journal");
            found.error(DoctorCode::Checkpoint, id.as_str(), format!("it cannot be understood: {why}"), &help);
        }
    }
}
