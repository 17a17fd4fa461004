//! A run's own changes to its branch and its issue are no change from outside; those of others are.

use std::fs;

use onward_testkit::TestProject;

use crate::project;

/// `DO` is done by the first phase; the second one fails until the file `ready` is there.
fn failed_in_b(head: &str, first: &str) -> TestProject {
    let project = project();
    project.plan(&format!(
        "
onward: 1
name: demo
{head}
phases:
  a: {{ run: step a '{first}' }}
  b: {{ needs: a, run: step b 'test -e ../ready' }}
  c: {{ needs: b, run: step c }}
"
    ));
    project.git_init();
    project
}

fn be_ready(project: &TestProject) {
    fs::write(project.root().join("ready"), "").expect("a file");
}

/// A phase made the branch of the work, and the branch was deleted while the run was down. The run does not go on upon another
/// branch; while the branch is there, status and checkpoints name it.
#[test]
fn a_branch_that_a_phase_made_and_somebody_deleted() {
    for head in ["", "freshness: { git: { if-branch-gone: stop } }"] {
        let project = failed_in_b(head, "git checkout -q -b work");
        project.command(["run"]).expect(1);
        assert_eq!(project.command(["status", "--json"]).json()["branch"], "work");
        let checkpoint = project.command(["show", "@", "--json"]).json();
        assert_eq!(checkpoint["context"]["branch"], "work", "{checkpoint}");
        be_ready(&project);
        project.git(["checkout", "-q", "main"]);
        project.git(["branch", "-q", "-D", "work"]);
        project.command(["run", "--resume"]).expect(13).err_names(["the branch work"]);
        assert_eq!(project.count("begin", "c"), 0);
        project.git(["checkout", "-q", "-b", "work"]);
        project.command(["run", "--resume"]).expect(0);
    }
}

/// A phase renames the branch, or leaves no branch checked out. Neither is a change from outside, and the old name is not missed.
#[test]
fn a_branch_that_the_run_itself_left() {
    for first in ["git branch -m other", "git checkout -q --detach && git branch -q -D main"] {
        let project = failed_in_b("", first);
        project.command(["run"]).expect(1);
        be_ready(&project);
        let ran = project.command(["run", "--resume"]).expect(0);
        assert!(!ran.err.contains("branch"), "{first}: {}", ran.err);
    }
}

/// A phase sets a label of the issue. The next start says nothing of it; a label that somebody else set is named.
#[test]
fn labels_that_the_run_itself_set() {
    let first = "sed -i s/todo/doing/ ../issue.json";
    let project = failed_in_b("issue: { number: 7, states: { doing: c } }", first);
    let issue = project.root().join("issue.json");
    fs::write(&issue, r#"{"title":"t","body":"b","labels":[{"name":"todo"}]}"#).expect("a file");
    project.script("gh", &format!("#!/bin/sh\ncat '{}'\n", issue.display()));
    project.command(["run"]).expect(1);
    let asked = project.command(["run", "--resume", "--dry-run"]).expect(0);
    assert!(!asked.err.contains("label"), "{}", asked.err);
    fs::write(&issue, r#"{"title":"t","body":"b","labels":[{"name":"doing"},{"name":"urgent"}]}"#).expect("a file");
    be_ready(&project);
    let ran = project.command(["run", "--resume"]).expect(0).err_names(["label urgent"]);
    assert!(!ran.err.contains("doing") && !ran.err.contains("todo"), "{}", ran.err);
}
