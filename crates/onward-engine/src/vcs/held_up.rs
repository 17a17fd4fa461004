//! Pipes that git waits for: it opens the lists of what it leaves out wherever they lie, and a pipe is never at its end.

use onward_store::listing;
use std::collections::VecDeque;
use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

/// A git that takes longer may be waiting for something.
pub(super) const LOOK_AFTER: Duration = Duration::from_secs(2);
/// Entries of folders that are looked at.
const ENTRIES_MAX: usize = 300_000;
/// Files that git opens in every folder of a working tree.
const OPENED: [&str; 3] = [".gitignore", ".gitattributes", ".gitmodules"];

/// The pipe that was found last: the next call need not be held up by it again.
static FOUND: Mutex<Option<PathBuf>> = Mutex::new(None);

/// The pipe that held up an earlier call, if it still lies there.
pub(super) fn known() -> Option<PathBuf> {
    FOUND.lock().ok()?.clone().filter(|path| is_other(path))
}

/// A pipe or a device in the place of a file that git opens, in the working tree around a folder or where the user keeps such files.
pub(super) fn find(folder: &Path, listed: Option<PathBuf>) -> Option<PathBuf> {
    let top = folder.ancestors().find(|folder| folder.join(".git").exists())?;
    let found = listed.into_iter().chain(of_the_user()).find(|path| is_other(path)).or_else(|| below(top))?;
    if let Ok(mut known) = FOUND.lock() {
        *known = Some(found.clone());
    }
    Some(found)
}

fn of_the_user() -> Vec<PathBuf> {
    let home = env::var_os("HOME").map(PathBuf::from);
    let configured = env::var_os("XDG_CONFIG_HOME").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let folder = configured.or_else(|| home.map(|home| home.join(".config")));
    folder.map(|folder| ["ignore", "attributes"].map(|name| folder.join("git").join(name)).to_vec()).unwrap_or_default()
}

/// Folders near the top first: who plants something, or makes it by mistake, seldom does so deep below.
fn below(top: &Path) -> Option<PathBuf> {
    let (mut folders, mut left) = (VecDeque::from([top.to_owned()]), ENTRIES_MAX);
    while let Some(folder) = folders.pop_front() {
        for entry in listing::readable(&folder) {
            left = left.checked_sub(1)?;
            let name = entry.file_name();
            let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if OPENED.iter().any(|opened| name == OsStr::new(opened)) && is_other(&entry.path()) {
                return Some(entry.path());
            }
            if is_dir && name != OsStr::new(".git") {
                folders.push_back(entry.path());
            }
        }
    }
    None
}

/// Neither a file nor a folder, also behind a link.
fn is_other(path: &Path) -> bool {
    path.metadata().is_ok_and(|about| !about.is_file() && !about.is_dir())
}
