//! Reading and writing that is given up once a stop was asked for, or a moment has come.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::stop::{asked, fd, look_every};

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
