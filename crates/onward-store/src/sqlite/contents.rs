//! Keyframes and patches: what checkpoints are made of, and how one is read from them.

use std::path::Path;

use onward_core::id::{RunId, Seq};
use rusqlite::{Connection, OptionalExtension, params};

use super::{
    fault::SqliteResult,
    values::{self, BlobUse, Packed},
};
use crate::{
    chain::{self, Hash},
    error::Damage,
    seal::Seal,
    types::{Chain, NewCheckpoint, StoredContent},
};

/// Where the contents of a run end: how many it was given, the link of the last, and what a reader of that goes through.
#[derive(Clone, Copy, Default)]
pub(super) struct Tail {
    pub(super) contents: u32,
    pub(super) link: Hash,
    pub(super) chain: Chain,
}

/// The key of a content: those of one run lie side by side, in order of storing.
pub(super) fn place(run: i64, content: u32) -> i64 {
    (run << 32) | i64::from(content)
}

/// The first and the last place that a run can have.
pub(super) fn places(run: i64) -> (i64, i64) {
    (place(run, 0), place(run, u32::MAX))
}

/// How a whole document came here.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ContentOrigin {
    /// As the content of its checkpoint.
    Given,
    /// Later, for a checkpoint that is a patch.
    Added,
}

/// The narrow columns of a keyframe.
pub(super) struct Keyframe {
    pub(super) place: i64,
    pub(super) seq: i64,
    pub(super) origin: ContentOrigin,
    pub(super) link: Hash,
}

