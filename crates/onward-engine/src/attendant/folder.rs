//! The folder of one attempt: where everything about it lies, and how it is opened.
//!
//! The phase itself can write into the folder, and so can anything that it runs. So nothing in it is opened through a link, and what
//! is opened is looked at before it is read: a plain file, ours, with one name.

use std::fmt::Write;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use onward_core::id::{Attempt, PhaseId, RunId};
use onward_core::result_schema::ResultSchema;
use onward_store::{listing, private};

use super::record::{self, AttemptRecord, ExitRecord, Main, RECORD_BYTES_MAX, RecordError, Session, Started, Stop};
use crate::sys::process::{AttemptMark, Member, Pid};

/// `attempts`, the run, the phase and the number of the attempt: the levels of folders below the store.
const LEVELS: usize = 4;

/// Of the form of an agent's answer.
const SCHEMA_BYTES_MAX: u64 = 1 << 20;

/// The files that belong to the phase. They are made beforehand, because the phase's own umask may be loose.
const PHASE_FILES: [&str; 3] = ["result", "progress", "summary"];

/// Where one attempt at one phase keeps its lock, records and output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptFolder {
    path: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    #[error("the folder {} cannot be made: {source}", path.display())]
    CannotMake { path: PathBuf, source: io::Error },
    #[error("{} is not this user's own: a link, a second name, or open to others", path.display())]
    NotOurs { path: PathBuf },
}

impl AttemptFolder {
    /// The folder of an attempt below the project's `.onward`. Nothing is made yet.
    pub fn new(onward_folder: &Path, run: &RunId, phase: &PhaseId, attempt: Attempt) -> Self {
        let path = onward_folder.join("attempts").join(encode(run.as_str())).join(encode(phase.as_str()));
        Self { path: path.join(attempt.to_string()) }
    }

    /// A folder that is known by its path, as the attendant knows its own.
    pub fn at(path: PathBuf) -> Self {
        Self { path }
    }

