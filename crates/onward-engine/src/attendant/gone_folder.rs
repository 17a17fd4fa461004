//! The folder of an attempt whose phase has deleted it: made anew for the outcome, as long as the store is the one that it was.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::folder::AttemptFolder;

/// The store, seen from the folder of an attempt.
const STORE_FROM_HERE: &str = "../../../..";
/// The levels between the two.
const LEVELS: usize = 4;
/// Put behind the place of a folder that is gone, by the kernel.
const GONE: &[u8] = b" (deleted)";

/// The store as it was when the attendant began. None where it could not be looked at: nothing is made anew then.
pub(super) struct StoreThen(Option<(u64, u64)>);

impl StoreThen {
    /// The attendant works in the folder of its attempt.
    pub(super) fn from_here() -> Self {
        Self(identity(Path::new(STORE_FROM_HERE)).ok())
    }

    /// Makes the folder in which we work anew in its place, which has moved along with a project that was renamed, and works in it
    /// from then on. An error where it is still there, or the store is not: whoever took that away wants no outcome in it.
    pub(super) fn make_folder_anew(&self) -> io::Result<()> {
        let not_ours = || io::Error::from(io::ErrorKind::NotFound);
        if fs::metadata(".")?.nlink() > 0 {
            return Err(not_ours());
        }
        let told = fs::read_link("/proc/self/cwd")?;
        let place = told.as_os_str().as_bytes().strip_suffix(GONE).ok_or_else(not_ours)?;
        let place = PathBuf::from(OsStr::from_bytes(place));
        let store = place.ancestors().nth(LEVELS).ok_or_else(not_ours)?;
        if self.0.is_none() || identity(store).ok() != self.0 {
            return Err(not_ours());
        }
        AttemptFolder::at(place.clone()).create().map_err(io::Error::other)?;
        env::set_current_dir(&place)
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    fs::symlink_metadata(path).map(|about| (about.dev(), about.ino()))
}
