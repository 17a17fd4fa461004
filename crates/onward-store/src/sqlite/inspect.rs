//! Questions of a check-up, and steps of a repair.

use onward_core::id::{CheckpointId, RunId, Seq};
use rusqlite::{Connection, params};

use super::{
    durations,
    fault::{SqliteFault, SqliteResult},
    journal,
    runs::{RunColumns, is_buried},
    schema,
    store::SqliteStore,
    values::{BlobUse, Packed, Released},
    verify::check_structure,
    write::OTHER,
};
use crate::{
    Inspection, OpenMode, blob_files, check,
    codec::BlobId,
    error::{Damage, StoreError},
    head,
    lease::Lease,
    types::{DurationRow, Health},
};

/// A higher number does not fit into the key of a record.
pub(super) const RUNS_MAX: i64 = i32::MAX as i64;

impl Inspection for SqliteStore {
    fn health(&mut self) -> Health {
        self.look_at_itself()
    }

    fn verify(&mut self) -> Result<Vec<Damage>, StoreError> {
        self.verify_everything()
    }

    fn check_structure(&mut self) -> Result<Vec<Damage>, StoreError> {
        self.read(check_structure)
    }

    fn missing_blob_files(&mut self) -> Result<Vec<String>, StoreError> {
        let ids: Vec<BlobId> = self.read(|connection| {
            let mut statement = connection.prepare_cached("SELECT id FROM blobs WHERE body IS NULL")?;
            Ok(statement.query_map((), |row| row.get(0))?.collect::<rusqlite::Result<_>>()?)
        })?;
        let blobs = self.folder.blobs();
        let missing = ids.iter().filter(|id| !blob_files::is_there(&blobs, id));
        Ok(missing.map(|id| blake3::Hash::from_bytes(*id).to_hex().to_string()).collect())
    }

    fn unlisted_journals(&mut self) -> Result<usize, StoreError> {
        self.read(|connection| {
            let (mut after, mut found) = (0_i64, 0);
            while let Some(place) = next_record(connection, after)? {
                let number = place >> 32;
                found += usize::from(RunColumns::unchecked(connection, number)?.is_none());
                if number >= RUNS_MAX {
                    break;
                }
                after = journal::place(number + 1, Seq(0));
            }
            Ok(found)
        })
    }

    fn unreadable_checkpoints(&mut self, run: &RunId) -> Result<Vec<(CheckpointId, Damage)>, StoreError> {
        self.bad_checkpoints(run)
    }

    fn raw_checkpoint(&mut self, id: &CheckpointId) -> Result<Vec<u8>, StoreError> {
        self.raw_content(id)
    }

    fn checkpoint_was_deleted(&mut self, id: &CheckpointId) -> Result<bool, StoreError> {
        self.read(|connection| is_buried(connection, "checkpoint", id.as_str()))
    }

    fn run_was_deleted(&mut self, run: &RunId) -> Result<bool, StoreError> {
        self.read(|connection| is_buried(connection, "run", run.as_str()))
    }

    fn forget_deletion(&mut self, run: &RunId, checkpoints: &[CheckpointId]) -> Result<(), StoreError> {
        self.demand_writable()?;
        self.write(
            &OTHER,
            |connection, _| {
                let mut statement = connection.prepare_cached("DELETE FROM tombstones WHERE kind = ?1 AND id = ?2")?;
                statement.execute(["run", run.as_str()])?;
                for id in checkpoints {
                    statement.execute(["checkpoint", id.as_str()])?;
                }
                Ok(())
            },
            |connection| Ok(!is_buried(connection, "run", run.as_str())?),
        )
    }

    fn raise_epoch(&mut self, run: &RunId, epoch: u64) -> Result<(), StoreError> {
        self.demand_writable()?;
        let epoch = i64::try_from(epoch).unwrap_or(i64::MAX);
        self.write(
            &OTHER,
            |connection, _| {
                let number = RunColumns::find(connection, run)?.number;
                let sql = "UPDATE leases SET epoch = max(epoch, ?2) WHERE run = ?1";
                Ok(connection.prepare_cached(sql)?.execute([number, epoch]).map(drop)?)
            },
            |_| Ok(false),
        )
    }

    fn check_inbox(&mut self, run: &RunId) -> Result<(), StoreError> {
        self.verify_inbox(run)
    }

    fn accept_loss(&mut self) -> Result<(), StoreError> {
        if self.mode == OpenMode::Look {
            return Err(StoreError::LookOnly);
        }
        let meta = self.read(schema::meta)?;
        let path = self.folder.head();
        head::force(&path, &meta.head()).map_err(|error| StoreError::not_saved(path, &error))
    }

    fn durations(&mut self, plan: &str, phase: &str, ended: &str, max: usize) -> Result<Vec<u64>, StoreError> {
        self.newest_durations(plan, phase, ended, max)
    }

    fn durations_of(&mut self, run: &RunId) -> Result<Vec<DurationRow>, StoreError> {
        self.durations_of_run(run)
    }

    fn relist(
        &mut self,
        lease: &Lease,
        status: &str,
        summary: &[u8],
        durations: &[DurationRow],
    ) -> Result<(), StoreError> {
        self.demand_writable()?;
        check::value(summary)?;
        let blobs = self.folder.blobs();
        let packed = Packed::new(summary, &blobs)?;
        let deleted = self.write(
            &OTHER,
            |connection, _| {
                let lost = || SqliteFault::from(StoreError::LeaseLost { run: lease.run().clone() });
                let mut run = RunColumns::by_number(connection, lease.number())?.ok_or_else(lost)?;
                status.clone_into(&mut run.status);
                let mut released = Released::default();
                released.one(connection, run.number, BlobUse::Summary, 0)?;
                connection
                    .prepare_cached("UPDATE runs SET status = ?2, summary = ?3, seal = ?4 WHERE number = ?1")?
                    .execute(params![run.number, run.status, packed.column, run.seal().finish()])?;
                packed.keep(connection, &blobs, run.number, BlobUse::Summary, 0)?;
                durations::replace(connection, run.number, durations)?;
                released.delete_unused(connection)
            },
            |_| Ok(false),
        )?;
        self.remove_blob_files(&deleted.files);
        Ok(())
    }
}

fn next_record(connection: &Connection, after: i64) -> SqliteResult<Option<i64>> {
    let mut statement = connection.prepare_cached("SELECT min(place) FROM records WHERE place > ?1")?;
    Ok(statement.query_row([after], |row| row.get(0))?)
}
