//! Waiting for whatever comes first: a signal, the end of an attendant, a byte from another process, or time.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::stat::Mode;

use crate::sys::signals;

/// The reasons that ended a wait, apart from attendants.
#[derive(Debug, Default)]
pub(crate) struct Woken {
    pub(crate) signals: Vec<i32>,
    /// Somebody says that there is something in the inbox.
    pub(crate) posted: bool,
}

pub(crate) struct Waiter {
    wake: InboxFifo,
}

impl Waiter {
    pub(crate) fn new(wake: PathBuf) -> io::Result<Self> {
        signals::listen_to_questions()?;
        Ok(Self { wake: InboxFifo::open(wake)? })
    }

    /// Waits until one of `others` is readable, a signal or a byte came, or the time is up.
    pub(crate) fn wait(&mut self, others: &[BorrowedFd<'_>], limit: Duration) -> io::Result<Woken> {
        let posted = {
            let mut fds: Vec<PollFd<'_>> = Vec::with_capacity(others.len() + 2);
            fds.push(PollFd::new(self.wake.file.as_fd(), PollFlags::POLLIN));
            fds.extend(signals::news().map(|news| PollFd::new(news, PollFlags::POLLIN)));
            fds.extend(others.iter().map(|fd| PollFd::new(*fd, PollFlags::POLLIN)));
            // Rounded up, so that a wait for a time is not over just before it.
            let limit = limit.saturating_add(Duration::from_micros(999));
            let timeout = PollTimeout::try_from(limit).unwrap_or(PollTimeout::MAX);
            match poll(&mut fds, timeout) {
                Ok(_) | Err(nix::errno::Errno::EINTR) => {}
                Err(why) => return Err(why.into()),
            }
            fds[0].any().unwrap_or(false)
        };
        if posted {
            self.wake.drain();
        }
        Ok(Woken { signals: signals::take(), posted })
    }
}

/// The FIFO into which others drop a byte after they posted. The byte is a hint; the row in the inbox is the truth.
struct InboxFifo {
    file: File,
    path: PathBuf,
}

impl InboxFifo {
    fn open(path: PathBuf) -> io::Result<Self> {
        // Whatever lies there is no pipe of a living driver's: there is one driver, and it is this one.
        match std::fs::remove_file(&path) {
            Err(why) if why.kind() != io::ErrorKind::NotFound => return Err(why),
            Ok(()) | Err(_) => {}
        }
        nix::unistd::mkfifo(&path, Mode::S_IRUSR | Mode::S_IWUSR)?;
        // Opened for both, so that it is never at its end when the last writer has gone.
        let flags = libc::O_NONBLOCK | libc::O_NOFOLLOW | libc::O_CLOEXEC;
        let file = File::options().read(true).write(true).custom_flags(flags).open(&path)?;
        Ok(Self { file, path })
    }

    fn drain(&mut self) {
        let mut bytes = [0; 64];
        while matches!(self.file.read(&mut bytes), Ok(count) if count > 0) {}
    }
}

impl Drop for InboxFifo {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Tells a driver that something was posted. That nobody listens is not an error.
pub(crate) fn wake(path: &Path) {
    use std::io::Write;

    let flags = libc::O_NONBLOCK | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    if let Ok(mut file) = File::options().write(true).custom_flags(flags).open(path)
        && file.metadata().is_ok_and(|about| about.file_type().is_fifo())
    {
        let _ = file.write_all(b"\n");
    }
}
