//! How stored runs live and end: the archive, prune, and housekeeping.

use std::fs;

use onward_testkit::TestProject;
use serde_json::Value;

use crate::project;

const EXTERNAL: &str = "
onward: 1
name: kept
phases:
  a: { external: { instructions: do a } }
  b: { needs: a, external: { instructions: do b } }
";

fn config(project: &TestProject, text: &str) {
    if !project.exists(".onward") {
        project.command(["init"]).expect(0);
    }
    project.write(".onward/config.yaml", text);
}

fn checkpoint(project: &TestProject) -> String {
    project.command(["checkpoint"]).expect(0).out.trim().to_owned()
}

fn current(project: &TestProject) -> String {
    project.command(["status", "--json"]).expect(0).json()["run"].as_str().expect("a run").to_owned()
}

fn ids(list: &Value) -> Vec<&str> {
    list.as_array().expect("a list").iter().filter_map(|line| line["id"].as_str()).collect()
}

/// An unfinished run is archived. No start offers it any more, it is shown with all it has, and archiving it again changes
/// nothing. An unknown run is named.
#[test]
fn archived_on_request() {
    let project = project();
    project.plan(EXTERNAL);
    project.command(["run"]).expect(15);
    let run = current(&project);
    project.command(["archive", "nosuch"]).expect(10).err_names(["nosuch"]);
    project.command(["archive", &run]).expect(0).err_names([run.as_str()]);
    assert_eq!(project.command(["archive", &run, "--json"]).expect(0).json()["status"], "archived");
    assert_eq!(project.command(["status", &run, "--json"]).expect(0).json()["status"], "archived");
    project.command(["resume", &run]).expect(13);
    project.command(["run"]).expect(15);
    assert_ne!(current(&project), run);
}

/// A run whose phase is at work is not archived, neither under its driver nor after that was killed.
#[test]
fn a_run_at_work_is_not_archived() {
    let project = project();
    project.plan("onward: 1\nname: busy\nphases:\n  a: { run: step a hold }\n");
    let first = project.start(["run"]);
    project.wait_ledger("begin", "a", 1);
    let run = current(&project);
    project.command(["archive", &run]).expect(11).err_names([run.as_str()]);
    first.kill();
    project.command(["archive", &run]).expect(11).err_names(["a"]);
    project.open("a");
    project.command(["resume"]).expect(0);
    project.ran_once(["a"]);
    project.command(["archive", &run]).expect(0);
}

const FOUR: &str = "
onward: 1
name: four
phases:
  a: { run: 'for n in 1 2 3 4; do echo $n > file.txt; onward checkpoint; done' }
  b: { needs: a, external: { instructions: do b } }
";

/// A phase took four checkpoints by hand, and retention is to keep one. Without a person nothing is deleted; with the word exactly that goes which was
/// shown, the snapshots of what went go along, what stays can be gone back to, and a second prune has nothing to do.
#[test]
fn prune_does_what_it_showed() {
    let project = project();
    project.plan(FOUR);
    project.git_init();
    project.command(["run"]).expect(15);
    let pinned = project.command(["checkpoint", "--name", "pinned"]).expect(0).out.trim().to_owned();
    config(&project, "checkpoint: { retention: { manual: 1 } }\n");
    let refs = |project: &TestProject| project.git(["for-each-ref", "refs/onward"]).lines().count();
    let before = refs(&project);
    let plan = project.command(["prune", "--dry-run", "--json"]).expect(0).json();
    let gone = ids(&plan["delete"]).into_iter().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(gone.len(), 3, "{plan}");
    project.command(["prune"]).expect(14).err_names(["--yes", "--dry-run"]);
    assert_eq!(refs(&project), before);
    let done = project.command(["prune", "--yes", "--json"]).expect(0).json();
    assert_eq!(ids(&done["delete"]), gone);
    assert_eq!(done["bytes_freed"], plan["bytes_freed"]);
    assert!(refs(&project) < before, "snapshots that nothing names any more");
    project.command(["show", &gone[0]]).expect(10);
    project.write("file.txt", "mine");
    project.command(["rewind", &pinned]).expect(0);
    assert_eq!(project.read("file.txt"), "4\n");
    let again = project.command(["prune", "--dry-run", "--json"]).expect(0).json();
    assert!(ids(&again["delete"]).is_empty(), "{again}");
    project.command(["doctor"]).expect(0);
}

