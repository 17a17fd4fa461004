//! JSON for programs. The shapes are a contract: fields may be added, never renamed.

use std::fmt::Write as _;

use onward_core::control_characters::is_control_or_hidden;
use onward_core::event::{Event, Recorded};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// One object on one line. What a terminal would obey is escaped, which JSON allows inside every text.
pub(crate) fn line(value: &impl Serialize) -> String {
    let text = serde_json::to_string(value).expect("our values have only text keys");
    let mut out = String::with_capacity(text.len() + 1);
    for character in text.chars() {
        if is_control_or_hidden(character) {
            for half in character.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{half:04x}");
            }
        } else {
            out.push(character);
        }
    }
    out.push('\n');
    out
}

/// An entry of the journal: when, by whose hand, what.
pub(crate) fn event(recorded: &Recorded) -> Value {
    let mut object = Map::new();
    object.insert("seq".to_owned(), json!(recorded.seq));
    object.insert("at".to_owned(), json!(recorded.at));
    object.insert("actor".to_owned(), json!(recorded.actor));
    let event = serde_json::to_value(&recorded.event).expect("events have only text keys");
    if let Value::Object(event) = event {
        object.extend(event);
    }
    Value::Object(object)
}

/// The same as a line of a run that is watched: the plan, which the watcher has, is left out.
/// An attempt or a phase that failed comes with the last lines that it printed.
pub(crate) fn event_line(recorded: &Recorded, tail: &[String]) -> Value {
    let mut value = event(recorded);
    if let Value::Object(object) = &mut value
        && !tail.is_empty()
    {
        object.insert("tail".to_owned(), json!(tail));
    }
    if let (Event::RunStarted(started), Value::Object(object)) = (&recorded.event, &mut value) {
        let ids: Vec<_> = started.plan.phases.iter().map(|phase| &phase.id).collect();
        object.insert("phases".to_owned(), json!(ids));
        object.shift_remove("plan");
        object.shift_remove("triggers");
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use onward_core::id::{Attempt, Generation, PhaseId, Seq};

    #[test]
    fn what_a_terminal_would_obey_is_escaped_and_read_back_as_it_was() {
        let text = "a\u{9b}31m\u{202e}\u{1b}\u{e0041}\n";
        let line = line(&json!({ "note": text }));
        assert!(!line.trim_end().chars().any(is_control_or_hidden), "{line:?}");
        let read: Value = serde_json::from_str(&line).expect("it is JSON");
        assert_eq!(read["note"], text);
    }

    #[test]
    fn an_event_says_when_who_and_what() {
        let phase = PhaseId::new("a");
        let (attempt, generation) = (Attempt(1), Generation(1));
        let event =
            Event::AttemptStarted { phase, attempt, generation, epoch: 1, boot: "b".into(), clean: None, agent: None };
        let recorded = Recorded { seq: Seq(3), at: jiff::Timestamp::UNIX_EPOCH, actor: "ada@here".into(), event };
        let value = super::event(&recorded);
        assert_eq!(
            (&value["seq"], &value["type"], &value["phase"]),
            (&json!(3), &json!("attempt_started"), &json!("a"))
        );
        assert_eq!((&value["actor"], &value["at"]), (&json!("ada@here"), &json!("1970-01-01T00:00:00Z")));
    }
}
