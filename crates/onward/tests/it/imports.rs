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

/// A folder has the same checkpoint in two files, as a copy leaves it. The first of them is taken, the other one is named, and nothing is
/// called a mistake of ours. A folder with nothing but an index holds no run, and says so.
#[test]
fn a_checkpoint_that_is_there_twice() {
    let project = project();
    let text = "checkpoint_id: CP-enrich-20250114-b4c5\nversion: \"1.0\"\ncreated_at: \"2025-01-14T10:30:00Z\"\nissue_number: 42\n\
                workflow_state: { current_phase: enrich }\nrecovery_info: { can_resume: true }\n";
    project.write("c/CP-a.yaml", text);
    project.write("c/CP-b.yaml", text.replace("42", "43"));
    project.command(["import", "c"]).expect(12).err_names(["CP-b.yaml", "is in CP-a.yaml, too"]);
    let shown = project.command(["show", "CP-enrich-20250114-b4c5", "--json"]).expect(0).out;
    assert!(shown.contains("42") && !shown.contains("43"), "{shown}");
    project.write("i/index.yaml", "total_checkpoints: 1\ncheckpoints: [{ id: CP-x-1, phase: x }]\n");
    project.command(["import", "i"]).expect(12).err_names(["only an index"]);
}

/// The configuration is no text. The error names it, and does not talk of plans.
#[test]
fn a_configuration_that_is_no_text() {
    let project = project();
    fs::create_dir_all(project.path(".onward")).expect("a folder");
    fs::write(project.path(".onward/config.yaml"), b"resume: \xff\n").expect("a file");
    let told = project.command(["config"]).expect(2).err;
    assert!(told.contains("cannot read the configuration") && !told.contains("plan"), "{told}");
}

/// A folder holds a file of a run, a link and a pipe with the names of such files, and files whose ids mean other runs. The first is taken,
/// and each of the others is named, for people and for programs.
#[test]
fn what_is_not_taken_of_a_folder_is_named() {
    let project = with_files(1);
    let place = |name: &str| project.path(format!("{FOLDER}/{name}"));
    std::os::unix::fs::symlink("/etc/passwd", place("link.json")).expect("a link");
    let made = std::process::Command::new("mkfifo").arg(place("pipe.json")).status().expect("mkfifo is there");
    assert!(made.success());
    project.write(format!("{FOLDER}/latest.json"), file(2).replace("implement_p2_20261003_000002", "latest"));
    let ran = project.command(["import", FOLDER, "--json"]).expect(12);
    let ran = ran.err_names(["link.json", "pipe.json", "not a plain file", "latest.json"]);
    let told: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!(told["runs"], serde_json::json!(["implement_p0_20261003_000000"]), "{told}");
    assert_eq!((&told["error"]["exit"], told["refused"].as_array().map(Vec::len)), (&serde_json::json!(12), Some(3)));
    assert!(told["error"]["message"].as_str().is_some_and(|why| why.contains("and 2 more")), "{told}");
    for id in ["latest", "@", "@-"] {
        let text = format!(
            "checkpoint_id: \"{id}\"\nversion: \"1.0\"\ncreated_at: \"2025-01-14T10:30:00Z\"\nissue_number: 42\n\
             workflow_state: {{ current_phase: enrich }}\nrecovery_info: {{ can_resume: true }}\n"
        );
        project.write("CP-reserved.yaml", text);
        project.command(["import", "CP-reserved.yaml"]).expect(12);
        project.write("reserved.json", file(3).replace("implement_p3_20261003_000003", id));
        project.command(["import", "reserved.json"]).expect(12).err_names(["no id"]);
    }
}

const PIPELINE: &str = r#"{"completed_phases": [{"id": "a", "name": "A", "timestamp": "2026-02-19T10:05:00Z"}], "current_phase": null,
    "remaining_phases": [{"id": "c", "name": "C", "dependencies": ["a"]}],
    "context_summary": {"branch": "", "key_decisions": [], "file_paths": []},
    "created_at": "2026-02-19T10:00:00Z", "updated_at": "2026-02-19T10:22:00Z"}"#;

