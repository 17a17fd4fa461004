//! Files of other tools that were taken over, as they were then: nobody is told of work that has been moved in, until its file changes.
//! A cache: where it is lost, the files are told of again.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use onward_store::{listing, private};

use crate::project::{Project, RUNTIME};

const RECORD: &str = "files-taken";
/// So many files are remembered; of those beyond people are told again.
const FILES_MAX: usize = 200_000;
const SIGN_CHARS: usize = 16;
const RECORD_BYTES_MAX: u64 = (FILES_MAX * (SIGN_CHARS + 1)) as u64;

/// A line for each file.
#[derive(Default)]
pub(crate) struct FilesTaken(BTreeSet<String>);

impl FilesTaken {
    pub(crate) fn of(project: &Project) -> Self {
        let read = private::read(&place(project), RECORD_BYTES_MAX).ok();
        let text = read.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
        Self(text.lines().map(str::to_owned).collect())
    }

    /// Whether a file was taken over, and is as it was then.
    pub(crate) fn holds(&self, path: &Path) -> bool {
        !self.0.is_empty() && sign(path).is_some_and(|sign| self.0.contains(&sign))
    }

    /// Remembers files, and the files of folders.
    pub(crate) fn remember(project: &Project, paths: &[PathBuf]) {
        let mut known = Self::of(project);
        let before = known.0.len();
        for path in paths {
            if path.is_dir() {
                known.0.extend(listing::readable(path).iter().take(FILES_MAX).filter_map(|entry| sign(&entry.path())));
            } else {
                known.0.extend(sign(path));
            }
        }
        if known.0.len() == before || known.0.len() > FILES_MAX {
            return;
        }
        let lines: Vec<String> = known.0.into_iter().collect();
        // Without it people are told once more, and nothing else.
        let _ = private::replace(&place(project), format!("{}\n", lines.join("\n")).as_bytes());
    }
}

fn place(project: &Project) -> PathBuf {
    project.store_folder().join(RUNTIME).join(RECORD)
}

/// Which file it is and when it was last written: another one at any change.
fn sign(path: &Path) -> Option<String> {
    let about = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file)?;
    let path = path.canonicalize().ok()?;
    let facts = format!("{}\n{}\n{}\n{}", path.display(), about.size(), about.mtime(), about.mtime_nsec());
    let hash = blake3::hash(facts.as_bytes()).to_hex();
    Some(hash[..SIGN_CHARS].to_owned())
}
