//! Files and folders that belong to this user alone: how they are made and opened.
//!
//! An archive or a clone may have put a link, a second name or a pipe into the place of any file that is ours. So the way
//! to a file is walked part by part without following links, a file is looked at after it was opened and before it is
//! used, and one that is written anew is made beside the old one and renamed. Everything that writes below `.onward` goes
//! through here.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{OFlag, open as open_fd, openat};
use nix::sys::stat::{Mode, fchmod, fstat, mkdirat};
use nix::unistd::geteuid;

const FILE_MODE: u32 = 0o600;
const FOLDER_MODE: u32 = 0o700;
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// Whether folders that are missing are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MissingFolders {
    Made,
    Refused,
}

/// Makes the folders from `root` down to `folder`, which lies below it, each for this user alone. One that is there must
/// be a folder of this user's that others cannot write to.
pub fn make_folders(root: &Path, folder: &Path) -> io::Result<()> {
    walk(root, folder, MissingFolders::Made)
}

/// Demands that everything from `root` down to `folder` is a folder of this user's own.
pub fn demand_folders(root: &Path, folder: &Path) -> io::Result<()> {
    walk(root, folder, MissingFolders::Refused)
}

fn walk(root: &Path, folder: &Path, missing: MissingFolders) -> io::Result<()> {
    let below = folder.strip_prefix(root).map_err(|_| refused(folder, "it lies outside of the store"))?;
    let flags = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC | OFlag::O_RDONLY;
    let mut at = open_fd(root, flags, Mode::empty()).map_err(|why| no_folder(root, why))?;
    let mut path = root.to_owned();
    check_folder(&at, &path)?;
    for part in below.components() {
        let Component::Normal(name) = part else { return Err(refused(folder, "its name climbs out of the store")) };
        path.push(name);
        at = match openat(at.as_fd(), name, flags, Mode::empty()) {
            Err(Errno::ENOENT) if missing == MissingFolders::Made => {
                match mkdirat(at.as_fd(), name, Mode::from_bits_truncate(FOLDER_MODE)) {
                    // Somebody else of ours may have made it meanwhile.
                    Ok(()) | Err(Errno::EEXIST) => {}
                    Err(why) => return Err(why.into()),
                }
                let made = openat(at.as_fd(), name, flags, Mode::empty()).map_err(|why| no_folder(&path, why))?;
                fchmod(made.as_fd(), Mode::from_bits_truncate(FOLDER_MODE))?;
                made
            }
            other => other.map_err(|why| no_folder(&path, why))?,
        };
        check_folder(&at, &path)?;
    }
    Ok(())
}

fn no_folder(path: &Path, why: Errno) -> io::Error {
    match why {
        Errno::ELOOP | Errno::ENOTDIR => refused(path, "it is no folder, or a link"),
        other => other.into(),
    }
}

fn check_folder(folder: &OwnedFd, path: &Path) -> io::Result<()> {
    let about = fstat(folder.as_fd())?;
    if about.st_uid != geteuid().as_raw() {
        return Err(refused(path, "it belongs to another user"));
    }
    if about.st_mode & WRITABLE_BY_OTHERS != 0 {
        return Err(refused(path, "others may write to it"));
    }
    Ok(())
}

fn refused(path: &Path, why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, format!("{} is not safe to use: {why}", path.display()))
}

/// Opens a file for reading if it is plain, of this user's, and has one name. A pipe in its place makes nobody wait.
pub fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    checked(options.read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)?, path)
}

/// The content of such a file, as far as it is no longer than `bytes_max`.
pub fn read(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let count = open(path)?.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
    if count as u64 > bytes_max { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(bytes) }
}

/// Opens a file that is there for reading and writing, under the same conditions. Nothing of it is cut off.
pub fn open_to_write(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    checked(options.read(true).write(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)?, path)
}

/// Opens a file for reading and writing, and makes it if it is missing.
pub fn open_or_create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(FILE_MODE);
    checked(options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)?, path)
}

