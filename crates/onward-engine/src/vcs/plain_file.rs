//! Files and paths of git's own.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// Makes a file in the place of whatever lies there: a link goes, not what it leads to. Who may read it is left to the umask, as
/// with all files of git's.
pub(super) fn create_anew(path: &Path) -> io::Result<File> {
    match std::fs::remove_file(path) {
        Err(why) if why.kind() != io::ErrorKind::NotFound => return Err(why),
        Ok(()) | Err(_) => {}
    }
    File::options().read(true).write(true).create_new(true).open(path)
}

/// A path from the bytes that git gave.
pub(super) fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes.to_vec()))
}
