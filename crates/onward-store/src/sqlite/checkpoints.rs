//! Reading checkpoints.

use std::path::Path;

use onward_core::id::{CheckpointId, RunId, Seq};
use rusqlite::{Connection, OptionalExtension, Row, params_from_iter, types::Value};

use super::{
    append::checkpoint_seal,
    fault::{Answer, Fault},
    runs::Run,
    store::SqliteStore,
    values,
};
use crate::{
    check,
    error::{Damage, StoreError},
    types::{CheckpointRow, Page, StoredCheckpoint},
};

const SELECT: &str = "SELECT c.number, c.id, c.run, c.seq, c.bytes, c.seal, c.meta, r.run \
                      FROM checkpoints c LEFT JOIN runs r ON r.number = c.run";

impl SqliteStore {
    pub(super) fn list_checkpoints(&self, of: Option<&RunId>, page: Page) -> Result<Vec<CheckpointRow>, StoreError> {
        let before = page.before.and_then(|before| i64::try_from(before).ok()).unwrap_or(i64::MAX);
        let max = i64::try_from(page.max).unwrap_or(i64::MAX);
        self.read(|connection| {
            let Some(run) = of else {
                let tail = "WHERE c.number < ?1 ORDER BY c.number DESC LIMIT ?2";
                return self.rows(connection, tail, &[before.into(), max.into()]);
            };
            let number = Run::find(connection, run)?.number;
            let tail = "WHERE c.run = ?1 AND c.number < ?2 ORDER BY c.number DESC LIMIT ?3";
            self.rows(connection, tail, &[number.into(), before.into(), max.into()])
        })
    }

    pub(super) fn checkpoints_with_prefix(&self, prefix: &str, limit: usize) -> Result<Vec<CheckpointRow>, StoreError> {
        let max = i64::try_from(limit).unwrap_or(i64::MAX);
        let from = || Value::from(prefix.to_owned());
        self.read(|connection| {
            let Some(end) = check::end_of_prefix(prefix) else {
                let tail = "WHERE c.id >= ?1 ORDER BY c.id LIMIT ?2";
                return self.rows(connection, tail, &[from(), max.into()]);
            };
            let tail = "WHERE c.id >= ?1 AND c.id < ?2 ORDER BY c.id LIMIT ?3";
            self.rows(connection, tail, &[from(), end.into(), max.into()])
        })
    }

    pub(super) fn read_checkpoint(&self, id: &CheckpointId) -> Result<Option<StoredCheckpoint>, StoreError> {
        let blobs = self.folder.blobs();
        self.read(|connection| {
            let found = self.rows(connection, "WHERE c.id = ?1", &[id.as_str().to_owned().into()])?;
            let Some(row) = found.into_iter().next() else { return demand_absent(connection, id) };
            if let Some(damage) = row.damage {
                return Err(damage.into());
            }
            let column: Vec<u8> = connection
                .prepare_cached("SELECT document FROM checkpoints WHERE number = ?1")?
                .query_row([row.number.cast_signed()], |row| row.get(0))?;
            let document =
                values::unpack(connection, &blobs, &column).map_err(|fault| name(fault, &row.run, row.seq))?;
            if document.len() as u64 != row.bytes {
                return Err(Damage::new("the document has the wrong length").of_run(&row.run).at(row.seq).into());
            }
            Ok(Some(StoredCheckpoint { row, document }))
        })
    }

    fn rows(&self, connection: &Connection, tail: &str, values: &[Value]) -> Answer<Vec<CheckpointRow>> {
        let blobs = self.folder.blobs();
        let mut statement = connection.prepare_cached(&format!("{SELECT} {tail}"))?;
        let mut rows = statement.query(params_from_iter(values))?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push(from_row(connection, &blobs, row)?);
        }
        Ok(found)
    }
}

fn from_row(connection: &Connection, blobs: &Path, row: &Row<'_>) -> Answer<CheckpointRow> {
    let (number, id): (i64, String) = (row.get(0)?, row.get(1)?);
    let (run, seq, bytes): (i64, i64, i64) = (row.get(2)?, row.get(3)?, row.get(4)?);
    let (seal, column): (Vec<u8>, Vec<u8>) = (row.get(5)?, row.get(6)?);
    let name: Option<String> = row.get(7)?;
    let mut found = CheckpointRow {
        id: CheckpointId::new(id),
        run: RunId::new(name.clone().unwrap_or_default()),
        number: number.cast_unsigned(),
        seq: Seq(seq.cast_unsigned()),
        meta: Vec::new(),
        bytes: bytes.cast_unsigned(),
        damage: None,
    };
    if name.is_none() || !checkpoint_seal(found.id.as_str(), run, seq, bytes).fits(&seal) {
        let what = format!("the row of checkpoint {} does not match its checksum", found.id);
        found.damage = Some(Damage::new(what).of_run(&found.run));
        return Ok(found);
    }
    match values::unpack(connection, blobs, &column) {
        Ok(meta) => found.meta = meta,
        Err(Fault::Store(StoreError::Damaged(damage))) => found.damage = Some(damage.of_run(&found.run).at(found.seq)),
        Err(other) => return Err(other),
    }
    Ok(found)
}

/// A damaged index can hide a row that is there; telling the two apart is worth a scan.
fn demand_absent(connection: &Connection, id: &CheckpointId) -> Answer<Option<StoredCheckpoint>> {
    let hidden: Option<i64> = connection
        .prepare_cached("SELECT number FROM checkpoints NOT INDEXED WHERE id = ?1")?
        .query_row([id.as_str()], |row| row.get(0))
        .optional()?;
    match hidden {
        Some(_) => Err(Damage::new("the index of checkpoints does not match its table").into()),
        None => Ok(None),
    }
}

fn name(fault: Fault, run: &RunId, seq: Seq) -> Fault {
    match fault {
        Fault::Store(StoreError::Damaged(damage)) => damage.of_run(run).at(seq).into(),
        other => other,
    }
}
