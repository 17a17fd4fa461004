//! Which private git folder is one that we made: by its mark, and by what lies in it.
//!
//! Git reads more from a folder than its settings: `commondir` leads to those of another one, `config.worktree` adds to
//! them. So a folder with anything in it that we do not make is none of ours.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use onward_store::listing;
use onward_store::ownership::{self, MARK, OwnerMark};

const FOLDERS: [&str; 4] = ["info", "objects", "refs", "restore"];

/// Each may have one ending: `.new` while we write it, `.lock` while git does.
const FILES: [&str; 8] =
    ["lock", "config", "HEAD", "index", "last", "commit-index", "worktree-index", "COMMIT_EDITMSG"];

const INFO_FILES: [&str; 2] = ["attributes", "exclude"];

/// Whether we made this folder; one with nothing in it is made ours.
pub(super) fn is_ours(folder: &Path) -> io::Result<bool> {
    let mark = OwnerMark::read(folder);
    if !mark.fits(folder) {
        let empty = listing::all(folder)?.iter().all(|entry| {
            let name = entry.file_name();
            name == "lock" || name.to_string_lossy().starts_with(MARK)
        });
        if empty {
            ownership::mark(folder, &[], &[])?;
        }
        return Ok(empty);
    }
    let config = fs::symlink_metadata(folder.join("config")).is_err() || mark.names(folder, "config");
    Ok(config && has_only(folder, &FOLDERS, &FILES)? && info_is_ours(&folder.join("info"))?)
}

/// Git makes its files as the umask says, which may let others in.
pub(super) fn make_private(folder: &Path) {
    for name in FILES {
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
        let file = File::options().read(true).custom_flags(flags).open(folder.join(name));
        // One that is not there, or somebody else's, is left: nobody but us gets into the folder.
        let _ = file.and_then(|file| file.set_permissions(Permissions::from_mode(0o600)));
    }
}

fn info_is_ours(info: &Path) -> io::Result<bool> {
    if fs::symlink_metadata(info).is_err() { Ok(true) } else { has_only(info, &[], &INFO_FILES) }
}

/// Whether everything in a folder is a folder or a plain file of these names.
fn has_only(folder: &Path, folders: &[&str], files: &[&str]) -> io::Result<bool> {
    for entry in listing::all(folder)? {
        let (about, name) = (fs::symlink_metadata(entry.path()), entry.file_name());
        // What a git that was killed leaves may go at any time.
        let Ok(about) = about else { continue };
        let name = name.to_string_lossy();
        let bare = name.strip_suffix(".new").or_else(|| name.strip_suffix(".lock")).unwrap_or(&name);
        let is_file = about.is_file() && about.nlink() <= 1 && (files.contains(&bare) || bare.starts_with(MARK));
        let is_folder = about.is_dir() && folders.contains(&&*name);
        if !is_file && !is_folder {
            return Ok(false);
        }
    }
    Ok(true)
}
