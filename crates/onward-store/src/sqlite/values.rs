//! Where a value of a caller is kept: in its row, in the table of blobs, or in a file.

use std::path::Path;

use onward_core::config::Compression;
use onward_core::mutant::{self, Defect};
use rusqlite::{Connection, OptionalExtension, params};

use super::fault::SqliteResult;
use crate::{
    blob_files,
    chain::{self, Hash},
    codec::{self, BlobId, PackedContent},
    error::{Damage, StoreError},
};

/// Longer values leave their row, so that lists and journals stay quick to read.
const ROW_BYTES_MAX: usize = 8 * 1024;
/// Shorter values stay as they are: what would be saved is not worth the time.
const PLAIN_BYTES_MAX: usize = 1000;
/// Longer blobs, as stored, leave the database, so that a commit stays short.
const TRANSACTION_BYTES_MAX: usize = 1024 * 1024;

/// A value, ready to be stored. What had to be written before the transaction has been.
pub(super) struct Packed {
    /// The bytes of the column: the value itself, or the name of a blob.
    pub(super) column: Vec<u8>,
    blob: Option<Blob>,
}

struct Blob {
    id: BlobId,
    bytes: usize,
    envelope: Vec<u8>,
}

/// The kind of record that names a blob; together with the run and a number it is the key of a use. The numbers are
/// stored.
#[derive(Clone, Copy)]
pub(super) enum BlobUse {
    Record = 1,
    Keyframe = 2,
    CheckpointMeta = 3,
    Summary = 4,
    Item = 5,
    Reply = 6,
    Patch = 7,
    Fold = 8,
}

impl Blob {
    fn is_file(&self) -> bool {
        self.envelope.len() > TRANSACTION_BYTES_MAX
    }
}

impl Packed {
    /// Compresses and hashes what is large, and writes what is very large. Call it outside the transaction.
    pub(super) fn new(value: &[u8], blobs: &Path) -> Result<Self, StoreError> {
        Self::in_form(value, blobs, None)
    }

    /// The same, compressed or not where somebody has a word on it.
    pub(super) fn in_form(value: &[u8], blobs: &Path, said: Option<Compression>) -> Result<Self, StoreError> {
        let pack = || match said.unwrap_or_else(codec::compression) {
            Compression::On => codec::compressed(value),
            Compression::Off => codec::plain(value),
        };
        if value.len() <= PLAIN_BYTES_MAX {
            return Ok(Self { column: codec::plain(value), blob: None });
        }
        if value.len() <= ROW_BYTES_MAX {
            return Ok(Self { column: pack(), blob: None });
        }
        let id: BlobId = *blake3::hash(value).as_bytes();
        let blob = Blob { id, bytes: value.len(), envelope: pack() };
        if blob.is_file() {
            blob_files::put(blobs, &id, &blob.envelope)?;
        }
        Ok(Self { column: codec::blob(&id, value.len()), blob: Some(blob) })
    }

    /// The hash of the value that was packed, which is known already where it is costly to make.
    pub(super) fn hash_of(&self, value: &[u8]) -> Hash {
        self.blob.as_ref().map_or_else(|| chain::whole(value), |blob| blob.id)
    }

