//! Remains of runs beside the database: attempts, scratch folders, locks and pipes.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use onward_core::id::{Attempt, PhaseId, RunId};
use onward_core::plan::Phase;
use onward_core::run::{PhaseState, Run, RunStatus, worktrees};
use onward_core::view;
use onward_store::RunRow;
use onward_store::lock::held_runs;

use super::code::DoctorCode;
use super::findings::{FindingsSoFar, REPAIR, relative};
use super::places::{children, shown};
use crate::attendant::{self, AttemptFolder, ProcessEnd};
use crate::drive::running_attempt;
use crate::executor::shell;
use crate::project::Project;
use crate::vcs::own_worktree::is_private;

/// Attempts that are on record as running although nobody drives the run.
pub(super) fn orphans(project: &Project, run: &Run, found: &mut FindingsSoFar) {
    if run.status() == RunStatus::Archived {
        return;
    }
    for (phase, state) in run.running() {
        let Some(attempt) = &state.attempt else { continue };
        let folder = shell::folder(project, run, &phase.id, attempt.number);
        if let Some(damage) = running_attempt::damage(&folder) {
            let path = relative(project, &folder.path().join("EXIT"));
            let message = format!("{damage}: nobody knows how phase {} of run {} ended", phase.id, run.id);
            let then = "does it again, or asks first if it has effects outside";
            found.error(DoctorCode::AttemptRecord, path, message, &format!("{} {then}", view::resume_command(&run.id)));
            continue;
        }
        let message = match attendant::find(&folder, &running_attempt::boot_now(), &attempt.boot) {
            Ok(attendant::AttemptFound::Alive(_) | attendant::AttemptFound::Holding) => {
                format!(
                    "phase {} is still at work although nobody drives the run; the next start waits for it",
                    phase.id
                )
            }
            Ok(attendant::AttemptFound::Exited(_)) => {
                format!("phase {} ended after its driver did; the next start takes its result", phase.id)
            }
            Ok(attendant::AttemptFound::NeverStarted) if running_attempt::is_lost(&folder) => {
                format!(
                    "the records that are left end before phase {} was started; whether it ran is not known, and the next \
                     start asks first if it has effects outside",
                    phase.id
                )
            }
            Ok(attendant::AttemptFound::NeverStarted) => {
                format!("phase {} was about to be started and never was; the next start does so", phase.id)
            }
            Ok(attendant::AttemptFound::Unknown) | Err(_) => {
                format!("phase {} was at work when its driver ended, and nobody knows how it ended", phase.id)
            }
        };
        let kept =
            if running_attempt::is_lost(&folder) { "what it will do" } else { "what it did and what it will do" };
        let help = format!("{kept} is kept: {}", view::resume_command(&run.id));
        found.info(DoctorCode::Orphan, format!("run {}", run.id), message, &help);
    }
}

/// A folder of an attempt that the journal does not know: what a lost or cut journal leaves.
pub(super) struct Unrecorded {
    pub(super) path: PathBuf,
    pub(super) phase: Option<PhaseId>,
    pub(super) lives: bool,
    /// The next start finds it in the place of the attempt that it is about to begin, and takes its result.
    pub(super) is_taken_up: bool,
}

/// Attempts in the folder of a run that are not in its journal.
pub(super) fn all_unrecorded(project: &Project, run: &Run) -> Vec<Unrecorded> {
    let Some(top) = attempts_of(project, &run.id) else { return Vec::new() };
    let mut known: Vec<(PathBuf, PhaseId, u32)> = Vec::new();
    let untried = run.phases().map(|(phase, _)| (&phase.id, 0));
    for (phase, attempts) in run.tried().chain(untried) {
        let first = shell::folder(project, run, phase, Attempt(1));
        let place = first.path().parent().map(Path::to_owned).unwrap_or_default();
        known.push((place, phase.clone(), attempts));
    }
    let mut all = Vec::new();
    for place in children(&top) {
        let of = known.iter().find(|(path, _, _)| *path == place);
        let number = |path: &PathBuf| path.file_name()?.to_str()?.parse::<u32>().ok();
        let is_recorded =
            |path: &PathBuf| of.zip(number(path)).is_some_and(|((_, _, attempts), number)| number <= *attempts);
        let left: Vec<PathBuf> = children(&place).into_iter().filter(|path| !is_recorded(path)).collect();
        let last = left.iter().filter_map(number).max();
        for path in left {
            let folder = AttemptFolder::at(path.clone());
            let lives = attendant::is_at_work(&folder).unwrap_or(false);
            let phase = of.map(|(_, phase, _)| phase.clone());
            let is_open =
                phase.as_ref().and_then(|phase| run.phase_state(phase)).is_some_and(|state| !state.is_finished());
            let is_taken_up = is_open && number(&path).is_some() && says_something(&folder, number(&path), last);
            all.push(Unrecorded { path, phase, lives, is_taken_up });
        }
    }
    all
}

/// Whether it matters to the next start what an attempt left. That the last one failed does not: it would be tried again.
fn says_something(folder: &AttemptFolder, number: Option<u32>, last: Option<u32>) -> bool {
    match (folder.started(), folder.exit()) {
        (Ok(Some(_)), Ok(Some(exit))) => exit.outcome == ProcessEnd::Code(0) || number != last,
        (Ok(Some(_)), Ok(None) | Err(_)) | (Err(_), _) => true,
        (Ok(None), _) => false,
    }
}

