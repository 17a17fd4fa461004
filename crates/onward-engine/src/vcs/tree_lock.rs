//! Several runs in one working tree: drivers share it, and whoever brings files back has it alone.
//!
//! The lock lies in git's own folder of the working tree, so it is one for all projects inside that tree, and another one for
//! every other working tree of the repository. The kernel drops it when its holder is gone, however that came about.

use std::fmt;
use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use onward_core::id::{PhaseId, RunId};
use onward_core::mutant::{self, Defect};
use onward_core::run::{PhaseState, PhaseStatus, Run, RunStatus};
use onward_core::view::DriverView;
use onward_store::RunFilter;
use onward_store::lock::{Hold, try_lock};

use crate::Onward;
use crate::drive::running_attempt;
use crate::error::{Error, Result};
use crate::executor::shell;
use crate::start::meant_work::unfinished_statuses;
use crate::sys::file_lock::LOCK_LOOK_EVERY;
use crate::sys::stop;
use crate::vcs::working_tree::WorkingTree;

/// How long a start waits for somebody who is bringing files back.
const SHARE_WAIT_MAX: Duration = Duration::from_secs(10);

/// Somebody who works in a tree, so that nobody else may bring its files back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TreeUser {
    Driven {
        run: RunId,
        driver: DriverView,
    },
    /// A phase that has outlived its driver, or that somebody else does and reports on.
    Phase {
        run: RunId,
        phase: PhaseId,
    },
    /// A process of another project inside the same tree, or one that is just starting.
    Somebody,
}

impl TreeUser {
    pub fn run(&self) -> Option<&RunId> {
        match self {
            Self::Driven { run, .. } | Self::Phase { run, .. } => Some(run),
            Self::Somebody => None,
        }
    }
}

impl fmt::Display for TreeUser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Driven { run, driver } => write!(
                f,
                "run {run} works in the same tree, driven by process {} on {} since {}",
                driver.pid, driver.host, driver.since
            ),
            Self::Phase { run, phase } => write!(f, "phase {phase} of run {run} is at work in the same tree"),
            Self::Somebody => f.write_str("another onward process works in the same tree"),
        }
    }
}

/// A working tree that is held until this is dropped.
#[derive(Debug)]
pub(crate) struct TreeLock {
    file: File,
    path: PathBuf,
}

impl TreeLock {
    fn open(path: PathBuf) -> Result<Self> {
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false).mode(0o600).custom_flags(libc::O_NOFOLLOW);
        let file = options.open(&path).map_err(cannot_lock(&path))?;
        Ok(Self { file, path })
    }

    /// Holds the tree for a driver. Whoever is bringing files back there is waited for.
    pub(crate) fn share(path: PathBuf) -> Result<Self> {
        let lock = Self::open(path)?;
        let begun = Instant::now();
        while !lock.set(Hold::Shared)? {
            if begun.elapsed() > SHARE_WAIT_MAX {
                let what = "files of this working tree are being brought back by another onward process".to_owned();
                return Err(Error::NoRoom { what });
            }
            stop::demand_none()?;
            std::thread::sleep(LOCK_LOOK_EVERY);
        }
        Ok(lock)
    }

    /// Holds the tree with nobody else at work in it; none where somebody is.
    fn alone(path: PathBuf) -> Result<Option<Self>> {
        let lock = Self::open(path)?;
        Ok(lock.set(Hold::Alone)?.then_some(lock))
    }

    /// Keeps everybody else out while something is done; none where somebody is there already.
    pub(crate) fn while_alone<T>(&self, work: impl FnOnce() -> T) -> Result<Option<T>> {
        if !self.set(Hold::Alone)? {
            return Ok(None);
        }
        let done = work();
        self.set(Hold::Shared)?;
        Ok(Some(done))
    }

    /// Takes the lock, or turns it into the other kind; `false` where others forbid it, and then it is as it was.
    fn set(&self, hold: Hold) -> Result<bool> {
        try_lock(&self.file, hold).map_err(cannot_lock(&self.path))
    }
}

