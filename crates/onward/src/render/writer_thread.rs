//! Writing beside everything else: whoever drives a run must not stand still because nobody reads what is said.
//!
//! Each way out has a thread that writes and a queue in front of it. A reader that is slow loses nothing as long as the queue has
//! room; one that stands still for long, or while a stop is asked for, does not get what came meanwhile, and is told so.
//!
//! The live view is written by the same thread as the text on stderr, so that neither comes into the other. Of the view only the
//! newest counts: it waits in no queue.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use onward_core::view::live::LiveView;
use onward_engine::stop;

use super::live::Painter;

/// Text that waits to be written on one way out.
const QUEUE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// How long a reader that stands still is waited for when the queue is full.
const PATIENCE: Duration = Duration::from_secs(10);
/// The same at the end, once a stop was asked for.
const STOP_PATIENCE: Duration = Duration::from_millis(300);
/// How often it checks for a request to stop.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// How often a view is drawn anew while nothing comes: times go on, and the screen may have another size.
const REDRAW_EVERY: Duration = Duration::from_millis(250);

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
    live: LiveSlot,
}

/// The live view that is to be on the screen.
#[derive(Default)]
struct LiveSlot {
    view: Option<Arc<LiveView>>,
    /// How many want it away for a while.
    holds: u32,
    /// It is not the one that was drawn last.
    changed: bool,
}

impl LiveSlot {
    fn shown(&self) -> Option<Arc<LiveView>> {
        self.view.as_ref().filter(|_| self.holds == 0).map(Arc::clone)
    }
}

/// A turn of a thread that writes.
struct WriterTurn {
    pieces: Vec<Printout>,
    view: Option<Arc<LiveView>>,
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
        let mut painter = Painter::default();
        loop {
            let WriterTurn { pieces, view } = self.next_turn(&painter, told);
            if painter.shows_something() || view.is_some() {
                painter.show(&pieces, view.as_deref());
            } else {
                for piece in &pieces {
                    (piece.write)(&piece.text);
                }
            }
            let mut queue = self.lock();
            (queue.at_work, queue.stalled) = (false, false);
            self.changed.notify_all();
        }
    }

    /// Waits for something to write: a piece, all that waits where it goes above a view, or the view alone.
    fn next_turn(&self, painter: &Painter, told: fn(u64) -> Printout) -> WriterTurn {
        let mut queue = self.lock();
        while queue.pieces.is_empty() && !queue.live.changed {
            if !painter.shows_something() {
                queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let (woken, waited) =
                self.changed.wait_timeout(queue, REDRAW_EVERY).unwrap_or_else(PoisonError::into_inner);
            queue = woken;
            if waited.timed_out() {
                break;
            }
        }
        let view = queue.live.shown();
        queue.live.changed = false;
        let count = if painter.shows_something() || view.is_some() { queue.pieces.len() } else { 1 };
        let count = count.min(queue.pieces.len());
        let pieces: Vec<Printout> = queue.pieces.drain(..count).collect();
        queue.bytes -= pieces.iter().map(|piece| piece.text.len()).sum::<usize>();
        if queue.pieces.is_empty() && queue.left_out > 0 {
            let told = told(std::mem::take(&mut queue.left_out));
            queue.bytes += told.text.len();
            queue.pieces.push_back(told);
        }
        queue.at_work = true;
        WriterTurn { pieces, view }
    }

    /// Changes what is to be on the screen.
    fn change_live(&self, change: impl FnOnce(&mut LiveSlot)) {
        let mut queue = self.lock();
        change(&mut queue.live);
        queue.live.changed = true;
        self.changed.notify_all();
    }

    /// Waits until all is written; whether it is.
    fn drain(&self) -> bool {
        let mut stopped: Option<Instant> = None;
        let mut queue = self.lock();
        while !queue.is_alone && (!queue.pieces.is_empty() || queue.live.changed || queue.at_work) {
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

/// Whether a thread writes on stderr: without one there is no live view.
pub(super) fn is_writing() -> bool {
    LINES.get().is_some_and(|lines| !lines.err.lock().is_alone)
}

/// Has this view at the bottom of the terminal from now on.
pub(super) fn show(view: LiveView) {
    change_live(|live| live.view = Some(Arc::new(view)));
}

/// Takes the view away.
pub(super) fn hide() {
    change_live(|live| live.view = None);
}

/// Takes the view away until [`release`] was called as often; it is gone when this returns.
pub(super) fn hold() {
    change_live(|live| live.holds += 1);
    drain();
}

pub(super) fn release() {
    change_live(|live| live.holds -= 1);
}

fn change_live(change: impl FnOnce(&mut LiveSlot)) {
    if let Some(lines) = LINES.get() {
        lines.err.change_live(change);
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
