//! Runs that leave a project in a file, and come into another one.

use std::fs;
use std::path::{Path, PathBuf};

use onward_testkit::TestProject;

use crate::project;

const THREE: &str = "
onward: 1
name: moved
phases:
  a: { external: { instructions: do a } }
  b: { needs: a, external: { instructions: do b } }
  c: { needs: b, external: { instructions: do c } }
";

fn current(project: &TestProject) -> String {
    project.command(["status", "--json"]).expect(0).json()["run"].as_str().expect("a run").to_owned()
}

fn done(project: &TestProject, phase: &str) {
    project.command(["report", "start", phase]).expect(0);
    project.command(["report", "done", phase]).expect(0);
}

/// The newest run of a project in a file of its own.
fn exported(project: &TestProject, name: &str, more: &[&str]) -> PathBuf {
    let file = project.root().join(name);
    let words = ["export", "@", "--output", file.to_str().expect("a path")].into_iter().chain(more.iter().copied());
    project.command(words).expect(0);
    file
}

fn import(project: &TestProject, file: &Path, code: i32) -> onward_testkit::Ran {
    project.command(["import", file.to_str().expect("a path")]).expect(code)
}

fn events(project: &TestProject, run: &str) -> usize {
    let log = project.command(["log", run, "--events", "--json"]).expect(0).json();
    log["events"].as_array().expect("events").len()
}

/// A run is exported when a is done, and imported on another machine. It can be looked at; nothing is done with it before somebody
/// trusts it; then it goes on with b. Importing it again changes nothing.
#[test]
fn a_run_moves_to_another_project() {
    let (here, there) = (project(), project());
    here.plan(THREE);
    here.command(["run"]).expect(15);
    done(&here, "a");
    let (run, file) = (current(&here), exported(&here, "run.onward", &[]));
    let brought = import(&there, &file, 0).err_names(["onward trust"]);
    assert_eq!(brought.out.trim(), run);
    assert_eq!(current(&there), run);
    let log = |project: &TestProject| project.command(["log", "--json"]).expect(0).json()["checkpoints"].clone();
    assert_eq!(log(&there), log(&here), "the same checkpoints");
    there.command(["report", "start", "b"]).expect(74).err_names(["onward trust"]);
    there.command(["trust"]).expect(0);
    assert_eq!(there.command(["next", "--json"]).expect(0).json()["phase"]["id"], "b");
    let before = events(&there, &run);
    import(&there, &file, 0).err_names(["nothing was changed"]);
    assert_eq!(events(&there, &run), before);
    done(&there, "b");
    done(&there, "c");
    assert_eq!(there.command(["status", "--json"]).expect(0).json()["status"], "completed");
    there.command(["doctor"]).expect(0);
}

/// A plan whose commands leave a trace wherever they run, the one that looks at the world included.
fn traced(what: &str) -> String {
    format!(
        "
        onward: 1
        name: traced
        phases:
          a: {{ run: step a {what}, fingerprint: [echo looked >> ../looked; echo one] }}
          b: {{ needs: a, run: step b 'test -e fixed' }}
        "
    )
}

/// The plan lies in both projects, as with two clones of one repository. A run of it moves over and goes on without a word: nothing
/// is executed but what the plan file here says.
#[test]
fn a_run_of_the_plan_that_is_here_goes_on() {
    let (here, there) = (project(), project());
    here.plan(&traced("true"));
    here.command(["run"]).expect(1);
    let file = exported(&here, "run.onward", &[]);
    there.plan(&traced("true"));
    let said = import(&there, &file, 0);
    assert!(!said.err.contains("onward trust"), "{said}");
    there.write("fixed", "");
    there.command(["run", "--resume"]).expect(0);
    assert_eq!(there.order("end"), ["b"]);
    there.command(["doctor"]).expect(0);
}

/// Somebody's file has a run of the same plan path with other commands; or of the plan that is here, with an artifact that would be put
/// into the project. Looking, importing, dry runs and every attempt to go on execute nothing of it.
#[test]
fn a_run_of_another_plan_executes_nothing() {
    let kept = "
        onward: 1
        name: traced
        phases:
          a: { run: step a 'echo x > tool', fingerprint: [echo looked >> ../looked; echo one], artifacts: { tool: { path: tool, keep: true } } }
          b: { needs: a, run: step b 'test -e fixed' }
        ";
    for (theirs, ours) in [(traced("true"), traced("'true ; true'")), (kept.to_owned(), kept.to_owned())] {
        let (here, there) = (project(), project());
        here.plan(&theirs);
        here.command(["run"]).expect(1);
        let file = exported(&here, "run.onward", &[]);
        there.plan(&ours);
        let said = import(&there, &file, 0);
        assert!(said.err.contains("onward trust") && !said.err.contains("changed after it began"), "{said}");
        for words in
            [&["status"][..], &["list"], &["show", "@"], &["why", "b"], &["run", "--dry-run"], &["resume", "--dry-run"]]
        {
            there.command(words.iter().copied()).expect(0);
        }
        for words in [&["run"][..], &["run", "--resume"], &["resume"], &["run", "--fresh"], &["retry", "b"]] {
            there
                .command(words.iter().copied())
                .expect(74)
                .err_names(["onward trust", "not all of the store was recorded here"]);
        }
        assert!(!there.root().join("looked").exists() && !there.exists("tool"), "something of the file was executed");
        assert_eq!(there.order("begin"), Vec::<String>::new());
    }
}

