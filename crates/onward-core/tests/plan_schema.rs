//! The schema that editors read is made from the checker's tables, is kept in the repository, and accepts the samples.

use onward_core::diagnostic::render;
use onward_core::plan::{json_schema, parse};
use serde_json::Value;

const SAMPLES: &[(&str, &str)] = &[
    ("feature.yaml", include_str!("../../../fixtures/plans/feature.yaml")),
    ("nightly.yaml", include_str!("../../../fixtures/plans/nightly.yaml")),
    ("everything.json", include_str!("../../../fixtures/plans/everything.json")),
];

#[test]
fn samples_are_right() {
    for (name, text) in SAMPLES {
        let parsed = parse(text);
        assert!(parsed.plan.is_some(), "{}", render(name, text, &parsed.diagnostics));
    }
}

/// `UPDATE_SCHEMAS=1` writes the file anew.
#[test]
#[expect(clippy::disallowed_methods, reason = "the test compares a file of the repository; core itself touches none")]
fn the_schema_in_the_repository_is_the_one_made() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas/plan.json");
    let made = format!("{:#}\n", json_schema());
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        std::fs::write(path, &made).expect("the folder of schemas can be written");
    }
    let kept = std::fs::read_to_string(path).expect("schemas/plan.json is there");
    assert_eq!(kept, made, "schemas/plan.json is out of date: run the tests with UPDATE_SCHEMAS=1");
}

#[test]
fn the_schema_accepts_the_sample_and_refuses_slips() {
    let schema = json_schema();
    let sample: Value = serde_json::from_str(SAMPLES[2].1).expect("it is JSON");
    assert_eq!(misfit(&schema, &schema, &sample), None);
    let slips = [
        ("/onward", serde_json::json!(2)),
        ("/max-parallel", serde_json::json!("two")),
        ("/on-failure", serde_json::json!("explode")),
        ("/phases/1.1/needs", serde_json::json!({ "phas": "x" })),
        ("/phases/ask", serde_json::json!({ "run": "x", "uses": "y" })),
        ("/phases/ask", serde_json::json!({ "name": "x" })),
    ];
    for (pointer, slip) in slips {
        let mut wrong = sample.clone();
        let (parent, key) = pointer.rsplit_once('/').expect("a pointer has a slash");
        wrong.pointer_mut(parent).expect("the parent is there")[key] = slip;
        assert!(misfit(&schema, &schema, &wrong).is_some(), "{pointer}");
    }
}

/// Just enough of JSON Schema for the words our own schema uses; patterns of texts are taken to fit.
fn misfit(root: &Value, schema: &Value, value: &Value) -> Option<String> {
    if let Some(name) = schema["$ref"].as_str() {
        return misfit(root, root.pointer(name.trim_start_matches('#')).expect("the definition is there"), value);
    }
    let fits = |schema: &&Value| misfit(root, schema, value).is_none();
    let count = |key: &str| schema[key].as_array().map(|list| list.iter().filter(fits).count());
    let right = type_fits(&schema["type"], value)
        && schema.get("const").is_none_or(|only| only == value)
        && schema["enum"].as_array().is_none_or(|words| words.contains(value))
        && schema["minimum"].as_f64().is_none_or(|min| value.as_f64().is_none_or(|number| number >= min))
        && count("anyOf").is_none_or(|count| count > 0)
        && count("oneOf").is_none_or(|count| count == 1)
        && schema["required"]
            .as_array()
            .is_none_or(|keys| keys.iter().all(|key| !value[key.as_str().unwrap_or("")].is_null()));
    if !right {
        return Some(format!("{value} against {schema}"));
    }
    match value {
        Value::Array(items) => items.iter().find_map(|item| misfit(root, &schema["items"], item)),
        Value::Object(map) => map.iter().find_map(|(key, value)| misfit(root, of_key(schema, key)?, value)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

fn of_key<'a>(schema: &'a Value, key: &str) -> Option<&'a Value> {
    let listed = schema["properties"].get(key);
    let patterns = schema["patternProperties"].as_object();
    let by_pattern =
        patterns.and_then(|patterns| patterns.iter().find(|(pattern, _)| *pattern != "^x-" || key.starts_with("x-")));
    listed.or(by_pattern.map(|(_, schema)| schema)).or_else(|| schema.get("additionalProperties"))
}

fn type_fits(kind: &Value, value: &Value) -> bool {
    let is = |name: &str| match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("the schema uses the type {other}"),
    };
    match kind {
        Value::String(name) => is(name),
        Value::Array(names) => names.iter().filter_map(Value::as_str).any(is),
        _ => true,
    }
}
