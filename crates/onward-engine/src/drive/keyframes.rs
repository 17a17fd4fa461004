//! Keyframes and the fold cache, written off the commit path: whole documents now and then, so that no checkpoint is
//! far from one. All of it can be dropped or missed without harm.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use onward_core::checkpoint;
use onward_core::config::Compression;
use onward_core::id::{CheckpointId, RunId, Seq};
use onward_core::run::{Run, cache};
use onward_store::{Appended, Chain, Derived, Store, StoreExt};

use crate::journal;
use crate::vcs::journal_piece::Copier;

/// Events behind the fold cache before a new one is written: opening a run reads no more than about this many.
const EVENTS_BEHIND_FOLD_MAX: u64 = 2000;
/// A run shorter than this is folded from its journal in no time.
const EVENTS_WORTH_A_FOLD: u64 = 500;
/// Bytes of patches that make reading the journal slower than reading a fold.
const BYTES_WORTH_A_FOLD: u64 = 1 << 20;
/// A patch counts for as many bytes at least: finding it and taking it apart takes as long as reading them.
const PATCH_WEIGHT_MIN: u64 = 512;
/// Below this a keyframe is not worth its commit.
const PATCH_BYTES_MIN: u64 = 16 * 1024;

/// Told after every commit.
pub trait CommitObserver {
    fn appended(&mut self, run: &Run, appended: &Appended);
}

/// Keeps nothing.
#[derive(Debug)]
pub struct KeepNothing;

impl CommitObserver for KeepNothing {
    fn appended(&mut self, _: &Run, _: &Appended) {}
}

/// Whether a reader of the newest checkpoint has so far to go that a whole document is due.
pub fn keyframe_is_due(chain: &Chain) -> bool {
    let weight = chain.patch_bytes.max(u64::from(chain.patches) * PATCH_WEIGHT_MIN);
    weight >= PATCH_BYTES_MIN && weight * 2 >= chain.keyframe_bytes
}

enum Job {
    Keyframe(CheckpointId, Option<Compression>),
    Fold(FoldSource),
}

/// The source of the fold cache.
enum FoldSource {
    /// The run as it stands, copied.
    Run(Box<Run>),
    /// All but written.
    Bytes(RunId, Seq, Vec<u8>),
}

/// A thread with a store handle of its own, started when there is something to do for the first time.
pub(crate) struct Keeper {
    folder: PathBuf,
    thread: Option<(Sender<Job>, JoinHandle<()>)>,
    /// Where the last fold cache stands, as far as this process knows.
    folded: u64,
    /// A whole document was asked for and is not there yet.
    asked: bool,
    /// How long the chain was after the last commit.
    patches_seen: u32,
    copier: Copier,
    /// The checkpoint up to which the journal was last asked to be copied.
    copied: Option<CheckpointId>,
}

impl Keeper {
    pub(crate) fn new(store: PathBuf, folded: u64) -> Self {
        let copier = Copier::new(store.clone());
        Self { folder: store, thread: None, folded, asked: false, patches_seen: 0, copier, copied: None }
    }

    /// The process is done with the run: a last fold, if the next start would have much to read.
    pub(crate) fn finish(&mut self, run: &Run) {
        if run.started.snapshots {
            self.copier.ask(&run.id);
        }
        if run.seq.0 - self.folded >= EVENTS_WORTH_A_FOLD {
            self.folded = run.seq.0;
            self.send(Job::Fold(FoldSource::Bytes(run.id.clone(), run.seq, cache::encode(run))));
        }
    }

    /// Copied, though a large one takes a while to copy: to make it of what is stored keeps another processor busy for
    /// much longer, and the commits wait for that one, too.
    fn fold(&mut self, run: &Run) {
        self.folded = run.seq.0;
        self.send(Job::Fold(FoldSource::Run(Box::new(run.clone()))));
    }

    fn send(&mut self, job: Job) {
        let folder = self.folder.clone();
        if self.thread.is_none() {
            let (sender, receiver) = channel();
            let thread = thread::Builder::new().spawn(move || work(&folder, &receiver));
            self.thread = thread.ok().map(|thread| (sender, thread));
        }
        // Without a thread, or with one that is gone, nothing is kept; whoever reads later reads a little longer.
        if let Some((sender, _)) = &self.thread {
            let _ = sender.send(job);
        }
    }
}

impl CommitObserver for Keeper {
    fn appended(&mut self, run: &Run, appended: &Appended) {
        let chain = &appended.chain;
        // A shorter chain than a moment ago: the whole document that was asked for is there.
        self.asked &= chain.patches >= self.patches_seen;
        self.patches_seen = chain.patches;
        let due = keyframe_is_due(chain) && !self.asked;
        // Where much was written since the last whole document, much would have to be read to fold it, too.
        let much = due && chain.patch_bytes >= BYTES_WORTH_A_FOLD;
        if much || run.seq.0 - self.folded >= EVENTS_BEHIND_FOLD_MAX {
            self.fold(run);
        }
        if run.started.snapshots && run.last_checkpoint != self.copied {
            self.copied.clone_from(&run.last_checkpoint);
            self.copier.ask(&run.id);
        }
        if due {
            self.asked = true;
            if let Some(id) = run.last_checkpoint.clone() {
                self.send(Job::Keyframe(id, journal::compression(run)));
            }
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        if let Some((sender, thread)) = self.thread.take() {
            drop(sender);
            let _ = thread.join();
        }
    }
}

/// Of several jobs of one kind that wait, only the newest is worth doing.
fn work(folder: &std::path::Path, jobs: &Receiver<Job>) {
    let Ok(mut store) = onward_store::open_if_there(folder) else { return };
    while let Ok(first) = jobs.recv() {
        let (mut keyframe, mut fold) = (None, None);
        for job in std::iter::once(first).chain(jobs.try_iter()) {
            match job {
                Job::Keyframe(id, compression) => keyframe = Some((id, compression)),
                Job::Fold(newer) => fold = Some(newer),
            }
        }
        match fold {
            Some(FoldSource::Run(run)) => drop(put_fold(&mut *store, &run)),
            Some(FoldSource::Bytes(run, seq, bytes)) => drop(store.put_fold(&run, seq, cache::FOLD_VERSION, bytes)),
            None => {}
        }
        if let Some((id, compression)) = keyframe {
            let _ = put_keyframe(&mut *store, &id, compression);
        }
    }
}

/// Writes the fold cache of a run.
pub fn put_fold(store: &mut dyn Store, run: &Run) -> Result<(), onward_store::StoreError> {
    store.put_fold(&run.id, run.seq, cache::FOLD_VERSION, cache::encode(run)).map(|_| ())
}

/// Writes a checkpoint as a whole, made of what is stored of it.
pub fn put_keyframe(
    store: &mut dyn Store,
    id: &CheckpointId,
    compression: Option<Compression>,
) -> Result<(), onward_store::StoreError> {
    if let Some(found) = store.checkpoint(id)?
        && !found.patches.is_empty()
        && let Ok(document) = checkpoint::keyframe(&found.keyframe, &found.patches)
    {
        store.put_derived(Derived::Keyframe { checkpoint: id.clone(), document, compression })?;
    }
    Ok(())
}