fn cannot_lock(path: &std::path::Path) -> impl FnOnce(std::io::Error) -> Error {
    move |why| Error::NoRoom { what: format!("{} cannot be locked: {why}", path.display()) }
}

impl Onward {
    /// Holds the working tree of a run alone, or says who works there. None outside of git, where no files are brought back.
    pub(crate) fn hold_tree_alone(&mut self, run: &Run) -> Result<Option<TreeLock>> {
        let tree = WorkingTree::of(&self.project, run.started.worktree.as_deref());
        let Some(path) = tree.lock_path() else { return Ok(None) };
        let in_use = |by: TreeUser| Error::TreeInUse { run: run.id.clone(), by };
        let lock = TreeLock::alone(path)?;
        // First the others of this store, who have names.
        if let Some(by) = self.at_work_beside(run)? {
            return Err(in_use(by));
        }
        lock.map(Some).ok_or_else(|| in_use(TreeUser::Somebody))
    }

    /// Refuses if anybody else works in the tree of a run.
    pub(crate) fn demand_tree_alone(&mut self, run: &Run) -> Result<()> {
        match self.at_work_beside(run)? {
            Some(by) => Err(Error::TreeInUse { run: run.id.clone(), by }),
            None => Ok(()),
        }
    }

    /// Refuses to start phases beside one of another run of the same work in the same tree that outlived its driver: they write the
    /// same files, and it may be the very same phase.
    pub(crate) fn demand_no_orphan_beside(&mut self, me: &Run) -> Result<()> {
        let work = Some(me.started.work.clone());
        let rows = self.rows(&RunFilter { work, statuses: Some(unfinished_statuses()), run_prefix: None })?;
        for row in rows.into_iter().filter(|row| row.run != me.id) {
            if self.driver(&row.run)?.is_some() {
                continue;
            }
            let other = self.load(&row.run).ok().filter(|other| other.started.worktree == me.started.worktree);
            let Some(other) = other else { continue };
            let lives = |state: &PhaseState, phase: &PhaseId| {
                state.attempt.as_ref().is_some_and(|attempt| {
                    let folder = shell::folder(&self.project, &other, phase, attempt.number);
                    running_attempt::is_at_work(&folder, &attempt.boot)
                })
            };
            if let Some((phase, _)) = other.running().find(|(phase, state)| lives(state, &phase.id)) {
                return Err(Error::PhaseLives { run: row.run, phase: phase.id.clone() });
            }
        }
        Ok(())
    }

    /// Another run of the same working tree that has a driver or a phase at work.
    pub(crate) fn at_work_beside(&mut self, me: &Run) -> Result<Option<TreeUser>> {
        if mutant::has(Defect::IgnoreTheNeighbours) {
            return Ok(None);
        }
        let over = RunStatus::Completed.as_str();
        for row in self.rows(&RunFilter::default())?.into_iter().filter(|row| row.run != me.id && row.status != over) {
            let driver = self.driver(&row.run)?;
            // One that cannot be read is nobody's neighbour unless it is driven.
            let other = self.load(&row.run).ok();
            let elsewhere = |other: &Run| other.started.worktree != me.started.worktree || other.phases_total() == 0;
            if other.as_ref().is_some_and(elsewhere) {
                continue;
            }
            if let Some(driver) = driver {
                return Ok(Some(TreeUser::Driven { run: row.run, driver }));
            }
            if let Some(phase) = other.and_then(|other| self.phase_at_work(&other)) {
                return Ok(Some(TreeUser::Phase { run: row.run, phase }));
            }
        }
        Ok(None)
    }

    /// A phase of a run that nobody drives and that is at work all the same.
    fn phase_at_work(&self, run: &Run) -> Option<PhaseId> {
        let at_work = run.phases().find(|(phase, state)| match &state.attempt {
            Some(attempt) => {
                let folder = shell::folder(&self.project, run, &phase.id, attempt.number);
                running_attempt::is_at_work(&folder, &attempt.boot)
            }
            // Somebody else does it, and has said so.
            None => state.status == PhaseStatus::Running && phase.children.is_none(),
        });
        at_work.map(|(phase, _)| phase.id.clone())
    }
}
