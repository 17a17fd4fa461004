//! Tool calls that wait for a person: what the plan asks about, what was answered, and what the client is told about one call.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::tool_pattern::{CallPlace, ToolPattern};

/// Seconds that the client waits for an answer, which takes milliseconds.
const HOOK_SECONDS_MAX: u32 = 60;
/// The words with which the client's own switches take the hook away. Nobody would be asked.
const WITHOUT_HOOKS: &[&str] = &["--settings", "--bare", "--safe-mode"];

/// The orders of one attempt: what is on record of its phase, and looked up at every call that may be asked about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallOrders {
    /// The tools that a person approves one by one, in the client's notation.
    pub ask: Vec<String>,
    /// The call that a person has approved, by its digest: good for once.
    pub approved: Option<String>,
    pub rejected: Vec<RejectedCall>,
}

/// A call that a person does not want, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RejectedCall {
    pub digest: String,
    pub why: String,
}

/// A call that is about to be made.
#[derive(Clone, Debug, PartialEq)]
pub struct ProposedCall<'a> {
    pub tool: &'a str,
    pub input: &'a Value,
    pub place: CallPlace,
}

/// The judgement about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallVerdict {
    /// Nobody wants to be asked about it.
    NotAsked,
    /// A person is to be asked.
    Ask,
    /// A person has approved just this.
    Approved,
    Rejected {
        why: String,
    },
}

/// Judges a call by the orders. An entry of `ask` that cannot be read is about every call.
pub fn judge(orders: &CallOrders, call: &ProposedCall<'_>) -> CallVerdict {
    let digest = call_digest(call.tool, call.input);
    if let Some(rejected) = orders.rejected.iter().find(|rejected| rejected.digest == digest) {
        return CallVerdict::Rejected { why: rejected.why.clone() };
    }
    if orders.approved.as_ref() == Some(&digest) {
        return CallVerdict::Approved;
    }
    let named = |entry: &String| {
        ToolPattern::parse(entry).map_or(true, |pattern| pattern.matches(call.tool, call.input, &call.place))
    };
    if orders.ask.iter().any(named) { CallVerdict::Ask } else { CallVerdict::NotAsked }
}

