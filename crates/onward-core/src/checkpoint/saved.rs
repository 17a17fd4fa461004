//! A saved state as scripts read it back: flat, with the fields at the top that every such state has.

use serde_json::{Map, Value, json};

use super::model::Checkpoint;
use crate::formats::counted_fields;
use crate::run::RunStatus;

/// Fields that stand at the top where the state has them, else where the run has phases that say it.
const LIFTED: [(&str, &str); 6] = [
    ("workflow_description", "null"),
    ("status", "null"),
    ("current_phase", "null"),
    ("total_phases", "null"),
    ("completed_phases", "[]"),
    ("last_error", "null"),
];

/// The JSON that `load` prints.
pub fn saved_form(checkpoint: &Checkpoint) -> Value {
    let mut form = Map::new();
    form.insert("checkpoint_id".to_owned(), json!(checkpoint.run));
    form.insert("workflow_type".to_owned(), json!(checkpoint.kind));
    form.insert("created_at".to_owned(), json!(checkpoint.run_created_at));
    form.insert("updated_at".to_owned(), json!(checkpoint.updated_at));
    let counted = counted_fields(checkpoint);
    for (name, otherwise) in LIFTED {
        let default = || serde_json::from_str(otherwise).expect("a constant");
        let told = checkpoint.state.get(name).or_else(|| counted.get(name));
        form.insert(name.to_owned(), told.cloned().unwrap_or_else(default));
    }
    if form["status"].is_null() {
        form.insert("status".to_owned(), json!(status_word(checkpoint.status)));
    }
    let mut state = checkpoint.state.clone();
    // What the script itself says about it stays.
    state.entry("project_name").or_insert_with(|| json!(checkpoint.project));
    form.insert("workflow_state".to_owned(), Value::Object(state));
    Value::Object(form)
}

fn status_word(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Completed => "completed",
        RunStatus::Failed => "failed",
        RunStatus::Running | RunStatus::Paused | RunStatus::Waiting | RunStatus::Interrupted | RunStatus::Archived => {
            "in_progress"
        }
    }
}
