//! What happens to people, one story each.

use std::time::{Duration, Instant};

use onward_testkit::{Signal, wait_until};

use crate::project;

const CHAIN: &str = "
onward: 1
name: demo
phases:
  a: { run: step a }
  b: { needs: a, run: step b hold }
  c: { needs: b, run: step c }
";

/// Everything dies while the second phase works. The bare command goes on by itself; what was done stays done.
#[test]
fn killed_in_phase_two() {
    let project = project();
    project.plan(CHAIN);
    let _first = project.start(["run"]);
    project.wait_ledger("begin", "b", 1);
    project.kill_everything();
    assert_eq!(project.command(["status", "--json"]).json()["status"], "interrupted");
    project.open("b");
    project.command(["run"]).expect(0);
    project.ran_once(["a", "c"]);
    assert_eq!(project.order("end"), ["a", "b", "c"]);
}

/// The same run is started in a second terminal. It is told who drives, and the first goes on undisturbed.
#[test]
fn two_terminals() {
    let project = project();
    project.plan(CHAIN);
    let first = project.start(["run"]);
    project.wait_ledger("begin", "b", 1);
    let pid = first.pid().to_string();
    for words in [&["run"][..], &["run", "--resume"], &["resume"], &["run", "--fresh"]] {
        project.command(words).expect(11).err_names([pid.as_str()]);
    }
    project.open("b");
    first.wait_code(0);
    project.ran_once(["a", "b", "c"]);
}

/// The driver dies, its phase lives on and ends with nobody watching. Its result is taken, nothing is done twice.
#[test]
fn orphan_finished_meanwhile() {
    let project = project();
    project.plan(CHAIN);
    let first = project.start(["run"]);
    project.wait_ledger("begin", "b", 1);
    first.kill();
    let status = project.command(["status", "--json"]).json();
    assert_eq!((&status["status"], &status["running"][0]["orphan"]), (&"interrupted".into(), &true.into()));
    project.open("b");
    project.wait_ledger("end", "b", 1);
    project.wait_no_processes();
    project.command(["run"]).expect(0);
    project.ran_once(["a", "b", "c"]);
}

/// A phase leaves a daemon behind that holds its lock. The outcome counts, whatever the lock says.
#[test]
fn a_daemon_left_behind_delays_nothing() {
    let project = project();
    project
        .plan("onward: 1\nname: demo\nphases:\n  a: { run: 'sleep 300 & step a' }\n  b: { needs: a, run: step b }\n");
    project.command(["run"]).expect(0);
    project.ran_once(["a", "b"]);
    project.kill_everything();
}

/// Ctrl+C ends the phase and leaves a checkpoint; a second start goes on with the note of the first.
#[test]
fn ctrl_c_keeps_the_note() {
    let project = project();
    project.plan(
        "
        onward: 1
        name: demo
        phases:
          a: { run: \"step a 'cat $ONWARD_PROGRESS > ../handed; echo half way >> $ONWARD_PROGRESS; hold'\" }
        ",
    );
    let first = project.start(["run"]);
    project.wait_ledger("begin", "a", 1);
    let note = || project.command(["status", "--json"]).json()["running"][0]["note"].as_str().map(str::to_owned);
    wait_until("the note", || note().filter(|note| note == "half way"));
    first.signal_group(Signal::SIGINT);
    first.wait_code(130);
    let log = project.command(["log", "--json"]).json();
    assert_eq!(log["checkpoints"][0]["trigger"], "user_interrupt");
    project.open("a");
    project.command(["run"]).expect(0);
    let handed = std::fs::read_to_string(project.root().join("handed")).expect("what the second attempt was handed");
    assert_eq!(handed, "half way\n");
}

/// A checkpoint is taken by hand while a driver works. The driver takes it, and the id comes back.
#[test]
fn a_checkpoint_by_hand_while_a_driver_works() {
    let project = project();
    project.plan(CHAIN);
    let first = project.start(["run"]);
    project.wait_ledger("begin", "b", 1);
    let id = project.command(["checkpoint", "--name", "before-lunch"]).expect(0).out.trim().to_owned();
    let shown = project.command(["show", &id, "--json"]).expect(0).json();
    assert_eq!((&shown["name"], &shown["phase"]), (&"before-lunch".into(), &"b".into()));
    project.open("b");
    first.wait_code(0);
    project.ran_once(["a", "b", "c"]);
    let after = project.command(["checkpoint"]).expect(0).out;
    assert!(after.starts_with("CP-"), "with no driver the command takes it itself: {after}");
}

/// Nobody knows whether an outward effect happened. Nothing is guessed; the flags answer.
#[test]
fn outward_effect_in_doubt() {
    let project = project();
    project.plan("onward: 1\nname: demo\nphases:\n  a: { effects: external, run: step a hold }\n  b: { needs: a, run: step b }\n");
    let _first = project.start(["run"]);
    project.wait_ledger("begin", "a", 1);
    project.kill_everything();
    project.command(["run", "--resume"]).expect(14).err_names(["a", "--retry", "--adopt", "--skip"]);
    project.command(["run"]).expect(14);
    assert_eq!(project.order("begin"), ["a"]);
    project.command(["resume", "--adopt", "a"]).expect(0);
    assert_eq!(project.order("begin"), ["a", "b"]);
}

/// A phase of a hundred lines of plan is refused, not half done: keys of later versions stop a run before it starts.
#[test]
fn keys_of_later_versions_stop_a_run_before_it_starts() {
    let project = project();
    project.plan("onward: 1\nname: demo\nphases:\n  a: { run: step a, verify: [test -e x] }\n");
    let checked = project.command(["check", "onward.yaml", "--json"]).expect(0).json();
    assert_eq!(checked["diagnostics"][0]["code"], "not-yet-supported");
    project.command(["run"]).expect(2).err_names(["verify"]);
    assert_eq!(project.order("begin"), Vec::<String>::new());
}

/// A fresh start puts the old run away and never deletes it.
#[test]
fn fresh_start_keeps_the_old_run() {
    let project = project();
    project.plan(CHAIN);
    let _first = project.start(["run"]);
    project.wait_ledger("begin", "b", 1);
    project.kill_everything();
    project.open("b");
    project.command(["run", "--fresh"]).expect(0);
    let all = project.command(["list", "--all", "--json"]).json();
    let statuses: Vec<&str> =
        all["runs"].as_array().expect("runs").iter().filter_map(|run| run["status"].as_str()).collect();
    assert_eq!(statuses, ["completed", "archived"]);
}

/// Looking is quick: the best of five is well under the time a person notices.
#[test]
fn looking_is_quick() {
    let project = project();
    project.plan("onward: 1\nname: demo\nphases:\n  a: { run: step a }\n");
    project.command(["run"]).expect(0);
    let best = (0..5)
        .map(|_| {
            let started = Instant::now();
            project.command(["status", "--json"]).expect(0);
            started.elapsed()
        })
        .min()
        .expect("five looks");
    assert!(best < Duration::from_millis(50), "{best:?}");
}
