//! Taking a run, and asking who has it.

use std::{
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

use jiff::Timestamp;
use nix::{errno::Errno, sys::signal::kill, unistd::Pid};
use onward_core::id::RunId;
use rusqlite::{Connection, OptionalExtension, params};

use super::{fault::SqliteResult, runs::RunColumns, store::SqliteStore, write::OTHER};
use crate::{
    check,
    error::StoreError,
    kill_point::reached,
    lease::{BRIEF_WAIT_MAX, Holder, Lease, LeaseKind},
    lock::{self, RunLock},
};

const STEP: Duration = Duration::from_millis(1);
/// How long to wait for a holder that has the lock to say who it is, or for the lock of one that is dead to become free.
const ANNOUNCEMENT_STEPS_MAX: u32 = 100;

/// The epoch of the newest lease on a run.
pub(super) fn epoch(connection: &Connection, run: i64) -> SqliteResult<Option<u64>> {
    let found: Option<i64> = connection
        .prepare_cached("SELECT epoch FROM leases WHERE run = ?1")?
        .query_row([run], |row| row.get(0))
        .optional()?;
    Ok(found.map(i64::cast_unsigned))
}

impl SqliteStore {
    pub(super) fn lock_and_record(
        &mut self,
        id: &RunId,
        kind: LeaseKind,
        holder: &Holder,
    ) -> Result<Lease, StoreError> {
        self.demand_writable()?;
        check::run_name(id)?;
        // A run that does not exist gets no lock file.
        let number = self.read(|connection| RunColumns::find(connection, id))?.number;
        let lock = self.wait_for_lock(id, kind)?;
        reached("lease.after-lock");
        let epoch = self.write(
            &OTHER,
            |connection, _| {
                // It may have been deleted while we waited for its lock.
                RunColumns::find(connection, id)?;
                record(connection, number, kind, holder)
            },
            |connection| Ok(read_holder(connection, number)?.as_ref() == Some(holder)),
        )?;
        reached("lease.after-row");
        lock.announce().map_err(|error| StoreError::not_saved(self.lock_path(id), &error))?;
        Ok(Lease::new(id.clone(), kind, epoch, number, Box::new(lock)))
    }

    fn wait_for_lock(&self, id: &RunId, kind: LeaseKind) -> Result<RunLock, StoreError> {
        let deadline = Instant::now() + BRIEF_WAIT_MAX;
        loop {
            let path = self.lock_path(id);
            if let Some(lock) = RunLock::try_take(&path, kind).map_err(|error| StoreError::not_saved(&path, &error))? {
                return Ok(lock);
            }
            let seen = lock::holder(&path).map_err(|error| StoreError::unreadable(&path, &error))?;
            let late = Instant::now() >= deadline;
            match seen.map(|seen| seen.kind) {
                Some(LeaseKind::Driving) => match self.who_holds(id)? {
                    // Its last child has the lock for a moment, and on a busy machine that moment is long.
                    Some((_, holder)) if is_gone(&holder) && !late => {}
                    Some((kind, holder)) => return Err(StoreError::Held { run: id.clone(), kind, holder }),
                    None => {}
                },
                Some(LeaseKind::Brief) | None if late => return Err(self.held(id)?),
                Some(LeaseKind::Brief) => thread::sleep(STEP),
                // It became free between the two questions.
                None => {}
            }
        }
    }

    /// The refusal, with whoever has the run by now.
    pub(super) fn held(&self, id: &RunId) -> Result<StoreError, StoreError> {
        let (kind, holder) = self.who_holds(id)?.unwrap_or((LeaseKind::Brief, Holder::unknown()));
        Ok(StoreError::Held { run: id.clone(), kind, holder })
    }

    pub(super) fn who_holds(&self, id: &RunId) -> Result<Option<(LeaseKind, Holder)>, StoreError> {
        check::run_name(id)?;
        let path = self.lock_path(id);
        let number = self.read(|connection| RunColumns::find(connection, id))?.number;
        for step in 1..=ANNOUNCEMENT_STEPS_MAX {
            let seen = lock::holder(&path).map_err(|error| StoreError::unreadable(&path, &error))?;
            match seen {
                None => return Ok(None),
                Some(seen) if seen.announced => {
                    let holder = self.read(|connection| read_holder(connection, number))?;
                    let holder = holder.unwrap_or_else(Holder::unknown);
                    if step == ANNOUNCEMENT_STEPS_MAX || !is_gone(&holder) {
                        return Ok(Some((seen.kind, holder)));
                    }
                    thread::sleep(STEP);
                }
                // It has the lock and is about to write down who it is.
                Some(_) => thread::sleep(STEP),
            }
        }
        let seen = lock::holder(&path).map_err(|error| StoreError::unreadable(&path, &error))?;
        Ok(seen.map(|seen| (seen.kind, Holder::unknown())))
    }

    pub(super) fn lock_path(&self, id: &RunId) -> PathBuf {
        lock::of_run(&self.folder.run(), id)
    }
}

/// Whether no process here has the number of the holder. It was killed while it started a child, which has the lock until it
/// becomes another program; or it is a process of another machine or container, so nothing is decided by this alone.
fn is_gone(holder: &Holder) -> bool {
    let pid = i32::try_from(holder.pid).unwrap_or(0);
    pid > 0 && kill(Pid::from_raw(pid), None) == Err(Errno::ESRCH)
}

fn record(connection: &Connection, run: i64, kind: LeaseKind, holder: &Holder) -> SqliteResult<u64> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO leases (run, epoch, kind, host, pid, since) VALUES (?1, 1, ?2, ?3, ?4, ?5) \
         ON CONFLICT (run) DO UPDATE SET epoch = epoch + 1, kind = ?2, host = ?3, pid = ?4, since = ?5 \
         RETURNING epoch",
    )?;
    let values = params![run, kind.as_str(), holder.host, holder.pid, holder.since.as_microsecond()];
    Ok(statement.query_row(values, |row| row.get::<_, i64>(0))?.cast_unsigned())
}

fn read_holder(connection: &Connection, run: i64) -> SqliteResult<Option<Holder>> {
    let mut statement = connection.prepare_cached("SELECT host, pid, since FROM leases WHERE run = ?1")?;
    let holder = statement.query_row([run], |row| {
        let since = Timestamp::from_microsecond(row.get(2)?).unwrap_or(Timestamp::UNIX_EPOCH);
        Ok(Holder { host: row.get(0)?, pid: row.get(1)?, since })
    });
    Ok(holder.optional()?)
}
