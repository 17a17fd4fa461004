//! The store that is being rebuilt: from the old files to the new ones in their place.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use onward_core::id::{CheckpointId, RunId};
use rusqlite::{Connection, params};

use super::{
    Journal, Letter, Naming, OldCheckpoint, OldRun,
    closed::ClosedDatabase,
    log,
    swap::{copy_whole, fold_log, move_blobs, swap_database, swap_log, verify},
    transplant,
    wreck::Wreck,
};
use crate::{
    Inspection, OpenMode, Store,
    error::StoreError,
    folder::{Folder, make_folder, sync_folder},
    head::{self, HeadFound, StoreId},
    kill_point::reached,
    sqlite::{
        fault::{SqliteFault, SqliteResult},
        open, schema,
        store::SqliteStore,
        write::Meta,
    },
};

/// A store that is being rebuilt. Nobody else can open it meanwhile. Dropped before [`Salvage::finish`] it leaves the
/// store as it was, and the copies aside.
pub struct Salvage {
    folder: Folder,
    identity: Identity,
    /// The head file as it was found.
    head: HeadFound,
    wreck: Wreck,
    new: SqliteStore,
    /// Goes after the two databases in it are closed.
    scratch: Scratch,
    /// Dropped last: then others can open the store again.
    closed: ClosedDatabase,
}

/// The identity of the new database, so that the head file, and copies of the old one, are judged rightly.
struct Identity {
    store: StoreId,
    commits: u64,
}

impl Salvage {
    /// Closes the store to everybody else, copies its files into the new folder `aside` and opens what can be opened.
    ///
    /// Refused as [`StoreError::Held`] while anybody holds a run.
    pub fn begin(path: &Path, aside: &Path) -> Result<Self, StoreError> {
        let folder = Folder::find(path)?.ok_or_else(|| StoreError::NoStore { folder: path.to_owned() })?;
        folder.check_database()?;
        let closed = ClosedDatabase::close(&folder)?;
        reached("salvage.before-copy");
        make_folder(aside)?;
        for original in [folder.database(), folder.wal(), folder.head()] {
            copy_whole(&original, aside)?;
        }
        sync_folder(aside).map_err(|error| StoreError::not_saved(aside, &error))?;
        reached("salvage.after-copy");
        let scratch = Scratch::new(&folder)?;
        let (old, new) = (scratch.0.join("old"), scratch.0.join("new"));
        make_folder(&old)?;
        let mut new = SqliteStore::open(&new, OpenMode::ReadWrite)?;
        let quick = new.connection.pragma_update(None, "synchronous", 0);
        quick.map_err(|error| SqliteFault::from(error).while_writing(&new.database))?;
        for original in [folder.database(), folder.wal()] {
            copy_whole(&original, &old)?;
        }
        let connection = open_wreck(&old.join("onward.db"), &mut new)?;
        let head = head::read(&folder.head());
        let identity = Identity::new(&connection, head);
        let wreck = Wreck::new(connection, &folder.blobs());
        Ok(Self { folder, identity, head, wreck, new, scratch, closed })
    }

    /// The last record that was acknowledged, as the head file tells it: the commits up to there, and its hash.
    pub fn last_acknowledged(&self) -> Option<(u64, [u8; 32])> {
        let HeadFound::Head(head) = self.head else { return None };
        (head.store == self.identity.store && head.hash != [0; 32]).then_some((head.commits, head.hash))
    }

    /// Every run of which anything is left, in order of creation.
    pub fn runs(&self) -> Vec<OldRun> {
        self.wreck.runs()
    }

    /// The part of a journal that can be believed. `name` tells the run and the key of its work from the body of a first
    /// record, should its row be lost.
    pub fn journal(&self, run: OldRun, name: &Naming<'_>) -> Journal {
        self.wreck.journal(run, name)
    }

    /// The checkpoints of a run, oldest first. `id` is only for the words of what is wrong.
    pub fn checkpoints(&self, run: OldRun, id: &RunId) -> Vec<OldCheckpoint> {
        self.wreck.checkpoints(run, id)
    }

    /// Messages posted to a run, in order.
    pub fn letters(&self, run: OldRun) -> Vec<Letter> {
        self.wreck.letters(run)
    }

    /// Checkpoints that were deleted; `None` if nobody can tell.
    pub fn buried_checkpoints(&self) -> Option<Vec<CheckpointId>> {
        let buried = self.wreck.buried()?.into_iter().filter(|(kind, _)| kind == "checkpoint");
        Some(buried.map(|(_, id)| CheckpointId::new(id)).collect())
    }

    /// Runs that were deleted, as far as that can be told.
    pub fn buried_runs(&self) -> Vec<RunId> {
        let buried = self.wreck.buried().unwrap_or_default().into_iter().filter(|(kind, _)| kind == "run");
        buried.map(|(_, id)| RunId::new(id)).collect()
    }

    /// Where to write what is kept.
    pub fn new_store(&mut self) -> &mut dyn Store {
        &mut self.new
    }

