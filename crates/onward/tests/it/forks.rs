//! Forks that cannot be made, forks whose folder is gone, and an undo that would take work away.

use std::fs;

use onward_testkit::TestProject;

use crate::git::checkpoint_of;
use crate::project;

const PLAN: &str = "
onward: 1
name: demo
phases:
  a: { run: step a 'echo a > made.txt' }
  b: { needs: a, run: step b 'echo b > made.txt; echo b > late.txt' }
";

fn done() -> TestProject {
    let project = project();
    project.plan(PLAN);
    project.git_init();
    project.command(["run"]).expect(0);
    project
}

/// Folders in which no working tree can be made are named. No branch, no run and no folder stays, and what lies there is left alone.
#[test]
fn a_fork_that_cannot_be_made_leaves_nothing() {
    let project = done();
    let point = checkpoint_of(&project, "a");
    fs::create_dir_all(project.root().join("full")).expect("a folder");
    fs::write(project.root().join("full/mine"), "mine").expect("a file");
    fs::write(project.root().join("file"), "mine").expect("a file");
    let before = (project.command(["list", "--all", "--json"]).json(), project.git(["worktree", "list"]));
    let long = "x".repeat(300);
    for folder in ["../full", "../file", ".", ".onward/tree", ".git/tree", ".onward/a/b", &long] {
        let words = ["fork", &point, "--worktree", folder];
        project.command(words).expect(13).err_names(["not-forked"]);
        assert_eq!(project.git(["branch", "--list", "onward/*"]), "", "{folder}");
        let after = (project.command(["list", "--all", "--json"]).json(), project.git(["worktree", "list"]));
        assert_eq!(after, before, "{folder}");
    }
    assert_eq!(fs::read_to_string(project.root().join("full/mine")).expect("it is there"), "mine");
    assert_eq!(fs::read_to_string(project.root().join("file")).expect("it is there"), "mine");
    let doctor = project.command(["doctor", "--json"]).expect(0).json();
    assert_eq!(doctor["findings"].as_array().map(Vec::len), Some(0), "{doctor}");
}

/// The folder of a fork was deleted. Nothing is started: neither there nor elsewhere. The command that is named makes another with
/// the files, in the same place.
#[test]
fn a_fork_whose_folder_is_gone_is_refused() {
    let project = done();
    let point = checkpoint_of(&project, "a");
    let beside = project.root().join("beside");
    let run = project.command(["fork", &point, "--worktree", "../beside", "--json"]).expect(0).json();
    let run = run["run"].as_str().expect("an id").to_owned();
    fs::remove_dir_all(&beside).expect("our own folder");
    for words in [&["resume", run.as_str()][..], &["resume", run.as_str(), "--accept-stale"]] {
        let refused = project.command(words).expect(13);
        refused.err_names(["beside", "is gone", "onward fork"]);
    }
    project.command(["resume", &run, "--dry-run"]).expect(0);
    project.ran_once(["a", "b"]);
    let said = project.command(["resume", &run]).expect(13);
    let text = said.err;
    let command = text.split("onward ").find(|piece| piece.starts_with("fork ")).expect("a command").to_owned();
    let words: Vec<&str> = command.split_whitespace().take(4).collect();
    project.command(&words[..]).expect(0);
    assert_eq!(fs::read_to_string(beside.join("made.txt")).expect("the file of a"), "a\n");
    project.command(["resume"]).expect(0);
    assert_eq!(fs::read_to_string(beside.join("late.txt")).expect("b has run there"), "b\n");
    assert_eq!(project.read("made.txt"), "b\n");
}

/// A checkpoint is taken while a phase is at work, and a run is forked from it. The phase was interrupted there, and no attempt at it
/// is this run's: none is named.
#[test]
fn a_phase_that_was_at_work_where_it_was_forked_has_no_attempt_yet() {
    let project = project();
    project.plan("onward: 1\nname: demo\nphases:\n  a: { run: step a hold }\n");
    let first = project.start(["run"]);
    project.wait_ledger("begin", "a", 1);
    let point = project.command(["checkpoint"]).expect(0).out.trim().to_owned();
    project.open("a");
    first.wait_code(0);
    let run = project.command(["fork", &point]).expect(0).out.trim().to_owned();
    let told = project.command(["status", &run]).expect(0).out;
    assert!(told.contains("interrupted, not tried in this run yet") && !told.contains("attempt 0"), "{told}");
    let mut terminal = project.terminal(["run"]);
    terminal.expect("was running");
    terminal.expect("[r]: ");
    assert!(!terminal.text().contains("attempt 0"), "{}", terminal.text());
    terminal.send("q\n");
    terminal.wait_code(0);
}

/// A run was rewound and went on from there. An undo would take that work away: it says so and does nothing before it is told to,
/// and then what was there is in a checkpoint.
#[test]
fn an_undo_takes_no_work_back_unasked() {
    let project = done();
    project.command(["rewind", &checkpoint_of(&project, "a")]).expect(0);
    project.plan(&PLAN.replace("echo b > late.txt", "echo again > late.txt"));
    project.command(["run", "--resume"]).expect(0);
    assert_eq!(project.read("late.txt"), "again\n");
    let before = project.command(["log", "--events", "--json"]).json();
    project.command(["undo"]).expect(14).err_names(["b", "onward undo", "--yes"]);
    let asked = project.command(["undo", "--json"]).expect(14).json();
    assert!(
        asked["error"]["choices"][0]["command"].as_str().is_some_and(|command| command.ends_with("--yes")),
        "{asked}"
    );
    assert_eq!(project.command(["log", "--events", "--json"]).json(), before);
    assert_eq!(project.read("late.txt"), "again\n");
    let mut terminal = project.terminal(["undo"]);
    terminal.expect("Go back?");
    assert!(terminal.text().contains("taken back, too: b"), "{}", terminal.text());
    terminal.send("\n");
    terminal.wait_code(0);
    assert_eq!(project.read("late.txt"), "again\n");
    let undone = project.command(["undo", "--yes", "--json"]).expect(0).json();
    assert_eq!(project.read("late.txt"), "b\n");
    let kept = undone["before"].as_str().expect("a checkpoint").to_owned();
    project.command(["rewind", &kept]).expect(0);
    assert_eq!(project.read("late.txt"), "again\n");
    // Nothing was done since: nothing is asked.
    project.command(["undo"]).expect(0);
}
