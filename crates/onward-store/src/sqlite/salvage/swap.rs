//! Putting a new database in the place of an old one, by one rename.

use std::{fs, io, os::unix::fs::OpenOptionsExt, path::Path, sync::Arc};

use crate::{
    OpenMode,
    error::{Damage, StoreError},
    folder::{self, Folder, make_folder, sync_folder},
    listing,
    sqlite::{fault::SqliteFault, flush, open, store::SqliteStore},
};

/// Copies the log into the database and empties it.
pub(super) fn fold_log(store: &SqliteStore) -> Result<(), StoreError> {
    if flush::empty_the_log(&store.connection).map_err(|fault| fault.while_writing(&store.database))? {
        Ok(())
    } else {
        Err(Damage::new("the log of the new database cannot be emptied").into())
    }
}

pub(super) fn verify(scratch: &Path, database: &Path) -> Result<(), StoreError> {
    let reading = |fault: SqliteFault| fault.while_reading(database);
    let folder = Folder::find(&scratch.join("new"))?;
    let folder = folder.ok_or_else(|| StoreError::NoStore { folder: scratch.to_owned() })?;
    let connection = open::for_looking(database).map_err(reading)?;
    let store = SqliteStore::start(folder, database.to_owned(), OpenMode::Look, connection, Arc::default(), None)?;
    match store.verify_everything()?.into_iter().next() {
        None => Ok(()),
        Some(damage) => Err(damage.into()),
    }
}

/// The entries of a folder; none where it is not there.
fn entries(folder: &Path) -> io::Result<Vec<fs::DirEntry>> {
    match listing::all(folder) {
        Err(why) if matches!(why.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(Vec::new()),
        entries => entries,
    }
}

/// Files are named after their content, so one that is there already and is whole needs no other.
pub(super) fn move_blobs(from: &Path, to: &Path) -> Result<(), StoreError> {
    let failed = |error: io::Error| StoreError::not_saved(to, &error);
    // Empty folders are lost where a store is copied by tools that keep only files.
    make_folder(to)?;
    for part in entries(from).map_err(failed)? {
        let folder = to.join(part.file_name());
        make_folder(&folder)?;
        for file in entries(&part.path()).map_err(failed)? {
            let target = folder.join(file.file_name());
            if fs::read(&target).ok() != fs::read(file.path()).ok() {
                fs::rename(file.path(), target).map_err(failed)?;
            }
        }
        sync_folder(&folder).map_err(failed)?;
    }
    sync_folder(to).map_err(failed)
}

/// The one step that counts. Beside a log that holds every page it does not matter what the database file holds, unless
/// it is empty: then `SQLite` takes the log for a left-over, and it is [`swap_database`] that counts.
pub(super) fn swap_log(folder: &Folder, log: &Path) -> io::Result<()> {
    remove_index(folder)?;
    fs::rename(log, folder.wal())?;
    sync_folder(folder.root())
}

/// The same where the database file is empty.
pub(super) fn swap_database(folder: &Folder, built: &Path) -> io::Result<()> {
    remove_index(folder)?;
    // Its bytes are aside, and without a database they mean nothing.
    drop(fs::remove_file(folder.wal()));
    // Marked before it is there: killed in between, it is known all the same.
    crate::ownership::mark_database(folder.root(), built).map_err(io::Error::other)?;
    fs::rename(built, folder.database())?;
    sync_folder(folder.root())
}

/// It holds nothing that the log does not, and nobody has it open.
fn remove_index(folder: &Folder) -> io::Result<()> {
    match fs::remove_file(folder.root().join("onward.db-shm")) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Copies a file, if it is there, into a folder in which nothing has its name yet.
pub(super) fn copy_whole(from: &Path, to: &Path) -> Result<(), StoreError> {
    let Some(name) = from.file_name() else { return Ok(()) };
    let unreadable = |error: io::Error| StoreError::unreadable(from, &error);
    let mut source = match fs::OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW).open(from) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other.map_err(unreadable)?,
    };
    let target = to.join(name);
    let copied = folder::create_file(&target).and_then(|mut file| {
        io::copy(&mut source, &mut file)?;
        file.sync_all()
    });
    copied.map_err(|error| StoreError::not_saved(&target, &error))
}
