//! Limits that other runs have hit: one small file for the project and one for the user, read before anything is started.
//!
//! A file is a hint among runs, never the truth about one: what a run makes of it is in its own journal. One that cannot
//! be read or written is as good as none.

use std::fs;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use onward_core::event::LimitHit;
use onward_core::input::{ClosedElsewhere, Input};
use onward_core::plan::Scope;
use onward_core::run::Run;
use onward_store::private;
use serde::{Deserialize, Serialize};

use crate::sys::file_lock::exclusive;

const FILE: &str = "limits.json";
const VERSION: u32 = 1;
/// Limits that are remembered at most; those that open first are forgotten first.
const ENTRIES_MAX: usize = 256;
/// No file of ours is larger; what is, is not read.
const BYTES_MAX: u64 = 256 << 10;

#[derive(Debug, Default, Serialize, Deserialize)]
struct StoredLimits {
    version: u32,
    closed: Vec<ClosedElsewhere>,
}

/// The two files, and how they looked when they were last read.
pub(crate) struct SharedLimits {
    project: LimitFolder,
    user: Option<LimitFolder>,
}

struct LimitFolder {
    folder: PathBuf,
    missing: MissingFolder,
    seen: Option<Stamp>,
}

/// The way of a folder that is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MissingFolder {
    Made,
    /// A store that is not there was moved or deleted, and does not begin anew in its old place.
    LeftAlone,
}

/// Two looks with the same stamp saw the same file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    changed: (i64, i64),
}

impl SharedLimits {
    pub(crate) fn new(store_folder: &Path) -> Self {
        let place = |folder, missing| LimitFolder { folder, missing, seen: None };
        let user = state_folder().map(|folder| place(folder, MissingFolder::Made));
        Self { project: place(store_folder.to_owned(), MissingFolder::LeftAlone), user }
    }

    /// Tells the others of a limit that this run has hit.
    pub(crate) fn publish(&self, run: &Run, hit: &LimitHit, now: Timestamp) {
        for name in hit.limits.iter().filter(|_| hit.phase.is_some() || hit.replan.is_some()) {
            let place = match run.plan().scope_of(name) {
                Scope::Run => continue,
                Scope::Project => Some(&self.project),
                Scope::User => self.user.as_ref(),
            };
            if let Some(place) = place {
                let closed = ClosedElsewhere { limit: name.clone(), until: hit.until, told: hit.told };
                // The run itself knows of it; that the others do not costs them a refusal of their own.
                let _ = place.add(closed, now);
            }
        }
    }

    /// Limits that others have hit since the last look, as far as this run draws on them.
    pub(crate) fn closed_by_others(&mut self, run: &Run, now: Timestamp) -> Vec<Input> {
        let project = self.project.changed().into_iter().map(|closed| (Scope::Project, closed));
        let user = self.user.as_mut().map(LimitFolder::changed).unwrap_or_default();
        let all = project.chain(user.into_iter().map(|closed| (Scope::User, closed)));
        all.filter(|(scope, closed)| closed.until > now && run.plan().scope_of(&closed.limit) == *scope)
            .map(|(_, closed)| Input::LimitElsewhere(closed))
            .collect()
    }
}

impl LimitFolder {
    fn changed(&mut self) -> Vec<ClosedElsewhere> {
        let Ok(facts) = fs::symlink_metadata(self.folder.join(FILE)) else { return Vec::new() };
        let stamp = Stamp { inode: facts.ino(), changed: (facts.mtime(), facts.mtime_nsec()) };
        if self.seen == Some(stamp) || !facts.is_file() {
            return Vec::new();
        }
        self.seen = Some(stamp);
        self.read().closed
    }

    fn read(&self) -> StoredLimits {
        let read = private::read(&self.folder.join(FILE), BYTES_MAX);
        let stored = read.ok().and_then(|text| serde_json::from_slice::<StoredLimits>(&text).ok());
        stored.filter(|stored| stored.version == VERSION).unwrap_or_default()
    }

    /// Whole or not at all, one writer after the other.
    fn add(&self, new: ClosedElsewhere, now: Timestamp) -> std::io::Result<()> {
        if self.missing == MissingFolder::Made {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        }
        let _alone = exclusive(&self.folder.join("limits.lock")).map_err(std::io::Error::other)?;
        let mut closed = self.read().closed;
        closed.retain(|known| known.until > now);
        let known = closed.iter().find(|known| known.limit == new.limit).map(|known| known.until);
        let until = if new.told { new.until } else { known.map_or(new.until, |known| known.max(new.until)) };
        closed.retain(|known| known.limit != new.limit);
        closed.push(ClosedElsewhere { until, ..new });
        closed.sort_by_key(|known| std::cmp::Reverse(known.until));
        closed.truncate(ENTRIES_MAX);
        let text = serde_json::to_vec(&StoredLimits { version: VERSION, closed }).map_err(std::io::Error::other)?;
        private::replace(&self.folder.join(FILE), &text)
    }
}

