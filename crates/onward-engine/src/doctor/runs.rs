//! One run: its row, its journal, what was made of its journal, and what it left at work.

use jiff::Timestamp;
use onward_core::event::Recorded;
use onward_core::id::{RunId, Seq};
use onward_core::run::{Run, cache};
use onward_core::view::{self, Summary};
use onward_store::{Fold, Inspection, LeaseKind, RunRow};
use serde_json::Value;

use super::code::DoctorCode;
use super::findings::{FindingsSoFar, REPAIR, of_run, rebuilt};
use super::{attempts, checkpoints, stored_form};
use crate::durations;
use crate::error::Error;
use crate::journal;
use crate::probe::artifact_copies::{self, Spoilt};
use crate::project::Project;
use crate::queries::runs::NEW;
use crate::start::meant_work::summary_of;

pub(super) fn examine(project: &Project, store: &mut dyn Inspection, row: &RunRow, found: &mut FindingsSoFar) {
    let path = format!("run {}", row.run);
    let before = found.0.len();
    if let Err(damage) = &row.summary {
        let help = format!("its journal and its checkpoints are checked by themselves; {}", rebuilt());
        found.error(DoctorCode::Row, &path, damage.to_string(), &help);
    } else if row.head.0 == 0 {
        return without_journal(store, row, &path, found);
    }
    inbox(store, &row.run, &path, found);
    let events = match journal::events(store, &row.run, Seq(0)) {
        Ok(events) if !events.is_empty() => events,
        Ok(_) => {
            checkpoints::unreadable(store, &row.run, found);
            return;
        }
        Err(why) => {
            damaged_journal(store, &row.run, &why, &path, before, found);
            return;
        }
    };
    if let Some(run) = fold(store, &row.run, &events, found) {
        listed(row, &run, &path, found);
        took(store, row, (&run, &events), &path, found);
        copies(project, &run, &path, found);
        let driven = matches!(store.holder(&row.run), Ok(Some((LeaseKind::Driving, _))));
        if !driven {
            attempts::orphans(project, &run, found);
            attempts::unrecorded(project, &run, found);
            attempts::worktrees_left(project, &run, found);
        }
    }
}

/// A run without a journal: a start that was killed before its first record, or a journal of which nothing could be
/// kept.
fn without_journal(store: &mut dyn Inspection, row: &RunRow, path: &str, found: &mut FindingsSoFar) {
    if row.status == NEW {
        let message = "it has a row and no journal: its start was ended before the first record; nothing was done";
        found.info(DoctorCode::NoJournal, path, message, "it is not listed and does no harm");
        return;
    }
    let message = "nothing of its journal is left, so it cannot go on";
    let help = format!("its checkpoints can still be read: onward log {}", row.run);
    found.warning(DoctorCode::JournalLost, path, message, &help);
    checkpoints::unreadable(store, &row.run, found);
}

fn inbox(store: &mut dyn Inspection, run: &RunId, path: &str, found: &mut FindingsSoFar) {
    if let Err(why) = store.check_inbox(run) {
        let help = format!("its journal and its checkpoints are checked by themselves; {}", rebuilt());
        of_run(&why.into(), path, DoctorCode::Inbox, &help, found);
    }
}

fn damaged_journal(
    store: &mut dyn Inspection,
    run: &RunId,
    why: &Error,
    path: &str,
    before: usize,
    found: &mut FindingsSoFar,
) {
    // What is wrong with its row keeps the journal from being read; once is enough.
    if found.0.len() == before || matches!(why, Error::BadRecord { .. }) {
        let help = format!(
            "the records before it are good, and checkpoints can be read without it (onward log {run}): {REPAIR} keeps \
             both in a new database, and the damaged one in .onward/damaged"
        );
        of_run(why, path, DoctorCode::Journal, &help, found);
    }
    checkpoints::unreadable(store, run, found);
}

