//! The handle, and the map from the contract to the files beside this one.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, atomic::AtomicI32},
};

use jiff::Timestamp;
use onward_core::id::{CheckpointId, RunId, Seq};
use rusqlite::Connection;

use super::{
    backfill::{self, Backfill},
    backup,
    copy::Copy,
    fault::SqliteFault,
    open,
    place::DatabaseFiles,
    runs::ListedIds,
    schema,
};
use crate::{
    OpenMode, Store,
    error::{Damage, StoreError},
    folder::{Folder, bytes_of},
    head::{self, HeadFound},
    lease::{Holder, Lease, LeaseKind},
    ownership,
    types::{
        Appended, CheckpointFilter, CheckpointRow, Derived, Entry, Fold, InboxItem, KeyframeKept, NewRun, Page,
        PostedAs, PruneList, Pruned, Record, RunFilter, RunRow, StoredCheckpoint, TakenBack,
    },
};

/// A store in a `SQLite` database.
pub(crate) struct SqliteStore {
    pub(super) folder: Folder,
    /// The file that is open: the one in the folder, or a copy if the folder cannot be written.
    pub(super) database: PathBuf,
    pub(super) mode: OpenMode,
    pub(super) connection: Connection,
    pub(super) backfill: Backfill,
    /// Pages in the write-ahead log, as of the last commit of this handle.
    pub(super) wal_pages: Arc<AtomicI32>,
    /// The `data_version` of `SQLite` when [`Store::changed`] was last asked.
    seen: i64,
    pub(super) listed: ListedIds,
    /// Where the files were that are open for writing.
    pub(super) place: Option<DatabaseFiles>,
    /// The error of the disk when it failed. From then on this handle writes nothing.
    pub(super) broken: Option<String>,
    /// Kept last, so that the copy goes after the connection to it.
    _copy: Option<Copy>,
}

impl SqliteStore {
    pub(crate) fn open(folder: &Path, mode: OpenMode) -> Result<Self, StoreError> {
        match mode {
            OpenMode::ReadWrite => Self::open_to_write(folder),
            OpenMode::Look => Self::open_to_look(folder),
        }
    }

    fn open_to_write(path: &Path) -> Result<Self, StoreError> {
        if let Some(there) = Folder::find(path)? {
            there.check_database()?;
            ownership::demand(there.root())?;
        }
        Self::open_to_repair(path)
    }

    pub(crate) fn open_to_repair(path: &Path) -> Result<Self, StoreError> {
        let folder = Folder::prepare(path)?;
        let database = folder.database();
        // Read before the database: somebody may be making both just now, and the head is written last.
        let head = head::read(&folder.head());
        demand_a_database_for_the_log(&folder)?;
        if !folder.check_database()? {
            demand_nothing_remembered(&head, &folder)?;
            folder.make_database()?;
        } else if bytes_of(&database) == 0 {
            // Opening it would write into it.
            demand_nothing_remembered(&head, &folder)?;
        }
        ownership::mark_database(folder.root(), &database)?;
        let wal_pages = Arc::new(AtomicI32::new(0));
        let failed = |fault: SqliteFault| fault.while_writing(&database);
        let connection = open::for_writing(&database, &wal_pages).map_err(failed)?;
        if schema::version(&connection).map_err(failed)? == 0 {
            demand_nothing_remembered(&head, &folder)?;
        }
        backup::keep(&connection, folder.root()).map_err(failed)?;
        schema::migrate(&connection).map_err(failed)?;
        let meta = schema::meta(&connection).map_err(failed)?;
        if meta.commits == 0 {
            head::advance(&folder.head(), &meta.head());
        }
        Self::start(folder, database, OpenMode::ReadWrite, connection, wal_pages, None)
    }

