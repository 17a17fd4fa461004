//! Keeping everybody else out while a store is rebuilt.

use std::{
    fs::File,
    thread,
    time::{Duration, Instant},
};

use crate::{
    error::{StoreCause, StoreError},
    folder::{Folder, make_folder},
    lease::{Holder, LeaseKind},
    lock::{self, Hold, held_runs},
    private,
};

/// How long to wait for others to be done with the database.
const WAIT_MAX: Duration = Duration::from_secs(5);
const STEP: Duration = Duration::from_millis(2);
/// Every connection keeps a lock on some of these bytes of the database file while it is open.
const SQLITE_LOCKS: (i64, i64) = (0x4000_0000, 512);

/// Two locks: one against a second repair, and the one that `SQLite` asks for before it opens the database.
pub(super) struct ClosedDatabase {
    _repair: File,
    database: Option<File>,
}

impl ClosedDatabase {
    pub(super) fn close(folder: &Folder) -> Result<Self, StoreError> {
        make_folder(&folder.run())?;
        let path = folder.run().join("repair");
        let repair = private::open_or_create(&path).map_err(|error| StoreError::not_saved(&path, &error))?;
        wait_for(folder, || lock::try_lock(&repair, Hold::Alone))?;
        let database = match private::open_to_write(&folder.database()) {
            Ok(file) => Some(file),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(StoreError::not_saved(folder.database(), &error)),
        };
        if let Some(file) = &database {
            wait_for(folder, || lock::try_range(file, SQLITE_LOCKS.0, SQLITE_LOCKS.1))?;
        }
        Ok(Self { _repair: repair, database })
    }

    pub(super) fn database_bytes(&self) -> u64 {
        self.database.as_ref().and_then(|file| file.metadata().ok()).map_or(0, |seen| seen.len())
    }
}

/// Waits for a lock up to a deadline. A driver is not waited for: it may last for days.
fn wait_for(folder: &Folder, mut lock: impl FnMut() -> std::io::Result<bool>) -> Result<(), StoreError> {
    let deadline = Instant::now() + WAIT_MAX;
    loop {
        let late = Instant::now() >= deadline;
        let held = held_runs(folder.root())?.into_iter().find(|(_, kind)| late || *kind == LeaseKind::Driving);
        if let Some((run, kind)) = held {
            return Err(StoreError::Held { run, kind, holder: Holder::unknown() });
        }
        if lock().map_err(|error| StoreError::not_saved(folder.database(), &error))? {
            return Ok(());
        }
        if late {
            let detail = "another process has the store open".to_owned();
            return Err(StoreError::NotSaved { cause: StoreCause::Busy, path: folder.database(), detail });
        }
        thread::sleep(STEP);
    }
}
