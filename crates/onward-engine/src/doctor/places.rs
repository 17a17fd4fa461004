//! The folder itself: who may look into it, what in it is not what it should be, and what was left lying about.

use onward_store::listing;
use std::fs::{self, Metadata};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::code::DoctorCode;
use super::findings::{FindingsSoFar, REPAIR};

/// Files that a person writes, and may want others to read.
const FOR_PEOPLE: [&str; 3] = ["config.yaml", "plan.yaml", ".gitignore"];
/// How the name of a folder begins in which a store was being rebuilt.
pub(super) const UNFINISHED: &str = "repair-";

/// Owner, mode and kind of everything that the store relies on. What phases wrote for themselves is not looked at.
pub(super) fn examine(folder: &Path, found: &mut FindingsSoFar) {
    for path in relied_on(folder) {
        let Ok(seen) = fs::symlink_metadata(&path) else { continue };
        judge(folder, &path, &seen, found);
    }
    for path in unfinished(folder) {
        let message = "a repair was ended before it was done; the store is as it was before, or already the new one";
        let help = format!("nothing in it is needed: {REPAIR} puts it aside");
        found.info(DoctorCode::Leftover, shown(folder, &path), message, &help);
    }
}

/// The folder, what lies in it, and the locks and large values one or two levels below.
fn relied_on(folder: &Path) -> Vec<PathBuf> {
    let mut all = vec![folder.to_owned()];
    all.extend(children(folder));
    all.extend(children(&folder.join("run")));
    for part in children(&folder.join("blobs")) {
        all.extend(children(&part));
        all.push(part);
    }
    all
}

pub(super) fn children(folder: &Path) -> Vec<PathBuf> {
    let real = fs::symlink_metadata(folder).is_ok_and(|seen| seen.is_dir());
    let entries = if real { listing::readable(folder) } else { Vec::new() };
    let mut all: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).collect();
    all.sort();
    all
}

pub(super) fn unfinished(folder: &Path) -> Vec<PathBuf> {
    let is_one = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(UNFINISHED)) && path.is_dir()
    };
    children(folder).into_iter().filter(is_one).collect()
}

fn judge(folder: &Path, path: &Path, seen: &Metadata, found: &mut FindingsSoFar) {
    let name = shown(folder, path);
    let by_hand = "the files are left as they are: find out who put it there, put what belongs there in its place, then \
                   type onward doctor";
    if is_for_people(path) && (seen.file_type().is_symlink() || seen.is_file() && seen.nlink() > 1) {
        return;
    }
    if seen.file_type().is_symlink() {
        return found.error(
            DoctorCode::Link,
            name,
            "it is a symbolic link, and nothing here is read through one",
            by_hand,
        );
    }
    if seen.uid() != nix::unistd::geteuid().as_raw() {
        let message = format!("it belongs to another user (number {})", seen.uid());
        return found.error(DoctorCode::Owner, name, message, by_hand);
    }
    if seen.is_file() && seen.nlink() > 1 {
        let message = "it has a second name elsewhere, through which it can be changed";
        return found.error(DoctorCode::Link, name, message, by_hand);
    }
    let odd = !seen.is_file() && !seen.is_dir() && !seen.file_type().is_fifo();
    if odd {
        return found.error(DoctorCode::Link, name, "it is neither a file nor a folder", by_hand);
    }
    let mode = seen.permissions().mode() & 0o777;
    let help = format!("{REPAIR} closes it to others; nothing else is changed by that");
    if mode & 0o022 != 0 {
        found.error(DoctorCode::Permissions, name, format!("others may write to it (mode {mode:o})"), &help);
    } else if mode & 0o077 != 0 && !is_for_people(path) {
        found.warning(DoctorCode::Permissions, name, format!("others may look at it (mode {mode:o})"), &help);
    }
}

fn is_for_people(path: &Path) -> bool {
    path.file_name().is_some_and(|name| FOR_PEOPLE.iter().any(|own| name == *own))
}

/// Every place whose mode is too loose, with the mode that it should have.
pub(super) fn loose(folder: &Path) -> Vec<(PathBuf, u32)> {
    let fix = |path: PathBuf| {
        let seen = fs::symlink_metadata(&path).ok()?;
        let second_name = seen.is_file() && seen.nlink() > 1;
        let ours = seen.uid() == nix::unistd::geteuid().as_raw() && !seen.file_type().is_symlink() && !second_name;
        let mode = seen.permissions().mode() & 0o777;
        let closed = if is_for_people(&path) { mode & !0o022 } else { mode & !0o077 };
        (ours && closed != mode).then_some((path, closed))
    };
    relied_on(folder).into_iter().filter_map(fix).collect()
}

/// A path as it is shown: from the project's top on.
pub(super) fn shown(folder: &Path, path: &Path) -> String {
    let top = folder.parent().unwrap_or(folder);
    path.strip_prefix(top).unwrap_or(path).display().to_string()
}
