//! Frames of Codex: `codex exec --json`.

use jiff::Timestamp;
use serde_json::Value;

use super::failure_messages;
use super::frames::{AgentExit, FrameFacts, about, about_input, readable};
use super::news::{News, ToolOutcome};
use super::outcome::{AgentEnd, Tokens, ToolUse};
use crate::tail;

#[derive(Clone, Debug, Default)]
pub(super) struct CodexFrames {
    turn: Turn,
    /// As `thread.started` has it, before anything else can name another one.
    thread: Option<String>,
}

/// The last turn, as far as it went.
#[derive(Clone, Debug, Default)]
enum Turn {
    #[default]
    Open,
    Completed,
    Failed(String),
}

impl CodexFrames {
    pub(super) fn frame(&mut self, frame: &Value, facts: &mut FrameFacts) -> Vec<News> {
        match text(frame, "type") {
            "thread.started" => {
                self.thread = frame["thread_id"].as_str().map(str::to_owned);
                return facts.session_is(frame.get("thread_id")).into_iter().collect();
            }
            "turn.started" => {
                self.turn = Turn::Open;
                facts.turns = Some(facts.turns.unwrap_or_default().saturating_add(1));
            }
            "turn.completed" => {
                self.turn = Turn::Completed;
                facts.tokens = tokens(&frame["usage"]);
            }
            "turn.failed" => self.turn = Turn::Failed(text(&frame["error"], "message").to_owned()),
            "error" => {
                let message = text(frame, "message");
                let waits = message.starts_with("Reconnecting");
                let why = about(message);
                return vec![if waits { News::Waiting { why } } else { News::Note(why) }];
            }
            "item.started" => return call(&frame["item"]).into_iter().collect(),
            "item.completed" => return completed(&frame["item"], facts),
            _ => {}
        }
        Vec::new()
    }

    pub(super) fn end(
        &self,
        facts: &mut FrameFacts,
        exit: &AgentExit<'_>,
        continued: Option<&str>,
        now: Timestamp,
    ) -> AgentEnd {
        let errors = tail::readable(exit.errors);
        for line in errors.lines().filter(|line| line.contains("patch rejected")) {
            facts.denied(ToolUse { tool: "apply_patch".to_owned(), about: about(line), ..ToolUse::default() });
        }
        match &self.turn {
            // A word that is no id starts a new thread, and the client says nothing of it.
            _ if continued.is_some() && self.thread.is_some() && self.thread.as_deref() != continued => {
                AgentEnd::UnknownSession
            }
            Turn::Completed if facts.denials.is_empty() => AgentEnd::Done,
            Turn::Completed => AgentEnd::Refused,
            Turn::Failed(message) => {
                if facts.text.is_empty() {
                    facts.text_is(message);
                }
                failure_messages::failure(message, exit, now)
            }
            Turn::Open => failure_messages::no_result(exit, &facts.raw),
        }
    }
}

fn call(item: &Value) -> Option<News> {
    let (name, about) = match text(item, "type") {
        "command_execution" => ("shell".to_owned(), about(text(item, "command"))),
        "file_change" => ("edit".to_owned(), changes(item)),
        "mcp_tool_call" => (tool_name(item), about_input(&item["arguments"])),
        "web_search" => ("web_search".to_owned(), about(text(item, "query"))),
        _ => return None,
    };
    Some(News::ToolCall { name, about })
}

fn completed(item: &Value, facts: &mut FrameFacts) -> Vec<News> {
    let outcome = if text(item, "status") == "failed" { ToolOutcome::Failed } else { ToolOutcome::Fine };
    let about = match text(item, "type") {
        "agent_message" => {
            let said = text(item, "text");
            facts.text_is(said);
            return vec![News::Text(readable(said))];
        }
        "error" => return vec![News::Note(about(text(item, "message")))],
        "command_execution" => {
            count_turn(facts);
            about(text(item, "aggregated_output"))
        }
        "file_change" => {
            count_turn(facts);
            changes(item)
        }
        "mcp_tool_call" => {
            count_turn(facts);
            let error = text(&item["error"], "message");
            if error.contains("requires approval") {
                facts.denied(ToolUse {
                    tool: tool_name(item),
                    about: about_input(&item["arguments"]),
                    ..ToolUse::default()
                });
            }
            let said = item["result"]["content"][0]["text"].as_str().unwrap_or_default();
            about(if error.is_empty() { said } else { error })
        }
        _ => return Vec::new(),
    };
    vec![News::ToolResult { outcome, about }]
}

/// The client counts no turns: each tool call leads to one more answer of the model.
fn count_turn(facts: &mut FrameFacts) {
    facts.turns = Some(facts.turns.unwrap_or_default().saturating_add(1));
}

fn changes(item: &Value) -> String {
    let paths: Vec<&str> =
        item["changes"].as_array().into_iter().flatten().map(|change| text(change, "path")).collect();
    about(&paths.join(", "))
}

fn tool_name(item: &Value) -> String {
    about(&format!("{}.{}", text(item, "server"), text(item, "tool")))
}

fn tokens(usage: &Value) -> Option<Tokens> {
    usage.is_object().then(|| Tokens {
        input: usage["input_tokens"].as_u64().unwrap_or_default(),
        output: usage["output_tokens"].as_u64().unwrap_or_default(),
    })
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}
