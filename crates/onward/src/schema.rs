//! The JSON Schemas of what onward reads and prints: made from the types and tables that do it, so that they cannot lie.

use clap::ValueEnum;
use onward_core::checkpoint::Checkpoint;
use onward_core::event::Event;
use onward_core::view::{PhaseRecord, StatusView, WillRun};
use onward_core::{config, formats, plan};
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value, json};

use crate::args::SchemaName;

/// A schema as it stands in `schemas/`.
pub(crate) fn written(name: SchemaName) -> String {
    let value = match name {
        SchemaName::Plan => plan::json_schema(),
        SchemaName::Config => config::json_schema(),
        SchemaName::Event => event(),
        SchemaName::Checkpoint => checkpoint(),
        SchemaName::Output => output(),
        SchemaName::Workflow
        | SchemaName::PipelineState
        | SchemaName::Crunch
        | SchemaName::CrunchIndex
        | SchemaName::Checkpoint10
        | SchemaName::Checkpoint11
        | SchemaName::Checkpoint12
        | SchemaName::Checkpoint13
        | SchemaName::Checkpoint20
        | SchemaName::Checkpoint21 => {
            let name = name.to_possible_value().expect("no name of a schema is hidden");
            formats::schema(name.get_name()).expect("each of these names is that of a format")
        }
    };
    let text = serde_json::to_string_pretty(&value).expect("schemas have only text keys");
    format!("{text}\n")
}

/// Draft-07, which the editors of today read.
fn generator() -> SchemaGenerator {
    SchemaSettings::draft07().into_generator()
}

fn document(title: &str, body: Value, generator: &mut SchemaGenerator) -> Value {
    let mut schema = Map::new();
    schema.insert("$schema".to_owned(), json!("http://json-schema.org/draft-07/schema#"));
    schema.insert("title".to_owned(), json!(title));
    if let Value::Object(body) = body {
        schema.extend(body.into_iter().filter(|(key, _)| key != "$schema" && key != "title"));
    }
    let mut definitions = generator.take_definitions(true);
    if let Some(Value::Object(own)) = schema.shift_remove("definitions") {
        definitions.extend(own);
    }
    schema.insert("definitions".to_owned(), Value::Object(definitions));
    Value::Object(schema)
}

fn checkpoint() -> Value {
    let mut generator = generator();
    let body = generator.root_schema_for::<Checkpoint>().to_value();
    document("A checkpoint of onward", body, &mut generator)
}

/// An entry of the journal as `log --events --json` prints it.
fn event() -> Value {
    let mut generator = generator();
    let mut body = generator.root_schema_for::<Event>().to_value();
    body["type"] = json!("object");
    body["properties"] = json!({
        "seq": { "type": "integer", "minimum": 1, "description": "The position in the journal." },
        "at": { "type": "string", "format": "date-time" },
        "actor": { "type": "string", "description": "By whose hand it happened." },
        "type": { "type": "string" },
    });
    body["required"] = json!(["seq", "at", "actor", "type"]);
    document("An event of onward", body, &mut generator)
}

/// The `--json` output of the verbs: a definition for each.
fn output() -> Value {
    let mut generator = generator();
    let status = generator.subschema_for::<StatusView>();
    let why = generator.subschema_for::<WillRun>();
    let phase = generator.subschema_for::<PhaseRecord>();
    let mut verbs = vec![("status", status.to_value()), ("why", why.to_value()), ("phase-record", phase.to_value())];
    verbs.extend(by_hand());
    let verbs: Map<String, Value> =
        verbs.into_iter().map(|(name, schema)| (format!("onward-{name}"), schema)).collect();
    let any: Vec<Value> = verbs.keys().map(|name| json!({ "$ref": format!("#/definitions/{name}") })).collect();
    let body = json!({
        "description": "What `onward VERB --json` prints. Fields may be added, never renamed.",
        "anyOf": any,
        "definitions": verbs,
    });
    document("JSON output of onward", body, &mut generator)
}

/// Answers that are put together where they are printed.
fn by_hand() -> Vec<(&'static str, Value)> {
    vec![
        ("list", answer(&[("runs", list_of(list_item())), ("warnings", list_of(text()))])),
        ("log", answer(&[("run", text()), ("checkpoints", list_of(log_item())), ("warnings", list_of(text()))])),
        ("log-events", answer(&[("run", text()), ("events", list_of(json!({ "type": "object" })))])),
        ("check", check()),
        (
            "dry-run",
            answer(&[
                ("phases", list_of(answer(&[("id", text()), ("will_run", flag()), ("reason", text())]))),
                ("notes", list_of(text())),
            ]),
        ),
        (
            "doctor",
            answer(&[("ok", flag()), ("findings", list_of(texts(&["code", "severity", "path", "message", "help"])))]),
        ),
        (
            "doctor-repair",
            answer(&[
                ("ok", flag()),
                ("findings", list_of(texts(&["code", "severity", "path", "message", "help"]))),
                ("repaired", list_of(texts(&["code", "path", "message"]))),
                ("aside", or_null(text())),
            ]),
        ),
        ("prune", answer(&[("delete", list_of(kept())), ("keep", list_of(kept())), ("bytes_freed", count())])),
        ("error", answer(&[("error", error())])),
        ("error-line", answer(&[("type", json!({ "const": "error" })), ("error", error())])),
        ("exit", exit()),
        ("question", question()),
        ("refusal", refusal()),
    ]
}

