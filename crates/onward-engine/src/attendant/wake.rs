//! Signals, as something that a wait can end by.
//!
//! INT, TERM, HUP and XFSZ are caught and forgotten rather than ignored: what is caught becomes the default again in a new program,
//! what is ignored stays ignored, and a phase must be able to end by Ctrl+C.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::fcntl::OFlag;
use nix::unistd::{pipe2, read};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGURG, SIGUSR1, SIGUSR2, SIGXFSZ};
use signal_hook::{flag, low_level};

pub(super) struct AttendantWake {
    pipe: OwnedFd,
    asked: Arc<AtomicBool>,
    hurried: Arc<AtomicBool>,
    told: Arc<AtomicBool>,
}

/// The wake-ups since the last look. That a child has ended is not in it: children are looked at in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AttendantWoken {
    /// There may be a request to stop.
    pub(super) asked: bool,
    /// The phase is to be killed.
    pub(super) hurried: bool,
    /// The phase is to end, and there was no room to write that down. USR1 alone does not say it: people send it to all that is
    /// called onward, to see how far it is.
    pub(super) told: bool,
}

impl AttendantWake {
    pub(super) fn install() -> io::Result<Self> {
        let (pipe, waker) = pipe2(OFlag::O_CLOEXEC | OFlag::O_NONBLOCK)?;
        let wake = Self { pipe, asked: Arc::default(), hurried: Arc::default(), told: Arc::default() };
        // The flags are set before the byte is written, so whoever wakes by the byte sees them.
        flag::register(SIGUSR1, Arc::clone(&wake.asked))?;
        flag::register(SIGUSR2, Arc::clone(&wake.hurried))?;
        flag::register(SIGURG, Arc::clone(&wake.told))?;
        for signal in [SIGCHLD, SIGURG, SIGUSR1, SIGUSR2] {
            low_level::pipe::register_raw(signal, waker.try_clone()?)?;
        }
        let forgotten = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXFSZ] {
            flag::register(signal, Arc::clone(&forgotten))?;
        }
        Ok(wake)
    }

    /// Readable after a signal.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }

    pub(super) fn take(&self) -> AttendantWoken {
        let mut bytes = [0; 64];
        while read(&self.pipe, &mut bytes).is_ok_and(|count| count == bytes.len()) {}
        let taken = |flag: &AtomicBool| flag.swap(false, Ordering::SeqCst);
        AttendantWoken { asked: taken(&self.asked), hurried: taken(&self.hurried), told: taken(&self.told) }
    }
}
