//! The append: everything that one entry carries, in one commit.

use std::path::Path;

use onward_core::id::Seq;
use rusqlite::{Connection, OptionalExtension, params};

use super::{
    fault::Answer,
    inbox,
    journal::place,
    leases,
    runs::{Run, is_buried},
    store::SqliteStore,
    values::{Deleted, Packed, Released, Use},
    write::APPEND,
};
use crate::{
    chain::{self, Hash},
    check,
    error::StoreError,
    lease::Lease,
    seal::Seal,
    types::{Appended, Entry, NewCheckpoint, NewEvent},
};

/// An entry whose values are compressed, hashed and, where they are large, on the disk already.
struct Prepared<'a> {
    entry: &'a Entry,
    bodies: Vec<Packed>,
    /// The meta and the document of each checkpoint.
    checkpoints: Vec<(Packed, Packed)>,
    replies: Vec<Packed>,
    summary: Packed,
}

impl<'a> Prepared<'a> {
    fn new(entry: &'a Entry, blobs: &Path) -> Result<Self, StoreError> {
        let pack = |value: &Vec<u8>| Packed::new(value, blobs);
        let both = |new: &NewCheckpoint| Ok((pack(&new.meta)?, pack(&new.document)?));
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
        let prepared = Prepared::new(entry, &blobs)?;
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
fn demand_right(connection: &Connection, lease: &Lease, expected: Seq) -> Answer<Run> {
    let lost = || StoreError::LeaseLost { run: lease.run().clone() };
    let run = Run::by_number(connection, lease.number())?.filter(|run| run.id == *lease.run()).ok_or_else(lost)?;
    if leases::epoch(connection, run.number)? != Some(lease.epoch()) {
        return Err(lost().into());
    }
    if run.head != expected {
        return Err(StoreError::Conflict { expected, found: run.head }.into());
    }
    Ok(run)
}

fn fill(connection: &Connection, blobs: &Path, run: &Run, prepared: &Prepared<'_>) -> Answer<(Appended, Deleted)> {
    let entry = prepared.entry;
    let mut at = Appended { head: run.head, hash: run.hash };
    for (event, body) in entry.events.iter().zip(&prepared.bodies) {
        at.head = at.head.next();
        at.hash = insert_record(connection, run.number, at, event, body)?;
        body.keep(connection, blobs, run.number, Use::Record, at.head.0.cast_signed())?;
    }
    for (new, (meta, document)) in entry.checkpoints.iter().zip(&prepared.checkpoints) {
        let number = insert_checkpoint(connection, run.number, new, meta, document)?;
        meta.keep(connection, blobs, run.number, Use::CheckpointMeta, number)?;
        document.keep(connection, blobs, run.number, Use::Document, number)?;
    }
    for (consumed, reply) in entry.consumed.iter().zip(&prepared.replies) {
        let number = inbox::consume(connection, run, &consumed.id, reply)?;
        reply.keep(connection, blobs, run.number, Use::Reply, number)?;
    }
    let mut released = Released::default();
    released.one(connection, run.number, Use::Summary, 0)?;
    update_run(connection, run, at, entry, &prepared.summary)?;
    prepared.summary.keep(connection, blobs, run.number, Use::Summary, 0)?;
    Ok((at, released.delete_unused(connection)?))
}

fn insert_record(connection: &Connection, run: i64, at: Appended, event: &NewEvent, body: &Packed) -> Answer<Hash> {
    let micros = event.at.as_microsecond();
    let hash = chain::next(&at.hash, at.head, micros, &event.actor, &event.body);
    connection
        .prepare_cached("INSERT INTO records (place, at, actor, hash, body) VALUES (?1, ?2, ?3, ?4, ?5)")?
        .execute(params![place(run, at.head), micros, event.actor, hash, body.column])?;
    Ok(hash)
}

fn insert_checkpoint(
    connection: &Connection,
    run: i64,
    new: &NewCheckpoint,
    meta: &Packed,
    document: &Packed,
) -> Answer<i64> {
    let id = new.id.as_str();
    let taken = connection.prepare_cached("SELECT 1 FROM checkpoints WHERE id = ?1")?.exists([id])?;
    if taken || is_buried(connection, "checkpoint", id)? {
        return Err(StoreError::AlreadyThere { id: id.to_owned() }.into());
    }
    let seq = new.seq.0.cast_signed();
    let bytes = (new.document.len() as u64).cast_signed();
    let seal = checkpoint_seal(id, run, seq, bytes).finish();
    connection
        .prepare_cached(
            "INSERT INTO checkpoints (id, run, seq, bytes, seal, meta, document) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![id, run, seq, bytes, seal, meta.column, document.column])?;
    Ok(connection.last_insert_rowid())
}

pub(super) fn checkpoint_seal(id: &str, run: i64, seq: i64, bytes: i64) -> Seal {
    Seal::of("checkpoints").text(id).number(run).number(seq).number(bytes)
}

/// The status is written only when it changes, for writing it moves an entry in an index.
fn update_run(connection: &Connection, run: &Run, at: Appended, entry: &Entry, summary: &Packed) -> Answer<()> {
    let seal = run.seal_after(at, &entry.status).finish();
    let head = at.head.0.cast_signed();
    if entry.status == run.status {
        connection
            .prepare_cached("UPDATE runs SET head = ?2, hash = ?3, seal = ?4, summary = ?5 WHERE number = ?1")?
            .execute(params![run.number, head, at.hash, seal, summary.column])?;
    } else {
        connection
            .prepare_cached(
                "UPDATE runs SET head = ?2, hash = ?3, seal = ?4, summary = ?5, status = ?6 WHERE number = ?1",
            )?
            .execute(params![run.number, head, at.hash, seal, summary.column, entry.status])?;
    }
    Ok(())
}

/// Looks for the traces of an entry whose commit gave no clear answer.
fn is_saved(connection: &Connection, lease: &Lease, expected: Seq, entry: &Entry) -> Answer<bool> {
    let Some(run) = Run::by_number(connection, lease.number())? else { return Ok(false) };
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
fn has_records(connection: &Connection, run: &Run, expected: Seq, events: &[NewEvent]) -> Answer<bool> {
    let hash_at = |seq: Seq| -> Answer<Option<Hash>> {
        let mut statement = connection.prepare_cached("SELECT hash FROM records WHERE place = ?1")?;
        Ok(statement.query_row([place(run.number, seq)], |row| row.get(0)).optional()?)
    };
    let before = if expected == Seq(0) { Some(chain::start(&run.id)) } else { hash_at(expected)? };
    let Some(before) = before else { return Ok(false) };
    let (mut seq, mut hash) = (expected, before);
    for event in events {
        seq = seq.next();
        hash = chain::next(&hash, seq, event.at.as_microsecond(), &event.actor, &event.body);
    }
    Ok(hash_at(seq)? == Some(hash))
}
