//! Reading what an attempt printed and what its phase wrote about itself.
//!
//! All of it is data from outside: of bounded size here, secrets cut out once more (the phase writes its own files directly, and
//! they are cleaned only when it ends), control characters left for whoever shows it to escape.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use super::agent_output::{ERRORS, FRAMES};
use super::capture::{OUTPUT, OutputNames};
use super::folder::{AttemptFolder, check_plain, open_plain};
use super::record::{FileSeal, FramesSeal};
use crate::redact::Secrets;

const OUTPUTS_BYTES_MAX: u64 = 64 * 1024;
const OUTPUT_NAME_BYTES_MAX: usize = 64;
const SUMMARY_BYTES_MAX: usize = 2 * 1024;
/// More is read than is kept, so that a secret is cut out before the rest is cut off.
const SUMMARY_BYTES_READ_MAX: u64 = 64 * 1024;
const SUMMARY_WORDS_MAX: usize = 50;
/// A file of the phase's that is longer cannot be cleaned in memory, and loses all that stands in it instead.
const CLEANED_BYTES_MAX: u64 = 4 << 20;

/// A file that is too long to be cleaned holds as much as proves it afterwards, or nothing.
#[derive(Clone, Copy)]
enum Overlong {
    Emptied,
    StaysTooLong,
}

/// The file beside the output in which it stands what the checks printed.
pub(crate) const CHECKS: &str = "verify.log";

/// The output of a phase, from its beginning, with a line where a part was left out.
pub struct Output {
    parts: VecDeque<Box<dyn Read + Send>>,
}

impl Read for Output {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(part) = self.parts.front_mut() {
            let count = part.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            self.parts.pop_front();
        }
        Ok(0)
    }
}

/// Why the outputs of a phase cannot be taken.
#[derive(Debug, thiserror::Error)]
pub enum OutputsError {
    #[error("{0}")]
    Unreadable(#[from] io::Error),
    #[error("the outputs are longer than {OUTPUTS_BYTES_MAX} bytes")]
    TooLong,
    #[error("line {line} of the outputs is not of the form name=value")]
    Malformed { line: usize },
    #[error(
        "{name} is no name for an output: letters, digits, - and _, {OUTPUT_NAME_BYTES_MAX} at most, a letter first"
    )]
    Name { name: String },
}

/// Whether outputs that somebody reports could have come from a phase that wrote them itself.
pub(crate) fn outputs_fit(outputs: &BTreeMap<String, String>) -> Result<(), OutputsError> {
    if let Some((name, _)) = outputs.iter().find(|(name, value)| !is_output(name, value)) {
        return Err(OutputsError::Name { name: name.clone() });
    }
    let bytes: usize = outputs.iter().map(|(name, value)| name.len() + value.len() + "=\n".len()).sum();
    if bytes as u64 > OUTPUTS_BYTES_MAX { Err(OutputsError::TooLong) } else { Ok(()) }
}

impl AttemptFolder {
    /// The output so far. While the phase runs this is what is kept at the moment.
    pub fn read_output(&self) -> io::Result<Output> {
        self.read_parts(OUTPUT, self.left_out()?)
    }

    /// The frames of an agent so far, with a line of its own where a part was left out.
    pub(crate) fn read_frames(&self) -> io::Result<Output> {
        let dropped = open_if_there(&self.path().join(FRAMES.dropped))?.is_some();
        self.read_parts(FRAMES, u64::from(dropped))
    }

    /// Whether the frames are those that the attendant has written.
    pub(crate) fn frames_are(&self, seal: &FramesSeal) -> bool {
        let files = [(FRAMES.head, &seal.head), (FRAMES.older, &seal.older), (FRAMES.newer, &seal.newer)];
        files.into_iter().all(|(name, seal)| file_is(&self.path().join(name), seal).unwrap_or(false))
    }

    /// The end of what an agent printed on its standard error.
    pub(crate) fn errors_end(&self, bytes_max: u64) -> io::Result<Vec<u8>> {
        self.end_of([ERRORS.newer, ERRORS.older, ERRORS.head], bytes_max)
    }

