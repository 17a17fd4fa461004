//! Commands that are printed, and what comes of them when they are typed.

use std::fs;

use onward_testkit::TestProject;

use crate::project;

/// The commands that a refusal offers.
fn offered(project: &TestProject, words: &[&str]) -> Vec<String> {
    let asked = project.command(words.iter().copied().chain(["--json"])).expect(14);
    let lines = asked.out.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let question = lines.into_iter().find(|line| line["type"] == "question").expect("a question");
    let choices = question["choices"].as_array().expect("choices").clone();
    choices.iter().map(|choice| choice["command"].as_str().expect("a command").to_owned()).collect()
}

/// A phase failed, and then the plan was edited so that it is gone. No answer about it is offered by the edited plan.
#[test]
fn nothing_is_offered_about_what_is_gone() {
    let project = project();
    let plan = |last: &str| {
        format!(
            "onward: 1\nname: demo\nphases:\n  a: {{ run: step a }}\n  b: {{ needs: a, reads: [conf], run: step b }}\n  \
             {last}: {{ needs: b, run: \"step c; exit 1\" }}\n"
        )
    };
    project.write("conf", "x\n");
    project.plan(&plan("c"));
    project.command(["run"]).expect(1);
    project.write("conf", "y\n");
    project.plan(&plan("cc"));
    let commands = offered(&project, &["run"]);
    assert!(!commands.is_empty(), "nothing is offered");
    for command in commands.iter().filter(|command| !command.contains("--plan-from")) {
        assert!(!command.ends_with(" c") && !command.contains(" c "), "{commands:?}");
    }
}

/// A phase saves a state, which is a newer run: from then on `@` is that one, and the words about the phase's own run say its id.
#[test]
fn a_run_that_is_not_the_newest_any_more_is_called_by_its_id() {
    let project = project();
    project.write("state.json", "{}");
    project.plan("onward: 1\nname: demo\nphases:\n  a: { run: \"onward save note p --state state.json; exit 1\" }\n");
    let ran = project.command(["run"]).expect(1);
    let run = project.command(["list", "--json"]).json()["runs"][1]["run"].as_str().expect("the run").to_owned();
    assert!(ran.err.contains("watch it with  onward status @\n"), "it was the newest then: {ran}");
    for hint in [format!("onward logs {run} a\n"), format!("go on with  onward resume {run}\n")] {
        assert!(ran.err.contains(&hint), "{hint}: {ran}");
    }
    assert!(!ran.err.contains("onward resume @"), "{ran}");
}

/// One phase alone is wanted, and what it needs has failed: that is said at once, and nothing is offered that could not be done.
#[test]
fn what_cannot_be_done_alone_is_refused() {
    let project = project();
    project.plan("onward: 1\nname: demo\nphases:\n  a: { run: \"step a; exit 1\" }\n  z: { needs: a, run: step z }\n");
    project.command(["run"]).expect(1);
    let refused = project.command(["run", "--only", "z"]).expect(2);
    assert!(refused.err.contains("it needs a, which is not done"), "{refused}");
}

/// One phase alone is wanted, and another one is to be done again: it is one or the other, and nothing is made undone.
#[test]
fn only_this_and_from_that() {
    let project = project();
    project.plan("onward: 1\nname: demo\nphases:\n  a: { run: step a }\n  z: { needs: a, run: step z }\n");
    project.command(["run"]).expect(0);
    project.command(["run", "--only", "a", "--from", "z"]).expect(2);
    assert_eq!(project.command(["status", "--json"]).json()["status"], "completed");
    project.command(["run", "--only", "z", "--from", "z"]).expect(0);
    assert_eq!(project.order("begin"), ["a", "z", "z"]);
}

