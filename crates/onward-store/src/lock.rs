//! File locks, every one of them: of whole files, for whoever needs a file alone, and the one that says who holds a run.
//!
//! They are open-file-description locks: the kernel drops one when its holder is gone, however that came about, whoever inherits
//! the open file holds it as well, and it can be asked about without being taken. Of the lock file of a run three bytes mean
//! something:
//!
//! | byte | is locked while |
//! |---|---|
//! | 0 | somebody holds the run |
//! | 0 to 2 | … and drives it; taken in one call, so the kind is known as soon as the lock is |
//! | 4 | … and has written into the database who it is |

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use nix::fcntl::{FcntlArg, fcntl};
use onward_core::id::RunId;

use crate::{error::StoreError, lease::LeaseKind, listing, private};

/// How a whole file is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// Beside others that share it.
    Shared,
    /// With nobody else.
    Alone,
}

/// Locks a whole file until it is closed, or turns the lock that this open file has into the other kind; `false` where others
/// forbid it, and then it is as it was.
pub fn try_lock(file: &File, hold: Hold) -> io::Result<bool> {
    let kind = match hold {
        Hold::Shared => libc::F_RDLCK,
        Hold::Alone => libc::F_WRLCK,
    };
    set(file, &range(kind, 0, 0))
}

/// Whether any other open file has a lock on this one.
pub fn is_locked(file: &File) -> io::Result<bool> {
    Ok(get(file, 0, 0)?.is_some())
}

/// Locks some bytes of a file; `false` when somebody has one of them.
pub(crate) fn try_range(file: &File, start: i64, bytes: i64) -> io::Result<bool> {
    set(file, &range(libc::F_WRLCK, start, bytes))
}

/// How the names of lock files end.
const LOCK_ENDING: &str = ".lock";
/// A lock of the callers' own in the same folder, which belongs to no run.
const START_LOCK: &str = "start";

/// The lock file of a run, in the folder `run` of the store.
pub(crate) fn of_run(folder: &Path, run: &RunId) -> PathBuf {
    folder.join(format!("{run}{LOCK_ENDING}"))
}

/// Every run in `folder` that somebody holds at this moment, asked of the locks alone: neither need the database be
/// readable nor the folder safe.
pub fn held_runs(folder: &Path) -> Result<Vec<(RunId, LeaseKind)>, StoreError> {
    let mut held = Vec::new();
    let locks = folder.join("run");
    let files = match listing::all(&locks) {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Vec::new(),
        files => files.map_err(|error| StoreError::unreadable(&locks, &error))?,
    };
    for file in files {
        let name = file.file_name();
        let run = name.to_str().and_then(|name| name.strip_suffix(LOCK_ENDING)).filter(|run| *run != START_LOCK);
        let Some(run) = run else { continue };
        if file.file_type().is_ok_and(|kind| kind.is_file()) {
            let seen = holder(&file.path()).map_err(|error| StoreError::unreadable(file.path(), &error))?;
            held.extend(seen.map(|seen| (RunId::new(run), seen.kind)));
        }
    }
    Ok(held)
}

const HELD: i64 = 0;
const BRIEF_BYTES: i64 = 1;
const DRIVING_BYTES: i64 = 3;
/// Apart from the others, for the kernel joins neighbouring locks of one holder into one.
const ANNOUNCED: i64 = 4;

/// A lock that is held as long as this lives.
pub(crate) struct RunLock(File);

/// The state of a lock as seen from outside.
pub(crate) struct Seen {
    pub(crate) kind: LeaseKind,
    pub(crate) announced: bool,
}

impl RunLock {
    /// Takes the lock, or gives `None` when somebody has it.
    pub(crate) fn try_take(path: &Path, kind: LeaseKind) -> io::Result<Option<Self>> {
        Self::try_take_open(open_for_locking(path)?, path, kind)
    }

    fn try_take_open(file: File, path: &Path, kind: LeaseKind) -> io::Result<Option<Self>> {
        let bytes = match kind {
            LeaseKind::Driving => DRIVING_BYTES,
            LeaseKind::Brief => BRIEF_BYTES,
        };
        if !try_range(&file, HELD, bytes)? || !is_still_there(&file, path) {
            return Ok(None);
        }
        Ok(Some(Self(file)))
    }