    fn read_parts(&self, names: OutputNames, left_out: u64) -> io::Result<Output> {
        let mut parts: VecDeque<Box<dyn Read + Send>> = VecDeque::new();
        // The newest file is opened first: if it gets the older one's name in between, it is found twice and shown once.
        let newer = open_if_there(&self.path().join(names.newer))?;
        let older = open_if_there(&self.path().join(names.older))?;
        let older = older.filter(|older| !newer.as_ref().is_some_and(|newer| same_file(older, newer)));
        parts.extend(open_if_there(&self.path().join(names.head))?.map(boxed));
        if left_out > 0 {
            let line = format!("\n[… {left_out} bytes left out …]\n");
            parts.push_back(Box::new(Cursor::new(line.into_bytes())));
        }
        parts.extend(older.into_iter().chain(newer).map(boxed));
        Ok(Output { parts })
    }

    /// The output of the attempt's checks, each behind its command; none where none was made.
    pub fn read_checks(&self) -> io::Result<Option<File>> {
        open_if_there(&self.path().join(CHECKS))
    }

    /// The last bytes that were printed, at most so many.
    pub fn output_end(&self, bytes_max: u64) -> io::Result<Vec<u8>> {
        self.end_of([OUTPUT.newer, OUTPUT.older, OUTPUT.head], bytes_max)
    }

    /// The last bytes of these files, the last one first.
    fn end_of(&self, names: [&str; 3], bytes_max: u64) -> io::Result<Vec<u8>> {
        let mut end = Vec::new();
        for name in names {
            let wanted = bytes_max - end.len() as u64;
            if wanted == 0 {
                break;
            }
            if let Some(file) = open_if_there(&self.path().join(name))? {
                let mut part = last_bytes(file, wanted)?;
                part.append(&mut end);
                end = part;
            }
        }
        Ok(end)
    }

    /// The last bytes that its checks printed, at most so many.
    pub(crate) fn checks_end(&self, bytes_max: u64) -> io::Result<Vec<u8>> {
        self.read_checks()?.map_or(Ok(Vec::new()), |file| last_bytes(file, bytes_max))
    }

    fn left_out(&self) -> io::Result<u64> {
        if let Ok(Some(exit)) = self.exit() {
            return Ok(exit.output_dropped_bytes);
        }
        let Some(file) = open_if_there(&self.path().join("dropped"))? else { return Ok(0) };
        let text = last_bytes(file, 32)?;
        Ok(String::from_utf8_lossy(&text).trim().parse().unwrap_or(0))
    }

