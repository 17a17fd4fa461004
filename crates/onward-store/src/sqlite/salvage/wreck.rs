//! Reading a damaged database: each row for itself, and past the pages that cannot be read.
//!
//! Nothing is believed that its checksum does not cover, so whatever comes out of here is what once was written.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use onward_core::id::{CheckpointId, RunId, Seq};
use rusqlite::{Connection, Row};

use super::{Journal, Letter, Naming, OldCheckpoint, OldRun};
use crate::{
    chain,
    error::Damage,
    sqlite::{
        append::checkpoint_seal, contents, inbox, inspect::RUNS_MAX, journal::place, leases, runs::RunColumns, values,
    },
    types::{CheckpointRow, InboxItem, Record, StoredCheckpoint},
};

const ROWS_PER_READ: usize = 256;
/// How many keys in a row may be unreadable before the rest of a table is given up.
const KEYS_SKIPPED_MAX: i64 = 20_000;
/// Runs that are looked for behind the last one known, where the counter itself is lost.
const RUNS_BEHIND_LAST: i64 = 64;
/// Runs that are looked for one by one, whatever a damaged number says.
const RUNS_SOUGHT_MAX: i64 = 1_000_000;

pub(super) struct Wreck {
    pub(super) connection: Connection,
    pub(super) blobs: PathBuf,
    /// Rows of checkpoints, by the number of their run.
    checkpoints: BTreeMap<i64, Vec<CheckpointColumns>>,
}

struct CheckpointColumns {
    number: i64,
    id: String,
    seq: i64,
    bytes: i64,
    place: i64,
    seal: Vec<u8>,
    meta: Vec<u8>,
}

impl Wreck {
    pub(super) fn new(connection: Connection, blobs: &Path) -> Self {
        let mut checkpoints: BTreeMap<i64, Vec<CheckpointColumns>> = BTreeMap::new();
        for (run, columns) in walk(&connection, "checkpoints", "run, id, seq, bytes, place, seal, meta", |row| {
            let columns = CheckpointColumns {
                number: row.get(0)?,
                id: row.get(2)?,
                seq: row.get(3)?,
                bytes: row.get(4)?,
                place: row.get(5)?,
                seal: row.get(6)?,
                meta: row.get(7)?,
            };
            Ok((row.get::<_, i64>(1)?, columns))
        }) {
            checkpoints.entry(run).or_default().push(columns);
        }
        Self { connection, blobs: blobs.to_owned(), checkpoints }
    }

    /// Every run of which there is a row, a record or a checkpoint, in order of creation.
    pub(super) fn runs(&self) -> Vec<OldRun> {
        let listed = walk(&self.connection, "runs", "number", |row| row.get::<_, i64>(0));
        let listed = listed.into_iter().chain(self.checkpoints.keys().copied());
        let mut numbers: BTreeSet<i64> = listed.filter(|number| (1..RUNS_MAX).contains(number)).collect();
        let known = numbers.last().copied().unwrap_or(0);
        let last = counter(&self.connection, "runs").unwrap_or(known + RUNS_BEHIND_LAST).max(known);
        for number in 1..=last.min(RUNS_SOUGHT_MAX) {
            if !numbers.contains(&number) && self.has_records(number) {
                numbers.insert(number);
            }
        }
        numbers.into_iter().map(OldRun).collect()
    }

    fn has_records(&self, number: i64) -> bool {
        let sql = "SELECT 1 FROM records WHERE place > ?1 AND place < ?2 LIMIT 1";
        let found = self.connection.prepare_cached(sql);
        let keys = [place(number, Seq(0)), place(number + 1, Seq(0))];
        found.and_then(|mut statement| statement.exists(keys)).unwrap_or(false)
    }