/// A phase imports a file with a run of the very plan that is at work. It cannot grant itself the approvals that the file claims, and
/// the store is no less the user's own for it.
#[test]
fn no_phase_brings_in_a_run_that_goes_on_by_itself() {
    let (here, there) = (project(), project());
    let plan = "onward: 1\nname: sly\nphases:\n  a: { run: 'test -e go || onward import ../run.onward' }\n  b: { needs: a, run: step b 'test -e fixed' }\n";
    // Another name and the same work: two runs of one second have ids of their own.
    here.plan(&plan.replace("name: sly", "name: fox"));
    here.write("go", "");
    here.command(["run"]).expect(1);
    fs::copy(exported(&here, "run.onward", &[]), there.root().join("run.onward")).expect("a copy");
    there.plan(plan);
    there.command(["run"]).expect(1);
    assert_eq!(there.command(["list", "--json"]).json()["runs"].as_array().map(Vec::len), Some(1));
    there.write("go", "");
    there.command(["run", "--resume"]).expect(1);
    assert_eq!(there.count("begin", "b"), 1);
}

/// The run went on elsewhere and comes back: what came there is added. An older file changes nothing. Where both went on, nothing is
/// overwritten.
#[test]
fn lineage_is_kept() {
    let (here, there) = (project(), project());
    here.plan(THREE);
    here.command(["run"]).expect(15);
    let (run, first) = (current(&here), exported(&here, "first.onward", &[]));
    import(&there, &first, 0);
    there.command(["trust"]).expect(0);
    done(&there, "a");
    let second = exported(&there, "second.onward", &[]);
    import(&here, &second, 0).err_names(["records were added"]);
    here.command(["trust"]).expect(0);
    assert_eq!(here.command(["next", "--json"]).expect(0).json()["phase"]["id"], "b");
    let here_now = events(&here, &run);
    import(&here, &first, 0).err_names(["went on here"]);
    assert_eq!(events(&here, &run), here_now);
    done(&here, "b");
    done(&there, "b");
    let third = exported(&there, "third.onward", &[]);
    let before = events(&here, &run);
    import(&here, &third, 12).err_names([run.as_str()]);
    assert_eq!(events(&here, &run), before);
    here.command(["doctor"]).expect(0);
}

/// Snapshots and a kept artifact go along. On the other side the run is brought back to its checkpoint, files included, and the
/// artifact is put back where it is missing.
#[test]
fn files_go_along() {
    let (here, there) = (project(), project());
    here.plan(
        "
        onward: 1
        name: files
        phases:
          a: { run: 'echo one > file.txt; mkdir out; echo kept > out/x', artifacts: { out: { path: out, keep: true } } }
          b: { needs: a, external: { instructions: do b } }
    ",
    );
    here.git_init();
    here.command(["run"]).expect(15);
    here.command(["checkpoint", "--name", "here"]).expect(0);
    let file = exported(&here, "run.onward", &["--with-files"]);
    there.git_init();
    import(&there, &file, 0);
    there.command(["trust"]).expect(0);
    there.command(["rewind", "here"]).expect(0);
    assert_eq!(there.read("file.txt"), "one\n");
    fs::remove_dir_all(there.path("out")).expect("it was brought back");
    there.command(["resume"]).expect(15);
    assert_eq!(there.read("out/x"), "kept\n");
    there.command(["doctor"]).expect(0);
}

/// Saved state is exported, deleted, and imported again: nothing in it could be executed, so nobody has to trust it.
#[test]
fn what_was_deleted_comes_back() {
    let project = project();
    project.write("state.json", "{\"n\": 1}");
    for _ in 0..2 {
        project.command(["save", "implement", "shop", "--state", "state.json"]).expect(0);
    }
    let (run, file) = (current(&project), exported(&project, "run.onward", &[]));
    project.command(["delete", &run, "--yes"]).expect(0);
    import(&project, &file, 0);
    assert_eq!(project.command(["load", "implement", "shop"]).expect(0).json()["workflow_state"]["n"], 1);
    project.write("state.json", "{\"n\": 2}");
    project.command(["save", "implement", "shop", "--state", "state.json"]).expect(0);
    assert_eq!(current(&project), run);
    assert_eq!(project.command(["load", "implement", "shop"]).expect(0).json()["workflow_state"]["n"], 2);
    project.command(["doctor"]).expect(0);
}

