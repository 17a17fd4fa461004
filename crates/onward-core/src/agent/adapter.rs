//! The clients that are known, and how each is called.

use super::declared::{DeclaredAgent, gemini};
use super::invocation::{Invocation, InvocationStart, PromptBy, SessionStart, Spent};
use super::work::AgentWork;

/// Variables by which a client recognises that it was started by another one, and their like: none of them is this phase's.
const OF_AN_OUTER_AGENT: &[&str] = &[
    "AI_AGENT",
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SESSION_ID",
    "CODEX_CI",
    "CODEX_SESSION_ID",
    "CODEX_THREAD_ID",
];
/// With it Claude Code sleeps until a limit ends. The waiting is ours: durable, and shared by all phases.
const CLAUDE_CODE_SLEEPS: &str = "CLAUDE_CODE_RETRY_WATCHDOG";
/// One retry waits 60 s at most, and more would add up.
const CLAUDE_CODE_RETRIES: (&str, &str) = ("CLAUDE_CODE_MAX_RETRIES", "1");

/// Tools of Claude Code that write files. In its default permission mode a run without a terminal refuses them anyway, unless the
/// user's settings allow them.
const CLAUDE_CODE_WRITES: &[&str] = &["Edit", "Write", "NotebookEdit"];
/// Words of a command line that let a client write, and those that do not.
const READ_ONLY: [(&str, &str); 2] = [("workspace-write", "read-only"), ("auto_edit", "default")];

/// Without it Codex tries for ever where nobody listens. Versions that do not know the name say so and go on.
const CODEX_TRIES_FOR_EVER: &str = "features.unbounded_connection_retries=false";
/// Providers of Codex that cannot be set up anew.
const CODEX_BUILT_IN: &[&str] = &["openai", "ollama", "lmstudio", "amazon-bedrock", "oss"];

/// The line that names a client below a commit on which it has worked, in its maker's words; none where there are no such words.
pub fn co_author(name: &str) -> Option<&'static str> {
    match name {
        "claude-code" => Some("Co-Authored-By: Claude <noreply@anthropic.com>"),
        "codex" => Some("Co-Authored-By: Codex <noreply@openai.com>"),
        _ => None,
    }
}

/// One client.
#[derive(Clone, Debug, PartialEq)]
pub enum Adapter {
    ClaudeCode,
    Codex,
    Declared(DeclaredAgent),
}

impl Adapter {
    /// The client of this name that needs no entry in the configuration.
    pub fn built_in(name: &str) -> Option<Self> {
        match name {
            "claude-code" => Some(Self::ClaudeCode),
            "codex" => Some(Self::Codex),
            "gemini" => Some(Self::Declared(gemini())),
            _ => None,
        }
    }

    /// Whether it says what it costs; what it does not say, no budget in dollars counts.
    pub fn tells_its_cost(&self) -> bool {
        match self {
            Self::ClaudeCode => true,
            Self::Codex => false,
            Self::Declared(agent) => agent.cost.is_some(),
        }
    }

    /// The keys of the block that this client has no means for. A plan that uses one would not get what it says.
    pub fn unsupported(&self, work: &AgentWork) -> Vec<&'static str> {
        let claude = *self == Self::ClaudeCode;
        let declared = matches!(self, Self::Declared(_));
        let said = [
            ("model", work.model.is_some() && declared),
            ("allow", !work.allow.is_empty() && !claude),
            ("deny", !work.deny.is_empty() && !claude),
            ("ask", !work.ask.is_empty() && !claude),
            ("result", work.schema.is_some() && declared),
        ];
        said.into_iter().filter_map(|(key, without_means)| without_means.then_some(key)).collect()
    }

    /// How it is started to write a plan: it looks around, and is kept from changing files by whatever it has for that. Further
    /// arguments of a phase are left out, since they could undo this.
    pub fn planning_invocation(&self, work: &AgentWork, session: SessionStart<'_>, spent: Spent) -> Invocation {
        let bare = AgentWork::read(&serde_json::Value::Null);
        let (agent, model, env) = (work.agent.clone(), work.model.clone(), work.env.clone());
        let mut planning = AgentWork { agent, model, env, budget: work.budget, ..bare };
        if *self == Self::ClaudeCode {
            planning.args = words(&["--permission-mode", "default"]);
            planning.deny = words(CLAUDE_CODE_WRITES);
        }
        let mut invocation = self.invocation(&planning, &InvocationStart { session, spent, schema: None, calls: None });
        let is_built_in = *self == Self::Codex || *self == Self::Declared(gemini());
        for word in invocation.argv.iter_mut().filter(|_| is_built_in) {
            if let Some((_, instead)) = READ_ONLY.iter().find(|(writes, _)| writes == word) {
                (*instead).clone_into(word);
            }
        }
        invocation
    }

    /// How it is started. The prompt is added by [`Invocation::with_prompt`].
    pub fn invocation(&self, work: &AgentWork, start: &InvocationStart<'_>) -> Invocation {
        let mut invocation = match self {
            Self::ClaudeCode => claude_code(work, start),
            Self::Codex => codex(work, start),
            Self::Declared(agent) => declared(agent, work, start),
        };
        invocation.env_removed.extend(OF_AN_OUTER_AGENT.iter().map(|name| (*name).to_owned()));
        invocation.env_set.extend(work.env.iter().cloned());
        invocation
    }
}