    /// The longest part of a journal, from its beginning, in which every record fits the one before it.
    pub(super) fn journal(&self, run: OldRun, name: &Naming<'_>) -> Journal {
        let row = RunColumns::unchecked(&self.connection, run.0).ok().flatten();
        let sealed = matches!(RunColumns::by_number(&self.connection, run.0), Ok(Some(_)));
        let id = row.as_ref().map(|row| row.id.clone());
        let mut journal = Journal { run: id, work: row.as_ref().map(|row| row.work.clone()), ..Journal::default() };
        let end = row.as_ref().filter(|_| sealed).map_or(u64::MAX, |row| row.head.0);
        if let Err(why) = self.read_records(run, end, name, &mut journal) {
            journal.cut = Some(why);
        }
        let Some(row) = row.filter(|_| sealed) else {
            journal.cut.get_or_insert_with(|| "the row of the run is lost, so nobody knows where it ended".to_owned());
            return journal;
        };
        let reached = journal.records.last().map_or(0, |record| record.seq.0);
        if reached < row.head.0 {
            journal.cut.get_or_insert_with(|| format!("record {} is missing", reached + 1));
            journal.lost = Some(row.head.0 - reached);
        } else if journal.records.last().is_some_and(|last| last.hash != row.hash) {
            journal.records.pop();
            journal.cut = Some("the last record is not the one the run knows of".to_owned());
            journal.lost = Some(1);
        }
        journal
    }

    fn read_records(&self, run: OldRun, end: u64, name: &Naming<'_>, journal: &mut Journal) -> Result<(), String> {
        let sql = "SELECT at, actor, hash, body, place FROM records WHERE place > ?1 AND place < ?2 ORDER BY place";
        let said = |error: rusqlite::Error| format!("the database says: {error}");
        let mut statement = self.connection.prepare_cached(sql).map_err(said)?;
        let keys = [place(run.0, Seq(0)), place(run.0 + 1, Seq(0))];
        let mut rows = statement.query(keys).map_err(said)?;
        let mut seq = Seq(0);
        while let Some(row) = rows.next().map_err(said)? {
            seq = seq.next();
            if seq.0 > end {
                return Ok(());
            }
            if row.get::<_, i64>(4).map_err(said)? != place(run.0, seq) {
                return Err(format!("record {seq} is missing"));
            }
            let record = self.record(row, seq, name, journal)?;
            journal.records.push(record);
        }
        Ok(())
    }

    fn record(&self, row: &Row<'_>, seq: Seq, name: &Naming<'_>, journal: &mut Journal) -> Result<Record, String> {
        let said = |error: rusqlite::Error| format!("record {seq} cannot be read: {error}");
        let (micros, actor): (i64, String) = (row.get(0).map_err(said)?, row.get(1).map_err(said)?);
        let (stored, column): (chain::Hash, Vec<u8>) = (row.get(2).map_err(said)?, row.get(3).map_err(said)?);
        let body = values::unpack(&self.connection, &self.blobs, &column)
            .map_err(|fault| format!("record {seq}: {}", fault.while_reading(Path::new("onward.db"))))?;
        let at =
            Timestamp::from_microsecond(micros).map_err(|_| format!("the time of record {seq} is out of range"))?;
        let hash = if let Some(last) = journal.records.last() {
            chain::next(&last.hash, seq, micros, &actor, &body)
        } else {
            // The first record is tied to the name of its run, so a name that fits is the right one.
            let first = |run: &RunId| chain::next(&chain::start(run), seq, micros, &actor, &body);
            if let Some((run, work)) = name(&body).filter(|(run, _)| first(run) == stored) {
                journal.run = Some(run);
                journal.work = Some(work);
            }
            journal.run.as_ref().map(first).unwrap_or_default()
        };
        if hash != stored {
            return Err(format!("record {seq} does not fit the one before it"));
        }
        Ok(Record { seq, at, actor, body, hash })
    }

    /// The checkpoints of a run, oldest first; of those that cannot be read, what is wrong.
    pub(super) fn checkpoints(&self, run: OldRun, id: &RunId) -> Vec<OldCheckpoint> {
        let rows = self.checkpoints.get(&run.0).map_or(&[][..], Vec::as_slice);
        rows.iter()
            .map(|columns| OldCheckpoint {
                id: CheckpointId::new(&columns.id),
                stored: self.checkpoint(run, id, columns),
            })
            .collect()
    }

    fn checkpoint(&self, run: OldRun, id: &RunId, columns: &CheckpointColumns) -> Result<StoredCheckpoint, Damage> {
        let CheckpointColumns { number, id: own, seq, bytes, place, seal, meta } = columns;
        if !checkpoint_seal(own, run.0, *seq, *bytes, *place).fits(seal) {
            return Err(Damage::new(format!("the row of checkpoint {own} does not match its checksum")).of_run(id));
        }
        let seq = Seq(seq.cast_unsigned());
        let damage = |fault: crate::sqlite::fault::SqliteFault| match fault.while_reading(Path::new("onward.db")) {
            crate::error::StoreError::Damaged(damage) => damage,
            other => Damage::new(other.to_string()).of_run(id).at(seq),
        };
        let meta = values::unpack(&self.connection, &self.blobs, meta).map_err(damage)?;
        let read = contents::read(&self.connection, &self.blobs, id, seq, *place).map_err(damage)?;
        let row = CheckpointRow {
            id: CheckpointId::new(own),
            run: id.clone(),
            number: number.cast_unsigned(),
            seq,
            meta,
            bytes: bytes.cast_unsigned(),
            damage: None,
        };
        Ok(StoredCheckpoint { row, keyframe: read.keyframe, patches: read.patches })
    }