impl Keyframe {
    /// `hash` is that of the document behind `column`.
    pub(super) fn insert(&self, connection: &Connection, hash: &Hash, column: &[u8]) -> SqliteResult<()> {
        connection
            .prepare_cached(
                "INSERT INTO keyframes (place, seq, added, link, seal, document) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?
            .execute(params![
                self.place,
                self.seq,
                self.origin == ContentOrigin::Added,
                self.link,
                self.seal(hash).finish(),
                column
            ])?;
        Ok(())
    }

    /// The document is covered as well: nothing else ties one that was added to its place.
    fn seal(&self, hash: &Hash) -> Seal {
        let added = i64::from(self.origin == ContentOrigin::Added);
        Seal::new("keyframes").number(self.place).number(self.seq).number(added).bytes(&self.link).bytes(hash)
    }

    fn is_right(&self, hash: &Hash, seal: &[u8]) -> bool {
        let linked = match self.origin {
            ContentOrigin::Given => self.link == *hash,
            ContentOrigin::Added => true,
        };
        linked && self.seal(hash).fits(seal)
    }
}

/// Stores the content of a new checkpoint behind `tail`; where the contents end then.
pub(super) fn insert(
    connection: &Connection,
    blobs: &Path,
    run: i64,
    tail: &Tail,
    new: &NewCheckpoint,
    packed: &Packed,
) -> SqliteResult<Tail> {
    let contents = tail.contents + 1;
    let place = place(run, contents);
    let seq = new.seq.0.cast_signed();
    match &new.content {
        StoredContent::Whole(document) => {
            let link = packed.hash_of(document);
            Keyframe { place, seq, origin: ContentOrigin::Given, link }.insert(connection, &link, &packed.column)?;
            packed.keep(connection, blobs, run, BlobUse::Keyframe, place)?;
            let chain = Chain { keyframe_bytes: document.len() as u64, ..Chain::default() };
            Ok(Tail { contents, link, chain })
        }
        StoredContent::Patch(patch) => {
            let link = chain::patch(&tail.link, patch);
            connection
                .prepare_cached("INSERT INTO patches (place, seq, bytes, link, body) VALUES (?1, ?2, ?3, ?4, ?5)")?
                .execute(params![place, seq, (patch.len() as u64).cast_signed(), link, packed.column])?;
            packed.keep(connection, blobs, run, BlobUse::Patch, place)?;
            let chain = Chain {
                patches: tail.chain.patches + 1,
                patch_bytes: tail.chain.patch_bytes + patch.len() as u64,
                ..tail.chain
            };
            Ok(Tail { contents, link, chain })
        }
    }
}

/// The keyframe and patches that lead to the content at one place.
pub(super) struct Read {
    pub(super) keyframe: Vec<u8>,
    pub(super) patches: Vec<Vec<u8>>,
    /// Whether the keyframe lies at the place itself and was added there, so that the content itself was not read.
    pub(super) is_added: bool,
}

/// Reads the nearest keyframe at or before `wanted`, and the patches behind it, each one checked.
pub(super) fn read(connection: &Connection, blobs: &Path, run: &RunId, seq: Seq, wanted: i64) -> SqliteResult<Read> {
    let Some(start) = keyframe_at_or_before(connection, wanted)? else {
        return Err(Damage::new("there is no keyframe at the checkpoint or before it").of_run(run).at(seq).into());
    };
    let mut link = Hash::default();
    let keyframe = read_keyframe(connection, blobs, run, start, &mut link)?;
    let mut patches = Vec::new();
    let reached = walk(connection, blobs, run, (start, wanted), &mut link, |patch| patches.push(patch))?;
    if reached != wanted {
        return Err(Damage::new("a patch that leads to the checkpoint is missing").of_run(run).at(seq).into());
    }
    let is_added = patches.is_empty() && has_patch(connection, wanted)?;
    Ok(Read { keyframe, patches, is_added })
}

pub(super) fn keyframe_at_or_before(connection: &Connection, wanted: i64) -> SqliteResult<Option<i64>> {
    let (first, _) = places(wanted >> 32);
    Ok(connection
        .prepare_cached("SELECT place FROM keyframes WHERE place > ?1 AND place <= ?2 ORDER BY place DESC LIMIT 1")?
        .query_row([first, wanted], |row| row.get(0))
        .optional()?)
}

fn has_patch(connection: &Connection, place: i64) -> SqliteResult<bool> {
    Ok(connection.prepare_cached("SELECT 1 FROM patches WHERE place = ?1")?.exists([place])?)
}

/// The document of a keyframe that is there, checked; `link` becomes its link.
pub(super) fn read_keyframe(
    connection: &Connection,
    blobs: &Path,
    run: &RunId,
    place: i64,
    link: &mut Hash,
) -> SqliteResult<Vec<u8>> {
    let mut statement =
        connection.prepare_cached("SELECT seq, added, link, seal, document FROM keyframes WHERE place = ?1")?;
    let (keyframe, seal, column) = statement.query_row([place], |row| {
        let origin = if row.get::<_, i64>(1)? == 0 { ContentOrigin::Given } else { ContentOrigin::Added };
        let keyframe = Keyframe { place, seq: row.get(0)?, origin, link: row.get(2)? };
        Ok((keyframe, row.get::<_, Vec<u8>>(3)?, row.get::<_, Vec<u8>>(4)?))
    })?;
    let seq = Seq(keyframe.seq.cast_unsigned());
    let (document, hash) = values::unpack_hashed(connection, blobs, &column).map_err(|fault| fault.at(run, seq))?;
    if !keyframe.is_right(&hash, &seal) {
        return Err(Damage::new("the keyframe does not match its checksum").of_run(run).at(seq).into());
    }
    *link = keyframe.link;
    Ok(document)
}

/// Goes through the patches behind `from` up to and including `to`, as far as they follow each other without a gap;
/// the place it came to. Each one must fit the link before it, which moves on.
pub(super) fn walk(
    connection: &Connection,
    blobs: &Path,
    run: &RunId,
    (from, to): (i64, i64),
    link: &mut Hash,
    mut visit: impl FnMut(Vec<u8>),
) -> SqliteResult<i64> {
    let mut statement = connection
        .prepare_cached("SELECT place, seq, link, body FROM patches WHERE place > ?1 AND place <= ?2 ORDER BY place")?;
    let mut rows = statement.query([from, to])?;
    let mut reached = from;
    while let Some(row) = rows.next()? {
        if row.get::<_, i64>(0)? != reached + 1 {
            break;
        }
        let seq = Seq(row.get::<_, i64>(1)?.cast_unsigned());
        let stored: Hash = row.get(2)?;
        let column: Vec<u8> = row.get(3)?;
        let patch = values::unpack(connection, blobs, &column).map_err(|fault| fault.at(run, seq))?;
        *link = chain::patch(link, &patch);
        if *link != stored {
            return Err(Damage::new("the patch does not fit the one before it").of_run(run).at(seq).into());
        }
        reached += 1;
        visit(patch);
    }
    Ok(reached)
}
