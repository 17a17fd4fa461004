//! Recovery from a failed flush.
//!
//! After a flush that failed the kernel may show bytes that the disk does not have, and it does not report them again. A log
//! that is read then may hold a commit that stands on nothing, and whatever is appended behind it would be lost together
//! with it. So a mark is left beside the database, the handle that met the failure writes no more, and whoever wants to write
//! next first copies the whole log into the database, flushes that, and empties the log. Only then does the mark go.
//!
//! The mark must be seen by the next process, and need not outlive the machine: after a power cut what can be read is what
//! the disk has, and a log that ends early ends there.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use rusqlite::{Connection, ffi};

use super::{
    fault::{SqliteFault, SqliteResult},
    store::SqliteStore,
};
use crate::{
    error::{StoreCause, StoreError},
    folder::{Folder, create_file, sync_folder},
};

const MARK: &str = "flush-failed";

/// Whether this is a flush that failed, and not a write, a full disk or a lock.
pub(super) fn has_failed(error: &rusqlite::Error) -> bool {
    let codes = [ffi::SQLITE_IOERR_FSYNC, ffi::SQLITE_IOERR_DIR_FSYNC];
    matches!(error, rusqlite::Error::SqliteFailure(code, _) if codes.contains(&code.extended_code))
}

/// Leaves the mark in the folder of a database. On a full disk the bytes that are kept back become it.
pub(super) fn mark(database: &Path) -> io::Result<()> {
    let folder = database.parent().unwrap_or(database);
    let path = folder.join(MARK);
    let made = match create_file(&path) {
        Ok(file) => file.sync_all(),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(_) => fs::rename(folder.join("reserve"), &path),
    };
    // A disk that fails may fail here, too. The mark is seen all the same as long as this machine is up.
    drop(sync_folder(folder));
    made.or_else(|error| if path.symlink_metadata().is_ok() { Ok(()) } else { Err(error) })
}

pub(super) fn is_marked(folder: &Folder) -> bool {
    mark_of(folder).symlink_metadata().is_ok()
}

fn mark_of(folder: &Folder) -> PathBuf {
    folder.root().join(MARK)
}

impl SqliteStore {
    /// Nothing is appended behind a flush that failed before the log was emptied and its content flushed elsewhere.
    pub(super) fn demand_flushed(&self) -> Result<(), StoreError> {
        if !is_marked(&self.folder) {
            return Ok(());
        }
        let refused = |cause, detail: String| StoreError::NotSaved { cause, path: self.database.clone(), detail };
        match empty_the_log(&self.connection) {
            Ok(true) => {}
            Ok(false) => {
                let why = "an earlier flush failed, and others read the log that must be emptied first".to_owned();
                return Err(refused(StoreCause::Busy, why));
            }
            Err(SqliteFault::Database(error)) => {
                let why = format!("an earlier flush failed, and the log cannot be emptied: {error}");
                return Err(refused(StoreCause::Io, why));
            }
            Err(SqliteFault::Store(error)) => return Err(error),
        }
        let mark = mark_of(&self.folder);
        fs::remove_file(&mark).map_err(|error| StoreError::not_saved(&mark, &error))
    }
}

/// Copies all of the log into the database, flushes that and empties the log; `false` if somebody is in the way.
pub(super) fn empty_the_log(connection: &Connection) -> SqliteResult<bool> {
    let busy: i64 = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |row| row.get(0))?;
    Ok(busy == 0)
}