/// Everything is to go that is older than a day, and nothing is: neither what the counts would take nor a run.
#[test]
fn only_what_is_older() {
    let project = project();
    project.plan(EXTERNAL);
    project.command(["run"]).expect(15);
    let first = checkpoint(&project);
    checkpoint(&project);
    config(&project, "checkpoint: { retention: { manual: 0 } }\n");
    let planned = |older: &str| {
        let plan = project.command(["prune", "--dry-run", "--json", "--older-than", older]).expect(0).json();
        ids(&plan["delete"]).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(planned("1d"), Vec::<String>::new());
    assert!(planned("0").contains(&first));
    project.command(["prune", "--older-than", "soon"]).expect(2);
}

/// An agent inside a phase wants to archive and to prune. Both are for a person.
#[test]
fn refused_inside_a_phase() {
    let project = project();
    project.plan("onward: 1\nname: inner\nphases:\n  a: { run: 'onward archive @ || echo $? > one; onward prune --yes || echo $? > two' }\n");
    project.command(["run"]).expect(0);
    assert_eq!((project.read("one").trim(), project.read("two").trim()), ("2", "2"));
}

/// Changes the note about the last housekeeping as if that was two days ago.
fn two_days_ago(project: &TestProject, change: impl Fn(&mut Value)) {
    let path = project.path(".onward/run/housekeeping");
    let text = fs::read_to_string(&path).expect("the note");
    let (head, json) = text.rsplit_once('\n').expect("a head above it");
    let mut note: Value = serde_json::from_str(json).expect("JSON");
    let then = jiff::Timestamp::now() - jiff::SignedDuration::from_hours(48);
    note["done_at"] = then.to_string().into();
    note["clock"]["at"] = then.to_string().into();
    change(&mut note["clock"]);
    // In place: a note is known by when and where its file was made.
    fs::write(&path, format!("{head}\n{note}")).expect("the note");
}

const DAILY: &str = "onward: 1\nname: daily\nphases:\n  a: { run: 'true' }\n";
const KEEP_NOTHING: &str = "checkpoint: { retention: { phase_transition: 0, batch_complete: 0, run_start: 0 } }\n";

fn checkpoints(project: &TestProject, run: &str) -> usize {
    project.command(["log", run, "--json"]).expect(0).json()["checkpoints"].as_array().map_or(0, Vec::len)
}

/// Two days passed on the clock while the machine was up for a moment: somebody set it. Nothing goes by its age, and nothing at all
/// by itself, for a day.
#[test]
fn a_clock_that_was_set_is_not_gone_by() {
    let project = project();
    project.plan(DAILY);
    project.command(["run"]).expect(0);
    let first = current(&project);
    config(&project, KEEP_NOTHING);
    let all = checkpoints(&project, &first);
    project.command(["run"]).expect(0);
    assert_eq!(checkpoints(&project, &first), all, "it was done a moment ago");
    two_days_ago(&project, |_| ());
    let plan = project.command(["prune", "--dry-run"]).expect(0);
    assert!(plan.out.contains("clock"), "{plan}");
    let after = project.command(["run"]).expect(0);
    assert!(!after.err.contains("housekeeping"), "{after}");
    assert_eq!(checkpoints(&project, &first), all, "the clock was set");
    let plan = project.command(["prune", "--dry-run"]).expect(0);
    assert!(plan.out.contains("clock"), "{plan}");
}

/// A run a day after the last housekeeping deletes what retention does not keep, says so, and does it once.
#[test]
fn housekeeping_at_most_daily() {
    let project = project();
    project.plan(DAILY);
    project.command(["run"]).expect(0);
    let first = current(&project);
    config(&project, KEEP_NOTHING);
    // In another boot, so that nobody knows how long the machine was down.
    two_days_ago(&project, |clock| clock["boot"] = "another".into());
    project.command(["run"]).expect(0).err_names(["housekeeping"]);
    assert_eq!(checkpoints(&project, &first), 1, "the newest from which it could go on");
    let again = project.command(["run"]).expect(0);
    assert!(!again.err.contains("housekeeping"), "{again}");
}

/// The output of the first two of three attempts is older than it is kept; the last one's stays, and so do all records.
#[test]
fn old_output_goes() {
    let project = project();
    project.plan(
        "
        onward: 1
        name: output
        phases:
          a: { run: 'echo try $ONWARD_ATTEMPT; test $ONWARD_ATTEMPT = 3', retry: { max: 2, backoff: { initial: 0s } } }
    ",
    );
    project.command(["run"]).expect(0);
    config(&project, "logs: { max_age: 0s }\n");
    let plan = project.command(["prune", "--dry-run", "--json"]).expect(0).json();
    assert_eq!(ids(&plan["delete"]).len(), 2, "{plan}");
    project.command(["prune", "--yes"]).expect(0);
    let logs = project.command(["logs", "@"]).expect(0).out;
    assert!(logs.contains("try 3") && !logs.contains("try 1") && !logs.contains("try 2"), "{logs}");
    let plan = project.command(["prune", "--dry-run", "--json"]).expect(0).json();
    assert!(ids(&plan["delete"]).is_empty(), "{plan}");
    project.command(["doctor"]).expect(0);
}

/// Seed 003's file lies where the seed has it. Its values are in force, below those of the project's own file, and a mistake in it
/// is named with file and line.
#[test]
fn the_configuration_of_the_seed_is_read_in_its_place() {
    let project = project();
    config(&project, "checkpoint: { retention: { manual: 7 } }\n");
    project
        .write(".claude/checkpoint-config.yaml", "checkpoint:\n  retention:\n    manual: 1\n    batch_complete: 2\n");
    let values = || project.command(["config", "--origin", "--json"]).expect(0).json()["values"].clone();
    let of = |key: &str| {
        let values = values();
        values.as_array().expect("values").iter().find(|value| value["key"] == key).expect("the key").clone()
    };
    assert_eq!(of("checkpoint.retention.manual")["value"], 7);
    let batches = of("checkpoint.retention.batch_complete");
    assert_eq!(batches["value"], 2);
    assert!(batches["origin"].as_str().expect("an origin").contains(".claude/checkpoint-config.yaml:4"), "{batches}");
    project.write(".claude/checkpoint-config.yaml", "checkpoint:\n  retention:\n    manuel: 1\n");
    project.command(["config"]).expect(2).err_names(["checkpoint-config.yaml", "manuel", "manual"]);
}

/// The points of a prune and of an archive at which they are killed below.
#[cfg(feature = "kill-points")]
pub(crate) const KILLED_AT: [&str; 4] =
    ["prune.before-checkpoints", "prune.after-checkpoints", "delete.after-store", "archive.after-post"];

/// A prune is killed at each of its steps: a run is there as a whole or gone, what is left over of one that is gone is taken away by
/// the next prune, and the run that stays goes on.
#[cfg(feature = "kill-points")]
#[test]
fn killed_in_the_middle_of_a_prune() {
    for point in KILLED_AT {
        let project = project();
        project.plan(FOUR);
        project.git_init();
        project.plan_at("old.yaml", "onward: 1\nname: old\nphases:\n  x: { run: 'true' }\n");
        project.command(["run", "old.yaml"]).expect(0);
        let old = current(&project);
        project.command(["run"]).expect(15);
        let run = current(&project);
        project.command(["checkpoint"]).expect(0);
        config(
            &project,
            "checkpoint: { retention: { manual: 0, run_start: 0, phase_transition: 0, batch_complete: 0 } }\n",
        );
        let (words, killed): (&[&str], bool) = match point {
            "archive.after-post" => (&["archive", &old], false),
            _ => (&["prune", "--yes", "--older-than", "0"], true),
        };
        let mut command = project.prepare(words);
        command.env("ONWARD_KILL_POINT", if killed { point } else { "post.after-post" });
        assert_eq!(project.spawn(command).wait().code, 137, "{point}");
        let listed = project.command(["list", "--all", "--json"]).expect(0).json();
        let runs: Vec<&str> =
            listed["runs"].as_array().expect("runs").iter().filter_map(|run| run["run"].as_str()).collect();
        assert!(runs.contains(&run.as_str()), "{point}: {runs:?}");
        project.command(["doctor"]).expect(0);
        project.command(["prune", "--yes", "--older-than", "0"]).expect(0);
        let folders = fs::read_dir(project.path(".onward/attempts")).expect("a folder").count();
        assert_eq!(folders, 1, "{point}: only the run that stays has a folder");
        assert!(!project.git(["for-each-ref", "refs/onward"]).contains(&old), "{point}");
        project.command(["report", "start", "b"]).expect(0);
        project.command(["report", "done", "b"]).expect(0);
        assert_eq!(project.command(["status", &run, "--json"]).expect(0).json()["status"], "completed", "{point}");
        project.command(["doctor"]).expect(0);
    }
}

/// A plan lists the triggers that take a checkpoint, in the spelling of the configuration. Its run leaves those and no others, and says
/// nothing of keys without effect.
#[test]
fn a_plan_lists_its_triggers() {
    let project = project();
    let plan = "onward: 1\nname: demo\ncheckpoint: { triggers: [phase_transition] }\n\
                phases:\n  a: { run: \"true\" }\n  b: { needs: a, run: \"true\" }\n";
    project.plan(plan);
    let ran = project.command(["run"]).expect(0);
    assert!(!ran.err.contains("does not act"), "{ran}");
    let log = project.command(["log", "--json"]).expect(0).json();
    let triggers: Vec<String> =
        log["checkpoints"].as_array().expect("a list").iter().map(|one| one["triggers"].to_string()).collect();
    assert_eq!(triggers, [r#"["phase_transition"]"#; 2]);
}

/// A plan keeps one checkpoint of each phase where the configuration keeps all, and its completed runs for no time. A prune shows that
/// and does it; another plan beside it keeps what the configuration says. The daily housekeeping goes by the plan, too.
#[test]
fn a_plan_says_how_much_is_kept() {
    let project = project();
    config(&project, "checkpoint: { retention: { manual: all } }\n");
    let plan = |name: &str, keep: &str| {
        format!(
            "onward: 1\nname: {name}\ncheckpoint: {{ triggers: [], keep: {keep} }}\n\
             phases:\n  a: {{ run: 'for n in 1 2 3; do onward checkpoint; done' }}\n  b: {{ needs: a, external: {{ instructions: do b }} }}\n"
        )
    };
    project.plan_at("one.yaml", &plan("one", "{ manual: 1, succeeded-run: 0s }"));
    project.plan_at("all.yaml", &plan("all", "{ batch-complete: 1 }"));
    let checked = project.command(["check", "one.yaml"]).expect(0);
    assert!(!checked.out.contains("does not act") && !checked.err.contains("does not act"), "{checked}");
    let run = |plan: &str| {
        project.command(["run", plan]).expect(15);
        current(&project)
    };
    let (one, all) = (run("one.yaml"), run("all.yaml"));
    let shown = project.command(["prune", "--dry-run", "--json"]).expect(0).json();
    let gone: Vec<&Value> = shown["delete"].as_array().expect("a list").iter().collect();
    assert_eq!(gone.len(), 2, "{shown}");
    assert!(
        gone.iter().all(|line| line["run"] == one && line["reason"].to_string().contains("by the plan")),
        "{shown}"
    );
    // In another boot, so that nobody knows how long the machine was down.
    two_days_ago(&project, |clock| clock["boot"] = "another".into());
    project.command(["report", "done", "b", "--run", &one]).expect(0);
    project.plan(DAILY);
    project.command(["run"]).expect(0).err_names(["housekeeping"]);
    project.command(["status", &one]).expect(10);
    assert_eq!(checkpoints(&project, &all), 3);
}

/// A checkpoint of long ago is imported: the work is over. The housekeeping of the next day leaves it alone, for somebody has just
/// brought it; a person who prunes is shown it, and why it had stayed.
#[test]
fn imported_work_does_not_go_by_itself_on_the_next_day() {
    let project = project();
    project.plan(DAILY);
    project.command(["run"]).expect(0);
    let id = "implement_shop_20240110_101500";
    project.write(
        "in.json",
        format!(
            r#"{{"checkpoint_id":"{id}","workflow_type":"implement","workflow_description":"shop","created_at":"2024-01-10T10:15:00Z",
            "updated_at":"2024-01-11T10:15:00Z","status":"completed","current_phase":2,"total_phases":2,"completed_phases":[1,2],
            "workflow_state":{{"project_name":"shop"}},"last_error":null}}"#
        ),
    );
    project.command(["import", "in.json"]).expect(0);
    two_days_ago(&project, |clock| clock["boot"] = "another".into());
    project.command(["run"]).expect(0);
    project.command(["status", id]).expect(0);
    let shown = project.command(["prune", "--dry-run"]).expect(0);
    assert!(shown.out.contains(id) && shown.out.contains("imported"), "{shown}");
    project.command(["prune", "--yes"]).expect(0);
    project.command(["status", id]).expect(10);
}
