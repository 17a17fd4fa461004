//! Output of a client is never trusted.

use onward_core::agent::{Adapter, DeclaredAgent, FRAME_BYTES_MAX, FrameForm, FrameReader, News, gemini};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{finish, word};

fn adapters() -> Vec<Adapter> {
    let text = DeclaredAgent { start: vec!["x".to_owned()], frames: FrameForm::Text, ..DeclaredAgent::default() };
    vec![Adapter::ClaudeCode, Adapter::Codex, Adapter::Declared(gemini()), Adapter::Declared(text)]
}

/// Values of any kind under the names that the readers look for.
fn frame() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|number| json!(number)),
        prop::sample::select(vec![
            "system",
            "init",
            "api_retry",
            "assistant",
            "user",
            "result",
            "rate_limit_event",
            "rejected",
            "text",
            "tool_use",
            "tool_result",
            "success",
            "completed",
            "thread.started",
            "turn.completed",
            "turn.failed",
            "item.completed",
            "agent_message",
            "error",
            "é\u{1b}[31m\u{0}",
            "-rf",
        ])
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        let key = prop::sample::select(vec![
            "type",
            "subtype",
            "session_id",
            "thread_id",
            "message",
            "content",
            "item",
            "error",
            "usage",
            "modelUsage",
            "rate_limit_info",
            "resetsAt",
            "status",
            "is_error",
            "result",
            "num_turns",
            "total_cost_usd",
            "errors",
            "text",
            "permission_denials",
            "tool_input",
            "input_tokens",
            "inputTokens",
            "terminal_reason",
            "retry_delay_ms",
        ]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(key, inner, 0..8).prop_map(|map| {
                Value::Object(map.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_bytes_and_no_frames_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        frames in prop::collection::vec(frame(), 0..6),
        id in "[-a-c ]{1,3}",
        errors in ".{0,80}",
        code in prop::option::of(any::<i32>()),
    ) {
        for adapter in adapters() {
            let mut reader = FrameReader::new(&adapter).continuing("x").expecting_json();
            reader.line(&bytes);
            for frame in &frames {
                reader.line(frame.to_string().as_bytes());
            }
            reader.line(&bytes);
            for kind in ["system", "thread.started"] {
                reader.line(json!({ "type": kind, "session_id": id, "thread_id": id }).to_string().as_bytes());
            }
            let result = finish(reader, code, &errors);
            // An id becomes a word of the next command line: never a flag.
            prop_assert!(result.session.is_none_or(|id| !id.starts_with('-') && !id.contains(char::is_whitespace)));
            prop_assert!(result.cost_usd.is_none_or(|cost| cost >= 0.0));
        }
    }
}

#[test]
fn a_line_without_end_is_passed_over() {
    // A tool's result fills one line with more than any frame may have. It is named and not read; the result after it is.
    let mut reader = FrameReader::new(&Adapter::ClaudeCode);
    let news = reader.line(&vec![b'x'; FRAME_BYTES_MAX + 1]);
    assert_eq!(news, [News::Note(format!("a line of {} bytes was not read", FRAME_BYTES_MAX + 1))], "news");
    reader
        .line(br#"{"type":"result","subtype":"success","is_error":false,"result":"ok","terminal_reason":"completed"}"#);
    assert_eq!(word(&finish(reader, Some(0), "").how), "done", "the end");
}

#[test]
fn deep_frames_are_junk() {
    // Brackets a hundred thousand deep are no frame, and no reason to fail.
    let deep = "[".repeat(100_000);
    let mut reader = FrameReader::new(&Adapter::Codex);
    assert!(matches!(reader.line(deep.as_bytes())[..], [News::Note(_)]), "a note");
}

#[test]
fn a_character_cut_in_half_loses_no_frame() {
    // The text of the last frame was cut in the middle of a character: half a pair of escapes, or bytes that are no UTF-8.
    let frame = |text: &str| {
        format!(
            r#"{{"type":"result","subtype":"success","is_error":false,"terminal_reason":"completed","result":"{text}"}}"#
        )
    };
    let odd = frame(r"half \ud83d");
    let pair = frame(r"whole \ud83d\ude00, half \ude00, \\ud83d, \u00e9 ");
    let mut bytes = frame("cut ~").into_bytes();
    let at = bytes.iter().position(|&byte| byte == b'~').expect("it is there");
    bytes[at] = 0xe2;
    let lines: [(Vec<u8>, &str); 3] = [
        (odd.into_bytes(), "half \u{fffd}"),
        (pair.into_bytes(), "whole 😀, half \u{fffd}, \\ud83d, é "),
        (bytes, "cut \u{fffd}"),
    ];
    for (line, text) in lines {
        let mut reader = FrameReader::new(&Adapter::ClaudeCode);
        reader.line(&line);
        let result = finish(reader, Some(0), "");
        assert_eq!((word(&result.how).as_str(), result.text.as_str()), ("done", text));
    }
}