    fn open_to_look(path: &Path) -> Result<Self, StoreError> {
        let no_store = || StoreError::NoStore { folder: path.to_owned() };
        let folder = Folder::find(path)?.ok_or_else(no_store)?;
        // Read before the database: somebody may be making both just now, and the head is written last.
        let head = head::read(&folder.head());
        demand_a_database_for_the_log(&folder)?;
        if !folder.check_database()? {
            demand_nothing_remembered(&head, &folder)?;
            return Err(no_store());
        }
        let original = folder.database();
        let (connection, version, copy) = look_at(&folder).map_err(|error| error.in_database(&original))?;
        if version == 0 {
            // Somebody was killed while making it, or somebody took its log away.
            demand_nothing_remembered(&head, &folder)?;
            return Err(no_store());
        }
        let database = copy.as_ref().map_or_else(|| folder.database(), Copy::database);
        schema::demand_known_format(&connection).map_err(|fault| fault.while_reading(&original))?;
        Self::start(folder, database, OpenMode::Look, connection, Arc::default(), copy)
    }

    pub(super) fn start(
        folder: Folder,
        database: PathBuf,
        mode: OpenMode,
        connection: Connection,
        wal_pages: Arc<AtomicI32>,
        copy: Option<Copy>,
    ) -> Result<Self, StoreError> {
        let mut store = Self {
            folder,
            database,
            mode,
            connection,
            backfill: Backfill::default(),
            wal_pages,
            seen: 0,
            listed: ListedIds::default(),
            place: None,
            broken: None,
            _copy: copy,
        };
        store.has_changed()?;
        // Noted after the first read, which opens the log.
        store.place = (mode == OpenMode::ReadWrite).then(|| DatabaseFiles::new(&store.database));
        Ok(store)
    }

    /// Refuses to go on with files that nobody would find again.
    pub(super) fn demand_in_place(&self) -> Result<(), StoreError> {
        self.place.as_ref().map_or(Ok(()), DatabaseFiles::demand)
    }

    fn has_changed(&mut self) -> Result<bool, StoreError> {
        self.demand_in_place()?;
        let now: i64 = self
            .connection
            .pragma_query_value(None, "data_version", |row| row.get(0))
            .map_err(|error| SqliteFault::from(error).while_reading(&self.folder.database()))?;
        Ok(std::mem::replace(&mut self.seen, now) != now)
    }
}

/// Opens the database where it lies, or a copy of it where that cannot be done without writing.
fn look_at(folder: &Folder) -> Result<(Connection, u32, Option<Copy>), StoreError> {
    if Copy::is_needed(folder) {
        return look_at_copy(folder);
    }
    match open_to_read(&folder.database()) {
        // Of an older format. It is brought to the present one, but not here.
        Ok((version, _)) if version != 0 && version < schema::KNOWN => look_at_copy(folder),
        Ok((version, connection)) => Ok((connection, version, None)),
        // On a full disk there may be no room for the index that readers share.
        Err(StoreError::Unreadable { .. }) => look_at_copy(folder),
        Err(other) => Err(other),
    }
}

fn look_at_copy(folder: &Folder) -> Result<(Connection, u32, Option<Copy>), StoreError> {
    let copy = Copy::new(folder)?;
    let database = copy.database();
    if copy.is_half_way() {
        // Reading it for writing is all that it takes.
        let rolled_back = open::for_writing(&database, &Arc::default()).and_then(|copied| schema::version(&copied));
        rolled_back.map_err(|fault| fault.while_reading(&database))?;
    }
    let (mut version, mut connection) = open_to_read(&database)?;
    if version != 0 && version < schema::KNOWN {
        drop(connection);
        let migrated = open::for_writing(&database, &Arc::default()).and_then(|copied| schema::migrate(&copied));
        migrated.map_err(|fault| fault.while_reading(&database))?;
        (version, connection) = open_to_read(&database)?;
    }
    Ok((connection, version, Some(copy)))
}

fn open_to_read(path: &Path) -> Result<(u32, Connection), StoreError> {
    let opened = open::for_looking(path).and_then(|connection| Ok((schema::version(&connection)?, connection)));
    opened.map_err(|fault| fault.while_reading(path))
}

/// A log whose database is empty or gone may hold every commit there is, and the database engine would delete it on
/// sight. Such a store is not opened at all.
fn demand_a_database_for_the_log(folder: &Folder) -> Result<(), StoreError> {
    let database = folder.database();
    // The log first: whoever makes a store writes into its database before there is a log.
    let has_log = bytes_of(&folder.wal()) > 0;
    if has_log && bytes_of(&database) == 0 {
        let what = format!("{} is empty or gone, but its log is not", database.display());
        return Err(StoreError::from(Damage::new(what)).in_database(&database));
    }
    Ok(())
}

