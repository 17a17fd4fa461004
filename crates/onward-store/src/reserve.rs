//! The reserve: a file of zeros that is given back to a full disk, so that the last record still finds room.

use std::{fs, path::PathBuf};

use nix::fcntl::posix_fallocate;

use crate::folder::{Folder, bytes_of, create_file};

const RESERVE_BYTES: i64 = 256 * 1024;

impl Folder {
    pub(crate) fn reserve(&self) -> PathBuf {
        self.root().join("reserve")
    }

    pub(crate) fn has_reserve(&self) -> bool {
        i64::try_from(bytes_of(&self.reserve())).is_ok_and(|bytes| bytes >= RESERVE_BYTES)
    }

    /// Gives the kept bytes back to the disk; `false` if there were none.
    pub(crate) fn free_reserve(&self) -> bool {
        fs::remove_file(self.reserve()).is_ok()
    }

    /// Without room for the reserve the store works on; `health` tells.
    pub(crate) fn keep_reserve(&self) {
        if self.has_reserve() {
            return;
        }
        // What a full disk left of an earlier try is in the way.
        self.free_reserve();
        let path = self.reserve();
        let kept = create_file(&path).and_then(|file| Ok(posix_fallocate(&file, 0, RESERVE_BYTES)?));
        if kept.is_err() {
            self.free_reserve();
        }
    }
}
