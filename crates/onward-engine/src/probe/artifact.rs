//! Artifacts of a phase: found below the top of the project, and read once for their digest.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};

use onward_core::run::verification::{ArtifactCopied, ArtifactState};
use onward_store::listing;

use crate::sys::patient_io::Heeding;
use crate::sys::process;

/// Files of one folder that are read at most.
const FILES_PER_ARTIFACT_MAX: u32 = 10_000;
/// Bytes that are read at once.
const COPIED_BYTES: usize = 64 * 1024;
/// Of a pipe, a socket or a device nothing can be read that would last.
const NO_FILE: &str = "it is neither a file nor a folder";

/// A file or a folder as it was read.
pub(super) struct ArtifactRead {
    pub(super) bytes: u64,
    pub(super) digest: String,
}

/// The state of the file at a path below the top. A path that leads out of it is not even looked at.
pub(super) fn artifact_state(top: &Path, path: &str) -> ArtifactState {
    let refused = |why: io::Error| ArtifactState::Refused { why: format!("it cannot be read: {why}") };
    artifact_read(top, path).unwrap_or_else(refused)
}

/// The same; an error where the machine has no room to look or the disk does not answer, which says nothing about the file.
pub(super) fn artifact_read(top: &Path, path: &str) -> io::Result<ArtifactState> {
    let read = real(top, path).and_then(|real| {
        let taken = take(&real, None, Readers::Owner).map_err(|why| {
            if process::may_pass(&why) {
                Unreadable::NoRoom(why)
            } else {
                Unreadable::Refused(format!("it cannot be read: {why}"))
            }
        })?;
        Ok(ArtifactState::There { bytes: taken.bytes, digest: taken.digest, copy: ArtifactCopied::NotWanted })
    });
    read.or_else(|why| match why {
        Unreadable::Missing => Ok(ArtifactState::Missing),
        Unreadable::Refused(why) => Ok(ArtifactState::Refused { why }),
        Unreadable::NoRoom(why) => Err(why),
    })
}

/// Why there is nothing to be read at a path.
pub(super) enum Unreadable {
    Missing,
    Refused(String),
    /// Nobody could look.
    NoRoom(io::Error),
}

/// Where a path below the top really leads.
pub(super) fn real(top: &Path, path: &str) -> Result<PathBuf, Unreadable> {
    let refused = |why: &str| Err(Unreadable::Refused(why.to_owned()));
    let inside = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    if path.is_empty() || !Path::new(path).components().all(inside) {
        return refused("it is outside the project");
    }
    let first = Path::new(path).components().find(|part| matches!(part, Component::Normal(_)));
    match first.and_then(|part| part.as_os_str().to_str()) {
        None if first.is_none() => return refused("it is the whole project"),
        Some(".git" | ".onward") => return refused("it belongs to the books, and no phase leaves it behind"),
        _ => {}
    }
    let whole = top.join(path);
    match (fs::canonicalize(&whole), fs::canonicalize(top)) {
        (Ok(real), Ok(top)) if real.starts_with(&top) => match fs::symlink_metadata(&real) {
            Ok(about) if !about.is_file() && !about.is_dir() => refused(NO_FILE),
            Ok(_) | Err(_) => Ok(real),
        },
        (Ok(_), Ok(_)) => refused("it leads out of the project"),
        (Err(why), _) if why.kind() == io::ErrorKind::NotFound && fs::symlink_metadata(&whole).is_ok() => {
            refused("it is a link that leads nowhere")
        }
        (Err(why), _) if matches!(why.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Err(Unreadable::Missing)
        }
        (Err(why), _) | (_, Err(why)) if process::may_pass(&why) => Err(Unreadable::NoRoom(why)),
        (Err(why), _) | (_, Err(why)) => refused(&why.to_string()),
    }
}

/// Reads a file or a folder, and writes what it reads to `copy`, where there is to be one: what has the digest is what was
/// copied, even if somebody writes to it meanwhile.
pub(super) fn take(path: &Path, copy: Option<&Path>, readers: Readers) -> io::Result<ArtifactRead> {
    let mut taking = Taking { hasher: blake3::Hasher::new(), files_left: FILES_PER_ARTIFACT_MAX, readers };
    let bytes = taking.any(path, copy)?;
    Ok(ArtifactRead { bytes, digest: taking.hasher.finalize().to_hex().to_string() })
}

struct Taking {
    hasher: blake3::Hasher,
    files_left: u32,
    readers: Readers,
}

/// The readers of a written file.
#[derive(Clone, Copy)]
pub(super) enum Readers {
    /// Nobody else: it lies in the store.
    Owner,
    /// All who may read other new files of the project.
    AsUsual,
}

impl Readers {
    fn mode(self, mode: u32) -> u32 {
        match self {
            Self::Owner => mode & 0o700,
            Self::AsUsual => mode,
        }
    }
}

impl Taking {
    /// The bytes of a file, or of all files of a folder with their names. Links inside a folder are named and not followed.
    fn any(&mut self, path: &Path, copy: Option<&Path>) -> io::Result<u64> {
        let about = fs::symlink_metadata(path)?;
        if about.is_file() {
            return self.file(path, copy);
        }
        if about.is_symlink()
            && let Some(copy) = copy
        {
            symlink(fs::read_link(path)?, copy)?;
        }
        if !about.is_dir() {
            let left_out = copy.is_none() || about.is_symlink();
            return if left_out { Ok(0) } else { Err(io::Error::other(NO_FILE)) };
        }
        if let Some(copy) = copy {
            DirBuilder::new().mode(self.readers.mode(0o777)).create(copy)?;
        }
        let mut names: Vec<OsString> = listing::all(path)?.iter().map(std::fs::DirEntry::file_name).collect();
        names.sort_unstable();
        let mut bytes = 0;
        for name in names {
            self.files_left =
                self.files_left.checked_sub(1).ok_or_else(|| io::Error::other("it has too many files"))?;
            self.hasher.update(name.as_encoded_bytes()).update(&[0]);
            bytes += self.any(&path.join(&name), copy.map(|copy| copy.join(&name)).as_deref())?;
        }
        copy.map_or(Ok(()), sync)?;
        Ok(bytes)
    }

    fn file(&mut self, path: &Path, copy: Option<&Path>) -> io::Result<u64> {
        let from = open_file(path)?;
        let Some(copy) = copy else { return io::copy(&mut Heeding(from), &mut self.hasher) };
        // Whoever could run it can run it when it is put back.
        let mode = if from.metadata()?.permissions().mode() & 0o100 != 0 { 0o777 } else { 0o666 };
        let mut to = OpenOptions::new().write(true).create_new(true).mode(self.readers.mode(mode)).open(copy)?;
        let (mut from, mut buffer) = (Heeding(from), vec![0; COPIED_BYTES]);
        let mut bytes = 0;
        loop {
            let count = from.read(&mut buffer)?;
            if count == 0 {
                break;
            }
            self.hasher.update(&buffer[..count]);
            to.write_all(&buffer[..count])?;
            bytes += count as u64;
        }
        to.sync_all()?;
        Ok(bytes)
    }
}

/// Opens what was a file a moment ago: a pipe would be waited for.
fn open_file(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other(NO_FILE)) }
}

pub(super) fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