    /// The outputs of the phase by name; of a name given twice the last value counts.
    pub fn read_outputs(&self, secrets: &Secrets) -> Result<BTreeMap<String, String>, OutputsError> {
        let Some(file) = open_if_there(&self.result_path())? else { return Ok(BTreeMap::new()) };
        let mut bytes = Vec::new();
        file.take(OUTPUTS_BYTES_MAX + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > OUTPUTS_BYTES_MAX {
            return Err(OutputsError::TooLong);
        }
        let mut outputs = BTreeMap::new();
        for (number, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
            if line.trim_ascii().is_empty() {
                continue;
            }
            let (name, value) = output_line(line).ok_or(OutputsError::Malformed { line: number + 1 })?;
            outputs.insert(name.to_owned(), secrets.text(value).into_owned());
        }
        Ok(outputs)
    }

    /// The summary that the phase wrote, cut to its first words.
    pub fn read_summary(&self, secrets: &Secrets) -> io::Result<Option<String>> {
        let Some(file) = open_if_there(&self.summary_path())? else { return Ok(None) };
        let mut bytes = Vec::new();
        file.take(SUMMARY_BYTES_READ_MAX).read_to_end(&mut bytes)?;
        let text = String::from_utf8_lossy(&bytes);
        let text = secrets.text(&text);
        let words: Vec<&str> = text.split_whitespace().take(SUMMARY_WORDS_MAX).collect();
        let mut summary = words.join(" ");
        summary.truncate(summary.floor_char_boundary(SUMMARY_BYTES_MAX));
        Ok((!summary.is_empty()).then_some(summary))
    }

    /// Whether all secrets are cut out of what the phase wrote itself if it is read with these: its attendant has done so at the end,
    /// or they are all that it would have cut out.
    pub fn is_clean_with(&self, secrets: &Secrets) -> bool {
        if matches!(self.exit(), Ok(Some(exit)) if !exit.uncleaned) {
            return true;
        }
        let digests = self.started().ok().flatten().and_then(|started| started.secrets);
        digests.is_some_and(|digests| digests.are_known_to(secrets))
    }

    /// Whether the phase wrote anything itself.
    pub fn has_own_words(&self) -> bool {
        let paths = [self.result_path(), self.progress_path(), self.summary_path()];
        paths.iter().any(|path| std::fs::symlink_metadata(path).is_ok_and(|about| about.len() > 0))
    }

    /// Cuts secrets out of the files that the phase wrote itself; gives how many files were changed. One that cannot be cleaned does
    /// not keep the others from it.
    pub(crate) fn clean(&self, secrets: &Secrets) -> io::Result<u64> {
        let cleaned = [
            // The outputs count: they are refused as too long, not taken for none.
            clean_file(&self.result_path(), secrets, Overlong::StaysTooLong),
            clean_file(&self.progress_path(), secrets, Overlong::Emptied),
            clean_file(&self.summary_path(), secrets, Overlong::Emptied),
        ];
        cleaned.into_iter().try_fold(0, |changed, one| Ok(changed + u64::from(one?)))
    }
}

fn clean_file(path: &Path, secrets: &Secrets, overlong: Overlong) -> io::Result<bool> {
    let mut options = File::options();
    options.read(true).write(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    let mut file = match options.open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    check_plain(&file)?;
    let length = file.metadata()?.len();
    if length == 0 {
        return Ok(false);
    }
    if length > CLEANED_BYTES_MAX {
        file.set_len(0)?;
        match overlong {
            Overlong::Emptied => {}
            Overlong::StaysTooLong => file.set_len(OUTPUTS_BYTES_MAX + 1)?,
        }
        return Ok(true);
    }
    let mut bytes = Vec::new();
    (&file).take(CLEANED_BYTES_MAX).read_to_end(&mut bytes)?;
    let std::borrow::Cow::Owned(clean) = secrets.bytes(&bytes) else { return Ok(false) };
    file.rewind()?;
    file.write_all(&clean)?;
    file.set_len(clean.len() as u64)?;
    Ok(true)
}

fn output_line(line: &[u8]) -> Option<(&str, &str)> {
    let (name, value) = std::str::from_utf8(line).ok()?.split_once('=')?;
    is_output(name, value).then_some((name, value))
}

fn is_output(name: &str, value: &str) -> bool {
    let first = name.bytes().next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_');
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    first && plain && name.len() <= OUTPUT_NAME_BYTES_MAX && !value.contains('\0')
}

pub(super) fn open_if_there(path: &Path) -> io::Result<Option<File>> {
    match open_plain(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn file_is(path: &Path, seal: &FileSeal) -> io::Result<bool> {
    if seal.bytes > 0 && seal.hash.is_none() {
        return Ok(true);
    }
    let Some(file) = open_if_there(path)? else { return Ok(seal.bytes == 0) };
    if file.metadata()?.len() != seal.bytes {
        return Ok(false);
    }
    let mut hash = blake3::Hasher::new();
    hash.update_reader(file.take(seal.bytes))?;
    Ok(seal.hash.as_ref().is_none_or(|sealed| *sealed == *hash.finalize().to_hex()))
}

fn same_file(one: &File, other: &File) -> bool {
    let name = |file: &File| file.metadata().map(|about| (about.dev(), about.ino())).ok();
    name(one).is_some() && name(one) == name(other)
}

fn boxed(file: File) -> Box<dyn Read + Send> {
    Box::new(file)
}

pub(super) fn last_bytes(mut file: File, bytes_max: u64) -> io::Result<Vec<u8>> {
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(bytes_max)))?;
    let mut bytes = Vec::new();
    file.take(bytes_max).read_to_end(&mut bytes)?;
    Ok(bytes)
}
