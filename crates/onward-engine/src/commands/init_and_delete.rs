//! Making a project, and taking things away from it.

use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use onward_core::config;
use onward_core::id::{PhaseId, RunId};
use onward_core::plan::Phase;
use onward_core::run::{PhaseState, Run, worktrees};
use onward_core::view;
use onward_store::listing;
use onward_store::{PruneList, RunFilter, StoreError};

use crate::Onward;
use crate::attendant;
use crate::background;
use crate::error::{Error, Result};
use crate::executor::shell;
use crate::kill_point::reached;
use crate::vcs::own_worktree::is_private;
use crate::vcs::working_tree::WorkingTree;

/// The result of `init`.
#[derive(Debug, Default)]
pub struct InitReport {
    pub created: Vec<PathBuf>,
    /// Files that existed and were left as they are.
    pub kept: Vec<PathBuf>,
    /// The project is in a git repository, and its configuration asks for no commits along the way.
    pub commits_are_off: bool,
    /// There is no git repository, so that checkpoints hold no files.
    pub snapshots_are_off: bool,
    /// A plan is there that `run` takes where none is named.
    pub has_a_plan: bool,
}

/// Whether `init` writes a first plan too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstPlan {
    No,
    Yes,
}

impl Onward {
    /// Makes the store and a commented configuration; never overwrites anything.
    pub fn init(from: &Path, plan: FirstPlan) -> Result<InitReport> {
        let mut onward = Self::work_or_new(from)?;
        let mut report = InitReport::default();
        let folder = onward.project.store_folder();
        let there = folder.is_dir();
        onward.store()?;
        if there {
            report.kept.push(folder.clone());
        } else {
            report.created.push(folder.clone());
        }
        write_new(&folder.join("config.yaml"), config::DEFAULT_FILE, 0o600, &mut report)?;
        let in_git = WorkingTree::of(&onward.project, None).is_kept();
        report.commits_are_off = in_git && onward.config.commit_rule(None).is_none();
        report.snapshots_are_off = !in_git;
        let first = onward.project.top.join("onward.yaml");
        if plan == FirstPlan::Yes {
            write_new(&first, FIRST_PLAN, 0o644, &mut report)?;
        }
        report.has_a_plan = first.is_file();
        Ok(report)
    }

    /// Deletes a run for good. Its whole id must be given: a prefix is not enough to destroy something.
    pub fn delete(&mut self, whole_id: &str) -> Result<()> {
        let run = RunId::new(whole_id);
        if !self.rows(&RunFilter::default())?.iter().any(|row| row.run == run) {
            return Err(Error::NoSuchRun(whole_id.to_owned()));
        }
        if let Some(driver) = self.driver(&run)? {
            return Err(Error::Driven { run, driver });
        }
        if self.load(&run).is_ok_and(|run| run.vcs.rewinding.is_some()) {
            // Nobody could do that any more once its books are gone, and with them goes what was edited meanwhile.
            let ended = self.end_rewind_of(&run)?;
            if let Some(edited) = ended.and_then(|ended| ended.edited_words()) {
                return Err(Error::Refused { run, reasons: vec![edited] });
            }
        }
        if self.load(&run).is_ok_and(|run| run.files_on_their_way().is_some()) {
            self.end_integration_of(&run)?;
        }
        let at_work = self.load(&run).map(|run| self.living(&run)).unwrap_or_default();
        if !at_work.is_empty() {
            let ids: Vec<&str> = at_work.iter().map(AsRef::as_ref).collect();
            let reason = format!("still at work, although nobody drives the run: {}", ids.join(", "));
            return Err(Error::RequestRefused { run, reason });
        }
        // Saved state is never in git, and what lies there under its id is of another store. A run that cannot be read may be there.
        let is_in_git = self.load(&run).map_or(true, |run| !run.started.plan.phases.is_empty());
        let list = PruneList { runs: vec![run.clone()], ..PruneList::default() };
        match self.store()?.prune(&list) {
            Ok(_) => {}
            Err(StoreError::Held { run, holder, .. }) => {
                let driver = view::DriverView { host: holder.host, pid: holder.pid, since: holder.since };
                return Err(Error::Driven { run, driver });
            }
            Err(other) => return Err(other.into()),
        }
        reached("delete.after-store");
        if is_in_git {
            self.drop_refs_of(&run);
        }
        self.remove_what_is_beside_the_store(&run)
    }

