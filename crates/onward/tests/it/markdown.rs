//! Plans in Markdown: the file is marked when a phase is done, whatever happens meanwhile, and never against its author.

use std::os::unix::fs::{PermissionsExt, symlink};

use onward_testkit::TestProject;

use crate::project;

const PLAN: &str = "\
# Login

## Phase 1: Schema [IN PROGRESS]
- [ ] users table

## Phase 2: Tokens
- [ ] refresh
";

const AFTER_1: &str = "\
# Login

## Phase 1: Schema [COMPLETE]
- [x] users table

## Phase 2: Tokens
- [ ] refresh
";

fn begun() -> TestProject {
    let project = project();
    project.write("plan.md", PLAN);
    project.command(["run", "plan.md"]).expect(15);
    project
}

fn status_of(project: &TestProject) -> String {
    project.command(["status", "--json"]).json()["status"].as_str().expect("a status").to_owned()
}

/// Whoever reports the end of a phase is killed before the file is written, while it is, or before that is on record. The next
/// command catches up, and the file is marked once.
#[cfg(feature = "kill-points")]
#[test]
fn killed_while_the_file_is_marked() {
    for point in ["commit.after-append", "mark.before-write", "mark.before-rename", "mark.after-rename"] {
        let mut project = begun();
        project.set_env("ONWARD_KILL_POINT", format!("{point}:1"));
        let killed = project.command(["report", "done", "1"]);
        assert_ne!(killed.code, 0, "{point}");
        project.remove_env("ONWARD_KILL_POINT");
        project.command(["report", "start", "2"]).expect(0);
        assert_eq!(project.read("plan.md"), AFTER_1, "{point}");
        assert!(!project.exists(".plan.md.onward-new"), "{point}");
        project.command(["report", "done", "2"]).expect(0);
        assert_eq!(status_of(&project), "completed", "{point}");
    }
}

/// The last phase is done, and whoever says so dies before the file is written. The run is not over before the file says it.
#[cfg(feature = "kill-points")]
#[test]
fn killed_before_the_last_marker() {
    let mut project = begun();
    project.command(["report", "done", "1"]).expect(0);
    project.set_env("ONWARD_KILL_POINT", "mark.before-write:1");
    project.command(["report", "done", "2"]);
    project.remove_env("ONWARD_KILL_POINT");
    assert_ne!(status_of(&project), "completed");
    project.command(["resume"]).expect(0);
    assert!(project.read("plan.md").contains("## Phase 2: Tokens [COMPLETE]\n- [x] refresh"));
    assert_eq!(status_of(&project), "completed");
}

/// The author edits the plan between two phases: prose, a new box, another order of lines. The edits stay, and what is done is
/// marked beside them.
#[test]
fn edits_in_between_are_kept() {
    let project = begun();
    let edited =
        PLAN.replace("# Login", "# Login, once more\n\nSome words.").replace("- [ ] users", "- [ ] new\n- [ ] users");
    project.write("plan.md", &edited);
    project.command(["report", "done", "1"]).expect(0);
    let wanted =
        edited.replace("[IN PROGRESS]", "[COMPLETE]").replace("- [ ] new\n- [ ] users", "- [x] new\n- [x] users");
    assert_eq!(project.read("plan.md"), wanted);
    let permissions = std::fs::metadata(project.path("plan.md")).expect("the file").permissions();
    assert_eq!(permissions.mode() & 0o777, 0o644, "the file stays as readable as it was");
    project.command(["resume"]).expect(15);
}

