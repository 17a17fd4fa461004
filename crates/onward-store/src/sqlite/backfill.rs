//! Copies the write-ahead log into the database from a thread of its own, off the commit path.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::AtomicI32,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::{self, JoinHandle},
};

use rusqlite::Connection;

use super::open;

/// From this many pages on the log is copied in the background.
pub(super) const PAGES_START: i32 = 1_000;
/// A writer that never pauses keeps the log from starting over; at this length it waits once, so the log stays bounded.
pub(super) const PAGES_MAX: i32 = 8_000;
/// A longer log would slow down the next process that opens the store.
pub(super) const PAGES_LEFT_AT_CLOSE: i32 = 64;

/// The thread, once it was needed. It ends when this is dropped.
#[derive(Default)]
pub(super) struct Backfill {
    worker: Option<Worker>,
}

struct Worker {
    nudge: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Backfill {
    /// Asks for the log to be copied. A second request while the first one waits changes nothing.
    pub(super) fn start(&mut self, database: &Path) {
        let worker = self.worker.get_or_insert_with(|| Worker::spawn(database.to_owned()));
        if let Some(nudge) = &worker.nudge {
            // Full means that a request waits already.
            let _ = nudge.try_send(());
        }
    }
}

impl Worker {
    fn spawn(database: PathBuf) -> Self {
        let (nudge, nudges) = sync_channel(1);
        let thread = thread::Builder::new().name("onward-backfill".to_owned()).spawn(move || copy(&database, &nudges));
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

fn copy(database: &Path, nudges: &Receiver<()>) {
    let Ok(connection) = open::for_writing(database, &Arc::new(AtomicI32::new(0))) else { return };
    while nudges.recv().is_ok() {
        checkpoint(&connection);
    }
}

/// Copies what no reader is in the way of. What cannot be copied now is copied later; nothing depends on it.
pub(super) fn checkpoint(connection: &Connection) {
    drop(connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", (), |_| Ok(())));
}

/// Empties the log if nobody else uses it, without waiting for anyone.
pub(super) fn empty(connection: &Connection) {
    if connection.busy_timeout(std::time::Duration::ZERO).is_ok() {
        drop(connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |_| Ok(())));
    }
}