pub(super) fn unrecorded(project: &Project, run: &Run, found: &mut FindingsSoFar) {
    for Unrecorded { path, phase, lives, is_taken_up } in all_unrecorded(project, run) {
        if let (true, Some(phase)) = (is_taken_up, &phase) {
            let message = format!("an attempt at phase {phase} is not in the journal of run {}", run.id);
            let help = format!("nothing is lost by that: {} takes up what it left", view::resume_command(&run.id));
            found.info(DoctorCode::AttemptUnrecorded, relative(project, &path), message, &help);
            continue;
        }
        let phase = phase.map_or_else(|| "a phase".to_owned(), |phase| format!("phase {phase}"));
        let ended = AttemptFolder::at(path.clone()).exit().ok().flatten().map(|exit| exit.outcome);
        let (message, help) = match (lives, ended) {
            (true, _) => (
                format!("{phase} is at work, and the journal of run {} does not know of it", run.id),
                format!("nothing is touched while it works; when it is done, {REPAIR} puts its record aside"),
            ),
            (false, Some(ProcessEnd::Code(0))) => (
                format!("{phase} was done after the last record that is left of run {}", run.id),
                format!(
                    "its record is kept: {REPAIR} puts it aside so that the run can go on; what was done is not done \
                     again if the phase is given to --adopt then"
                ),
            ),
            (false, _) => (
                format!("an attempt at {phase} is not in the journal of run {}", run.id),
                format!("its record is kept: {REPAIR} puts it aside so that the run can go on"),
            ),
        };
        found.error(DoctorCode::AttemptUnrecorded, relative(project, &path), message, &help);
    }
}

/// Worktrees with work in them that is in nobody's way and that nobody will take up.
pub(super) fn worktrees_left(project: &Project, run: &Run, found: &mut FindingsSoFar) {
    let store = project.store_folder();
    let open = |(phase, state): (&Phase, &PhaseState)| {
        let wanted = !state.is_finished() && state.own.is_some() && run.status() != RunStatus::Archived;
        wanted.then(|| store.join(worktrees::place(&run.id, &phase.id, state.generation)))
    };
    let wanted: BTreeSet<PathBuf> = run.phases().filter_map(open).collect();
    for path in children(&store.join(worktrees::folder_of(&run.id))) {
        if is_private(&path) || wanted.contains(&path) {
            continue;
        }
        let message = format!("a worktree of run {} is left; what is in it did not come into the project", run.id);
        let help = "look into it and take what you want of it; it goes when the run is deleted";
        found.info(DoctorCode::Leftover, relative(project, &path), message, help);
    }
}

/// Where the attempts of a run lie.
fn attempts_of(project: &Project, run: &RunId) -> Option<PathBuf> {
    let any = AttemptFolder::new(&project.store_folder(), run, &PhaseId::new("x"), Attempt(1));
    any.path().ancestors().nth(2).map(Path::to_owned)
}

/// Whether the folders of a run's attempts are there, so that they can tell what was begun.
pub(super) fn has_folders(project: &Project, run: &RunId) -> bool {
    attempts_of(project, run).is_some_and(|path| path.is_dir())
}

/// Locks that belong to no run: whoever starts one or writes mirrors holds them for a moment.
const PROJECT_LOCKS: [&str; 2] = ["start", "mirror"];

/// Something that belongs to no run any more, and what it is called.
pub(super) struct Stray {
    pub(super) code: DoctorCode,
    pub(super) path: PathBuf,
    message: &'static str,
}

/// Folders, locks and pipes of runs that are not there, and pipes to which nobody listens.
pub(super) fn all_strays(project: &Project, rows: &[RunRow]) -> Vec<Stray> {
    let folder = project.store_folder();
    let name = |path: Option<PathBuf>| path.and_then(|path| path.file_name().map(OsString::from));
    let attempts: BTreeSet<OsString> = rows.iter().filter_map(|row| name(attempts_of(project, &row.run))).collect();
    let runs: BTreeSet<OsString> = rows.iter().map(|row| OsString::from(row.run.as_str())).collect();
    let held: BTreeSet<RunId> = held_runs(&folder).unwrap_or_default().into_iter().map(|(run, _)| run).collect();
    let mut all = Vec::new();
    let with_worktrees =
        rows.iter().filter_map(|row| name(Some(folder.join(worktrees::folder_of(&row.run))))).collect();
    for (place, known) in [("attempts", &attempts), ("state", &runs), ("worktrees", &with_worktrees)] {
        for path in children(&folder.join(place)) {
            if path.file_name().is_some_and(|name| !known.contains(name)) {
                all.push(Stray {
                    code: DoctorCode::StrayFolder,
                    path,
                    message: "it belongs to a run that is not there any more",
                });
            }
        }
    }
    for path in children(&folder.join("run")) {
        let Some((stem, ending)) = path.file_stem().zip(path.extension()) else { continue };
        if PROJECT_LOCKS.iter().any(|lock| stem == *lock) {
            continue;
        }
        let run = RunId::new(stem.to_string_lossy());
        let pipe = fs::symlink_metadata(&path).is_ok_and(|seen| seen.file_type().is_fifo());
        if ending == "lock" && !runs.contains(stem) && !held.contains(&run) {
            all.push(Stray {
                code: DoctorCode::StaleLock,
                path,
                message: "it is the lock of a run that is not there any more",
            });
        } else if ending == "wake" && pipe && !held.contains(&run) {
            all.push(Stray {
                code: DoctorCode::StaleWake,
                path,
                message: "nobody listens at this pipe; its driver was killed",
            });
        }
    }
    all
}

pub(super) fn strays(project: &Project, rows: &[RunRow], found: &mut FindingsSoFar) {
    let help = format!("it does no harm; {REPAIR} puts it into .onward/damaged");
    for Stray { code, path, message } in all_strays(project, rows) {
        found.info(code, shown(&project.store_folder(), &path), message, &help);
    }
}
