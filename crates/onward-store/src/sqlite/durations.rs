//! How long attempts took: rows beside the journals, which can be made again from them.

use onward_core::id::{RunId, Seq};
use rusqlite::{Connection, params};

use super::{fault::SqliteResult, runs::RunColumns, store::SqliteStore};
use crate::{error::StoreError, types::DurationRow};

pub(super) fn insert(connection: &Connection, run: i64, rows: &[DurationRow]) -> SqliteResult<()> {
    let mut statement = connection
        .prepare_cached("REPLACE INTO durations (plan, phase, ended, run, seq, ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
    for row in rows {
        let ms = i64::try_from(row.ms).unwrap_or(i64::MAX);
        statement.execute(params![row.plan, row.phase, row.ended, run, row.seq.0.cast_signed(), ms])?;
    }
    Ok(())
}

/// Puts these rows in the place of all that the run has.
pub(super) fn replace(connection: &Connection, run: i64, rows: &[DurationRow]) -> SqliteResult<()> {
    connection.prepare_cached("DELETE FROM durations WHERE run = ?1")?.execute([run])?;
    insert(connection, run, rows)
}

impl SqliteStore {
    pub(super) fn newest_durations(
        &self,
        plan: &str,
        phase: &str,
        ended: &str,
        max: usize,
    ) -> Result<Vec<u64>, StoreError> {
        let max = i64::try_from(max).unwrap_or(i64::MAX);
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT ms FROM durations WHERE plan = ?1 AND phase = ?2 AND ended = ?3 \
                 ORDER BY run DESC, seq DESC LIMIT ?4",
            )?;
            let rows = statement.query_map(params![plan, phase, ended, max], |row| row.get::<_, i64>(0))?;
            Ok(rows.map(|ms| ms.map(|ms| u64::try_from(ms).unwrap_or_default())).collect::<rusqlite::Result<_>>()?)
        })
    }

    pub(super) fn durations_of_run(&self, run: &RunId) -> Result<Vec<DurationRow>, StoreError> {
        self.read(|connection| {
            let run = RunColumns::find(connection, run)?;
            let mut statement = connection
                .prepare_cached("SELECT seq, plan, phase, ended, ms FROM durations WHERE run = ?1 ORDER BY seq")?;
            let rows = statement.query_map([run.number], |row| {
                Ok(DurationRow {
                    seq: Seq(row.get::<_, i64>(0)?.cast_unsigned()),
                    plan: row.get(1)?,
                    phase: row.get(2)?,
                    ended: row.get(3)?,
                    ms: row.get::<_, i64>(4)?.cast_unsigned(),
                })
            })?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }
}