    /// Makes the folder and the phase's own files. A request to stop that was meant for an attempt which never started is taken
    /// away; an attempt that did start is left exactly as it is, and [`super::spawn`] refuses it.
    pub fn create(&self) -> Result<(), FolderError> {
        // From `attempts` down to the number: the levels that are ours to make.
        let levels: Vec<&Path> = self.path.ancestors().take(LEVELS).collect();
        for level in levels.into_iter().rev() {
            make_private_folder(level)?;
        }
        // What an archive or a clone put here beforehand would be written through by the attendant.
        check_files(&self.path)?;
        for name in PHASE_FILES {
            let path = self.path.join(name);
            let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
            match made {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(source) => return Err(FolderError::CannotMake { path, source }),
            }
        }
        let stop = self.path.join(Stop::NAME);
        match fs::remove_file(&stop) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(source) => Err(FolderError::CannotMake { path: stop, source }),
        }
    }

    /// Refuses to write into a folder that a link leads to.
    pub(super) fn demand_ours(&self) -> io::Result<()> {
        let levels: Vec<&Path> = self.path.ancestors().take(4).collect();
        levels.into_iter().rev().try_for_each(|level| check_private_folder(level).map_err(io::Error::other))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The element of `ONWARD_TREE` that everything this attempt starts carries in its environment. It names the store by the folder
    /// itself and not by its path: the same when the project is renamed or seen through another mount, another one in a copy.
    pub fn tag(&self) -> String {
        let store = self.path.ancestors().nth(LEVELS).unwrap_or(&self.path);
        let mut hash = blake3::Hasher::new();
        match fs::metadata(store) {
            Ok(about) => hash.update(&about.dev().to_le_bytes()).update(&about.ino().to_le_bytes()),
            // Without a store there is no attempt that anybody could look for.
            Err(_) => hash.update(store.as_os_str().as_encoded_bytes()),
        };
        let inside = self.path.strip_prefix(store).unwrap_or(&self.path);
        hash.update(inside.as_os_str().as_encoded_bytes());
        hash.finalize().to_hex()[..24].to_owned()
    }

    /// The mark that tells the processes of this attempt from all others: its tag, and its main process if it is known
    /// and of this boot.
    pub fn mark(&self, boot_now: &str) -> AttemptMark {
        let main = self.record::<Main>().ok().flatten().filter(|main| main.boot_id == boot_now);
        let main = main.map(|main| Member { pid: Pid::from_raw(main.pid), start_time: main.start_time });
        AttemptMark { main, ..AttemptMark::tagged(&self.tag()) }
    }

    /// The folder itself as an open file, which stays the same wherever it is moved to.
    pub(super) fn open(&self) -> io::Result<File> {
        let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW;
        OpenOptions::new().read(true).custom_flags(flags).open(&self.path)
    }

    /// When the attempt last printed something or left a note; none where it has done neither.
    pub fn last_sign(&self) -> Option<Timestamp> {
        let signs = ["output", "tail.0", "tail.1", "progress"].into_iter().filter_map(|name| {
            let about = fs::symlink_metadata(self.path.join(name)).ok()?;
            let written = about.is_file() && about.len() > 0;
            about.modified().ok().filter(|_| written).and_then(|at| Timestamp::try_from(at).ok())
        });
        signs.max()
    }

    /// Whether there is nothing in the folder that a phase or its attendant would have left, besides the record of the start.
    pub(super) fn is_untouched(&self) -> io::Result<bool> {
        for name in [ExitRecord::NAME, "output", "tail.0", "tail.1", "dropped", "result", "summary"] {
            match fs::symlink_metadata(self.path.join(name)) {
                Ok(about) if about.len() > 0 || !about.is_file() => return Ok(false),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Whether nobody has written down how the attempt ended.
    pub(crate) fn is_without_outcome(&self) -> bool {
        fs::symlink_metadata(self.path.join(ExitRecord::NAME)).is_err()
    }

    /// The run and the phase of an attempt that a path below the store leads into.
    pub(crate) fn named_by(inside_store: &Path) -> Option<(RunId, PhaseId)> {
        let mut parts = inside_store.strip_prefix("attempts").ok()?.iter();
        let (run, phase) = (parts.next()?.to_str()?, parts.next()?.to_str()?);
        Some((RunId::new(decode(run)?), PhaseId::new(decode(phase)?)))
    }

    pub fn lock_path(&self) -> PathBuf {
        self.path.join("lock")
    }

    /// The file that `ONWARD_OUTPUT` names.
    pub fn result_path(&self) -> PathBuf {
        self.path.join("result")
    }

    /// The file that `ONWARD_PROGRESS` names.
    pub fn progress_path(&self) -> PathBuf {
        self.path.join("progress")
    }

    /// The file that `ONWARD_SUMMARY` names.
    pub fn summary_path(&self) -> PathBuf {
        self.path.join("summary")
    }

    /// Keeps the form of the answer: at its end the attempt is judged by the one that it was started with.
    pub(crate) fn keep_schema(&self, text: &str) -> io::Result<()> {
        private::replace(&self.path.join("schema"), text.as_bytes())
    }

    /// That form, where the attempt has one.
    pub(crate) fn schema(&self) -> Option<ResultSchema> {
        let bytes = private::read(&self.path.join("schema"), SCHEMA_BYTES_MAX).ok()?;
        ResultSchema::read(&String::from_utf8(bytes).ok()?).ok()
    }

    pub fn exit(&self) -> Result<Option<ExitRecord>, RecordError> {
        self.record()
    }

    pub fn started(&self) -> Result<Option<Started>, RecordError> {
        self.record()
    }

    pub fn stop(&self) -> Result<Option<Stop>, RecordError> {
        self.record()
    }

    /// The session that an agent has named; none where there is none, or nobody can read it.
    pub(crate) fn session(&self) -> Option<String> {
        self.record::<Session>().ok().flatten().map(|session| session.id)
    }

    fn record<T: AttemptRecord>(&self) -> Result<Option<T>, RecordError> {
        let unreadable = |source| RecordError::Unreadable { name: T::NAME, source };
        let file = match open_plain(&self.path.join(T::NAME)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unreadable(error)),
        };
        let mut text = Vec::with_capacity(1024);
        file.take(RECORD_BYTES_MAX).read_to_end(&mut text).map_err(unreadable)?;
        record::decode(&text).map(Some)
    }
}

/// Opens a file for reading only if it is plain, ours and has one name. A pipe planted in its place does not make us wait.
pub(crate) fn open_plain(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)?;
    check_plain(&file)?;
    Ok(file)
}

/// Refuses a descriptor of anything but a plain file of this user's with a single name.
pub(crate) fn check_plain(file: &File) -> io::Result<()> {
    let about = file.metadata()?;
    let ours = about.uid() == nix::unistd::geteuid().as_raw();
    // No name at all is a file that was replaced by a rename after it was opened; its content is still whole.
    if about.is_file() && ours && about.nlink() <= 1 {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::PermissionDenied, "not a plain file of this user's own"))
}

