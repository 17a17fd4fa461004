//! Runs that git has a copy of and the store has not: its folder was deleted, or swept away with everything that git does not
//! track. Whoever finds nothing looks here before saying so, and a start begins nothing anew that is on record in git.

use std::collections::BTreeMap;
use std::path::Path;

use onward_core::event::{Orphans, Recorded};
use onward_core::id::{PhaseId, RunId};
use onward_core::question;
use onward_core::run::{self, Run};
use onward_core::view::Summary;
use onward_store::{OpenMode, RunFilter, RunRow};

use crate::Onward;
use crate::attendant::{self, Survivor};
use crate::doctor::{self, CopiedJournal, Copies};
use crate::drive::reporter::{Reporter, Update};
use crate::error::{CopyInGit, Error, Result};
use crate::journal;
use crate::start::request::Request;
use crate::sys::file_lock::LOCK_LOOK_EVERY;
use crate::sys::plain_file;
use crate::sys::stop;
use crate::vcs;
use crate::vcs::journal_piece;

/// How often what is left of a lost run is ended before that is given up.
const KILL_TRIES_MAX: u32 = 100;

/// A run that git has a copy of and the store does not know.
struct Lost {
    run: RunId,
    /// The run as far as the copy goes; none where the copy cannot be understood.
    folded: Option<Run>,
}

impl Lost {
    fn from_copy(copied: CopiedJournal) -> Self {
        let events = copied.records.into_iter().map_while(|record| journal::decode(&copied.run, record).ok());
        let events: Vec<Recorded> = events.collect();
        Self { folded: run::fold(&events), run: copied.run }
    }

    fn is_unfinished(&self) -> bool {
        self.folded.as_ref().is_none_or(Run::is_unfinished)
    }

    fn is_of_work(&self, work: &str) -> bool {
        self.folded.as_ref().is_none_or(|run| run.started.work == work)
    }
}

/// The store's own knowledge of runs that were started from a plan.
struct KnownRuns {
    runs: Vec<RunId>,
    /// None of them has a phase: the store is new, or holds saved state alone.
    no_plan: bool,
}

impl Onward {
    fn known(&mut self) -> Option<KnownRuns> {
        let rows = self.rows(&RunFilter::default()).ok()?;
        let no_plan = rows.iter().all(is_saved_state);
        Some(KnownRuns { runs: rows.into_iter().map(|row| row.run).collect(), no_plan })
    }

    /// Runs that git has and the store has not; and why there may be more, where git did not answer.
    fn lost_runs(&self, known: &KnownRuns) -> (Vec<Lost>, Option<String>) {
        let mut store = onward_store::open(&self.project.store_folder(), OpenMode::Look).ok();
        let mut was_deleted =
            |run: &RunId| store.as_mut().is_some_and(|store| store.run_was_deleted(run).unwrap_or(false));
        let Copies { all, failed } = doctor::copies(&self.project, &known.runs);
        let lost = all.into_iter().filter(|copied| !was_deleted(&copied.run)).map(Lost::from_copy);
        (lost.collect(), failed)
    }

    /// That git has runs of this project, where the store has none.
    pub fn lost_with_the_store(&mut self) -> Option<Error> {
        let known = self.known().filter(|known| known.no_plan)?;
        told(&self.lost_runs(&known).0)
    }

    /// That git has the run that was named, and the store has not.
    pub(crate) fn lost_run(&mut self, name: &str) -> Option<Error> {
        let known = self.known()?;
        let (lost, _) = self.lost_runs(&known);
        let named: Vec<Lost> = lost.into_iter().filter(|lost| lost.run.as_str().starts_with(name)).collect();
        told(&named)
    }

