//! Whether the files of an open database still lie where they were opened. Whoever deletes, moves or replaces them under a living
//! process leaves it a file without a name: it can be written, and nobody finds again what was.

use std::{
    ffi::OsString,
    fs::{File, OpenOptions},
    io,
    os::{
        fd::AsRawFd,
        unix::fs::{MetadataExt, OpenOptionsExt},
    },
    path::{Path, PathBuf},
};

use crate::error::{StoreError, Vanished};

/// The database, its log and the index of that.
const FILES: [&str; 3] = ["", "-wal", "-shm"];

/// The files of a database as they were when it was opened.
pub(super) struct DatabaseFiles {
    files: Vec<OpenedFile>,
}

struct OpenedFile {
    path: PathBuf,
    device: u64,
    inode: u64,
    /// To look where the file went, and for nothing else: closing such a descriptor drops none of `SQLite`'s locks.
    handle: File,
}

impl DatabaseFiles {
    /// Notes the files that are there. A store without a log has one file.
    pub(super) fn new(database: &Path) -> Self {
        let beside = |ending: &&str| {
            let mut name = OsString::from(database);
            name.push(ending);
            PathBuf::from(name)
        };
        Self { files: FILES.iter().map(beside).filter_map(OpenedFile::open).collect() }
    }

    /// An error if one of them is not where it was. Costs a system call for each.
    pub(super) fn demand(&self) -> Result<(), StoreError> {
        match self.files.iter().find_map(|file| Some((file, file.vanished()?))) {
            Some((file, how)) => Err(StoreError::Gone { path: file.path.clone(), how }),
            None => Ok(()),
        }
    }
}

impl OpenedFile {
    fn open(path: PathBuf) -> Option<Self> {
        let flags = libc::O_PATH | libc::O_NOFOLLOW;
        let handle = OpenOptions::new().read(true).custom_flags(flags).open(&path).ok()?;
        let about = handle.metadata().ok()?;
        Some(Self { path, device: about.dev(), inode: about.ino(), handle })
    }

    /// That it cannot be looked at says nothing about it.
    fn vanished(&self) -> Option<Vanished> {
        match std::fs::symlink_metadata(&self.path) {
            Ok(now) if (now.dev(), now.ino()) == (self.device, self.inode) => None,
            Ok(_) => Some(self.fate()),
            Err(why) if matches!(why.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                Some(self.fate())
            }
            Err(_) => None,
        }
    }

    fn fate(&self) -> Vanished {
        let has_a_name = self.handle.metadata().is_ok_and(|about| about.nlink() > 0);
        let now = std::fs::read_link(format!("/proc/self/fd/{}", self.handle.as_raw_fd())).ok();
        match now.filter(|_| has_a_name) {
            Some(to) => Vanished::Moved { to },
            None => Vanished::Deleted,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// The database, its log or the index of that is deleted, moved away or replaced: that is noticed, and told as what it is.
    #[test]
    fn what_is_not_in_its_place_is_noticed() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let folder = folder.path().canonicalize().expect("our own folder");
        for ending in FILES {
            let database = folder.join("onward.db");
            for other in FILES {
                fs::write(folder.join(format!("onward.db{other}")), "ours").expect("our own folder");
            }
            let place = DatabaseFiles::new(&database);
            let file = folder.join(format!("onward.db{ending}"));
            assert!(place.demand().is_ok(), "nothing happened yet");
            let elsewhere = folder.join("elsewhere");
            fs::rename(&file, &elsewhere).expect("our own file");
            let told = |how: Vanished| {
                let Err(StoreError::Gone { path, how: told }) = place.demand() else { panic!("{ending} not noticed") };
                assert_eq!((path, told), (file.clone(), how));
            };
            told(Vanished::Moved { to: elsewhere.clone() });
            fs::write(&file, "another").expect("our own folder");
            told(Vanished::Moved { to: elsewhere.clone() });
            fs::remove_file(&elsewhere).expect("our own file");
            told(Vanished::Deleted);
            fs::remove_file(&file).expect("our own file");
            told(Vanished::Deleted);
        }
    }
}
