//! Stories about what others have written and a terminal would obey: it is shown as signs, a pipe gets the bytes, and no secret grows
//! together when colours are taken out.

use onward_testkit::{TestProject, kept};

use crate::project;

const SECRET: &str = "s3cr3tCanary_Alpha77";
/// A title, a colour that hides, a control character beyond ASCII, and a mark that turns text around.
const OBEYED: &str = "a\u{1b}]0;TITLE\u{7}b\u{1b}[8mc\u{9b}31md\u{202e}e";

/// The bytes that a terminal gets until a word is there.
fn on_a_terminal(project: &TestProject, args: &[&str], word: &str) -> String {
    let mut terminal = project.terminal(args);
    terminal.wait_until(word, |terminal| terminal.text().contains(word));
    let shown = String::from_utf8_lossy(terminal.shown()).into_owned();
    terminal.wait();
    shown
}

fn obeys_nothing(shown: &str, args: &[&str]) {
    for signs in ["\u{1b}]", "\u{7}", "\u{1b}[8m", "\u{9b}", "\u{202e}"] {
        assert!(!shown.contains(signs), "{args:?}: {signs:?} in {shown:?}");
    }
}

/// A phase prints a secret with a colour in the middle, and fails. In a log without colours it would be one word again; it is in
/// none of what is shown or kept.
#[test]
fn a_secret_parted_by_a_colour_is_shown_nowhere() {
    let mut project = project();
    project.set_env("API_KEY", SECRET);
    let right = &SECRET[6..];
    project.plan(
        r#"
onward: 1
name: demo
phases:
  a:
    run: |
      left=$(printf %.6s "$API_KEY"); right=${API_KEY#??????}
      printf 'key: %s\033[0m%s\n' "$left" "$right"
      printf 'key: %s\033]0;t\007%s\r\n' "$left" "$right" >&2
      exit 1
"#,
    );
    let mut printed = String::new();
    for args in [&["run"][..], &["resume", "--json"], &["logs"], &["status"], &["show", "@", "--json"]] {
        let ran = project.command(args);
        printed.extend([ran.out, ran.err]);
    }
    assert!(printed.contains("key: [redacted]"), "{printed}");
    assert!(!printed.contains(right), "{printed}");
    for (name, bytes) in kept::everything(&project.dir()) {
        assert!(!String::from_utf8_lossy(&bytes).contains(right), "{name}");
    }
}

/// A token that nobody knows by its value is parted by colours. Nothing finds it in what is kept; without the colours it is found.
#[test]
fn a_token_is_looked_for_after_colours_are_gone() {
    let project = project();
    let (left, right) = ("ghp_A1b2C3d4E5f6", "G7h8I9j0K1l2M3n4O5p6Q7r8");
    project.plan(&format!(
        "onward: 1\nname: demo\nphases:\n  a: {{ run: \"printf '%s\\\\033[0m%s\\\\n' {left} {right}; exit 1\" }}\n"
    ));
    let ran = project.command(["run"]).expect(1);
    assert!(!ran.err.contains(right) && ran.err.contains("[redacted]"), "{ran}");
}

/// Files of other tools come with a clone. On a terminal they are signs, in a pipe they are what they are.
#[test]
fn a_file_of_another_tool_is_not_obeyed() {
    let project = project();
    project.command(["init"]).expect(0);
    let newer = format!("{{\"schema_version\": \"9.0\", \"checkpoint_id\": \"x_{OBEYED}\"}}\n");
    project.write(".claude/checkpoints/damaged.json", format!("{{{OBEYED} THE-END\n"));
    let json = newer.replace('\u{1b}', "\\u001b").replace('\u{7}', "\\u0007").replace("e\"}", "e THE-END\"}");
    project.write(".claude/checkpoints/newer.json", &json);
    project.write(".claude/pipeline-state.json", format!("{OBEYED} THE-END"));
    for (path, code) in [
        (".claude/checkpoints/damaged.json", 12),
        (".claude/checkpoints/newer.json", 17),
        (".claude/pipeline-state.json", 12),
    ] {
        for args in [&["show", path][..], &["show", path, "--raw"]] {
            obeys_nothing(&on_a_terminal(&project, args, "THE-END"), args);
            let piped = project.command(args).expect(code);
            assert_eq!(piped.out, project.read(path), "{args:?}");
        }
    }
}

/// A saved state has in it what a terminal would obey. Whatever prints it to a terminal escapes it; JSON in a pipe reads back the same.
#[test]
fn saved_data_is_not_obeyed() {
    let project = project();
    let state = serde_json::json!({ "project_name": OBEYED, "last_error": OBEYED, "more": { OBEYED: OBEYED } });
    project.write("state.json", state.to_string());
    project.command(["save", "kind", "p", "--state", "state.json"]).expect(0);
    project.command(["decision", "add", OBEYED]).expect(0);
    let looks = [
        &["load", "kind"][..],
        &["state", "get"],
        &["state", "get", "/more"],
        &["show", "@"],
        &["status"],
        &["list"],
        &["log"],
        &["log", "--events"],
        &["summary"],
        &["summary", "--format", "markdown"],
        &["brief"],
        &["export", "--format", "checkpoint"],
        &["export", "--format", "workflow"],
    ];
    for args in looks {
        let mut terminal = project.terminal(args.iter().copied());
        terminal.wait_until("an answer", |terminal| terminal.text().ends_with('\n'));
        let shown = String::from_utf8_lossy(terminal.shown()).into_owned();
        terminal.wait();
        obeys_nothing(&shown, args);
    }
    assert_eq!(project.command(["state", "get", "/last_error"]).expect(0).json(), OBEYED);
}

/// Whoever wrote a plan, a note or a message ended lines as on Windows, and put a lone carriage return and more in them. Every verb that
/// prints such texts shows signs, and a line end as a line end.
#[test]
fn texts_of_others_are_not_obeyed() {
    let project = project();
    let line = format!("two\rEVIL {OBEYED} THE-END");
    let text = format!("one\r\n{line}");
    let plan = serde_json::json!({
        "onward": 1, "name": "demo", "description": line,
        "phases": { "a": { "external": { "instructions": text } }, "b": { "needs": "a", "approval": text } },
    });
    project.plan(&plan.to_string());
    project.command(["run"]).expect(15);
    project.command(["report", "progress", "a", "--note", &text]).expect(0);
    project.command(["message", "send", "--from", "x", "--to", "me", "--type", "request", "--body", &text]).expect(0);
    project.command(["decision", "add", &line]).expect(0);
    let knowledge = ["knowledge", "add", "--id", "k", "--type", "pattern", "--title", "T", "--body", &text];
    project.command(knowledge).expect(0);
    let looks = [
        &["next"][..],
        &["brief"],
        &["status"],
        &["log", "--events"],
        &["message", "inbox", "me"],
        &["knowledge", "list"],
        &["summary"],
    ];
    for args in looks {
        let shown = on_a_terminal(&project, args, "THE-END").replace("\r\n", "\n");
        obeys_nothing(&shown, args);
        assert!(!shown.contains('\r'), "{args:?}: {shown:?}");
        assert!(!shown.contains("one\\r\n"), "{args:?}: {shown:?}");
    }
}