    /// Stores the blob, if there is one, and notes what names it.
    pub(super) fn keep(
        &self,
        connection: &Connection,
        blobs: &Path,
        run: i64,
        kind: BlobUse,
        place: i64,
    ) -> SqliteResult<()> {
        let Some(blob) = &self.blob else { return Ok(()) };
        // Another process may have deleted the file again before our transaction began. From here on it cannot.
        if blob.is_file() && !blob_files::is_there(blobs, &blob.id) {
            blob_files::put(blobs, &blob.id, &blob.envelope)?;
        }
        let body = (!blob.is_file()).then_some(&blob.envelope);
        connection
            .prepare_cached("INSERT INTO blobs (id, bytes, body) VALUES (?1, ?2, ?3) ON CONFLICT (id) DO NOTHING")?
            .execute(params![blob.id, (blob.bytes as u64).cast_signed(), body])?;
        connection
            .prepare_cached("INSERT INTO blob_uses (run, kind, place, blob) VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![run, kind as i64, place, blob.id])?;
        Ok(())
    }
}

/// The value behind a column.
pub(super) fn unpack(connection: &Connection, blobs: &Path, column: &[u8]) -> SqliteResult<Vec<u8>> {
    match codec::open(column)? {
        PackedContent::Plain(value) => Ok(value),
        PackedContent::Blob { id, bytes } => read_blob(connection, blobs, &id, bytes),
    }
}

/// The value behind a column as far as it can be read, unchecked.
pub(super) fn raw(connection: &Connection, blobs: &Path, column: &[u8]) -> SqliteResult<Vec<u8>> {
    let id = match codec::raw(column) {
        PackedContent::Plain(value) => return Ok(value),
        PackedContent::Blob { id, .. } => id,
    };
    let row: Option<Option<Vec<u8>>> = connection
        .prepare_cached("SELECT body FROM blobs WHERE id = ?1")?
        .query_row([id], |row| row.get(0))
        .optional()?;
    let envelope = row.flatten().or_else(|| blob_files::get(blobs, &id).ok()).unwrap_or_default();
    match codec::raw(&envelope) {
        PackedContent::Plain(value) => Ok(value),
        PackedContent::Blob { .. } => Ok(envelope),
    }
}

/// The value behind a column, and its hash.
pub(super) fn unpack_hashed(connection: &Connection, blobs: &Path, column: &[u8]) -> SqliteResult<(Vec<u8>, Hash)> {
    match codec::open(column)? {
        PackedContent::Plain(value) => {
            let hash = chain::whole(&value);
            Ok((value, hash))
        }
        PackedContent::Blob { id, bytes } => Ok((read_blob(connection, blobs, &id, bytes)?, id)),
    }
}

fn read_blob(connection: &Connection, blobs: &Path, id: &BlobId, bytes: u64) -> SqliteResult<Vec<u8>> {
    let row: Option<Option<Vec<u8>>> = connection
        .prepare_cached("SELECT body FROM blobs WHERE id = ?1")?
        .query_row([id], |row| row.get(0))
        .optional()?;
    let envelope = match row {
        Some(Some(envelope)) => envelope,
        Some(None) => blob_files::get(blobs, id)?,
        None => return Err(Damage::new("a blob is missing").into()),
    };
    match codec::open(&envelope)? {
        PackedContent::Plain(value) if value.len() as u64 == bytes && blake3::hash(&value) == *id => Ok(value),
        PackedContent::Plain(_) | PackedContent::Blob { .. } => {
            Err(Damage::new("a blob is not the value it is named after").into())
        }
    }
}

/// Blobs that may have lost their last use.
#[derive(Default)]
pub(super) struct Released {
    ids: Vec<BlobId>,
}

/// The space that was freed.
#[derive(Default)]
pub(super) struct Deleted {
    /// Bytes inside the database.
    pub(super) bytes: u64,
    /// Files that nothing names any more; they go after the commit.
    pub(super) files: Vec<BlobId>,
}

impl Released {
    /// Forgets one use of a blob.
    pub(super) fn one(&mut self, connection: &Connection, run: i64, kind: BlobUse, place: i64) -> SqliteResult<()> {
        let sql = "DELETE FROM blob_uses WHERE run = ?1 AND kind = ?2 AND place = ?3 RETURNING blob";
        self.collect(connection, sql, params![run, kind as i64, place])
    }

    /// Forgets every use that a run makes of blobs.
    pub(super) fn all_of(&mut self, connection: &Connection, run: i64) -> SqliteResult<()> {
        self.collect(connection, "DELETE FROM blob_uses WHERE run = ?1 RETURNING blob", params![run])
    }

    fn collect(&mut self, connection: &Connection, sql: &str, keys: impl rusqlite::Params) -> SqliteResult<()> {
        let mut statement = connection.prepare_cached(sql)?;
        let ids = statement.query_map(keys, |row| row.get(0))?;
        for id in ids {
            self.ids.push(id?);
        }
        Ok(())
    }

    /// Deletes those that nothing names any more.
    pub(super) fn delete_unused(mut self, connection: &Connection) -> SqliteResult<Deleted> {
        self.ids.sort_unstable();
        self.ids.dedup();
        let mut deleted = Deleted::default();
        let unused = if mutant::has(Defect::DeleteWhatIsShared) {
            "true"
        } else {
            "NOT EXISTS (SELECT 1 FROM blob_uses WHERE blob = ?1)"
        };
        let sql = format!("DELETE FROM blobs WHERE id = ?1 AND {unused} RETURNING length(body)");
        let mut statement = connection.prepare_cached(&sql)?;
        for id in self.ids {
            let gone: Option<Option<i64>> = statement.query_row([&id], |row| row.get(0)).optional()?;
            match gone {
                Some(Some(bytes)) => deleted.bytes += bytes.cast_unsigned(),
                Some(None) => deleted.files.push(id),
                None => {}
            }
        }
        Ok(deleted)
    }
}
