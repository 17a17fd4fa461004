//! The floors: what the machine takes for the least that would do.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use rusqlite::{Connection, params};

use crate::Result;

/// Appends bytes and flushes them.
pub(crate) struct Flush(File);

impl Flush {
    pub(crate) fn new(folder: &Path) -> Result<Self> {
        Ok(Self(OpenOptions::new().create(true).append(true).open(folder.join("flush"))?))
    }

    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.0.write_all(bytes)?;
        self.0.sync_data()?;
        Ok(())
    }
}

/// `SQLite` with nothing around it, as durable as ours: a write-ahead log, flushed with every commit.
pub(crate) struct Commit(Connection);

impl Commit {
    pub(crate) fn new(folder: &Path) -> Result<Self> {
        let connection = Connection::open(folder.join("bare.db"))?;
        connection.execute_batch(
            "PRAGMA journal_mode = wal; PRAGMA synchronous = full;
             CREATE TABLE IF NOT EXISTS bare (number INTEGER PRIMARY KEY, body BLOB NOT NULL)",
        )?;
        Ok(Self(connection))
    }

    /// One commit with a row for each of the bodies.
    pub(crate) fn rows(&mut self, bodies: &[&[u8]]) -> Result<()> {
        let transaction = self.0.transaction()?;
        for body in bodies {
            transaction.prepare_cached("INSERT INTO bare (body) VALUES (?1)")?.execute(params![body])?;
        }
        transaction.commit()?;
        Ok(())
    }

    pub(crate) fn body(&self, number: i64) -> Result<Vec<u8>> {
        let mut statement = self.0.prepare_cached("SELECT body FROM bare WHERE number = ?1")?;
        Ok(statement.query_row([number], |row| row.get(0))?)
    }
}

/// Starts `/bin/true` and waits for it; the standard library does this with `posix_spawn`.
pub(crate) fn spawn() -> Result<()> {
    let status = Command::new("/bin/true").stdin(Stdio::null()).status()?;
    if status.success() { Ok(()) } else { Err("/bin/true failed".into()) }
}

/// The trace that a spawned process leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trace {
    Nothing,
    /// 64 bytes, flushed.
    Flushed,
}

/// So many processes, `slots` at a time, each followed by its trace in one file.
pub(crate) fn spawns(folder: &Path, count: usize, slots: usize, trace: Trace) -> Result<()> {
    let file = OpenOptions::new().create(true).append(true).open(folder.join("spawned"))?;
    std::thread::scope(|scope| {
        let work = |share: usize| {
            for _ in 0..share {
                spawn().map_err(|why| why.to_string())?;
                if trace == Trace::Flushed {
                    (&file).write_all(&[b'x'; 64]).and_then(|()| file.sync_data()).map_err(|why| why.to_string())?;
                }
            }
            Ok::<(), String>(())
        };
        let share = |slot: usize| count / slots + usize::from(slot < count % slots);
        let threads: Vec<_> = (0..slots).map(|slot| scope.spawn(move || work(share(slot)))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("it does not panic"))
    })?;
    Ok(())
}
