//! Reading a journal, and finding every record that is not what was written.

use std::path::Path;

use jiff::Timestamp;
use onward_core::id::{RunId, Seq};
use rusqlite::{Connection, OptionalExtension, Row};

use super::{
    fault::{SqliteFault, SqliteResult},
    runs::RunColumns,
    store::SqliteStore,
    values,
};
use crate::{
    chain::{self, Hash},
    error::{Damage, StoreError},
    types::Record,
};

/// The key of a record: the journals lie side by side, each in order.
pub(super) fn place(run: i64, seq: Seq) -> i64 {
    (run << 32) | seq.0.min(u64::from(u32::MAX)).cast_signed()
}

struct StoredRecord {
    seq: Seq,
    at: i64,
    actor: String,
    hash: Hash,
    column: Vec<u8>,
}

impl SqliteStore {
    pub(super) fn read_journal(&self, id: &RunId, after: Seq, max: usize) -> Result<Vec<Record>, StoreError> {
        self.read(|connection| {
            let run = RunColumns::find(connection, id)?;
            if after >= run.head || max == 0 {
                return Ok(Vec::new());
            }
            self.read_from(connection, &run, after, max)
        })
    }

    fn read_from(
        &self,
        connection: &Connection,
        run: &RunColumns,
        after: Seq,
        max: usize,
    ) -> SqliteResult<Vec<Record>> {
        let blobs = self.folder.blobs();
        let mut previous = hash_at(connection, run, after)?;
        let mut expected = after;
        let mut records = Vec::new();
        for stored in stored(connection, run, after, max)? {
            expected = expected.next();
            if stored.seq != expected {
                return Err(missing(run, expected));
            }
            let body =
                values::unpack(connection, &blobs, &stored.column).map_err(|fault| name(fault, run, expected))?;
            let hash = chain::next(&previous, stored.seq, stored.at, &stored.actor, &body);
            if hash != stored.hash {
                return Err(damage(run, expected, "the record does not fit the one before it"));
            }
            let at = Timestamp::from_microsecond(stored.at)
                .map_err(|_| damage(run, expected, "the time of the record is out of range"))?;
            previous = hash;
            records.push(Record { seq: expected, at, actor: stored.actor, body, hash });
        }
        if records.len() < max && expected != run.head {
            return Err(missing(run, expected.next()));
        }
        if expected == run.head && previous != run.hash {
            return Err(damage(run, expected, "the last record is not the one the run knows of"));
        }
        Ok(records)
    }
}

/// The hash that the record after `after` is chained to.
fn hash_at(connection: &Connection, run: &RunColumns, after: Seq) -> SqliteResult<Hash> {
    if after == Seq(0) {
        return Ok(chain::start(&run.id));
    }
    let hash = recorded_hash(connection, run.number, after).map_err(|fault| name(fault, run, after))?;
    hash.ok_or_else(|| missing(run, after))
}

/// The hash on record with one record.
pub(super) fn recorded_hash(connection: &Connection, run: i64, seq: Seq) -> SqliteResult<Option<Hash>> {
    let mut statement = connection.prepare_cached("SELECT hash FROM records WHERE place = ?1")?;
    Ok(statement.query_row([place(run, seq)], |row| row.get(0)).optional()?)
}

fn stored(connection: &Connection, run: &RunColumns, after: Seq, max: usize) -> SqliteResult<Vec<StoredRecord>> {
    let mut statement = connection.prepare_cached(
        "SELECT place, at, actor, hash, body FROM records WHERE place > ?1 AND place <= ?2 ORDER BY place LIMIT ?3",
    )?;
    let keys = (place(run.number, after), place(run.number, run.head), i64::try_from(max).unwrap_or(i64::MAX));
    let mut rows = statement.query(keys)?;
    let mut found = Vec::new();
    let mut reached = after;
    while let Some(row) = rows.next().map_err(|error| name(error.into(), run, reached.next()))? {
        reached = reached.next();
        found.push(from_row(row).map_err(|error| name(error.into(), run, reached))?);
    }
    Ok(found)
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<StoredRecord> {
    Ok(StoredRecord {
        seq: Seq((row.get::<_, i64>(0)? & i64::from(u32::MAX)).cast_unsigned()),
        at: row.get(1)?,
        actor: row.get(2)?,
        hash: row.get(3)?,
        column: row.get(4)?,
    })
}

/// Says where the damage is, if it is damage.
fn name(fault: SqliteFault, run: &RunColumns, seq: Seq) -> SqliteFault {
    SqliteFault::from(fault.while_reading(Path::new("onward.db"))).at(&run.id, seq)
}

fn missing(run: &RunColumns, seq: Seq) -> SqliteFault {
    damage(run, seq, "the record is missing")
}

fn damage(run: &RunColumns, seq: Seq, what: &str) -> SqliteFault {
    Damage::new(what).of_run(&run.id).at(seq).into()
}
