//! The append: everything that one entry carries, in one commit.

use std::path::Path;

use onward_core::id::Seq;
use rusqlite::{Connection, params};

use super::{
    contents::{self, Tail},
    durations,
    fault::SqliteResult,
    inbox,
    journal::{place, recorded_hash},
    leases,
    runs::{RunColumns, is_buried},
    store::SqliteStore,
    sweep,
    values::{BlobUse, Deleted, Packed, Released},
    write::APPEND,
};
use crate::{
    chain::{self, Hash},
    check,
    error::StoreError,
    lease::Lease,
    seal::Seal,
    types::{Appended, Entry, NewCheckpoint, NewEvent, StoredContent},
};

/// An entry whose values are compressed, hashed and, where they are large, on the disk already.
struct PreparedEntry<'a> {
    entry: &'a Entry,
    bodies: Vec<Packed>,
    /// The meta and the content of each checkpoint.
    checkpoints: Vec<(Packed, Packed)>,
    replies: Vec<Packed>,
    summary: Packed,
}

impl<'a> PreparedEntry<'a> {
    fn new(entry: &'a Entry, blobs: &Path) -> Result<Self, StoreError> {
        let pack = |value: &[u8]| Packed::in_form(value, blobs, entry.compression);
        let both = |new: &NewCheckpoint| Ok((pack(&new.meta)?, pack(new.content.bytes())?));
        Ok(Self {
            entry,
            bodies: entry.events.iter().map(|event| pack(&event.body)).collect::<Result<_, _>>()?,
            checkpoints: entry.checkpoints.iter().map(both).collect::<Result<_, StoreError>>()?,
            replies: entry.consumed.iter().map(|consumed| pack(&consumed.reply)).collect::<Result<_, _>>()?,
            summary: pack(&entry.summary)?,
        })
    }
}

impl SqliteStore {
    /// On a full disk the bytes that were kept back are given up once, so that the last record can still be written.
    pub(super) fn append_entry(&mut self, lease: &Lease, expected: Seq, entry: &Entry) -> Result<Appended, StoreError> {
        self.demand_writable()?;
        check::entry(entry, expected)?;
        match self.append_once(lease, expected, entry) {
            Err(error) if error.is_full() && self.folder.free_reserve() => self.append_once(lease, expected, entry),
            other => other,
        }
    }

    fn append_once(&mut self, lease: &Lease, expected: Seq, entry: &Entry) -> Result<Appended, StoreError> {
        let blobs = self.folder.blobs();
        let prepared = PreparedEntry::new(entry, &blobs)?;
        let (appended, deleted) = self.write(
            &APPEND,
            |connection, meta| {
                let run = demand_right(connection, lease, expected)?;
                let done = fill(connection, &blobs, &run, &prepared)?;
                meta.last_hash = if entry.events.is_empty() { meta.last_hash } else { done.0.hash };
                Ok(done)
            },
            |connection| is_saved(connection, lease, expected, entry),
        )?;
        self.remove_blob_files(&deleted.files);
        Ok(appended)
    }
}

/// The three conditions of an append: the run exists, the lease is the newest one, the journal stands where it should.
fn demand_right(connection: &Connection, lease: &Lease, expected: Seq) -> SqliteResult<RunColumns> {
    let lost = || StoreError::LeaseLost { run: lease.run().clone() };
    let run =
        RunColumns::by_number(connection, lease.number())?.filter(|run| run.id == *lease.run()).ok_or_else(lost)?;
    if leases::epoch(connection, run.number)? != Some(lease.epoch()) {
        return Err(lost().into());
    }
    if run.head != expected {
        return Err(StoreError::Conflict { expected, found: run.head }.into());
    }
    Ok(run)
}

fn fill(
    connection: &Connection,
    blobs: &Path,
    run: &RunColumns,
    prepared: &PreparedEntry<'_>,
) -> SqliteResult<(Appended, Deleted)> {
    let entry = prepared.entry;
    let mut after = run.clone();
    after.status.clone_from(&entry.status);
    for (event, body) in entry.events.iter().zip(&prepared.bodies) {
        after.head = after.head.next();
        after.hash = insert_record(connection, &after, event, body)?;
        body.keep(connection, blobs, run.number, BlobUse::Record, after.head.0.cast_signed())?;
    }
    check::contents(entry, run.tail.contents)?;
    for (new, (meta, content)) in entry.checkpoints.iter().zip(&prepared.checkpoints) {
        let number = insert_checkpoint(connection, &after, new, meta)?;
        meta.keep(connection, blobs, run.number, BlobUse::CheckpointMeta, number)?;
        after.tail = contents::insert(connection, blobs, run.number, &after.tail, new, content)?;
    }
    durations::insert(connection, run.number, &entry.durations)?;
    let mut released = Released::default();
    for (consumed, reply) in entry.consumed.iter().zip(&prepared.replies) {
        let number = inbox::consume(connection, run, &consumed.id, reply, &mut released)?;
        reply.keep(connection, blobs, run.number, BlobUse::Reply, number)?;
    }
    if entry.checkpoints.iter().any(|new| matches!(new.content, StoredContent::Whole(_))) {
        // The next patch builds on the new document, so what it would have built on may be needed no more.
        sweep::around(connection, &[contents::place(run.number, run.tail.contents)], &mut released)?;
    }
    released.one(connection, run.number, BlobUse::Summary, 0)?;
    update_run(connection, run, &after, &prepared.summary)?;
    prepared.summary.keep(connection, blobs, run.number, BlobUse::Summary, 0)?;
    let appended = Appended { head: after.head, hash: after.hash, chain: after.tail.chain };
    Ok((appended, released.delete_unused(connection)?))
}

