//! The output of attempts that another one came after: how much of it there is, and letting go of it. The records of an attempt
//! stay, since resuming goes by them.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use onward_core::id::{Attempt, PhaseId, RunId};
use onward_core::retention::LogFacts;
use onward_store::{listing, private};

use super::folder::AttemptFolder;

/// The files of the output, the one that is left with a line in it first.
const FILES: [&str; 10] = [
    "output",
    "tail.0",
    "tail.1",
    super::logs::CHECKS,
    "frames",
    "frames.0",
    "frames.1",
    "errors",
    "errors.0",
    "errors.1",
];
const DELETED: &str = "[the output of this attempt was deleted when its time was over]\n";

/// The outputs of a run that are still there, but for the last one of each phase.
pub(crate) fn of_run(store: &Path, run: &RunId) -> Vec<LogFacts> {
    let mut all = Vec::new();
    for phase in children(&store.join("attempts").join(run.as_str())) {
        let Some(name) = phase.file_name().and_then(|name| name.to_str()).and_then(decoded) else { continue };
        let number = |path: &PathBuf| path.file_name()?.to_str()?.parse::<u32>().ok();
        let attempts = children(&phase);
        let last = attempts.iter().filter_map(number).max();
        for (path, number) in attempts.iter().filter_map(|path| Some((path, number(path)?))) {
            let folder = AttemptFolder::at(path.clone());
            let (Ok(Some(exit)), Some(bytes)) = (folder.exit(), left(path)) else { continue };
            let is_last = Some(number) == last;
            let (phase, attempt) = (PhaseId::new(name.clone()), Attempt(number));
            all.push(LogFacts { phase, attempt, ended_at: exit.ended_at, bytes, is_last });
        }
    }
    all
}

/// Deletes the output of an attempt, which is named by its run, phase and number; a line is left that says so.
pub(crate) fn forget(store: &Path, named: &str) -> io::Result<()> {
    let parts = named.split_once('/').and_then(|(run, rest)| Some((run, rest.rsplit_once('/')?)));
    let number = parts.and_then(|(_, (_, number))| number.parse().ok());
    let Some(((run, (phase, _)), number)) = parts.zip(number) else { return Err(io::ErrorKind::InvalidInput.into()) };
    let folder = AttemptFolder::new(store, &RunId::new(run), &PhaseId::new(phase), Attempt(number));
    let path = folder.path();
    private::demand_folders(store, path)?;
    for name in &FILES[1..] {
        match fs::remove_file(path.join(name)) {
            Err(why) if why.kind() != io::ErrorKind::NotFound => return Err(why),
            Ok(()) | Err(_) => {}
        }
    }
    let mut output: File = private::create_anew(&path.join(FILES[0]))?;
    output.write_all(DELETED.as_bytes())
}

/// The bytes of an output; none where it was let go of already.
fn left(folder: &Path) -> Option<u64> {
    let bytes: u64 =
        FILES.iter().filter_map(|name| fs::symlink_metadata(folder.join(name)).ok()).map(|about| about.len()).sum();
    let is_deleted = bytes == DELETED.len() as u64
        && private::read(&folder.join(FILES[0]), bytes).is_ok_and(|text| text == DELETED.as_bytes());
    (bytes > 0 && !is_deleted).then_some(bytes)
}

fn children(folder: &Path) -> Vec<PathBuf> {
    let is_folder = fs::symlink_metadata(folder).is_ok_and(|about| about.is_dir());
    let entries = if is_folder { listing::readable(folder) } else { Vec::new() };
    entries.iter().map(std::fs::DirEntry::path).collect()
}

/// The id behind the name of a folder.
fn decoded(name: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let Some((&byte, behind)) = rest.split_first() {
        if byte == b'%' {
            let (digits, behind) = behind.split_at_checked(2)?;
            bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
            rest = behind;
        } else {
            bytes.push(byte);
            rest = behind;
        }
    }
    String::from_utf8(bytes).ok()
}
