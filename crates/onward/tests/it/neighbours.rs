//! Several runs in one working tree: nobody's files are taken away while somebody works there.

use std::fs;

use onward_testkit::{Ran, TestProject, wait_until};
use serde_json::Value;

use crate::project;

const FIRST: &str = "
onward: 1
name: first
phases:
  a: { run: step a 'echo a > made.txt' }
  b: { needs: a, writes: made.txt, run: step b 'echo b > made.txt; echo b > late.txt' }
  c: { needs: b, writes: made.txt, run: step c 'echo c >> made.txt; ! test -e ../broken' }
";

const SECOND: &str = "
onward: 1
name: second
phases:
  x: { run: step x 'echo x > x.txt; hold; echo more >> x.txt' }
";

/// The first run has failed in its last phase; the second one is there to be started.
fn failed_in_c() -> TestProject {
    let project = project();
    project.plan(FIRST);
    project.plan_at("second.yaml", SECOND);
    project.git_init();
    fs::write(project.root().join("broken"), "").expect("a file");
    project.command(["run"]).expect(1);
    project
}

fn run_of(project: &TestProject, plan: &str) -> String {
    let list = project.command(["list", "--json"]).json();
    let runs = list["runs"].as_array().expect("runs").clone();
    let of = |row: &&Value| row["run"].as_str().is_some_and(|run| run.contains(plan));
    runs.iter().find(of).expect("a run of that plan")["run"].as_str().expect("an id").to_owned()
}

fn checkpoint_of(project: &TestProject, run: &str, phase: &str) -> String {
    let log = project.command(["log", run, "--json"]).json();
    let all = log["checkpoints"].as_array().expect("checkpoints").clone();
    let of = |row: &&Value| row["phase"] == phase && row["trigger"] == "phase_transition";
    all.iter().find(of).expect("a checkpoint")["id"].as_str().expect("an id").to_owned()
}

/// All ways to bring files of the first run back.
fn ways_back(project: &TestProject, first: &str) -> Vec<Ran> {
    let point = checkpoint_of(project, first, "a");
    vec![
        project.command(["rewind", &point]),
        project.command(["rewind", "--files-only", &point]),
        project.command(["resume", "--checkpoint", &point, "--retry", "c"]),
        project.command(["resume", first, "--retry", "c=clean"]),
    ]
}

/// Another run is driven in the same tree. Whatever would bring files of the first one back is refused, with the name of
/// the other run and of who drives it, and no file is touched; once it has ended all of it is possible again.
#[test]
fn no_files_are_brought_back_while_another_run_is_driven() {
    let project = failed_in_c();
    let first = run_of(&project, "first");
    let driving = project.start(["run", "second.yaml"]);
    project.wait_ledger("begin", "x", 1);
    let second = run_of(&project, "second");
    for refused in ways_back(&project, &first) {
        refused.expect(11).err_names([second.as_str(), "driven by process"]);
    }
    assert_eq!((project.read("made.txt").as_str(), project.exists("late.txt")), ("b\nc\n", true));
    project.open("x");
    driving.wait().expect(0);
    assert_eq!(project.read("x.txt"), "x\nmore\n");
    project.command(["rewind", &checkpoint_of(&project, &first, "a")]).expect(0);
    assert_eq!((project.read("made.txt").as_str(), project.exists("late.txt")), ("a\n", false));
    assert_eq!(project.read("x.txt"), "x\nmore\n", "the work of the other run stays");
}

/// A rewind is to be undone while another run works there. It is refused, and can be undone later.
#[test]
fn nothing_is_undone_beside_another_run() {
    let project = failed_in_c();
    let first = run_of(&project, "first");
    project.command(["rewind", &checkpoint_of(&project, &first, "a")]).expect(0);
    let driving = project.start(["run", "second.yaml"]);
    project.wait_ledger("begin", "x", 1);
    project.command(["undo", &first]).expect(11).err_names([run_of(&project, "second").as_str()]);
    assert_eq!(project.read("made.txt"), "a\n");
    project.open("x");
    driving.wait().expect(0);
    project.command(["undo", &first]).expect(0);
    assert_eq!(project.read("made.txt"), "b\nc\n");
}

