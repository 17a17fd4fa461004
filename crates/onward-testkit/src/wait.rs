//! Waiting for something to become true, with a limit.

use std::os::fd::BorrowedFd;
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// How long a command or a condition may take. Below the limit at which nextest ends a test, so that the test itself
/// says what it waited for.
pub const LIMIT: Duration = Duration::from_secs(12);

/// Pause between two looks at a condition.
const STEP: Duration = Duration::from_millis(5);

/// Asks `probe` until it gives a value, for at most [`LIMIT`]; panics with `what` if it never does.
#[track_caller]
pub fn wait_until<T>(what: &str, probe: impl FnMut() -> Option<T>) -> T {
    wait_within(LIMIT, what, probe)
}

/// [`wait_until`] with a limit of its own.
#[track_caller]
pub fn wait_within<T>(limit: Duration, what: &str, probe: impl FnMut() -> Option<T>) -> T {
    try_within(limit, probe).unwrap_or_else(|| panic!("waited {} s for {what}", limit.as_secs_f32()))
}

/// Whether something can be written there without waiting for its reader.
pub fn has_room(pipe: BorrowedFd<'_>) -> bool {
    let mut fds = [PollFd::new(pipe, PollFlags::POLLOUT)];
    matches!(poll(&mut fds, PollTimeout::ZERO), Ok(1))
}

/// Asks `probe` until it gives a value; none if the limit came first. It is asked at least once.
pub(crate) fn try_within<T>(limit: Duration, mut probe: impl FnMut() -> Option<T>) -> Option<T> {
    let deadline = Instant::now() + limit;
    loop {
        if let Some(value) = probe() {
            return Some(value);
        }
        if Instant::now() >= deadline {
            return None;
        }
        sleep(STEP);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_the_value_as_soon_as_it_is_there() {
        let mut asked = 0;
        let value = wait_until("the third answer", || {
            asked += 1;
            (asked == 3).then_some(asked)
        });
        assert_eq!(value, 3);
    }

    #[test]
    #[should_panic(expected = "for what never comes")]
    fn says_what_it_waited_for() {
        wait_within(Duration::ZERO, "what never comes", || None::<()>);
    }
}