    /// The inbox items of a run, in order, as far as they can be read.
    pub(super) fn letters(&self, run: OldRun) -> Vec<Letter> {
        let unpack = |column: &[u8]| values::unpack(&self.connection, &self.blobs, column).ok();
        let rows = walk(&self.connection, "inbox", "run, id, at, seal, body, reply", |row| {
            let (of, id, micros): (i64, String, i64) = (row.get(1)?, row.get(2)?, row.get(3)?);
            let (seal, body): (Vec<u8>, Vec<u8>) = (row.get(4)?, row.get(5)?);
            if of != run.0 || !inbox::seal(of, &id, micros).fits(&seal) {
                return Ok(None);
            }
            // An answer that cannot be read was given all the same: the item must not be answered twice.
            let reply = row.get::<_, Option<Vec<u8>>>(6)?.map(|column| unpack(&column).unwrap_or_default());
            let at = Timestamp::from_microsecond(micros).ok();
            Ok(at.zip(unpack(&body)).map(|(at, body)| Letter { item: InboxItem { id, body }, at, reply }))
        });
        rows.into_iter().flatten().collect()
    }

    /// The epoch of the newest lease; rows of leases have no checksum, so this is a hint.
    pub(super) fn epoch(&self, run: OldRun) -> Option<u64> {
        leases::epoch(&self.connection, run.0).ok().flatten()
    }

    /// Ids that were deleted, by kind; `None` if the list cannot be read to its end.
    pub(super) fn buried(&self) -> Option<Vec<(String, String)>> {
        let mut statement = self.connection.prepare("SELECT kind, id FROM tombstones").ok()?;
        let rows = statement.query_map((), |row| Ok((row.get(0)?, row.get(1)?))).ok()?;
        rows.collect::<rusqlite::Result<_>>().ok()
    }
}

/// The highest key that a table ever gave out.
fn counter(connection: &Connection, table: &str) -> Option<i64> {
    let sql = "SELECT seq FROM sqlite_sequence WHERE name = ?1";
    connection.prepare_cached(sql).ok()?.query_row([table], |row| row.get(0)).ok()
}

/// Every row of a table that counts its rows from 1, in order. Where a row cannot be read the walk goes on behind it.
fn walk<T>(
    connection: &Connection,
    table: &str,
    columns: &str,
    read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
) -> Vec<T> {
    let sql = format!("SELECT number, {columns} FROM {table} WHERE number > ?1 ORDER BY number LIMIT {ROWS_PER_READ}");
    let last = counter(connection, table);
    let (mut found, mut after, mut skipped) = (Vec::new(), 0_i64, 0_i64);
    let end = last.unwrap_or(i64::MAX - 1);
    while skipped < KEYS_SKIPPED_MAX && after < end {
        let mut seen = 0;
        match batch(connection, &sql, (after, end), &read, &mut |key, row| {
            after = key;
            seen += 1;
            found.extend(row);
        }) {
            Ok(()) if seen < ROWS_PER_READ => break,
            Ok(()) => {}
            Err(_) => after += 1,
        }
        skipped = if seen == 0 { skipped + 1 } else { 0 };
    }
    found
}

fn batch<T>(
    connection: &Connection,
    sql: &str,
    (after, end): (i64, i64),
    read: &impl Fn(&Row<'_>) -> rusqlite::Result<T>,
    take: &mut impl FnMut(i64, Option<T>),
) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([after])?;
    let mut last = after;
    while let Some(row) = rows.next()? {
        let key: i64 = row.get(0)?;
        if key <= last || key > end {
            // Out of order, or never given: the page is not what it says, and believing it would never end.
            return Err(rusqlite::Error::InvalidQuery);
        }
        last = key;
        take(key, read(row).ok());
    }
    Ok(())
}