    /// Refuses to begin anew what is on record in git as begun; says what else is lost. A run of the same work that the store has
    /// was begun since, by somebody who wanted that.
    pub(crate) fn demand_nothing_lost(&mut self, work: Option<&str>) -> Result<()> {
        if let Some(work) = work
            && !self.rows(&RunFilter { work: Some(work.to_owned()), ..RunFilter::default() })?.is_empty()
        {
            return Ok(());
        }
        let Some(known) = self.known() else { return Ok(()) };
        let (lost, failed) = self.lost_runs(&known);
        let is_meant = |lost: &&Lost| known.no_plan || work.is_some_and(|work| lost.is_of_work(work));
        let (open, over): (Vec<&Lost>, Vec<&Lost>) =
            lost.iter().filter(is_meant).partition(|lost| lost.is_unfinished());
        if !open.is_empty() {
            return Err(Error::RunsLost { runs: open.into_iter().map(|lost| lost.run.clone()).collect() });
        }
        if let Some(why) = failed.filter(|_| known.runs.is_empty() && may_have_copies(&self.project.top)) {
            // A call that a stop cut short says nothing about git.
            stop::demand_none()?;
            return Err(Error::LossUnknown { why });
        }
        if known.no_plan && !over.is_empty() {
            let runs: Vec<&str> = over.iter().map(|lost| lost.run.as_str()).collect();
            let words = "onward doctor --repair brings them back";
            self.notices.push(format!("finished runs are in git and not in the store: {}; {words}", runs.join(", ")));
        }
        Ok(())
    }

    /// Living processes of runs that the store has lost.
    fn lost_survivors(&mut self) -> Result<Vec<Survivor>> {
        let Some(known) = self.known().filter(|known| known.no_plan) else { return Ok(Vec::new()) };
        let folder = self.project.store_folder();
        let survivors = attendant::survivors(&folder).map_err(Error::io("looking for processes of lost runs"))?;
        let mut store = onward_store::open(&folder, OpenMode::Look).ok();
        let is_lost = |survivor: &Survivor| {
            let run = RunId::new(&survivor.run);
            let was_deleted = store.as_mut().is_some_and(|store| store.run_was_deleted(&run).unwrap_or(false));
            !known.runs.contains(&run) && !was_deleted
        };
        Ok(survivors.into_iter().filter(is_lost).collect())
    }

    /// Refuses to begin or to bring back anything beside a process of a run that the store has lost.
    pub(crate) fn demand_no_survivor(&mut self) -> Result<()> {
        match self.lost_survivors()?.into_iter().next() {
            Some(Survivor { pid, run, phase }) => Err(Error::Survives { run, phase, pid: pid.as_raw() }),
            None => Ok(()),
        }
    }

    /// Asks what becomes of such processes before a fresh start.
    pub(super) fn ask_about_survivors(&mut self, request: &Request) -> Result<()> {
        if request.orphans.is_some() {
            return Ok(());
        }
        let survivors = self.lost_survivors()?;
        let Some(first) = survivors.first() else { return Ok(()) };
        let of_it = survivors.iter().filter(|one| one.run == first.run);
        let at_work: BTreeMap<PhaseId, i32> = of_it.map(|one| (PhaseId::new(&one.phase), one.pid.as_raw())).collect();
        let at_work = at_work.into_iter().collect();
        let question = question::fresh_start_after_a_loss(&RunId::new(&first.run), at_work, &request.typed());
        Err(Error::AnswerNeeded(Box::new(question)))
    }

    /// Waits until nothing of lost runs is at work any more, or ends it.
    pub(super) fn see_the_end_of_survivors(&mut self, orphans: Orphans, reporter: &mut dyn Reporter) -> Result<()> {
        let mut tries = 0;
        loop {
            let survivors = self.lost_survivors()?;
            let Some(first) = survivors.first() else { return Ok(()) };
            match orphans {
                Orphans::Kill if tries == KILL_TRIES_MAX => return self.demand_no_survivor(),
                Orphans::Kill => {
                    for survivor in &survivors {
                        // One that could not be ended is met again.
                        let _ = survivor.end(&survivors);
                    }
                }
                Orphans::Wait if tries == 0 => {
                    let (run, phase) = (&first.run, &first.phase);
                    let note = format!(
                        "phase {phase} of run {run}, which the store does not know, is at work and is waited for"
                    );
                    reporter.update(&Update::Note(&note));
                }
                Orphans::Wait => {}
            }
            stop::demand_none()?;
            std::thread::sleep(LOCK_LOOK_EVERY);
            tries += 1;
        }
    }

