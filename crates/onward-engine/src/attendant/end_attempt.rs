//! The end of an attempt by force, from outside: a run was cancelled, or is started anew.

use onward_core::event::StopRequest;

use super::find::{attendant_of, end_by_force, is_at_work, is_attended, kill};
use super::folder::AttemptFolder;
use crate::drive::running_attempt::boot_now;
use crate::sys::file_lock::LOCK_LOOK_EVERY;

/// Three seconds of looks at a lock after a kill.
const KILL_LOOKS_MAX: u32 = 150;

/// Ends an attempt by force. The attendant is left the time to do it, since it alone knows children that shed their mark.
pub(crate) fn end_attempt(folder: &AttemptFolder) -> Result<(), String> {
    let held = || is_at_work(folder).unwrap_or(false);
    let wait = || {
        (0..KILL_LOOKS_MAX).any(|_| {
            std::thread::sleep(LOCK_LOOK_EVERY);
            !held()
        })
    };
    if !held() {
        return Ok(());
    }
    let _ = kill(folder, StopRequest::OrphanKill);
    if is_attended(folder) && wait() {
        return Ok(());
    }
    let _ = end_by_force(&folder.mark(&boot_now()), attendant_of(folder));
    if wait() { Ok(()) } else { Err(format!("what was started from {} cannot be ended", folder.path().display())) }
}
