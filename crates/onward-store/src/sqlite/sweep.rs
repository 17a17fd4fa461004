//! Deleting contents that nothing needs any more.
//!
//! Whole documents cut the contents of a run into stretches: a keyframe, and the patches up to the next one. To read a
//! checkpoint takes its stretch up to the checkpoint itself; to add a patch takes all of the last stretch. A deleted
//! checkpoint leaves a ghost where its content lies. A ghost is needed if a checkpoint stands behind it in its stretch,
//! or if the stretch is the last; otherwise its content goes, and the ghost with it.

use rusqlite::{Connection, OptionalExtension, params};

use super::{
    contents::{keyframe_at_or_before, places},
    fault::SqliteResult,
    values::{BlobUse, Released},
};
use crate::seal::Seal;

/// From one keyframe to the next.
struct Stretch {
    start: i64,
    /// The place of the next keyframe; `None` if this is the last stretch of its run.
    end: Option<i64>,
}

/// Notes that the checkpoint at a place is deleted.
pub(super) fn add_ghost(connection: &Connection, place: i64) -> SqliteResult<()> {
    connection
        .prepare_cached("INSERT INTO ghosts (place, seal) VALUES (?1, ?2) ON CONFLICT (place) DO NOTHING")?
        .execute(params![place, seal(place).finish()])?;
    Ok(())
}

fn seal(place: i64) -> Seal {
    Seal::new("ghosts").number(place)
}

/// Deletes what nothing needs in the stretches around some places, which are in order; how many bytes of rows that
/// freed. What lies in other stretches cannot have changed. Costs next to nothing in a run without ghosts.
pub(super) fn around(connection: &Connection, places: &[i64], released: &mut Released) -> SqliteResult<u64> {
    let (mut swept_to, mut bytes) = (i64::MIN, 0);
    for place in places {
        if *place < swept_to || !has_ghosts(connection, place >> 32)? {
            continue;
        }
        let Some(stretch) = Stretch::around(connection, *place)? else { continue };
        bytes += stretch.sweep(connection, released)?;
        swept_to = stretch.behind();
    }
    Ok(bytes)
}

fn has_ghosts(connection: &Connection, run: i64) -> SqliteResult<bool> {
    let mut statement = connection.prepare_cached("SELECT 1 FROM ghosts WHERE place BETWEEN ?1 AND ?2")?;
    Ok(statement.exists(places(run))?)
}

/// In order. A ghost whose seal does not fit may be a checkpoint that is there, so it counts as one.
fn ghosts(connection: &Connection, stretch: &Stretch) -> SqliteResult<Vec<i64>> {
    let mut statement =
        connection.prepare_cached("SELECT place, seal FROM ghosts WHERE place >= ?1 AND place < ?2 ORDER BY place")?;
    let mut rows = statement.query([stretch.start, stretch.behind()])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let place = row.get(0)?;
        if seal(place).fits(&row.get::<_, Vec<u8>>(1)?) {
            found.push(place);
        }
    }
    Ok(found)
}

impl Stretch {
    /// `None` if the keyframe is missing, which only damage can explain: then nothing more is deleted.
    fn around(connection: &Connection, place: i64) -> SqliteResult<Option<Self>> {
        let Some(start) = keyframe_at_or_before(connection, place)? else { return Ok(None) };
        let (_, last) = places(place >> 32);
        let end = connection
            .prepare_cached("SELECT place FROM keyframes WHERE place > ?1 AND place <= ?2 ORDER BY place LIMIT 1")?
            .query_row([start, last], |row| row.get(0))
            .optional()?;
        Ok(Some(Self { start, end }))
    }

    /// The first place that does not belong to it.
    fn behind(&self) -> i64 {
        self.end.unwrap_or(places(self.start >> 32).1 + 1)
    }

    fn sweep(&self, connection: &Connection, released: &mut Released) -> SqliteResult<u64> {
        let ghosts = ghosts(connection, self)?;
        let needed = self.last_needed(connection, &ghosts)?;
        let mut bytes = 0;
        for ghost in ghosts {
            let is_start = ghost == self.start;
            let is_needed = needed.is_some_and(|needed| ghost <= needed);
            // Beside a keyframe a patch is of no use: whoever comes here starts with the keyframe.
            if is_start || !is_needed {
                bytes += delete(connection, "patches", "body", BlobUse::Patch, ghost, released)?;
            }
            if is_start && !is_needed {
                bytes += delete(connection, "keyframes", "document", BlobUse::Keyframe, ghost, released)?;
            }
            if !is_needed {
                // A ghost that stays shows that what lies here may go one day.
                connection.prepare_cached("DELETE FROM ghosts WHERE place = ?1")?.execute([ghost])?;
            }
        }
        Ok(bytes)
    }

    /// The last place of the stretch that is read by somebody.
    fn last_needed(&self, connection: &Connection, ghosts: &[i64]) -> SqliteResult<Option<i64>> {
        let Some(end) = self.end else { return Ok(Some(i64::MAX)) };
        let mut statement = connection
            .prepare_cached("SELECT place FROM patches WHERE place > ?1 AND place < ?2 ORDER BY place DESC")?;
        let mut rows = statement.query([self.start, end])?;
        let is_ghost = |place: &i64| ghosts.binary_search(place).is_ok();
        while let Some(row) = rows.next()? {
            let place = row.get(0)?;
            if !is_ghost(&place) {
                return Ok(Some(place));
            }
        }
        Ok(Some(self.start).filter(|start| !is_ghost(start)))
    }
}

fn delete(
    connection: &Connection,
    table: &str,
    column: &str,
    kind: BlobUse,
    place: i64,
    released: &mut Released,
) -> SqliteResult<u64> {
    let sql = format!("DELETE FROM {table} WHERE place = ?1 RETURNING length({column})");
    let bytes: Option<i64> = connection.prepare_cached(&sql)?.query_row([place], |row| row.get(0)).optional()?;
    released.one(connection, place >> 32, kind, place)?;
    Ok(bytes.unwrap_or(0).cast_unsigned())
}