    /// Sees to it that the next lease on a run has a higher epoch than any it ever had. `known` is what the caller knows
    /// of its epochs.
    pub fn keep_epoch(&mut self, old: Option<OldRun>, run: &RunId, known: u64) -> Result<(), StoreError> {
        // A row of leases has no checksum: what it says may be far too high, and must not use up all there are.
        let told = old.and_then(|old| self.wreck.epoch(old)).filter(|epoch| *epoch < u64::from(u32::MAX)).unwrap_or(0);
        let epoch = told.max(known);
        let sql = "UPDATE leases SET epoch = max(epoch, ?2) WHERE run = (SELECT number FROM runs WHERE run = ?1)";
        self.in_new(|connection| Ok(connection.execute(sql, params![run.as_str(), epoch.cast_signed()])?))?;
        Ok(())
    }

    fn in_new<T>(&self, work: impl FnOnce(&Connection) -> SqliteResult<T>) -> Result<T, StoreError> {
        work(&self.new.connection).map_err(|fault| fault.while_writing(&self.new.database))
    }

    /// Reads the new store from end to end and puts it in the place of the old one.
    pub fn finish(mut self) -> Result<(), StoreError> {
        self.keep_tombstones()?;
        self.name_new()?;
        let Self { folder, scratch: held, wreck, new, closed, .. } = self;
        let scratch = held.0.as_path();
        drop(wreck);
        let built = new.database.clone();
        fold_log(&new)?;
        drop(new);
        let failed = |error: io::Error| StoreError::not_saved(scratch, &error);
        fs::File::open(&built).and_then(|file| file.sync_all()).map_err(failed)?;
        let log = scratch.join("old/onward.db-wal");
        log::write(&built, &log).map_err(failed)?;
        // As it will be found after the rename: some database file, and a log that holds every page.
        let is_empty = closed.database_bytes() == 0;
        let found = if is_empty { built.clone() } else { scratch.join("old/onward.db") };
        verify(scratch, &found)?;
        move_blobs(&scratch.join("new/blobs"), &folder.blobs())?;
        reached("salvage.before-swap");
        let swapped = if is_empty { swap_database(&folder, &built) } else { swap_log(&folder, &log) };
        swapped.map_err(failed)?;
        reached("salvage.after-swap");
        drop(closed);
        let mut store = SqliteStore::open_to_repair(folder.root())?;
        // Somebody may have it open again by now; then the log is copied later, as any log is.
        drop(fold_log(&store));
        store.accept_loss()?;
        reached("salvage.after-head");
        Ok(())
    }

    fn keep_tombstones(&mut self) -> Result<(), StoreError> {
        let buried = self.wreck.buried().unwrap_or_default();
        self.in_new(|connection| {
            let mut statement =
                connection.prepare("INSERT INTO tombstones (kind, id) VALUES (?1, ?2) ON CONFLICT DO NOTHING")?;
            for (kind, id) in buried {
                statement.execute([kind, id])?;
            }
            Ok(())
        })
    }

    fn name_new(&mut self) -> Result<(), StoreError> {
        let Identity { store, commits } = self.identity;
        self.in_new(|connection| {
            let meta = schema::meta(connection)?;
            connection.execute("DELETE FROM meta", ())?;
            // More than the old one had: so a head file of before is behind, and the old database, put back, is noticed.
            Meta { store, commits: commits.saturating_add(meta.commits), ..meta }.insert(connection)
        })
    }
}

/// How the names of folders begin in which a store is rebuilt. One that is left was left by a kill, and is of no use.
const SCRATCH: &str = "repair-";

/// The folder in which the old and the new database lie until the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(folder: &Folder) -> Result<Self, StoreError> {
        let path = folder.root().join(format!("{SCRATCH}{}", uuid::Uuid::now_v7()));
        make_folder(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

impl Identity {
    fn new(connection: &Connection, found: HeadFound) -> Self {
        let head = match found {
            HeadFound::Head(head) => Some(head),
            HeadFound::Missing | HeadFound::Unreadable | HeadFound::Newer(_) => None,
        };
        match (schema::meta(connection), head) {
            (Ok(meta), Some(head)) if head.store == meta.store => {
                Self { store: meta.store, commits: meta.commits.max(head.commits) }
            }
            (Ok(meta), _) => Self { store: meta.store, commits: meta.commits },
            (Err(_), Some(head)) => Self { store: head.store, commits: head.commits },
            (Err(_), None) => Self { store: *uuid::Uuid::now_v7().as_bytes(), commits: 0 },
        }
    }
}

/// Opens the copy of the old database, with the beginning of a new one in place of its own if need be.
fn open_wreck(path: &Path, new: &mut SqliteStore) -> Result<Connection, StoreError> {
    let open = || -> SqliteResult<Connection> {
        let connection = open::for_writing(path, &Arc::default())?;
        schema::migrate(&connection)?;
        connection.prepare("SELECT place FROM records")?;
        Ok(connection)
    };
    let first = open();
    if let Err(SqliteFault::Store(StoreError::Newer { .. })) = &first {
        return first.map_err(|fault| fault.while_reading(path));
    }
    let opened = first.or_else(|_| {
        fold_log(new)?;
        transplant::beginning(&new.database, path).map_err(|error| StoreError::unreadable(path, &error))?;
        open()
    });
    // Nothing can be read at all: an empty database stands in for it.
    let connection = opened.or_else(|_| Ok::<_, SqliteFault>(Connection::open_in_memory()?));
    let connection = connection.map_err(|fault| fault.while_reading(path))?;
    // The index of blobs can be made again from its table, and a damaged one would hide what is there.
    drop(connection.execute_batch("REINDEX blobs"));
    Ok(connection)
}