    /// Refuses to go on with a run of which git has more than the store: an older copy of the store was put in its place.
    pub(crate) fn demand_not_behind(&mut self, run: &Run) -> Result<()> {
        if !run.started.snapshots {
            return Ok(());
        }
        let end = vcs::noted_end(&self.project.top, &run.id).or_else(|| self.end_in_git(&run.id));
        self.demand_up_to(&run.id, end)
    }

    /// The same before anything is added to a journal: only what this program noted counts, which costs no process.
    pub(crate) fn demand_not_behind_notes(&mut self, run: &RunId) -> Result<()> {
        let end = vcs::noted_end(&self.project.top, run);
        self.demand_up_to(run, end)
    }

    fn demand_up_to(&mut self, run: &RunId, end: Option<u64>) -> Result<()> {
        let Some(end) = end else { return Ok(()) };
        // Read after the end of the copy: who moves the run on copies it later.
        let rows = self.rows(&RunFilter { run_prefix: Some(run.to_string()), ..RunFilter::default() })?;
        // Saved state is never in git: a copy of the same name is of another store.
        let row = rows.into_iter().find(|row| row.run == *run).filter(|row| !is_saved_state(row));
        let Some(store) = row.map(|row| row.head.0) else { return Ok(()) };
        // What was noted and is not there any more cannot be brought back, and is in nobody's way.
        match Some(end).filter(|end| store < *end).and_then(|_| self.end_in_git(run)) {
            Some(git) if store < git => Err(Error::JournalBehind { run: run.clone(), store, git }),
            Some(_) | None => Ok(()),
        }
    }

    /// How much of the journal of a run git has, whatever became of the store.
    pub(crate) fn copy_in_git(&self, run: &Run) -> CopyInGit {
        match self.end_in_git(&run.id).filter(|_| run.started.snapshots) {
            Some(end) if end >= run.seq.0 => CopyInGit::Whole,
            Some(_) => CopyInGit::Part,
            None => CopyInGit::None,
        }
    }

    fn end_in_git(&self, run: &RunId) -> Option<u64> {
        journal_piece::end_and_place(&doctor::repository(&self.project)?, run).ok().flatten().map(|(end, _)| end)
    }
}

/// Whether a run was begun without a plan, to keep saved state; not if that cannot be read.
fn is_saved_state(row: &RunRow) -> bool {
    let phases = |bytes: &Vec<u8>| serde_json::from_slice::<Summary>(bytes).map_or(1, |summary| summary.phases_total);
    row.summary.as_ref().is_ok_and(|bytes| phases(bytes) == 0)
}

/// Whether the repository around a folder may have copies of journals, as far as its files tell: for where git itself cannot be
/// asked. Only an ordinary repository whose refs are files can be known to have none.
fn may_have_copies(folder: &Path) -> bool {
    let Some(git) = folder.ancestors().map(|above| above.join(".git")).find(|git| git.exists()) else { return false };
    let unusual = !git.is_dir() || git.join("reftable").exists() || git.join("commondir").exists();
    let packed = plain_file::read(&git.join("packed-refs"), vcs::PACKED_BYTES_MAX).unwrap_or_default();
    let is_packed = packed.windows(PACKED.len()).any(|part| part == PACKED);
    unusual || git.join("refs/onward").exists() || is_packed
}

/// The beginning of the names of our refs.
const PACKED: &[u8] = b"refs/onward/";

fn told(lost: &[Lost]) -> Option<Error> {
    let runs: Vec<RunId> = lost.iter().map(|lost| lost.run.clone()).collect();
    (!runs.is_empty()).then_some(Error::RunsLost { runs })
}
