//! Recovery from the repository around the project: copies of journals under hidden refs, and the folders of attempts.

use std::path::Path;

use jiff::Timestamp;
use onward_core::event::{Event, Recorded};
use onward_core::id::RunId;
use onward_core::run::as_stored;
use onward_store::{Inspection, Journal, RunRow};

use super::attempts;
use super::code::DoctorCode;
use super::findings::{FindingsSoFar, REPAIR};
use super::rebuild::{KeptRun, Rebuilt};
use super::repair::Repair;
use super::repair_folder::Recovered;
use crate::project::{FOLDER, Project, looked_for_from};
use crate::start::starting::actor;
use crate::vcs::journal_piece::{self, CopiedJournal};
use crate::vcs::{self, CopyOrigin, Repository, Without};

/// Runs, or ends of runs, that git has and the store has not.
pub(super) fn examine(project: &Project, store: &mut dyn Inspection, rows: &[RunRow], found: &mut FindingsSoFar) {
    let repository = match Repository::open(&project.top, &project.store_folder()) {
        Ok(repository) => repository,
        Err(Without::Other(why)) => return git_failed(&why, found),
        // The runs of the store are whole without git.
        Err(Without::NoRepository | Without::NoProgram | Without::Bare | Without::ForeignOwner) => return,
    };
    let runs = repository.copied_journals().unwrap_or_else(|why| {
        git_failed(&why.to_string(), found);
        Vec::new()
    });
    for run in runs {
        let (end, place) = match journal_piece::end_and_place(&repository, &run) {
            Ok(Some(known)) => known,
            Ok(None) => continue,
            Err(why) => return git_failed(&why.to_string(), found),
        };
        if repository.is_kept_elsewhere(&run)
            || place != repository.place()
            || store.run_was_deleted(&run).unwrap_or(true)
        {
            continue;
        }
        let path = format!("run {run}");
        let help = format!("{REPAIR} brings them back from git; nothing that is there is changed by that");
        match rows.iter().find(|row| row.run == run).map(|row| row.head.0) {
            None => {
                let message = format!("git has {end} records of it, and the store does not know it");
                found.warning(DoctorCode::RunLost, path, message, &help);
            }
            Some(head) if head < end => {
                let message = format!("git has {end} records of it, and the store {head}");
                found.error(DoctorCode::JournalBehind, path, message, &help);
            }
            Some(_) => {}
        }
    }
}

/// The same where there is no store at all.
pub(super) fn examine_without_store(project: &Project, found: &mut FindingsSoFar) {
    let Copies { all, failed } = copies(project, &[]);
    if let Some(why) = failed {
        git_failed(&why, found);
    }
    for CopiedJournal { run, records, .. } in all {
        let message = format!("git has {} records of it, and the store is gone", records.len());
        let help = format!("{REPAIR} makes a new store and brings the run back, as far as git has it");
        found.error(DoctorCode::RunLost, format!("run {run}"), message, &help);
    }
}

fn git_failed(why: &str, found: &mut FindingsSoFar) {
    let message = format!("whether runs were lost is not known: {why}");
    let help = format!("nothing was changed by that: when git answers again, type {REPAIR}");
    found.error(DoctorCode::GitFailed, ".git", message, &help);
}

/// The project around a folder, by the runs that git has a copy of.
pub(crate) fn lost_project(from: &Path) -> Option<Project> {
    let from = &looked_for_from(from);
    let top = vcs::top(from)?;
    let from = from.canonicalize().ok()?;
    let repository = Repository::open(&top, &top.join(FOLDER)).ok()?;
    let runs = repository.copied_journals().unwrap_or_default();
    let places = runs.iter().filter_map(|run| journal_piece::end_and_place(&repository, run).ok().flatten());
    let tops = places.filter_map(|(_, place)| top.join(place).canonicalize().ok());
    let nearest = tops.filter(|top| from.starts_with(top)).max_by_key(|top| top.components().count())?;
    Some(Project::at(nearest))
}

/// The runs of a project of which git has a copy.
#[derive(Default)]
pub(crate) struct Copies {
    /// In order of creation.
    pub(crate) all: Vec<CopiedJournal>,
    /// Why there may be more: git did not answer.
    pub(crate) failed: Option<String>,
}

