//! Files of other tools that lie in the project, and mirrors: each is read, and what is wrong with it is named. None is an error of
//! the store.

use std::fs;
use std::path::{Path, PathBuf};

use onward_core::formats::{self, BadFile};
use onward_store::listing;

use super::code::DoctorCode;
use super::findings::FindingsSoFar;
use crate::Onward;
use crate::commands::import::bytes_of;
use crate::mirror;

/// Files that are read.
const FILES_MAX: usize = 1_000;

pub(super) fn examine(onward: &Onward, found: &mut FindingsSoFar) {
    let top = &onward.project.top;
    let mut files: Vec<PathBuf> = Vec::new();
    for place in onward.project.records_of_others() {
        let path = top.join(place);
        if path.is_dir() { files.extend(inside(&path)) } else { files.push(path) }
    }
    files.sort_unstable();
    for path in files.into_iter().take(FILES_MAX) {
        let shown = onward.project.relative(&path);
        match read(&path) {
            Ok(()) => {}
            Err(BadFile::Newer(version)) => {
                let message = format!("its version is {version}, which is newer than this program knows");
                found.warning(
                    DoctorCode::ForeignFile,
                    shown,
                    message,
                    "it is left alone; look at it with  onward show PATH",
                );
            }
            Err(BadFile::Damaged(why)) => {
                let help = "repair it by hand, or leave it: it is never overwritten; look at it with  onward show PATH";
                found.warning(DoctorCode::ForeignFile, shown, why, help);
            }
        }
    }
    for (path, _) in mirror::edited(&onward.project) {
        let message = "somebody has changed this mirror; the journal is the truth, and it is not read back".to_owned();
        let help = "the next write puts what is there now aside, in .onward/mirrors/kept";
        found.warning(DoctorCode::MirrorEdited, path, message, help);
    }
}

fn inside(folder: &Path) -> Vec<PathBuf> {
    let entries = listing::readable(folder).into_iter().map(|entry| entry.path());
    let is_read = |path: &PathBuf| {
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        matches!(ending, "json" | "yaml" | "yml") && fs::symlink_metadata(path).is_ok_and(|about| about.is_file())
    };
    entries.filter(is_read).take(FILES_MAX).collect()
}

fn read(path: &Path) -> Result<(), BadFile> {
    let document = formats::document(&bytes_of(path)?)?;
    if formats::is_index(&document) {
        return Ok(());
    }
    formats::read(document, "", jiff::Timestamp::now()).map(drop)
}
