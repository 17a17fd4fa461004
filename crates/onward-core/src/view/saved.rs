//! Progress that a saved state tells of itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::run::Run;

/// How far a saved state says that its work is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SavedProgress {
    /// The phase in hand, as the state names it.
    pub current: Option<String>,
    pub total: usize,
    pub completed: usize,
}

/// The progress of a run that has no phases of its own, where its state tells one.
pub fn saved_progress(run: &Run) -> Option<SavedProgress> {
    let state = run.state.as_object().filter(|_| run.phases_total() == 0)?;
    let total = usize::try_from(state.get("total_phases")?.as_u64()?).ok()?;
    let completed = state.get("completed_phases").and_then(serde_json::Value::as_array).map_or(0, Vec::len);
    let current = state.get("current_phase").filter(|current| !current.is_null());
    let current = current.map(|current| current.as_str().map_or_else(|| current.to_string(), str::to_owned));
    Some(SavedProgress { current, total, completed })
}
