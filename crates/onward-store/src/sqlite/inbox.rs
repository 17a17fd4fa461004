//! The inbox: requests posted to the driver of a run, and their replies.

use jiff::Timestamp;
use onward_core::id::RunId;
use rusqlite::{Connection, OptionalExtension, params};

use super::{
    fault::SqliteResult,
    runs::RunColumns,
    store::SqliteStore,
    values::{self, BlobUse, Packed, Released},
    write::OTHER,
};
use crate::{
    check, codec,
    error::{Damage, StoreError},
    seal::Seal,
    types::{InboxItem, PostedAs, TakenBack},
};

impl SqliteStore {
    pub(super) fn insert_item(
        &mut self,
        id: &RunId,
        item: &str,
        at: Timestamp,
        body: &[u8],
    ) -> Result<PostedAs, StoreError> {
        self.demand_writable()?;
        check::value(body)?;
        // Posting again is how a poster makes sure, so the usual second time costs no commit.
        let number = self.read(|connection| Ok(RunColumns::find(connection, id)?.number))?;
        if self.read(|connection| is_posted(connection, number, item))? {
            return Ok(PostedAs::AlreadyThere);
        }
        let blobs = self.folder.blobs();
        let packed = Packed::new(body, &blobs)?;
        self.write(
            &OTHER,
            |connection, _| {
                let run = RunColumns::find(connection, id)?;
                if is_posted(connection, run.number, item)? {
                    return Ok(PostedAs::AlreadyThere);
                }
                let place = insert(connection, run.number, item, at, &packed)?;
                packed.keep(connection, &blobs, run.number, BlobUse::Item, place)?;
                Ok(PostedAs::New)
            },
            |connection| is_posted(connection, number, item),
        )
    }

    pub(super) fn answer_item(&mut self, id: &RunId, item: &str, reply: &[u8]) -> Result<TakenBack, StoreError> {
        self.demand_writable()?;
        check::value(reply)?;
        let number = self.read(|connection| Ok(RunColumns::find(connection, id)?.number))?;
        let blobs = self.folder.blobs();
        let packed = Packed::new(reply, &blobs)?;
        let taken = self.write(
            &OTHER,
            |connection, _| {
                let mut released = Released::default();
                let place = consume(connection, &RunColumns::find(connection, id)?, item, &packed, &mut released)?;
                packed.keep(connection, &blobs, number, BlobUse::Reply, place)?;
                released.delete_unused(connection)
            },
            |connection| is_answered(connection, number, item),
        );
        match taken {
            Ok(deleted) => {
                self.remove_blob_files(&deleted.files);
                Ok(TakenBack::Yes)
            }
            Err(StoreError::NotWaiting { .. }) => Ok(TakenBack::Answered),
            Err(other) => Err(other),
        }
    }

    pub(super) fn waiting_items(&self, id: &RunId, max: usize) -> Result<Vec<InboxItem>, StoreError> {
        let blobs = self.folder.blobs();
        self.read(|connection| {
            let run = RunColumns::find(connection, id)?;
            let mut statement = connection.prepare_cached(
                "SELECT id, at, seal, body FROM inbox WHERE run = ?1 AND reply IS NULL ORDER BY number LIMIT ?2",
            )?;
            let mut rows = statement.query((run.number, i64::try_from(max).unwrap_or(i64::MAX)))?;
            let mut items = Vec::new();
            while let Some(row) = rows.next()? {
                let (item, at): (String, i64) = (row.get(0)?, row.get(1)?);
                let (stored, column): (Vec<u8>, Vec<u8>) = (row.get(2)?, row.get(3)?);
                if !seal(run.number, &item, at).fits(&stored) {
                    return Err(Damage::new("the row of an inbox item does not match its checksum").of_run(id).into());
                }
                let body = values::unpack(connection, &blobs, &column).map_err(|fault| fault.of_run(id))?;
                items.push(InboxItem { id: item, body });
            }
            Ok(items)
        })
    }

