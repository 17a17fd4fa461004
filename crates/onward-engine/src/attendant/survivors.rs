//! Processes of attempts whose store is gone: the tag names a folder that is not there any more, the path that they were given does.

use std::io;
use std::path::{Path, PathBuf};

use nix::sys::signal::Signal;

use super::find::end_by_force;
use super::folder::AttemptFolder;
use super::spawn::ARGUMENT;
use crate::sys::process::{self, AttemptMark, Member, Pid};

/// The variable of every attempt with the path of a file in its folder.
const PLACE_VARIABLE: &str = "ONWARD_OUTPUT";

/// A living process of an attempt, known by the path that it was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Survivor {
    pub(crate) pid: Pid,
    pub(crate) run: String,
    pub(crate) phase: String,
}

impl Survivor {
    /// Ends the attempt that it belongs to, with all that carries its tag.
    pub(crate) fn end(&self, all: &[Self]) -> io::Result<()> {
        let Some(tag) = process::last_tag(self.pid)? else {
            // It shed the tag and kept the path: it is known by that alone.
            return process::start_time(self.pid)
                .and_then(|start_time| process::signal(self.pid, start_time, Signal::SIGKILL))
                .map(drop);
        };
        let same = |one: &&Self| (&one.run, &one.phase) == (&self.run, &self.phase);
        let attendant = all.iter().filter(same).map(|one| one.pid).find(|pid| is_attendant(*pid));
        let attendant = attendant.and_then(|pid| Some(Member { pid, start_time: process::start_time(pid).ok()? }));
        end_by_force(&AttemptMark::tagged(&tag), attendant).map(drop)
    }
}

fn is_attendant(pid: Pid) -> bool {
    process::command_line(pid).get(1).is_some_and(|word| word == ARGUMENT.as_bytes())
}

/// The living processes of all attempts below a path of a store, whether the store is the one that they were started from or not.
pub(crate) fn survivors(store: &Path) -> io::Result<Vec<Survivor>> {
    let attempts = resolved(store).join("attempts");
    let given = process::given_paths(PLACE_VARIABLE)?.into_iter();
    let survivor = |(pid, path): (Pid, PathBuf)| {
        let mut names = path.strip_prefix(&attempts).ok()?.iter().map(|name| name.to_string_lossy().into_owned());
        Some(Survivor { pid, run: names.next()?, phase: names.next()? })
    };
    Ok(given.filter_map(survivor).collect())
}

/// Whether a process lives that was given the path of this very attempt.
pub(super) fn was_given_to_somebody(folder: &AttemptFolder) -> io::Result<bool> {
    let path = folder.result_path();
    Ok(process::given_paths(PLACE_VARIABLE)?.iter().any(|(_, given)| *given == path))
}

/// The store may be gone; the folder that it was in is there.
fn resolved(store: &Path) -> PathBuf {
    let around = store.parent().and_then(|around| around.canonicalize().ok());
    around.zip(store.file_name()).map_or_else(|| store.to_owned(), |(around, name)| around.join(name))
}
