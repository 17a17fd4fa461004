//! Every recording has its line in a table: how it ended, in which turns, tokens and cost.

use std::collections::BTreeMap;

use onward_core::agent::{Adapter, AgentEnd, FrameReader, News, ToolOutcome};
use serde_json::Value;

use super::{finish, played, word};

/// `client/name` and its lines.
fn recordings() -> BTreeMap<String, (Value, String)> {
    let index: BTreeMap<String, Value> =
        serde_json::from_str(&file("index.json")).expect("the index is an object of objects");
    index.into_iter().map(|(name, entry)| (name.clone(), (entry, file(&format!("{name}.jsonl"))))).collect()
}

#[expect(clippy::disallowed_methods, reason = "a hundred recordings are read, and the core itself reads none")]
fn file(name: &str) -> String {
    let path = format!("{}/tests/agent/frames/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn adapter(name: &str) -> Adapter {
    if name.starts_with("claude/") { Adapter::ClaudeCode } else { Adapter::Codex }
}

fn recording(name: &str) -> (Vec<News>, onward_core::agent::AgentResult) {
    let (entry, lines) = recordings().remove(name).expect("it is recorded");
    let code = entry["exit"].as_i64().and_then(|code| i32::try_from(code).ok());
    played(&adapter(name), &lines, code, entry["stderr"].as_str().unwrap_or_default())
}

#[test]
fn every_recording_ends_as_it_did() {
    // All frames of all recorded runs are read. Each ends as the service was scripted to let it end.
    let mut table = String::new();
    for (name, (entry, lines)) in recordings() {
        let mut reader = FrameReader::new(&adapter(&name));
        if let Some(session) = entry["continues"].as_str() {
            reader = reader.continuing(session);
        }
        if entry["schema"].as_bool() == Some(true) {
            reader = reader.expecting_json();
        }
        for line in lines.lines() {
            reader.line(line.as_bytes());
        }
        let code = entry["exit"].as_i64().and_then(|code| i32::try_from(code).ok());
        let result = finish(reader, code, entry["stderr"].as_str().unwrap_or_default());
        let turns = result.turns.map_or("-".to_owned(), |turns| turns.to_string());
        let tokens = result.tokens.map_or("-".to_owned(), |tokens| tokens.total().to_string());
        let cost = result.cost_usd.map_or("-".to_owned(), |cost| format!("{cost:.6}"));
        let part = if result.is_part { ", and more" } else { "" };
        table += &format!("{name}: {} turns={turns} tokens={tokens} usd={cost}{part}\n", word(&result.how));
    }
    assert_eq!(table, include_str!("recorded.txt"), "how the recordings end");
}

#[test]
fn the_agent_is_readable() {
    // The agent says what it does, runs a command and is done. A person reads that, not JSON.
    let (news, result) = recording("claude/tool");
    let lines: Vec<String> = news.iter().map(ToString::to_string).collect();
    assert_eq!(
        lines,
        ["session 00000000-0000-4000-8000-000000000001", "I run it", "> Bash: echo one", "  one", "done"],
        "lines of the log"
    );
    assert_eq!(
        (result.text.as_str(), result.model.as_deref()),
        ("done", Some("claude-opus-4-8[1m]")),
        "text and model"
    );
    let (news, _) = recording("codex/tool");
    let lines: Vec<String> = news.iter().map(ToString::to_string).collect();
    assert_eq!(
        lines,
        [
            "session 00000000-0000-4000-8000-000000000001",
            "I run it",
            "> shell: /bin/bash -lc 'echo one'",
            "  one",
            "done"
        ],
        "lines of the log"
    );
}

#[test]
fn the_first_line_stands_for_many() {
    // A command and a result of several lines are one line each in the log, and it can be seen that there is more.
    let frame = serde_json::json!({ "type": "assistant", "message": { "content": [
        { "type": "tool_use", "name": "Bash", "input": { "command": "make \\\n  test\n" } },
        { "type": "tool_use", "name": "Bash", "input": { "command": "ls\n" } } ] } });
    let mut reader = FrameReader::new(&Adapter::ClaudeCode);
    let lines: Vec<String> = reader.line(frame.to_string().as_bytes()).iter().map(ToString::to_string).collect();
    assert_eq!(lines, ["> Bash: make \\ …", "> Bash: ls"]);
}

#[test]
fn waiting_and_refusals_are_told() {
    // The service is asked again, a tool call is refused, another waits for a person. All of it is in the result or the news.
    let (news, _) = recording("claude/overloaded");
    let waiting: Vec<&News> = news.iter().filter(|news| matches!(news, News::Waiting { .. })).collect();
    assert_eq!(waiting.len(), 2, "waits: {waiting:?}");
    assert_eq!(waiting[1].to_string(), "waiting: 529 overloaded, again in 1 s (2 of 10)", "the second wait");
    let (news, denied) = recording("claude/denied");
    assert_eq!(denied.denials[0].about, "/project/made.txt", "the refused call");
    let failed = news.iter().any(|news| matches!(news, News::ToolResult { outcome: ToolOutcome::Failed, .. }));
    assert!(failed, "the refusal is in the log: {news:?}");
    let (_, deferred) = recording("claude/deferred");
    assert_eq!(deferred.deferred.expect("a call waits").tool, "Write", "the call that waits");
    let (_, refused) = recording("codex/refused");
    assert_eq!(refused.denials[0].tool, "apply_patch", "Codex says it on standard error only");
    let (_, answered) = recording("claude/structured");
    assert_eq!(answered.structured, Some(serde_json::json!({ "done": true })), "the answer");
}

#[test]
fn the_words_of_a_limit_are_kept() {
    let (_, result) = recording("claude/usage_limit");
    let AgentEnd::Limited { said, .. } = result.how else { panic!("no limit: {:?}", result.how) };
    assert_eq!(said, "You've hit your session limit · resets 7:52am (UTC)", "the message");
}

#[test]
fn a_result_without_its_frames_is_read_from_its_words() {
    // An older client, or one behind a proxy: only the result frame, and in it only words.
    let ends = [
        ("Claude AI usage limit reached|1794823200", "limited until 2026-11-16T10:00:00Z"),
        ("You've hit your session limit · resets 5:30am (Asia/Calcutta)", "limited until 2026-11-17T00:00:00Z"),
        ("API Error: Connection error. connect ECONNREFUSED: connection refused", "overloaded"),
        ("API Error: 503 upstream connect error", "overloaded"),
        ("Prompt is too long", "exhausted"),
        ("Not logged in · Please run /login", "not-logged-in"),
        ("error E0308: mismatched types in login.rs, in an overloaded function", "failed"),
    ];
    for (text, how) in ends {
        let frame = serde_json::json!({ "type": "result", "subtype": "error_during_execution", "is_error": true,
            "session_id": "sess-b2", "result": text, "num_turns": 3 });
        let (_, result) = played(&Adapter::ClaudeCode, &frame.to_string(), Some(1), "");
        assert_eq!(word(&result.how), how, "{text}");
        assert_eq!(result.session.as_deref(), Some("sess-b2"), "the session of the last frame");
    }
}

#[test]
fn an_exit_code_alone_is_no_success() {
    // The process ends with 0 and no frame says that it is done.
    for (adapter, lines) in [
        (Adapter::ClaudeCode, ""),
        (Adapter::ClaudeCode, r#"{"type":"system","subtype":"init","session_id":"a"}"#),
        (Adapter::Codex, r#"{"type":"turn.started"}"#),
    ] {
        let (_, result) = played(&adapter, lines, Some(0), "Warning: no stdin\n");
        assert_eq!(word(&result.how), "no-result", "{lines}");
    }
    let (_, hooked) = played(
        &Adapter::ClaudeCode,
        r#"{"type":"result","subtype":"success","is_error":false,"num_turns":2,"result":"","terminal_reason":"hook_stopped"}"#,
        Some(0),
        "",
    );
    assert_eq!(word(&hooked.how), "failed", "stopped by a hook");
}

#[test]
fn codex_says_its_time_by_the_clock_on_the_wall() {
    // The message has a time and no zone: it is that of the machine on which the client runs.
    let (entry, lines) = recordings().remove("codex/usage_limit").expect("it is recorded");
    let kolkata = jiff::tz::TimeZone::get("Asia/Kolkata").expect("a zone");
    let mut reader = FrameReader::new(&Adapter::Codex);
    lines.lines().for_each(|line| drop(reader.line(line.as_bytes())));
    let code = entry["exit"].as_i64().and_then(|code| i32::try_from(code).ok());
    let exit = onward_core::agent::AgentExit { code, errors: b"", local: &kolkata };
    let result = reader.finish(&exit, super::now());
    // 7:54 in the morning of the next day over there.
    assert_eq!(word(&result.how), "limited until 2026-11-17T02:24:00Z");
}

#[test]
fn codex_tells_its_end_in_one_line_alone() {
    // Lines of type `error` are warnings, also the last one: `turn.failed` is the end, and its words say of which kind.
    let ends = [
        ("Connection failed: error sending request for url (http://127.0.0.1:1/v1/responses)", "overloaded"),
        ("stream disconnected before completion: stream closed", "overloaded"),
        ("unexpected status 401 Unauthorized: Missing bearer", "not-logged-in"),
        ("thread 7 already has an active writer", "session-in-use"),
    ];
    for (text, how) in ends {
        let frame =
            |kind: &str| serde_json::json!({ "type": kind, "message": text, "error": { "message": text } }).to_string();
        let started = r#"{"type":"turn.started"}"#;
        let (_, failed) =
            played(&Adapter::Codex, &format!("{started}\n{}\n{}", frame("error"), frame("turn.failed")), Some(1), "");
        assert_eq!(word(&failed.how), how, "{text}");
        let done = r#"{"type":"turn.completed","usage":{"input_tokens":1,"output_tokens":1}}"#;
        let (_, went_on) = played(&Adapter::Codex, &format!("{started}\n{}\n{done}", frame("error")), Some(0), "");
        assert_eq!(word(&went_on.how), "done", "{text}");
    }
}

/// A client reports an error and says nothing else than "done". Whoever reads why it failed is not told "done".
#[test]
fn an_error_that_says_done() {
    for (said, told) in
        [("done", "its client reports an error, and all that it says is: done"), ("no space left", "no space left")]
    {
        let frame = serde_json::json!({ "type": "result", "subtype": "error_during_execution", "is_error": true,
            "session_id": "s", "result": said, "num_turns": 3 });
        let (_, result) = played(&Adapter::ClaudeCode, &frame.to_string(), Some(1), "");
        assert_eq!(result.how, AgentEnd::Failed { message: told.to_owned() });
    }
}

const RESULT: &str = r#""type":"result","subtype":"success","is_error":false,"result":"Done.","num_turns":1"#;

#[test]
fn a_later_frame_takes_no_cost_back() {
    // A client, or what writes to its output, tells less than before, or nothing. What was spent stays spent.
    let frames = [(r#","total_cost_usd":9"#, 3), (r#","total_cost_usd":0.01"#, 1), ("", 1)];
    let lines: Vec<String> = frames
        .iter()
        .map(|(cost, turns)| format!("{{{}{cost}}}", RESULT.replace(":1", &format!(":{turns}"))))
        .collect();
    let (_, result) = played(&Adapter::ClaudeCode, &lines.join("\n"), Some(0), "");
    assert_eq!((result.cost_usd, result.turns, result.is_part), (Some(9.0), Some(1), false));
}

#[test]
fn a_subagent_names_no_session() {
    // A subagent has a session of its own. The work goes on in the last one that the client itself has named.
    let init = r#"{"type":"system","subtype":"init","session_id":"own"}"#;
    let sub = r#"{"type":"assistant","session_id":"sub","parent_tool_use_id":"t1","message":{"content":[]}}"#;
    for lines in [[init, sub], [sub, init]] {
        let (_, result) = played(&Adapter::ClaudeCode, &lines.join("\n"), Some(0), "");
        assert_eq!(result.session.as_deref(), Some("own"));
        let changed = format!("{}\n{{{RESULT},\"session_id\":\"other\"}}", lines.join("\n"));
        let (_, result) = played(&Adapter::ClaudeCode, &changed, Some(0), "");
        assert_eq!(result.session.as_deref(), Some("other"));
    }
}

#[test]
fn an_answer_that_would_change_is_refused() {
    // Numbers beyond what is kept, and a field that stands twice: recorded, they would be other outputs than the agent gave.
    let bad = ["123456789012345678901234567890", "-0", "1e-400", "1.00000000000000000001", r#"{"k":1,"k":2}"#];
    for (value, fits) in
        bad.map(|value| (value, false)).into_iter().chain([("17", true), ("0.1", true), ("-0.0", true)])
    {
        let answer = format!(r#"{{"n":{value}}}"#);
        let claude = format!(r#"{{{RESULT},"usage":{{"x":1.00000000000000000001}},"structured_output":{answer}}}"#);
        let said = serde_json::json!({ "type": "item.completed", "item": { "type": "agent_message", "text": answer } });
        let codex = format!("{said}\n{}", r#"{"type":"turn.completed","usage":{}}"#);
        for (adapter, lines) in [(Adapter::ClaudeCode, claude), (Adapter::Codex, codex)] {
            let mut reader = FrameReader::new(&adapter).expecting_json();
            lines.lines().for_each(|line| drop(reader.line(line.as_bytes())));
            let result = super::finish(reader, Some(0), "");
            assert_eq!((word(&result.how) == "done", result.structured.is_some()), (fits, fits), "{adapter:?} {value}");
            let AgentEnd::Failed { message } = &result.how else { continue };
            assert!(message.contains("cannot be kept"), "{message}");
        }
    }
}
