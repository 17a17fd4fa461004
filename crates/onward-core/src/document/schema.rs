//! JSON Schemas for editors, made from the tables that the checker reads.

use serde_json::{Map, Value, json};

use super::reference::preset;
use super::shape::{Keys, NameRule, PHASE_ID_PATTERN, Preset, Rest, Shape};

const DURATION: &str = r"^\s*([0-9]+(\.[0-9]+)?\s*(ms|s|m|h|d|w)\s*)+$";
const SIZE: &str = r"^\s*[0-9]+(\.[0-9]+)?\s*([KMGT]i?)?B\s*$";
const RATE: &str = r"^\s*[0-9]+\s*/\s*([0-9]+(\.[0-9]+)?\s*(ms|s|m|h|d|w)\s*)+$";

/// Whether a mapping may be there with nothing in it, as it is when all its keys are commented out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Empty {
    Refused,
    Allowed,
}

/// Draft-07, which the editors of today read. `shared` is a mapping that stands in several places: it is written once.
pub(crate) fn schema(title: &str, root: &'static Keys, shared: Option<(&str, &'static Keys)>, empty: Empty) -> Value {
    let writer = Writer { shared, empty };
    let mut schema = Map::new();
    schema.insert("$schema".into(), json!("http://json-schema.org/draft-07/schema#"));
    schema.insert("title".into(), json!(title));
    if let Value::Object(root) = writer.of_keys(root) {
        schema.extend(root);
    }
    if let Some((name, keys)) = shared {
        schema.insert("definitions".into(), json!({ name: writer.of_keys(keys) }));
    }
    Value::Object(schema)
}

struct Writer<'a> {
    shared: Option<(&'a str, &'static Keys)>,
    empty: Empty,
}

impl Writer<'_> {
    fn of_keys(&self, keys: &'static Keys) -> Value {
        let mut properties = Map::new();
        for field in keys.fields {
            let mut value = self.schema_of(&field.shape);
            if let Value::Object(map) = &mut value {
                map.insert("description".into(), json!(field.about));
                if field.default != Preset::Unset {
                    map.insert("default".into(), preset(field));
                }
            }
            properties.insert(field.key.into(), value);
        }
        let required: Vec<&str> = keys.fields.iter().filter(|field| field.required).map(|field| field.key).collect();
        let mut map = Map::new();
        map.insert("type".into(), self.object());
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
            Rest::Names(_, shape) => drop(map.insert("additionalProperties".into(), self.schema_of(shape))),
        }
        if !keys.one_of.is_empty() {
            let one = keys.one_of.iter().map(|key| json!({ "required": [key] })).collect::<Vec<_>>();
            map.insert("oneOf".into(), json!(one));
        }
        Value::Object(map)
    }

    fn object(&self) -> Value {
        match self.empty {
            Empty::Refused => json!("object"),
            Empty::Allowed => json!(["object", "null"]),
        }
    }

    fn schema_of(&self, shape: &Shape) -> Value {
        match shape {
            Shape::Format => json!({ "const": 1 }),
            // Taken as written, so `no`, `1.10` and `null` are texts too.
            Shape::Text | Shape::Template => json!({ "type": ["string", "number", "boolean", "null"] }),
            Shape::Line | Shape::Path | Shape::PhaseId => json!({ "type": ["string", "number", "boolean"] }),
            Shape::Condition => json!({ "type": ["string", "boolean"] }),
            Shape::Command | Shape::Words | Shape::Pattern => json!({ "type": ["string", "boolean"], "minLength": 1 }),
            Shape::Tool => json!({ "type": "string", "minLength": 1 }),
            Shape::Word => json!({ "type": ["string", "number"], "pattern": PHASE_ID_PATTERN }),
            Shape::Boolean => json!({ "type": "boolean" }),
            Shape::Integer { min, max } if *max == i64::MAX => json!({ "type": "integer", "minimum": min }),
            Shape::Integer { min, max } => json!({ "type": "integer", "minimum": min, "maximum": max }),
            Shape::Number => json!({ "type": "number", "minimum": 0 }),
            Shape::Duration => json!({ "type": "string", "pattern": DURATION }),
            Shape::Size => json!({ "type": "string", "pattern": SIZE }),
            Shape::Rate => json!({ "type": "string", "pattern": RATE }),
            Shape::Choice(words) | Shape::ChoiceBut(words, _, _) => json!({ "enum": words }),
            Shape::List(item) => json!({ "type": "array", "items": self.schema_of(item) }),
            Shape::OneOrMany(item) => {
                json!({ "anyOf": [self.schema_of(item), { "type": "array", "items": self.schema_of(item) }] })
            }
            Shape::Mapping(keys) => match self.shared {
                Some((name, shared)) if shared.what == keys.what => json!({ "$ref": format!("#/definitions/{name}") }),
                Some(_) | None => self.of_keys(keys),
            },
            Shape::Table(NameRule::Free, value) => {
                json!({ "type": "object", "additionalProperties": self.schema_of(value) })
            }
            Shape::Table(rule, value) => {
                let named = json!({ rule.pattern(): self.schema_of(value) });
                json!({ "type": self.object(), "patternProperties": named, "additionalProperties": false })
            }
            Shape::Either(shapes) => {
                json!({ "anyOf": shapes.iter().map(|shape| self.schema_of(shape)).collect::<Vec<_>>() })
            }
            Shape::Anything => json!({}),
        }
    }
}
