//! The turn in a group of runs: a file of the store, locked as long as a run of the group is driven. The lock goes with its
//! holder, however that ends. The file says which run it is, so that others can name it, and so that phases that outlived the driver
//! of that run keep their place.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use onward_core::id::{Attempt, PhaseId, RunId};
use onward_core::input::GroupSeen;
use onward_store::lock::{Hold, try_lock};
use onward_store::{listing, private};

use crate::attendant::{AttemptFolder, is_at_work};
use crate::error::{Error, Result};
use crate::project::Project;

/// The folder of the store for groups.
const FOLDER: &str = "groups";
/// Letters of a name's hash that make the name of a file.
const NAME_CHARS: usize = 32;
/// No run has a longer id.
const ID_BYTES_MAX: u64 = 4096;

/// The place of one run in its group.
#[derive(Debug)]
pub(crate) struct GroupPlace {
    pub(crate) name: String,
    path: PathBuf,
    /// Locked: it is this run's turn. The lock ends with the file.
    held: Option<File>,
}

impl GroupPlace {
    pub(crate) fn new(project: &Project, name: String) -> Self {
        let hash = blake3::hash(name.as_bytes()).to_hex();
        let path = project.store_folder().join(FOLDER).join(format!("{}.lock", &hash[..NAME_CHARS]));
        Self { name, path, held: None }
    }

    /// Takes the turn if it is free. A run that is still to be made has no id.
    pub(crate) fn try_enter(&mut self, project: &Project, me: Option<&RunId>) -> Result<GroupSeen> {
        if self.held.is_some() {
            return Ok(GroupSeen::Entered);
        }
        let failed = |why| Error::NoRoom { what: format!("{} cannot be locked: {why}", self.path.display()) };
        let store = project.store_folder();
        private::make_folders(&store, &store.join(FOLDER)).map_err(failed)?;
        let mut file = private::open_or_create(&self.path).map_err(failed)?;
        let locked = try_lock(&file, Hold::Alone).map_err(failed)?;
        let last = said(&mut file);
        if !locked {
            return Ok(GroupSeen::Busy { by: last });
        }
        let other = last.filter(|last| me != Some(last));
        if let Some(run) = other.filter(|run| has_phases_at_work(&store, run)) {
            return Ok(GroupSeen::Busy { by: Some(run) });
        }
        self.held = Some(file);
        Ok(GroupSeen::Entered)
    }

    /// Says who has the turn.
    pub(crate) fn is_of(&mut self, run: &RunId) -> Result<()> {
        let Some(file) = &mut self.held else { return Ok(()) };
        let said = file.set_len(0).and_then(|()| file.seek(SeekFrom::Start(0)));
        let said = said.and_then(|_| file.write_all(run.as_str().as_bytes()));
        said.map_err(|why| Error::NoRoom { what: format!("{} cannot be written: {why}", self.path.display()) })
    }

    /// Asks once more for the turn of a run that waits. Where that fails, the run goes on waiting.
    pub(crate) fn ask_again(&mut self, project: &Project, me: &RunId) -> GroupSeen {
        let seen = self.try_enter(project, Some(me)).unwrap_or(GroupSeen::Busy { by: None });
        if seen == GroupSeen::Entered {
            // Others wait in any case; without it they cannot say for whom.
            drop(self.is_of(me));
            tracing::info!(group = self.name, "it is the turn of the run");
        }
        seen
    }
}

fn said(file: &mut File) -> Option<RunId> {
    let mut text = String::new();
    file.seek(SeekFrom::Start(0)).ok()?;
    file.take(ID_BYTES_MAX).read_to_string(&mut text).ok()?;
    (!text.trim().is_empty()).then(|| RunId::new(text.trim()))
}

/// Whether something that a run started is at work, though nobody drives it. What cannot be looked at counts as gone: a run that is
/// gone on with looks closer.
fn has_phases_at_work(store: &Path, run: &RunId) -> bool {
    let any = AttemptFolder::new(store, run, &PhaseId::new("x"), Attempt(1));
    let Some(run_folder) = any.path().ancestors().nth(2) else { return false };
    let below = |folder: &Path| listing::readable(folder).into_iter().map(|entry| entry.path());
    let mut attempts = below(run_folder).flat_map(|phase| below(&phase).collect::<Vec<_>>());
    attempts.any(|path| is_at_work(&AttemptFolder::at(path)).unwrap_or(false))
}
