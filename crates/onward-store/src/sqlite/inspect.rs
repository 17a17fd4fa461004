//! Questions that only a check-up asks, and the one row that can be written anew without reading anything else.

use onward_core::id::{CheckpointId, RunId, Seq};
use rusqlite::{Connection, params};

use super::{
    checkpoints::Listed,
    fault::{Answer, Fault},
    journal,
    runs::{Run, is_buried},
    store::SqliteStore,
    values::{Packed, Released, Use},
    verify::check_structure,
    write::OTHER,
};
use crate::{
    blob_files, check,
    codec::BlobId,
    error::{Damage, StoreError},
    lease::Lease,
    types::Page,
};

/// A higher number does not fit into the key of a record.
pub(super) const RUNS_MAX: i64 = i32::MAX as i64;

impl SqliteStore {
    /// What the database says about its own structure, indexes included. It is blind to most flipped bits.
    pub fn check_structure(&self) -> Result<Vec<Damage>, StoreError> {
        self.read(check_structure)
    }

    /// Names of blob files that the database counts on and that are not there.
    pub fn missing_blob_files(&self) -> Result<Vec<String>, StoreError> {
        let ids: Vec<BlobId> = self.read(|connection| {
            let mut statement = connection.prepare_cached("SELECT id FROM blobs WHERE body IS NULL")?;
            Ok(statement.query_map((), |row| row.get(0))?.collect::<rusqlite::Result<_>>()?)
        })?;
        let blobs = self.folder.blobs();
        let missing = ids.iter().filter(|id| !blob_files::is_there(&blobs, id));
        Ok(missing.map(|id| blake3::Hash::from_bytes(*id).to_hex().to_string()).collect())
    }

    /// How many journals there are whose run is not listed: a row that went missing leaves its records behind.
    pub fn unlisted_journals(&self) -> Result<usize, StoreError> {
        self.read(|connection| {
            let (mut after, mut found) = (0_i64, 0);
            while let Some(place) = next_record(connection, after)? {
                let number = place >> 32;
                found += usize::from(Run::unchecked(connection, number)?.is_none());
                if number >= RUNS_MAX {
                    break;
                }
                after = journal::place(number + 1, Seq(0));
            }
            Ok(found)
        })
    }

    /// The checkpoints of a run that are listed and cannot be read, and what is wrong with each. Every content is read
    /// once, however many checkpoints are built on it.
    pub fn unreadable_checkpoints(&self, run: &RunId) -> Result<Vec<(CheckpointId, Damage)>, StoreError> {
        let good = self.good_contents(run)?;
        let listed = self.read(|connection| self.listed(connection, Some(run), Page::first(usize::MAX)))?;
        let mut bad = Vec::new();
        for Listed { row, place, .. } in listed {
            if row.damage.is_none() && good.binary_search(&place).is_ok() {
                continue;
            }
            match self.read_checkpoint(&row.id) {
                Ok(_) => {}
                Err(StoreError::Damaged(damage)) => bad.push((row.id, damage)),
                Err(other) => return Err(other),
            }
        }
        Ok(bad)
    }

    /// Whether a checkpoint was deleted on purpose.
    pub fn was_deleted(&self, id: &CheckpointId) -> Result<bool, StoreError> {
        self.read(|connection| is_buried(connection, "checkpoint", id.as_str()))
    }

    /// Whether a run was deleted on purpose.
    pub fn run_was_deleted(&self, run: &RunId) -> Result<bool, StoreError> {
        self.read(|connection| is_buried(connection, "run", run.as_str()))
    }

    /// Reads every item in the inbox of a run, and every answer.
    pub fn check_inbox(&self, run: &RunId) -> Result<(), StoreError> {
        self.waiting_items(run, usize::MAX)?;
        for item in self.item_ids(run)? {
            self.read_reply(run, &item)?;
        }
        Ok(())
    }

    /// Writes anew how a run is listed, and nothing else of it.
    pub fn relist(&mut self, lease: &Lease, status: &str, summary: &[u8]) -> Result<(), StoreError> {
        self.demand_writable()?;
        check::value(summary)?;
        let blobs = self.folder.blobs();
        let packed = Packed::new(summary, &blobs)?;
        let deleted = self.write(
            &OTHER,
            |connection, _| {
                let lost = || Fault::from(StoreError::LeaseLost { run: lease.run().clone() });
                let mut run = Run::by_number(connection, lease.number())?.ok_or_else(lost)?;
                status.clone_into(&mut run.status);
                let mut released = Released::default();
                released.one(connection, run.number, Use::Summary, 0)?;
                connection
                    .prepare_cached("UPDATE runs SET status = ?2, summary = ?3, seal = ?4 WHERE number = ?1")?
                    .execute(params![run.number, run.status, packed.column, run.seal().finish()])?;
                packed.keep(connection, &blobs, run.number, Use::Summary, 0)?;
                released.delete_unused(connection)
            },
            |_| Ok(false),
        )?;
        self.remove_blob_files(&deleted.files);
        Ok(())
    }
}

fn next_record(connection: &Connection, after: i64) -> Answer<Option<i64>> {
    let mut statement = connection.prepare_cached("SELECT min(place) FROM records WHERE place > ?1")?;
    Ok(statement.query_row([after], |row| row.get(0))?)
}
