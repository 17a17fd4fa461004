//! Copies the write-ahead log into the database from a thread of its own, off the commit path.
//!
//! The log starts over only when all of it was copied before the next write. A writer that never pauses always adds a
//! little while the thread copies, so it copies that little itself, once, when the thread says that it is done.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI32, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::{self, JoinHandle},
};

use rusqlite::Connection;

use super::{
    fault::{SqliteFault, SqliteResult},
    flush, open,
};

/// Each time the log has grown by this many pages it is copied.
const PAGES_STEP: i32 = 1_000;
/// From this length on the thread is not relied on any more: the writer copies by itself.
const PAGES_MAX: i32 = 8_000;
/// A longer log would slow down the next process that opens the store.
pub(super) const PAGES_LEFT_AT_CLOSE: i32 = 64;

/// The thread, once it was needed. It ends when this is dropped.
#[derive(Default)]
pub(super) struct Backfill {
    worker: Option<Worker>,
    /// How long the log was when it was last asked for.
    asked_at: i32,
    /// Set by the thread when it has copied all that was there.
    is_done: Arc<AtomicBool>,
}

struct Worker {
    nudge: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Backfill {
    /// Looks at how long the log is after a commit, and does what is due.
    pub(super) fn after_commit(&mut self, pages: i32, database: &Path, connection: &Connection) {
        if pages < self.asked_at {
            // It started over.
            self.asked_at = 0;
        }
        if self.is_done.swap(false, Ordering::Relaxed) {
            checkpoint(connection, database);
        } else if pages - self.asked_at >= PAGES_STEP {
            self.asked_at = pages;
            if pages < PAGES_MAX {
                self.nudge(database);
            } else {
                checkpoint(connection, database);
            }
        }
    }

    fn nudge(&mut self, database: &Path) {
        let is_done = Arc::clone(&self.is_done);
        let worker = self.worker.get_or_insert_with(|| Worker::spawn(database.to_owned(), is_done));
        if let Some(nudge) = &worker.nudge {
            // Full means that a request waits already.
            let _ = nudge.try_send(());
        }
    }
}

impl Worker {
    fn spawn(database: PathBuf, is_done: Arc<AtomicBool>) -> Self {
        let (nudge, nudges) = sync_channel(1);
        let thread =
            thread::Builder::new().name("onward-backfill".to_owned()).spawn(move || copy(&database, &nudges, &is_done));
        Self { nudge: Some(nudge), thread: thread.ok() }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.nudge = None;
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

fn copy(database: &Path, nudges: &Receiver<()>, is_done: &AtomicBool) {
    let Ok(connection) = open::for_writing(database, &Arc::new(AtomicI32::new(0))) else { return };
    while nudges.recv().is_ok() {
        checkpoint(&connection, database);
        is_done.store(true, Ordering::Relaxed);
    }
}

/// Copies what no reader is in the way of. What cannot be copied now is copied later; nothing depends on it.
fn checkpoint(connection: &Connection, database: &Path) {
    let copied = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", (), |_| Ok(()));
    note(copied.map_err(SqliteFault::from), database);
}

/// A flush that failed is noted: before the next append all of the log is copied again.
fn note<T>(copied: SqliteResult<T>, database: &Path) {
    if let Err(SqliteFault::Database(error)) = copied
        && flush::has_failed(&error)
    {
        drop(flush::mark(database));
    }
}

/// Empties the log if nobody else uses it, without waiting for anyone.
pub(super) fn empty(connection: &Connection, database: &Path) {
    if connection.busy_timeout(std::time::Duration::ZERO).is_ok() {
        note(flush::empty_the_log(connection), database);
    }
}
