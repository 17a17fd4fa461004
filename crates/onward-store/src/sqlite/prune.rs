//! Deleting what a list names.

use std::fs;

use onward_core::id::{CheckpointId, RunId, Seq};
use rusqlite::{Connection, params};

use super::{
    append::checkpoint_seal,
    fault::SqliteResult,
    inbox,
    journal::place,
    runs::{RunColumns, is_there},
    store::SqliteStore,
    sweep,
    values::{BlobUse, Deleted, Released},
    write::OTHER,
};
use crate::{
    blob_files, check,
    codec::BlobId,
    error::StoreError,
    lease::LeaseKind,
    lock::RunLock,
    types::{PruneList, Pruned},
};

impl SqliteStore {
    pub(super) fn delete_listed(&mut self, list: &PruneList) -> Result<Pruned, StoreError> {
        self.demand_writable()?;
        // Held until the end: nobody may begin to drive what is being deleted.
        let locks = self.lock_all(&list.runs)?;
        let (mut bytes, deleted) = self.write(
            &OTHER,
            |connection, _| {
                let mut released = Released::default();
                let mut bytes = 0;
                let mut places = Vec::new();
                for id in &list.checkpoints {
                    bytes += delete_checkpoint(connection, id, &mut places, &mut released)?;
                }
                places.sort_unstable();
                bytes += sweep::around(connection, &places, &mut released)?;
                for id in &list.runs {
                    bytes += delete_run(connection, id, &mut released)?;
                }
                if let Some(before) = list.answered_before {
                    bytes += inbox::delete_answered(connection, before, &mut released)?;
                }
                let deleted = released.delete_unused(connection)?;
                Ok((bytes + deleted.bytes, deleted))
            },
            |connection| is_pruned(connection, list),
        )?;
        bytes += self.remove_blob_files(&self.unnamed_files(&deleted));
        for (id, lock) in locks {
            drop(fs::remove_file(self.lock_path(&id)));
            drop(lock);
        }
        Ok(Pruned { bytes_freed: bytes })
    }

    fn lock_all(&self, runs: &[RunId]) -> Result<Vec<(RunId, RunLock)>, StoreError> {
        let mut locks: Vec<(RunId, RunLock)> = Vec::new();
        for id in runs {
            check::run_name(id)?;
            let known = self.read(|connection| is_there(connection, id))?;
            if !known || locks.iter().any(|(locked, _)| locked == id) {
                continue;
            }
            let path = self.lock_path(id);
            let lock = RunLock::try_take(&path, LeaseKind::Brief);
            match lock.map_err(|error| StoreError::not_saved(&path, &error))? {
                Some(lock) => locks.push((id.clone(), lock)),
                None => return Err(self.held(id)?),
            }
        }
        Ok(locks)
    }

    /// Files that nothing names: those just released, and those that a killed process left behind.
    fn unnamed_files(&self, deleted: &Deleted) -> Vec<BlobId> {
        let mut files = deleted.files.clone();
        files.extend(blob_files::list(&self.folder.blobs()).into_iter().map(|(id, _)| id));
        files.sort_unstable();
        files.dedup();
        files
    }

    /// Removes files that the database does not name. Under the write lock, so that no one can begin to name one
    /// meanwhile; whoever wrote a file and waits for the lock looks again once it has it.
    pub(super) fn remove_blob_files(&self, ids: &[BlobId]) -> u64 {
        if ids.is_empty() || self.connection.execute_batch("BEGIN IMMEDIATE").is_err() {
            return 0;
        }
        let blobs = self.folder.blobs();
        let unnamed = |id: &&BlobId| matches!(is_named(&self.connection, id), Ok(false));
        let bytes = ids.iter().filter(unnamed).map(|id| blob_files::delete(&blobs, id)).sum();
        blob_files::sweep(&blobs);
        drop(self.connection.execute_batch("ROLLBACK"));
        bytes
    }
}

fn is_named(connection: &Connection, id: &BlobId) -> SqliteResult<bool> {
    Ok(connection.prepare_cached("SELECT 1 FROM blobs WHERE id = ?1 AND body IS NULL")?.exists([id])?)
}