/// The other run's driver was killed and its phase lives on. That phase is named.
#[test]
fn a_phase_that_outlived_its_driver_counts() {
    let project = failed_in_c();
    let first = run_of(&project, "first");
    let driving = project.start(["run", "second.yaml"]);
    project.wait_ledger("begin", "x", 1);
    driving.kill();
    for refused in ways_back(&project, &first) {
        refused.expect(11).err_names([run_of(&project, "second").as_str(), "phase x"]);
    }
    project.open("x");
    project.wait_ledger("end", "x", 1);
    project.wait_no_processes();
    project.command(["rewind", &checkpoint_of(&project, &first, "a")]).expect(0);
    assert_eq!(project.read("x.txt"), "x\nmore\n");
}

/// Somebody else does a phase of another run and has said so. Their files are not taken away either.
#[test]
fn somebody_who_reports_in_counts() {
    let project = failed_in_c();
    let first = run_of(&project, "first");
    project.plan_at("third.yaml", "onward: 1\nname: third\nphases:\n  e: { external: { instructions: do it } }\n");
    project.command(["run", "third.yaml"]);
    let third = run_of(&project, "third");
    project.command(["report", "start", "e", "--run", &third]).expect(0);
    let point = checkpoint_of(&project, &first, "a");
    project.command(["rewind", &point]).expect(11).err_names([third.as_str(), "phase e"]);
    project.command(["report", "done", "e", "--run", &third]).expect(0);
    project.command(["rewind", &point]).expect(0);
}

/// The other run works in a working tree of its own: that is no hindrance.
#[test]
fn a_run_in_another_working_tree_is_no_neighbour() {
    let project = failed_in_c();
    let first = run_of(&project, "first");
    let point = checkpoint_of(&project, &first, "a");
    let fork = project.command(["fork", &point, "--worktree", "../beside", "--json"]).expect(0).json();
    let fork = fork["run"].as_str().expect("an id").to_owned();
    fs::remove_file(project.root().join("broken")).expect("a file");
    project.plan(&FIRST.replace("step c 'echo c", "step c 'hold; echo c"));
    project.command(["rewind", &point]).expect(0);
    let driving = project.start(["resume", &fork, "--accept-stale"]);
    project.wait_ledger("begin", "c", 2);
    project.command(["undo", &first]).expect(0);
    assert_eq!(project.read("made.txt"), "b\nc\n");
    project.open("c");
    driving.wait().expect(0);
}

/// Another run is started while files are being brought back. It begins when that is done, and finds what was brought back.
#[test]
fn a_start_waits_for_a_rewind() {
    let project = failed_in_c();
    let first = run_of(&project, "first");
    let point = checkpoint_of(&project, &first, "a");
    project.plan_at("second.yaml", "onward: 1\nname: second\nphases:\n  x: { run: step x 'cp made.txt x.txt' }\n");
    // The rewind stands still where it reads what it is going to bring back.
    project.script(
        "git",
        "
        #!/bin/sh
        case \"$*\" in *cat-file*--batch*) if [ ! -e \"$TESTKIT_GATES/git\" ]; then
            : > \"$TESTKIT_GATES/reached\"; until [ -e \"$TESTKIT_GATES/git\" ]; do sleep 0.01; done
        fi;; esac
        exec /usr/bin/env PATH=/usr/local/bin:/usr/bin:/bin git \"$@\"
        ",
    );
    let rewinding = project.start(["rewind", &point]);
    wait_until("the rewind", || project.root().join("gates/reached").exists().then_some(()));
    let starting = project.start(["run", "second.yaml"]);
    let lock = project.path(".git/onward-tree.lock");
    let waits = |pid: u32| {
        let fds = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        fds.into_iter().any(|fd| fs::read_link(fd.path()).is_ok_and(|path| path == lock))
    };
    wait_until("the start", || (waits(starting.pid()) || project.count("begin", "x") > 0).then_some(()));
    project.open("git");
    rewinding.wait().expect(0);
    starting.wait().expect(0);
    assert_eq!(project.read("x.txt"), "a\n");
}
