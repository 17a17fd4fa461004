//! The one place where a backend is chosen and opened.

use std::path::Path;

use crate::{error::StoreError, folder::Folder, inspection::Inspection, sqlite::SqliteStore};

/// The purpose for which a store is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// To write, too. Makes the store if there is none.
    ReadWrite,
    /// To look and write nothing at all, save the index of the write-ahead log that readers share.
    Look,
}

/// Opens the store in `folder`, which is the project's `.onward`.
///
/// Nothing is checked here that costs time: what is read is checked when it is read.
pub fn open(folder: &Path, mode: OpenMode) -> Result<Box<dyn Inspection>, StoreError> {
    Ok(Box::new(SqliteStore::open(folder, mode)?))
}

/// Opens a store to write, and makes none: for whoever works beside a handle that is open already.
pub fn open_if_there(folder: &Path) -> Result<Box<dyn Inspection>, StoreError> {
    let there = Folder::find(folder)?.map(|folder| folder.check_database()).transpose()?;
    match there {
        Some(true) => open(folder, OpenMode::ReadWrite),
        Some(false) | None => Err(StoreError::NoStore { folder: folder.to_owned() }),
    }
}

/// Opens a store to write, whoever made it. Only for a repair: it executes nothing, and what it distrusts it still has to end.
pub fn open_to_repair(folder: &Path) -> Result<Box<dyn Inspection>, StoreError> {
    Ok(Box::new(SqliteStore::open_to_repair(folder)?))
}

/// Refuses a folder or a database that somebody else could have planted or could change; opens nothing.
pub fn demand_safe(folder: &Path) -> Result<(), StoreError> {
    if let Some(folder) = Folder::find(folder)? {
        folder.check_database()?;
    }
    Ok(())
}
