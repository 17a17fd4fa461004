//! Agents that are declared in the configuration.

use onward_core::agent::{
    Adapter, AgentEnd, AgentWork, DeclaredAgent, FrameForm, InvocationStart, PromptBy, SessionStart, Spent, gemini,
};
use serde_json::json;

use super::{played, word};

#[test]
fn an_entry_says_how_to_start_and_where_things_stand() {
    // A client of one's own, with its prompt as an argument and its limit in its own words.
    let entry = json!({
        "start": ["helper", "do"], "continue": ["helper", 2, "{session}"], "prompt": "argument",
        "session": "/id", "text": "/said/0", "cost": "/bill/usd",
        "limit": { "matches": "come back later", "reset-at": "later, at ([0-9]+)" }
    });
    let agent = DeclaredAgent::read(&entry).expect("it says how to start");
    assert_eq!((agent.prompt, agent.frames), (PromptBy::Argument, FrameForm::JsonLines), "forms");
    let adapter = Adapter::Declared(agent);
    let work = AgentWork::read(&json!({ "use": "helper", "prompt": "x", "args": ["-v"], "model": "large" }));
    let start = |session| InvocationStart { session, spent: Spent::default(), schema: None, calls: None };
    let first = adapter.invocation(&work, &start(SessionStart::New { id: "u-1" }));
    assert_eq!(first.with_prompt("do it"), (["helper", "do", "-v", "do it"].map(str::to_owned).into(), None), "start");
    let next = adapter.invocation(&work, &start(SessionStart::Continue { id: "s-9" }));
    assert_eq!(next.argv, ["helper", "2", "s-9", "-v"], "continued");
    assert_eq!(adapter.unsupported(&work), ["model"], "keys without means");

    let lines = "{\"id\":\"s-9\",\"said\":[\"half\"],\"bill\":{\"usd\":0.5}}\n{\"said\":[\"way\"]}";
    let (_, done) = played(&adapter, lines, Some(0), "");
    assert_eq!((word(&done.how).as_str(), done.text.as_str(), done.cost_usd), ("done", "half\nway", Some(0.5)), "done");
    assert_eq!(done.session.as_deref(), Some("s-9"), "session");
    let (_, limited) = played(&adapter, lines, Some(1), "come back later, at 1794823200\n");
    assert_eq!(word(&limited.how), "limited until 2026-11-16T10:00:00Z", "limited");
    let (_, failed) = played(&adapter, lines, Some(1), "no such file\n");
    assert_eq!(word(&failed.how), "failed", "failed");
}

/// Without a result the reason is the last that was heard: of the errors, of the agent, of what was printed.
#[test]
fn without_a_result_the_last_words_are_the_reason() {
    let said = "{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"I begin.\"}]}}";
    for (lines, errors, reason) in [
        (said, "gone\n", "gone"),
        (said, "", "I begin."),
        ("{\"type\":\"resu", "", "{\"type\":\"resu"),
        ("", "", "it said nothing"),
    ] {
        let (_, ended) = played(&Adapter::ClaudeCode, lines, Some(0), errors);
        assert_eq!(ended.how, AgentEnd::NoResult { said: reason.to_owned() }, "{lines}");
    }
}

#[test]
fn output_without_frames_is_text() {
    let agent = DeclaredAgent::read(&json!({ "start": "sh", "frames": "text" })).expect("it says how to start");
    let (news, done) = played(&Adapter::Declared(agent), "one\n\u{1b}[31mtwo\u{1b}[0m\n", Some(0), "");
    assert_eq!(news.iter().map(ToString::to_string).collect::<Vec<_>>(), ["one", "two"], "news");
    assert_eq!(word(&done.how), "done", "the end");
    assert!(DeclaredAgent::read(&json!({ "prompt": "stdin" })).is_none(), "an entry without a start");
}

#[test]
fn gemini_is_such_an_entry() {
    // The message comes in pieces; the prompt that is repeated as the user's is not the agent's word.
    let lines = r#"{"type":"init","session_id":"8f0","model":"gemini-pro"}
{"type":"message","role":"user","content":"say hello"}
{"type":"message","role":"assistant","content":"hel","delta":true}
{"type":"message","role":"assistant","content":"lo","delta":true}
{"type":"result","status":"success"}"#;
    let (_, done) = played(&Adapter::built_in("gemini").expect("it is known"), lines, Some(0), "");
    assert_eq!((done.text.as_str(), done.session.as_deref()), ("hello", Some("8f0")), "text and session");
    assert!(gemini().continue_argv.contains(&"{session}".to_owned()), "it can be continued");
}
