//! Which format the database has, and how an older one becomes the present one.
//!
//! To change the format, add the next numbered file to `migrations/` and its line to [`MIGRATIONS`]; a file that was
//! released is never edited. Write down first what an old program does with the new data.
//!
//! The number of the format stands in the header of the database, which no checksum covers. So the number beside it that
//! tells whose file this is goes with it, and a format that does not fit that is damage, not a later version.

use rusqlite::Connection;

use super::{
    fault::{SqliteFault, SqliteResult},
    into_chains,
    write::Meta,
};
use crate::error::{Damage, StoreError};

const MIGRATIONS: [Migration; KNOWN as usize] = [
    Migration { sql: include_str!("migrations/0001_initial.sql"), then: describe_itself },
    Migration { sql: include_str!("migrations/0002_chains.sql"), then: into_chains::move_documents },
    Migration { sql: include_str!("migrations/0003_format_1.sql"), then: raise_format },
    Migration { sql: include_str!("migrations/0004_durations.sql"), then: |_| Ok(()) },
];
pub(super) const FORMAT: &str = "1";

/// How often the header is read before it counts as damaged. Whoever changes it does so once.
const HEADER_READS_MAX: u32 = 4;

/// How many migrations this program knows.
pub(super) const KNOWN: u32 = 4;

/// One step to the next format: a change of the tables, and then what takes a program.
struct Migration {
    sql: &'static str,
    then: fn(&Connection) -> SqliteResult<()>,
}

/// How many migrations the database has seen; refused if that is more than we know.
pub(super) fn version(connection: &Connection) -> SqliteResult<u32> {
    // Both are signed there and are read as the bits that they are.
    let number = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    let version = agreed(|| Ok((number("user_version")?.cast_unsigned(), number("application_id")?.cast_unsigned())))?;
    if version > KNOWN {
        return Err(newer("the database", version.into(), KNOWN.into()));
    }
    Ok(version)
}

/// The format, once it and the number beside it fit each other. Each is a read of its own, so somebody who makes the store, or
/// brings it to the next format, may come between the two: then they fit at the next try.
fn agreed(mut read: impl FnMut() -> SqliteResult<(u32, u32)>) -> SqliteResult<u32> {
    for _ in 0..HEADER_READS_MAX {
        let (version, beside) = read()?;
        if beside == mark(version) {
            return Ok(version);
        }
    }
    Err(Damage::new("the header of the database does not fit itself").into())
}

/// The number that stands beside the format in the header of the database.
fn mark(version: u32) -> u32 {
    /// As the first format has it.
    const OURS: u32 = 0x6f6e_6764;
    /// An odd number: no two formats have the same product.
    const SPREAD: u32 = 0x9e37_79b1;
    match version {
        // A file into which nothing was written yet.
        0 => 0,
        1 | 2 => OURS,
        later => OURS ^ later.wrapping_mul(SPREAD),
    }
}

/// Brings the database to the present format. The usual case, nothing to do, writes nothing and takes no lock.
pub(super) fn migrate(connection: &Connection) -> SqliteResult<()> {
    if version(connection)? == KNOWN {
        return Ok(());
    }
    connection.execute_batch("BEGIN IMMEDIATE")?;
    // Somebody else may have done it while we waited for the lock.
    let outcome = version(connection).and_then(|from| upgrade(connection, from));
    let ended = connection.execute_batch(if outcome.is_ok() { "COMMIT" } else { "ROLLBACK" });
    outcome.and_then(|()| ended.map_err(SqliteFault::from))
}

fn upgrade(connection: &Connection, from: u32) -> SqliteResult<()> {
    for migration in MIGRATIONS.iter().skip(from as usize) {
        connection.execute_batch(migration.sql)?;
        (migration.then)(connection)?;
    }
    connection.pragma_update(None, "user_version", KNOWN)?;
    // As the signed number that is stored: one that does not fit would become another.
    connection.pragma_update(None, "application_id", mark(KNOWN).cast_signed())?;
    Ok(())
}

/// Reads what the store says about itself. A format that a later version wrote is refused, once the row fits its seal.
pub(super) fn meta(connection: &Connection) -> SqliteResult<Meta> {
    let meta = Meta::read(connection)?;
    if meta.format == FORMAT {
        return Ok(meta);
    }
    Err(newer("the format of the store", meta.format.parse().unwrap_or(u64::MAX), 1))
}

/// Refuses a format that a later version wrote. A row that is damaged is in nobody's way: it can be looked past.
pub(super) fn demand_known_format(connection: &Connection) -> SqliteResult<()> {
    match meta(connection) {
        Ok(_) | Err(SqliteFault::Store(StoreError::Damaged(_))) => Ok(()),
        Err(fault) => Err(fault),
    }
}

/// Writes the first row about the store, with a name that no other store has.
fn describe_itself(connection: &Connection) -> SqliteResult<()> {
    Meta::first(*uuid::Uuid::now_v7().as_bytes()).insert(connection)
}

/// Says that the store is of the format of the first release. A row that is damaged stays so, and is told by whoever reads it.
fn raise_format(connection: &Connection) -> SqliteResult<()> {
    match Meta::read(connection) {
        Ok(meta) => Meta { format: FORMAT.to_owned(), ..meta }.update_format(connection),
        Err(SqliteFault::Store(StoreError::Damaged(_))) => Ok(()),
        Err(fault) => Err(fault),
    }
}

fn newer(what: &'static str, found: u64, known: u64) -> SqliteFault {
    StoreError::Newer { what, found, known }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Somebody looks at a store in the moment in which another makes it: the format was read before, the number beside it
    /// after. That is no damage. A header that goes on not fitting itself is.
    #[test]
    fn a_store_that_is_being_made_is_not_damaged() {
        let mut reads = vec![(KNOWN, mark(KNOWN)), (0, mark(KNOWN))];
        let version = agreed(|| Ok(reads.pop().unwrap_or_default()));
        assert!(matches!(version, Ok(KNOWN)));
        assert!(matches!(agreed(|| Ok((0, mark(KNOWN)))), Err(SqliteFault::Store(StoreError::Damaged(_)))));
    }
}
