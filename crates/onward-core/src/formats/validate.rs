//! The part of JSON Schema that our own schemas use: what is written is held against it first.

use regex_lite::Regex;
use serde_json::{Map, Value};

use super::fields::time;
use super::model::BadFile;
use super::schemas;
use crate::checkpoint::FileFormat;

/// Refuses a document of ours that other tools would refuse.
pub(super) fn own(document: &Map<String, Value>, format: FileFormat) -> Result<(), BadFile> {
    first_fault(&schemas::written(format), document).map_or(Ok(()), |why| Err(BadFile::Damaged(why)))
}

/// The first thing that is not as a schema says.
fn first_fault(schema: &Value, document: &Map<String, Value>) -> Option<String> {
    fault(schema, &Value::Object(document.clone()), "")
}

fn fault(schema: &Value, value: &Value, at: &str) -> Option<String> {
    let wrong = |what: String| Some(format!("`{}` {what}", at.trim_start_matches('.')));
    if let Some(types) = schema.get("type")
        && !types_of(types).any(|kind| is_of(kind, value))
    {
        return wrong(format!("is no {}", types_of(types).collect::<Vec<_>>().join(" or ")));
    }
    if let Some(allowed) = schema.get("enum").and_then(Value::as_array)
        && !allowed.contains(value)
    {
        return wrong(format!("is {value}"));
    }
    match value {
        Value::Object(map) => in_object(schema, map, at),
        Value::Array(list) => in_list(schema, list, at),
        Value::String(text) => in_text(schema, text).and_then(wrong),
        Value::Number(number) => {
            let least = schema.get("minimum").and_then(Value::as_f64)?;
            (number.as_f64()? < least).then(|| format!("`{at}` is less than {least}"))
        }
        Value::Null | Value::Bool(_) => None,
    }
}

fn types_of(types: &Value) -> impl Iterator<Item = &str> {
    types.as_str().into_iter().chain(types.as_array().into_iter().flatten().filter_map(Value::as_str))
}

fn is_of(kind: &str, value: &Value) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        _ => false,
    }
}

fn in_object(schema: &Value, map: &Map<String, Value>, at: &str) -> Option<String> {
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    if let Some(missing) = required.filter(|key| !map.contains_key(*key)).collect::<Vec<_>>().first() {
        return Some(format!("`{}` is missing", format!("{at}.{missing}").trim_start_matches('.')));
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    map.iter().find_map(|(key, value)| {
        let place = format!("{at}.{key}");
        match (properties.and_then(|known| known.get(key)), schema.get("additionalProperties")) {
            (Some(schema), _) | (None, Some(schema @ Value::Object(_))) => fault(schema, value, &place),
            (None, Some(Value::Bool(false))) => Some(format!("`{}` is not known", place.trim_start_matches('.'))),
            (None, _) => None,
        }
    })
}

fn in_list(schema: &Value, list: &[Value], at: &str) -> Option<String> {
    let repeats = |at: &usize| list[..*at].contains(&list[*at]);
    if schema.get("uniqueItems") == Some(&Value::Bool(true)) && (0..list.len()).any(|at| repeats(&at)) {
        return Some(format!("`{at}` has an item twice"));
    }
    let items = schema.get("items")?;
    list.iter().enumerate().find_map(|(number, item)| fault(items, item, &format!("{at}[{number}]")))
}

fn in_text(schema: &Value, text: &str) -> Option<String> {
    if schema.get("minLength").is_some() && text.is_empty() {
        return Some("is empty".to_owned());
    }
    if schema.get("format").and_then(Value::as_str) == Some("date-time") && time(text).is_none() {
        return Some(format!("is no time: {text}"));
    }
    let pattern = Regex::new(schema.get("pattern")?.as_str()?).ok()?;
    (!pattern.is_match(text)).then(|| format!("is not as it has to be: {text}"))
}
