//! How a connection to the database is made, and what is demanded of it.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicI32, Ordering},
    },
    thread,
    time::Duration,
};

use rusqlite::{Connection, OpenFlags, config::DbConfig, limits::Limit};

use super::fault::SqliteResult;
use crate::{VALUE_BYTES_MAX, error::StoreError, file_system::network_file_system};

/// How often a locked database is asked again, and how long to wait between two times. `SQLite`'s own handler waits
/// longer and longer, which makes a short wait long.
const BUSY_STEPS_MAX: i32 = 10_000;
const BUSY_STEP: Duration = Duration::from_millis(1);
/// Most of those we wait for are done sooner than that, so the first times are short.
const BUSY_STEPS_SHORT: i32 = 20;
const BUSY_STEP_SHORT: Duration = Duration::from_micros(100);
const STATEMENTS_KEPT: usize = 64;
/// `synchronous` as a number. An unknown word would be taken for a weaker setting without a murmur.
const SYNCHRONOUS_FULL: i64 = 2;
/// The same for a rollback journal, whose folder has to be flushed, too.
const SYNCHRONOUS_EXTRA: i64 = 3;

/// Opens for writing. The pages in the write-ahead log are counted in `wal_pages` at each commit.
pub(super) fn for_writing(path: &Path, wal_pages: &Arc<AtomicI32>) -> SqliteResult<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | common_flags();
    let mut connection = Connection::open_with_flags(path, flags)?;
    // Closing the last connection would copy the log into the database: work that a short command need not wait for, and that
    // must not be done to one that turns out to be damaged. So before anything is read.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    settle(&mut connection)?;
    // The index of a write-ahead log is memory that processes share, and no two machines do.
    let (journal, synchronous) = match network_file_system(path) {
        Some(_) => ("delete", SYNCHRONOUS_EXTRA),
        None => ("wal", SYNCHRONOUS_FULL),
    };
    connection.pragma_update(None, "synchronous", synchronous)?;
    demand_journal(&connection, path, journal)?;
    demand_synchronous(&connection, path, synchronous)?;
    // The hook takes the place of SQLite's own checkpoints, which would run inside a commit.
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    // What is deleted is written over where that costs no further page: a message that was answered may have held a secret.
    connection.pragma_update_and_check(None, "secure_delete", "fast", |_| Ok(()))?;
    let pages = Arc::clone(wal_pages);
    connection.wal_hook(Some(move |_: &mut rusqlite::hooks::Wal, count| {
        pages.store(count, Ordering::Relaxed);
        Ok(())
    }))?;
    Ok(connection)
}

/// Opens so that nothing can be written, whatever is asked.
pub(super) fn for_looking(path: &Path) -> SqliteResult<Connection> {
    let mut connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY | common_flags())?;
    settle(&mut connection)?;
    connection.pragma_update(None, "query_only", true)?;
    Ok(connection)
}

fn common_flags() -> OpenFlags {
    OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW
}

/// Settings of every connection: our own patience, and no trust in what the file says about itself.
fn settle(connection: &mut Connection) -> SqliteResult<()> {
    connection.busy_handler(Some(|asked: i32| {
        thread::sleep(if asked < BUSY_STEPS_SHORT { BUSY_STEP_SHORT } else { BUSY_STEP });
        asked < BUSY_STEPS_MAX
    }))?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_KEPT);
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    let length = i32::try_from(VALUE_BYTES_MAX).unwrap_or(i32::MAX);
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, length)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    Ok(())
}

/// Two processes that make a new database at once may meet here, and `SQLite` does not call the busy handler then.
fn demand_journal(connection: &Connection, path: &Path, wanted: &str) -> SqliteResult<()> {
    let mut steps = 0;
    loop {
        let answer = connection.pragma_update_and_check(None, "journal_mode", wanted, |row| row.get::<_, String>(0));
        match answer {
            Ok(mode) if mode == wanted => return Ok(()),
            Err(error) if is_busy(&error) && steps < BUSY_STEPS_MAX => {
                steps += 1;
                thread::sleep(BUSY_STEP);
            }
            Ok(found) => return Err(not_durable(path, "the journal that it should keep", found)),
            Err(error) => return Err(error.into()),
        }
    }
}

fn demand_synchronous(connection: &Connection, path: &Path, wanted: i64) -> SqliteResult<()> {
    let found: i64 = connection.pragma_query_value(None, "synchronous", |row| row.get(0))?;
    if found == wanted {
        return Ok(());
    }
    Err(not_durable(path, "to flush all that it should", found.to_string()))
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked))
}

fn not_durable(path: &Path, setting: &'static str, found: String) -> super::fault::SqliteFault {
    StoreError::NotDurable { path: path.to_owned(), setting, found }.into()
}