fn list_item() -> Value {
    answer(&[
        ("run", text()),
        ("type", text()),
        ("project", text()),
        ("title", text()),
        ("plan", text()),
        ("status", text()),
        ("created_at", or_null(time())),
        ("updated_at", or_null(time())),
        ("phases_total", count()),
        ("phases_completed", count()),
        ("phases_skipped", count()),
        ("branch", or_null(text())),
        ("resumable", flag()),
        ("error", or_null(text())),
        ("findings", list_of(text())),
        ("asks", list_of(texts(&["phase", "asks"]))),
    ])
}

fn log_item() -> Value {
    answer(&[
        ("id", text()),
        ("seq", count()),
        ("trigger", text()),
        ("triggers", list_of(text())),
        ("phase", or_null(text())),
        ("created_at", or_null(time())),
        ("name", or_null(text())),
        ("can_resume", flag()),
        ("bytes", count()),
        ("snapshot", or_null(text())),
    ])
}

fn check() -> Value {
    let phase = answer(&[
        ("id", text()),
        ("name", text()),
        ("kind", text()),
        ("needs", list_of(text())),
        ("status", text()),
        ("tasks_total", count()),
        ("tasks_done", count()),
    ]);
    let diagnostic = answer(&[
        ("code", text()),
        ("severity", json!({ "enum": ["error", "warning"] })),
        ("message", text()),
        ("line", or_null(count())),
        ("column", or_null(count())),
        ("help", text()),
    ]);
    let mut schema = answer(&[("valid", flag()), ("phases", list_of(phase)), ("diagnostics", list_of(diagnostic))]);
    schema["properties"]["batches"] = list_of(list_of(text()));
    schema
}

fn kept() -> Value {
    answer(&[
        ("id", text()),
        ("item", json!({ "enum": ["run", "checkpoint"] })),
        ("run", text()),
        ("reason", text()),
        ("bytes", count()),
    ])
}

fn exit() -> Value {
    answer(&[
        ("type", json!({ "const": "exit" })),
        ("code", count()),
        ("run", or_null(text())),
        ("resumable", flag()),
        ("resume", or_null(text())),
        ("retry_at", or_null(time())),
    ])
}

fn error() -> Value {
    answer(&[
        ("code", text()),
        ("exit", count()),
        ("message", text()),
        ("details", list_of(text())),
        ("kept", text()),
        ("next", list_of(text())),
        ("run", or_null(text())),
        ("choices", list_of(texts(&["choice", "command"]))),
        ("raw", or_null(text())),
        ("retry_at", or_null(time())),
    ])
}

fn refusal() -> Value {
    answer(&[
        ("type", json!({ "const": "refusal" })),
        ("run", or_null(text())),
        ("reasons", list_of(text())),
        ("findings", list_of(texts(&["kind", "message"]))),
    ])
}

fn question() -> Value {
    answer(&[
        ("type", json!({ "const": "question" })),
        ("run", or_null(text())),
        ("reasons", list_of(text())),
        ("choices", list_of(texts(&["choice", "command"]))),
        ("findings", list_of(texts(&["kind", "message"]))),
    ])
}

/// An object that has all of these.
fn answer(fields: &[(&str, Value)]) -> Value {
    let required: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    let properties: Map<String, Value> =
        fields.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    json!({ "type": "object", "properties": properties, "required": required })
}

fn texts(names: &[&str]) -> Value {
    answer(&names.iter().map(|name| (*name, text())).collect::<Vec<_>>())
}

fn text() -> Value {
    json!({ "type": "string" })
}

fn time() -> Value {
    json!({ "type": "string", "format": "date-time" })
}

fn flag() -> Value {
    json!({ "type": "boolean" })
}

fn count() -> Value {
    json!({ "type": "integer", "minimum": 0 })
}

fn list_of(item: Value) -> Value {
    Value::Object(Map::from_iter([("type".to_owned(), json!("array")), ("items".to_owned(), item)]))
}

fn or_null(schema: Value) -> Value {
    Value::Object(Map::from_iter([("anyOf".to_owned(), Value::Array(vec![schema, json!({ "type": "null" })]))]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use onward_core::id::{CheckpointId, RunId};
    use onward_engine::{ListItem, LogItem};
    use serde::Serialize;

    #[track_caller]
    fn has_exactly(schema: &Value, value: &impl Serialize) {
        let value = serde_json::to_value(value).expect("it has only text keys");
        let printed: Vec<&String> = value.as_object().expect("an object").keys().collect();
        let promised: Vec<&String> = schema["properties"].as_object().expect("an object").keys().collect();
        assert_eq!(printed, promised);
    }

    /// A field was added to what is printed and not to what is promised, or the other way round.
    #[test]
    fn answers_that_are_described_by_hand_have_the_fields_that_are_promised() {
        let (none, no_time) = (String::new, None);
        let item = ListItem {
            run: RunId::new("r"),
            kind: none(),
            project: none(),
            title: none(),
            plan: none(),
            status: none(),
            created_at: no_time,
            updated_at: no_time,
            phases_total: 0,
            phases_completed: 0,
            phases_skipped: 0,
            counted: onward_core::run::counting::PhasesCounted::default(),
            branch: None,
            resumable: false,
            error: None,
            saved: None,
            findings: Vec::new(),
            asks: Vec::new(),
        };
        has_exactly(&list_item(), &item);
        let item = LogItem {
            id: CheckpointId::new("CP-1"),
            seq: 1,
            trigger: none(),
            triggers: Vec::new(),
            phase: None,
            created_at: no_time,
            name: None,
            can_resume: true,
            bytes: 0,
            snapshot: None,
            damage: None,
        };
        has_exactly(&log_item(), &item);
        has_exactly(&exit(), &crate::render::run::ExitLine::usage(2));
        let failure = crate::failure::Failure::usage("it cannot be");
        has_exactly(&error(), crate::render::failure::ErrorJson::new(&failure).about());
    }
}
