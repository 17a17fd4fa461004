//! The one way in which anything is written: a transaction that counts itself, and an answer that can be believed.

use std::{path::Path, sync::atomic::Ordering};

use rusqlite::{Connection, OptionalExtension, params};

use super::{
    fault::{SqliteFault, SqliteResult},
    flush, open, schema,
    store::{SqliteStore, newer_head},
};
use crate::{
    OpenMode,
    chain::Hash,
    error::{Damage, StoreCause, StoreError},
    head::{self, HeadFound, StoreHead, StoreId},
    kill_point::reached,
    seal::Seal,
};

/// The names of the points that a test may step in at.
pub(super) struct Points {
    pub(super) before_begin: &'static str,
    pub(super) before_commit: &'static str,
    pub(super) after_commit: &'static str,
}

pub(super) const APPEND: Points = Points {
    before_begin: "append.before-begin",
    before_commit: "append.before-commit",
    after_commit: "append.after-commit",
};

pub(super) const KEYFRAME: Points = Points {
    before_begin: "keyframe.before-begin",
    before_commit: "keyframe.before-commit",
    after_commit: "keyframe.after-commit",
};

/// Every other write.
pub(super) const OTHER: Points = Points {
    before_begin: "other.before-begin",
    before_commit: "other.before-commit",
    after_commit: "other.after-commit",
};

/// The row in which the store counts its commits.
#[derive(Clone, Debug)]
pub(super) struct Meta {
    pub(super) format: String,
    pub(super) store: StoreId,
    pub(super) commits: u64,
    pub(super) last_hash: Hash,
}

impl Meta {
    pub(super) fn first(store: StoreId) -> Self {
        Self { format: schema::FORMAT.to_owned(), store, commits: 0, last_hash: [0; 32] }
    }

    pub(super) fn head(&self) -> StoreHead {
        StoreHead { store: self.store, commits: self.commits, hash: self.last_hash }
    }

    pub(super) fn read(connection: &Connection) -> SqliteResult<Self> {
        let mut statement =
            connection.prepare_cached("SELECT format, store_id, commits, last_hash, seal FROM meta WHERE one = 1")?;
        let found = statement
            .query_row((), |row| {
                let meta = Self {
                    format: row.get(0)?,
                    store: row.get(1)?,
                    commits: row.get::<_, i64>(2)?.cast_unsigned(),
                    last_hash: row.get(3)?,
                };
                Ok((meta, row.get::<_, Vec<u8>>(4)?))
            })
            .optional()?;
        match found {
            Some((meta, seal)) if meta.seal().fits(&seal) => Ok(meta),
            Some(_) => Err(Damage::new("the store's row about itself does not match its checksum").into()),
            None => Err(Damage::new("the store's row about itself is missing").into()),
        }
    }

    pub(super) fn insert(&self, connection: &Connection) -> SqliteResult<()> {
        let sql = "INSERT INTO meta (one, format, store_id, commits, last_hash, seal) VALUES (1, ?1, ?2, ?3, ?4, ?5)";
        connection.execute(
            sql,
            params![self.format, self.store, self.commits.cast_signed(), self.last_hash, self.seal().finish()],
        )?;
        Ok(())
    }

    fn update(&self, connection: &Connection) -> SqliteResult<()> {
        connection
            .prepare_cached("UPDATE meta SET commits = ?1, last_hash = ?2, seal = ?3 WHERE one = 1")?
            .execute(params![self.commits.cast_signed(), self.last_hash, self.seal().finish()])?;
        Ok(())
    }

    /// Writes the number of the format, with a seal that fits.
    pub(super) fn update_format(&self, connection: &Connection) -> SqliteResult<()> {
        connection
            .prepare_cached("UPDATE meta SET format = ?1, seal = ?2 WHERE one = 1")?
            .execute(params![self.format, self.seal().finish()])?;
        Ok(())
    }

    fn seal(&self) -> Seal {
        Seal::new("meta")
            .text(&self.format)
            .bytes(&self.store)
            .number(self.commits.cast_signed())
            .bytes(&self.last_hash)
    }
}

/// Refuses to build on a database that lost what was acknowledged.
pub(super) fn demand_nothing_lost(found: &HeadFound, meta: &Meta, path: &Path) -> Result<(), StoreError> {
    let head = match found {
        HeadFound::Head(head) => head,
        HeadFound::Newer(found) => return Err(newer_head(*found)),
        HeadFound::Missing | HeadFound::Unreadable => return Ok(()),
    };
    let same_past = head.commits < meta.commits || (head.commits == meta.commits && head.hash == meta.last_hash);
    if head.store == meta.store && same_past {
        return Ok(());
    }
    Err(StoreError::LostCommits { head: head.commits, database: meta.commits, path: path.to_owned() })
}

