//! The demands on the journal in a file before any of it is taken. Whoever made the file could choose every byte of it, so it is
//! folded as it would be later, and what does not fold is refused.

use std::panic::{self, AssertUnwindSafe};

use onward_core::checkpoint::NewCheckpointDocument;
use onward_core::event::{Event, Recorded, RunStarted};
use onward_core::id::PhaseId;
use onward_core::plan::{Phase, Plan};
use onward_core::run::Run;
use onward_store::StoreError;
use onward_store::portable::PortableRun;

use crate::doctor;
use crate::error::{Error, Result};
use crate::journal;

const PHASE_ID_BYTES_MAX: usize = 256;

/// A journal that can be taken.
pub(super) struct CheckedRun {
    pub(super) run: Run,
    pub(super) events: Vec<Recorded>,
    /// All its checkpoints, made once more from the journal.
    pub(super) taken: Vec<NewCheckpointDocument>,
}

/// Folds the journal of a file, or says what is wrong with it.
pub(super) fn folded(file: &PortableRun) -> Result<CheckedRun> {
    let id = &file.head.run;
    let mut events = Vec::with_capacity(file.records.len());
    for record in &file.records {
        events.push(journal::decode(id, record.clone())?);
    }
    let Some(Event::RunStarted(started)) = events.first().map(|first| &first.event) else {
        return Err(damaged("its journal does not begin with the start of a run"));
    };
    demand_it_fits(file, started)?;
    for recorded in &events {
        demand_plain_names(recorded)?;
    }
    // The core asserts what its own journals hold; what breaks that is no journal of ours.
    let replayed = quietly(|| doctor::replay(&events)).ok().flatten();
    let (run, taken) = replayed.ok_or_else(|| damaged("its journal does not tell of a run that there could be"))?;
    Ok(CheckedRun { run, events, taken })
}

fn demand_it_fits(file: &PortableRun, started: &RunStarted) -> Result<()> {
    if started.run != file.head.run || started.work != file.head.work {
        return Err(damaged("its journal is that of another run than it says"));
    }
    if let Some(folder) = &started.worktree {
        let why = format!("run {} works in a folder of its own, {folder}, which is no part of the file", started.run);
        return Err(Error::NotImported { why });
    }
    Ok(())
}

/// Names become folders, refs and files: those of a plan are plain, whoever wrote the plan down.
fn demand_plain_names(recorded: &Recorded) -> Result<()> {
    match &recorded.event {
        Event::RunStarted(started) => plain_plan(&started.plan),
        Event::PlanRevised(revised) => plain_plan(&revised.plan),
        Event::Replanned(replanned) => plain_plan(&replanned.plan),
        Event::ReplanProposed { plan, .. } => plain_plan(plan),
        Event::PhaseExpanded { children, .. } => children.iter().try_for_each(|phase| plain(&phase.id)),
        Event::SnapshotTaken(taken) if !is_hash(&taken.commit) => Err(damaged("a snapshot in it has no hash")),
        _ => Ok(()),
    }
}

fn plain_plan(plan: &Plan) -> Result<()> {
    plan.phases.iter().map(|phase: &Phase| &phase.id).try_for_each(plain)
}

/// The parts of an id: that of its phase, and those of what the phase was expanded into.
fn plain(id: &PhaseId) -> Result<()> {
    let part = |part: &str| {
        let mut letters = part.bytes();
        letters.next().is_some_and(|first| first.is_ascii_alphanumeric())
            && letters.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-' | b'@'))
    };
    let text = id.as_str();
    if text.len() <= PHASE_ID_BYTES_MAX && text.split('/').all(part) && !text.contains("..") {
        return Ok(());
    }
    Err(damaged(format!("a phase in it is called {text:?}")))
}

fn is_hash(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Does something that may panic, and says nothing when it does.
fn quietly<T>(work: impl FnOnce() -> T) -> std::thread::Result<T> {
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    panic::set_hook(hook);
    done
}

/// The error about a file, whose name whoever opened it knows.
pub(super) fn damaged(why: impl Into<String>) -> Error {
    Error::BadFile { file: String::new(), why: why.into() }
}

/// Damage in a file as that: the store has none.
pub(super) fn of_the_file(why: Error) -> Error {
    match why {
        Error::Store(StoreError::Damaged(damage)) => damaged(damage.what),
        Error::BadRecord { seq, why, .. } => {
            damaged(format!("record {seq} of its journal cannot be understood: {why}"))
        }
        other => other,
    }
}
