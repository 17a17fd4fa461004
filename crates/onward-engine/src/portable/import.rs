//! Taking a run out of a file.
//!
//! All of the file is read, checked and folded before anything is written. Then the parts that lie beside the journal come first, and
//! the journal with its checkpoints last, in one commit: a run is there as a whole or not at all, and whoever is killed in between
//! imports again.

use std::collections::BTreeSet;

use jiff::Timestamp;
use onward_core::checkpoint;
use onward_core::id::{CheckpointId, RunId, Seq};
use onward_core::lookup::is_reserved;
use onward_store::portable::{self, PortableRun};
use onward_store::{
    Entry, LeaseKind, NewCheckpoint, NewEvent, NewRun, PruneList, Record, RunFilter, StoredContent, ownership,
};

use super::artifacts;
use super::checks::{self, CheckedRun, damaged, of_the_file};
use crate::Onward;
use crate::drive::keyframes::put_keyframe;
use crate::durations;
use crate::error::{Error, Result};
use crate::journal;
use crate::kill_point::reached;
use crate::queries::runs::NEW;
use crate::sys::caller_guard::inside;
use crate::sys::file_lock::exclusive;
use crate::vcs::bundle;
use crate::vcs::working_tree::WorkingTree;

/// A run that was in a file.
#[derive(Debug)]
pub struct ImportedRun {
    pub run: RunId,
    pub lineage: Lineage,
    /// Parts that were not taken, and why.
    pub notes: Vec<String>,
    /// Why nothing of the store is executed until a person trusts it; none where nothing of the file could be.
    pub waits_because: Option<&'static str>,
}

/// How a file stands to what is here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lineage {
    /// The run was not here.
    New,
    /// It is here as it is in the file.
    Same,
    /// It went on here since; nothing was taken.
    OlderThanHere,
    /// It went on elsewhere since; so many records were added.
    NewerThanHere { records: u64 },
}

impl Onward {
    /// Takes a run out of the bytes of a file.
    pub fn import_run(&mut self, bytes: &[u8]) -> Result<ImportedRun> {
        let file = portable::read(bytes).map_err(|why| of_the_file(why.into()))?;
        let checked = checks::folded(&file).map_err(of_the_file)?;
        let id = file.head.run.clone();
        if is_reserved(id.as_str()) {
            return Err(damaged(format!("its run has the id {id}, which means another run wherever it is typed")));
        }
        if let Some(bundle) = &file.bundle {
            bundle::check(bundle, &id).map_err(damaged)?;
        }
        let beyond = beyond(&file, &checked)?;
        self.store()?;
        let alone = exclusive(&self.project.runtime().join("start.lock"))?;
        let here = self.records_here(&id)?;
        let lineage = lineage(&id, &here, &file.records)?;
        let mut imported = ImportedRun { run: id, lineage, notes: Vec::new(), waits_because: None };
        if matches!(lineage, Lineage::Same | Lineage::OlderThanHere) {
            return Ok(imported);
        }
        imported.waits_because = self.waits_for_a_word(&file, &checked.run, &checked.events);
        if imported.waits_because.is_some() && inside(&self.project).is_some() {
            // All of the project would wait for a person until then, and nobody has asked for it.
            let why = "a run that waits for a person's `onward trust` is imported by a person, not from inside a phase";
            return Err(Error::Declined { reason: why.to_owned() });
        }
        if imported.waits_because.is_some() {
            // Before any of it is there: killed in between, nothing of it is executed.
            ownership::distrust(&self.project.store_folder())?;
        }
        reached("import.before-beside");
        self.put_beside(&file, &mut imported.notes)?;
        reached("import.before-journal");
        self.put_journal(&file, &checked, beyond, here.len())?;
        reached("import.after-journal");
        drop(alone);
        Ok(imported)
    }

    /// The journal of the run as it is here; empty where there is none.
    fn records_here(&mut self, id: &RunId) -> Result<Vec<Record>> {
        let filter = RunFilter { run_prefix: Some(id.to_string()), ..RunFilter::default() };
        let rows = onward_store::StoreExt::all_runs(self.store()?, &filter)?;
        if rows.iter().any(|row| row.run == *id) { self.all_records(id) } else { Ok(Vec::new()) }
    }

    /// Artifacts and snapshots.
    fn put_beside(&mut self, file: &PortableRun, notes: &mut Vec<String>) -> Result<()> {
        let (id, store) = (&file.head.run, self.project.store_folder());
        for artifact in &file.artifacts {
            artifacts::put(&store, id.as_str(), artifact).map_err(Error::io(format!("keeping an artifact of {id}")))?;
        }
        let Some(bytes) = &file.bundle else { return Ok(()) };
        let tree = WorkingTree::of(&self.project, None);
        match tree.repository() {
            Ok(repository) => {
                let checked = bundle::check(bytes, id).map_err(damaged)?;
                repository.unbundle(&checked).map_err(|why| damaged(format!("git refuses its snapshots: {why}")))
            }
            Err(why) => {
                notes.push(format!("its snapshots are left out: {why}"));
                Ok(())
            }
        }
    }

