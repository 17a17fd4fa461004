//! The store as it is beside a process that was stopped in the middle of a commit: nobody can write to it.

use std::fs::File;
use std::path::Path;

use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;

/// The byte of the file that readers share which whoever writes has locked.
const WRITE_LOCK_BYTE: libc::off_t = 120;

/// Keeps everybody from writing to a store until it is dropped.
#[derive(Debug)]
pub struct WriteLock(#[expect(dead_code, reason = "closing it is what gives the lock back")] File);

impl WriteLock {
    /// Waits until nobody writes.
    #[track_caller]
    pub fn take(store: &Path) -> Self {
        let file = File::options().read(true).write(true).open(store.join("onward.db-shm")).expect("a store in use");
        let lock = libc::flock {
            l_type: libc::c_short::try_from(libc::F_WRLCK).expect("a small number"),
            l_whence: libc::c_short::try_from(libc::SEEK_SET).expect("a small number"),
            l_start: WRITE_LOCK_BYTE,
            l_len: 1,
            l_pid: 0,
        };
        fcntl(&file, FcntlArg::F_SETLKW(&lock)).expect("a lock");
        Self(file)
    }
}
