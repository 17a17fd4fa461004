//! Waiting for one's turn: those that start the same work, and attempts that have to end first.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use onward_core::event::StopRequest;
use onward_store::lock::{Hold, try_lock};
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
        if try_lock(&file, Hold::Alone).map_err(failed)? {
            return Ok(file);
        }
        stop::demand_none()?;
        std::thread::sleep(LOCK_LOOK_EVERY);
    }
    Err(failed(std::io::ErrorKind::TimedOut.into()))
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
    let _ = attendant::kill(folder, StopRequest::OrphanKill);
    if attendant::is_attended(folder) && wait() {
        return Ok(());
    }
    let _ = attendant::end_by_force(&folder.mark(&boot_now()), attendant::attendant_of(folder));
    if wait() { Ok(()) } else { Err(format!("what was started from {} cannot be ended", folder.path().display())) }
}
