//! Agents that are declared in the configuration, under `agents`.

use serde_json::Value;

use super::invocation::PromptBy;
use super::work::list;

/// A client that onward does not know: how it is started and where things stand in its output.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeclaredAgent {
    /// The program and its arguments.
    pub start: Vec<String>,
    /// The same for a session that goes on, with `{session}` for its id; empty: it cannot be continued.
    pub continue_argv: Vec<String>,
    pub prompt: PromptBy,
    pub frames: FrameForm,
    /// JSON pointers into its frames.
    pub session: Option<String>,
    pub text: Option<String>,
    pub cost: Option<String>,
    pub limit: Option<DeclaredLimit>,
}

/// The form of its output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FrameForm {
    /// One JSON value on each line.
    #[default]
    JsonLines,
    Text,
}

/// How a limit shows in its output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeclaredLimit {
    /// Regular expressions; `reset_at` captures the time.
    pub matches: Option<String>,
    pub reset_at: Option<String>,
}

impl DeclaredAgent {
    /// Reads an entry that the checker of configurations has accepted. None if it does not say how to start.
    pub fn read(entry: &Value) -> Option<Self> {
        let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        let argv = |key: &str| match entry.get(key) {
            Some(words) => list(words),
            None => Vec::new(),
        };
        let start: Vec<String> = argv("start");
        let limit =
            |limit: &Value| DeclaredLimit { matches: text(limit, "matches"), reset_at: text(limit, "reset-at") };
        (!start.is_empty()).then(|| Self {
            start,
            continue_argv: argv("continue"),
            prompt: match entry.get("prompt").and_then(Value::as_str) {
                Some("argument") => PromptBy::Argument,
                Some(_) | None => PromptBy::Stdin,
            },
            frames: match entry.get("frames").and_then(Value::as_str) {
                Some("text") => FrameForm::Text,
                Some(_) | None => FrameForm::JsonLines,
            },
            session: text(entry, "session"),
            text: text(entry, "text"),
            cost: text(entry, "cost"),
            limit: entry.get("limit").map(limit),
        })
    }
}

/// Gemini CLI, which is declared like any other.
pub fn gemini() -> DeclaredAgent {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    DeclaredAgent {
        start: words(&["gemini", "--output-format", "stream-json", "--approval-mode", "auto_edit"]),
        continue_argv: words(&[
            "gemini",
            "--output-format",
            "stream-json",
            "--approval-mode",
            "auto_edit",
            "--resume",
            "{session}",
        ]),
        prompt: PromptBy::Stdin,
        frames: FrameForm::JsonLines,
        session: Some("/session_id".to_owned()),
        text: Some("/content".to_owned()),
        cost: None,
        limit: Some(DeclaredLimit {
            matches: Some("RESOURCE_EXHAUSTED|exhausted your (?:daily quota|capacity)|Quota exceeded for".to_owned()),
            reset_at: None,
        }),
    }
}
