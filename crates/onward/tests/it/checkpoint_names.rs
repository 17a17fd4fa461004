//! Checkpoints that people gave a name: the name is an id.

use onward_testkit::TestProject;
use serde_json::{Value, json};

use crate::project;

const TWO: &str = "
onward: 1
name: demo
inputs: { day: { default: monday } }
phases:
  a: { run: step a 'echo a > made.txt' }
  b: { needs: a, run: 'echo b > made.txt; test -e ../ready' }
";

/// A run that failed in its second phase, with a checkpoint of that name; its id and that of the checkpoint.
fn failed_with(project: &TestProject, name: &str) -> (String, String) {
    project.command(["run", "--fresh"]).expect(1);
    let given = project.command(["checkpoint", "--name", name, "--json"]).expect(0).json();
    let text = |key: &str| given[key].as_str().expect("an id").to_owned();
    (text("run"), text("id"))
}

fn status_of(project: &TestProject, run: &str) -> Value {
    project.command(["status", run, "--json"]).expect(0).json()
}

/// Whatever takes the id of a checkpoint takes its name.
#[test]
fn the_name_of_a_checkpoint_is_an_id() {
    let project = project();
    project.plan(TWO);
    project.git_init();
    let (run, id) = failed_with(&project, "gold");
    assert_eq!(project.command(["show", "gold", "--json"]).expect(0).json()["id"], json!(id));
    assert_eq!(project.command(["show", &run, "--json"]).expect(0).json()["status"]["run"], json!(run));
    project.write("made.txt", "edited\n");
    project.command(["checkpoint", "--name", "gold digger"]).expect(0);
    let diff = project.command(["diff", "gold", "gold digger", "--json"]).expect(0).json();
    assert_eq!(diff["files"][0]["path"], "made.txt", "{diff}");
    let forked = project.command(["fork", "gold", "--json"]).expect(0).json();
    assert_ne!(forked["run"], json!(run));
    project.command(["rewind", "gold"]).expect(0);
    assert_eq!(project.read("made.txt"), "b\n");
    std::fs::write(project.root().join("ready"), "").expect("a file");
    project.command(["resume", &run, "--checkpoint", "gold"]).expect(0);
    project.command(["rewind", "gol"]).expect(10).err_names(["no checkpoint gol"]);
    project.command(["show", "gol"]).expect(10);
}

/// Two runs have a checkpoint of the same name. It is not guessed which one is meant; whoever names the run has said it.
#[test]
fn a_name_that_was_given_twice_lists_what_it_fits() {
    let project = project();
    project.plan(TWO);
    let (old, first) = failed_with(&project, "gold");
    let (new, second) = failed_with(&project, "gold");
    for words in [&["show", "gold"][..], &["rewind", "gold"], &["fork", "gold"], &["diff", "gold", "@"]] {
        project.command(words).expect(10).err_names(["ambiguous checkpoint id gold", &first, &second, &old, &new]);
    }
    std::fs::write(project.root().join("ready"), "").expect("a file");
    project.command(["resume", &new, "--checkpoint", "gold"]).expect(0);
    assert_eq!(status_of(&project, &new)["status"], "completed");
    assert_eq!(status_of(&project, &old)["status"], "archived");
}

/// A phase takes a checkpoint of the same name at each attempt. The name means the newest, and the former keeps its id.
#[test]
fn a_name_that_is_given_again_in_a_run_means_the_newest() {
    let project = project();
    project.plan(TWO);
    let (_, first) = failed_with(&project, "gold");
    let second = project.command(["checkpoint", "--name", "gold"]).expect(0).out.trim().to_owned();
    assert_eq!(project.command(["show", "gold", "--json"]).expect(0).json()["id"], json!(second));
    assert_eq!(project.command(["show", &first, "--json"]).expect(0).json()["name"], json!("gold"));
}

/// The beginning of an id fits many checkpoints: ten of them are listed.
#[test]
fn what_fits_too_many_lists_ten() {
    let project = project();
    project.plan(TWO);
    failed_with(&project, "first");
    for _ in 0..12 {
        project.command(["checkpoint"]).expect(0);
    }
    let refused = project.command(["show", "CP-", "--json"]).expect(10).json();
    let listed = refused["error"].to_string().matches("CP-").count();
    assert_eq!(listed, 11, "what was typed, and ten: {refused}");
    assert!(refused.to_string().contains("and more"), "{refused}");
}

/// A name by which nothing could be found: nothing is kept under it.
#[test]
fn a_name_that_finds_nothing_is_refused() {
    let project = project();
    project.plan(TWO);
    let _ = project.command(["run"]);
    let before = project.command(["log", "--json"]).json();
    for name in ["", " ", "latest", "@", "@-"] {
        project.command(["checkpoint", "--name", name]).expect(2);
        assert_eq!(project.command(["log", "--json"]).json(), before, "{name:?}");
    }
}