/// The plan's file was replaced by a link, or its heading is gone. Nothing is written through the link, the phase is done all the
/// same, and it is said why the file does not say so; once it can be written again, the next start catches up.
#[test]
fn a_file_that_cannot_be_marked() {
    let project = begun();
    let elsewhere = project.root().join("elsewhere.md");
    std::fs::rename(project.path("plan.md"), &elsewhere).expect("our own file");
    symlink(&elsewhere, project.path("plan.md")).expect("a link");
    project.command(["report", "done", "1"]).expect(0);
    assert_eq!(std::fs::read_to_string(&elsewhere).expect("the file"), PLAN);
    let log = project.command(["log", "--events", "--json"]).json();
    let missed = log["events"].as_array().expect("events").iter().find(|event| event["type"] == "phase_not_marked");
    let reason = missed.expect("it is on record")["reason"].as_str().expect("a reason").to_owned();
    assert!(reason.contains("plan.md") && reason.contains("link"), "{reason}");
    std::fs::remove_file(project.path("plan.md")).expect("the link");
    project.write("plan.md", PLAN);
    project.command(["resume"]).expect(15);
    assert_eq!(project.read("plan.md"), AFTER_1);
}

/// Somebody takes the marker of a finished phase away, and marks an open one. The answers do what they say: the record counts and
/// the file is marked again, or the file counts and the phase is taken as done; and nobody is asked twice.
#[test]
fn answers_to_a_contradiction() {
    let project = begun();
    project.command(["report", "done", "1"]).expect(0);
    project.write("plan.md", AFTER_1.replace("[COMPLETE]", "[NOT STARTED]"));
    project.command(["resume"]).expect(14).err_names(["plan.md", "phase 1", "--accept-stale", "--retry 1"]);
    project.command(["resume", "--accept-stale"]).expect(15);
    assert_eq!(project.read("plan.md"), AFTER_1);
    project.write("plan.md", AFTER_1.replace("Phase 2: Tokens", "Phase 2: Tokens [DONE]"));
    project.command(["resume"]).expect(14).err_names(["phase 2", "--adopt 2"]);
    project.command(["resume", "--accept-stale"]).expect(15);
    project.command(["resume"]).expect(15);
    assert_eq!(project.command(["next", "--json"]).json()["phase"]["id"], "2");
    project.command(["resume", "--adopt", "2"]).expect(0);
    assert_eq!(status_of(&project), "completed");
    assert!(project.read("plan.md").contains("Phase 2: Tokens [DONE]\n- [x] refresh"));
}

/// The markers of a plan that is begun half-done count: no work, no checkpoint and no commit of this run.
#[test]
fn markers_count_at_the_start() {
    let project = project();
    project.write("plan.md", AFTER_1.replace("Tokens", "Tokens [SKIPPED]") + "\n## Phase 3: Docs\n");
    project.command(["run", "plan.md"]).expect(15).err_names(["complete: 1", "skipped: 2"]);
    assert_eq!(project.command(["next", "--json"]).json()["phase"]["id"], "3");
    project.command(["report", "done", "3"]).expect(0);
    assert_eq!(status_of(&project), "completed");
    let log = project.command(["log", "--json"]).json();
    let phases: Vec<&str> =
        log["checkpoints"].as_array().expect("a list").iter().filter_map(|c| c["phase"].as_str()).collect();
    assert_eq!(phases, ["3"]);
    project.command(["run", "plan.md"]).expect(0);
}

/// The command line says who does the phases, or the configuration. The configuration also says what a phase needs that says
/// nothing.
#[test]
fn who_does_it_and_what_it_needs() {
    let project = project();
    project.write("plan.md", PLAN);
    project.command(["init"]).expect(0);
    project.write(".onward/config.yaml", "markdown: { needs: none }\n");
    let checked = project.command(["check", "plan.md", "--json"]).json();
    assert_eq!(checked["batches"], serde_json::json!([["1", "2"]]));
    let frame =
        r#"{"type":"result","subtype":"success","is_error":false,"session_id":"s","result":"done","num_turns":1}"#;
    project.script("claude", &format!("#!/bin/sh\ncat >> \"$HOME/prompts\"\necho '{frame}'\n"));
    project.write(".onward/config.yaml", "markdown: { agent: claude-code }\n");
    project.command(["run", "plan.md"]).expect(0);
    assert!(std::fs::read_to_string(project.home().join("prompts")).expect("it was asked").contains("users table"));
    project.plan("onward: 1\nphases: { a: { run: \"true\" } }\n");
    project.command(["run", "--agent", "codex"]).expect(2).err_names(["--agent", "Markdown"]);
}

