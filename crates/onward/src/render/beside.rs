//! Writing beside everything else: whoever drives a run must not stand still because nobody reads what is said.
//!
//! Each way out has a thread that writes and a queue in front of it. A reader that is slow loses nothing as long as the queue has
//! room; one that stands still for long, or while a stop is asked for, does not get what came meanwhile, and is told so.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use onward_engine::stop;

/// Text that waits to be written on one way out.
const QUEUE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// How long a reader that stands still is waited for when the queue is full.
const PATIENCE: Duration = Duration::from_secs(10);
/// The same at the end, once a stop was asked for.
const STOP_PATIENCE: Duration = Duration::from_millis(300);
/// How often it is looked whether a stop was asked for.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// The two ways out of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OutputStream {
    Out,
    Err,
}

/// A piece of text and how it is let out.
pub(super) struct Printout {
    pub(super) text: Vec<u8>,
    pub(super) write: fn(&[u8]),
}

#[derive(Default)]
struct Queue {
    pieces: VecDeque<Printout>,
    bytes: usize,
    /// A piece is being written.
    at_work: bool,
    left_out: u64,
    /// The reader stood still for longer than anybody waits, and still does.
    stalled: bool,
    /// There is no thread that writes: what is said is written by who says it.
    is_alone: bool,
}

#[derive(Default)]
struct WriterQueue {
    queue: Mutex<Queue>,
    changed: Condvar,
}

impl WriterQueue {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, queue: MutexGuard<'a, Queue>) -> MutexGuard<'a, Queue> {
        self.changed.wait_timeout(queue, LOOK_EVERY).unwrap_or_else(PoisonError::into_inner).0
    }

    /// Passes a piece on; it comes back where no thread writes.
    fn put(&self, piece: Printout) -> Option<Printout> {
        let begun = Instant::now();
        let mut queue = self.lock();
        if queue.is_alone {
            return Some(piece);
        }
        while queue.bytes + piece.text.len() > QUEUE_BYTES_MAX && !queue.pieces.is_empty() {
            queue.stalled |= begun.elapsed() >= PATIENCE;
            if queue.stalled || stop::signal().is_some() {
                queue.left_out += 1;
                return None;
            }
            queue = self.wait(queue);
        }
        queue.bytes += piece.text.len();
        queue.pieces.push_back(piece);
        self.changed.notify_all();
        None
    }

    /// Has a thread write what is put, where there is one to be had.
    fn write_beside(&'static self, told: fn(u64) -> Printout) {
        if thread::Builder::new().spawn(move || self.write_for_ever(told)).is_err() {
            self.lock().is_alone = true;
        }
    }

    fn write_for_ever(&self, told: fn(u64) -> Printout) {
        loop {
            let mut queue = self.lock();
            while queue.pieces.is_empty() {
                queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
            }
            let piece = queue.pieces.pop_front();
            queue.bytes -= piece.as_ref().map_or(0, |piece| piece.text.len());
            if queue.pieces.is_empty() && queue.left_out > 0 {
                let told = told(std::mem::take(&mut queue.left_out));
                queue.bytes += told.text.len();
                queue.pieces.push_back(told);
            }
            queue.at_work = true;
            drop(queue);
            if let Some(piece) = piece {
                (piece.write)(&piece.text);
            }
            let mut queue = self.lock();
            (queue.at_work, queue.stalled) = (false, false);
            self.changed.notify_all();
        }
    }

    /// Waits until all is written; whether it is.
    fn drain(&self) -> bool {
        let mut stopped: Option<Instant> = None;
        let mut queue = self.lock();
        while !queue.pieces.is_empty() || queue.at_work {
            if stop::signal().is_some() && stopped.get_or_insert_with(Instant::now).elapsed() >= STOP_PATIENCE {
                return false;
            }
            queue = self.wait(queue);
        }
        true
    }
}

struct WriterQueues {
    out: WriterQueue,
    err: WriterQueue,
}

static LINES: OnceLock<WriterQueues> = OnceLock::new();

/// Writes beside everything else from now on.
pub(super) fn begin(told_out: fn(u64) -> Printout, told_err: fn(u64) -> Printout) {
    if LINES.set(WriterQueues { out: WriterQueue::default(), err: WriterQueue::default() }).is_err() {
        return;
    }
    let Some(lines) = LINES.get() else { return };
    lines.out.write_beside(told_out);
    lines.err.write_beside(told_err);
}

/// Passes a piece on; it comes back where nobody writes beside.
pub(super) fn put(way: OutputStream, piece: Printout) -> Option<Printout> {
    let Some(lines) = LINES.get() else { return Some(piece) };
    match way {
        OutputStream::Out => lines.out.put(piece),
        OutputStream::Err => lines.err.put(piece),
    }
}

/// Waits until all that was said is written, or a stop was asked for and nobody reads; whether all is written.
pub(crate) fn drain() -> bool {
    // Both, whatever becomes of the first.
    LINES.get().is_none_or(|lines| {
        let (err, out) = (lines.err.drain(), lines.out.drain());
        err && out
    })
}
