//! Plain files that anybody may have put there: a pipe in their place makes nobody wait, and no more is read than a limit allows.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};

/// Opens a plain file for reading, through links as well.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    plain(File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path)?)
}

/// The content of a plain file that is no longer than `bytes_max`.
pub(crate) fn read(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let count = open(path)?.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
    if count as u64 > bytes_max { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(bytes) }
}

fn plain(file: File) -> io::Result<File> {
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is not a plain file")) }
}

/// Lets a new file take the place of an old one; the old one is under the other name afterwards. Where the file system cannot do
/// that, the old one is gone.
pub(crate) fn swap(new: &Path, old: &Path) -> io::Result<()> {
    match renameat2(AT_FDCWD, new, AT_FDCWD, old, RenameFlags::RENAME_EXCHANGE) {
        Err(Errno::EINVAL | Errno::ENOSYS) => fs::rename(new, old),
        done => Ok(done?),
    }
}
