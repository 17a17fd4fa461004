//! The fold cache: a state that a caller derived from a journal, kept for it. Nothing depends on it: it is whole, or it
//! is not there.

use std::path::Path;

use onward_core::id::{RunId, Seq};
use rusqlite::{Connection, OptionalExtension, params};

use super::{
    fault::SqliteResult,
    journal::recorded_hash,
    runs::RunColumns,
    store::SqliteStore,
    values::{self, BlobUse, Deleted, Packed, Released},
    write::OTHER,
};
use crate::{
    chain::Hash,
    check,
    error::{Damage, StoreError},
    seal::Seal,
    types::{Fold, KeyframeKept},
};

/// The narrow columns of a fold.
struct FoldRow {
    seq: Seq,
    version: u32,
    hash: Hash,
    column: Vec<u8>,
}

fn seal(run: i64, seq: Seq, version: u32, hash: &Hash) -> Seal {
    Seal::new("folds").number(run).number(seq.0.cast_signed()).number(version.into()).bytes(hash)
}

impl SqliteStore {
    pub(super) fn replace_fold(
        &mut self,
        id: &RunId,
        seq: Seq,
        version: u32,
        bytes: &[u8],
    ) -> Result<KeyframeKept, StoreError> {
        self.demand_writable()?;
        check::value(bytes)?;
        let blobs = self.folder.blobs();
        if self.read(|connection| is_behind(connection, &blobs, &RunColumns::find(connection, id)?, seq))? {
            return Ok(KeyframeKept::AlreadyThere);
        }
        let packed = Packed::new(bytes, &blobs)?;
        let (kept, deleted) = self.write(
            &OTHER,
            |connection, _| {
                let run = RunColumns::find(connection, id)?;
                if is_behind(connection, &blobs, &run, seq)? {
                    return Ok((KeyframeKept::AlreadyThere, Deleted::default()));
                }
                let mut released = Released::default();
                released.one(connection, run.number, BlobUse::Fold, 0)?;
                replace(connection, &run, seq, version, &packed)?;
                packed.keep(connection, &blobs, run.number, BlobUse::Fold, 0)?;
                Ok((KeyframeKept::New, released.delete_unused(connection)?))
            },
            |connection| {
                let run = RunColumns::find(connection, id)?;
                Ok(row(connection, &run)?.is_some_and(|kept| kept.seq >= seq))
            },
        )?;
        self.remove_blob_files(&deleted.files);
        Ok(kept)
    }

    pub(super) fn read_fold(&self, id: &RunId) -> Result<Option<Fold>, StoreError> {
        let blobs = self.folder.blobs();
        match self.read(|connection| read(connection, &blobs, &RunColumns::find(connection, id)?)) {
            Err(StoreError::Damaged(_) | StoreError::Newer { .. }) => Ok(None),
            other => other,
        }
    }

    pub(super) fn delete_fold(&mut self, id: &RunId) -> Result<KeyframeKept, StoreError> {
        let deleted = self.write(
            &OTHER,
            |connection, _| {
                let run = RunColumns::find(connection, id)?;
                connection.prepare_cached("DELETE FROM folds WHERE run = ?1")?.execute([run.number])?;
                let mut released = Released::default();
                released.one(connection, run.number, BlobUse::Fold, 0)?;
                released.delete_unused(connection)
            },
            |connection| Ok(row(connection, &RunColumns::find(connection, id)?)?.is_none()),
        )?;
        self.remove_blob_files(&deleted.files);
        Ok(KeyframeKept::New)
    }
}

fn read(connection: &Connection, blobs: &Path, run: &RunColumns) -> SqliteResult<Option<Fold>> {
    let Some(FoldRow { seq, version, hash, column }) = row(connection, run)? else { return Ok(None) };
    let bytes = values::unpack(connection, blobs, &column)?;
    Ok(Some(Fold { seq, version, hash, bytes }))
}

/// The row, if it fits its seal and the journal.
fn row(connection: &Connection, run: &RunColumns) -> SqliteResult<Option<FoldRow>> {
    let mut statement = connection.prepare_cached("SELECT seq, version, hash, body, seal FROM folds WHERE run = ?1")?;
    let found = statement
        .query_row([run.number], |row| {
            let seq = Seq(row.get::<_, i64>(0)?.cast_unsigned());
            let row_of = FoldRow { seq, version: row.get(1)?, hash: row.get(2)?, column: row.get(3)? };
            Ok((row_of, row.get::<_, Vec<u8>>(4)?))
        })
        .optional()?;
    let Some((found, stored)) = found else { return Ok(None) };
    let sealed = seal(run.number, found.seq, found.version, &found.hash).fits(&stored);
    let in_journal = found.seq <= run.head && hash_at(connection, run, found.seq)? == Some(found.hash);
    Ok(Some(found).filter(|_| sealed && in_journal))
}

fn hash_at(connection: &Connection, run: &RunColumns, seq: Seq) -> SqliteResult<Option<Hash>> {
    let hash = recorded_hash(connection, run.number, seq)?;
    Ok(hash.filter(|hash| seq != run.head || *hash == run.hash))
}

/// Whether a fold at `seq` is older than the one that is kept; an error if no fold can stand there. One that is damaged
/// is in nobody's way.
fn is_behind(connection: &Connection, blobs: &Path, run: &RunColumns, seq: Seq) -> SqliteResult<bool> {
    check::fold(seq, run.head)?;
    let later = row(connection, run).ok().flatten().filter(|kept| kept.seq > seq);
    Ok(later.is_some_and(|kept| values::unpack(connection, blobs, &kept.column).is_ok()))
}

fn replace(connection: &Connection, run: &RunColumns, seq: Seq, version: u32, packed: &Packed) -> SqliteResult<()> {
    let Some(hash) = hash_at(connection, run, seq)? else {
        return Err(Damage::new("the record is missing").of_run(&run.id).at(seq).into());
    };
    let seal = seal(run.number, seq, version, &hash).finish();
    connection
        .prepare_cached("REPLACE INTO folds (run, seq, version, hash, seal, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?
        .execute(params![run.number, seq.0.cast_signed(), version, hash, seal, packed.column])?;
    Ok(())
}
