//! Checkpoints and the journal of a run.

use std::fmt::Write as _;

use jiff::Timestamp;
use onward_core::event::Recorded;
use onward_core::id::RunId;
use onward_engine::LogItem;
use serde::Serialize;
use serde_json::Value;

use super::{json, paint, safe, time};

/// `log --json`.
#[derive(Debug, Serialize)]
pub(crate) struct LogAnswer<'a> {
    pub(crate) run: &'a RunId,
    pub(crate) checkpoints: &'a [LogItem],
    pub(crate) warnings: &'a [String],
}

/// `log --events --json`.
#[derive(Debug, Serialize)]
pub(crate) struct EventsAnswer<'a> {
    pub(crate) run: &'a RunId,
    pub(crate) events: Vec<Value>,
}

/// `onward log`.
pub(crate) fn log(items: &[LogItem], now: Timestamp) -> String {
    items.iter().map(|item| checkpoint(item, now)).collect()
}

pub(crate) fn checkpoint(item: &LogItem, now: Timestamp) -> String {
    let at = item.created_at.map(|at| time::clock(at, now)).unwrap_or_default();
    let mut out = format!("{}  {at}  {}", safe::line(item.id.as_str()), item.triggers.join(", "));
    if let Some(phase) = &item.phase {
        let _ = write!(out, "  {}", safe::line(phase.as_str()));
    }
    if let Some(name) = &item.name {
        let _ = write!(out, "  \"{}\"", safe::line(name));
    }
    if let Some(damage) = &item.damage {
        let _ = write!(out, "  {}", paint::bad(&safe::line(damage)));
    }
    out.push('\n');
    out
}

/// `onward log --events`: what does not fit a line is left to `--json`.
pub(crate) fn events(events: &[Recorded]) -> String {
    let mut out = String::new();
    for recorded in events {
        let Value::Object(mut fields) = json::event_line(recorded, &[]) else { continue };
        let kind = fields.shift_remove("type").unwrap_or_default();
        for known in ["seq", "at", "actor"] {
            fields.shift_remove(known);
        }
        let rest: Vec<String> =
            fields.iter().filter(|(_, value)| !value.is_null()).map(|(key, value)| field(key, value)).collect();
        let kind = kind.as_str().unwrap_or_default();
        let _ = writeln!(out, "{:>5}  {}  {kind:<18}  {}", recorded.seq.0, recorded.at, rest.join("  "));
    }
    out
}

fn field(key: &str, value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    format!("{key}={}", safe::line(&text))
}
