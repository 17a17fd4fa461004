//! `load --ask`: whatever stands at the other end, only an answer to what was shown does anything.

use std::process::Stdio;

use onward_testkit::{TestProject, wait_until};
use serde_json::Value;

use crate::project;

fn save(project: &TestProject, number: u32) {
    let path = project.write("state.json", format!("{{\"n\":{number}}}"));
    project.command(["save", "build", "shop", "--state", path.to_str().expect("a path")]).expect(0);
}

/// The state that is saved now; null where none is.
fn saved(project: &TestProject) -> Value {
    let loaded = project.command(["load", "build"]);
    if loaded.code == 0 { loaded.json()["workflow_state"]["n"].clone() } else { Value::Null }
}

/// A script has no terminal: whatever its stdin says, it is told what it can type, gets no state, and nothing changes. So in a job of a
/// build server, too.
#[test]
fn a_script_gets_no_answer() {
    let mut project = project();
    save(&project, 1);
    let before = project.tree();
    for words in ["r\\n", "d\\ny\\n", "s\\n", ""] {
        let script = format!("printf '{words}' | \"$0\" load build --ask");
        let mut command = project.prepare_program("sh", ["-c", &script]);
        command.arg(env!("CARGO_BIN_EXE_onward")).stdin(Stdio::null());
        let ran = project.spawn(command).wait().expect(14).err_names(["onward load build shop"]);
        assert_eq!(ran.out, "", "{words}");
    }
    assert_eq!(project.tree(), before);
    project.set_env("CI", "true");
    let mut terminal = project.terminal(["load", "build", "--ask"]);
    terminal.expect("onward load build shop");
    terminal.wait_code(14);
}

/// Ctrl+C, the end of the input, and answers that are none, at the first question and at the one about deleting: nothing changes, and
/// no state is printed.
#[test]
fn who_leaves_changes_nothing() {
    let project = project();
    save(&project, 1);
    let before = project.tree();
    for (typed, code) in [("\u{3}", 130), ("\u{4}", 14), ("q\n", 14)] {
        for sure in [false, true] {
            let mut terminal = project.terminal(["load", "build", "--ask"]);
            terminal.expect("[r]: ");
            if sure {
                terminal.send("d\n");
                terminal.expect("[y/N]: ");
            }
            // What is no yes leads back to the question.
            terminal.send(typed);
            if sure && code == 14 {
                terminal.expect("[r]: ");
                terminal.send("q\n");
            }
            let ran = terminal.wait_code(code);
            assert!(!ran.out.contains("workflow_state"), "{typed:?}: {ran}");
        }
    }
    assert_eq!(project.tree(), before);
}

/// While the question stands somebody saves a newer state. No answer to the old question does anything to the new state: it is asked
/// about, and the answer to that counts.
#[test]
fn a_state_that_was_saved_meanwhile_is_asked_about_itself() {
    for (answer, then) in [("r\n", Some(2)), ("s\n", None), ("d\n", None)] {
        let project = project();
        save(&project, 1);
        let mut terminal = project.terminal(["load", "build", "--ask"]);
        terminal.expect("[r]: ");
        save(&project, 2);
        for round in ["old", "new"] {
            terminal.send(answer);
            if answer == "d\n" {
                terminal.expect("[y/N]: ");
                terminal.send("y\n");
            }
            if round == "old" {
                terminal.expect("saved once more");
                terminal.expect("[r]: ");
                assert_eq!(saved(&project), 2, "{answer:?} was about the old one");
            }
        }
        let ran = terminal.wait_code(if then.is_some() { 0 } else { 10 });
        assert_eq!(ran.out.contains("\"n\":2"), then.is_some(), "{answer:?}: {ran}");
        assert_eq!(saved(&project), then.map_or(Value::Null, Value::from), "{answer:?}");
    }
}

/// Two people are asked at once. One starts afresh; the other is told that there is nothing any more, and gets no state.
#[test]
fn two_are_asked_at_once() {
    let project = project();
    save(&project, 1);
    let mut both = [(); 2].map(|()| project.terminal(["load", "build", "--ask"]));
    for terminal in &mut both {
        terminal.expect("[r]: ");
    }
    let [mut first, mut second] = both;
    first.send("s\n");
    first.wait_code(10);
    second.send("r\n");
    let ran = second.wait_code(10);
    assert!(!ran.out.contains("workflow_state"), "{ran}");
    let archived = || project.command(["list", "--all", "--json"]).json()["runs"][0]["status"] == "archived";
    wait_until("the archive", || archived().then_some(()));
}

/// The saved state is damaged before the question, or while it stands. It is called that, and no part of it is given.
#[test]
fn a_damaged_state_is_no_state() {
    for when in ["before", "meanwhile"] {
        let project = project();
        save(&project, 1);
        let spoil = || {
            let path = project.path(".onward/onward.db");
            let mut bytes = std::fs::read(&path).expect("a database");
            bytes[..100].fill(0xAA);
            std::fs::write(&path, bytes).expect("a database");
            drop(std::fs::remove_file(project.path(".onward/onward.db-wal")));
        };
        if when == "before" {
            spoil();
            project.command(["load", "build", "--ask"]).expect(12);
            continue;
        }
        let mut terminal = project.terminal(["load", "build", "--ask"]);
        terminal.expect("[r]: ");
        spoil();
        terminal.send("r\n");
        let ran = terminal.wait_code(12);
        assert!(!ran.out.contains("workflow_state"), "{ran}");
    }
}
