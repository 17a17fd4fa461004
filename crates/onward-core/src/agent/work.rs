//! The `agent` block of a phase, as it is stored: read once, into types.

use serde_json::Value;

use crate::plan::Budget;

/// The agent of a phase that names none.
pub const AGENT_DEFAULT: &str = "claude-code";

/// The work that a plan gives an agent.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentWork {
    /// The name of the agent: a built-in one, or an entry of `agents` in the configuration.
    pub agent: String,
    pub prompt: Option<String>,
    pub prompt_file: Option<String>,
    pub context: Vec<String>,
    pub model: Option<String>,
    /// Further arguments for the client, word by word.
    pub args: Vec<String>,
    pub env: Vec<(String, String)>,
    pub session: SessionPolicy,
    /// Of the phase, all attempts together.
    pub max_turns: Option<u32>,
    /// Of the phase, all attempts together.
    pub budget: Budget,
    /// Tools, in the client's own notation.
    pub allow: Vec<String>,
    pub deny: Vec<String>,
    /// Tools of which a person approves every call.
    pub ask: Vec<String>,
    /// The file with the JSON Schema of the answer.
    pub schema: Option<String>,
    pub worktree: AgentWorktree,
}

/// Whether a later attempt goes on in the same session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SessionPolicy {
    #[default]
    Continue,
    New,
}

/// Where the agent works.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AgentWorktree {
    /// In the project itself.
    #[default]
    Never,
    /// In a git worktree of its own.
    Own,
}

impl AgentWorktree {
    /// The same, where nothing else of the block is asked for.
    pub fn read(block: &Value) -> Self {
        match block.get("worktree").and_then(Value::as_str) {
            Some("own") => Self::Own,
            Some(_) | None => Self::Never,
        }
    }
}

impl AgentWork {
    /// Reads a block that the checker of plans has accepted. Anything that is not as it should be counts as not said.
    pub fn read(block: &Value) -> Self {
        let text = |key: &str| block.get(key).and_then(scalar);
        let texts = |key: &str| block.get(key).map(list).unwrap_or_default();
        let budget = block.get("budget");
        Self {
            agent: text("use").unwrap_or_else(|| AGENT_DEFAULT.to_owned()),
            prompt: text("prompt"),
            prompt_file: text("prompt-file"),
            context: texts("context"),
            model: text("model"),
            args: texts("args"),
            env: pairs(block.get("env")),
            session: match text("session").as_deref() {
                Some("new") => SessionPolicy::New,
                Some(_) | None => SessionPolicy::Continue,
            },
            max_turns: block.get("max-turns").and_then(Value::as_u64).and_then(|turns| u32::try_from(turns).ok()),
            budget: Budget {
                usd: budget.and_then(|budget| budget.get("usd")).and_then(Value::as_f64),
                tokens: budget.and_then(|budget| budget.get("tokens")).and_then(Value::as_u64),
            },
            allow: texts("allow"),
            deny: texts("deny"),
            ask: texts("ask"),
            schema: block.get("result").and_then(|result| result.get("schema")).and_then(scalar),
            worktree: AgentWorktree::read(block),
        }
    }
}

/// Text, also where YAML made a number or a truth value of it.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// One, or a list of them.
pub(super) fn list(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().filter_map(scalar).collect(),
        one => scalar(one).into_iter().collect(),
    }
}

fn pairs(value: Option<&Value>) -> Vec<(String, String)> {
    let entries = value.and_then(Value::as_object);
    entries.into_iter().flatten().filter_map(|(name, value)| Some((name.clone(), scalar(value)?))).collect()
}
