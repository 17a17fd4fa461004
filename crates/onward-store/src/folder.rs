//! The folder of a store: how it is made, and when it is refused.
//!
//! The folder must belong to this user alone: somebody who can write here can make onward believe anything. It is looked
//! at through descriptors that follow no link. Files of the database are looked at with `O_PATH`: closing an ordinary
//! descriptor on them would drop the locks that `SQLite` holds on the same file in this process.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, Permissions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

use nix::{
    sys::stat::{Mode, SFlag, mknod},
    unistd::geteuid,
};

use crate::error::{StoreError, Unsafe};
use crate::ownership;
pub(crate) use crate::private::create as create_file;

/// The database of a store, in its folder.
pub const DATABASE: &str = "onward.db";
/// The database with the files that may lie beside it; each of them alone shows that a store was here.
pub const DATABASE_FILES: [&str; 4] = ["onward.db-journal", "onward.db-wal", "onward.db-shm", DATABASE];
/// The head file, which knows how far the store has come.
pub const HEAD: &str = "HEAD";

const FILE_MODE: u32 = 0o600;
const FOLDER_MODE: u32 = 0o700;
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// Where the parts of a store lie.
#[derive(Clone, Debug)]
pub(crate) struct Folder {
    root: PathBuf,
}

impl Folder {
    /// Finds an existing folder and refuses it if it is not safe. `None` if there is nothing.
    pub(crate) fn find(path: &Path) -> Result<Option<Self>, StoreError> {
        match check(path, EntryKind::Folder) {
            Ok(true) => {}
            Ok(false) => return Ok(None),
            Err(error) => return Err(error),
        }
        // SQLite is told to follow no link at all, so links above the folder, which are harmless, are resolved here.
        let root = path.canonicalize().map_err(|error| StoreError::unreadable(path, &error))?;
        Ok(Some(Self { root }))
    }

    /// Finds the folder or makes it, with all that belongs into it except the database.
    pub(crate) fn prepare(path: &Path) -> Result<Self, StoreError> {
        let made = make_folder(path)?;
        let Some(folder) = Self::find(path)? else {
            return Err(StoreError::not_saved(path, &io::ErrorKind::NotFound.into()));
        };
        ownership::mark_folder(&folder.root)?;
        if made {
            let parent = folder.root.parent().unwrap_or(&folder.root).to_owned();
            sync_folder(&parent).map_err(|error| StoreError::not_saved(parent, &error))?;
        }
        for part in [folder.run(), folder.blobs()] {
            make_folder(&part)?;
            check(&part, EntryKind::Folder)?;
        }
        folder.hide_from_git();
        folder.keep_reserve();
        Ok(folder)
    }

    /// Makes the file of the database, empty and closed to others, before `SQLite` sees it. The files that `SQLite` puts
    /// beside it take over its mode.
    pub(crate) fn make_database(&self) -> Result<(), StoreError> {
        let path = self.database();
        let failed = |error: io::Error| StoreError::not_saved(&path, &error);
        // `mknod` makes a file without opening it; see above on what closing one would do.
        match mknod(&path, SFlag::S_IFREG, Mode::from_bits_truncate(FILE_MODE), 0) {
            Ok(()) => {
                // The folder is flushed with its mark, which comes next.
                fs::set_permissions(&path, Permissions::from_mode(FILE_MODE)).map_err(failed)
            }
            Err(nix::Error::EEXIST) => Ok(()),
            Err(error) => Err(failed(error.into())),
        }
    }

    /// Refuses a database file that somebody else could have planted; `false` if there is none.
    pub(crate) fn check_database(&self) -> Result<bool, StoreError> {
        let mut is_there = false;
        for name in DATABASE_FILES {
            is_there = check(&self.root.join(name), EntryKind::File)?;
        }
        Ok(is_there)
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.root.join(DATABASE)
    }

    pub(crate) fn wal(&self) -> PathBuf {
        self.root.join("onward.db-wal")
    }

    /// There only where the store has no write-ahead log, and only during a commit or after a kill.
    pub(crate) fn journal(&self) -> PathBuf {
        self.root.join("onward.db-journal")
    }

    pub(crate) fn head(&self) -> PathBuf {
        self.root.join(HEAD)
    }

    pub(crate) fn run(&self) -> PathBuf {
        self.root.join("run")
    }

    pub(crate) fn blobs(&self) -> PathBuf {
        self.root.join("blobs")
    }

    /// The store holds copies of what people and agents wrote; none of that belongs into a commit. A project without
    /// git has no use for the file, and failing to write it harms nothing.
    fn hide_from_git(&self) {
        let path = self.root.join(".gitignore");
        if path.symlink_metadata().is_err() {
            drop(create_file(&path).and_then(|mut file| file.write_all(b"*\n")));
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum EntryKind {
    File,
    Folder,
}

/// Makes a folder for this user alone; `false` if something is there already.
pub(crate) fn make_folder(path: &Path) -> Result<bool, StoreError> {
    match DirBuilder::new().mode(FOLDER_MODE).create(path) {
        Ok(()) => fs::set_permissions(path, Permissions::from_mode(FOLDER_MODE)).map(|()| true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
    .map_err(|error| StoreError::not_saved(path, &error))
}

/// A name in a folder is durable only after the folder itself was flushed.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// How long a file is; 0 if there is none.
pub(crate) fn bytes_of(path: &Path) -> u64 {
    path.symlink_metadata().map_or(0, |file| file.len())
}

/// Refuses what is no folder of this user's alone.
pub(crate) fn check_folder(path: &Path) -> Result<(), StoreError> {
    check(path, EntryKind::Folder).map(drop)
}

/// `false` when nothing is there, an error when what is there is not safe.
fn check(path: &Path, kind: EntryKind) -> Result<bool, StoreError> {
    let opened = OpenOptions::new().read(true).custom_flags(libc::O_PATH | libc::O_NOFOLLOW).open(path);
    let seen = match opened.and_then(|file| file.metadata()) {
        Ok(seen) => seen,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(StoreError::unreadable(path, &error)),
    };
    let right_kind = match kind {
        EntryKind::File => seen.is_file(),
        EntryKind::Folder => seen.is_dir(),
    };
    let why = if seen.file_type().is_symlink() {
        Unsafe::Link
    } else if !right_kind {
        Unsafe::Kind
    } else if seen.uid() != geteuid().as_raw() {
        Unsafe::Owner
    } else if seen.mode() & WRITABLE_BY_OTHERS != 0 {
        Unsafe::Writable
    } else if kind == EntryKind::File && seen.nlink() > 1 {
        Unsafe::SecondName
    } else {
        return Ok(true);
    };
    Err(StoreError::Unsafe { path: path.to_owned(), why })
}