/// Where programs keep what is the user's and not a project's.
fn state_folder() -> Option<PathBuf> {
    let named = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/state"));
    named.or_else(home).filter(|path| path.is_absolute()).map(|path| path.join("onward"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use onward_core::checkpoint::Trigger;
    use onward_core::event::RunStarted;
    use onward_core::id::{PhaseId, RunId};
    use onward_core::{plan, run};

    use super::*;

    fn now() -> Timestamp {
        "2026-11-15T12:00:00Z".parse().expect("a time")
    }

    fn in_minutes(minutes: u64) -> Timestamp {
        now() + Duration::from_mins(minutes)
    }

    /// A run that draws on a limit of this scope.
    fn run_with(scope: &str) -> Run {
        let phases = "phases:\n  a: { limits: [api], run: x }\n";
        let text = format!("onward: 1\nname: demo\nlimits: {{ api: {{ scope: {scope} }} }}\n{phases}");
        let plan = plan::parse(&text).plan.expect("a plan");
        let started = RunStarted {
            plan_path: "onward.yaml".to_owned(),
            plan_text: text,
            triggers: Trigger::ALL.to_vec(),
            ..RunStarted::bare(RunId::new("run_demo_1"), "w", plan, "demo")
        };
        run::start(started, "ada", now()).0
    }

    fn hit(minutes: u64) -> LimitHit {
        let limits = ["api".to_owned()].into();
        LimitHit {
            phase: Some(PhaseId::new("a")),
            limits,
            until: in_minutes(minutes),
            told: true,
            said: String::new(),
            replan: None,
        }
    }

    fn places(top: &Path, project: &str) -> SharedLimits {
        let place = |name: &str| LimitFolder { folder: top.join(name), missing: MissingFolder::Made, seen: None };
        SharedLimits { project: place(project), user: Some(place("user")) }
    }

    /// A run hits a limit. Who hears of it is a matter of the scope, on both sides: nobody, the runs of the project, or all runs of
    /// the user.
    #[test]
    fn who_hears_of_a_hit() {
        for (told, heard, here, there) in [
            ("run", "run", 0, 0),
            ("run", "project", 0, 0),
            ("project", "project", 1, 0),
            ("project", "user", 0, 0),
            ("user", "user", 1, 1),
            ("user", "project", 0, 0),
        ] {
            let top = tempfile::tempdir().expect("a folder");
            places(top.path(), "one").publish(&run_with(told), &hit(5), now());
            let run = run_with(heard);
            let (mut one, mut two) = (places(top.path(), "one"), places(top.path(), "two"));
            let found = (one.closed_by_others(&run, now()).len(), two.closed_by_others(&run, now()).len());
            assert_eq!(found, (here, there), "told to {told}, heard as {heard}");
            assert!(one.closed_by_others(&run, now()).is_empty(), "nothing is new");
        }
    }

    /// An expired hit is not shared, and a hit learnt from others is not shared on.
    #[test]
    fn what_is_no_news() {
        let top = tempfile::tempdir().expect("a folder");
        let run = run_with("project");
        let shared = places(top.path(), "one");
        shared.publish(&run, &LimitHit { phase: None, ..hit(5) }, now());
        assert!(places(top.path(), "one").closed_by_others(&run, now()).is_empty(), "it was heard from somebody else");
        shared.publish(&run, &hit(5), now());
        assert!(places(top.path(), "one").closed_by_others(&run, in_minutes(5)).is_empty(), "it is over");
        assert_eq!(places(top.path(), "one").closed_by_others(&run, in_minutes(4)).len(), 1);
    }

    /// The file has each limit once: a time that was told counts, a guess only makes it longer. What is over goes, what is too much
    /// goes from its end, and a file of a later version says nothing.
    #[test]
    fn the_file_stays_small_and_true() {
        let top = tempfile::tempdir().expect("a folder");
        let place = LimitFolder { folder: top.path().join("one"), missing: MissingFolder::Made, seen: None };
        let add = |name: &str, minutes, told| {
            let closed = ClosedElsewhere { limit: name.to_owned(), until: in_minutes(minutes), told };
            place.add(closed, now()).expect("it can be written");
            place.read().closed
        };
        for (minutes, told, until) in [(10, false, 10), (5, false, 10), (20, false, 20), (5, true, 5)] {
            let all = add("api", minutes, told);
            assert_eq!((all.len(), all[0].until), (1, in_minutes(until)), "{minutes} min, told: {told}");
        }
        let later = ClosedElsewhere { limit: "other".to_owned(), until: in_minutes(99), told: true };
        place.add(later, in_minutes(6)).expect("it can be written");
        assert_eq!(place.read().closed.len(), 1, "the first one is over");
        for number in 0..ENTRIES_MAX {
            add(&format!("l{number}"), 50, true);
        }
        let all = place.read().closed;
        assert_eq!((all.len(), all[0].limit.as_str()), (ENTRIES_MAX, "other"), "what opens last stays");
        let text = fs::read_to_string(place.folder.join(FILE)).expect("the file");
        fs::write(place.folder.join(FILE), text.replace("\"version\":1", "\"version\":2")).expect("it can be written");
        assert!(place.read().closed.is_empty());
    }
}
