//! The list of runs.

use std::{
    collections::HashSet,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    path::Path,
};

use onward_core::id::{RunId, Seq};
use rusqlite::{Connection, OptionalExtension, Row, params, types::Value};

use super::{
    contents::Tail,
    fault::{SqliteFault, SqliteResult},
    store::SqliteStore,
    values::{self, BlobUse, Packed},
    write::OTHER,
};
use crate::{
    chain::{self, Hash},
    check,
    error::{Damage, StoreError},
    seal::Seal,
    types::{Chain, NewRun, Page, RunFilter, RunRow},
};

/// The narrow columns of a run, which its seal covers.
#[derive(Clone)]
pub(super) struct RunColumns {
    pub(super) number: i64,
    pub(super) id: RunId,
    pub(super) work: String,
    pub(super) status: String,
    pub(super) head: Seq,
    pub(super) hash: Hash,
    pub(super) tail: Tail,
    seal: Vec<u8>,
}

const COLUMNS: &str =
    "number, run, work, status, head, hash, seal, contents, link, patches, patch_bytes, keyframe_bytes";

impl RunColumns {
    /// The run with this id, checked; an error if there is none.
    pub(super) fn find(connection: &Connection, run: &RunId) -> SqliteResult<Self> {
        let sql = format!("SELECT {COLUMNS} FROM runs WHERE run = ?1");
        let found = connection.prepare_cached(&sql)?.query_row([run.as_str()], Self::from_row).optional()?;
        match found {
            Some(found) if found.id == *run => found.checked(),
            Some(_) => Err(index_damage(run)),
            None => {
                // A damaged index can hide a row that is there; telling the two apart is worth a scan.
                let hidden = connection
                    .prepare_cached("SELECT 1 FROM runs NOT INDEXED WHERE run = ?1")?
                    .exists([run.as_str()])?;
                Err(if hidden { index_damage(run) } else { StoreError::NoRun { run: run.clone() }.into() })
            }
        }
    }

    /// The run with this number, checked; `None` if it was deleted.
    pub(super) fn by_number(connection: &Connection, number: i64) -> SqliteResult<Option<Self>> {
        Self::unchecked(connection, number)?.map(Self::checked).transpose()
    }

    /// The run with this number as its row has it, right or wrong.
    pub(super) fn unchecked(connection: &Connection, number: i64) -> SqliteResult<Option<Self>> {
        let sql = format!("SELECT {COLUMNS} FROM runs WHERE number = ?1");
        Ok(connection.prepare_cached(&sql)?.query_row([number], Self::from_row).optional()?)
    }

    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            number: row.get(0)?,
            id: RunId::new(row.get::<_, String>(1)?),
            work: row.get(2)?,
            status: row.get(3)?,
            head: Seq(row.get::<_, i64>(4)?.cast_unsigned()),
            hash: row.get(5)?,
            seal: row.get(6)?,
            tail: Tail {
                contents: count(row.get(7)?),
                link: row.get(8)?,
                chain: Chain {
                    patches: count(row.get(9)?),
                    patch_bytes: row.get::<_, i64>(10)?.cast_unsigned(),
                    keyframe_bytes: row.get::<_, i64>(11)?.cast_unsigned(),
                },
            },
        })
    }

    fn checked(self) -> SqliteResult<Self> {
        self.check()?;
        Ok(self)
    }

    fn check(&self) -> Result<(), Damage> {
        if self.seal().fits(&self.seal) {
            return Ok(());
        }
        Err(Damage::new("the row of the run does not match its checksum").of_run(&self.id))
    }

    /// The seal as it should be, whatever is stored.
    pub(super) fn seal(&self) -> Seal {
        let Tail { contents, link, chain } = &self.tail;
        self.first_seal()
            .number(i64::from(*contents))
            .bytes(link)
            .number(i64::from(chain.patches))
            .number(chain.patch_bytes.cast_signed())
            .number(chain.keyframe_bytes.cast_signed())
    }

    /// The part of the seal that the first format had.
    fn first_seal(&self) -> Seal {
        Seal::new("runs")
            .number(self.number)
            .text(self.id.as_str())
            .text(&self.work)
            .text(&self.status)
            .number(self.head.0.cast_signed())
            .bytes(&self.hash)
    }

    pub(super) fn fits_first_format(&self) -> bool {
        self.first_seal().fits(&self.seal)
    }

    /// Writes where the contents end, with a seal that fits.
    pub(super) fn update_tail(&self, connection: &Connection) -> SqliteResult<()> {
        self.write_tail(connection, &self.seal().finish())
    }

    /// Writes where the contents end into a row that is damaged, and leaves it so.
    pub(super) fn update_tail_unsealed(&self, connection: &Connection) -> SqliteResult<()> {
        self.write_tail(connection, &self.seal)
    }

    fn write_tail(&self, connection: &Connection, seal: &[u8]) -> SqliteResult<()> {
        let Tail { contents, link, chain } = &self.tail;
        connection
            .prepare_cached(
                "UPDATE runs SET contents = ?2, link = ?3, patches = ?4, patch_bytes = ?5, keyframe_bytes = ?6, \
                 seal = ?7 WHERE number = ?1",
            )?
            .execute(params![
                self.number,
                contents,
                link,
                chain.patches,
                chain.patch_bytes.cast_signed(),
                chain.keyframe_bytes.cast_signed(),
                seal
            ])?;
        Ok(())
    }
}

