//! Files and paths of git's own.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The content of a file of git's, if it is a plain file no longer than `bytes_max`: a pipe in its place makes nobody wait.
pub(crate) fn read_plain(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let count = open_plain(path)?.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
    if count as u64 > bytes_max { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(bytes) }
}

/// Makes a file in the place of whatever lies there: a link goes, not what it leads to. Who may read it is left to the umask, as
/// with all files of git's.
pub(super) fn create_anew(path: &Path) -> io::Result<File> {
    match std::fs::remove_file(path) {
        Err(why) if why.kind() != io::ErrorKind::NotFound => return Err(why),
        Ok(()) | Err(_) => {}
    }
    File::options().read(true).write(true).create_new(true).open(path)
}

pub(super) fn open_plain(path: &Path) -> io::Result<File> {
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is no plain file")) }
}

/// A path from the bytes that git gave.
pub(super) fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes.to_vec()))
}
