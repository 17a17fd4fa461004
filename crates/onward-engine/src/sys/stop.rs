//! A stop that somebody asks of this process by INT, TERM or HUP.
//!
//! Work that may hang (git, a probe, the hash of a large file) asks here whether anybody still wants to know, and gives up once
//! nobody does. So a stop takes seconds whatever hangs. What gives up leaves no fact behind: the next start does it again.

use std::cell::Cell;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::signals;
use crate::error::{Error, Result};

/// The time that a stop leaves for what is to be finished all the same.
const WHOLE_TIME_MAX: Duration = Duration::from_secs(5);

/// How often whoever waits within it looks at the time.
const WHOLE_LOOK_EVERY: Duration = Duration::from_millis(100);

/// The signal that asked for a stop, if one did.
pub fn signal() -> Option<i32> {
    signals::last()
}

/// The same for whoever would give up; none within what is to be finished, as long as there is time for that.
pub fn asked() -> Option<i32> {
    signal().filter(|_| WHOLES.load(Ordering::SeqCst) == 0 || no_time_is_left())
}

/// Whether what is to be finished had its time.
fn no_time_is_left() -> bool {
    signals::first_heard_before().is_some_and(|time| time >= WHOLE_TIME_MAX)
}

/// How long at most whoever waits beside [`fd`] may wait before it asks again.
pub(crate) fn look_every() -> Option<Duration> {
    (signals::stop_asked().is_some() && WHOLES.load(Ordering::SeqCst) > 0).then_some(WHOLE_LOOK_EVERY)
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

/// Whether nobody else may still carry out what was asked of a run.
pub(super) fn no_request_is_open() -> bool {
    REQUESTS.load(Ordering::SeqCst) == 0
}

/// The error of whoever does not go on, since a stop was asked for.
pub fn demand_none() -> Result<()> {
    asked().map_or(Ok(()), |signal| Err(Error::Stopped { signal }))
}

/// Readable for good once a stop was asked for; none within what is to be finished.
pub fn fd() -> Option<BorrowedFd<'static>> {
    signals::stop_asked().filter(|_| WHOLES.load(Ordering::SeqCst) == 0)
}