/// Refuses a folder in which something lies that is no plain file of this user's with one name.
fn check_files(folder: &Path) -> Result<(), FolderError> {
    let unreadable = |source| FolderError::CannotMake { path: folder.to_owned(), source };
    for entry in listing::all(folder).map_err(unreadable)? {
        let path = entry.path();
        let about = fs::symlink_metadata(&path).map_err(unreadable)?;
        if !about.is_file() || about.uid() != nix::unistd::geteuid().as_raw() || about.nlink() > 1 {
            return Err(FolderError::NotOurs { path });
        }
    }
    Ok(())
}

fn make_private_folder(path: &Path) -> Result<(), FolderError> {
    let made = DirBuilder::new().mode(0o700).create(path);
    match made {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => check_private_folder(path),
        Err(source) => Err(FolderError::CannotMake { path: path.to_owned(), source }),
    }
}

fn check_private_folder(path: &Path) -> Result<(), FolderError> {
    let about = fs::symlink_metadata(path);
    let about = about.map_err(|source| FolderError::CannotMake { path: path.to_owned(), source })?;
    let loose = about.mode() & 0o022 != 0;
    if about.is_dir() && about.uid() == nix::unistd::geteuid().as_raw() && !loose {
        return Ok(());
    }
    Err(FolderError::NotOurs { path: path.to_owned() })
}

/// Turns an id into one safe part of a path: everything but letters, digits, `.`, `_`, `-` and `@` becomes `%` and two digits, and
/// so does a leading dot. Ids are checked long before; this holds whatever they are.
fn encode(id: &str) -> String {
    let mut name = String::with_capacity(id.len());
    for (at, byte) in id.bytes().enumerate() {
        let plain = byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'@') || (byte == b'.' && at > 0);
        if plain {
            name.push(char::from(byte));
        } else {
            let _ = write!(name, "%{byte:02X}");
        }
    }
    name
}

/// The id that stands for such a part of a path.
fn decode(name: &str) -> Option<String> {
    let mut parts = name.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(part.get(..2)?, 16).ok()?);
        bytes.extend_from_slice(part.get(2..)?.as_bytes());
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path in the folder of an attempt leads back to its ids, whatever they are.
    #[test]
    fn a_path_leads_back_to_its_phase() {
        for id in ["build", "publish/build", "test@os=mac,v=1", ".hidden", "a%b", "größe"] {
            let folder =
                AttemptFolder::new(Path::new("/p/.onward"), &RunId::new("run_1"), &PhaseId::new(id), Attempt(2));
            let lock = folder.lock_path();
            let inside = lock.strip_prefix("/p/.onward").expect("it is below the store");
            assert_eq!(AttemptFolder::named_by(inside), Some((RunId::new("run_1"), PhaseId::new(id))));
        }
        assert_eq!(AttemptFolder::named_by(Path::new("run/x.lock")), None);
    }

    /// Ids of expanded phases have a slash or an at sign. Neither they nor a hostile id leave the attempt's place.
    #[test]
    fn ids_become_one_part_of_a_path() {
        let path = |phase: &str| {
            let folder =
                AttemptFolder::new(Path::new("/p/.onward"), &RunId::new("run_1"), &PhaseId::new(phase), Attempt(2));
            folder.path().to_str().expect("only plain characters").to_owned()
        };
        assert_eq!(path("publish/build"), "/p/.onward/attempts/run_1/publish%2Fbuild/2");
        assert_eq!(path("fetch@0a1b2c3d"), "/p/.onward/attempts/run_1/fetch@0a1b2c3d/2");
        assert_eq!(path("2.5"), "/p/.onward/attempts/run_1/2.5/2");
        assert_eq!(path("../../x"), "/p/.onward/attempts/run_1/%2E.%2F..%2Fx/2");
    }
}
