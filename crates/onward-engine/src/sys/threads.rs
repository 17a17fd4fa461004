//! Threads, also where the machine has none to spare for a moment.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::stop;

/// How long it is tried to start a thread.
const SHORTAGE_TIME_MAX: Duration = Duration::from_secs(10);
const SHORTAGE_PAUSE: Duration = Duration::from_millis(50);

/// The end of a process for which the machine had no thread to spare all that time. No bug: the next start goes on.
#[derive(Debug)]
pub struct NoThread;

/// Starts a thread for this work. Where none is to be had it is tried again for a while; then the process ends with [`NoThread`].
pub(crate) fn spawn<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    // A thread that is not started takes its work with it, so each try is given a way to it only.
    let work = Arc::new(Mutex::new(Some(work)));
    let until = Instant::now() + SHORTAGE_TIME_MAX;
    loop {
        let own = work.clone();
        let started = thread::Builder::new().spawn(move || {
            let work = own.lock().unwrap_or_else(PoisonError::into_inner).take();
            work.expect("one thread is started, and it alone takes the work")()
        });
        match started {
            Ok(thread) => return thread,
            Err(_) if Instant::now() < until && stop::asked().is_none() => thread::sleep(SHORTAGE_PAUSE),
            Err(_) => std::panic::panic_any(NoThread),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_does_the_work_and_says_what_came_of_it() {
        let text = "moved".to_owned();
        assert_eq!(spawn(move || text.len()).join().expect("it does not panic"), 5);
    }
}