impl SqliteStore {
    pub(super) fn demand_writable(&self) -> Result<(), StoreError> {
        if self.mode == OpenMode::Look {
            return Err(StoreError::LookOnly);
        }
        match &self.broken {
            None => Ok(()),
            Some(detail) => Err(StoreError::NotSaved {
                cause: StoreCause::Io,
                path: self.database.clone(),
                detail: format!("an earlier write failed and the store must be opened again: {detail}"),
            }),
        }
    }

    /// Runs `work` in one transaction and makes it durable, or leaves no trace.
    ///
    /// When the commit itself fails, nobody knows whether it happened. Then `is_saved` looks for its traces through a
    /// fresh connection, and only that decides what is answered.
    pub(super) fn write<T>(
        &mut self,
        points: &Points,
        work: impl FnOnce(&Connection, &mut Meta) -> SqliteResult<T>,
        is_saved: impl FnOnce(&Connection) -> SqliteResult<bool>,
    ) -> Result<T, StoreError> {
        self.demand_writable()?;
        self.demand_flushed()?;
        reached(points.before_begin);
        let found = head::read(&self.folder.head());
        self.execute("BEGIN IMMEDIATE").map_err(|error| error.while_writing(&self.database))?;
        let done = self.fill(&found, work);
        let (answer, meta) = match done {
            Ok(done) => done,
            Err(fault) => {
                self.roll_back();
                return Err(self.note_failure(fault));
            }
        };
        reached(points.before_commit);
        if let Err(fault) = self.execute("COMMIT") {
            self.roll_back();
            let error = self.note_failure(fault);
            // Where the disk failed, that something can be read does not mean that it is safe.
            if self.broken.is_some() || !self.was_saved(is_saved) {
                return Err(error);
            }
        }
        reached(points.after_commit);
        // Only now: what is in its place after the commit was there during it.
        self.demand_in_place()?;
        head::advance(&self.folder.head(), &meta.head());
        let pages = self.wal_pages.load(Ordering::Relaxed);
        self.backfill.after_commit(pages, &self.database, &self.connection);
        Ok(answer)
    }

    fn fill<T>(
        &self,
        found: &HeadFound,
        work: impl FnOnce(&Connection, &mut Meta) -> SqliteResult<T>,
    ) -> SqliteResult<(T, Meta)> {
        let mut meta = schema::meta(&self.connection)?;
        demand_nothing_lost(found, &meta, &self.database)?;
        let answer = work(&self.connection, &mut meta)?;
        meta.commits += 1;
        meta.update(&self.connection)?;
        Ok((answer, meta))
    }

    fn execute(&self, sql: &str) -> SqliteResult<()> {
        self.connection.prepare_cached(sql)?.execute(())?;
        Ok(())
    }

    /// Some failures end the transaction by themselves; then there is nothing to roll back.
    fn roll_back(&self) {
        if !self.connection.is_autocommit() {
            drop(self.execute("ROLLBACK"));
        }
    }

    /// After a failed flush the kernel may forget what it could not write, so the same handle must not try again.
    fn note_failure(&mut self, fault: SqliteFault) -> StoreError {
        if let SqliteFault::Database(error) = &fault
            && flush::has_failed(error)
        {
            return self.note_failed_flush(error.to_string());
        }
        let error = fault.while_writing(&self.database);
        if let StoreError::NotSaved { cause: StoreCause::Io, detail, .. } = &error {
            self.broken = Some(detail.clone());
        }
        error
    }

    fn note_failed_flush(&mut self, mut detail: String) -> StoreError {
        if let Err(error) = flush::mark(&self.database) {
            let more = format!(
                "; that could not be noted for the next process either ({error}), so restart the machine before anything is \
                 saved here again"
            );
            detail.push_str(&more);
        }
        self.broken = Some(detail.clone());
        StoreError::Unclear { path: self.database.clone(), detail }
    }

    fn was_saved(&self, is_saved: impl FnOnce(&Connection) -> SqliteResult<bool>) -> bool {
        open::for_looking(&self.database).and_then(|fresh| is_saved(&fresh)).unwrap_or(false)
    }

    /// Runs `work` on one unchanging state of the database.
    ///
    /// A blob file may be deleted by another process between the row that names it and the file, so damage is believed
    /// only when it is there on a second look.
    pub(super) fn read<T>(&self, work: impl Fn(&Connection) -> SqliteResult<T>) -> Result<T, StoreError> {
        match self.read_once(&work) {
            Err(SqliteFault::Store(StoreError::Damaged(_))) => self.read_once(&work),
            other => other,
        }
        // The file in the folder is named also where a copy of it is read.
        .map_err(|fault| fault.while_reading(&self.folder.database()))
    }

    fn read_once<T>(&self, work: impl Fn(&Connection) -> SqliteResult<T>) -> SqliteResult<T> {
        self.execute("BEGIN")?;
        let outcome = work(&self.connection);
        if !self.connection.is_autocommit() {
            drop(self.execute("COMMIT"));
        }
        outcome
    }
}
