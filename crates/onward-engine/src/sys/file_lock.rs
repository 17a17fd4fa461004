//! Exclusive locks of whole files, waited for: for those that start the same work, or write the same small file.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use onward_store::lock::{Hold, try_lock};
use onward_store::private;

use crate::error::{Error, Result};
use crate::sys::stop;

pub(crate) const LOCK_LOOK_EVERY: Duration = Duration::from_millis(20);
/// Ten seconds of looks at the lock of those that start.
const START_LOOKS_MAX: u32 = 500;

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
