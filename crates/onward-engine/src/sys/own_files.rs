//! This process as Linux shows it to itself: its program and its open files.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::PathBuf;

/// This very program, also when its file was replaced meanwhile.
pub(crate) const THIS_PROGRAM: &str = "/proc/self/exe";

/// The path by which an open file can be opened once more.
pub(crate) fn path_of_descriptor(fd: i32) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{fd}"))
}

/// Where an open file or folder is now, wherever it was moved to.
pub(crate) fn place_of(open: &File) -> Option<PathBuf> {
    fs::read_link(path_of_descriptor(open.as_raw_fd())).ok()
}