    pub(super) fn drop_refs_of(&self, run: &RunId) {
        if let Ok(repository) = WorkingTree::of(&self.project, None).repository() {
            // What cannot be let go stays behind hidden refs, where it harms nobody.
            let _ = repository.drop_snapshots(run, &|_, _| false);
            let _ = repository.drop_copy(run);
            let _ = repository.drop_own_refs(run);
        }
    }

    /// Removes the worktrees of the phases of a run. Git's own books of them go with them.
    fn remove_worktrees_of(&self, run: &RunId) {
        let place = self.project.store_folder().join(worktrees::folder_of(run));
        let tree = WorkingTree::of(&self.project, None);
        let Ok(repository) = tree.repository() else { return };
        for entry in listing::readable(place) {
            if !is_private(&entry.path()) {
                // What is left of it goes with the folder.
                let _ = repository.remove_worktree_at(&entry.path());
            }
        }
    }

    /// Removes the refs and folders of a run that the store does not have any more.
    pub(super) fn remove_what_is_beside_the_store(&self, run: &RunId) -> Result<()> {
        self.forget_note(run);
        // What its drivers said; that it may be gone already is no error.
        let _ = fs::remove_file(background::log_path(&self.project.runtime(), run));
        let folder = self.project.store_folder();
        self.remove_worktrees_of(run);
        for place in ["state", "artifacts", "attempts", "worktrees"] {
            match fs::remove_dir_all(folder.join(place).join(run.as_str())) {
                Ok(()) => {}
                Err(why) if why.kind() == std::io::ErrorKind::NotFound => {}
                Err(why) => return Err(Error::Io { what: format!("removing the {place} of {run}"), why }),
            }
        }
        Ok(())
    }
}

impl Onward {
    /// Phases of a run that still have a process.
    pub(super) fn living(&self, run: &Run) -> Vec<PhaseId> {
        let lives = |(phase, state): &(&Phase, &PhaseState)| {
            state.attempt.as_ref().is_some_and(|attempt| {
                let folder = shell::folder(&self.project, run, &phase.id, attempt.number);
                attendant::is_at_work(&folder).unwrap_or(true)
            })
        };
        run.running().filter(lives).map(|(phase, _)| phase.id.clone()).collect()
    }
}

pub(super) fn write_new(path: &Path, text: &str, mode: u32, report: &mut InitReport) -> Result<()> {
    let opened = fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(path);
    match opened {
        Ok(mut file) => {
            file.write_all(text.as_bytes()).map_err(Error::io(format!("writing {}", path.display())))?;
            report.created.push(path.to_owned());
        }
        Err(why) if why.kind() == std::io::ErrorKind::AlreadyExists => report.kept.push(path.to_owned()),
        Err(why) => return Err(Error::Io { what: format!("writing {}", path.display()), why }),
    }
    Ok(())
}

const FIRST_PLAN: &str = "\
# A plan: phases, what each one needs, and how it is done. `onward check onward.yaml` looks it over, `onward run` does it.
onward: 1
name: first-plan
phases:
  prepare:
    run: |
      echo \"preparing\"
      mkdir -p build
  build:
    needs: prepare
    run: echo \"building\" > build/result.txt
    # Files that this phase writes. Two phases that write the same files never run side by side.
    writes: build/**
    # timeout: 30m
    # retry: { max: 2 }
  report:
    needs: build
    run: cat build/result.txt
";
