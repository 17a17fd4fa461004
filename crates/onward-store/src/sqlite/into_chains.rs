//! From the first format to the second: documents move from their checkpoints to where contents are kept.
//!
//! Damaged data is moved as it is and stays damaged: nothing gets a checksum here whose old one did not fit.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, params};

use super::{
    append::checkpoint_seal,
    contents::{self, ContentOrigin, Keyframe, Tail},
    fault::SqliteResult,
    runs::RunColumns,
};
use crate::{
    chain::{self, Hash},
    codec::{self, PackedContent},
    seal::Seal,
    types::Chain,
};

/// A checkpoint as the first format kept it.
struct Old {
    number: i64,
    id: String,
    run: i64,
    seq: i64,
    bytes: i64,
    seal: Vec<u8>,
    document: Vec<u8>,
}

pub(super) fn move_documents(connection: &Connection) -> SqliteResult<()> {
    let mut tails: BTreeMap<i64, Tail> = BTreeMap::new();
    let mut after = 0;
    while let Some(old) = next(connection, after)? {
        after = old.number;
        let tail = tails.entry(old.run).or_default();
        tail.contents += 1;
        tail.link = link(&old.document);
        tail.chain = Chain { keyframe_bytes: old.bytes.cast_unsigned(), ..Chain::default() };
        move_document(connection, &old, tail)?;
    }
    seal_runs(connection, &tails)?;
    connection.execute_batch("ALTER TABLE checkpoints DROP COLUMN document")?;
    Ok(())
}

fn next(connection: &Connection, after: i64) -> SqliteResult<Option<Old>> {
    let mut statement = connection.prepare_cached(
        "SELECT number, id, run, seq, bytes, seal, document FROM checkpoints WHERE number > ?1 ORDER BY number LIMIT 1",
    )?;
    let read = |row: &rusqlite::Row<'_>| {
        Ok(Old {
            number: row.get(0)?,
            id: row.get(1)?,
            run: row.get(2)?,
            seq: row.get(3)?,
            bytes: row.get(4)?,
            seal: row.get(5)?,
            document: row.get(6)?,
        })
    };
    Ok(statement.query_row([after], read).optional()?)
}

/// A blob is named after its hash, so no file need be read. What cannot be opened has no link, and no reader gets far
/// enough to miss it.
fn link(document: &[u8]) -> Hash {
    match codec::open(document) {
        Ok(PackedContent::Plain(value)) => chain::whole(&value),
        Ok(PackedContent::Blob { id, .. }) => id,
        Err(_) => Hash::default(),
    }
}

fn move_document(connection: &Connection, old: &Old, tail: &Tail) -> SqliteResult<()> {
    let place = contents::place(old.run, tail.contents);
    let keyframe = Keyframe { place, seq: old.seq, origin: ContentOrigin::Given, link: tail.link };
    keyframe.insert(connection, &tail.link, &old.document)?;
    connection
        .prepare_cached("UPDATE blob_uses SET place = ?1 WHERE run = ?2 AND kind = 2 AND place = ?3")?
        .execute([place, old.run, old.number])?;
    let fits = Seal::new("checkpoints").text(&old.id).number(old.run).number(old.seq).number(old.bytes).fits(&old.seal);
    let seal = if fits {
        checkpoint_seal(&old.id, old.run, old.seq, old.bytes, place).finish().to_vec()
    } else {
        old.seal.clone()
    };
    connection
        .prepare_cached("UPDATE checkpoints SET place = ?2, seal = ?3 WHERE number = ?1")?
        .execute(params![old.number, place, seal])?;
    Ok(())
}

fn seal_runs(connection: &Connection, tails: &BTreeMap<i64, Tail>) -> SqliteResult<()> {
    let mut statement = connection.prepare("SELECT number FROM runs")?;
    let numbers: Vec<i64> = statement.query_map((), |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    for number in numbers {
        let Some(mut run) = RunColumns::unchecked(connection, number)? else { continue };
        run.tail = tails.get(&number).copied().unwrap_or_default();
        if run.fits_first_format() {
            run.update_tail(connection)?;
        } else {
            run.update_tail_unsealed(connection)?;
        }
    }
    Ok(())
}
