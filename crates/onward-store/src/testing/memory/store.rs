//! The handle, and what the contract demands of it.

use std::{
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use jiff::Timestamp;
use onward_core::id::{CheckpointId, RunId, Seq};

use super::{
    pieces::Pieces,
    shared::{Held, Item, MemoryRun, Shared, assert_orderly},
};
use crate::{
    Store, chain, check,
    error::StoreError,
    lease::{BRIEF_WAIT_MAX, Holder, Lease, LeaseKind},
    types::{
        Appended, CheckpointFilter, CheckpointRow, Derived, Entry, Fold, InboxItem, KeyframeKept, NewRun, Page,
        PostedAs, PruneList, Pruned, Record, RunFilter, RunRow, StoredCheckpoint, TakenBack,
    },
};

const STEP: Duration = Duration::from_millis(1);

/// A handle to a store in memory.
pub struct MemoryStore {
    shared: Arc<Mutex<Shared>>,
    /// Commits of other handles that this one has heard of.
    seen: u64,
    /// Commits that this handle made since it last asked.
    own: u64,
}

/// Gives the run back when the lease is dropped.
struct Lock {
    shared: Arc<Mutex<Shared>>,
    run: RunId,
    epoch: u64,
}

impl Drop for Lock {
    fn drop(&mut self) {
        let mut shared = lock(&self.shared);
        if let Some(run) = shared.runs.get_mut(&self.run) {
            run.held.take_if(|held| held.epoch == self.epoch);
        }
    }
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

/// Another handle, which is like another process.
impl Clone for MemoryStore {
    fn clone(&self) -> Self {
        let seen = lock(&self.shared).commits;
        Self { shared: Arc::clone(&self.shared), seen, own: 0 }
    }
}

impl MemoryStore {
    pub fn new() -> Self {
        Self { shared: Arc::default(), seen: 0, own: 0 }
    }

    /// Frees a run's lock without its holder knowing, as a deleted lock file does.
    pub fn lose_lock(&self, run: &RunId) {
        if let Some(run) = lock(&self.shared).runs.get_mut(run) {
            run.held = None;
        }
    }

    /// Counts one commit and answers; nothing above it in a method may have changed anything and then failed.
    fn committed<T>(&mut self, mut shared: MutexGuard<'_, Shared>, answer: T) -> T {
        shared.commits += 1;
        self.own += 1;
        answer
    }
}

impl Store for MemoryStore {
    fn create_run(&mut self, new: NewRun) -> Result<(), StoreError> {
        check::new_run(&new)?;
        let handle = Arc::clone(&self.shared);
        let mut shared = lock(&handle);
        if shared.runs.contains_key(&new.run) || shared.buried_runs.contains(&new.run) {
            return Err(StoreError::AlreadyThere { id: new.run.to_string() });
        }
        shared.runs_made += 1;
        let run = MemoryRun {
            number: shared.runs_made,
            work: new.work,
            status: new.status,
            summary: new.summary,
            journal: Vec::new(),
            pieces: Pieces::default(),
            fold: None,
            inbox: Vec::new(),
            epoch: 0,
            held: None,
        };
        shared.runs.insert(new.run, run);
        self.committed(shared, Ok(()))
    }

    fn runs(&mut self, filter: &RunFilter, page: Page) -> Result<Vec<RunRow>, StoreError> {
        let shared = lock(&self.shared);
        let before = page.before.unwrap_or(u64::MAX);
        let fitting = shared.runs.iter().filter(|(id, run)| run.number < before && run.fits(id, filter));
        let mut rows: Vec<RunRow> = fitting.map(|(id, run)| run.row(id)).collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.number));
        rows.truncate(page.max);
        Ok(rows)
    }

    fn append(&mut self, lease: &Lease, expected: Seq, entry: Entry) -> Result<Appended, StoreError> {
        check::entry(&entry, expected)?;
        let handle = Arc::clone(&self.shared);
        let mut shared = lock(&handle);
        shared.demand_right(lease, expected, &entry)?;
        let id = lease.run();
        assert_orderly(&shared, shared.run(id)?, &entry);
        for new in entry.checkpoints {
            shared.store_checkpoint(id, new)?;
        }
        let run = shared.run_mut(id)?;
        for event in entry.events {
            run.add(id, event.at, event.actor, event.body);
        }
        for consumed in entry.consumed {
            let item = run.inbox.iter_mut().find(|item| item.id == consumed.id);
            item.expect("it was found waiting above").answer(consumed.reply);
        }
        run.status = entry.status;
        run.summary = entry.summary;
        let hash = run.journal.last().map_or_else(|| chain::start(id), |record| record.hash);
        let appended = Appended { head: run.head(), hash, chain: run.pieces.chain() };
        self.committed(shared, Ok(appended))
    }

    fn events(&mut self, run: &RunId, after: Seq, max: usize) -> Result<Vec<Record>, StoreError> {
        let shared = lock(&self.shared);
        let skip = usize::try_from(after.0).unwrap_or(usize::MAX);
        Ok(shared.run(run)?.journal.iter().skip(skip).take(max).cloned().collect())
    }

    fn checkpoints(&mut self, filter: CheckpointFilter<'_>, page: Page) -> Result<Vec<CheckpointRow>, StoreError> {
        let shared = lock(&self.shared);
        if let CheckpointFilter::OfRun(run) = filter {
            shared.run(run)?;
        }
        Ok(shared.newest(page, |row| match filter {
            CheckpointFilter::All => true,
            CheckpointFilter::OfRun(run) => row.run == *run,
            CheckpointFilter::IdPrefix(prefix) => row.id.as_str().starts_with(prefix),
        }))
    }

    fn checkpoint(&mut self, id: &CheckpointId) -> Result<Option<StoredCheckpoint>, StoreError> {
        Ok(lock(&self.shared).read_checkpoint(id))
    }

    fn put_derived(&mut self, derived: Derived) -> Result<KeyframeKept, StoreError> {
        let handle = Arc::clone(&self.shared);
        let mut shared = lock(&handle);
        let kept = match derived {
            Derived::Keyframe { checkpoint, document, compression: _ } => {
                check::value(&document)?;
                shared.put_keyframe(&checkpoint, document)
            }
            Derived::Fold { run, seq, version, bytes } => {
                check::value(&bytes)?;
                shared.run_mut(&run)?.put_fold(seq, version, bytes)?
            }
            Derived::NoFold { run } => {
                shared.run_mut(&run)?.fold = None;
                KeyframeKept::New
            }
        };
        match kept {
            KeyframeKept::New => self.committed(shared, Ok(KeyframeKept::New)),
            nothing @ (KeyframeKept::AlreadyThere | KeyframeKept::Gone) => Ok(nothing),
        }
    }

    fn fold(&mut self, run: &RunId) -> Result<Option<Fold>, StoreError> {
        Ok(lock(&self.shared).run(run)?.fold.clone())
    }

    fn take_lease(&mut self, run: &RunId, kind: LeaseKind, holder: Holder) -> Result<Lease, StoreError> {
        check::run_name(run)?;
        let handle = Arc::clone(&self.shared);
        let deadline = Instant::now() + BRIEF_WAIT_MAX;
        let mut shared = lock(&handle);
        while let Some(held) = &shared.run(run)?.held {
            if held.kind == LeaseKind::Driving || Instant::now() >= deadline {
                return Err(StoreError::Held { run: run.clone(), kind: held.kind, holder: held.holder.clone() });
            }
            drop(shared);
            thread::sleep(STEP);
            shared = lock(&handle);
        }
        let found = shared.run_mut(run)?;
        found.epoch += 1;
        let epoch = found.epoch;
        found.held = Some(Held { epoch, kind, holder });
        let number = found.number.cast_signed();
        let guard = Lock { shared: Arc::clone(&handle), run: run.clone(), epoch };
        self.committed(shared, Ok(Lease::new(run.clone(), kind, epoch, number, Box::new(guard))))
    }

    fn holder(&mut self, run: &RunId) -> Result<Option<(LeaseKind, Holder)>, StoreError> {
        check::run_name(run)?;
        let shared = lock(&self.shared);
        Ok(shared.run(run)?.held.as_ref().map(|held| (held.kind, held.holder.clone())))
    }

    fn post(&mut self, run: &RunId, id: &str, at: Timestamp, body: Vec<u8>) -> Result<PostedAs, StoreError> {
        check::value(&body)?;
        let handle = Arc::clone(&self.shared);
        let mut shared = lock(&handle);
        let found = shared.run_mut(run)?;
        if found.inbox.iter().any(|item| item.id == id) {
            return Ok(PostedAs::AlreadyThere);
        }
        found.inbox.push(Item { id: id.to_owned(), at, body, reply: None });
        self.committed(shared, Ok(PostedAs::New))
    }

    fn take_back(&mut self, run: &RunId, id: &str, reply: Vec<u8>) -> Result<TakenBack, StoreError> {
        check::value(&reply)?;
        let handle = Arc::clone(&self.shared);
        let mut shared = lock(&handle);
        let waits = shared.run_mut(run)?.inbox.iter_mut().find(|item| item.id == id && item.reply.is_none());
        let Some(item) = waits else { return Ok(TakenBack::Answered) };
        item.answer(reply);
        self.committed(shared, Ok(TakenBack::Yes))
    }

    fn inbox(&mut self, run: &RunId, max: usize) -> Result<Vec<InboxItem>, StoreError> {
        let shared = lock(&self.shared);
        let waiting = shared.run(run)?.inbox.iter().filter(|item| item.reply.is_none());
        Ok(waiting.take(max).map(|item| InboxItem { id: item.id.clone(), body: item.body.clone() }).collect())
    }

    fn reply(&mut self, run: &RunId, id: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let shared = lock(&self.shared);
        Ok(shared.run(run)?.inbox.iter().find(|item| item.id == id).and_then(|item| item.reply.clone()))
    }

    fn changed(&mut self) -> Result<bool, StoreError> {
        let commits = lock(&self.shared).commits;
        let others = commits - self.seen - mem::take(&mut self.own);
        self.seen = commits;
        Ok(others > 0)
    }

    fn prune(&mut self, list: &PruneList) -> Result<Pruned, StoreError> {
        let handle = Arc::clone(&self.shared);
        let mut shared = lock(&handle);
        for run in &list.runs {
            check::run_name(run)?;
            if let Some(held) = shared.runs.get(run).and_then(|found| found.held.as_ref()) {
                return Err(StoreError::Held { run: run.clone(), kind: held.kind, holder: held.holder.clone() });
            }
        }
        let checkpoints: u64 = list.checkpoints.iter().map(|id| shared.bury_checkpoint(id)).sum();
        let runs: u64 = list.runs.iter().map(|id| shared.bury_run(id)).sum();
        if let Some(before) = list.answered_before {
            for run in shared.runs.values_mut() {
                run.inbox.retain(|item| item.reply.is_none() || item.at >= before);
            }
        }
        self.committed(shared, Ok(Pruned { bytes_freed: checkpoints + runs }))
    }
}