    pub(super) fn item_ids(&self, id: &RunId) -> Result<Vec<String>, StoreError> {
        self.read(|connection| {
            let run = RunColumns::find(connection, id)?;
            let mut statement = connection.prepare_cached("SELECT id FROM inbox WHERE run = ?1 ORDER BY number")?;
            let ids = statement.query_map([run.number], |row| row.get(0))?;
            Ok(ids.collect::<rusqlite::Result<_>>()?)
        })
    }

    pub(super) fn read_reply(&self, id: &RunId, item: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let blobs = self.folder.blobs();
        self.read(|connection| {
            let run = RunColumns::find(connection, id)?;
            let column: Option<Option<Vec<u8>>> = connection
                .prepare_cached("SELECT reply FROM inbox WHERE run = ?1 AND id = ?2")?
                .query_row((run.number, item), |row| row.get(0))
                .optional()?;
            let reply = column.flatten().map(|column| values::unpack(connection, &blobs, &column));
            reply.transpose().map_err(|fault| fault.of_run(id))
        })
    }
}

fn insert(connection: &Connection, run: i64, item: &str, at: Timestamp, body: &Packed) -> SqliteResult<i64> {
    let micros = at.as_microsecond();
    connection
        .prepare_cached("INSERT INTO inbox (run, id, at, seal, body) VALUES (?1, ?2, ?3, ?4, ?5)")?
        .execute(params![run, item, micros, seal(run, item, micros).finish(), body.column])?;
    Ok(connection.last_insert_rowid())
}

/// Stores the answer to a waiting item; refuses one that does not wait, for then somebody answered it before. The item itself is
/// emptied: whoever posted it may not have known what in it is secret, and nobody reads it any more.
pub(super) fn consume(
    connection: &Connection,
    run: &RunColumns,
    item: &str,
    reply: &Packed,
    released: &mut Released,
) -> SqliteResult<i64> {
    let mut statement = connection.prepare_cached(
        "UPDATE inbox SET reply = ?3, body = ?4 WHERE run = ?1 AND id = ?2 AND reply IS NULL RETURNING number",
    )?;
    let row = params![run.number, item, reply.column, codec::plain(&[])];
    let number: Option<i64> = statement.query_row(row, |row| row.get(0)).optional()?;
    let not_waiting = || StoreError::NotWaiting { run: run.id.clone(), id: item.to_owned() };
    let number = number.ok_or_else(not_waiting)?;
    released.one(connection, run.number, BlobUse::Item, number)?;
    Ok(number)
}

/// Deletes answered items that were posted before a time, of all runs; how many bytes of rows that freed.
pub(super) fn delete_answered(
    connection: &Connection,
    before: Timestamp,
    released: &mut Released,
) -> SqliteResult<u64> {
    let mut statement = connection.prepare_cached(
        "DELETE FROM inbox WHERE reply IS NOT NULL AND at < ?1 RETURNING run, number, length(body) + length(reply)",
    )?;
    let gone = statement.query_map([before.as_microsecond()], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let gone: Vec<(i64, i64, i64)> = gone.collect::<rusqlite::Result<_>>()?;
    for (run, number, _) in &gone {
        released.one(connection, *run, BlobUse::Item, *number)?;
        released.one(connection, *run, BlobUse::Reply, *number)?;
    }
    Ok(gone.iter().map(|(_, _, bytes)| bytes.cast_unsigned()).sum())
}

pub(super) fn is_answered(connection: &Connection, run: i64, item: &str) -> SqliteResult<bool> {
    let sql = "SELECT 1 FROM inbox WHERE run = ?1 AND id = ?2 AND reply IS NOT NULL";
    Ok(connection.prepare_cached(sql)?.exists((run, item))?)
}

fn is_posted(connection: &Connection, run: i64, item: &str) -> SqliteResult<bool> {
    Ok(connection.prepare_cached("SELECT 1 FROM inbox WHERE run = ?1 AND id = ?2")?.exists((run, item))?)
}

pub(super) fn seal(run: i64, item: &str, at: i64) -> Seal {
    Seal::new("inbox").number(run).text(item).number(at)
}
