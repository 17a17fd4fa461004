//! Which format the database has, and how an older one becomes the present one.
//!
//! To change the format, add the next numbered file to `migrations/` and its line to [`MIGRATIONS`]; a file that was
//! released is never edited. Write down first what an old program does with the new data.

use rusqlite::{Connection, OptionalExtension};

use super::{
    fault::{Answer, Fault},
    into_chains,
    write::Meta,
};
use crate::error::StoreError;

const MIGRATIONS: [Migration; KNOWN as usize] = [
    Migration { sql: include_str!("migrations/0001_initial.sql"), then: describe_itself },
    Migration { sql: include_str!("migrations/0002_chains.sql"), then: into_chains::move_documents },
];
pub(super) const FORMAT: &str = "0";

/// How many migrations this program knows.
pub(super) const KNOWN: u32 = 2;

/// One step to the next format: a change of the tables, and then what takes a program.
struct Migration {
    sql: &'static str,
    then: fn(&Connection) -> Answer<()>,
}

/// How many migrations the database has seen; refused if that is more than we know.
pub(super) fn version(connection: &Connection) -> Answer<u32> {
    let found: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    match u32::try_from(found) {
        Ok(version) if version <= KNOWN => Ok(version),
        _ => Err(newer("the database", u64::try_from(found).unwrap_or(u64::MAX), KNOWN.into())),
    }
}

/// Brings the database to the present format. The usual case, nothing to do, writes nothing and takes no lock.
pub(super) fn migrate(connection: &Connection) -> Answer<()> {
    if version(connection)? == KNOWN {
        return Ok(());
    }
    connection.execute_batch("BEGIN IMMEDIATE")?;
    // Somebody else may have done it while we waited for the lock.
    let outcome = version(connection).and_then(|from| upgrade(connection, from));
    let ended = connection.execute_batch(if outcome.is_ok() { "COMMIT" } else { "ROLLBACK" });
    outcome.and_then(|()| ended.map_err(Fault::from))
}

fn upgrade(connection: &Connection, from: u32) -> Answer<()> {
    for migration in MIGRATIONS.iter().skip(from as usize) {
        connection.execute_batch(migration.sql)?;
        (migration.then)(connection)?;
    }
    connection.pragma_update(None, "user_version", KNOWN)?;
    Ok(())
}

/// Refuses a format that a later version wrote.
pub(super) fn demand_known_format(connection: &Connection) -> Answer<()> {
    let format: Option<String> = connection
        .prepare_cached("SELECT format FROM meta WHERE one = 1")?
        .query_row((), |row| row.get(0))
        .optional()?;
    let format = format.unwrap_or_default();
    if let (false, Ok(found)) = (format == FORMAT, format.parse::<u64>()) {
        return Err(newer("the format of the store", found, 0));
    }
    Ok(())
}

/// Reads what the store says about itself.
pub(super) fn meta(connection: &Connection) -> Answer<Meta> {
    demand_known_format(connection)?;
    Meta::read(connection)
}

/// Writes the first row about the store, with a name that no other store has.
fn describe_itself(connection: &Connection) -> Answer<()> {
    Meta::first(*uuid::Uuid::now_v7().as_bytes()).insert(connection)
}

fn newer(what: &'static str, found: u64, known: u64) -> Fault {
    StoreError::Newer { what, found, known }.into()
}