/// Whether nothing of the list is left, which is what the commit was to bring about.
fn is_pruned(connection: &Connection, list: &PruneList) -> SqliteResult<bool> {
    for id in &list.runs {
        if is_there(connection, id)? {
            return Ok(false);
        }
    }
    let mut statement = connection.prepare_cached("SELECT 1 FROM checkpoints WHERE id = ?1")?;
    for id in &list.checkpoints {
        if statement.exists([id.as_str()])? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Deletes the row of a checkpoint and leaves a ghost at the place of its content.
fn delete_checkpoint(
    connection: &Connection,
    id: &CheckpointId,
    places: &mut Vec<i64>,
    released: &mut Released,
) -> SqliteResult<u64> {
    let mut statement = connection.prepare_cached(
        "DELETE FROM checkpoints WHERE id = ?1 RETURNING number, run, seq, bytes, place, seal, length(meta)",
    )?;
    let mut rows = statement.query([id.as_str()])?;
    let Some(row) = rows.next()? else { return Ok(0) };
    let (number, run, seq): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
    let (bytes, place, seal): (i64, i64, Vec<u8>) = (row.get(3)?, row.get(4)?, row.get(5)?);
    let freed: i64 = row.get(6)?;
    // A statement that returns rows is done only when it was asked for one more.
    while rows.next()?.is_some() {}
    // Where the row is damaged, the place may be another's. Then the content stays until its run goes.
    if checkpoint_seal(id.as_str(), run, seq, bytes, place).fits(&seal) {
        sweep::add_ghost(connection, place)?;
        places.push(place);
    }
    released.one(connection, run, BlobUse::CheckpointMeta, number)?;
    bury(connection, "checkpoint", id.as_str())?;
    Ok(freed.cast_unsigned())
}

fn delete_run(connection: &Connection, id: &RunId, released: &mut Released) -> SqliteResult<u64> {
    if !is_there(connection, id)? {
        return Ok(0);
    }
    let run = RunColumns::find(connection, id)?;
    let (first, last) = (place(run.number, Seq(0)), place(run.number, Seq(u64::from(u32::MAX))));
    let bytes: i64 = connection
        .prepare_cached(
            "SELECT (SELECT coalesce(sum(length(body)), 0) FROM records WHERE place BETWEEN ?2 AND ?3) \
                  + (SELECT coalesce(sum(length(meta)), 0) FROM checkpoints WHERE run = ?1) \
                  + (SELECT coalesce(sum(length(document)), 0) FROM keyframes WHERE place BETWEEN ?2 AND ?3) \
                  + (SELECT coalesce(sum(length(body)), 0) FROM patches WHERE place BETWEEN ?2 AND ?3) \
                  + (SELECT coalesce(sum(length(body)), 0) FROM folds WHERE run = ?1) \
                  + (SELECT length(summary) FROM runs WHERE number = ?1)",
        )?
        .query_row([run.number, first, last], |row| row.get(0))?;
    connection
        .prepare_cached("INSERT INTO tombstones (kind, id) SELECT 'checkpoint', id FROM checkpoints WHERE run = ?1")?
        .execute([run.number])?;
    for table in ["records", "keyframes", "patches", "ghosts"] {
        let sql = format!("DELETE FROM {table} WHERE place BETWEEN ?1 AND ?2");
        connection.prepare_cached(&sql)?.execute([first, last])?;
    }
    for sql in [
        "DELETE FROM checkpoints WHERE run = ?1",
        "DELETE FROM durations WHERE run = ?1",
        "DELETE FROM folds WHERE run = ?1",
        "DELETE FROM inbox WHERE run = ?1",
        "DELETE FROM leases WHERE run = ?1",
        "DELETE FROM runs WHERE number = ?1",
    ] {
        connection.prepare_cached(sql)?.execute([run.number])?;
    }
    released.all_of(connection, run.number)?;
    bury(connection, "run", id.as_str())?;
    Ok(bytes.cast_unsigned())
}

fn bury(connection: &Connection, kind: &str, id: &str) -> SqliteResult<()> {
    connection.prepare_cached("INSERT INTO tombstones (kind, id) VALUES (?1, ?2)")?.execute(params![kind, id])?;
    Ok(())
}
