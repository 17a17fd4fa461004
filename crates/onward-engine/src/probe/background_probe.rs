//! Probes that run in a thread of their own, so that the driver never waits for one.

use std::io::PipeReader;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use crate::sys::threads;

pub(crate) struct LookBeside<T> {
    thread: Option<JoinHandle<T>>,
    /// Readable once the look is over.
    over: Option<PipeReader>,
    given_up: Arc<AtomicBool>,
}

impl<T: Send + 'static> LookBeside<T> {
    /// The look is told by the flag that nobody wants to know any more.
    pub(crate) fn begin(look: impl FnOnce(&Arc<AtomicBool>) -> T + Send + 'static) -> Self {
        let given_up = Arc::new(AtomicBool::new(false));
        let flag = given_up.clone();
        // Without a pipe its end is noticed at the next look at everything.
        let (over, writer) = std::io::pipe().map_or((None, None), |(reader, writer)| (Some(reader), Some(writer)));
        let thread = threads::spawn(move || {
            let _writer = writer;
            look(&flag)
        });
        Self { thread: Some(thread), over, given_up }
    }

    /// The result, once the look is over; an error is a look that broke down.
    pub(crate) fn seen(&mut self) -> Option<thread::Result<T>> {
        Some(self.thread.take_if(|thread| thread.is_finished())?.join())
    }
}

impl<T> LookBeside<T> {
    pub(crate) fn is_over(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    pub(crate) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.over.as_ref().map(AsFd::as_fd)
    }
}

impl<T> Drop for LookBeside<T> {
    /// Gives up an unfinished look and ends the commands that were started for it.
    fn drop(&mut self) {
        self.given_up.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
