//! Frames of Claude Code: `claude -p --output-format stream-json --verbose`.

use jiff::Timestamp;
use serde_json::Value;

use super::calls::call_digest;
use super::failure_messages;
use super::frames::{AgentExit, FrameFacts, about, about_input, readable, whole_input};
use super::news::{News, ToolOutcome};
use super::outcome::{AgentEnd, Tokens, ToolUse};
use crate::rate_limit::RESET_AWAY_MAX;

#[derive(Clone, Debug, Default)]
pub(super) struct ClaudeCodeFrames {
    /// The last frame of type `result`.
    result: Option<Value>,
    /// The `error` of the last message that has one: the only place where the kind of an error is named.
    error: Option<String>,
    /// Epoch seconds, of a limit that is in force.
    resets_at: Option<i64>,
    /// As far as answers have begun. The last frame knows better.
    so_far: SoFar,
}

/// The use of a process that was ended before it could tell.
#[derive(Clone, Debug, Default)]
struct SoFar {
    /// The answer that the last frame was a part of.
    message: Option<String>,
    turns: u32,
    tokens: Tokens,
}

impl SoFar {
    /// One frame for each part of an answer has the same count, as it was when the answer began.
    fn message(&mut self, message: &Value) {
        let id = message["id"].as_str();
        if id.is_none() || self.message.as_deref() == id {
            return;
        }
        self.message = id.map(str::to_owned);
        self.turns = self.turns.saturating_add(1);
        if let Some(tokens) = usage(&message["usage"]) {
            self.tokens.input = self.tokens.input.saturating_add(tokens.input);
            self.tokens.output = self.tokens.output.saturating_add(tokens.output);
        }
    }
}

impl ClaudeCodeFrames {
    pub(super) fn frame(&mut self, frame: &Value, facts: &mut FrameFacts) -> Vec<News> {
        let mut news: Vec<News> = session(frame, facts).into_iter().collect();
        match text(frame, "type") {
            "system" => news.extend(system(frame, facts)),
            "assistant" => self.assistant(frame, facts, &mut news),
            "user" => results(frame, &mut news),
            "rate_limit_event" => news.extend(self.limit_event(&frame["rate_limit_info"])),
            "result" => self.result(frame, facts),
            _ => {}
        }
        news
    }

    fn assistant(&mut self, frame: &Value, facts: &mut FrameFacts, news: &mut Vec<News>) {
        let is_own = frame["parent_tool_use_id"].is_null();
        self.so_far.message(&frame["message"]);
        for block in frame["message"]["content"].as_array().into_iter().flatten() {
            match text(block, "type") {
                "text" => {
                    let said = text(block, "text");
                    if is_own {
                        facts.text_is(said);
                    }
                    news.push(News::Text(readable(said)));
                }
                "tool_use" | "server_tool_use" => {
                    news.push(News::ToolCall { name: about(text(block, "name")), about: about_input(&block["input"]) });
                }
                _ => {}
            }
        }
        if is_own {
            self.error = frame["error"].as_str().map(str::to_owned);
        }
    }

    fn limit_event(&mut self, info: &Value) -> Option<News> {
        match text(info, "status") {
            "rejected" => {
                self.resets_at = info["resetsAt"].as_i64();
                None
            }
            "allowed_warning" => {
                self.resets_at = None;
                let used = info["utilization"].as_f64().map(|part| format!(", {:.0} % of it are used", part * 100.0));
                Some(News::Note(format!("near the usage limit{}", used.unwrap_or_default())))
            }
            _ => {
                self.resets_at = None;
                None
            }
        }
    }

    fn result(&mut self, frame: &Value, facts: &mut FrameFacts) {
        let deferred = frame.get("deferred_tool_use").filter(|call| call.is_object()).map(|call| ToolUse {
            tool: about(text(call, "name")),
            about: whole_input(&call["input"]),
            id: call["id"].as_str().map(str::to_owned),
            digest: Some(call_digest(text(call, "name"), &call["input"])),
        });
        // Where a call waits there is no result: the last words are why the agent wants it.
        if let Some(said) = frame["result"].as_str().filter(|said| deferred.is_none() || !said.is_empty()) {
            facts.text_is(said);
        }
        facts.turns = frame["num_turns"].as_u64().and_then(|turns| u32::try_from(turns).ok()).or(facts.turns);
        facts.cost_is(frame.get("total_cost_usd"));
        facts.tokens_are(tokens(frame));
        facts.structured = frame.get("structured_output").filter(|answer| !answer.is_null()).cloned();
        facts.denials.clear();
        for denial in frame["permission_denials"].as_array().into_iter().flatten() {
            facts.denied(ToolUse {
                tool: about(text(denial, "tool_name")),
                about: about_input(&denial["tool_input"]),
                id: denial["tool_use_id"].as_str().map(str::to_owned),
                digest: None,
            });
        }
        facts.deferred = deferred;
        self.result = Some(frame.clone());
    }

    pub(super) fn end(&self, facts: &mut FrameFacts, exit: &AgentExit<'_>, now: Timestamp) -> AgentEnd {
        let Some(result) = &self.result else {
            if self.so_far.turns > 0 {
                (facts.turns, facts.tokens) = (Some(self.so_far.turns), Some(self.so_far.tokens));
            }
            let printed = if facts.text.is_empty() { &facts.raw } else { facts.text.as_bytes() };
            return failure_messages::no_result(exit, printed);
        };
        if result["is_error"].as_bool() == Some(false) {
            return without_error(result, facts);
        }
        match text(result, "subtype") {
            "error_max_turns" => return AgentEnd::MaxTurns,
            "error_max_budget_usd" => return AgentEnd::Budget,
            _ => {}
        }
        match text(result, "terminal_reason") {
            "prompt_too_long" => return AgentEnd::Exhausted,
            "aborted_streaming" | "aborted_tools" => return AgentEnd::Interrupted,
            "max_turns" => return AgentEnd::MaxTurns,
            _ => {}
        }
        let message = result["result"].as_str().or_else(|| result["errors"][0].as_str()).unwrap_or_default();
        if result["result"].is_null() {
            facts.text_is(message);
        }
        self.with_error(message, result["api_error_status"].as_u64(), exit, now)
    }

