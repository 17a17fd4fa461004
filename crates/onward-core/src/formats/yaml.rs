//! YAML as these files have it: read through the one reader of texts, written in blocks.

use std::fmt::Write;

use serde_json::{Map, Value};

use crate::config::as_written;
use crate::diagnostic::Severity;
use crate::document::tree::{Builder, NodeContent, TextUse};
use crate::document::yaml;

/// The object that a YAML text is, or why it is none.
pub(super) fn from_yaml(text: &str) -> Result<Map<String, Value>, String> {
    let mut builder = Builder::new(TextUse::Kept);
    let fatal = yaml::read(text, &mut builder).err();
    let (root, mut diagnostics) = builder.finish();
    diagnostics.extend(fatal);
    if let Some(fault) = diagnostics.iter().find(|fault| fault.severity == Severity::Error) {
        return Err(match fault.place {
            Some(place) => format!("line {}: {}", place.line, fault.message),
            None => fault.message.clone(),
        });
    }
    match root {
        Some(root) if matches!(root.content, NodeContent::Mapping(_)) => match as_written(&root) {
            Value::Object(map) => Ok(map),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                Err("it is no object".to_owned())
            }
        },
        Some(_) | None => Err("it is neither JSON nor an object in YAML".to_owned()),
    }
}

/// A longer key needs a mark of its own in front of it, or no reader finds its colon (YAML 1.2, 7.4.2).
const PLAIN_KEY_CHARS_MAX: usize = 1_000;

/// A document as YAML.
pub fn to_yaml(document: &Map<String, Value>) -> String {
    let mut text = String::new();
    object(document, 0, &mut text);
    text
}

fn object(map: &Map<String, Value>, depth: usize, text: &mut String) {
    for (at, (key, value)) in map.iter().enumerate() {
        if at > 0 || depth == 0 || text.ends_with('\n') {
            indent(depth, text);
        }
        let key = word(key);
        if key.chars().count() > PLAIN_KEY_CHARS_MAX {
            text.push_str("? ");
            text.push_str(&key);
            text.push('\n');
            indent(depth, text);
        } else {
            text.push_str(&key);
        }
        text.push(':');
        inner(value, depth, text);
    }
}

/// The value behind a key, and the end of its line.
fn inner(value: &Value, depth: usize, text: &mut String) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            text.push('\n');
            object(map, depth + 1, text);
        }
        Value::Array(list) if !list.is_empty() => {
            text.push('\n');
            items(list, depth + 1, text);
        }
        other => {
            let _ = writeln!(text, " {}", scalar(other));
        }
    }
}

fn items(list: &[Value], depth: usize, text: &mut String) {
    for item in list {
        indent(depth, text);
        text.push('-');
        match item {
            Value::Object(map) if !map.is_empty() => {
                text.push(' ');
                object(map, depth + 1, text);
            }
            Value::Array(inner) if !inner.is_empty() => {
                text.push('\n');
                items(inner, depth + 1, text);
            }
            other => {
                let _ = writeln!(text, " {}", scalar(other));
            }
        }
    }
}

fn indent(depth: usize, text: &mut String) {
    (0..depth).for_each(|_| text.push_str("  "));
}

fn scalar(value: &Value) -> String {
    match value {
        Value::String(string) => word(string),
        Value::Object(_) => "{}".to_owned(),
        Value::Array(_) => "[]".to_owned(),
        other @ (Value::Null | Value::Bool(_) | Value::Number(_)) => other.to_string(),
    }
}

/// A text: plain where no reader could take it for anything else, else in double quotes, in which JSON is YAML.
fn word(text: &str) -> String {
    let begins = text.chars().next().is_some_and(|c| c.is_ascii_alphabetic());
    let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/'));
    let meant = ["true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf"];
    if begins && plain && !meant.contains(&text.to_ascii_lowercase().as_str()) {
        return text.to_owned();
    }
    let quoted = Value::String(text.to_owned()).to_string();
    // What JSON may hold as it is and YAML may not.
    let unprintable =
        |c: char| matches!(c, '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}');
    let mut safe = String::with_capacity(quoted.len());
    for c in quoted.chars() {
        if unprintable(c) {
            let _ = write!(safe, "\\u{:04x}", u32::from(c));
        } else {
            safe.push(c);
        }
    }
    safe
}
