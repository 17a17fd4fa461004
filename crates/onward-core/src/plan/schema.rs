//! The JSON Schema of the plan file, for editors: made from the same tables that the checker reads.

use serde_json::{Map, Value, json};

use super::keys::{PHASE, PLAN};
use super::shape::{Keys, NameRule, PHASE_ID_PATTERN, Rest, Shape};

const DURATION: &str = r"^\s*([0-9]+(\.[0-9]+)?\s*(ms|s|m|h|d|w)\s*)+$";
const SIZE: &str = r"^\s*[0-9]+(\.[0-9]+)?\s*([KMGT]i?)?B\s*$";
const RATE: &str = r"^\s*[0-9]+\s*/\s*([0-9]+(\.[0-9]+)?\s*(ms|s|m|h|d|w)\s*)+$";

/// Draft-07, which the editors of today read.
pub fn schema() -> Value {
    let mut schema = Map::new();
    schema.insert("$schema".into(), json!("http://json-schema.org/draft-07/schema#"));
    schema.insert("title".into(), json!("A plan of onward"));
    if let Value::Object(plan) = of_keys(&PLAN) {
        schema.extend(plan);
    }
    schema.insert("required".into(), json!(["onward", "phases"]));
    schema.insert("definitions".into(), json!({ "phase": of_keys(&PHASE) }));
    Value::Object(schema)
}

fn of_keys(keys: &'static Keys) -> Value {
    let mut properties = Map::new();
    for field in keys.fields {
        let mut value = of(&field.shape);
        if let Value::Object(map) = &mut value {
            map.insert("description".into(), json!(field.about));
        }
        properties.insert(field.key.into(), value);
    }
    let required: Vec<&str> = keys.fields.iter().filter(|field| field.required).map(|field| field.key).collect();
    let mut map = Map::new();
    map.insert("type".into(), json!("object"));
    map.insert("properties".into(), Value::Object(properties));
    if !required.is_empty() {
        map.insert("required".into(), json!(required));
    }
    match keys.rest {
        Rest::Refused => drop(map.insert("additionalProperties".into(), json!(false))),
        Rest::Extensions => {
            map.insert("patternProperties".into(), json!({ "^x-": {} }));
            map.insert("additionalProperties".into(), json!(false));
        }
        Rest::Names(_, shape) => drop(map.insert("additionalProperties".into(), of(shape))),
    }
    if !keys.one_of.is_empty() {
        let one = keys.one_of.iter().map(|key| json!({ "required": [key] })).collect::<Vec<_>>();
        map.insert("oneOf".into(), json!(one));
    }
    Value::Object(map)
}

fn of(shape: &Shape) -> Value {
    match shape {
        Shape::Format => json!({ "const": 1 }),
        // Taken as written, so `no`, `1.10` and `null` are texts too.
        Shape::Text | Shape::Template => json!({ "type": ["string", "number", "boolean", "null"] }),
        Shape::Line | Shape::Path | Shape::PhaseId => json!({ "type": ["string", "number", "boolean"] }),
        Shape::Condition => json!({ "type": ["string", "boolean"] }),
        Shape::Command | Shape::Words | Shape::Pattern => json!({ "type": ["string", "boolean"], "minLength": 1 }),
        Shape::Word => json!({ "type": ["string", "number"], "pattern": PHASE_ID_PATTERN }),
        Shape::Boolean => json!({ "type": "boolean" }),
        Shape::Integer { min, max } if *max == i64::MAX => json!({ "type": "integer", "minimum": min }),
        Shape::Integer { min, max } => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Shape::Number => json!({ "type": "number", "minimum": 0 }),
        Shape::Duration => json!({ "type": "string", "pattern": DURATION }),
        Shape::Size => json!({ "type": "string", "pattern": SIZE }),
        Shape::Rate => json!({ "type": "string", "pattern": RATE }),
        Shape::Choice(words) | Shape::ChoiceBut(words, _, _) => json!({ "enum": words }),
        Shape::List(item) => json!({ "type": "array", "items": of(item) }),
        Shape::OneOrMany(item) => json!({ "anyOf": [of(item), { "type": "array", "items": of(item) }] }),
        Shape::Mapping(keys) if keys.what == PHASE.what => json!({ "$ref": "#/definitions/phase" }),
        Shape::Mapping(keys) => of_keys(keys),
        Shape::Table(NameRule::Free, value) => json!({ "type": "object", "additionalProperties": of(value) }),
        Shape::Table(rule, value) => {
            json!({ "type": "object", "patternProperties": { rule.pattern(): of(value) }, "additionalProperties": false })
        }
        Shape::Either(shapes) => json!({ "anyOf": shapes.iter().map(of).collect::<Vec<_>>() }),
        Shape::Anything => json!({}),
    }
}