/// The runs of this project of which git has a copy, without some.
pub(crate) fn copies(project: &Project, left_out: &[RunId]) -> Copies {
    let silent = |why: String| Copies { all: Vec::new(), failed: Some(why) };
    let repository = match Repository::open(&project.top, &project.store_folder()) {
        Ok(repository) => repository,
        Err(Without::NoRepository | Without::Bare) => return Copies::default(),
        Err(why @ (Without::NoProgram | Without::ForeignOwner | Without::Other(_))) => return silent(why.to_string()),
    };
    let runs = match repository.copied_journals() {
        Ok(runs) => runs,
        Err(why) => return silent(why.to_string()),
    };
    let mut copies = Copies::default();
    for run in runs.into_iter().filter(|run| !left_out.contains(run) && !repository.is_kept_elsewhere(run)) {
        match journal_piece::read(&repository, &run) {
            Ok(read) => copies.all.extend(read.filter(|one| one.place == repository.place())),
            Err(why) => copies.failed = copies.failed.or_else(|| Some(why.to_string())),
        }
    }
    copies.all.sort_by_key(CopiedJournal::begun);
    copies
}

pub(crate) fn repository(project: &Project) -> Option<Repository> {
    Repository::open(&project.top, &project.store_folder()).ok()
}

/// A journal of which the store has nothing.
pub(super) fn nothing_of(copied: &CopiedJournal) -> Journal {
    Journal { run: Some(copied.run.clone()), ..Journal::default() }
}

/// The journal with what git has of it, where that goes on from what the store has, and not elsewhere.
pub(super) fn completed(found: Journal, copies: &mut Vec<CopiedJournal>, rebuilt: &mut Rebuilt) -> Journal {
    let Some(at) = copies.iter().position(|copied| found.run.as_ref() == Some(&copied.run)) else { return found };
    let CopiedJournal { run, records, origin, .. } = copies.remove(at);
    let have = found.records.len();
    let same = found.records.iter().zip(&records).all(|(one, other)| one.hash == other.hash);
    if records.len() <= have || !same {
        return found;
    }
    let gained = (records.len() - have) as u64;
    if origin == CopyOrigin::Unknown {
        rebuilt.unproven.push(run.clone());
    }
    rebuilt.recovered.push(Recovered { run: run.clone(), records: gained, end: records.len() as u64 });
    let lost = found.lost.map(|lost| lost.saturating_sub(gained));
    // Whether there was more than git has nobody can tell, unless the store counted.
    let cut = found.cut.filter(|_| lost != Some(0));
    let work = found.work.or_else(|| super::rebuild::name(&records[0].body).map(|(_, work)| work));
    Journal { run: Some(run), work, records, cut, lost: lost.filter(|lost| *lost > 0) }
}

/// Where the folders of attempts are gone as well, nobody knows what had its effect outside since the journal ends. Where they
/// are there, they tell: whoever goes on finds them.
pub(super) fn doubt_what_nobody_knows(project: &Project, kept: &mut KeptRun, rebuilt: &mut Rebuilt) {
    let Some(run) = kept.run.as_mut() else { return };
    let is_recovered = rebuilt.recovered.iter().any(|recovered| recovered.run == kept.id);
    let is_cut = rebuilt.cut.iter().any(|cut| cut.run == kept.id);
    if !(is_recovered || is_cut) || attempts::has_folders(project, &kept.id) {
        return;
    }
    for event in run.lost_effects() {
        if let Event::PhaseInDoubt { phase } = &event {
            let message = format!("nobody knows whether phase {phase} had its effect outside since");
            rebuilt.repaired.push(Repair::new(DoctorCode::InDoubt, format!("run {}", kept.id), message));
        }
        add(run, event, &mut kept.added, &actor(project));
    }
}

fn add(run: &mut onward_core::run::Run, event: Event, added: &mut Vec<Recorded>, actor: &str) {
    let recorded = Recorded { seq: run.seq.next(), at: as_stored(Timestamp::now()), actor: actor.to_owned(), event };
    run.apply(&recorded);
    added.push(recorded);
}
