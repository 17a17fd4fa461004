//! Data that people hand in: refused at the door with code 2, or read back as it was.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use onward_core::data_limits::VALUES_MAX;
use onward_testkit::{Ran, TestProject};
use serde_json::Value;

use crate::chain::HELD;
use crate::project;

fn nested(levels: usize) -> String {
    format!("{}1{}", "{\"a\":".repeat(levels), "}".repeat(levels))
}

/// Documents, and whether they are taken.
fn documents() -> Vec<(String, bool)> {
    let one = |value: &str, taken: bool| (format!("{{\"x\": {value}}}"), taken);
    let mut all = vec![
        (nested(64), true),
        (nested(65), false),
        (nested(125), false),
        (nested(127), false),
        (nested(200), false),
        (nested(100_000), false),
        (format!("{{\"x\": {}{}}}", "[".repeat(63), "]".repeat(63)), true),
        (format!("{{\"x\": {}{}}}", "[".repeat(64), "]".repeat(64)), false),
        ("[]".to_owned(), false),
        (String::new(), false),
        ("{\"\": {\"\": \"\"}}".to_owned(), true),
        ("{\"a/b~c\": 1, \"\\u0000\": \"\\u0000\\u001b[31m\"}".to_owned(), true),
    ];
    for taken in [
        "0.1",
        "-0.0",
        "0.30000000000000004",
        "2.2250738585072014e-308",
        "5e-324",
        "1.7976931348623157e308",
        "1e22",
        "123456789.12345679",
        "0.10000000000000001",
        "9223372036854775807",
        "-9223372036854775808",
        "18446744073709551615",
        "\"\\ud83d\\ude00 \u{fffd}\"",
    ] {
        all.push(one(taken, true));
    }
    for refused in [
        "-0",
        "18446744073709551616",
        "-9223372036854775809",
        "1e400",
        "-1e400",
        "1e-400",
        "0.12345678901234567890",
        "0.1000000000000000055511151231257827",
        "{\"k\": 1, \"k\": 2}",
        "NaN",
        "\"\\ud800\"",
        "\"a\nb\"",
        "01",
        "1.",
    ] {
        all.push(one(refused, false));
    }
    all
}

/// Every document was merged beside a driver. What is refused changes nothing; what is taken is found again, by the same numbers
/// to the last bit. After a kill the run goes on, nothing is done twice, and doctor is content.
#[test]
fn kills_beside_a_driver_only_what_can_be_read_is_taken() {
    let project = project();
    project.plan(HELD);
    let _driver = project.start(["run"]);
    project.wait_ledger("begin", "b", 1);
    let (mut taken, mut refused) = (0, 0);
    for (text, fits) in documents() {
        project.write("clear.json", "{\"x\": null, \"a\": null, \"\": null}");
        project.command(["state", "merge", "clear.json"]).expect(0);
        project.write("patch.json", &text);
        let ran = project.command(["state", "merge", "patch.json"]);
        if !fits {
            assert_eq!(ran.code, 2, "{text:.200}");
            refused += 1;
            continue;
        }
        assert_eq!(ran.code, 0, "{text:.200}: {}", ran.err);
        let back = project.command(["state", "get"]).json();
        let meant: Value = serde_json::from_str(&text).expect("it is JSON");
        for (key, value) in meant.as_object().expect("an object") {
            assert_eq!(back[key].to_string(), value.to_string(), "{text:.200}");
        }
        taken += 1;
    }
    project.kill_everything();
    project.command(["doctor"]).expect(0);
    project.open("b");
    project.command(["run"]).expect(0);
    project.ran_once(["a", "c"]);
    project.command(["doctor"]).expect(0);
    println!("{taken} taken, {refused} refused");
}

/// The same documents were saved by a script. `load` gives back what `save` took, spelled by the same numbers.
#[test]
fn kills_nothing_that_is_saved_changes() {
    let project = project();
    for (text, fits) in documents() {
        project.write("state.json", &text);
        let ran = project.command(["save", "build", "demo", "--state", "state.json"]);
        assert_eq!(ran.code, if fits { 0 } else { 2 }, "{text:.200}: {}", ran.err);
        if fits {
            let meant: Value = serde_json::from_str(&text).expect("it is JSON");
            let mut back = project.command(["load", "build", "demo"]).json()["workflow_state"].clone();
            assert_eq!(back.as_object_mut().expect("an object").remove("project_name"), Some("demo".into()));
            assert_eq!(back.to_string(), meant.to_string());
        }
    }
    project.command(["doctor"]).expect(0);
}