/// Folds the journal from its first record on, and on the way compares what was once made of it.
fn fold(store: &mut dyn Inspection, id: &RunId, events: &[Recorded], found: &mut FindingsSoFar) -> Option<Run> {
    let (first, rest) = events.split_first()?;
    let cached = store.fold(id).ok().flatten().filter(|fold| fold.version == cache::FOLD_VERSION);
    let mut taken = checkpoints::Comparison::new(store, id, found);
    let mut run = onward_core::run::fold([first])?;
    compare_fold(cached.as_ref(), &run, found);
    for recorded in rest {
        taken.compare(store, &run, recorded, found);
        run.apply(recorded);
        compare_fold(cached.as_ref(), &run, found);
    }
    taken.finish(store, &run, found);
    Some(run)
}

fn compare_fold(cached: Option<&Fold>, run: &Run, found: &mut FindingsSoFar) {
    let Some(fold) = cached.filter(|fold| fold.seq == run.seq) else { return };
    let path = format!("run {}", run.id);
    let help = format!("the journal is good, and everything can be made from it again: {REPAIR} does so");
    match cache::decode(&fold.bytes) {
        Some(read) if read.seq == fold.seq && format!("{read:?}") == format!("{run:?}") => {}
        Some(_) => {
            let message = format!("the cached state of the run at record {} differs from its journal", fold.seq);
            found.error(DoctorCode::FoldCache, path, message, &help);
        }
        None => {
            let message = format!("the cached state of the run at record {} cannot be understood", fold.seq);
            found.warning(DoctorCode::FoldCache, path, message, &help);
        }
    }
}

/// The row in the list of runs must say what the journal says.
fn listed(row: &RunRow, run: &Run, path: &str, found: &mut FindingsSoFar) {
    // One that is not at the end of the journal is out of date: somebody has written since it was read.
    let Some(bytes) = row.summary.as_ref().ok().filter(|_| row.head == run.seq) else { return };
    let stored = serde_json::from_slice::<Value>(bytes).ok();
    // When it was imported stands here and nowhere else.
    let arrived_at = summary_of(row).and_then(|summary| summary.arrived_at);
    let expected = Summary { arrived_at, ..view::summary(run) };
    let is_right = stored.is_some_and(|stored| stored_form::says(&stored, &expected));
    if !is_right || row.status != run.status().as_str() {
        let message = "the row in the list of runs differs from the journal, which counts";
        let help = format!("the journal is good: {REPAIR} writes the row anew from it, and so does the next start");
        found.error(DoctorCode::Projection, path, message, &help);
    }
}

/// How long attempts took is kept beside the journal, and must be what that says.
fn took(
    store: &mut dyn Inspection,
    row: &RunRow,
    (run, events): (&Run, &[Recorded]),
    path: &str,
    found: &mut FindingsSoFar,
) {
    let Ok(kept) = store.durations_of(&row.run) else { return };
    let told: Vec<_> = events.iter().filter_map(|one| durations::row(&run.started.plan_path, one)).collect();
    if kept == told || row.head != run.seq || found.0.iter().any(|one| one.path == path) {
        return;
    }
    let message = "the recorded durations of its attempts differ from its journal";
    let help = format!("only expected times may be wrong: {REPAIR} builds them again");
    found.warning(DoctorCode::Projection, path, message, &help);
}

/// Copies of artifacts: what a resume would put back where the artifact itself is gone.
fn copies(project: &Project, run: &Run, path: &str, found: &mut FindingsSoFar) {
    for (phase, artifact, spoilt) in artifact_copies::spoilt(project, run, Timestamp::now()) {
        let what = match spoilt {
            Spoilt::Missing => "is not in the store any more".to_owned(),
            Spoilt::Damaged => "is not what was kept".to_owned(),
            Spoilt::Unreadable(why) => format!("cannot be read: {why}"),
        };
        let message = format!("the copy of {} that phase {phase} left behind {what}", artifact.path);
        let help = format!(
            "the journal says that it was there, and {} itself is not touched: doing {phase} again makes a new copy",
            artifact.path
        );
        found.warning(DoctorCode::ArtifactCopy, path, message, &help);
    }
}