/// Markers are in the snapshot of the checkpoint: going back to it brings a file that agrees with the run.
#[test]
fn a_rewind_brings_markers_back() {
    let project = project();
    project.git_init();
    project.write("plan.md", PLAN);
    project.command(["run", "plan.md"]).expect(15);
    project.command(["report", "done", "1"]).expect(0);
    project.command(["report", "start", "2"]).expect(0);
    project.command(["report", "done", "2"]).expect(0);
    let log = project.command(["log", "--json"]).json();
    let first =
        log["checkpoints"].as_array().expect("a list").iter().find(|c| c["phase"] == "1").expect("its checkpoint");
    project.command(["rewind", first["id"].as_str().expect("an id")]).expect(0);
    assert_eq!(project.read("plan.md"), AFTER_1);
    project.command(["resume"]).expect(15);
    project.command(["report", "done", "2"]).expect(0);
    assert!(project.read("plan.md").contains("Tokens [COMPLETE]"));
}

/// A file that the plan is split into is longer than what is read of it. It stays as it is, to the last byte.
#[test]
fn a_part_that_is_too_long_is_not_cut() {
    let project = project();
    project.write("plan.md", "# Login\n\n## Phase 1: Schema\n[all of it](phase_1_schema.md)\n\n## Phase 2: Tokens\n");
    let long = format!("- [ ] users table\n{}", "a line of prose\n".repeat(400_000));
    project.write("phase_1_schema.md", &long);
    let checked = project.command(["check", "plan.md"]).expect(0);
    assert!(
        checked.out.contains("phase_1_schema.md, which cannot be read: it is larger than 4 MiB"),
        "{}",
        checked.out
    );
    project.command(["run", "plan.md"]).expect(15);
    project.command(["report", "done", "1"]).expect(0);
    assert!(project.read("phase_1_schema.md") == long, "not a byte is changed");
    assert!(project.read("plan.md").contains("## Phase 1: Schema [COMPLETE]"));
    let plan = format!("{}{}", project.read("plan.md"), "a line of prose\n".repeat(400_000));
    project.write("plan.md", &plan);
    project.command(["report", "done", "2"]).expect(0);
    assert!(project.read("plan.md") == plan, "not a byte is changed");
}

/// The author saves the plan in the very moment in which its file is marked. What was saved is there, and marked.
#[cfg(feature = "kill-points")]
#[test]
fn what_is_saved_while_the_file_is_marked_is_kept() {
    let mut project = begun();
    let held = project.root().join("held");
    project.set_env("ONWARD_HOLD_POINT", "mark.before-swap");
    project.set_env("ONWARD_HOLD_FILE", held.to_str().expect("a UTF-8 path"));
    let reporting = project.start(["report", "done", "1"]);
    onward_testkit::wait_until("the moment", || held.exists().then_some(()));
    let edited = PLAN.replace("# Login", "# Login, once more");
    project.write("plan.md", &edited);
    std::fs::remove_file(&held).expect("it waits");
    onward_testkit::wait_until("the second moment", || held.exists().then_some(()));
    std::fs::remove_file(&held).expect("it waits");
    reporting.wait().expect(0);
    assert_eq!(project.read("plan.md"), AFTER_1.replace("# Login", "# Login, once more"));
    assert!(!project.exists(".plan.md.onward-new"));
}

/// The second phase has nine boxes, two of them ticked.
const BIG: &str = "\
# Login

## Phase 1: Schema
- [ ] users table

## Phase 2: Tokens
- [x] t1
- [x] t2
- [ ] t3
- [ ] t4
- [ ] t5
- [ ] t6
- [ ] t7
- [ ] t8
- [ ] t9
";