/// A number that is out of range can only be damage. It becomes one that the seal does not fit, so that the row is
/// still listed.
fn count(stored: i64) -> u32 {
    u32::try_from(stored).unwrap_or(u32::MAX)
}

fn index_damage(run: &RunId) -> SqliteFault {
    Damage::new("the index of runs does not match its table").of_run(run).into()
}

pub(super) fn is_there(connection: &Connection, id: &RunId) -> SqliteResult<bool> {
    match RunColumns::find(connection, id) {
        Ok(_) => Ok(true),
        Err(SqliteFault::Store(StoreError::NoRun { .. })) => Ok(false),
        Err(other) => Err(other),
    }
}

/// Whether an id was deleted once.
pub(super) fn is_buried(connection: &Connection, kind: &str, id: &str) -> SqliteResult<bool> {
    let mut statement = connection.prepare_cached("SELECT 1 FROM tombstones WHERE kind = ?1 AND id = ?2")?;
    Ok(statement.exists([kind, id])?)
}

/// The ids that a handle has seen in the table of runs, so that it can make many runs without a scan of the table for each.
#[derive(Debug, Default)]
pub(super) enum ListedIds {
    #[default]
    Unread,
    /// One run was made. Most handles make no other.
    OneMade,
    /// Hashes of all ids, as of a state of the database that only this handle has changed since.
    All { hashes: HashSet<u64>, version: i64 },
}

impl ListedIds {
    /// Whether a run of this id is there, also where a damaged index hides it.
    fn has(&mut self, connection: &Connection, id: &RunId) -> SqliteResult<bool> {
        let now = connection.pragma_query_value(None, "data_version", |row| row.get(0))?;
        match self {
            Self::Unread => {
                *self = Self::OneMade;
                return is_there(connection, id);
            }
            Self::All { version, .. } if *version == now => {}
            Self::OneMade | Self::All { .. } => {
                let mut statement = connection.prepare_cached("SELECT run FROM runs NOT INDEXED")?;
                let read = statement.query_map((), |row| Ok(hash_of(row.get_ref(0)?.as_str()?)))?;
                *self = Self::All { hashes: read.collect::<rusqlite::Result<_>>()?, version: now };
            }
        }
        let may_be_there = matches!(self, Self::All { hashes, .. } if hashes.contains(&hash_of(id.as_str())));
        if may_be_there { is_there(connection, id) } else { Ok(false) }
    }

    fn add(&mut self, id: &RunId) {
        if let Self::All { hashes, .. } = self {
            hashes.insert(hash_of(id.as_str()));
        }
    }
}

fn hash_of(id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}

