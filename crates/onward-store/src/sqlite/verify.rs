//! Reading everything there is, to find damage that no ordinary read came across.

use onward_core::id::{CheckpointId, RunId, Seq};

use super::{
    checkpoints::ListedRow,
    contents,
    fault::{SqliteFault, SqliteResult},
    runs::RunColumns,
    store::SqliteStore,
};
use crate::{
    chain::Hash,
    error::{Damage, StoreError},
    types::{CheckpointFilter, Page, RunFilter},
};

/// Records that are read at a time.
const RECORDS_PER_READ: usize = 1_000;
/// More than a person reads; a database with that much damage needs no longer list.
const DAMAGE_MAX: usize = 100;

impl SqliteStore {
    pub(super) fn verify_everything(&self) -> Result<Vec<Damage>, StoreError> {
        let mut found = Vec::new();
        gather(&mut found, self.read(check_structure))?;
        let rows = match self.list_runs(&RunFilter::default(), Page::first(usize::MAX)) {
            Err(error) => gather(&mut found, Err(error)).map(|()| Vec::new())?,
            Ok(rows) => rows,
        };
        for row in rows {
            found.extend(row.summary.err());
            self.verify_run(&row.run, &mut found)?;
            if found.len() >= DAMAGE_MAX {
                found.truncate(DAMAGE_MAX);
                break;
            }
        }
        Ok(found)
    }

    fn verify_run(&self, run: &RunId, found: &mut Vec<Damage>) -> Result<(), StoreError> {
        gather(found, self.verify_journal(run))?;
        gather(found, self.verify_inbox(run).map(|()| Vec::new()))?;
        gather(found, self.bad_checkpoints(run).map(|bad| bad.into_iter().map(|(_, damage)| damage).collect()))
    }

    /// The checkpoints of a run that are listed and cannot be read.
    pub(super) fn bad_checkpoints(&self, run: &RunId) -> Result<Vec<(CheckpointId, Damage)>, StoreError> {
        let good = self.good_contents(run)?;
        let all = Page::first(usize::MAX);
        let listed = self.read(|connection| self.listed(connection, CheckpointFilter::OfRun(run), all))?;
        let mut bad = Vec::new();
        for ListedRow { row, place, .. } in listed {
            if row.damage.is_none() && good.binary_search(&place).is_ok() {
                continue;
            }
            match self.read_checkpoint(&row.id) {
                Ok(_) => {}
                Err(StoreError::Damaged(damage)) => bad.push((row.id, damage)),
                Err(other) => return Err(other),
            }
        }
        Ok(bad)
    }

    /// The places of all contents that can be read, in order. Each one is read once, and not once for every checkpoint
    /// behind it.
    fn good_contents(&self, run: &RunId) -> Result<Vec<i64>, StoreError> {
        let blobs = self.folder.blobs();
        self.read(|connection| {
            let (first, last) = contents::places(RunColumns::find(connection, run)?.number);
            let mut statement =
                connection.prepare("SELECT place FROM keyframes WHERE place BETWEEN ?1 AND ?2 ORDER BY place")?;
            let starts: Vec<i64> =
                statement.query_map([first, last], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
            let ends = starts.iter().skip(1).map(|next| next - 1).chain([last]);
            let mut good = Vec::new();
            for (start, end) in starts.iter().zip(ends) {
                let mut link = Hash::default();
                if contents::read_keyframe(connection, &blobs, run, *start, &mut link).is_err() {
                    continue;
                }
                good.push(*start);
                let visit = |_| good.push(good.last().map_or(*start, |place| place + 1));
                // Where it stops, the checkpoints that are missing from the answer say why.
                drop(contents::walk(connection, &blobs, run, (*start, end), &mut link, visit));
            }
            Ok(good)
        })
    }

    fn verify_journal(&self, run: &RunId) -> Result<Vec<Damage>, StoreError> {
        let mut after = Seq(0);
        while let Some(last) = self.read_journal(run, after, RECORDS_PER_READ)?.last() {
            after = last.seq;
        }
        Ok(Vec::new())
    }

    pub(super) fn verify_inbox(&self, run: &RunId) -> Result<(), StoreError> {
        self.waiting_items(run, usize::MAX)?;
        for item in self.item_ids(run)? {
            self.read_reply(run, &item)?;
        }
        Ok(())
    }
}

pub(super) fn check_structure(connection: &rusqlite::Connection) -> SqliteResult<Vec<Damage>> {
    let mut statement = connection.prepare("PRAGMA integrity_check(10)")?;
    let rows = statement.query_map((), |row| row.get::<_, String>(0))?;
    let said: Vec<String> = rows.collect::<rusqlite::Result<_>>().map_err(SqliteFault::from)?;
    let bad = said.into_iter().filter(|line| line != "ok");
    Ok(bad.map(|line| Damage::new(format!("the database says: {line}"))).collect())
}

/// Damage is a finding; anything else is a reason to stop looking.
fn gather(found: &mut Vec<Damage>, looked: Result<Vec<Damage>, StoreError>) -> Result<(), StoreError> {
    match looked {
        Ok(more) => found.extend(more),
        Err(StoreError::Damaged(damage)) => found.push(damage),
        Err(StoreError::NoRun { run }) => found.push(Damage::new("the run is listed and cannot be found").of_run(&run)),
        Err(newer @ StoreError::Newer { .. }) => found.push(Damage::new(newer.to_string())),
        Err(other) => return Err(other),
    }
    Ok(())
}
