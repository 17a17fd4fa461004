//! Several stores in one git repository, in working trees or in folders below each other: their snapshots and journals lie side by
//! side, so an id is given to one run only.

use std::fs;
use std::path::{Path, PathBuf};

use onward_testkit::{Ran, TestProject};

use crate::git::checkpoint_of;
use crate::project;

const CHAIN: &str = "
onward: 1
name: demo
phases:
  a: { run: step a }
  b: { needs: a, run: \"step b 'test -e fixed'\" }
";

/// All that is started from now on is started in the same second.
const SECOND: &str = "2031-05-06 07:08:09";
const FIRST_ID: &str = "run_demo_20310506_070809";

/// A repository in which time stands still, and a second working tree of it.
fn two_trees() -> (TestProject, PathBuf) {
    let mut project = project();
    project.plan(CHAIN);
    project.git_init();
    let other = project.root().join("other");
    project.git(["worktree", "add", "-q", &other.display().to_string()]);
    project.set_env("LD_PRELOAD", crate::faketime());
    for (name, value) in [("TZ", "UTC"), ("FAKETIME", SECOND), ("FAKETIME_DONT_FAKE_MONOTONIC", "1")] {
        project.set_env(name, value);
    }
    (project, other)
}

fn at(project: &TestProject, folder: &Path, words: &[&str]) -> Ran {
    let mut command = project.prepare(words);
    command.current_dir(folder);
    project.spawn(command).wait()
}

fn newest(project: &TestProject, folder: &Path) -> String {
    let status = at(project, folder, &["status", "--json"]).json();
    status["run"].as_str().expect("an id").to_owned()
}

fn demand_all_is_well(project: &TestProject, folder: &Path) {
    let found = at(project, folder, &["doctor", "--json"]).json();
    assert_eq!(found["findings"].as_array().map(Vec::len), Some(0), "{found:#}");
}

/// A fork has no snapshot of its own before it is resumed. A start in another working tree, in the same second, leaves its id alone,
/// and the fork goes on.
#[test]
fn a_fork_keeps_its_id() {
    let (project, other) = two_trees();
    project.command(["run"]).expect(1);
    let point = checkpoint_of(&project, "a");
    let fork = project.command(["fork", &point, "--json"]).expect(0).json()["run"].as_str().expect("an id").to_owned();
    assert_eq!(fork, format!("{FIRST_ID}_2"), "the clock stands still");
    assert_eq!(at(&project, &other, &["run"]).code, 1);
    assert_eq!(newest(&project, &other), format!("{FIRST_ID}_3"));
    project.write("fixed", "");
    project.command(["resume", &fork]).expect(0);
    demand_all_is_well(&project, &project.dir());
    demand_all_is_well(&project, &other);
}

/// A project below another has a store of its own in the same repository, and starts in the same second as the other is forked.
#[test]
fn a_project_below_another_leaves_its_ids_alone() {
    let (project, _) = two_trees();
    let below = project.path("below");
    fs::create_dir_all(below.join(".onward")).expect("a folder");
    fs::copy(project.path("onward.yaml"), below.join("onward.yaml")).expect("a plan");
    project.command(["run"]).expect(1);
    project.command(["fork", &checkpoint_of(&project, "a")]).expect(0);
    assert_eq!(at(&project, &below, &["run"]).code, 1);
    assert_eq!(newest(&project, &below), format!("{FIRST_ID}_3"));
}

/// Two starts in one second, the second one while the first has its id and nothing else yet.
#[cfg(feature = "kill-points")]
#[test]
fn an_id_is_taken_before_the_run_begins() {
    let (mut project, other) = two_trees();
    project.set_env("ONWARD_KILL_POINT", "start.after-create");
    project.command(["run"]);
    project.remove_env("ONWARD_KILL_POINT");
    assert_eq!(at(&project, &other, &["run"]).code, 1);
    assert_eq!(newest(&project, &other), format!("{FIRST_ID}_2"));
    // What the start that was killed has left is in nobody's way.
    project.command(["run"]).expect(1);
    assert_eq!(newest(&project, &project.dir()), format!("{FIRST_ID}_3"));
    demand_all_is_well(&project, &other);
}

/// Many start at once. Each has an id, and snapshots under it.
#[test]
fn starts_of_one_second_share_no_id() {
    const TREES: usize = 4;
    let (project, _) = two_trees();
    let trees: Vec<_> = (0..TREES).map(|number| project.root().join(format!("tree{number}"))).collect();
    for tree in &trees {
        project.git(["worktree", "add", "-q", "--detach", &tree.display().to_string()]);
    }
    let started: Vec<_> = trees
        .iter()
        .map(|tree| {
            let mut command = project.prepare(["run"]);
            command.current_dir(tree);
            project.spawn(command)
        })
        .collect();
    for running in started {
        let ran = running.wait();
        assert_eq!(ran.code, 1, "{ran}");
    }
    let mut ids: Vec<String> = trees.iter().map(|tree| newest(&project, tree)).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), TREES, "{ids:?}");
    let copies = project.git(["for-each-ref", "--format=%(refname)", "refs/onward/*/journal"]);
    assert_eq!(copies.lines().count(), TREES, "{copies}");
}

/// The claim of a run goes with it.
#[test]
fn a_deleted_run_claims_nothing() {
    let (project, _) = two_trees();
    project.command(["run"]).expect(1);
    let claims = || fs::read_dir(project.path(".git/onward-claims")).expect("a folder").count();
    assert_eq!(claims(), 1);
    project.command(["delete", FIRST_ID, "--yes"]).expect(0);
    assert_eq!(claims(), 0);
}

/// Saved state is never in git, so its id is claimed nowhere. Where a run of another working tree has the same one, both go on, and the
/// state is deleted without the snapshots of the run.
#[test]
fn saved_state_of_the_same_name_is_something_else() {
    let (project, other) = two_trees();
    project.write("state.json", r#"{"a": 1}"#);
    let save = || project.command(["save", "run", "demo", "--state", "state.json"]);
    save().expect(0);
    assert_eq!(at(&project, &other, &["run"]).code, 1);
    assert_eq!(newest(&project, &other), FIRST_ID, "this test needs two of the same name");
    save().expect(0);
    project.command(["state", "merge", "state.json"]).expect(0);
    let refs = || project.git(["for-each-ref", "--format=%(refname)", "refs/onward"]);
    let before = refs();
    demand_all_is_well(&project, &project.dir());
    project.command(["delete", FIRST_ID, "--yes"]).expect(0);
    assert_eq!(refs(), before);
    demand_all_is_well(&project, &other);
}