fn claude_code(work: &AgentWork, start: &InvocationStart<'_>) -> Invocation {
    let mut argv = words(&["claude", "-p", "--output-format", "stream-json", "--verbose"]);
    match start.session {
        SessionStart::New { id } => argv.extend(words(&["--session-id", id])),
        SessionStart::Continue { id } => argv.extend(words(&["--resume", id])),
    }
    if let Some(model) = &work.model {
        argv.extend(words(&["--model", model]));
    }
    // These would take what follows them for their own, up to the next flag: the author's words come before.
    argv.extend(work.args.iter().cloned());
    if let Some(schema) = start.schema {
        argv.extend(words(&["--json-schema", schema.text]));
    }
    if let Some(turns) = work.max_turns {
        argv.extend(words(&["--max-turns", &turns.saturating_sub(start.spent.turns).max(1).to_string()]));
    }
    if let Some(usd) = work.budget.usd {
        argv.extend(words(&["--max-budget-usd", &dollars(usd - start.spent.usd)]));
    }
    if let Some(hook) = start.calls {
        argv.extend(words(&["--settings", &hook.settings()]));
    }
    for (flag, tools) in [("--allowedTools", &work.allow), ("--disallowedTools", &work.deny)] {
        if !tools.is_empty() {
            argv.push(flag.to_owned());
            argv.extend(tools.iter().cloned());
        }
    }
    let (name, value) = CLAUDE_CODE_RETRIES;
    Invocation {
        argv,
        prompt: PromptBy::Stdin,
        env_set: vec![(name.to_owned(), value.to_owned())],
        env_removed: vec![CLAUDE_CODE_SLEEPS.to_owned()],
    }
}

/// A cent at least: a client that is given nothing may take it for no budget at all.
fn dollars(usd: f64) -> String {
    format!("{:.4}", usd.max(0.01))
}

fn codex(work: &AgentWork, start: &InvocationStart<'_>) -> Invocation {
    let mut argv = words(&[
        "codex",
        "exec",
        "--json",
        "--skip-git-repo-check",
        "-s",
        "workspace-write",
        "-c",
        CODEX_TRIES_FOR_EVER,
    ]);
    if let Some(model) = &work.model {
        argv.extend(words(&["-m", model]));
    }
    if let Some(schema) = start.schema {
        argv.extend(words(&["--output-schema", schema.path]));
    }
    argv.extend(work.args.iter().cloned());
    // Flags after the word are not heeded.
    if let SessionStart::Continue { id } = start.session {
        argv.extend(words(&["resume", id]));
    }
    argv.push("-".to_owned());
    Invocation { argv, prompt: PromptBy::Stdin, env_set: Vec::new(), env_removed: Vec::new() }
}

/// The flags that keep Codex from sleeping until a limit of its provider ends, where its configuration names a provider of the
/// user's own. The built-in ones cannot be told.
pub fn codex_retries(config: &str) -> Vec<String> {
    let top = config.lines().map(str::trim).take_while(|line| !line.starts_with('['));
    let settings = top.filter_map(|line| line.strip_prefix("model_provider")?.trim_start().strip_prefix('='));
    let names = settings.map(|value| value.split('#').next().unwrap_or_default().trim().trim_matches(['"', '\'']));
    let plain =
        |name: &&str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    match names.filter(plain).last() {
        Some(name) if !CODEX_BUILT_IN.contains(&name) => {
            vec!["-c".to_owned(), format!("model_providers.{name}.stream_max_retries=0")]
        }
        Some(_) | None => Vec::new(),
    }
}

fn declared(agent: &DeclaredAgent, work: &AgentWork, start: &InvocationStart<'_>) -> Invocation {
    let (template, id) = match start.session {
        SessionStart::Continue { id } if !agent.continue_argv.is_empty() => (&agent.continue_argv, id),
        SessionStart::Continue { id } | SessionStart::New { id } => (&agent.start, id),
    };
    let mut argv: Vec<String> = template.iter().map(|word| word.replace("{session}", id)).collect();
    argv.extend(work.args.iter().cloned());
    Invocation { argv, prompt: agent.prompt, env_set: Vec::new(), env_removed: Vec::new() }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}
