//! A copy of the database as an earlier format has it, kept before it is brought to the present one.

use std::{fs, io, path::Path};

use rusqlite::Connection;

use super::{fault::SqliteResult, schema};
use crate::{error::StoreError, private};

/// The folder of the copies, below the store. Nobody but a person deletes them.
const FOLDER: &str = "upgraded";

/// Keeps a copy of a database of an earlier format, if there is none yet. Durable when it returns; the usual case, nothing to do,
/// reads the version and nothing else.
pub(super) fn keep(connection: &Connection, root: &Path) -> SqliteResult<()> {
    let version = schema::version(connection)?;
    if version == 0 || version == schema::KNOWN {
        return Ok(());
    }
    let path = root.join(FOLDER).join(format!("onward.db.{version}"));
    if path.symlink_metadata().is_ok() {
        return Ok(());
    }
    let failed = |error: io::Error| StoreError::not_saved(&path, &error);
    private::make_folders(root, &root.join(FOLDER)).map_err(failed)?;
    // Several may be at it. Each makes its own, and the first to name it counts: it was made before anybody brought the database on.
    let new = path.with_extension(format!("{version}.new-{}", uuid::Uuid::now_v7()));
    let file = private::create(&new).map_err(failed)?;
    connection.execute("VACUUM INTO ?1", [new.to_string_lossy().as_ref()])?;
    let named = file.sync_all().and_then(|()| fs::hard_link(&new, &path));
    drop(fs::remove_file(&new));
    match named {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(error).into()),
        Ok(()) | Err(_) => {}
    }
    let folder = fs::File::open(root.join(FOLDER)).and_then(|folder| folder.sync_all());
    Ok(folder.map_err(failed)?)
}
