//! Objects that a fetch of everything puts into the place of others: `refs/replace`.

use std::fs;

use onward_testkit::TestProject;

use crate::project;

const CHAIN: &str = "
onward: 1
name: demo
phases:
  a: { run: step a 'echo a > made.txt' }
  b: { needs: a, run: step b 'echo b > made.txt' }
  c: { needs: b, run: \"step c 'test -e fixed'\" }
";

/// A run in a repository whose last phase failed.
fn begun(plan: &str) -> TestProject {
    let project = project();
    project.plan(plan);
    project.git_init();
    project.command(["run"]).expect(1);
    project
}

fn journal(project: &TestProject) -> String {
    project.git(["for-each-ref", "--format=%(objectname)", "refs/onward/*/journal"])
}

/// The books are lost, and the copy of the journal in git is replaced by one that was fetched. What comes back is what was
/// recorded here, and no foreign plan is executed.
#[test]
fn no_replaced_journal_is_executed() {
    let theirs = begun(&CHAIN.replace("step c", "touch planted; step c"));
    let ours = begun(CHAIN);
    let (run, own) = (ours.command(["status", "--json"]).json()["run"].clone(), journal(&ours));
    ours.git(["fetch", "-q", &theirs.dir().join(".git").display().to_string(), "refs/onward/*:refs/theirs/*"]);
    ours.git(["replace", &own, &journal(&theirs)]);
    fs::remove_dir_all(ours.path(".onward")).expect("a folder");
    ours.command(["doctor", "--repair"]).expect(0);
    let status = ours.command(["status", "--json"]).expect(0).json();
    assert_eq!(status["run"], run, "{status:#}");
    ours.write("fixed", "");
    ours.command(["resume"]).expect(0);
    assert!(!ours.exists("planted"), "a foreign plan was executed");
    ours.ran_once(["a", "b"]);
}

/// Every snapshot is replaced by a commit with other files. A rewind brings the files that were kept.
#[test]
fn no_replaced_snapshot_is_brought_back() {
    let project = begun(CHAIN);
    project.write("made.txt", "evil\n");
    project.git(["add", "-A"]);
    let tree = project.git(["write-tree"]);
    let evil = project.git(["commit-tree", "-m", "evil", &tree]);
    project.git(["reset", "-q"]);
    project.write("made.txt", "b\n");
    let all = project.git(["for-each-ref", "--format=%(objectname) %(refname)", "refs/onward"]);
    let snapshots = all.lines().filter(|line| !line.ends_with("/journal"));
    for snapshot in snapshots.filter_map(|line| line.split(' ').next()) {
        project.git(["replace", "-f", snapshot, &evil]);
    }
    let log = project.command(["log", "--json"]).json();
    let rows = log["checkpoints"].as_array().expect("checkpoints");
    let of_a = rows.iter().find(|row| row["phase"] == "a" && row["trigger"] == "phase_transition");
    let point = of_a.expect("a checkpoint")["id"].as_str().expect("an id").to_owned();
    project.command(["rewind", &point]).expect(0);
    assert_eq!(project.read("made.txt"), "a\n");
}
