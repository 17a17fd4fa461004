//! The text of a copy of a journal: what is written into a piece, and what is read from all of them.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use jiff::Timestamp;
use onward_core::event::Event;
use onward_core::id::{CheckpointId, RunId, Seq};
use onward_core::run::Run;
use onward_store::{Record, Store};
use serde::{Deserialize, Serialize};

use crate::journal;
use crate::vcs::{CopyOrigin, GitTrouble, Repository};

/// Tries at one copy.
const TRIES_MAX: u32 = 3;
const TRY_PAUSE: Duration = Duration::from_millis(100);
/// Tries in a row that did not work before copying is given up.
const FAILURES_MAX: u32 = 9;
/// The version of the form.
const FORMAT: u32 = 0;
/// Records that are read at a time.
const RECORDS_PER_READ: usize = 1_000;
/// Bytes of bodies after which a piece is closed and the next one is begun.
const PIECE_BYTES_MAX: usize = 4 << 20;

/// How long the end of a process waits for a copy that is being made.
const END_WAIT_MAX: Duration = Duration::from_secs(3);

/// The first line of a piece.
#[derive(Serialize, Deserialize)]
struct PieceHead {
    onward: u32,
    run: RunId,
    /// The folder of the project below the top of the repository.
    place: String,
    /// The last record before this piece.
    after: u64,
    records: u64,
}

/// One record, a line each.
#[derive(Serialize, Deserialize)]
struct PieceLine {
    at: Timestamp,
    actor: String,
    /// The hash of the chain of records, in hexadecimal digits.
    hash: String,
    body: String,
}

/// A journal as its copy tells it.
#[derive(Clone, Debug)]
pub(crate) struct CopiedJournal {
    pub(crate) run: RunId,
    pub(crate) place: String,
    pub(crate) records: Vec<Record>,
    pub(crate) origin: CopyOrigin,
}

impl CopiedJournal {
    /// When the run was begun.
    pub(crate) fn begun(&self) -> Option<Timestamp> {
        self.records.first().map(|first| first.at)
    }
}

/// A thread that copies what was added to the journal of a run, started when that is asked for the first time.
pub(crate) struct Copier {
    store: PathBuf,
    thread: Option<(Sender<RunId>, Receiver<()>)>,
}

impl Copier {
    pub(crate) fn new(store: PathBuf) -> Self {
        Self { store, thread: None }
    }

    pub(crate) fn ask(&mut self, run: &RunId) {
        let store = self.store.clone();
        if self.thread.is_none() {
            let (runs, asked) = channel();
            let (done, is_done) = channel();
            let started = thread::Builder::new().spawn(move || {
                work(&store, &asked);
                drop(done);
            });
            self.thread = started.ok().map(|_| (runs, is_done));
        }
        // Without a thread, or with one that has given up, nothing is copied now.
        if let Some((runs, _)) = &self.thread {
            let _ = runs.send(run.clone());
        }
    }
}

impl Drop for Copier {
    fn drop(&mut self) {
        if let Some((runs, is_done)) = self.thread.take() {
            drop(runs);
            // A git that hangs keeps nobody here; what it does not copy now is copied by the next driver.
            let _ = is_done.recv_timeout(END_WAIT_MAX);
        }
    }
}

/// Copies what a verb has added to the journal of a run, and waits for that. The caller holds the lease: only one copies at a time.
pub(crate) fn copy_after_checkpoint(store: &Path, run: &Run, before: Option<&CheckpointId>) {
    if run.started.snapshots && run.last_checkpoint.as_ref() != before {
        Copier::new(store.to_owned()).ask(&run.id);
    }
}

fn work(folder: &Path, asked: &Receiver<RunId>) {
    let Ok(repository) = Repository::open(folder.parent().unwrap_or(folder), folder) else { return };
    // Not only to look: a store without a log would be looked at in a copy, which does not grow.
    let Ok(mut store) = onward_store::open_if_there(folder) else { return };
    let mut copy = JournalCopy::default();
    while let Ok(first) = asked.recv() {
        // They are all of one run, and each copy takes all that is there.
        let run = asked.try_iter().last().unwrap_or(first);
        copy.bring_up_to_date(&repository, &mut *store, &run);
    }
}

/// Copies what was added to a journal since the last time. Whoever is late copies more; nothing waits for it.
#[derive(Default)]
struct JournalCopy {
    /// How far the copy goes, once that is known.
    copied: Option<u64>,
    /// How often it did not work, one time after the other. Too often, and it is left be for the rest of this process.
    failures: u32,
}

