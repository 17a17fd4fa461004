//! The schemas in `schemas/` are what the binary prints. To write them anew: `UPDATE_SCHEMAS=1 cargo test --test schemas`.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

const NAMES: [&str; 3] = ["event", "checkpoint", "output"];

fn printed(words: &[&str]) -> String {
    let done = Command::new(env!("CARGO_BIN_EXE_onward")).args(words).output().expect("the binary starts");
    assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).expect("it prints UTF-8")
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas").join(format!("{name}.json"))
}

/// A type was changed and its schema was not: whoever checks our output against it would be told lies.
#[test]
fn the_files_are_what_the_binary_prints() {
    for name in NAMES {
        let schema = printed(&["schema", name]);
        if std::env::var_os("UPDATE_SCHEMAS").is_some() {
            std::fs::write(file(name), &schema).expect("the schema can be written");
        }
        let kept = std::fs::read_to_string(file(name)).unwrap_or_default();
        assert!(
            kept == schema,
            "schemas/{name}.json differs from `onward schema {name}`: write it anew and look at the change"
        );
    }
}

/// Every reference leads somewhere, and every schema says what it is about.
#[test]
fn every_schema_holds_together() {
    for name in printed(&["schema"]).lines() {
        let schema: Value = serde_json::from_str(&printed(&["schema", name])).expect("a schema is JSON");
        assert!(schema["title"].is_string(), "{name} has no title");
        let mut references = Vec::new();
        collect(&schema, &mut references);
        for reference in references {
            let pointer = reference.trim_start_matches('#');
            assert!(schema.pointer(pointer).is_some(), "{name} names {reference}, which is not there");
        }
    }
}

fn collect(value: &Value, references: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            references.extend(fields.get("$ref").and_then(Value::as_str).map(str::to_owned));
            fields.values().for_each(|field| collect(field, references));
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, references)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
