//! The schema versions of the checkpoint form, and the steps from each to the next. A step adds what is missing and changes nothing
//! that is there.

use serde_json::{Map, Value, json};

use super::model::BadFile;

/// From the oldest to the newest.
pub const SCHEMA_VERSIONS: [&str; 6] = ["1.0", "1.1", "1.2", "1.3", "2.0", "2.1"];

/// Phase numbers as states, from 0.
const STATES: [&str; 8] = ["initialize", "research", "plan", "implement", "test", "debug", "document", "complete"];

/// The version that a document is in: one that says none is of the first.
pub(super) fn version(document: &Map<String, Value>) -> Result<String, BadFile> {
    let text = match document.get("schema_version") {
        None | Some(Value::Null) => return Ok(SCHEMA_VERSIONS[0].to_owned()),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        Some(other) => return Err(BadFile::Damaged(format!("`schema_version` is {other}"))),
    };
    if SCHEMA_VERSIONS.contains(&text.as_str()) {
        return Ok(text);
    }
    let parts = |text: &str| -> Option<(u64, u64)> {
        let (major, minor) = text.split_once('.').unwrap_or((text, "0"));
        Some((major.parse().ok()?, minor.parse().ok()?))
    };
    let newest = parts(SCHEMA_VERSIONS[SCHEMA_VERSIONS.len() - 1]);
    match parts(&text) {
        Some(found) if Some(found) > newest => Err(BadFile::Newer(text)),
        Some(_) | None => Err(BadFile::Damaged(format!("`schema_version` is {text}, which there never was"))),
    }
}

/// The document in the newest version.
pub fn upgraded(mut document: Map<String, Value>) -> Result<Map<String, Value>, BadFile> {
    let from = version(&document)?;
    let at = SCHEMA_VERSIONS.iter().position(|known| *known == from).expect("the version is known");
    for step in &SCHEMA_VERSIONS[at + 1..] {
        match *step {
            "1.1" => add(&mut document, replans()),
            "1.2" => add(&mut document, debugging()),
            "1.3" => topics(&mut document),
            "2.0" => states(&mut document),
            _ => classify(&mut document),
        }
        document.insert("schema_version".to_owned(), json!(step));
    }
    document.entry("schema_version").or_insert_with(|| json!(from));
    Ok(document)
}

fn add(document: &mut Map<String, Value>, more: Value) {
    let Value::Object(more) = more else { return };
    for (key, value) in more {
        document.entry(key).or_insert(value);
    }
}

fn replans() -> Value {
    json!({"replanning_count": 0, "last_replan_reason": null, "replan_phase_counts": {}, "replan_history": []})
}

fn debugging() -> Value {
    json!({"debug_report_path": null, "user_last_choice": null, "debug_iteration_count": 0})
}

fn topics(document: &mut Map<String, Value>) {
    let state = document.get("workflow_state").cloned().unwrap_or_default();
    for key in ["topic_directory", "topic_number", "template_source", "template_variables"] {
        let value = state.get(key).cloned().unwrap_or_default();
        document.entry(key).or_insert(value);
    }
    add(
        document,
        json!({
            "context_preservation": {"pruning_log": [], "artifact_metadata_cache": {}, "subagent_output_references": []},
            "spec_maintenance": {
                "parent_plan_path": null,
                "grandparent_plan_path": null,
                "spec_updater_invocations": [],
                "checkbox_propagation_log": [],
            },
        }),
    );
}

/// The state that a phase number stands for; none for what is no such number. That all is done is a state, too.
pub(super) fn state_of(number: &Value) -> Option<&'static str> {
    if number.is_null() {
        return STATES.last().copied();
    }
    usize::try_from(number.as_u64()?).ok().and_then(|at| STATES.get(at)).copied()
}

fn states(document: &mut Map<String, Value>) {
    let member = |key: &str| document.get(key).cloned().unwrap_or_default();
    let completed = member("completed_phases");
    let completed: Vec<&str> = completed.as_array().into_iter().flatten().filter_map(state_of).collect();
    let description = member("workflow_description");
    let project = match member("project_name") {
        Value::Null => member("workflow_state").get("project_name").cloned().unwrap_or_default(),
        told => told,
    };
    let more = json!({
        "state_machine": {
            "current_state": state_of(&member("current_phase")),
            "completed_states": completed,
            "transition_table": transitions(),
            "workflow_config": {
                "scope": scope(description.as_str().unwrap_or_default()),
                "description": description,
                "command": member("workflow_type"),
            },
        },
        "phase_data": {},
        "supervisor_state": {},
        "error_state": {"last_error": member("last_error"), "retry_count": 0, "failed_state": null},
        "metadata": {
            "checkpoint_id": member("checkpoint_id"),
            "project_name": project,
            "created_at": member("created_at"),
            "updated_at": member("updated_at"),
        },
    });
    add(document, more);
}

fn transitions() -> Value {
    json!({
        "initialize": "research,implement",
        "research": "plan,complete",
        "plan": "implement,complete",
        "implement": "test",
        "test": "debug,document",
        "debug": "test,complete",
        "document": "complete",
        "complete": "",
    })
}

/// The kind of work that a description tells of; the first that fits.
fn scope(description: &str) -> &'static str {
    let text = description.to_lowercase();
    if text.starts_with("research") && !text.contains("plan") && !text.contains("implement") {
        return "research-only";
    }
    if leads_to_a_plan(&text) {
        return "research-and-plan";
    }
    let debugs = ["fix", "debug", "troubleshoot"].iter().any(|word| text.contains(word));
    if debugs { "debug-only" } else { "full-implementation" }
}

/// `research` or `analyze`, then one of three words, then `plan`.
fn leads_to_a_plan(text: &str) -> bool {
    let begin = ["research", "analyze"].iter().filter_map(|word| text.find(word).map(|at| at + word.len())).min();
    let Some(rest) = begin.map(|at| &text[at..]) else { return false };
    let is_word = |at: usize, word: &str| {
        let apart = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && c != '_');
        apart(rest[..at].chars().next_back()) && apart(rest[at + word.len()..].chars().next())
    };
    let joined = ["to", "and", "for"].iter().flat_map(|word| {
        rest.match_indices(word).filter(|(at, _)| is_word(*at, word)).map(|(at, word)| at + word.len())
    });
    joined.min().is_some_and(|at| rest[at..].contains("plan"))
}

fn classify(document: &mut Map<String, Value>) {
    let Some(machine) = document.get_mut("state_machine").and_then(Value::as_object_mut) else { return };
    let scope = machine.get("workflow_config").and_then(|config| config.get("scope")).cloned().unwrap_or_default();
    machine.entry("classification").or_insert_with(|| {
        json!({
            "workflow_type": scope,
            "research_complexity": 2,
            "research_topics": [],
            "confidence": 0,
            "reasoning": "taken from the scope of an older version",
            "classified_at": null,
        })
    });
}