    /// The journal behind what is here, and the checkpoints that it tells of.
    fn put_journal(
        &mut self,
        file: &PortableRun,
        checked: &CheckedRun,
        beyond: Vec<NewCheckpoint>,
        here: usize,
    ) -> Result<()> {
        let id = &file.head.run;
        let kept: BTreeSet<&CheckpointId> = file.checkpoints.iter().map(|one| &one.id).collect();
        let new = checked.taken.iter().filter(|taken| taken.seq.0 > here as u64);
        let pruned: Vec<CheckpointId> =
            new.clone().map(|taken| taken.id.clone()).filter(|taken| !kept.contains(taken)).collect();
        let status = checked.run.status().as_str().to_owned();
        let summary = journal::summary_of_arrival(&checked.run, Timestamp::now());
        let is_here = self.store()?.holder(id).is_ok();
        if !is_here {
            let ids = checked.taken.iter().map(|taken| &taken.id).chain(beyond.iter().map(|one| &one.id));
            let ids: Vec<CheckpointId> = ids.cloned().collect();
            self.inspection()?.forget_deletion(id, &ids)?;
            let work = file.head.work.clone();
            self.store()?.create_run(NewRun {
                run: id.clone(),
                work,
                summary: b"{}".to_vec(),
                status: NEW.to_owned(),
            })?;
        }
        self.make_run_folder(id)?;
        // Whoever drives it next must have a later epoch than all that drove it elsewhere. Nobody drives it now.
        let held = self.take_lease(id, LeaseKind::Brief)?;
        self.inspection()?.raise_epoch(id, checked.run.epoch)?;
        drop(held);
        let lease = self.take_lease(id, LeaseKind::Brief)?;
        let event =
            |record: &Record| NewEvent { at: record.at, actor: record.actor.clone(), body: record.body.clone() };
        let events = file.records[here..].iter().map(event).collect();
        // Those first: the next patch is built on the newest one, and that must be the journal's.
        let beyond = beyond.into_iter().filter(|_| here == 0);
        let checkpoints: Vec<NewCheckpoint> = beyond.chain(new.map(journal::stored)).collect();
        let plan = &checked.run.started.plan_path;
        let took = |record: &Record| durations::row(plan, &journal::decode(id, record.clone()).ok()?);
        let durations = file.records[here..].iter().filter_map(took).collect();
        let compression = journal::compression(&checked.run);
        let entry = Entry { events, checkpoints, durations, status, summary, compression, ..Entry::default() };
        self.store()?.append(&lease, Seq(here as u64), entry)?;
        drop(lease);
        if !pruned.is_empty() {
            self.store()?.prune(&PruneList { checkpoints: pruned, ..PruneList::default() })?;
        }
        if let Some(last) = &checked.run.last_checkpoint {
            // Reading them may take many patches; without it that stays so, and nothing else.
            drop(put_keyframe(self.store()?, last, compression));
        }
        Ok(())
    }
}

/// Checkpoints in the file that its journal does not tell of, each as a whole.
fn beyond(file: &PortableRun, checked: &CheckedRun) -> Result<Vec<NewCheckpoint>> {
    let told: BTreeSet<&CheckpointId> = checked.taken.iter().map(|taken| &taken.id).collect();
    let (mut keyframe, mut patches) = (Vec::new(), Vec::new());
    let mut all = Vec::new();
    for one in &file.checkpoints {
        if let Some(whole) = &one.whole {
            (keyframe, patches) = (whole.clone(), Vec::new());
        }
        patches.extend(one.patches.iter().cloned());
        if told.contains(&one.id) {
            continue;
        }
        let document = checkpoint::keyframe(&keyframe, &patches);
        let document = document.map_err(|why| damaged(format!("checkpoint {} in it: {why}", one.id)))?;
        let content = StoredContent::Whole(document);
        all.push(NewCheckpoint { id: one.id.clone(), seq: one.seq, meta: one.meta.clone(), content });
    }
    Ok(all)
}

/// Which of two journals of one run goes on from the other.
fn lineage(id: &RunId, here: &[Record], there: &[Record]) -> Result<Lineage> {
    if here.is_empty() {
        return Ok(Lineage::New);
    }
    let both = here.len().min(there.len());
    // Each hash covers all records before it.
    if here[both - 1].hash != there[both - 1].hash {
        return Err(Error::OtherContent { run: id.clone() });
    }
    Ok(match here.len().cmp(&there.len()) {
        std::cmp::Ordering::Equal => Lineage::Same,
        std::cmp::Ordering::Greater => Lineage::OlderThanHere,
        std::cmp::Ordering::Less => Lineage::NewerThanHere { records: (there.len() - here.len()) as u64 },
    })
}
