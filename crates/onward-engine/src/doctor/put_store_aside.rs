//! The way out of a store that cannot be read: all of it goes aside, and a new one can be begun in its place.

use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use onward_store::{DATABASE_FILES, HEAD};

use super::code::DoctorCode;
use super::places::{children, shown};
use super::repair::Repair;
use super::repair_folder::RepairFolder;
use crate::Onward;
use crate::attendant::{self, AttemptFolder};
use crate::error::{Error, Result};
use crate::sys::file_lock::exclusive;

/// Only the database can explain these. Records of attempts go too, for a run that is begun now may be given the name of one that
/// is lost.
const EXPLAINED: [&str; 4] = ["attempts", "state", "artifacts", "blobs"];

impl Onward {
    /// Moves a damaged store into `.onward/damaged` and says where it is. Nothing is deleted, and nothing of it is read.
    ///
    /// Refused while a run is driven, or while anything that a run has started is at work: nobody would know of it any more.
    pub fn put_store_aside(&mut self) -> Result<String> {
        self.store = None;
        let (folder, now) = (self.project.store_folder(), Timestamp::now());
        let _alone = exclusive(&self.project.runtime().join("start.lock"))?;
        self.refuse_if_anything_is_driven()?;
        if let Some(path) = at_work(&folder) {
            return Err(Error::StillAtWork { path });
        }
        let aside = RepairFolder::new(&folder, now);
        // The head file goes last: as long as it is there, nobody takes what is left for an empty store.
        for name in EXPLAINED.into_iter().chain(DATABASE_FILES).chain([HEAD]) {
            let path = folder.join(name);
            if fs::symlink_metadata(&path).is_ok() {
                aside.take(&path)?;
            }
        }
        let what = "put aside as it was, because it could not be read and a new one was to be begun".to_owned();
        aside.made()?;
        aside.report(now, &[Repair::new(DoctorCode::PutAside, ".onward/onward.db", what)], &[], &[])?;
        Ok(aside.shown())
    }
}

/// The folder of an attempt that is still at work.
fn at_work(folder: &Path) -> Option<PathBuf> {
    let runs = children(&folder.join("attempts"));
    let mut attempts = runs.iter().flat_map(|run| children(run)).flat_map(|phase| children(&phase));
    let found = attempts.find(|path| attendant::is_at_work(&AttemptFolder::at(path.clone())).unwrap_or(true))?;
    Some(PathBuf::from(shown(folder, &found)))
}
