//! Adding a whole document to a checkpoint that is a patch.

use std::path::Path;

use onward_core::config::Compression;
use onward_core::id::CheckpointId;
use rusqlite::{Connection, OptionalExtension};

use super::{
    checkpoints::{self, ListedRow},
    contents::{self, ContentOrigin, Keyframe},
    fault::SqliteResult,
    runs::RunColumns,
    store::SqliteStore,
    sweep,
    values::{self, BlobUse, Deleted, Packed, Released},
    write::KEYFRAME,
};
use crate::{
    chain::{self, Hash},
    check,
    error::{Damage, StoreError},
    types::{Chain, KeyframeKept},
};

impl SqliteStore {
    pub(super) fn insert_keyframe(
        &mut self,
        id: &CheckpointId,
        document: &[u8],
        compression: Option<Compression>,
    ) -> Result<KeyframeKept, StoreError> {
        self.demand_writable()?;
        check::value(document)?;
        let blobs = self.folder.blobs();
        let state = |connection: &Connection| Ok(find_listed(connection, &blobs, id)?.1);
        match self.read(state)? {
            KeyframeKept::New => {}
            // Nothing to do is no reason for a commit, nor for a large file.
            nothing => return Ok(nothing),
        }
        let packed = Packed::in_form(document, &blobs, compression)?;
        let (kept, deleted) = self.write(
            &KEYFRAME,
            |connection, _| match find_listed(connection, &blobs, id)? {
                (Some(listed), KeyframeKept::New) => {
                    demand_linked(connection, &blobs, &listed)?;
                    let mut released = Released::default();
                    insert(connection, &listed, document, &packed, &mut released)?;
                    packed.keep(connection, &blobs, listed.run, BlobUse::Keyframe, listed.place)?;
                    Ok((KeyframeKept::New, released.delete_unused(connection)?))
                }
                (_, nothing) => Ok((nothing, Deleted::default())),
            },
            |connection| Ok(state(connection)? == KeyframeKept::AlreadyThere),
        )?;
        self.remove_blob_files(&deleted.files);
        Ok(kept)
    }
}

/// The checkpoint, and what would become of a keyframe for it.
fn find_listed(
    connection: &Connection,
    blobs: &Path,
    id: &CheckpointId,
) -> SqliteResult<(Option<ListedRow>, KeyframeKept)> {
    let Some(listed) = checkpoints::find(connection, blobs, id)? else { return Ok((None, KeyframeKept::Gone)) };
    if let Some(damage) = listed.row.damage {
        return Err(damage.into());
    }
    let there = contents::keyframe_at_or_before(connection, listed.place)? == Some(listed.place);
    Ok((Some(listed), if there { KeyframeKept::AlreadyThere } else { KeyframeKept::New }))
}

/// The keyframe takes over the link of the patch, so that link must be right: later patches are measured by it.
fn demand_linked(connection: &Connection, blobs: &Path, listed: &ListedRow) -> SqliteResult<()> {
    let before = link_at(connection, listed.place - 1)?;
    let here: Option<(Hash, Vec<u8>)> = connection
        .prepare_cached("SELECT link, body FROM patches WHERE place = ?1")?
        .query_row([listed.place], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let damage = |what: &str| Damage::new(what).of_run(&listed.row.run).at(listed.row.seq);
    let (Some(before), Some((link, column))) = (before, here) else {
        return Err(damage("a patch that leads to the checkpoint is missing").into());
    };
    if chain::patch(&before, &values::unpack(connection, blobs, &column)?) != link {
        return Err(damage("the patch does not fit the one before it").into());
    }
    Ok(())
}

/// The link of whatever lies at a place. Where there are both, a keyframe and a patch have the same.
fn link_at(connection: &Connection, place: i64) -> SqliteResult<Option<Hash>> {
    Ok(connection
        .prepare_cached(
            "SELECT link FROM keyframes WHERE place = ?1 UNION ALL SELECT link FROM patches WHERE place = ?1 LIMIT 1",
        )?
        .query_row([place], |row| row.get(0))
        .optional()?)
}

/// The patches behind a keyframe if it is the last one of its run. A driver may have gone on while it was made.
fn chain_behind(connection: &Connection, place: i64) -> SqliteResult<Option<Chain>> {
    let (_, last) = contents::places(place >> 32);
    let later = "SELECT 1 FROM keyframes WHERE place > ?1 AND place <= ?2";
    if connection.prepare_cached(later)?.exists([place, last])? {
        return Ok(None);
    }
    let sql = "SELECT count(*), coalesce(sum(bytes), 0) FROM patches WHERE place > ?1 AND place <= ?2";
    let (patches, bytes): (u32, i64) =
        connection.prepare_cached(sql)?.query_row([place, last], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(Some(Chain { patches, patch_bytes: bytes.cast_unsigned(), keyframe_bytes: 0 }))
}

fn insert(
    connection: &Connection,
    listed: &ListedRow,
    document: &[u8],
    packed: &Packed,
    released: &mut Released,
) -> SqliteResult<()> {
    let link = link_at(connection, listed.place)?.unwrap_or_default();
    let seq = listed.row.seq.0.cast_signed();
    let keyframe = Keyframe { place: listed.place, seq, origin: ContentOrigin::Added, link };
    keyframe.insert(connection, &packed.hash_of(document), &packed.column)?;
    let mut run = RunColumns::find(connection, &listed.row.run)?;
    if let Some(mut chain) = chain_behind(connection, listed.place)? {
        chain.keyframe_bytes = document.len() as u64;
        run.tail.chain = chain;
        run.update_tail(connection)?;
    }
    // There are two stretches now where there was one.
    sweep::around(connection, &[listed.place - 1, listed.place], released)?;
    Ok(())
}
