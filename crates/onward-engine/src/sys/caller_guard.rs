//! Whether this process was started by onward itself: what a person has to grant, no phase grants to itself.
//!
//! A variable is forgotten with `env -u`, so where a process comes from is asked of the kernel. An attendant and all that its
//! phase starts hold the lock of the attempt, and whoever drives or looks into a phase holds a lock of the run: such a process
//! among the ancestors of this one says that no person typed the command. What has left its ancestors behind, closed what it
//! inherited and emptied its environment is not recognised.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::project::Project;
use crate::sys::process::{self, ANCESTORS_MAX, Pid, TREE_VARIABLE};

/// Names of variables that everything which onward starts is given.
const OWN_VARIABLES: [&str; 2] = ["ONWARD_RUN", TREE_VARIABLE];

/// The variable that tells whose attempt it is: its value is a path in the store.
const PLACE_VARIABLE: &str = "ONWARD_OUTPUT";

/// How many open files of one process are looked at. The lock is among the first that a process has.
const DESCRIPTORS_MAX: usize = 4_096;

/// Why a command counts as one of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inside {
    /// Its own environment says so.
    Environment,
    /// It descends from this process, or is it, which belongs to an attempt or to a driver of the project.
    Process(u32),
    /// It has more ancestors than anybody would look at.
    TooDeep,
}

/// Whether this process was started by a phase, a check or anything else that onward does in the project; none if a person may
/// have started it.
pub fn inside(project: &Project) -> Option<Inside> {
    if OWN_VARIABLES.iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty())) {
        return Some(Inside::Environment);
    }
    let store = project.store_folder();
    let store = store.canonicalize().unwrap_or(store);
    let of = |pid: Pid| Inside::Process(pid.as_raw().unsigned_abs());
    let own = Pid::this();
    // What this process itself has open of a run, it has opened itself.
    if holds(own, &store, is_lock_of_an_attempt) {
        return Some(of(own));
    }
    let ancestors = process::ancestors(own);
    let too_deep = ancestors.len() == ANCESTORS_MAX;
    let found = ancestors.into_iter().find(|pid| {
        holds(*pid, &store, |path| is_lock_of_an_attempt(path) || path.starts_with("run"))
            || was_started_for(*pid, &store)
    });
    found.map(of).or(too_deep.then_some(Inside::TooDeep))
}

fn is_lock_of_an_attempt(path: &Path) -> bool {
    path.starts_with("attempts") && path.file_name().is_some_and(|name| name == "lock")
}

/// Whether the process has a file of the store open that is meant, by its path in the store. The files of somebody else cannot
/// be seen, and somebody else is no phase.
fn holds(pid: Pid, store: &Path, is_meant: impl Fn(&Path) -> bool) -> bool {
    let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten().take(DESCRIPTORS_MAX);
    let store = store.as_os_str().as_bytes();
    open.into_iter().any(|entry| {
        let Ok(path) = fs::read_link(entry.path()) else { return false };
        // Bytes before parts: programs with a thousand open files stand above many a terminal.
        let inside = path.as_os_str().as_bytes().strip_prefix(store).and_then(|rest| rest.strip_prefix(b"/"));
        inside.is_some_and(|inside| is_meant(Path::new(OsStr::from_bytes(inside))))
    })
}

/// Whether the process began as part of an attempt of this store, whatever it has closed since.
fn was_started_for(pid: Pid, store: &Path) -> bool {
    let Ok(environment) = fs::read(format!("/proc/{pid}/environ")) else { return false };
    let mut variables = environment.split(|&byte| byte == 0);
    variables.any(|variable| {
        let value = variable.strip_prefix(PLACE_VARIABLE.as_bytes()).and_then(|rest| rest.strip_prefix(b"="));
        value.is_some_and(|path| Path::new(OsStr::from_bytes(path)).starts_with(store))
    })
}
