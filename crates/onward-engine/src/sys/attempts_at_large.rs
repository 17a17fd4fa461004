//! Attempts about whose processes nobody watches over, as far as a caller can see, and whether that caller may come from one.
//!
//! Where an attendant is at work, all that its attempt started stays below it, and is found among the ancestors of a caller. Without
//! one, or where the caller cannot see it, a process of the attempt may have left its ancestors behind. Then a caller counts as one
//! of the attempt unless something shows that it is not; what shows it is the list in [`Caller::is_not_of`].

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use onward_store::listing;
use serde::{Deserialize, Serialize};

use super::proc_tree::{ProcSeen, ProcTree};
use crate::attendant::{AttemptFolder, Started};
use crate::sys::process::{self, Pid};

/// The namespace of processes that the kernel begins with: all others lie in it, and every process can be seen.
const FIRST_PID_NAMESPACE: &str = "pid:[4026531836]";

/// The user that stands for all users of whom a namespace knows nothing.
const NOBODY_KNOWN: u32 = 65_534;

/// Programs that become the parent of processes which have lost theirs, besides the first process of a namespace.
const REAPERS: [&str; 9] =
    ["systemd", "init", "upstart", "tini", "dumb-init", "docker-init", "catatonit", "conmon", "containerd-shim"];

/// Where a process lives: what tells one container from another, and one unit of the machine's services from another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Surroundings {
    pub pid_namespace: String,
    pub cgroup_namespace: String,
    pub cgroup: String,
    /// Device and inode of the topmost folder.
    pub root: (u64, u64),
}

impl Surroundings {
    /// Those of this process; empty where they cannot be seen.
    pub(crate) fn here() -> Self {
        let link = |name: &str| {
            let link = fs::read_link(Path::new("/proc/self/ns").join(name));
            link.map(|link| link.to_string_lossy().into_owned()).unwrap_or_default()
        };
        Self {
            pid_namespace: link("pid"),
            cgroup_namespace: link("cgroup"),
            cgroup: fs::read_to_string("/proc/self/cgroup").unwrap_or_default(),
            root: fs::metadata("/").map(|about| (about.dev(), about.ino())).unwrap_or_default(),
        }
    }
}

/// The process that asks, with all that stands above it.
pub(super) struct Caller<'a> {
    chain: &'a [ProcSeen],
    session_leader: Option<ProcSeen>,
    surroundings: Surroundings,
    /// Whether start times here are those that others see.
    clock_is_shared: bool,
    user: u32,
}

impl<'a> Caller<'a> {
    pub(super) fn new(tree: &ProcTree, own: Pid, chain: &'a [ProcSeen]) -> Self {
        let session = chain.first().map_or(0, |own| own.session);
        let offsets = tree.read(own, "timens_offsets").unwrap_or_default();
        let offsets = String::from_utf8_lossy(&offsets).into_owned();
        let is_moved = |line: &str| line.starts_with("boottime") && line.split_whitespace().skip(1).any(|n| n != "0");
        Self {
            chain,
            session_leader: (session > 0).then(|| tree.see(Pid::from_raw(session)).ok()).flatten(),
            surroundings: Surroundings::here(),
            clock_is_shared: !offsets.lines().any(is_moved),
            user: nix::unistd::geteuid().as_raw(),
        }
    }

    /// Whether something shows that this process was not started by that attempt.
    fn is_not_of(&self, started: &Started) -> bool {
        let older = |seen: &ProcSeen| self.clock_is_shared && seen.start_time < started.start_time;
        let there = started.surroundings.as_deref().cloned().unwrap_or_default();
        let here = &self.surroundings;
        let same_processes = !here.pid_namespace.is_empty() && here.pid_namespace == there.pid_namespace;
        let top = self.chain.last();
        // Nobody joins a session: it is that of a terminal which was there before.
        self.session_leader.as_ref().is_some_and(&older)
            // Nobody gets a parent that is older than the attempt, but one that takes in what has lost its own.
            || self.chain.iter().any(|seen| older(seen) && !is_reaper(seen))
            // A login, cron, a server: nothing that a phase starts belongs to somebody else.
            || self.chain.iter().any(|seen| seen.user != self.user && seen.user != NOBODY_KNOWN && !is_reaper(seen))
            // It was put into the container from outside.
            || (same_processes && top.is_some_and(|top| top.parent == 0 && top.pid.as_raw() != 1))
            // The services of the machine have started it.
            || (same_processes
                && here.cgroup_namespace == there.cgroup_namespace
                && !here.cgroup.is_empty()
                && here.cgroup != there.cgroup)
    }

    /// Whether it lives in a container of its own, which the attempt did not make out of its own files.
    fn is_in_another_container(&self, started: &Started) -> bool {
        let Some(there) = &started.surroundings else { return false };
        let here = &self.surroundings;
        here.pid_namespace != there.pid_namespace && here.root != there.root
    }

    fn sees_every_process(&self) -> bool {
        self.surroundings.pid_namespace == FIRST_PID_NAMESPACE
    }
}

fn is_reaper(seen: &ProcSeen) -> bool {
    // Names are cut short by the kernel.
    seen.pid.as_raw() == 1 || REAPERS.iter().any(|name| seen.name == name[..name.len().min(15)])
}

/// The first attempt of the store that the caller may come from, by its place in the store.
pub(super) fn first_that_may_be_above(store: &Path, caller: &Caller<'_>) -> Option<String> {
    let Ok(boot) = process::boot_id() else { return None };
    let found = at_large(store).into_iter().find(|(folder, started)| {
        if started.boot_id != boot {
            return false;
        }
        let attendant = started.member();
        // Nothing that it started gets out from below it, and it is not above us.
        if process::alive(attendant.pid, attendant.start_time) {
            return false;
        }
        let somebody_lives = folder.is_locked().unwrap_or(true);
        if somebody_lives && caller.sees_every_process() && started.lives_elsewhere() {
            return false;
        }
        let elsewhere = !somebody_lives && caller.is_in_another_container(started);
        !elsewhere && !caller.is_not_of(started)
    });
    found.map(|(folder, _)| folder.path().strip_prefix(store).unwrap_or(folder.path()).display().to_string())
}

impl Started {
    /// Whether it was started in a namespace below the first one, where its numbers mean nothing to others.
    fn lives_elsewhere(&self) -> bool {
        self.surroundings.as_ref().is_some_and(|there| there.pid_namespace != FIRST_PID_NAMESPACE)
    }
}

/// Attempts that began and have no outcome on record.
fn at_large(store: &Path) -> Vec<(AttemptFolder, Started)> {
    let below = |folder: PathBuf| {
        let entries = listing::readable(folder).into_iter();
        entries.map(|entry| entry.path()).filter(|path| path.is_dir())
    };
    let attempts = below(store.join("attempts")).flat_map(below).flat_map(below);
    let open = attempts.map(AttemptFolder::at).filter(AttemptFolder::is_without_outcome);
    open.filter_map(|folder| Some((folder.clone(), folder.started().ok().flatten()?))).collect()
}