impl JournalCopy {
    fn bring_up_to_date(&mut self, repository: &Repository, store: &mut dyn Store, run: &RunId) {
        // Another git process may hold a lock of the repository's for a moment, and nobody may ask again for a long time.
        for _ in 0..TRIES_MAX {
            if self.failures >= FAILURES_MAX {
                return;
            }
            if self.copy(repository, store, run).is_some() {
                self.failures = 0;
                return;
            }
            self.failures += 1;
            thread::sleep(TRY_PAUSE);
        }
    }

    fn copy(&mut self, repository: &Repository, store: &mut dyn Store, run: &RunId) -> Option<()> {
        let mut after = match self.copied {
            Some(copied) => copied,
            None => repository.last_piece(run).ok()?.and_then(|piece| end_of(&piece)).unwrap_or(0),
        };
        loop {
            let mut records = store.events(run, Seq(after), RECORDS_PER_READ).ok()?;
            let mut bytes = 0;
            let fits = |record: &&Record| {
                bytes += record.body.len();
                bytes <= PIECE_BYTES_MAX
            };
            let fitting = records.iter().take_while(fits).count().max(1);
            records.truncate(fitting);
            if records.is_empty() {
                self.copied = Some(after);
                return Some(());
            }
            let end = after + records.len() as u64;
            repository.keep_piece(run, piece(run, &repository.place(), after, &records)?, end).ok()?;
            after = end;
        }
    }
}

fn piece(run: &RunId, place: &str, after: u64, records: &[Record]) -> Option<String> {
    let count = records.len() as u64;
    let head = PieceHead { onward: FORMAT, run: run.clone(), place: place.to_owned(), after, records: count };
    let mut text = format!("onward: journal of {run}, records {} to {}\n\n", after + 1, after + count);
    text.push_str(&serde_json::to_string(&head).ok()?);
    for record in records {
        let hash = blake3::Hash::from_bytes(record.hash).to_hex().to_string();
        let body = String::from_utf8(record.body.clone()).ok()?;
        text.push('\n');
        text.push_str(
            &serde_json::to_string(&PieceLine { at: record.at, actor: record.actor.clone(), hash, body }).ok()?,
        );
    }
    text.push('\n');
    Some(text)
}

fn end_of(piece: &str) -> Option<u64> {
    let head = head_of(piece)?;
    Some(head.after + head.records)
}

fn head_of(piece: &str) -> Option<PieceHead> {
    let head: PieceHead = serde_json::from_str(piece.lines().nth(2)?).ok()?;
    (head.onward == FORMAT).then_some(head)
}

/// How far the copy of a journal goes, and for which project it is.
pub(crate) fn end_and_place(repository: &Repository, run: &RunId) -> Result<Option<(u64, String)>, GitTrouble> {
    let head = repository.last_piece(run)?.and_then(|piece| head_of(&piece)).filter(|head| head.run == *run);
    Ok(head.map(|head| (head.after + head.records, head.place)))
}

/// Reads the copy of a journal, as far as its pieces fit each other.
pub(crate) fn read(repository: &Repository, run: &RunId) -> Result<Option<CopiedJournal>, GitTrouble> {
    let pieces = repository.pieces(run)?;
    let origin = repository.origin(run)?;
    let mut copied = CopiedJournal { run: run.clone(), place: String::new(), records: Vec::new(), origin };
    for piece in &pieces {
        let Some(head) = head_of(piece).filter(|head| head.run == *run) else { break };
        let lines: Vec<Record> = piece.lines().skip(3).map_while(|line| record(line, 0)).collect();
        if head.after != copied.records.len() as u64 || lines.len() as u64 != head.records {
            break;
        }
        copied.place = head.place;
        copied.records.extend(lines);
    }
    for (index, record) in copied.records.iter_mut().enumerate() {
        record.seq = Seq(index as u64 + 1);
    }
    let first = copied.records.first().and_then(|first| journal::event(&first.body));
    let is_of_run = matches!(first, Some(Event::RunStarted(started)) if started.run == *run);
    Ok(is_of_run.then_some(copied))
}

fn record(line: &str, seq: u64) -> Option<Record> {
    let PieceLine { at, actor, hash, body } = serde_json::from_str(line).ok()?;
    let hash = *blake3::Hash::from_hex(hash).ok()?.as_bytes();
    Some(Record { seq: Seq(seq), at, actor, body: body.into_bytes(), hash })
}