impl SqliteStore {
    pub(super) fn insert_run(&mut self, new: &NewRun) -> Result<(), StoreError> {
        self.demand_writable()?;
        check::new_run(new)?;
        let blobs = self.folder.blobs();
        let summary = Packed::new(&new.summary, &blobs)?;
        // Where the write fails the ids are read again.
        let mut listed = std::mem::take(&mut self.listed);
        self.write(
            &OTHER,
            |connection, _| {
                if listed.has(connection, &new.run)? || is_buried(connection, "run", new.run.as_str())? {
                    return Err(StoreError::AlreadyThere { id: new.run.to_string() }.into());
                }
                insert(connection, new, &summary, &blobs)
            },
            |connection| Ok(RunColumns::find(connection, &new.run).is_ok()),
        )?;
        listed.add(&new.run);
        self.listed = listed;
        Ok(())
    }

    pub(super) fn list_runs(&self, filter: &RunFilter, page: Page) -> Result<Vec<RunRow>, StoreError> {
        let (sql, values) = list_query(filter, page);
        let blobs = self.folder.blobs();
        self.read(|connection| {
            let mut statement = connection.prepare_cached(&sql)?;
            let mut rows = statement.query(rusqlite::params_from_iter(&values))?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                found.push(list_row(connection, &blobs, row)?);
            }
            Ok(found)
        })
    }
}

fn insert(connection: &Connection, new: &NewRun, summary: &Packed, blobs: &Path) -> SqliteResult<()> {
    connection
        .prepare_cached(
            "INSERT INTO runs (run, work, status, head, hash, seal, summary) VALUES (?1, ?2, ?3, 0, ?4, x'', ?5)",
        )?
        .execute(params![new.run.as_str(), new.work, new.status, chain::start(&new.run), summary.column])?;
    let run = RunColumns {
        number: connection.last_insert_rowid(),
        id: new.run.clone(),
        work: new.work.clone(),
        status: new.status.clone(),
        head: Seq(0),
        hash: chain::start(&new.run),
        tail: Tail::default(),
        seal: Vec::new(),
    };
    // The seal covers the number, which only the insert could give.
    connection
        .prepare_cached("UPDATE runs SET seal = ?2 WHERE number = ?1")?
        .execute(params![run.number, run.seal().finish()])?;
    summary.keep(connection, blobs, run.number, BlobUse::Summary, 0)
}

fn list_query(filter: &RunFilter, page: Page) -> (String, Vec<Value>) {
    let mut wheres = vec!["number < ?".to_owned()];
    let before = page.before.and_then(|before| i64::try_from(before).ok()).unwrap_or(i64::MAX);
    let mut values = vec![Value::from(before)];
    if let Some(work) = &filter.work {
        wheres.push("work = ?".to_owned());
        values.push(work.clone().into());
    }
    if let Some(prefix) = &filter.run_prefix {
        wheres.push("run >= ?".to_owned());
        values.push(prefix.clone().into());
        if let Some(end) = check::end_of_prefix(prefix) {
            wheres.push("run < ?".to_owned());
            values.push(end.into());
        }
    }
    if let Some(statuses) = &filter.statuses {
        wheres.push(format!("status IN ({})", vec!["?"; statuses.len()].join(", ")));
        values.extend(statuses.iter().map(|status| Value::from(status.clone())));
    }
    values.push(i64::try_from(page.max).unwrap_or(i64::MAX).into());
    let sql =
        format!("SELECT {COLUMNS}, summary FROM runs WHERE {} ORDER BY number DESC LIMIT ?", wheres.join(" AND "));
    (sql, values)
}

fn list_row(connection: &Connection, blobs: &Path, row: &Row<'_>) -> SqliteResult<RunRow> {
    let run = RunColumns::from_row(row)?;
    let column: Vec<u8> = row.get(12)?;
    let summary = match run.check() {
        Err(damage) => Err(damage),
        Ok(()) => match values::unpack(connection, blobs, &column) {
            Ok(summary) => Ok(summary),
            Err(SqliteFault::Store(StoreError::Damaged(damage))) => Err(damage.of_run(&run.id)),
            Err(other) => return Err(other),
        },
    };
    Ok(RunRow {
        run: run.id,
        number: run.number.cast_unsigned(),
        work: run.work,
        status: run.status,
        summary,
        head: run.head,
    })
}
