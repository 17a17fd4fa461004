//! Whether the project is still where its driver found it. Whoever renames it under a living driver would have that one look for
//! outcomes in a place where they are not, and start phases in one where the project is not.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::project::{FOLDER, Project};
use crate::sys::own_files;

/// The store of a project as an open folder, which stays the same wherever it is moved to.
pub(crate) struct InPlace {
    path: PathBuf,
    folder: File,
}

impl InPlace {
    /// Where the store is that was just opened. Without its folder nothing could be told later, and nothing is begun.
    pub(crate) fn new(project: &Project) -> Result<Self> {
        let path = project.store_folder();
        let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW;
        match OpenOptions::new().read(true).custom_flags(flags).open(&path) {
            Ok(folder) => Ok(Self { path, folder }),
            Err(why) if matches!(why.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                Err(Error::Moved { from: project.top.clone(), to: None })
            }
            Err(why) => Err(Error::NoRoom { what: format!("{} cannot be opened: {why}", path.display()) }),
        }
    }

    /// An error if the project has another place now. One that was deleted has none, and whoever looks there finds that out.
    pub(crate) fn demand(&self) -> Result<()> {
        let Ok(kept) = self.folder.metadata() else { return Ok(()) };
        let here = match fs::symlink_metadata(&self.path) {
            Ok(here) => (here.dev(), here.ino()) == (kept.dev(), kept.ino()),
            Err(why) => !matches!(why.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory),
        };
        if here || kept.nlink() == 0 {
            return Ok(());
        }
        let top = |store: &Path| store.parent().filter(|_| store.ends_with(FOLDER)).map(Path::to_owned);
        let now = own_files::place_of(&self.folder);
        let from = top(&self.path).unwrap_or_else(|| self.path.clone());
        Err(Error::Moved { from, to: now.as_deref().and_then(top) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(top: &Path) -> Project {
        fs::create_dir_all(top.join(FOLDER)).expect("our own folder");
        Project::at(top.to_owned())
    }

    /// A project is renamed, or one of its parents, and perhaps another one is put into its place: that is noticed, and where it is
    /// now is told.
    #[test]
    fn a_move_is_noticed() {
        let root = tempfile::tempdir().expect("a folder");
        let root = root.path().canonicalize().expect("our own folder");
        let (old, new) = (root.join("a/old"), root.join("a/new"));
        let place = InPlace::new(&project(&old)).expect("it is there");
        assert!(place.demand().is_ok(), "nothing happened yet");
        let told = |to: &Path| {
            let Err(Error::Moved { from, to: Some(told) }) = place.demand() else { panic!("it was not noticed") };
            assert_eq!((from.as_path(), told.as_path()), (old.as_path(), to));
        };
        fs::rename(&old, &new).expect("our own folder");
        told(&new);
        project(&old);
        told(&new);
        fs::remove_dir_all(&old).expect("our own folder");
        fs::rename(root.join("a"), root.join("b")).expect("our own folder");
        told(&root.join("b/new"));
        fs::rename(root.join("b"), root.join("a")).expect("our own folder");
        fs::rename(&new, &old).expect("our own folder");
        assert!(place.demand().is_ok(), "it is back");
        fs::remove_dir_all(&old).expect("our own folder");
        assert!(place.demand().is_ok(), "it is gone, which is something else");
        let blind = InPlace::new(&Project::at(old));
        assert!(matches!(blind, Err(Error::Moved { to: None, .. })), "what cannot be watched is not driven");
    }
}