/// Makes a file that must not exist yet, readable by this user alone whatever the umask says.
pub fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).mode(FILE_MODE);
    let file = options.custom_flags(libc::O_NOFOLLOW).open(path)?;
    file.set_permissions(Permissions::from_mode(FILE_MODE))?;
    Ok(file)
}

/// Makes a file anew in the place of whatever lies there: a link goes, not what it leads to.
pub fn create_anew(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(why) if why.kind() != io::ErrorKind::NotFound => return Err(why),
        Ok(()) | Err(_) => {}
    }
    create(path)
}

/// Replaces a file by these bytes, all at once. `name.new` beside it is used on the way, and is not flushed.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside = beside(path);
    let mut file = create_anew(&beside)?;
    file.write_all(bytes)?;
    drop(file);
    fs::rename(&beside, path)
}

/// Where a file is written before it takes the place of another.
fn beside(path: &Path) -> PathBuf {
    let mut name: OsString = path.as_os_str().to_owned();
    name.push(".new");
    name.into()
}

/// Refuses what is open unless it is a plain file of this user's with no second name.
pub fn check(file: &File) -> io::Result<()> {
    let about = file.metadata()?;
    let ours = about.uid() == geteuid().as_raw();
    // No name at all is a file that was replaced by a rename after it was opened; its content is still whole.
    if about.is_file() && ours && about.nlink() <= 1 {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::PermissionDenied, "not a plain file of this user's own"))
}

fn checked(file: File, path: &Path) -> io::Result<File> {
    check(&file).map_err(|_| refused(path, "it is no plain file of this user's with one name"))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A part of the way is a link, or climbs out. Nothing is made behind it.
    #[test]
    fn no_folder_is_made_through_a_link() {
        let top = tempfile::tempdir().expect("a folder");
        let (store, elsewhere) = (top.path().join("store"), top.path().join("elsewhere"));
        fs::create_dir(&elsewhere).expect("a folder");
        fs::create_dir(&store).expect("a folder");
        symlink(&elsewhere, store.join("state")).expect("a link");
        assert!(make_folders(&store, &store.join("state/run/phase")).is_err());
        assert!(make_folders(&store, &store.join("../elsewhere/a")).is_err());
        assert!(make_folders(&store, &elsewhere).is_err());
        assert_eq!(fs::read_dir(&elsewhere).expect("a folder").count(), 0);
        make_folders(&store, &store.join("attempts/run/phase")).expect("nothing is in the way");
        let made = fs::metadata(store.join("attempts/run")).expect("it was made");
        assert_eq!(made.mode() & 0o777, 0o700);
        fs::set_permissions(store.join("attempts"), Permissions::from_mode(0o770)).expect("a mode");
        assert!(demand_folders(&store, &store.join("attempts/run")).is_err());
    }

    /// A link, a second name or a pipe lies where a file of ours belongs. None is read or written, and replacing takes the link.
    #[test]
    fn what_was_planted_is_neither_read_nor_written() {
        let top = tempfile::tempdir().expect("a folder");
        let path = |name: &str| top.path().join(name);
        fs::write(path("mine"), "mine").expect("a file");
        symlink(path("mine"), path("link")).expect("a link");
        fs::hard_link(path("mine"), path("second")).expect("a second name");
        nix::unistd::mkfifo(&path("pipe"), Mode::S_IRUSR | Mode::S_IWUSR).expect("a pipe");
        for name in ["link", "second", "pipe"] {
            assert!(open(&path(name)).is_err(), "{name}");
            assert!(open_to_write(&path(name)).is_err(), "{name}");
            assert!(open_or_create(&path(name)).is_err(), "{name}");
            assert!(create(&path(name)).is_err(), "{name}");
            symlink(path("mine"), path(&format!("{name}.new"))).expect("a link");
            replace(&path(name), b"ours").expect("it takes the place");
            assert_eq!(read(&path(name), 10).expect("a plain file"), b"ours");
        }
        assert_eq!(fs::read_to_string(path("mine")).expect("the file"), "mine");
        assert!(read(&path("pipe"), 3).is_err(), "it is longer");
    }
}
