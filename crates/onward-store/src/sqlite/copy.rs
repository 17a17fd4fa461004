//! A copy of the database in a temporary place, for looking at a store where nothing may be written.
//!
//! A reader of a write-ahead log needs an index beside it and would make the missing files. Where it cannot, or must
//! not, it works on a copy of both. Telling `SQLite` that the database never changes would be shorter, but then it does
//! not read the log at all and shows an old state. What happens to the original afterwards is not seen in a copy.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    thread,
    time::{Duration, SystemTime},
};

use nix::unistd::{AccessFlags, access};

use crate::{
    error::{StoreCause, StoreError},
    folder::{Folder, make_folder},
};

/// Tries to copy files that somebody is writing, and the pause before each further one: as long as it takes to make a store on a
/// slow disk.
const TRIES_MAX: u32 = 20;
const TRY_AGAIN_AFTER: Duration = Duration::from_millis(50);

/// A temporary folder that is removed with this.
pub(super) struct Copy {
    folder: PathBuf,
}

impl Copy {
    /// Whether opening the original would make a file beside it, or fail because it cannot.
    pub(super) fn is_needed(folder: &Folder) -> bool {
        access(folder.root(), AccessFlags::W_OK).is_err() || !folder.wal().exists()
    }

    pub(super) fn new(folder: &Folder) -> Result<Self, StoreError> {
        let place = env::temp_dir().join(format!("onward-look-{}", uuid::Uuid::now_v7()));
        if !make_folder(&place)? {
            return Err(StoreError::unreadable(place, &io::ErrorKind::AlreadyExists.into()));
        }
        let copy = Self { folder: place };
        copy.fill(folder)?;
        Ok(copy)
    }

    pub(super) fn database(&self) -> PathBuf {
        // A link on the way, as some systems have for their temporary folder, is followed here and not by SQLite.
        self.folder.canonicalize().unwrap_or_else(|_| self.folder.clone()).join("onward.db")
    }

    /// Whether the original was left in the middle of a commit: then the copy has to be rolled back before it is read.
    pub(super) fn is_half_way(&self) -> bool {
        fs::metadata(self.folder.join("onward.db-journal")).is_ok_and(|journal| journal.len() > 0)
    }

    fn fill(&self, folder: &Folder) -> Result<(), StoreError> {
        let journal = (folder.journal(), "onward.db-journal");
        let pairs = [journal, (folder.database(), "onward.db"), (folder.wal(), "onward.db-wal")];
        for _ in 0..TRIES_MAX {
            let before = pairs.each_ref().map(|(path, _)| stamp(path));
            for (from, name) in &pairs {
                drop(fs::remove_file(self.folder.join(name)));
                match fs::copy(from, self.folder.join(name)) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => {
                        return Err(StoreError::unreadable(from, &error));
                    }
                    Ok(_) | Err(_) => {}
                }
            }
            if before == pairs.each_ref().map(|(path, _)| stamp(path)) {
                return Ok(());
            }
            thread::sleep(TRY_AGAIN_AFTER);
        }
        let detail = "it changes faster than it can be copied".to_owned();
        Err(StoreError::Unreadable { cause: StoreCause::Busy, path: folder.database(), detail })
    }
}

fn stamp(path: &Path) -> Option<(u64, SystemTime)> {
    let seen = fs::symlink_metadata(path).ok()?;
    Some((seen.len(), seen.modified().ok()?))
}

impl Drop for Copy {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.folder));
    }
}
