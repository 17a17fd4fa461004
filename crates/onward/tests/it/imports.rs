//! Taking over files of other tools: many of them at once, and an import that is killed.

use std::collections::BTreeSet;
use std::fs;

use onward_testkit::TestProject;

use crate::project;

const FOLDER: &str = ".claude/checkpoints";

/// A checkpoint file with a name and an id of its own.
fn file(number: u32) -> String {
    let (minute, second) = (number / 60, number % 60);
    format!(
        r#"{{"checkpoint_id": "implement_p{number}_20261003_00{minute:02}{second:02}", "workflow_type": "implement",
        "created_at": "2026-10-03T18:45:30Z", "updated_at": "2026-10-03T18:52:15Z", "status": "in_progress", "current_phase": 2,
        "total_phases": 5, "completed_phases": [1], "workflow_state": {{"project_name": "p{number}", "n": {number}}}}}"#
    )
}

fn with_files(count: u32) -> TestProject {
    let project = project();
    project.git_init();
    for number in 0..count {
        project.write(format!("{FOLDER}/{number}.json"), file(number));
    }
    project
}

fn imported(project: &TestProject) -> BTreeSet<String> {
    let done = project.command(["import", FOLDER, "--json"]).expect(0).json();
    let runs = done["runs"].as_array().expect("a list").iter();
    runs.map(|run| run.as_str().expect("a text").to_owned()).collect()
}

/// A folder of many files is imported. Git is asked a few times, not for each of them, and leaves all of them out; the same import once
/// more makes nothing new.
#[test]
fn many_files_do_not_ask_git_for_each_of_them() {
    const COUNT: u32 = 60;
    const CALLS_MAX: usize = 8;
    let project = with_files(COUNT);
    let (calls, path) = (project.root().join("calls"), std::env::var("PATH").expect("a PATH"));
    let count = format!("#!/bin/sh\necho >> {}\nPATH={path} exec git \"$@\"\n", calls.display());
    project.script("git", &count);
    let runs = imported(&project);
    assert_eq!(runs.len(), COUNT as usize, "{runs:?}");
    let asked = fs::read_to_string(&calls).expect("git was asked").lines().count();
    assert!(asked <= CALLS_MAX, "git was asked {asked} times");
    let left_out = project.read(".git/info/exclude");
    assert_eq!(left_out.lines().filter(|line| line.starts_with("/.claude/")).count(), COUNT as usize, "{left_out}");
    assert_eq!(imported(&project), runs);
    assert_eq!(project.read(".git/info/exclude"), left_out);
    project.command(["doctor"]).expect(0);
}

/// An import is killed at each step of making a run. The same command brings in all files, each of them once, and nothing is damaged.
#[cfg(feature = "kill-points")]
#[test]
fn killed_while_a_run_is_made() {
    const COUNT: u32 = 3;
    for point in [
        "start.after-create",
        "lease.after-lock",
        "lease.after-row",
        "start.before-append",
        "append.before-commit",
        "start.after-append",
    ] {
        let project = with_files(COUNT);
        let mut killed = project.prepare(["import", FOLDER]);
        killed.env("ONWARD_KILL_POINT", point);
        assert_eq!(project.spawn(killed).wait().code, 137, "{point}");
        let runs = imported(&project);
        assert_eq!(runs.len(), COUNT as usize, "{point}: {runs:?}");
        for (number, run) in runs.iter().enumerate() {
            let state = project.command(["state", "get", "/n", "--run", run]).expect(0);
            assert_eq!(state.out.trim(), number.to_string(), "{point}");
        }
        let listed = project.command(["list", "--all", "--json"]).expect(0).json();
        assert_eq!(listed["runs"].as_array().expect("a list").len(), COUNT as usize, "{point}: {listed:#}");
        assert_eq!(imported(&project), runs, "{point}");
        let found = project.command(["doctor", "--json"]).expect(0).json();
        assert_eq!(found["findings"], serde_json::json!([]), "{point}");
    }
}

/// The store is deleted, in a repository. The same files are taken over again; in a second working tree, whose runs would have the
/// same names, they are refused with the reason.
#[test]
fn files_are_taken_over_again_after_the_store_is_gone() {
    const COUNT: u32 = 2;
    let project = with_files(COUNT);
    let runs = imported(&project);
    fs::remove_dir_all(project.path(".onward")).expect("our own folder");
    assert_eq!(imported(&project), runs);
    project.git(["add", "--force", ".claude"]);
    project.git(["commit", "--quiet", "--message", "files"]);
    let beside = project.root().join("beside");
    project.git(["worktree", "add", "--quiet", beside.to_str().expect("a path")]);
    let mut there = project.prepare(["import", FOLDER]);
    there.current_dir(&beside);
    project.spawn(there).wait().expect(12).err_names(["another working tree"]);
}

/// Files of other tools lie in a folder in which onward was never used. They are told in words, nothing is made there, and what is damaged
/// is shown as it is.
#[test]
fn a_file_is_shown_before_there_is_a_project() {
    let project = with_files(1);
    let before = project.tree();
    let shown = project.command(["show", ".claude/checkpoints/0.json"]).expect(0).out;
    assert!(shown.contains("p0"), "{shown}");
    project.command(["show", "nosuch"]).expect(10);
    assert_eq!(project.tree(), before);
    project.write(".claude/pipeline-state.json", "{\"branch\": \"ma");
    let shown = project.command(["show", ".claude/pipeline-state.json"]).expect(12).err_names(["pipeline-state.json"]);
    assert_eq!(shown.out, "{\"branch\": \"ma");
}
