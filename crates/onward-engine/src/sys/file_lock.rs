//! Waiting for one's turn: those that start the same work, and attempts that have to end first.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use onward_store::private;

use crate::attendant;
use crate::drive::running_attempt::boot_now;
use crate::error::{Error, Result};
use crate::sys::stop;

pub(crate) const LOCK_LOOK_EVERY: Duration = Duration::from_millis(20);
/// Ten seconds of looks at the lock of those that start.
const START_LOOKS_MAX: u32 = 500;
/// Three seconds of looks at a lock after a kill.
const KILL_LOOKS_MAX: u32 = 150;

/// Holds a lock file until it is dropped. Whoever has it needs it for milliseconds.
pub(crate) fn exclusive(path: &Path) -> Result<File> {
    let failed = |why: std::io::Error| Error::NoRoom { what: format!("{} cannot be locked: {why}", path.display()) };
    let file = private::open_or_create(path).map_err(failed)?;
    for _ in 0..START_LOOKS_MAX {
        if try_exclusive(&file).map_err(failed)? {
            return Ok(file);
        }
        stop::demand_none()?;
        std::thread::sleep(LOCK_LOOK_EVERY);
    }
    Err(failed(std::io::ErrorKind::TimedOut.into()))
}

/// Locks a file until it is closed; `false` where somebody else has it.
pub(crate) fn try_exclusive(file: &File) -> std::io::Result<bool> {
    let whole = libc::flock {
        l_type: i16::try_from(libc::F_WRLCK).expect("a small number"),
        l_whence: i16::try_from(libc::SEEK_SET).expect("a small number"),
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    };
    match fcntl(file, FcntlArg::F_OFD_SETLK(&whole)) {
        Ok(_) => Ok(true),
        Err(Errno::EAGAIN | Errno::EACCES | Errno::EINTR) => Ok(false),
        Err(why) => Err(why.into()),
    }
}

/// Ends an attempt by force. The attendant is left the time to do it, since it alone knows children that shed their mark.
pub(crate) fn end(folder: &attendant::AttemptFolder) -> std::result::Result<(), String> {
    let held = || attendant::is_at_work(folder).unwrap_or(false);
    let wait = || {
        (0..KILL_LOOKS_MAX).any(|_| {
            std::thread::sleep(LOCK_LOOK_EVERY);
            !held()
        })
    };
    if !held() {
        return Ok(());
    }
    let _ = attendant::kill(folder, attendant::StopBy::OrphanKill);
    if attendant::is_attended(folder) && wait() {
        return Ok(());
    }
    let _ = attendant::end_by_force(&folder.mark(&boot_now()), attendant::attendant_of(folder));
    if wait() { Ok(()) } else { Err(format!("what was started from {} cannot be ended", folder.path().display())) }
}
