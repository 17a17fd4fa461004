//! The JSON Schemas of the formats, one for each schema version of the checkpoint form.

use serde_json::{Value, json};

use super::schema_versions::SCHEMA_VERSIONS;
use crate::checkpoint::FileFormat;

const WORKFLOW: &str = include_str!("schemas/workflow.json");
const CHECKPOINT: &str = include_str!("schemas/checkpoint.json");
const PIPELINE_STATE: &str = include_str!("schemas/pipeline-state.json");
const CRUNCH: &str = include_str!("schemas/crunch.json");
const CRUNCH_INDEX: &str = include_str!("schemas/crunch-index.json");

/// Members that a schema version added, and that are required from it on.
const ADDED: [(&str, &[&str]); 6] = [
    ("1.0", &[]),
    ("1.1", &["replanning_count", "last_replan_reason", "replan_phase_counts", "replan_history"]),
    ("1.2", &["debug_report_path", "user_last_choice", "debug_iteration_count"]),
    (
        "1.3",
        &[
            "topic_directory",
            "topic_number",
            "template_source",
            "template_variables",
            "context_preservation",
            "spec_maintenance",
        ],
    ),
    ("2.0", &["state_machine", "phase_data", "supervisor_state", "error_state"]),
    ("2.1", &[]),
];

/// The names under which these schemas are asked for.
pub fn schema_names() -> Vec<String> {
    let versions = SCHEMA_VERSIONS.iter().map(|version| format!("checkpoint-{version}"));
    let others = ["workflow", "pipeline-state", "crunch", "crunch-index"].map(str::to_owned);
    versions.chain(others).collect()
}

/// The schema of this name.
pub fn schema(name: &str) -> Option<Value> {
    let text = match name {
        "workflow" => WORKFLOW,
        "pipeline-state" => PIPELINE_STATE,
        "crunch" => CRUNCH,
        "crunch-index" => CRUNCH_INDEX,
        other => return other.strip_prefix("checkpoint-").and_then(checkpoint),
    };
    Some(parsed(text))
}

/// The schema of the version of a format that we write.
pub(super) fn written(format: FileFormat) -> Value {
    match format {
        FileFormat::Workflow => parsed(WORKFLOW),
        FileFormat::PipelineState => parsed(PIPELINE_STATE),
        FileFormat::Crunch => parsed(CRUNCH),
        FileFormat::Checkpoint => {
            checkpoint(SCHEMA_VERSIONS[SCHEMA_VERSIONS.len() - 1]).expect("the newest version has a schema")
        }
    }
}

fn checkpoint(version: &str) -> Option<Value> {
    let at = ADDED.iter().position(|(known, _)| *known == version)?;
    let mut schema = parsed(CHECKPOINT);
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let added = ADDED[..=at].iter().flat_map(|(_, added)| added.iter()).map(|key| json!(key));
    schema["required"] = required.into_iter().chain(added).collect();
    if at > 0 {
        schema["properties"]["schema_version"] = json!({"type": "string", "enum": [version]});
        if let Some(required) = schema["required"].as_array_mut() {
            required.push(json!("schema_version"));
        }
    }
    if version == "2.1" {
        let machine = schema["properties"]["state_machine"]["required"].as_array_mut();
        if let Some(required) = machine {
            required.push(json!("classification"));
        }
    }
    Some(schema)
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).expect("our own schema is JSON")
}
