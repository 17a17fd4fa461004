//! A stop that somebody asks of this process by INT, TERM or HUP.
//!
//! Whatever may hang (git, a probe, the hash of a large file) asks here whether anybody still wants to know, and gives up once
//! nobody does. So a stop takes seconds whatever hangs. What gives up leaves no fact behind: the next start does it again.

use std::cell::Cell;
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

use crate::error::{Error, Result};

/// The whole of a stop, from the signal to the end of this process. What hangs longer is left behind: every record survives the
/// kill of its writer.
const STOP_TIME_MAX: Duration = Duration::from_millis(9_900);

/// Of that, the time for what is to be finished all the same.
const WHOLE_TIME_MAX: Duration = Duration::from_secs(5);

/// How often whoever waits within it looks at the time.
const WHOLE_LOOK_EVERY: Duration = Duration::from_millis(100);

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

/// The signal that asked for a stop, if one did.
pub fn signal() -> Option<i32> {
    let last = HEARD.get()?.last.load(Ordering::SeqCst);
    i32::try_from(last).ok().filter(|&signal| signal != 0)
}

/// The same for whoever would give up; none within what is to be finished, as long as there is time for that.
pub fn asked() -> Option<i32> {
    signal().filter(|_| WHOLES.load(Ordering::SeqCst) == 0 || no_time_is_left())
}

/// Whether what is to be finished had its time.
fn no_time_is_left() -> bool {
    let since = HEARD.get().and_then(|heard| heard.since.get());
    since.is_some_and(|since| since.elapsed() >= WHOLE_TIME_MAX)
}

/// How long at most whoever waits beside [`fd`] may wait before it asks again.
pub(crate) fn look_every() -> Option<Duration> {
    (HEARD.get().is_some() && WHOLES.load(Ordering::SeqCst) > 0).then_some(WHOLE_LOOK_EVERY)
}

/// How many things are under way that are to be finished all the same.
static WHOLES: AtomicUsize = AtomicUsize::new(0);

/// Something of which half would be worse than nothing, such as files that are being exchanged: it is short and is finished, also
/// when a stop was asked for meanwhile. What hangs in it is given up after a while all the same.
pub(crate) struct Whole {
    begun: Cell<bool>,
}

impl Whole {
    pub(crate) fn begin() -> Self {
        let whole = Self::begin_later();
        whole.begin_now();
        whole
    }

    /// One that has not begun yet.
    pub(crate) fn begin_later() -> Self {
        Self { begun: Cell::new(false) }
    }

    pub(crate) fn begin_now(&self) {
        if !self.begun.replace(true) {
            WHOLES.fetch_add(1, Ordering::SeqCst);
        }
    }
}

impl Drop for Whole {
    fn drop(&mut self) {
        if self.begun.get() {
            WHOLES.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// How many requests lie in the inbox of a run without an answer.
static REQUESTS: AtomicUsize = AtomicUsize::new(0);

/// A request that others may carry out as long as it is neither answered nor taken back.
pub(crate) struct OpenRequest(());

impl OpenRequest {
    pub(crate) fn begin() -> Self {
        REQUESTS.fetch_add(1, Ordering::SeqCst);
        Self(())
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        REQUESTS.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The error of whoever does not go on, since a stop was asked for.
pub fn demand_none() -> Result<()> {
    asked().map_or(Ok(()), |signal| Err(Error::Stopped { signal }))
}

/// Readable for good once a stop was asked for; none within what is to be finished.
pub fn fd() -> Option<BorrowedFd<'static>> {
    HEARD.get().filter(|_| WHOLES.load(Ordering::SeqCst) == 0).map(|heard| heard.asked.as_fd())
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
        let words = if REQUESTS.load(Ordering::SeqCst) == 0 { CUT_OFF } else { CUT_OFF_WITH_A_REQUEST };
        let _ = nix::unistd::write(stderr.as_fd(), words);
    }
    low_level::exit(128 + signal().unwrap_or(SIGTERM))
}

/// A pipe or a file that is read or written as long as nobody asked for a stop, and only up to a moment.
pub(crate) struct Patient<T> {
    inner: T,
    until: Option<Instant>,
}

impl<T: AsFd> Patient<T> {
    pub(crate) fn new(inner: T, until: Option<Instant>) -> Self {
        Self { inner, until }
    }

    /// Waits until the descriptor is ready; an error once it is given up.
    fn ready(&self, wanted: PollFlags) -> io::Result<()> {
        loop {
            if asked().is_some() {
                return Err(io::Error::other("it was given up, since a stop was asked for"));
            }
            let left = self.until.map(|until| until.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Err(io::ErrorKind::TimedOut.into());
            }
            let mut fds = vec![PollFd::new(self.inner.as_fd(), wanted)];
            fds.extend(fd().map(|stop| PollFd::new(stop, PollFlags::POLLIN)));
            // Rounded up, so that the end of the time is not asked for again and again just before it.
            let left = left.map(|left| left.saturating_add(Duration::from_millis(1)));
            let left = left.into_iter().chain(look_every()).min();
            let timeout =
                left.map_or(PollTimeout::NONE, |left| PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX));
            match poll(&mut fds, timeout) {
                Ok(_) if fds[0].any().unwrap_or(true) => return Ok(()),
                Ok(_) | Err(nix::errno::Errno::EINTR) => {}
                Err(why) => return Err(why.into()),
            }
        }
    }
}

impl<T: AsFd + Read> Read for Patient<T> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.ready(PollFlags::POLLIN)?;
        self.inner.read(buffer)
    }
}

/// So much fits into a pipe that is said to have room.
const WRITTEN_AT_ONCE_BYTES: usize = 4_096;

impl<T: AsFd + Write> Write for Patient<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.ready(PollFlags::POLLOUT)?;
        self.inner.write(&bytes[..bytes.len().min(WRITTEN_AT_ONCE_BYTES)])
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Waits until something can be read; false once a stop was asked for.
pub fn is_readable(from: &impl AsFd) -> bool {
    Patient::new(from.as_fd(), None).ready(PollFlags::POLLIN).is_ok()
}

/// Whether something can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Readable {
    Yes,
    NotYet,
    /// A stop was asked for.
    GivenUp,
}

/// Waits until something can be read, a stop is asked for, or a moment has come.
pub(crate) fn readable_until(from: &impl AsFd, until: Instant) -> Readable {
    match Patient::new(from.as_fd(), Some(until)).ready(PollFlags::POLLIN) {
        Ok(()) => Readable::Yes,
        Err(_) if asked().is_some() => Readable::GivenUp,
        Err(_) => Readable::NotYet,
    }
}

/// A file that is read until its end or until a stop was asked for, whichever comes first.
pub(crate) struct Heeding<T>(pub(crate) T);

impl<T: Read> Read for Heeding<T> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match asked() {
            Some(_) => Err(io::Error::other("it was given up, since a stop was asked for")),
            None => self.0.read(buffer),
        }
    }
}