/// The same for the same tool with the same input, whatever the order of its fields.
pub fn call_digest(tool: &str, input: &Value) -> String {
    let mut hash = blake3::Hasher::new();
    hash.update(tool.as_bytes()).update(&[0]).update(sorted(input).to_string().as_bytes());
    hash.finalize().to_hex()[..40].to_owned()
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<(&String, Value)> = fields.iter().map(|(name, field)| (name, sorted(field))).collect();
            fields.sort_by_key(|(name, _)| *name);
            Value::Object(fields.into_iter().map(|(name, field)| (name.clone(), field)).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

/// The hook that asks before a call, as an attempt is started with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallHook {
    /// For a shell.
    pub command: String,
    /// The entries of `ask`.
    pub ask: Vec<String>,
    /// The tool of the call that was answered: the client's own rules about it would weigh more than the answer.
    pub answered: Option<String>,
}

impl CallHook {
    /// Settings for this one start of Claude Code, as JSON. The client asks the hook; should it not, its own rule refuses the call.
    pub fn settings(&self) -> String {
        let patterns: Vec<(&String, Option<ToolPattern>)> =
            self.ask.iter().map(|entry| (entry, ToolPattern::parse(entry).ok())).collect();
        let mut tools: Option<Vec<String>> = Some(self.answered.clone().into_iter().collect());
        for (_, pattern) in &patterns {
            let more = pattern.as_ref().and_then(ToolPattern::tools);
            tools = tools.zip(more).map(|(mut all, more)| {
                all.extend(more.into_iter().map(str::to_owned));
                all
            });
        }
        let plain = |tools: &Vec<String>| tools.iter().all(|tool| tool.chars().all(|c| c.is_ascii_alphanumeric()));
        let matcher = tools.filter(plain).map_or_else(|| "*".to_owned(), |tools| tools.join("|"));
        let is_answered = |pattern: &ToolPattern| self.answered.as_ref().is_some_and(|tool| pattern.is_about(tool));
        let rules: Vec<&String> = patterns
            .iter()
            .filter(|(_, pattern)| pattern.as_ref().is_some_and(|pattern| !is_answered(pattern)))
            .map(|(entry, _)| *entry)
            .collect();
        json!({
            "disableAllHooks": false,
            "hooks": { "PreToolUse": [{
                "matcher": matcher,
                "hooks": [{ "type": "command", "command": self.command, "timeout": HOOK_SECONDS_MAX }],
            }]},
            "permissions": { "ask": rules },
        })
        .to_string()
    }
}

/// The first of the author's further arguments with which nobody would be asked.
pub fn argument_against_asking(args: &[String]) -> Option<&str> {
    let is = |word: &&String| {
        WITHOUT_HOOKS.iter().any(|flag| word.as_str() == *flag || word.starts_with(&format!("{flag}=")))
    };
    args.iter().find(is).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call<'a>(tool: &'a str, input: &'a Value) -> ProposedCall<'a> {
        ProposedCall { tool, input, place: CallPlace { folder: "/p".to_owned(), real_path: None } }
    }

    /// An approval is for just this call, whatever the order of its fields; a no stays a no.
    #[test]
    fn an_answer_is_for_just_this_call() {
        let push = json!({ "command": "git push", "timeout": 5 });
        let same = json!({ "timeout": 5, "command": "git push" });
        let other = json!({ "command": "git push --force", "timeout": 5 });
        let asked = CallOrders { ask: vec!["Bash(git push:*)".to_owned()], ..CallOrders::default() };
        assert_eq!(judge(&asked, &call("Bash", &push)), CallVerdict::Ask);
        assert_eq!(judge(&asked, &call("Bash", &json!({ "command": "make" }))), CallVerdict::NotAsked);
        let approved = CallOrders { approved: Some(call_digest("Bash", &push)), ..asked.clone() };
        assert_eq!(judge(&approved, &call("Bash", &same)), CallVerdict::Approved);
        assert_eq!(judge(&approved, &call("Bash", &other)), CallVerdict::Ask);
        assert_eq!(judge(&approved, &call("Shell", &push)), CallVerdict::NotAsked);
        let no = RejectedCall { digest: call_digest("Bash", &push), why: "not today".to_owned() };
        let rejected = CallOrders { rejected: vec![no], ..approved };
        assert_eq!(judge(&rejected, &call("Bash", &push)), CallVerdict::Rejected { why: "not today".to_owned() });
        let unreadable = CallOrders { ask: vec!["Bash(".to_owned()], ..CallOrders::default() };
        assert_eq!(judge(&unreadable, &call("Read", &json!({}))), CallVerdict::Ask);
    }

    /// The client's own rule refuses what nobody was asked about; it must not refuse what was approved.
    #[test]
    fn the_settings_of_a_start() {
        let hook = |answered: Option<&str>, ask: &[&str]| CallHook {
            command: "onward hook".to_owned(),
            ask: ask.iter().map(|entry| (*entry).to_owned()).collect(),
            answered: answered.map(str::to_owned),
        };
        let read = |hook: CallHook| serde_json::from_str::<Value>(&hook.settings()).expect("JSON");
        let first = read(hook(None, &["Bash(git push:*)", "Edit(src/**)"]));
        assert_eq!(first["hooks"]["PreToolUse"][0]["matcher"], "Bash|Edit|Write|MultiEdit|NotebookEdit");
        assert_eq!(first["permissions"]["ask"], json!(["Bash(git push:*)", "Edit(src/**)"]));
        assert_eq!(first["disableAllHooks"], false);
        let then = read(hook(Some("Bash"), &["Bash(git push:*)", "Edit(src/**)"]));
        assert_eq!(then["permissions"]["ask"], json!(["Edit(src/**)"]));
        assert_eq!(read(hook(None, &["mcp__x"]))["hooks"]["PreToolUse"][0]["matcher"], "*");
        let args = |word: &str| vec!["--add-dir".to_owned(), word.to_owned()];
        assert_eq!(argument_against_asking(&args("--settings=x")), Some("--settings=x"));
        assert_eq!(argument_against_asking(&args("--verbose")), None);
    }
}
