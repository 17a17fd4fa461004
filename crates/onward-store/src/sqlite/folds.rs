//! What a caller made of a journal, kept for it. Nothing depends on it: it is whole, or it is not there.

use std::path::Path;

use onward_core::id::{RunId, Seq};
use rusqlite::{Connection, OptionalExtension, params};

use super::{
    fault::Answer,
    journal::recorded_hash,
    runs::Run,
    store::SqliteStore,
    values::{self, Deleted, Packed, Released, Use},
    write::OTHER,
};
use crate::{
    chain::Hash,
    check,
    error::{Damage, StoreError},
    seal::Seal,
    types::{Fold, Kept},
};

/// The narrow columns of a fold.
struct Row {
    seq: Seq,
    version: u32,
    hash: Hash,
    column: Vec<u8>,
}

fn seal(run: i64, seq: Seq, version: u32, hash: &Hash) -> Seal {
    Seal::of("folds").number(run).number(seq.0.cast_signed()).number(version.into()).bytes(hash)
}

impl SqliteStore {
    pub(super) fn replace_fold(
        &mut self,
        id: &RunId,
        seq: Seq,
        version: u32,
        bytes: &[u8],
    ) -> Result<Kept, StoreError> {
        self.demand_writable()?;
        check::value(bytes)?;
        let blobs = self.folder.blobs();
        if self.read(|connection| is_behind(connection, &blobs, &Run::find(connection, id)?, seq))? {
            return Ok(Kept::AlreadyThere);
        }
        let packed = Packed::new(bytes, &blobs)?;
        let (kept, deleted) = self.write(
            &OTHER,
            |connection, _| {
                let run = Run::find(connection, id)?;
                if is_behind(connection, &blobs, &run, seq)? {
                    return Ok((Kept::AlreadyThere, Deleted::default()));
                }
                let mut released = Released::default();
                released.one(connection, run.number, Use::Fold, 0)?;
                replace(connection, &run, seq, version, &packed)?;
                packed.keep(connection, &blobs, run.number, Use::Fold, 0)?;
                Ok((Kept::New, released.delete_unused(connection)?))
            },
            |connection| {
                let run = Run::find(connection, id)?;
                Ok(row(connection, &run)?.is_some_and(|kept| kept.seq >= seq))
            },
        )?;
        self.remove_blob_files(&deleted.files);
        Ok(kept)
    }

    pub(super) fn read_fold(&self, id: &RunId) -> Result<Option<Fold>, StoreError> {
        let blobs = self.folder.blobs();
        match self.read(|connection| read(connection, &blobs, &Run::find(connection, id)?)) {
            Err(StoreError::Damaged(_) | StoreError::Newer { .. }) => Ok(None),
            other => other,
        }
    }

    pub(super) fn delete_fold(&mut self, id: &RunId) -> Result<Kept, StoreError> {
        let deleted = self.write(
            &OTHER,
            |connection, _| {
                let run = Run::find(connection, id)?;
                connection.prepare_cached("DELETE FROM folds WHERE run = ?1")?.execute([run.number])?;
                let mut released = Released::default();
                released.one(connection, run.number, Use::Fold, 0)?;
                released.delete_unused(connection)
            },
            |connection| Ok(row(connection, &Run::find(connection, id)?)?.is_none()),
        )?;
        self.remove_blob_files(&deleted.files);
        Ok(Kept::New)
    }
}

fn read(connection: &Connection, blobs: &Path, run: &Run) -> Answer<Option<Fold>> {
    let Some(Row { seq, version, hash, column }) = row(connection, run)? else { return Ok(None) };
    let bytes = values::unpack(connection, blobs, &column)?;
    Ok(Some(Fold { seq, version, hash, bytes }))
}

/// The row, if it fits its seal and the journal.
fn row(connection: &Connection, run: &Run) -> Answer<Option<Row>> {
    let mut statement = connection.prepare_cached("SELECT seq, version, hash, body, seal FROM folds WHERE run = ?1")?;
    let found = statement
        .query_row([run.number], |row| {
            let seq = Seq(row.get::<_, i64>(0)?.cast_unsigned());
            let row_of = Row { seq, version: row.get(1)?, hash: row.get(2)?, column: row.get(3)? };
            Ok((row_of, row.get::<_, Vec<u8>>(4)?))
        })
        .optional()?;
    let Some((found, stored)) = found else { return Ok(None) };
    let sealed = seal(run.number, found.seq, found.version, &found.hash).fits(&stored);
    let in_journal = found.seq <= run.head && hash_at(connection, run, found.seq)? == Some(found.hash);
    Ok(Some(found).filter(|_| sealed && in_journal))
}

fn hash_at(connection: &Connection, run: &Run, seq: Seq) -> Answer<Option<Hash>> {
    let hash = recorded_hash(connection, run.number, seq)?;
    Ok(hash.filter(|hash| seq != run.head || *hash == run.hash))
}

/// Whether a fold at `seq` is older than the one that is kept; an error if no fold can stand there. One that is damaged
/// is in nobody's way.
fn is_behind(connection: &Connection, blobs: &Path, run: &Run, seq: Seq) -> Answer<bool> {
    check::fold(seq, run.head)?;
    let later = row(connection, run).ok().flatten().filter(|kept| kept.seq > seq);
    Ok(later.is_some_and(|kept| values::unpack(connection, blobs, &kept.column).is_ok()))
}

fn replace(connection: &Connection, run: &Run, seq: Seq, version: u32, packed: &Packed) -> Answer<()> {
    let Some(hash) = hash_at(connection, run, seq)? else {
        return Err(Damage::new("the record is missing").of_run(&run.id).at(seq).into());
    };
    let seal = seal(run.number, seq, version, &hash).finish();
    connection
        .prepare_cached("REPLACE INTO folds (run, seq, version, hash, seal, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?
        .execute(params![run.number, seq.0.cast_signed(), version, hash, seal, packed.column])?;
    Ok(())
}
