//! How the clients are called.

use onward_core::agent::{
    Adapter, AgentWork, AgentWorktree, AnswerSchema, InvocationStart, PromptBy, SessionPolicy, SessionStart, Spent,
    codex_retries,
};
use serde_json::json;

fn work() -> AgentWork {
    AgentWork::read(&json!({
        "use": "claude-code", "prompt": "Build it", "model": "opus", "args": ["--add-dir", "../lib"],
        "max-turns": 40, "budget": { "usd": 5, "tokens": 1000 }, "allow": ["Edit", "Bash(git commit:*)"], "deny": "WebFetch",
        "env": { "LEVEL": 3 }, "session": "new", "worktree": "own", "result": { "schema": "schemas/review.json" }
    }))
}

#[test]
fn the_block_is_read_once() {
    let work = work();
    assert_eq!((work.session, work.worktree), (SessionPolicy::New, AgentWorktree::Own), "session and worktree");
    assert_eq!((work.budget.usd, work.budget.tokens, work.max_turns), (Some(5.0), Some(1000), Some(40)), "bounds");
    assert_eq!(work.env, [("LEVEL".to_owned(), "3".to_owned())], "variables");
    assert_eq!(
        (work.deny, work.schema.as_deref()),
        (vec!["WebFetch".to_owned()], Some("schemas/review.json")),
        "lists"
    );
    let bare = AgentWork::read(&json!({ "prompt-file": "p.md" }));
    assert_eq!((bare.agent.as_str(), bare.session), ("claude-code", SessionPolicy::Continue), "nothing said");
}

#[test]
fn claude_code_gets_our_session_and_what_is_left() {
    // Two dollars and ten turns were used by earlier attempts.
    let spent = Spent { turns: 10, usd: 2.0, tokens: 0 };
    let schema = Some(AnswerSchema { text: "{}", path: "schemas/review.json" });
    let new = Adapter::ClaudeCode.invocation(
        &work(),
        &InvocationStart { session: SessionStart::New { id: "1-2-3" }, spent, schema, calls: None },
    );
    let line = new.argv.join(" ");
    assert_eq!(
        line,
        "claude -p --output-format stream-json --verbose --session-id 1-2-3 --model opus --add-dir ../lib --json-schema {} \
         --max-turns 30 --max-budget-usd 3.0000 --allowedTools Edit Bash(git commit:*) --disallowedTools WebFetch",
        "a new session"
    );
    assert_eq!(new.prompt, PromptBy::Stdin, "way of the prompt");
    assert!(new.env_set.contains(&("CLAUDE_CODE_MAX_RETRIES".to_owned(), "1".to_owned())), "bounded retries");
    for name in ["CLAUDE_CODE_RETRY_WATCHDOG", "CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID"] {
        assert!(
            new.env_removed.contains(&name.to_owned()),
            "{name}: no sleep until a limit ends, and nothing of an outer client"
        );
    }
    let next = InvocationStart { session: SessionStart::Continue { id: "1-2-3" }, spent, schema: None, calls: None };
    let line = Adapter::ClaudeCode.invocation(&work(), &next).argv.join(" ");
    assert!(line.contains("--resume 1-2-3") && !line.contains("--session-id"), "continued: {line}");
    assert!(line.contains("--allowedTools Edit"), "a session does not keep its tools: {line}");
}

#[test]
fn codex_takes_its_flags_before_resume() {
    let schema = Some(AnswerSchema { text: "{}", path: "schemas/review.json" });
    let start =
        InvocationStart { session: SessionStart::Continue { id: "t-7" }, spent: Spent::default(), schema, calls: None };
    let invocation = Adapter::Codex.invocation(&work(), &start);
    assert_eq!(
        invocation.argv.join(" "),
        "codex exec --json --skip-git-repo-check -s workspace-write -c features.unbounded_connection_retries=false \
         -m opus --output-schema schemas/review.json \
         --add-dir ../lib resume t-7 -",
        "a session that goes on"
    );
    let new = InvocationStart { session: SessionStart::New { id: "u" }, ..start };
    assert!(!Adapter::Codex.invocation(&work(), &new).argv.contains(&"u".to_owned()), "it chooses its own id");
    assert_eq!(Adapter::Codex.unsupported(&work()), ["allow", "deny"], "keys without means");
}

#[test]
fn codex_does_not_sleep_until_a_limit_ends() {
    // Its configuration names a provider of the user's own: that one can be told not to try again. A built-in one cannot.
    let flags = codex_retries(
        "model = \"m\"\nmodel_provider = \"rig\" # ours\n[model_providers.rig]\nmodel_provider = \"no\"\n",
    );
    assert_eq!(flags, ["-c", "model_providers.rig.stream_max_retries=0"], "a provider of the user's own");
    for config in
        ["", "model_provider = 'openai'", "model_provider = \"a b\"", "model_provider", "[x]\nmodel_provider = \"y\""]
    {
        assert_eq!(codex_retries(config), Vec::<String>::new(), "{config}");
    }
    let start = InvocationStart {
        session: SessionStart::Continue { id: "t-7" },
        spent: Spent::default(),
        schema: None,
        calls: None,
    };
    let mut invocation = Adapter::Codex.invocation(&work(), &start);
    invocation.add_flags(flags);
    assert_eq!(
        invocation.argv[..4],
        ["codex", "exec", "-c", "model_providers.rig.stream_max_retries=0"],
        "where they stand"
    );
}

/// A client that writes a plan is called so that it changes no file, whatever the phase lets it do.
#[test]
fn whoever_plans_may_not_write() {
    let line = |adapter: Adapter| {
        let spent = Spent { usd: 0.5, ..Spent::default() };
        let invocation = adapter.planning_invocation(&work(), SessionStart::Continue { id: "t-7" }, spent);
        assert!(invocation.env_set.contains(&("LEVEL".to_owned(), "3".to_owned())), "variables");
        invocation.argv.join(" ")
    };
    assert_eq!(
        line(Adapter::ClaudeCode),
        "claude -p --output-format stream-json --verbose --resume t-7 --model opus --permission-mode default \
         --max-budget-usd 4.5000 --disallowedTools Edit Write NotebookEdit"
    );
    let codex = line(Adapter::Codex);
    assert!(
        codex.contains("-s read-only") && codex.contains("-m opus") && !codex.contains("workspace-write"),
        "{codex}"
    );
    let gemini = line(Adapter::built_in("gemini").expect("it is"));
    assert!(gemini.contains("--approval-mode default") && gemini.contains("--resume t-7"), "{gemini}");
    for written in ["--add-dir", "WebFetch", "git commit", "--max-turns"] {
        assert!(!codex.contains(written), "{written}: {codex}");
    }
}