/// Runs that were taken over from files are deleted, by their ids and by retention, and the same files are imported once more, as somebody
/// does who wants them back. They come back under the ids that they had, with the checkpoints of the folder.
#[test]
fn what_was_deleted_is_taken_over_again() {
    let project = with_files(1);
    let crunch = "checkpoint_id: CP-enrich-20250114-b4c5\nversion: \"1.0\"\ncreated_at: \"2025-01-14T10:30:00Z\"\nissue_number: 42\n\
                  workflow_state: { current_phase: enrich }\nrecovery_info: { can_resume: true }\n";
    project.write("c/CP-enrich-20250114-b4c5.yaml", crunch);
    project.write("pipeline-state.json", PIPELINE);
    project.write("old.json", file(7).replace("2026-10-03T18", "2020-10-03T18").replace("in_progress", "completed"));
    for path in [FOLDER, "c", "pipeline-state.json", "old.json"] {
        let import = || project.command(["import", path, "--json"]).expect(0).json()["runs"].clone();
        let before = import();
        let run = before[0].as_str().expect("a run").to_owned();
        if path == "old.json" {
            assert!(project.command(["prune", "--yes"]).expect(0).out.contains(&run));
        } else {
            project.command(["delete", &run, "--yes"]).expect(0);
        }
        project.command(["status", &run]).expect(10);
        assert_eq!(import(), before, "{path}");
        project.command(["status", &run]).expect(0);
    }
    project.command(["show", "CP-enrich-20250114-b4c5"]).expect(0);
    project.command(["doctor"]).expect(0);
}

/// Files of other tools lie where those tools keep them, and are told of. Once they were moved in nobody is told of them any more, until
/// one of them changes or another one comes. What was not taken is told of all the time.
#[test]
fn work_that_was_moved_in_is_not_offered_again() {
    let project = with_files(2);
    let state = ".claude/pipeline-state.json";
    project.write(state, PIPELINE);
    let told = || {
        let said = [&[][..], &["status"]].map(|words: &[&str]| project.command(words.iter().copied()).expect(0).err);
        let about = |place: &str| said.iter().all(|err| err.contains(place));
        assert!(
            said.iter().all(|err| err.contains("of another tool"))
                == said.iter().any(|err| err.contains("of another tool"))
        );
        (about(state), about(FOLDER))
    };
    project.command(["import", state]).expect(0);
    assert_eq!(told(), (false, true));
    project.command(["import", FOLDER]).expect(0);
    assert_eq!(told(), (false, false));
    project.write(state, PIPELINE.replace("10:22", "10:23"));
    assert_eq!(told(), (true, false));
    project.write(format!("{FOLDER}/2.json"), file(2));
    assert_eq!(told(), (true, true));
    project.write(format!("{FOLDER}/2.json"), "{");
    project.command(["import", FOLDER]).expect(12);
    assert_eq!(told(), (true, true));
}

/// The folder of such files has another one below it, for those that failed. Importing the one says that the other is not in it.
#[test]
fn failed_runs_in_a_folder_of_their_own_are_named() {
    let project = with_files(1);
    project.write(format!("{FOLDER}/failed/1.json"), file(1));
    project.command(["import", FOLDER]).expect(0).err_names([".claude/checkpoints/failed", "onward import"]);
    project.command(["import", &format!("{FOLDER}/failed")]).expect(0);
}

/// A file that another tool wrote years ago is imported beside a run of today. The run of today stays the newest, wherever no run is
/// named; the one of the file is found by its id.
#[test]
fn an_old_file_is_as_old_as_it_says() {
    let project = project();
    project.plan("onward: 1\nphases:\n  a: { run: exit 1 }\n");
    project.command(["run"]).expect(1);
    let own = project.command(["status", "--json"]).json()["run"].clone();
    project.write("old.json", file(7).replace("2026-10-03", "2020-10-03"));
    project.command(["import", "old.json"]).expect(0);
    let runs = project.command(["list", "--json"]).json()["runs"].clone();
    assert_eq!((&runs[0]["run"], runs.as_array().map(Vec::len)), (&own, Some(2)));
    assert_eq!(project.command(["status", "--json"]).json()["run"], own);
    assert_eq!(project.command(["status", "@-", "--json"]).json()["run"], runs[1]["run"]);
    project.command(["resume", "--dry-run", "--json"]).expect(0);
}

/// A phase imports an exported run, for which a person would have to trust the whole store. It is refused, and the store goes on.
#[test]
fn no_phase_imports_what_waits_for_a_person() {
    let project = project();
    project.plan_at("other.yaml", "onward: 1\nname: other\nphases:\n  x: { run: 'true' }\n");
    project.command(["run", "other.yaml"]).expect(0);
    let run = project.command(["status", "--json"]).json()["run"].as_str().expect("an id").to_owned();
    project.command(["export", run.as_str(), "--output", "run.onward"]).expect(0);
    project.command(["delete", run.as_str(), "--yes"]).expect(0);
    project.plan(
        "onward: 1\nphases:\n  a: { run: 'onward import run.onward || test $? = 2' }\n  b: { needs: a, run: step b }\n",
    );
    project.command(["run"]).expect(0);
    project.ran_once(["b"]);
    project.command(["import", "run.onward"]).expect(0);
}
