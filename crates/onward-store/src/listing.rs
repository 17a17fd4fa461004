//! The entries of a folder. The standard iterator gives the same error again and again where a disk fails in the middle of a folder:
//! whoever skips errors never comes to an end. These end at the first one.

use std::fs::{self, DirEntry};
use std::io;
use std::path::Path;

/// All of them, or why they cannot be read.
pub fn all(folder: impl AsRef<Path>) -> io::Result<Vec<DirEntry>> {
    fs::read_dir(folder)?.collect()
}

/// Those that can be read: none where the folder is not there, and none behind the first error.
pub fn readable(folder: impl AsRef<Path>) -> Vec<DirEntry> {
    fs::read_dir(folder).into_iter().flatten().map_while(Result::ok).collect()
}
