//! Faults of the database, before it is known whether that was a read or a write.

use std::path::Path;

use nix::{
    sys::statvfs::statvfs,
    unistd::{AccessFlags, access},
};
use onward_core::id::{RunId, Seq};
use rusqlite::ErrorCode;

use crate::error::{Damage, StoreCause, StoreError};

/// Below this a failed write is put down to the full disk, whatever `SQLite` called it.
const ROOM_BYTES_MIN: u64 = 64 * 1024;

#[derive(Debug)]
pub(super) enum SqliteFault {
    Database(rusqlite::Error),
    Store(StoreError),
}

pub(super) type SqliteResult<T> = Result<T, SqliteFault>;

impl From<rusqlite::Error> for SqliteFault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error)
    }
}

impl From<StoreError> for SqliteFault {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<Damage> for SqliteFault {
    fn from(damage: Damage) -> Self {
        Self::Store(damage.into())
    }
}

impl SqliteFault {
    pub(super) fn while_reading(self, path: &Path) -> StoreError {
        self.sorted(path, |cause, path, detail| StoreError::Unreadable { cause, path, detail })
    }

    pub(super) fn while_writing(self, path: &Path) -> StoreError {
        self.sorted(path, |cause, path, detail| StoreError::NotSaved { cause, path, detail })
    }

    /// The same, with the run that it is about, if it is damage.
    pub(super) fn of_run(self, run: &RunId) -> Self {
        match self {
            Self::Store(StoreError::Damaged(damage)) => damage.of_run(run).into(),
            other => other,
        }
    }

    /// The same, with the record of a run that it is about, if it is damage.
    pub(super) fn at(self, run: &RunId, seq: Seq) -> Self {
        match self {
            Self::Store(StoreError::Damaged(damage)) => damage.of_run(run).at(seq).into(),
            other => other,
        }
    }

    fn sorted(
        self,
        path: &Path,
        failed: impl FnOnce(StoreCause, std::path::PathBuf, String) -> StoreError,
    ) -> StoreError {
        match self {
            Self::Store(error) => error.in_database(path),
            Self::Database(error) => match cause(&error, path) {
                Some(cause) => failed(cause, path.to_owned(), error.to_string()),
                None => StoreError::from(Damage::new(format!("the database says: {error}"))).in_database(path),
            },
        }
    }
}

/// `None` when the database itself is not what we made: our statements never change, so whatever is wrong with them is
/// wrong with the file.
fn cause(error: &rusqlite::Error, path: &Path) -> Option<StoreCause> {
    let rusqlite::Error::SqliteFailure(code, _) = error else { return None };
    match code.code {
        ErrorCode::DiskFull => Some(StoreCause::Full),
        // Its header forbids writing, and nothing else does.
        ErrorCode::ReadOnly if code.extended_code == rusqlite::ffi::SQLITE_READONLY && may_be_written(path) => None,
        ErrorCode::ReadOnly | ErrorCode::PermissionDenied => Some(StoreCause::ReadOnly),
        // SQLite has one word for a failed disk and for a shared-memory file that could not grow.
        ErrorCode::SystemIoFailure if is_full(path) => Some(StoreCause::Full),
        ErrorCode::SystemIoFailure => Some(StoreCause::Io),
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed => {
            Some(StoreCause::Busy)
        }
        ErrorCode::CannotOpen
        | ErrorCode::OutOfMemory
        | ErrorCode::OperationInterrupted
        | ErrorCode::OperationAborted
        | ErrorCode::NoLargeFileSupport
        | ErrorCode::TooBig => Some(StoreCause::Other),
        _ => None,
    }
}

/// Whether the file and the folder around it are open to this process for writing.
fn may_be_written(path: &Path) -> bool {
    let folder = path.parent().unwrap_or(path);
    [path, folder].iter().all(|place| access(*place, AccessFlags::W_OK).is_ok())
}

fn is_full(path: &Path) -> bool {
    statvfs(path).is_ok_and(|seen| seen.blocks_available() * seen.fragment_size() < ROOM_BYTES_MIN)
}
