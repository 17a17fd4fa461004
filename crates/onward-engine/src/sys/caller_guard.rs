//! Whether this process was started by onward itself: what a person has to grant, no phase grants to itself.
//!
//! A variable is forgotten with `env -u`, so where a process comes from is asked of the kernel. An attendant and all that its
//! phase starts hold the lock of the attempt, and whoever drives or looks into a phase holds a lock of the run: such a process
//! among the ancestors of this one says that no person typed the command. Where that cannot be seen, or where an attempt is about
//! whose processes nobody watches over, it has to be shown that the caller is older (`attempts_at_large`, `docs/design/0042`).

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use onward_core::id::{PhaseId, RunId};

use super::attempts_at_large::{Caller, first_that_may_be_above};
use super::proc_tree::{AncestryEnd, ProcTree};
use crate::attendant::AttemptFolder;
use crate::project::Project;
use crate::sys::process::{Pid, TREE_VARIABLE};

/// Names of variables that everything which onward starts is given.
const RUN_VARIABLE: &str = "ONWARD_RUN";
const PHASE_VARIABLE: &str = "ONWARD_PHASE";
const OWN_VARIABLES: [&str; 2] = [RUN_VARIABLE, TREE_VARIABLE];

/// The variable that tells whose attempt it is: its value is a path in the store.
const PLACE_VARIABLE: &str = "ONWARD_OUTPUT";

/// How many open files of one process are looked at. The lock is among the first that a process has.
const DESCRIPTORS_MAX: usize = 4_096;

/// Why a command counts as one of a phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inside {
    /// Its own environment says so.
    Environment,
    /// It descends from this process, or is it, which belongs to an attempt or to a driver of the project.
    Process(u32),
    /// It has more ancestors than anybody would look at.
    TooDeep,
    /// Where it comes from cannot be seen: `/proc` is hidden, or is that of another namespace.
    Unseen,
    /// This attempt is at work elsewhere, or has lost its attendant, and nothing shows that the command does not come from it.
    AtLarge { attempt: String },
}

/// The phase that a command comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallingPhase {
    pub run: RunId,
    pub phase: PhaseId,
}

/// Whether this process was started by a phase, a check or anything else that onward does in the project; none if a person may
/// have started it.
pub fn inside(project: &Project) -> Option<Inside> {
    if OWN_VARIABLES.iter().any(|name| variable(name).is_some()) {
        return Some(Inside::Environment);
    }
    let store = store_of(project);
    let Some(tree) = ProcTree::open() else { return Some(Inside::Unseen) };
    let Some(own) = tree.own() else { return Some(Inside::Unseen) };
    let of = |pid: Pid| Inside::Process(pid.as_raw().unsigned_abs());
    // What this process itself has open of a run, it has opened itself.
    if attempt_of(&tree, own, &store, Above::No).is_some() {
        return Some(of(own));
    }
    let (chain, end) = tree.ancestry(own);
    let above = chain.iter().skip(1).map(|seen| seen.pid);
    if let Some(found) = above.into_iter().find(|pid| attempt_of(&tree, *pid, &store, Above::Yes).is_some()) {
        return Some(of(found));
    }
    match end {
        AncestryEnd::TooDeep => return Some(Inside::TooDeep),
        AncestryEnd::Unseen => return Some(Inside::Unseen),
        AncestryEnd::Top | AncestryEnd::AnotherUser if own != Pid::this() => return Some(Inside::Unseen),
        AncestryEnd::Top | AncestryEnd::AnotherUser => {}
    }
    let caller = Caller::new(&tree, own, &chain);
    first_that_may_be_above(&store, &caller).map(|attempt| Inside::AtLarge { attempt })
}

/// The phase of this project that this command comes from. The kernel is asked first: a variable says what somebody wrote into it.
pub fn calling_phase(project: &Project) -> Option<CallingPhase> {
    static FOUND: OnceLock<(PathBuf, Option<CallingPhase>)> = OnceLock::new();
    let store = store_of(project);
    let look = || {
        let by_the_kernel = ProcTree::open().and_then(|tree| {
            let (chain, _) = tree.ancestry(tree.own()?);
            chain.iter().find_map(|seen| match attempt_of(&tree, seen.pid, &store, Above::No)? {
                PartOf::Phase(phase) => Some(phase),
                PartOf::Work => None,
            })
        });
        by_the_kernel.or_else(|| {
            let (run, phase) = (variable(RUN_VARIABLE)?, variable(PHASE_VARIABLE)?);
            Some(CallingPhase { run: RunId::new(run), phase: PhaseId::new(phase) })
        })
    };
    let (of, found) = FOUND.get_or_init(|| (store.clone(), look()));
    if *of == store { found.clone() } else { look() }
}

fn store_of(project: &Project) -> PathBuf {
    let store = project.store_folder();
    store.canonicalize().unwrap_or(store)
}

fn variable(name: &str) -> Option<String> {
    std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()).filter(|value| !value.is_empty())
}

/// Whether a process is this one or stands above it: a driver above it says enough.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Above {
    Yes,
    No,
}

/// The work that a process is part of.
enum PartOf {
    Phase(CallingPhase),
    /// That of a driver, or of a phase that cannot be told.
    Work,
}

impl PartOf {
    /// That whose attempt a file in the store belongs to.
    fn at(inside: &Path) -> Self {
        let named = AttemptFolder::named_by(inside);
        named.map_or(Self::Work, |(run, phase)| Self::Phase(CallingPhase { run, phase }))
    }
}

/// Whether a process belongs to work in this store, and to which phase where that can be told: by a file that it has open, else by
/// the environment that it was started with. The files of somebody else cannot be seen, and somebody else is no phase.
fn attempt_of(tree: &ProcTree, pid: Pid, store: &Path, above: Above) -> Option<PartOf> {
    let store = store.as_os_str().as_bytes();
    let mut drives = false;
    for path in tree.open_files(pid, DESCRIPTORS_MAX) {
        // Bytes before parts: programs with a thousand open files stand above many a terminal.
        let inside = path.as_os_str().as_bytes().strip_prefix(store).and_then(|rest| rest.strip_prefix(b"/"));
        let Some(inside) = inside.map(|inside| Path::new(OsStr::from_bytes(inside))) else { continue };
        if inside.starts_with("attempts") && inside.file_name().is_some_and(|name| name == "lock") {
            return Some(PartOf::at(inside));
        }
        drives |= inside.starts_with("run");
    }
    if above == Above::Yes && drives {
        return Some(PartOf::Work);
    }
    let environment = tree.read(pid, "environ").ok()?;
    let mut variables = environment.split(|&byte| byte == 0);
    variables.find_map(|variable| {
        let value = variable.strip_prefix(PLACE_VARIABLE.as_bytes())?.strip_prefix(b"=")?;
        let inside = value.strip_prefix(store)?.strip_prefix(b"/")?;
        Some(PartOf::at(Path::new(OsStr::from_bytes(inside))))
    })
}
