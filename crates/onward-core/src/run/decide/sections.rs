//! Facts for the sections: changed files, and runs that are taken over from files.

use jiff::Timestamp;
use serde_json::Value;

use crate::checkpoint::FileModified;
use crate::event::Event;
use crate::id::Seq;
use crate::ids_and_keys::checkpoint_id;
use crate::input::{ImportStep, MirrorTold};
use crate::patch::Op;
use crate::run::state::Run;

/// So many changed files are named.
const FILES_MAX: usize = 1_000;

/// The difference to the changed files as they are known.
pub(super) fn tree_seen(run: &Run, files: &[FileModified]) -> Option<Event> {
    let (named, others) = files.split_at(files.len().min(FILES_MAX));
    let known = &run.sections().files_modified;
    let changed: Vec<FileModified> = named.iter().filter(|file| known.get(&file.path) != Some(file)).cloned().collect();
    let still: std::collections::BTreeSet<&str> = named.iter().map(|file| file.path.as_str()).collect();
    let as_committed: Vec<String> = known.keys().filter(|path| !still.contains(path.as_str())).cloned().collect();
    let more = others.len() as u64;
    let news = !changed.is_empty() || !as_committed.is_empty() || more != run.sections().more_files_modified;
    news.then_some(Event::FilesModified { changed, as_committed, more })
}

/// The run as a file has it, and the checkpoint that the file is.
pub(super) fn import(run: &Run, step: &ImportStep, now: Timestamp) -> Vec<Event> {
    let state = step.state.clone().filter(|state| !state.is_empty());
    let ops = state.map(|state| vec![Op::Set { path: String::new(), value: Value::Object(state) }]);
    let place = Seq(run.seq.0 + 2 + u64::from(ops.is_some()));
    let id = step.checkpoint.clone();
    let id = id.unwrap_or_else(|| checkpoint_id(&run.id, step.phase.as_ref(), place, now, run.ids));
    let (triggers, phase) = (step.triggers.clone(), step.phase.clone());
    let imported = Event::RunImported(Box::new(step.imported.clone()));
    let state = ops.map(|ops| Event::StateChanged { ops });
    std::iter::once(imported).chain(state).chain([Event::CheckpointTaken { id, triggers, phase, name: None }]).collect()
}

/// The same trouble again is no news.
pub(super) fn mirrored(run: &Run, told: &[MirrorTold]) -> Vec<Event> {
    let news = told.iter().filter(|told| run.mirror_trouble(&told.path) != Some(told.what.as_str()));
    news.map(|told| Event::MirrorTroubled { path: told.path.clone(), what: told.what.clone() }).collect()
}
