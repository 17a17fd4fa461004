//! Limits that other runs have hit: one small file for the project and one for the user, read before anything is started.
//!
//! A file is a hint among runs, never the truth about one: what a run makes of it is in its own journal. One that cannot
//! be read or written is as good as none.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use onward_core::event::LimitHit;
use onward_core::input::{Elsewhere, Input};
use onward_core::plan::Scope;
use onward_core::run::Run;
use serde::{Deserialize, Serialize};

use crate::turns::exclusive;

const FILE: &str = "limits.json";
const VERSION: u32 = 1;
/// Limits that are remembered at most; those that open first are forgotten first.
const ENTRIES_MAX: usize = 256;
/// No file of ours is larger; what is, is not read.
const BYTES_MAX: u64 = 256 << 10;

#[derive(Debug, Default, Serialize, Deserialize)]
struct Stored {
    version: u32,
    closed: Vec<Elsewhere>,
}

/// The two files, and how they looked when they were last read.
pub(crate) struct SharedLimits {
    project: Place,
    user: Option<Place>,
}

struct Place {
    folder: PathBuf,
    seen: Option<Stamp>,
}

/// Two looks with the same stamp saw the same file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    changed: (i64, i64),
}

impl SharedLimits {
    pub(crate) fn new(store_folder: &Path) -> Self {
        let place = |folder| Place { folder, seen: None };
        Self { project: place(store_folder.to_owned()), user: state_folder().map(place) }
    }

    /// Tells the others of a limit that this run has hit.
    pub(crate) fn publish(&self, run: &Run, hit: &LimitHit, now: Timestamp) {
        for name in hit.limits.iter().filter(|_| hit.phase.is_some()) {
            let place = match run.plan().scope_of(name) {
                Scope::Run => continue,
                Scope::Project => Some(&self.project),
                Scope::User => self.user.as_ref(),
            };
            if let Some(place) = place {
                let closed = Elsewhere { limit: name.clone(), until: hit.until, told: hit.told };
                // The run itself knows of it; that the others do not costs them a refusal of their own.
                let _ = place.add(closed, now);
            }
        }
    }

    /// What others have hit since the last look, as far as this run draws on it.
    pub(crate) fn look(&mut self, run: &Run, now: Timestamp) -> Vec<Input> {
        let project = self.project.changed().into_iter().map(|closed| (Scope::Project, closed));
        let user = self.user.as_mut().map(Place::changed).unwrap_or_default();
        let all = project.chain(user.into_iter().map(|closed| (Scope::User, closed)));
        all.filter(|(scope, closed)| closed.until > now && run.plan().scope_of(&closed.limit) == *scope)
            .map(|(_, closed)| Input::LimitElsewhere(closed))
            .collect()
    }
}

impl Place {
    fn changed(&mut self) -> Vec<Elsewhere> {
        let Ok(facts) = fs::symlink_metadata(self.folder.join(FILE)) else { return Vec::new() };
        let stamp = Stamp { inode: facts.ino(), changed: (facts.mtime(), facts.mtime_nsec()) };
        if self.seen == Some(stamp) || !facts.is_file() {
            return Vec::new();
        }
        self.seen = Some(stamp);
        self.read().closed
    }

    fn read(&self) -> Stored {
        let path = self.folder.join(FILE);
        let opened = File::options().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC).open(path);
        let mut text = String::new();
        let read = opened.and_then(|file| file.take(BYTES_MAX).read_to_string(&mut text));
        let stored = read.ok().and_then(|_| serde_json::from_str::<Stored>(&text).ok());
        stored.filter(|stored| stored.version == VERSION).unwrap_or_default()
    }

    /// Whole or not at all, one writer after the other.
    fn add(&self, new: Elsewhere, now: Timestamp) -> std::io::Result<()> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let _alone = exclusive(&self.folder.join("limits.lock")).map_err(std::io::Error::other)?;
        let mut closed = self.read().closed;
        closed.retain(|known| known.until > now);
        let known = closed.iter().find(|known| known.limit == new.limit).map(|known| known.until);
        let until = if new.told { new.until } else { known.map_or(new.until, |known| known.max(new.until)) };
        closed.retain(|known| known.limit != new.limit);
        closed.push(Elsewhere { until, ..new });
        closed.sort_by_key(|known| std::cmp::Reverse(known.until));
        closed.truncate(ENTRIES_MAX);
        let text = serde_json::to_vec(&Stored { version: VERSION, closed }).map_err(std::io::Error::other)?;
        let beside = self.folder.join(format!("{FILE}.{}", std::process::id()));
        let flags = libc::O_NOFOLLOW | libc::O_CLOEXEC;
        let mut file =
            File::options().write(true).create(true).truncate(true).mode(0o600).custom_flags(flags).open(&beside)?;
        file.write_all(&text)?;
        fs::rename(&beside, self.folder.join(FILE))
    }
}

/// Where programs keep what is the user's and not a project's.
fn state_folder() -> Option<PathBuf> {
    let named = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/state"));
    named.or_else(home).filter(|path| path.is_absolute()).map(|path| path.join("onward"))
}