/// Stores the record at the head of `run`, whose hash is still that of the record before.
fn insert_record(connection: &Connection, run: &RunColumns, event: &NewEvent, body: &Packed) -> SqliteResult<Hash> {
    let micros = event.at.as_microsecond();
    let hash = chain::next(&run.hash, run.head, micros, &event.actor, &event.body);
    connection
        .prepare_cached("INSERT INTO records (place, at, actor, hash, body) VALUES (?1, ?2, ?3, ?4, ?5)")?
        .execute(params![place(run.number, run.head), micros, event.actor, hash, body.column])?;
    Ok(hash)
}

/// Stores the row of a checkpoint, whose content is the next one of `run`.
fn insert_checkpoint(
    connection: &Connection,
    run: &RunColumns,
    new: &NewCheckpoint,
    meta: &Packed,
) -> SqliteResult<i64> {
    let id = new.id.as_str();
    let taken = connection.prepare_cached("SELECT 1 FROM checkpoints WHERE id = ?1")?.exists([id])?;
    if taken || is_buried(connection, "checkpoint", id)? {
        return Err(StoreError::AlreadyThere { id: id.to_owned() }.into());
    }
    let seq = new.seq.0.cast_signed();
    let bytes = (new.content.bytes().len() as u64).cast_signed();
    let place = contents::place(run.number, run.tail.contents + 1);
    let seal = checkpoint_seal(id, run.number, seq, bytes, place).finish();
    connection
        .prepare_cached(
            "INSERT INTO checkpoints (id, run, seq, bytes, seal, meta, place) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![id, run.number, seq, bytes, seal, meta.column, place])?;
    Ok(connection.last_insert_rowid())
}

pub(super) fn checkpoint_seal(id: &str, run: i64, seq: i64, bytes: i64, place: i64) -> Seal {
    Seal::new("checkpoints").text(id).number(run).number(seq).number(bytes).number(place)
}

/// Moves the row of a run on to `after`.
fn update_run(connection: &Connection, run: &RunColumns, after: &RunColumns, summary: &Packed) -> SqliteResult<()> {
    let Tail { contents, link, chain } = &after.tail;
    connection
        .prepare_cached(
            "UPDATE runs SET head = ?2, hash = ?3, seal = ?4, summary = ?5, contents = ?6, link = ?7, patches = ?8, \
             patch_bytes = ?9, keyframe_bytes = ?10 WHERE number = ?1",
        )?
        .execute(params![
            run.number,
            after.head.0.cast_signed(),
            after.hash,
            after.seal().finish(),
            summary.column,
            contents,
            link,
            chain.patches,
            chain.patch_bytes.cast_signed(),
            chain.keyframe_bytes.cast_signed(),
        ])?;
    if after.status != run.status {
        // Only when it changes, for writing it moves an entry in an index.
        connection
            .prepare_cached("UPDATE runs SET status = ?2 WHERE number = ?1")?
            .execute(params![run.number, after.status])?;
    }
    Ok(())
}

/// Looks for the traces of an entry whose commit gave no clear answer.
fn is_saved(connection: &Connection, lease: &Lease, expected: Seq, entry: &Entry) -> SqliteResult<bool> {
    let Some(run) = RunColumns::by_number(connection, lease.number())? else { return Ok(false) };
    if !entry.events.is_empty() {
        return has_records(connection, &run, expected, &entry.events);
    }
    if let Some(checkpoint) = entry.checkpoints.first() {
        let mut statement = connection.prepare_cached("SELECT 1 FROM checkpoints WHERE id = ?1")?;
        return Ok(statement.exists([checkpoint.id.as_str()])?);
    }
    match entry.consumed.first() {
        Some(consumed) => inbox::is_answered(connection, run.number, &consumed.id),
        None => Ok(false),
    }
}

/// The hash of the last record stands for all that came before it, so it alone need be compared.
fn has_records(connection: &Connection, run: &RunColumns, expected: Seq, events: &[NewEvent]) -> SqliteResult<bool> {
    let hash_at = |seq: Seq| recorded_hash(connection, run.number, seq);
    let before = if expected == Seq(0) { Some(chain::start(&run.id)) } else { hash_at(expected)? };
    let Some(before) = before else { return Ok(false) };
    let (mut seq, mut hash) = (expected, before);
    for event in events {
        seq = seq.next();
        hash = chain::next(&hash, seq, event.at.as_microsecond(), &event.actor, &event.body);
    }
    Ok(hash_at(seq)? == Some(hash))
}
