//! Stories about a configuration that came with a clone: what lowers the safety of its user waits for a word of theirs.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use onward_testkit::TestProject;
use serde_json::{Value, json};

use crate::project;

const SECRET: &str = "tulip-rain-4711";

/// A clone with a configuration that switches hooks on and takes a name out of the redaction, and a plan that prints the secret.
fn clone() -> TestProject {
    let mut project = project();
    project.set_env("API_TOKEN", SECRET);
    project.plan("onward: 1\nname: demo\nphases:\n  a: { run: 'echo \"it is $API_TOKEN\"; date +%N > made.txt' }\n");
    project.git_init();
    configure(&project, "API_TOKEN");
    let hook = project.path(".git/hooks/pre-commit");
    fs::create_dir_all(hook.parent().expect("a folder")).expect("a folder");
    fs::write(&hook, "#!/bin/sh\ntouch hooked\n").expect("a hook");
    fs::set_permissions(&hook, Permissions::from_mode(0o755)).expect("a mode");
    project
}

fn configure(project: &TestProject, name: &str) {
    let text = format!("checkpoint: {{ git-commit: {{ every: 1, hooks: true }} }}\nredact:\n  except: [{name}]\n");
    project.write(".onward/config.yaml", &text);
}

fn logs(project: &TestProject) -> String {
    project.command(["logs", "a"]).expect(0).out
}

fn value(project: &TestProject, key: &str) -> Value {
    let answer = project.command(["config", "--json"]).expect(0).json();
    let values = answer["values"].as_array().expect("a list").clone();
    values.into_iter().find(|one| one["key"] == key).expect("a known key")
}

/// A clone brings settings that run a command and show a secret. They are named with file and line and have no effect; after
/// `onward trust` they have, and once the file is changed they have none again.
#[test]
fn settings_of_a_clone_wait_for_trust() {
    let project = clone();
    let ran = project.command(["run", "--no-input"]).expect(0);
    let ran = ran.err_names([
        ".onward/config.yaml:1",
        "checkpoint.git-commit.hooks",
        "redact.except",
        "config.yaml:3",
        "onward trust",
    ]);
    assert_eq!(ran.err.matches("onward trust").count(), 2, "{ran}");
    assert!(!project.exists("hooked"), "a hook of the clone was run");
    assert!(logs(&project).contains("it is [redacted]"), "{}", logs(&project));
    assert_eq!(value(&project, "redact.except")["value"], json!([]));
    let shown = project.command(["config", "--origin"]).expect(0).out;
    assert!(shown.contains("redact.except = [\"API_TOKEN\"]   not in force until  onward trust   ("), "{shown}");
    let listed = project.command(["config", "--json"]).expect(0).json()["not_in_force"].clone();
    assert_eq!(listed.as_array().map(Vec::len), Some(2), "{listed}");

    let trusted = project.command(["trust"]).expect(0);
    assert!(trusted.err.contains("redact.except is in force from now on"), "{trusted}");
    let ran = project.command(["run", "--fresh", "--no-input"]).expect(0);
    assert!(!ran.err.contains("onward trust"), "{ran}");
    assert!(project.exists("hooked"), "the hooks that were trusted did not run");
    assert!(logs(&project).contains(SECRET), "{}", logs(&project));
    assert_eq!(value(&project, "redact.except")["value"], json!(["API_TOKEN"]));

    configure(&project, "OTHER_TOKEN");
    project.command(["run", "--fresh", "--no-input"]).expect(0).err_names(["redact.except", "onward trust"]);
    assert!(logs(&project).contains("[redacted]"), "{}", logs(&project));
}

/// The same settings stand in the user's own configuration, and the project names a secret more. Both count, without a word.
#[test]
fn settings_of_ones_own_need_no_trust() {
    let mut project = project();
    project.set_env("API_TOKEN", SECRET);
    project.set_env("PHRASE_ONE", "first-phrase-99");
    project.set_env("PHRASE_TWO", "second-phrase-99");
    let own = project.home().join(".config/onward");
    fs::create_dir_all(&own).expect("a folder");
    fs::write(own.join("config.yaml"), "redact: { except: [API_TOKEN], names: [PHRASE_ONE] }\n").expect("a file");
    project.write(".onward/config.yaml", "redact: { names: [PHRASE_TWO] }\n");
    project.plan("onward: 1\nname: demo\nphases:\n  a: { run: 'echo \"$API_TOKEN $PHRASE_ONE $PHRASE_TWO\"' }\n");
    let ran = project.command(["run", "--no-input"]).expect(0);
    assert!(!ran.err.contains("onward trust"), "{ran}");
    assert!(logs(&project).contains(&format!("{SECRET} [redacted] [redacted]")), "{}", logs(&project));
    assert_eq!(value(&project, "redact.names")["value"], json!(["PHRASE_TWO", "PHRASE_ONE"]));
}

/// Somebody trusts a configuration before there is any run. The first run goes by it, and a copy of the whole folder does not.
#[test]
fn trust_before_the_first_run_does_not_travel() {
    let project = clone();
    project.command(["trust"]).expect(0).err_names(["redact.except", "checkpoint.git-commit.hooks"]);
    let copied = project.path("copy");
    fs::create_dir_all(copied.join(".onward")).expect("a folder");
    for name in ["onward.yaml", ".onward/config.yaml", ".onward/made-here"] {
        fs::copy(project.path(name), copied.join(name)).expect("a copy");
    }
    let shown = project.prepare(["config", "--json"]).current_dir(&copied).output().expect("it starts");
    let shown: Value = serde_json::from_slice(&shown.stdout).expect("an answer");
    assert_eq!(shown["not_in_force"].as_array().map(Vec::len), Some(2), "{shown}");
    project.command(["run", "--no-input"]).expect(0);
    assert!(project.exists("hooked") && logs(&project).contains(SECRET), "{}", logs(&project));
}

/// The plan has an agent that only a configuration names which nobody has trusted, then one that nothing names. Neither run is begun, and
/// each is told why.
#[test]
fn an_agent_that_is_not_in_force_is_told_of_at_the_start() {
    let project = project();
    project.write(".onward/config.yaml", "agents:\n  my: { start: [\"true\"] }\n");
    let plan = |agent: &str| {
        project.plan(&format!(
            "onward: 1\nname: demo\nphases:\n  first: {{ run: step first }}\n  a: {{ needs: first, agent: {{ use: {agent}, prompt: x }} }}\n"
        ));
    };
    plan("my");
    let ran = project.command(["run", "--no-input"]).expect(2);
    ran.err_names(["agent my of", "config.yaml:", "not in force", "onward trust"]);
    plan("nosuch");
    project.command(["run", "--no-input"]).expect(2).err_names(["there is no agent nosuch"]);
    assert_eq!(project.count("begin", "first"), 0);
}