/// The documents that are refused were handed in by a client over MCP, as every tool that takes data takes them. Each is refused there,
/// too, and the state stays as it was.
#[test]
fn what_would_change_is_refused_over_mcp() {
    let project = project();
    project.plan("onward: 1\nphases:\n  ext: { external: { instructions: x } }\n");
    project.command(["run"]).expect(15);
    let before = project.command(["state", "get"]).json();
    let bad = documents().into_iter().filter(|(text, fits)| !fits && text.starts_with("{\"x\""));
    let bad: Vec<String> = bad.map(|(text, _)| text).filter(|text| !text.contains("[[[")).collect();
    let mut lines = vec![
        r#"{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned(),
    ];
    let tools = [("state_merge", "patch"), ("start", "plan"), ("report_done", "outputs")];
    let mut asked = 0;
    for text in bad.iter().filter(|text| !text.contains('\n')) {
        for (tool, argument) in tools {
            lines.push(format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{asked},\"method\":\"tools/call\",\"params\":{{\"name\":\"{tool}\",\"arguments\":{{\"{argument}\":{text}}}}}}}"
            ));
            asked += 1;
        }
    }
    let mut command = project.prepare(["mcp"]);
    let mut server = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut to = server.stdin.take().expect("a pipe");
    let mut from = BufReader::new(server.stdout.take().expect("a pipe")).lines();
    to.write_all((lines.join("\n") + "\n").as_bytes()).expect("the server reads");
    for _ in 0..=asked {
        let line = from.next().expect("an answer").expect("text");
        let answer: Value = serde_json::from_str(&line).expect("JSON");
        let is_refused = answer.get("error").is_some() || answer["result"]["isError"] == true;
        assert!(answer["id"] == "i" || is_refused, "{line}");
    }
    drop(to);
    assert!(server.wait().expect("it ends").success());
    assert_eq!(project.command(["state", "get"]).json(), before);
    println!("{asked} refused");
}

/// A project has any name. It comes back as it was given, and is found by it alone.
#[test]
fn the_name_of_a_project_comes_back() {
    let project = project();
    let names = ["my shop", "日本", "中国", "a/b", "plain"];
    for (number, name) in names.iter().enumerate() {
        project.write("state.json", format!("{{\"n\": {number}}}"));
        project.command(["save", "build", name, "--state", "state.json"]).expect(0);
    }
    for (number, name) in names.iter().enumerate() {
        let state = project.command(["load", "build", name]).json()["workflow_state"].clone();
        assert_eq!((&state["project_name"], &state["n"]), (&(*name).into(), &number.into()));
        let runs = project.command(["list", "--project", name, "--json"]).json()["runs"].clone();
        assert_eq!((runs.as_array().map(Vec::len), &runs[0]["project"]), (Some(1), &(*name).into()));
    }
}