/// The store goes while its driver works, and there is no copy in git. The doctor, who would find no project, is not named.
#[test]
fn no_doctor_where_there_is_no_project() {
    let project = project();
    project.plan("onward: 1\nname: demo\nphases:\n  a: { run: step a hold }\n");
    let driver = project.start(["run"]);
    project.wait_ledger("begin", "a", 1);
    fs::remove_dir_all(project.path(".onward")).expect("it is ours");
    project.open("a");
    let ended = driver.wait_code(74);
    assert!(!ended.err.contains("onward doctor"), "{ended}");
}

/// The bare command in a project with a damaged store: the error is on stderr, with the code that every verb gives.
#[test]
fn the_bare_command_fails_like_the_others() {
    let project = project();
    project.plan("onward: 1\nname: demo\nphases:\n  a: { run: step a }\n");
    project.command(["run"]).expect(0);
    project.write(".onward/onward.db", "");
    let bare = project.command([""; 0]).expect(12);
    assert!(bare.out.is_empty() && bare.err.contains("error[damaged]"), "{bare}");
    project.write(".onward/config.yaml", "nonsense: 1\n");
    assert!(project.command([""; 0]).expect(2).out.is_empty());
}

/// Somebody says that a commit proves the phase done, and there is no repository that could know it: that proves nothing.
#[test]
fn a_commit_outside_git_proves_nothing() {
    let project = project();
    project.plan("onward: 1\nname: demo\nphases:\n  a: { external: { instructions: do it } }\n");
    project.command(["run"]).expect(15);
    let refused = project.command(["report", "done", "a", "--commit", "zzz", "--json"]).expect(1).json();
    assert!(refused["reason"].as_str().is_some_and(|why| why.contains("there is no git repository")), "{refused}");
    project.command(["report", "done", "a"]).expect(0);
}

/// A secret input has to be given again, and the command that is told does so; typed with the value, it goes on.
#[test]
fn a_secret_is_given_again() {
    let project = project();
    project.plan(
        "
        onward: 1
        name: demo
        inputs: { api_key: { type: string, required: true } }
        phases:
          a: { run: step a hold }
          b: { needs: a, env: { KEY: \"${{ inputs.api_key }}\" }, run: 'test \"$KEY\" = s3cr3t-value && step b' }
    ",
    );
    let driver = project.start(["run", "--input", "api_key=s3cr3t-value"]);
    project.wait_ledger("begin", "a", 1);
    driver.kill();
    project.open("a");
    let failed = project.command(["resume"]).expect(1);
    assert!(failed.err.contains("--input api_key=VALUE"), "{failed}");
    project.command(["resume", "--input", "api_key=another-value"]).expect(10);
    project.command(["resume", "--input", "api_key=s3cr3t-value"]).expect(0);
    project.ran_once(["b"]);
}

/// Findings are told with the age of the look, and say so: a failure is not as new as that.
#[test]
fn a_warning_says_when_it_was_seen() {
    let project = project();
    project.plan("onward: 1\nname: demo\nphases:\n  a: { run: \"step a; exit 1\" }\n");
    project.command(["run"]).expect(1);
    project.command(["run", "--no-input"]).expect(14);
    let listed = project.command(["list", "--json"]).json();
    let findings = listed["runs"][0]["findings"].as_array().expect("findings").clone();
    let texts: Vec<&str> = findings.iter().filter_map(serde_json::Value::as_str).collect();
    assert!(!texts.is_empty() && texts.iter().all(|text| text.starts_with("seen ")), "{texts:?}");
}

/// A phase has failed, and a person is asked what becomes of it. The view above the question counts what is so.
#[test]
fn the_view_above_the_question_is_true() {
    let project = project();
    project.plan(
        "
        onward: 1
        name: demo
        phases:
          a: { run: 'true' }
          b: { needs: a, run: exit 1 }
          c: { needs: b, run: 'true' }
    ",
    );
    let mut terminal = project.terminal(["run"]);
    terminal.expect("(r)etry");
    let text = terminal.text();
    let after = text.rsplit("b failed").next().unwrap_or_default();
    assert!(!after.contains("0 of 3 done"), "{text}");
    terminal.send("q\n");
    terminal.wait_code(1);
}
