//! Reading checkpoints.

use std::path::Path;

use onward_core::id::{CheckpointId, RunId, Seq};
use rusqlite::{Connection, OptionalExtension, Row, params_from_iter, types::Value};

use super::{
    append::checkpoint_seal,
    contents::{self, Read},
    fault::{SqliteFault, SqliteResult},
    runs::RunColumns,
    store::SqliteStore,
    values,
};
use crate::{
    check,
    error::{Damage, StoreError},
    types::{CheckpointFilter, CheckpointRow, Page, StoredCheckpoint},
};

const SELECT: &str = "SELECT c.number, c.id, c.run, c.seq, c.bytes, c.seal, c.meta, c.place, r.run \
                      FROM checkpoints c LEFT JOIN runs r ON r.number = c.run";

/// A checkpoint as lists show it, and where its content lies.
pub(super) struct ListedRow {
    pub(super) row: CheckpointRow,
    /// The number of the run.
    pub(super) run: i64,
    pub(super) place: i64,
}

impl SqliteStore {
    pub(super) fn list_checkpoints(
        &self,
        filter: CheckpointFilter<'_>,
        page: Page,
    ) -> Result<Vec<CheckpointRow>, StoreError> {
        let listed = self.read(|connection| self.listed(connection, filter, page))?;
        Ok(listed.into_iter().map(|listed| listed.row).collect())
    }

    pub(super) fn listed(
        &self,
        connection: &Connection,
        filter: CheckpointFilter<'_>,
        page: Page,
    ) -> SqliteResult<Vec<ListedRow>> {
        let before = page.before.and_then(|before| i64::try_from(before).ok()).unwrap_or(i64::MAX);
        let max = i64::try_from(page.max).unwrap_or(i64::MAX);
        let mut values: Vec<Value> = vec![max.into(), before.into()];
        let wheres = match filter {
            CheckpointFilter::All => "c.number < ?2",
            CheckpointFilter::OfRun(run) => {
                values.push(RunColumns::find(connection, run)?.number.into());
                "c.number < ?2 AND c.run = ?3"
            }
            // The sign keeps the numbers from being searched instead of the ids.
            CheckpointFilter::IdPrefix(prefix) => {
                values.push(prefix.to_owned().into());
                match check::end_of_prefix(prefix) {
                    None => "+c.number < ?2 AND c.id >= ?3",
                    Some(end) => {
                        values.push(end.into());
                        "+c.number < ?2 AND c.id >= ?3 AND c.id < ?4"
                    }
                }
            }
        };
        let order = if matches!(filter, CheckpointFilter::IdPrefix(_)) { "+c.number" } else { "c.number" };
        rows(connection, &self.folder.blobs(), &format!("WHERE {wheres} ORDER BY {order} DESC LIMIT ?1"), &values)
    }

    pub(super) fn read_checkpoint(&self, id: &CheckpointId) -> Result<Option<StoredCheckpoint>, StoreError> {
        let blobs = self.folder.blobs();
        self.read(|connection| {
            let Some(ListedRow { row, place, .. }) = find(connection, &blobs, id)? else { return Ok(None) };
            if let Some(damage) = row.damage {
                return Err(damage.into());
            }
            let Read { keyframe, patches, is_added } = contents::read(connection, &blobs, &row.run, row.seq, place)?;
            let own = patches.last().unwrap_or(&keyframe);
            if own.len() as u64 != row.bytes && !is_added {
                return Err(Damage::new("the content has the wrong length").of_run(&row.run).at(row.seq).into());
            }
            Ok(Some(StoredCheckpoint { row, keyframe, patches }))
        })
    }

    pub(super) fn raw_content(&self, id: &CheckpointId) -> Result<Vec<u8>, StoreError> {
        let blobs = self.folder.blobs();
        self.read(|connection| {
            let place: Option<i64> = connection
                .prepare_cached("SELECT place FROM checkpoints NOT INDEXED WHERE id = ?1")?
                .query_row([id.as_str()], |row| row.get(0))
                .optional()?;
            let sql = "SELECT body FROM patches WHERE place = ?1 \
                       UNION ALL SELECT document FROM keyframes WHERE place = ?1 LIMIT 1";
            let column: Option<Vec<u8>> =
                connection.prepare_cached(sql)?.query_row([place], |row| row.get(0)).optional()?;
            column.map_or_else(|| Ok(Vec::new()), |column| values::raw(connection, &blobs, &column))
        })
    }
}

/// The checkpoint with this id. Its row may be damaged; then it says so.
pub(super) fn find(connection: &Connection, blobs: &Path, id: &CheckpointId) -> SqliteResult<Option<ListedRow>> {
    let found = rows(connection, blobs, "WHERE c.id = ?1", &[id.as_str().to_owned().into()])?;
    match found.into_iter().next() {
        Some(listed) => Ok(Some(listed)),
        None => demand_absent(connection, id).map(|()| None),
    }
}

fn rows(connection: &Connection, blobs: &Path, tail: &str, values: &[Value]) -> SqliteResult<Vec<ListedRow>> {
    let mut statement = connection.prepare_cached(&format!("{SELECT} {tail}"))?;
    let mut rows = statement.query(params_from_iter(values))?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(from_row(connection, blobs, row)?);
    }
    Ok(found)
}

fn from_row(connection: &Connection, blobs: &Path, row: &Row<'_>) -> SqliteResult<ListedRow> {
    let (number, id): (i64, String) = (row.get(0)?, row.get(1)?);
    let (run, seq, bytes): (i64, i64, i64) = (row.get(2)?, row.get(3)?, row.get(4)?);
    let (seal, column): (Vec<u8>, Vec<u8>) = (row.get(5)?, row.get(6)?);
    let (place, name): (i64, Option<String>) = (row.get(7)?, row.get(8)?);
    let mut found = CheckpointRow {
        id: CheckpointId::new(id),
        run: RunId::new(name.clone().unwrap_or_default()),
        number: number.cast_unsigned(),
        seq: Seq(seq.cast_unsigned()),
        meta: Vec::new(),
        bytes: bytes.cast_unsigned(),
        damage: None,
    };
    if name.is_none() || !checkpoint_seal(found.id.as_str(), run, seq, bytes, place).fits(&seal) {
        let what = format!("the row of checkpoint {} does not match its checksum", found.id);
        found.damage = Some(Damage::new(what).of_run(&found.run));
        return Ok(ListedRow { row: found, run, place });
    }
    match values::unpack(connection, blobs, &column) {
        Ok(meta) => found.meta = meta,
        Err(SqliteFault::Store(StoreError::Damaged(damage))) => {
            found.damage = Some(damage.of_run(&found.run).at(found.seq));
        }
        Err(other) => return Err(other),
    }
    Ok(ListedRow { row: found, run, place })
}

/// A damaged index can hide a row that is there; telling the two apart is worth a scan.
fn demand_absent(connection: &Connection, id: &CheckpointId) -> SqliteResult<()> {
    let hidden: Option<i64> = connection
        .prepare_cached("SELECT number FROM checkpoints NOT INDEXED WHERE id = ?1")?
        .query_row([id.as_str()], |row| row.get(0))
        .optional()?;
    match hidden {
        Some(_) => Err(Damage::new("the index of checkpoints does not match its table").into()),
        None => Ok(()),
    }
}