/// A script saves a state in the middle of its work. Neither `next` nor an export says that the work is complete.
#[test]
fn a_saved_state_is_not_complete_before_it_says_so() {
    let project = project();
    project.write("state.json", r#"{"n": 1}"#);
    project.command(["save", "build", "demo", "--state", "state.json"]).expect(0);
    assert_ne!(project.command(["next", "--json"]).json()["reason"], "completed");
    let export = project.command(["export", "--format", "checkpoint"]).expect(0).json();
    assert_eq!(export["state_machine"]["current_state"], Value::Null);
    project.write("state.json", r#"{"n": 1, "status": "completed"}"#);
    project.command(["save", "build", "demo", "--state", "state.json"]).expect(0);
    assert_eq!(project.command(["next", "--json"]).json()["reason"], "completed");
}

/// A state has a `project_name` of its own. It stays what the script wrote; where no project is named, it names it.
#[test]
fn the_project_name_of_a_state_is_its_own() {
    let project = project();
    project.write("state.json", r#"{"project_name": "The Shop", "n": 1}"#);
    project.command(["save", "build", "shop", "--state", "state.json"]).expect(0);
    let back = project.command(["load", "build", "shop"]).json();
    assert_eq!(back["workflow_state"]["project_name"], "The Shop");
    project.command(["save", "other", "--state", "state.json"]).expect(0);
    assert_eq!(project.command(["load", "other", "The Shop"]).json()["workflow_state"]["n"], 1);
    project.write("state.json", "{}");
    project.command(["save", "other", "--state", "state.json"]).expect(2).err_names(["project_name"]);
}

/// One name stands twice in an object. It is refused with that name at every door, and nothing is changed.
#[test]
fn a_key_that_stands_twice_is_named() {
    let project = project();
    project.plan("onward: 1\nphases:\n  ext: { external: { instructions: x } }\n");
    project.command(["run"]).expect(15);
    project.write("twice.json", r#"{"a": {"colour": 1, "b": 2, "colour": 3}}"#);
    project.command(["state", "merge", "twice.json"]).expect(2).err_names(["colour", "twice"]);
    project.command(["save", "build", "demo", "--state", "twice.json"]).expect(2).err_names(["colour", "twice"]);
    project.command(["state", "get", "/a"]).expect(10);
    project.write("plan.json", r#"{"onward": 1, "phases": {"a": {"run": "x", "run": "y"}}}"#);
    project.command(["check", "plan.json"]).expect(2);
    project.command(["report", "replan", "ext", "--plan", "plan.json"]).expect(2).err_names(["run"]);
    project.write(".onward/config.yaml", "resume: { auto: safe }\nresume: { auto: never }\n");
    project.command(["status"]).expect(2).err_names(["resume"]);
}

/// Two projects save under one type in turn. Without a project, `load` gives what was saved last, not what was begun last.
#[test]
fn the_newest_of_a_type_is_what_was_saved_last() {
    let project = project();
    for (name, number) in [("first", 1), ("second", 2), ("first", 3)] {
        project.write("state.json", format!("{{\"n\": {number}}}"));
        project.command(["save", "build", name, "--state", "state.json"]).expect(0);
    }
    let newest = |words: &[&str]| project.command(words).expect(0).json()["workflow_state"]["n"].clone();
    assert_eq!(newest(&["load", "build"]), 3);
    assert_eq!(newest(&["load", "build", "second"]), 2);
}

/// `onward WORDS` in a shell with a limit of its own.
fn limited(project: &TestProject, limit: &str, words: &[&str]) -> Ran {
    let script = format!("ulimit {limit}; exec \"$@\"");
    let binary = env!("CARGO_BIN_EXE_onward");
    let all = ["-c", script.as_str(), "sh", binary].into_iter().chain(words.iter().copied());
    project.spawn(project.prepare_program("sh", all)).wait()
}

fn zeros(count: usize) -> String {
    format!("{{\"l\":[0{}]}}", ",0".repeat(count - 1))
}

/// Many small values are saved and merged by a shell that may have 150 MB, most of which one copy of them takes. They come back.
#[test]
fn soak_many_small_values_take_little_memory() {
    let project = project();
    project.write("many.json", zeros(300_000));
    limited(&project, "-d 150000", &["save", "build", "demo", "--state", "many.json"]).expect(0);
    project.write("other.json", zeros(299_999));
    limited(&project, "-d 150000", &["state", "merge", "other.json"]).expect(0);
    let back = project.command(["state", "get", "/l"]).expect(0).json();
    assert_eq!(back.as_array().map(Vec::len), Some(299_999));
}

/// A document holds more values than are kept; then one that does not, and a second that is too many with it. Both are refused
/// with the limit, and the state is as it was.
#[test]
fn soak_too_many_values_are_refused() {
    let project = project();
    let most = usize::try_from(VALUES_MAX).expect("it is small");
    let limit = VALUES_MAX.to_string();
    project.write("many.json", zeros(most));
    project.command(["save", "build", "demo", "--state", "many.json"]).expect(2).err_names([limit.as_str(), "values"]);
    project.write("few.json", "{}");
    project.command(["save", "build", "demo", "--state", "few.json"]).expect(0);
    project.command(["state", "merge", "many.json"]).expect(2).err_names([limit.as_str(), "values"]);
    assert_eq!(project.command(["state", "get"]).expect(0).json(), serde_json::json!({}));
    project.command(["doctor"]).expect(0);
}

/// The shell allows a stack of 64 KiB. What is nested as deep as is allowed is taken, comes back and is no obstacle; a plan is
/// carried out.
#[test]
fn a_small_stack_is_enough() {
    let project = project();
    project.plan("onward: 1\nphases:\n  a: { run: step a }\n  b: { needs: a, run: step b }\n");
    let onward = |words: &[&str]| limited(&project, "-s 64", words);
    project.write("deep.json", nested(64));
    onward(&["run"]).expect(0);
    onward(&["state", "merge", "deep.json"]).expect(0);
    let meant: Value = serde_json::from_str(&nested(64)).expect("it is JSON");
    assert_eq!(onward(&["state", "get"]).expect(0).json(), meant);
    onward(&["save", "build", "demo", "--state", "deep.json"]).expect(0);
    onward(&["load", "build", "demo"]).expect(0);
    onward(&["doctor"]).expect(0);
    project.ran_once(["a", "b"]);
}
