//! Git processes that outlived the onward process that started them: they hold the lock of the shadow, and may write into it.
//!
//! The process that takes the shadow writes itself into the lock file, and every git that works there carries a tag that names it. So the next
//! one knows that the owner is gone, and ends what it left behind.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::attendant::tree_value;
use crate::sys::process::{self, AttemptMark, Pid, TREE_VARIABLE};

/// Two numbers.
const OWNER_BYTES_MAX: usize = 64;

/// The process that has the shadow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ShadowOwner {
    pid: i32,
    start_time: u64,
}

impl ShadowOwner {
    pub(super) fn this() -> io::Result<Self> {
        let pid = Pid::this();
        Ok(Self { pid: pid.as_raw(), start_time: process::start_time(pid)? })
    }

    /// The owner that is written into the lock file; none where it was given back in order.
    fn read(lock: &File) -> Option<Self> {
        let mut bytes = [0; OWNER_BYTES_MAX];
        let length = lock.read_at(&mut bytes, 0).ok()?;
        let text = std::str::from_utf8(&bytes[..length]).ok()?;
        let (pid, start_time) = text.strip_suffix('\n')?.split_once(' ')?;
        Some(Self { pid: pid.parse().ok()?, start_time: start_time.parse().ok()? })
    }

    /// Writes itself into the lock file. Not flushed: after a power cut no process is left.
    pub(super) fn write(self, lock: &File) -> io::Result<()> {
        lock.set_len(0)?;
        lock.write_all_at(format!("{} {}\n", self.pid, self.start_time).as_bytes(), 0)
    }

    fn tag(self) -> String {
        format!("git-{}-{}", self.pid, self.start_time)
    }

    /// The variable that every git carries which it starts.
    pub(super) fn variable(self) -> (&'static str, String) {
        let inherited = std::env::var(TREE_VARIABLE).ok();
        (TREE_VARIABLE, tree_value(inherited.as_deref(), &self.tag()))
    }
}

/// Ends what an owner that is gone has left behind. Nothing happens as long as it lives.
pub(super) fn end_what_was_left(lock: &File) {
    let Some(owner) = ShadowOwner::read(lock) else { return };
    if process::alive(Pid::from_raw(owner.pid), owner.start_time) {
        return;
    }
    // What cannot be ended is waited for.
    let _ = AttemptMark::tagged(&owner.tag()).kill();
}

/// The shadow is given back in order: nothing is left of its owner.
pub(super) fn forget(lock: &File) {
    let _ = lock.set_len(0);
}
