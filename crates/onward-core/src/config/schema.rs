//! The JSON Schema of the configuration file, for editors: made from the same tables that the checker reads.

use serde_json::{Map, Value, json};

use crate::plan::shape::{Keys, NameRule, Shape};

use super::defaults::{DEFAULTS, Preset};
use super::keys::CONFIG;

const DURATION: &str = r"^\s*([0-9]+(\.[0-9]+)?\s*(ms|s|m|h|d|w)\s*)+$";

/// Draft-07, which the editors of today read.
pub fn schema() -> Value {
    let mut schema = Map::new();
    schema.insert("$schema".into(), json!("http://json-schema.org/draft-07/schema#"));
    schema.insert("title".into(), json!("A configuration of onward"));
    if let Value::Object(config) = of_keys(&CONFIG, "") {
        schema.extend(config);
    }
    Value::Object(schema)
}

fn of_keys(keys: &'static Keys, prefix: &str) -> Value {
    let mut properties = Map::new();
    for field in keys.fields {
        let key = format!("{prefix}{}", field.key);
        let mut value = of(&field.shape, &key);
        if let Value::Object(map) = &mut value {
            map.insert("description".into(), json!(field.about));
            map.extend(default_of(&key).map(|default| ("default".to_owned(), default)));
        }
        properties.insert(field.key.into(), value);
    }
    // A group whose keys are all commented out is nothing, and right.
    json!({ "type": ["object", "null"], "properties": properties, "additionalProperties": false })
}

fn default_of(key: &str) -> Option<Value> {
    let (_, preset) = DEFAULTS.iter().find(|(known, _)| *known == key)?;
    match preset {
        Preset::Unset => None,
        Preset::Flag(_) | Preset::Count(_) | Preset::Word(_) | Preset::NoItems | Preset::NoEntries => {
            Some(preset.value())
        }
    }
}

/// The shapes that configurations have; what only plans have may be anything.
fn of(shape: &Shape, key: &str) -> Value {
    match shape {
        Shape::Line => json!({ "type": ["string", "number", "boolean"] }),
        Shape::Boolean => json!({ "type": "boolean" }),
        Shape::Integer { min, max } => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Shape::Duration => json!({ "type": "string", "pattern": DURATION }),
        Shape::Choice(words) => json!({ "enum": words }),
        Shape::OneOrMany(item) => json!({ "anyOf": [of(item, key), { "type": "array", "items": of(item, key) }] }),
        Shape::Mapping(keys) => of_keys(keys, &format!("{key}.")),
        Shape::Table(NameRule::Free, value) => json!({ "type": "object", "additionalProperties": of(value, key) }),
        Shape::Table(rule, value) => {
            let named = json!({ rule.pattern(): of(value, key) });
            json!({ "type": ["object", "null"], "patternProperties": named, "additionalProperties": false })
        }
        Shape::Either(shapes) => json!({ "anyOf": shapes.iter().map(|shape| of(shape, key)).collect::<Vec<_>>() }),
        Shape::Format
        | Shape::Text
        | Shape::Template
        | Shape::Path
        | Shape::Command
        | Shape::Words
        | Shape::Condition
        | Shape::Word
        | Shape::PhaseId
        | Shape::Number
        | Shape::Size
        | Shape::Rate
        | Shape::Pattern
        | Shape::ChoiceBut(_, _, _)
        | Shape::List(_)
        | Shape::Anything => json!({}),
    }
}