    fn with_error(&self, message: &str, status: Option<u64>, exit: &AgentExit<'_>, now: Timestamp) -> AgentEnd {
        let said = failure_messages::as_an_error(about(message));
        let limited = || {
            let until = self.resets_at.and_then(|second| Timestamp::from_second(second).ok());
            let until = until.filter(|until| *until > now && until.duration_since(now) <= RESET_AWAY_MAX);
            match failure_messages::limit(message, exit, now) {
                Some(AgentEnd::Limited { until: told, said }) => AgentEnd::Limited { until: until.or(told), said },
                Some(_) | None => AgentEnd::Limited { until, said: said.clone() },
            }
        };
        match self.error.as_deref() {
            Some("rate_limit") => return limited(),
            Some("authentication_failed") => return AgentEnd::NotLoggedIn { said },
            Some("server_error" | "overloaded") => return AgentEnd::Overloaded { said },
            Some("billing_error" | "model_not_found" | "max_output_tokens") => {
                return AgentEnd::Failed { message: said };
            }
            Some(_) | None => {}
        }
        match status {
            Some(429) => limited(),
            Some(401) => AgentEnd::NotLoggedIn { said },
            Some(500..=599) => AgentEnd::Overloaded { said },
            Some(_) | None => failure_messages::failure(message, exit, now),
        }
    }
}

/// The session of the process, which may change while it works. A subagent has one of its own, in which the work does not go on.
fn session(frame: &Value, facts: &mut FrameFacts) -> Option<News> {
    let is_own = frame["parent_tool_use_id"].is_null();
    facts.session_is(frame.get("session_id").filter(|_| is_own))
}

/// A result that is no error is success only if the work came to its end by itself.
fn without_error(result: &Value, facts: &FrameFacts) -> AgentEnd {
    let done = match result["terminal_reason"].as_str() {
        Some("tool_deferred") => return AgentEnd::Deferred,
        Some(reason) => reason == "completed",
        // Versions before this field. A prompt that a hook turned away has no turn.
        None => facts.turns != Some(0),
    };
    if !done || text(result, "subtype") != "success" {
        let reason = result["terminal_reason"].as_str().unwrap_or("nothing was asked of the model");
        let said = about(&facts.text);
        let message = if said.is_empty() { about(reason) } else { format!("{}: {said}", about(reason)) };
        return AgentEnd::Failed { message };
    }
    if facts.denials.is_empty() { AgentEnd::Done } else { AgentEnd::Refused }
}

fn system(frame: &Value, facts: &mut FrameFacts) -> Option<News> {
    match text(frame, "subtype") {
        "init" => {
            facts.model = frame["model"].as_str().map(about);
            let errors = frame["plugin_errors"].as_array().filter(|errors| !errors.is_empty())?;
            Some(News::Note(format!("plugins: {}", about_input(&errors[0]))))
        }
        "api_retry" => {
            let status = frame["error_status"].as_u64().map(|status| format!("{status} ")).unwrap_or_default();
            let seconds = frame["retry_delay_ms"].as_f64().unwrap_or_default() / 1000.0;
            let (attempt, max) = (&frame["attempt"], &frame["max_retries"]);
            let why = format!("{status}{}, again in {seconds:.0} s ({attempt} of {max})", text(frame, "error"));
            Some(News::Waiting { why: about(&why) })
        }
        "model_fallback" => {
            facts.model = frame["fallback_model"].as_str().map(about).or(facts.model.take());
            Some(News::Note(about(text(frame, "content"))))
        }
        "compact_boundary" => Some(News::Note("the conversation was compacted".to_owned())),
        "informational" | "notification" => {
            let said = ["content", "text"].iter().find_map(|key| frame[key].as_str())?;
            Some(News::Note(about(said)))
        }
        _ => None,
    }
}

fn results(frame: &Value, news: &mut Vec<News>) {
    for block in frame["message"]["content"].as_array().into_iter().flatten() {
        if text(block, "type") != "tool_result" {
            continue;
        }
        let outcome = if block["is_error"].as_bool() == Some(true) { ToolOutcome::Failed } else { ToolOutcome::Fine };
        let said = block["content"].as_str().or_else(|| block["content"][0]["text"].as_str()).unwrap_or_default();
        news.push(News::ToolResult { outcome, about: about(said) });
    }
}

/// By model, which is right also where the client gives up in the middle; the sum of the main loop where that is missing.
fn tokens(result: &Value) -> Option<Tokens> {
    if let Some(models) = result["modelUsage"].as_object().filter(|models| !models.is_empty()) {
        let sum = models.values().fold(Tokens::default(), |sum, usage| Tokens {
            input: sum
                .input
                .saturating_add(count(usage, &["inputTokens", "cacheReadInputTokens", "cacheCreationInputTokens"])),
            output: sum.output.saturating_add(count(usage, &["outputTokens"])),
        });
        return Some(sum);
    }
    usage(&result["usage"])
}

fn count(value: &Value, keys: &[&str]) -> u64 {
    keys.iter().filter_map(|key| value[key].as_u64()).fold(0_u64, u64::saturating_add)
}

fn usage(usage: &Value) -> Option<Tokens> {
    usage.is_object().then(|| Tokens {
        input: count(usage, &["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"]),
        output: count(usage, &["output_tokens"]),
    })
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}
