//! A stop that somebody asks of this process by INT, TERM or HUP.
//!
//! Work that may hang (git, a probe, the hash of a large file) asks here whether anybody still wants to know, and gives up once
//! nobody does. So a stop takes seconds whatever hangs. What gives up leaves no fact behind: the next start does it again.

use std::cell::{Cell, RefCell};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use signal_hook::consts::SIGTERM;

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

thread_local! {
    /// Set when nobody wants the result of this thread any more.
    static GIVEN_UP: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// From now on this thread takes the flag for a wish to stop as well.
pub(crate) fn heed_in_this_thread(flag: Option<Arc<AtomicBool>>) {
    GIVEN_UP.set(flag);
}

/// The flag that this thread heeds, for a thread that works for it.
pub(crate) fn heeded_in_this_thread() -> Option<Arc<AtomicBool>> {
    GIVEN_UP.with_borrow(Clone::clone)
}

fn given_up() -> Option<i32> {
    let is_set = |flag: &Arc<AtomicBool>| flag.load(Ordering::Relaxed);
    GIVEN_UP.with_borrow(|flag| flag.as_ref().is_some_and(is_set)).then_some(SIGTERM)
}

/// The same for whoever would give up; none within what is to be finished, as long as there is time for that.
pub fn asked() -> Option<i32> {
    signal().or_else(given_up).filter(|_| WHOLES.load(Ordering::SeqCst) == 0 || no_time_is_left())
}

/// Whether what is to be finished had its time.
fn no_time_is_left() -> bool {
    signals::first_heard_before().is_some_and(|time| time >= WHOLE_TIME_MAX)
}

/// How long at most whoever waits beside [`fd`] may wait before it asks again.
pub(crate) fn look_every() -> Option<Duration> {
    let heeds_a_flag = GIVEN_UP.with_borrow(Option::is_some);
    let waits_for_a_whole = signals::stop_asked().is_some() && WHOLES.load(Ordering::SeqCst) > 0;
    (heeds_a_flag || waits_for_a_whole).then_some(WHOLE_LOOK_EVERY)
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