    /// Lets others know that the database says who this is.
    pub(crate) fn announce(&self) -> io::Result<()> {
        try_range(&self.0, ANNOUNCED, 1).map(|_| ())
    }
}

/// Closing the file would do, were it not for a child process that another thread is just starting: until it becomes
/// another program it has the file open as well.
impl Drop for RunLock {
    fn drop(&mut self) {
        let _ = fcntl(&self.0, FcntlArg::F_OFD_SETLK(&range(libc::F_UNLCK, 0, 0)));
    }
}

/// The holder of a lock, read without touching it. A missing file means that nobody ever took it.
pub(crate) fn holder(path: &Path) -> io::Result<Option<Seen>> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    let Some(bytes) = get(&file, HELD, 1)? else { return Ok(None) };
    let kind = if bytes == BRIEF_BYTES { LeaseKind::Brief } else { LeaseKind::Driving };
    Ok(Some(Seen { kind, announced: get(&file, ANNOUNCED, 1)?.is_some() }))
}

fn open_for_locking(path: &Path) -> io::Result<File> {
    match private::open_to_write(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => match private::create(path) {
            // Somebody was faster: theirs is the file to lock.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => private::open_to_write(path),
            other => other,
        },
        other => other,
    }
}

/// Whether the name still means the open file. Somebody may have deleted it meanwhile, as a run that is deleted takes its lock
/// file with it: whoever had opened that file before then holds a lock on nothing, while the next one would make a new file and
/// lock that.
pub fn is_still_there(file: &File, path: &Path) -> bool {
    let (Ok(open), Ok(named)) = (file.metadata(), path.symlink_metadata()) else { return false };
    open.ino() == named.ino() && open.dev() == named.dev()
}

fn set(file: &File, lock: &libc::flock) -> io::Result<bool> {
    match fcntl(file, FcntlArg::F_OFD_SETLK(lock)) {
        Ok(_) => Ok(true),
        Err(nix::Error::EAGAIN | nix::Error::EACCES | nix::Error::EINTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// The length of a lock that somebody else has on these bytes.
fn get(file: &File, start: i64, bytes: i64) -> io::Result<Option<i64>> {
    let mut asked = range(libc::F_WRLCK, start, bytes);
    fcntl(file, FcntlArg::F_OFD_GETLK(&mut asked)).map_err(io::Error::from)?;
    Ok((i32::from(asked.l_type) != libc::F_UNLCK).then_some(asked.l_len))
}

/// A length of 0 reaches to the end of the file, however long it is.
fn range(kind: i32, start: i64, bytes: i64) -> libc::flock {
    libc::flock {
        l_type: i16::try_from(kind).expect("lock types are small numbers"),
        l_whence: i16::try_from(libc::SEEK_SET).expect("whence values are small numbers"),
        l_start: start,
        l_len: bytes,
        l_pid: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_on_a_deleted_file_is_none() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("a.lock");
        let file = open_for_locking(&path).expect("a lock file");
        assert!(is_still_there(&file, &path));
        std::fs::remove_file(&path).expect("a file to remove");
        assert!(!is_still_there(&file, &path), "the name is gone");
        let second = open_for_locking(&path).expect("a new lock file");
        assert!(!is_still_there(&file, &path), "the name means another file now");
        assert!(is_still_there(&second, &path));
        let late = RunLock::try_take_open(file, &path, LeaseKind::Brief).expect("an answer");
        assert!(late.is_none(), "a lock on a file without a name keeps nobody out");
    }

    #[test]
    fn the_kind_is_seen_from_outside_and_before_it_is_announced() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("a.lock");
        for kind in [LeaseKind::Driving, LeaseKind::Brief] {
            assert!(holder(&path).expect("an answer").is_none(), "nobody has it");
            let lock = RunLock::try_take(&path, kind).expect("an answer").expect("a free lock");
            assert!(RunLock::try_take(&path, LeaseKind::Brief).expect("an answer").is_none(), "somebody has it");
            let seen = holder(&path).expect("an answer").expect("a holder");
            assert_eq!((seen.kind, seen.announced), (kind, false));
            lock.announce().expect("a lock to add");
            let seen = holder(&path).expect("an answer").expect("a holder");
            assert_eq!((seen.kind, seen.announced), (kind, true));
        }
        assert!(holder(&path).expect("an answer").is_none(), "it was dropped");
    }
}