/// Files that are cut off, changed in a byte, or no export at all are refused by name, and nothing is written.
#[test]
fn damaged_files_change_nothing() {
    let (here, there) = (project(), project());
    here.plan(THREE);
    here.command(["run"]).expect(15);
    let file = exported(&here, "run.onward", &[]);
    let whole = fs::read(&file).expect("the file");
    there.command(["init"]).expect(0);
    let before = there.tree();
    let bad = there.root().join("bad.onward");
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 4;
    for bytes in [&whole[..whole.len() - 1], &flipped, b"onward\x1a\n", b"", b"{}", &whole[..10]] {
        fs::write(&bad, bytes).expect("a file");
        import(&there, &bad, 12).err_names(["bad.onward"]);
    }
    import(&there, &there.root().join("nosuch"), 12).err_names(["nosuch"]);
    assert_eq!(there.tree(), before);
}

/// A secret that was not known when it was stored is cut out of an export that asks for it.
#[test]
fn secrets_are_cut_once_more() {
    let mut project = project();
    project.write("state.json", "{\"note\": \"tulip-rain-99-window\"}");
    project.command(["save", "implement", "shop", "--state", "state.json"]).expect(0);
    project.set_env("GARDEN_SECRET", "tulip-rain-99-window");
    let file = exported(&project, "run.onward", &["--redact"]);
    let there = self::project();
    import(&there, &file, 0);
    let state = there.command(["load", "implement"]).expect(0).out;
    assert!(!state.contains("tulip-rain") && state.contains("[redacted]"), "{state}");
}

/// An export goes through a pipe, as an encrypted one does. One that was cut off on its way brings nothing in.
#[test]
fn a_run_comes_through_a_pipe() {
    let (here, there) = (project(), project());
    here.plan(THREE);
    here.command(["run"]).expect(15);
    let (run, file) = (current(&here), exported(&here, "run.onward", &[]));
    let bytes = fs::read(&file).expect("a file");
    let piped = |bytes: &[u8]| {
        fs::write(there.root().join("piped"), bytes).expect("a file");
        let mut command = there.prepare(["import", "-"]);
        command.stdin(fs::File::open(there.root().join("piped")).expect("a file"));
        there.spawn(command).wait()
    };
    piped(&bytes[..bytes.len() / 2]).expect(12);
    piped(b"").expect(2);
    assert_eq!(piped(&bytes).expect(0).out.trim(), run);
}

/// The same with every format of other tools: the value is in none of them.
#[test]
fn secrets_are_cut_out_of_other_formats() {
    let mut project = project();
    project.write("state.json", "{\"note\": \"tulip-rain-99-window\"}");
    project.command(["save", "implement", "shop", "--state", "state.json"]).expect(0);
    let whole = project.command(["export", "@", "--format", "checkpoint"]).expect(0).out;
    assert!(whole.contains("tulip-rain"), "{whole}");
    project.set_env("GARDEN_SECRET", "tulip-rain-99-window");
    for format in ["workflow", "checkpoint", "pipeline-state"] {
        let out = project.command(["export", "@", "--format", format, "--redact"]).expect(0).out;
        assert!(!out.contains("tulip-rain"), "{format}: {out}");
    }
    let folder = project.root().join("crunch");
    project
        .command(["export", "@", "--format", "crunch", "--redact", "--output", folder.to_str().expect("a path")])
        .expect(0);
    for file in fs::read_dir(&folder).expect("a folder").flatten() {
        let text = fs::read_to_string(file.path()).expect("a text");
        assert!(!text.contains("tulip-rain"), "{text}");
    }
}

/// The points of an import at which it is killed below.
#[cfg(feature = "kill-points")]
pub(crate) const KILLED_AT: [&str; 3] = ["import.before-beside", "import.before-journal", "import.after-journal"];

/// The import is killed at each of its steps. The run is there as a whole or not at all, and the same command brings it in.
#[cfg(feature = "kill-points")]
#[test]
fn killed_in_the_middle_of_an_import() {
    let here = project();
    here.plan(THREE);
    here.command(["run"]).expect(15);
    done(&here, "a");
    let (run, file) = (current(&here), exported(&here, "run.onward", &[]));
    let all = events(&here, &run);
    for point in KILLED_AT {
        let there = project();
        let mut killed = there.prepare(["import", file.to_str().expect("a path")]);
        killed.env("ONWARD_KILL_POINT", point);
        assert_eq!(there.spawn(killed).wait().code, 137, "{point}");
        let listed = there.command(["list", "--all", "--json"]).expect(0).json();
        let there_is = listed["runs"].as_array().is_some_and(|runs| !runs.is_empty());
        assert_eq!(there_is, point == "import.after-journal", "{point}");
        if there.exists(".onward/onward.db") {
            there.command(["trust"]).expect(0);
        }
        import(&there, &file, 0);
        assert_eq!(events(&there, &run), all, "{point}");
        there.command(["trust"]).expect(0);
        assert_eq!(there.command(["next", "--json"]).expect(0).json()["phase"]["id"], "b", "{point}");
        there.command(["doctor"]).expect(0);
    }
}
