//! The signals that this process hears: INT, TERM and HUP ask for a stop, USR1 asks how far it is. A thread passes them on, and ends
//! the process where a stop takes too long.

use std::collections::VecDeque;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::{flag, low_level};

use super::stop;

/// The whole of a stop, from the signal to the end of this process. What hangs longer is left behind: every record survives the
/// kill of its writer.
const STOP_TIME_MAX: Duration = Duration::from_millis(9_900);

/// The same after another signal, which kills.
const KILL_TIME_MAX: Duration = Duration::from_millis(3_500);

/// Said when the time is over.
const CUT_OFF: &[u8] =
    b"\nonward: the stop was cut off, since something does not answer; what is recorded is kept: onward status\n";

/// Said in its place where a request was left with a run.
const CUT_OFF_WITH_A_REQUEST: &[u8] =
    b"\nonward: the stop was cut off, since something does not answer; the request stays, and is carried out when the driver goes \
on or the run is gone on with: onward status\n";

static HEARD: OnceLock<Heard> = OnceLock::new();

/// All that was heard since this process began to listen.
struct Heard {
    /// The last signal that wants an end; set by its handler.
    last: Arc<AtomicUsize>,
    /// When the first of them was heard.
    since: OnceLock<Instant>,
    /// Readable for good once a stop was asked for.
    asked: PipeReader,
    /// Readable while there are signals that nobody has taken: a byte for each.
    news: PipeReader,
    waiting: Mutex<VecDeque<i32>>,
    /// The way of USR1, until it is listened to.
    questions: Mutex<Option<PipeWriter>>,
}

/// Takes INT, TERM and HUP as a wish to stop from now on; before, each of them ends this process at once.
pub fn listen() -> io::Result<()> {
    if HEARD.get().is_some() {
        return Ok(());
    }
    let ((asked, asks), (news, tells)) = (io::pipe()?, io::pipe()?);
    let (question, questions) = io::pipe()?;
    let last = Arc::new(AtomicUsize::new(0));
    let (waiting, questions) = (Mutex::default(), Mutex::new(Some(questions)));
    if HEARD.set(Heard { last: last.clone(), since: OnceLock::new(), asked, news, waiting, questions }).is_err() {
        return Ok(());
    }
    let mut readers = vec![(SIGUSR1, question)];
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let (reader, writer) = io::pipe()?;
        readers.push((signal, reader));
        flag::register_usize(signal, last.clone(), usize::try_from(signal).unwrap_or_default())?;
        low_level::pipe::register(signal, writer)?;
    }
    thread::Builder::new().name("signals".to_owned()).spawn(move || hear(&mut readers, asks, tells))?;
    Ok(())
}

/// Takes USR1 as the question how far it is.
pub(crate) fn listen_to_questions() -> io::Result<()> {
    listen()?;
    let writer = HEARD.get().and_then(|heard| unpoisoned(heard.questions.lock()).take());
    writer.map_or(Ok(()), |writer| low_level::pipe::register(SIGUSR1, writer).map(drop))
}

/// The last signal that asked for a stop, if one did.
pub(super) fn last() -> Option<i32> {
    let last = HEARD.get()?.last.load(Ordering::SeqCst);
    i32::try_from(last).ok().filter(|&signal| signal != 0)
}

/// How long ago the first of them was heard.
pub(super) fn first_heard_before() -> Option<Duration> {
    HEARD.get().and_then(|heard| heard.since.get()).map(Instant::elapsed)
}

/// Readable for good once a stop was asked for.
pub(super) fn stop_asked() -> Option<BorrowedFd<'static>> {
    HEARD.get().map(|heard| heard.asked.as_fd())
}

/// Readable while there are signals to be taken.
pub(crate) fn news() -> Option<BorrowedFd<'static>> {
    HEARD.get().map(|heard| heard.news.as_fd())
}

/// The signals that came since they were last taken, each as often as it came.
pub(crate) fn take() -> Vec<i32> {
    let Some(heard) = HEARD.get() else { return Vec::new() };
    let mut waiting = unpoisoned(heard.waiting.lock());
    let taken: Vec<i32> = waiting.drain(..).collect();
    // The byte of each was written under the same lock.
    let _ = (&heard.news).read_exact(&mut vec![0; taken.len()]);
    taken
}

fn unpoisoned<T>(locked: std::result::Result<T, PoisonError<T>>) -> T {
    locked.unwrap_or_else(PoisonError::into_inner)
}

/// Waits for signals, passes them on, and ends this process where a stop takes too long.
fn hear(readers: &mut [(i32, PipeReader)], mut asks: PipeWriter, mut tells: PipeWriter) {
    let mut limit: Option<Instant> = None;
    loop {
        let left = limit.map(|limit| limit.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            cut_off();
        }
        let ready: Vec<bool> = {
            let mut fds: Vec<PollFd<'_>> =
                readers.iter().map(|(_, reader)| PollFd::new(reader.as_fd(), PollFlags::POLLIN)).collect();
            let timeout =
                left.map_or(PollTimeout::NONE, |left| PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX));
            if poll(&mut fds, timeout).is_err() {
                continue;
            }
            // Before anything is registered for it, the pipe of USR1 is only open.
            fds.iter().map(|fd| fd.revents().is_some_and(|events| events.contains(PollFlags::POLLIN))).collect()
        };
        for ((signal, reader), _) in readers.iter_mut().zip(ready).filter(|(_, ready)| *ready) {
            if reader.read_exact(&mut [0]).is_err() {
                continue;
            }
            if *signal != SIGUSR1 {
                let now = Instant::now();
                if let Some(heard) = HEARD.get() {
                    let _ = heard.since.get_or_init(|| now);
                }
                limit = Some(limit.map_or(now + STOP_TIME_MAX, |limit| limit.min(now + KILL_TIME_MAX)));
                let _ = asks.write_all(b".");
            }
            if let Some(heard) = HEARD.get() {
                let mut waiting = unpoisoned(heard.waiting.lock());
                waiting.push_back(*signal);
                let _ = tells.write_all(b".");
            }
        }
    }
}

/// Ends this process at once. Nothing is waited for, not even somebody who reads the last words.
fn cut_off() -> ! {
    let stderr = io::stderr();
    let mut fds = [PollFd::new(stderr.as_fd(), PollFlags::POLLOUT)];
    if matches!(poll(&mut fds, PollTimeout::ZERO), Ok(1)) {
        let words = if stop::no_request_is_open() { CUT_OFF } else { CUT_OFF_WITH_A_REQUEST };
        let _ = nix::unistd::write(stderr.as_fd(), words);
    }
    low_level::exit(128 + last().unwrap_or(SIGTERM))
}