const SPLIT: &str = "\
# Login

## Phase 1: Schema
- [ ] users table

## Phase 2: Tokens
- [ ] t3
- [ ] t4
- [ ] t5

## Phase 2.5: More tokens
- [ ] t6
- [ ] t7
- [ ] t8
- [ ] t9
";

fn asked_for_a_plan(project: &TestProject) -> bool {
    project.command(["log", "--events"]).expect(0).out.contains("replan_asked")
}

/// A phase of a plan in Markdown has more open boxes than the project wants in one phase. It asks for another plan when its turn has
/// come and not before, the project's command prints one in Markdown, and after a person's yes the run goes on by that: with the file as
/// it was no start asks about it, and what the file still has is marked there.
#[test]
fn a_phase_with_too_many_boxes() {
    let project = project();
    project.write("plan.md", BIG);
    project.write("next.md", SPLIT);
    project.write(".onward/config.yaml", "markdown: { replan: { tasks-max: 6, run: cat next.md } }\n");
    project.command(["trust"]).expect(0);
    project.command(["run", "plan.md"]).expect(15);
    assert!(!asked_for_a_plan(&project), "its turn has not come");
    let next = project.command(["report", "done", "1", "--json"]).expect(0).json();
    assert!(asked_for_a_plan(&project) && next["next"]["phase"].is_null(), "{next}");
    project.command(["resume"]).expect(15);
    project.command(["approve", "2"]).expect(0);
    project.command(["resume"]).expect(15);
    let told = project.command(["next", "--json"]).expect(0).json();
    assert_eq!((told["phase"]["id"].as_str(), told["remaining"].as_u64()), (Some("2"), Some(2)), "{told}");
    for phase in ["2", "2.5"] {
        project.command(["report", "start", phase]).expect(0);
        project.command(["run", "plan.md"]).expect(15);
        project.command(["report", "done", phase]).expect(0);
    }
    assert_eq!(status_of(&project), "completed");
    assert!(project.read("plan.md").contains("## Phase 2: Tokens [COMPLETE]"));
    let shown = project.command(["show", "@", "--json"]).expect(0).out;
    assert!(shown.contains("it has 7 open tasks, and 6 are the most"), "{shown}");
}

/// Nobody makes another plan. The run stops with the figures and the words that go on; a person has the phase done as it is, and
/// no start asks about it again.
#[test]
fn a_phase_with_too_many_boxes_and_nobody_who_splits_it() {
    let project = project();
    project.write("plan.md", BIG);
    project.write(".onward/config.yaml", "markdown: { replan: { tasks-max: 6 } }\n");
    project.command(["run", "plan.md"]).expect(15);
    project.command(["report", "done", "1"]).expect(0);
    project.command(["resume"]).expect(14).err_names(["7 open tasks", "--retry 2"]);
    project.command(["resume", "--retry", "2"]).expect(15);
    project.command(["report", "start", "2"]).expect(0);
    project.command(["report", "done", "2"]).expect(0);
    assert_eq!(status_of(&project), "completed");
}

/// The phases with tasks stand in YAML. `next` hands the tasks out; nothing asks for another plan where nobody says so.
#[test]
fn tasks_of_a_plan_in_yaml() {
    let project = project();
    let tasks: Vec<String> = (1..=12).map(|number| format!("t{number}")).collect();
    let phase =
        format!("{{ description: all of it, tasks: [{}], external: {{ instructions: do it }} }}", tasks.join(", "));
    project.plan(&format!("onward: 1\nname: demo\nphases:\n  a: {phase}\n"));
    project.command(["run"]).expect(15);
    let next = project.command(["next", "--json"]).expect(0).json();
    assert_eq!(next["phase"]["instructions"], "do it");
    assert_eq!(next["phase"]["tasks"].as_array().map(Vec::len), Some(12));
    project.command(["report", "done", "a"]).expect(0);
    assert_eq!(status_of(&project), "completed");
}