/// A missing or empty database beside a head file that knows of commits is a loss, not a fresh start.
fn demand_nothing_remembered(head: &HeadFound, folder: &Folder) -> Result<(), StoreError> {
    match head {
        HeadFound::Head(head) if head.commits > 0 => {
            Err(StoreError::LostCommits { head: head.commits, database: 0, path: folder.database() })
        }
        HeadFound::Newer(found) => Err(newer_head(*found)),
        HeadFound::Head(_) | HeadFound::Missing | HeadFound::Unreadable => Ok(()),
    }
}

/// A head file that a later version wrote is neither believed nor overwritten.
pub(super) fn newer_head(found: u8) -> StoreError {
    StoreError::Newer { what: "the head file", found: found.into(), known: head::VERSION.into() }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        self.backfill = Backfill::default();
        let pages = self.wal_pages.load(std::sync::atomic::Ordering::Relaxed);
        if self.mode == OpenMode::ReadWrite && self.broken.is_none() && pages > backfill::PAGES_LEFT_AT_CLOSE {
            backfill::empty(&self.connection, &self.database);
        }
    }
}

impl Store for SqliteStore {
    fn create_run(&mut self, new: NewRun) -> Result<(), StoreError> {
        self.insert_run(&new)
    }

    fn runs(&mut self, filter: &RunFilter, page: Page) -> Result<Vec<RunRow>, StoreError> {
        self.list_runs(filter, page)
    }

    fn append(&mut self, lease: &Lease, expected: Seq, entry: Entry) -> Result<Appended, StoreError> {
        self.append_entry(lease, expected, &entry)
    }

    fn events(&mut self, run: &RunId, after: Seq, max: usize) -> Result<Vec<Record>, StoreError> {
        self.read_journal(run, after, max)
    }

    fn checkpoints(&mut self, filter: CheckpointFilter<'_>, page: Page) -> Result<Vec<CheckpointRow>, StoreError> {
        self.list_checkpoints(filter, page)
    }

    fn checkpoint(&mut self, id: &CheckpointId) -> Result<Option<StoredCheckpoint>, StoreError> {
        self.read_checkpoint(id)
    }

    fn put_derived(&mut self, derived: Derived) -> Result<KeyframeKept, StoreError> {
        match derived {
            Derived::Keyframe { checkpoint, document, compression } => {
                self.insert_keyframe(&checkpoint, &document, compression)
            }
            Derived::Fold { run, seq, version, bytes } => self.replace_fold(&run, seq, version, &bytes),
            Derived::NoFold { run } => self.delete_fold(&run),
        }
    }

    fn fold(&mut self, run: &RunId) -> Result<Option<Fold>, StoreError> {
        self.read_fold(run)
    }

    fn take_lease(&mut self, run: &RunId, kind: LeaseKind, holder: Holder) -> Result<Lease, StoreError> {
        self.lock_and_record(run, kind, &holder)
    }

    fn holder(&mut self, run: &RunId) -> Result<Option<(LeaseKind, Holder)>, StoreError> {
        self.who_holds(run)
    }

    fn post(&mut self, run: &RunId, id: &str, at: Timestamp, body: Vec<u8>) -> Result<PostedAs, StoreError> {
        self.insert_item(run, id, at, &body)
    }

    fn take_back(&mut self, run: &RunId, id: &str, reply: Vec<u8>) -> Result<TakenBack, StoreError> {
        self.answer_item(run, id, &reply)
    }

    fn inbox(&mut self, run: &RunId, max: usize) -> Result<Vec<InboxItem>, StoreError> {
        self.waiting_items(run, max)
    }

    fn reply(&mut self, run: &RunId, id: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.read_reply(run, id)
    }

    fn changed(&mut self) -> Result<bool, StoreError> {
        self.has_changed()
    }

    fn prune(&mut self, list: &PruneList) -> Result<Pruned, StoreError> {
        self.delete_listed(list)
    }
}
