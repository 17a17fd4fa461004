//! Stories of users, one test each.

use std::time::{Duration, Instant};

use onward_testkit::{Signal, wait_until};

use crate::chain::HELD;
use crate::project;

/// Everything dies while the second phase works. The bare command goes on by itself; what was done stays done.
#[test]
fn killed_in_phase_two() {
    let project = project();
    project.plan(HELD);
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
    project.plan(HELD);
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
    project.plan(HELD);
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
    project.plan(HELD);
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
    let status = project.command(["status"]).expect(0).out;
    assert!(status.contains("nobody knows") && status.contains("--adopt a"), "{status}");
    assert_eq!(project.order("begin"), ["a"]);
    project.command(["resume", "--adopt", "a"]).expect(0);
    assert_eq!(project.order("begin"), ["a", "b"]);
}

/// A phase of a hundred lines of plan is refused, not half done: keys of later versions stop a run before it starts.
#[test]
fn keys_of_later_versions_stop_a_run_before_it_starts() {
    let project = project();
    project.plan("onward: 1\nname: demo\nphases:\n  a: { run: step a, runs-on: far }\n");
    let checked = project.command(["check", "onward.yaml", "--json"]).expect(0).json();
    assert_eq!(checked["diagnostics"][0]["code"], "not-yet-supported");
    project.command(["run"]).expect(2).err_names(["runs-on"]);
    assert_eq!(project.order("begin"), Vec::<String>::new());
}

/// A fresh start puts the old run away and never deletes it.
#[test]
fn fresh_start_keeps_the_old_run() {
    let project = project();
    project.plan(HELD);
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

/// Two people start the same plan in the same moment. One run goes on; the other start is told so, or sees it done.
#[test]
fn two_starts_at_once_make_one_run() {
    for _ in 0..5 {
        let project = project();
        project.plan("onward: 1\nname: demo\nphases:\n  a: { run: step a hold }\n");
        project.command(["init"]).expect(0);
        let starts: Vec<_> = (0..4).map(|_| project.start(["run"])).collect();
        project.wait_ledger("begin", "a", 1);
        wait_until("the losers to end", || {
            (starts.iter().filter(|start| start.is_running()).count() == 1).then_some(())
        });
        project.open("a");
        let mut codes: Vec<i32> = starts.into_iter().map(|start| start.wait().code).collect();
        codes.sort_unstable();
        assert_eq!(codes, [0, 11, 11, 11]);
        project.ran_once(["a"]);
        assert_eq!(project.command(["list", "--all", "--json"]).json()["runs"].as_array().map(Vec::len), Some(1));
    }
}

/// The database is emptied while its log holds everything. Looking says that it is damaged, and keeps every byte.
#[test]
fn a_log_without_its_database_is_kept() {
    let project = project();
    project.plan(HELD);
    let first = project.start(["run"]);
    project.wait_ledger("begin", "b", 1);
    first.kill();
    project.kill_everything();
    let log = std::fs::read(project.path(".onward/onward.db-wal")).expect("a log");
    assert!(!log.is_empty(), "the story needs a log that was not folded in yet");
    project.write(".onward/onward.db", "");
    for words in [&["list"][..], &["status"], &["doctor"], &["run"]] {
        project.command(words).expect(12);
        assert_eq!(std::fs::read(project.path(".onward/onward.db-wal")).expect("the log"), log, "after {words:?}");
    }
}

/// Somebody takes the folders of all attempts away after everything was killed. The phase did run, so an outward effect is asked about.
#[test]
fn an_attempt_whose_folder_is_gone_is_unknown() {
    let project = project();
    project.plan("onward: 1\nname: demo\nphases:\n  pay: { effects: external, run: step pay hold }\n");
    let first = project.start(["run"]);
    project.wait_ledger("begin", "pay", 1);
    project.kill_everything();
    first.wait_code(137);
    std::fs::remove_dir_all(project.path(".onward/attempts")).expect("the folder of the attempts");
    project.command(["run"]).expect(14).err_names(["pay", "--adopt"]);
    project.command(["run"]).expect(14);
    assert_eq!(project.order("begin"), ["pay"]);
}

/// The driver is dead and the phase lives, and their folders are gone: nothing is started beside it.
#[test]
fn a_living_orphan_without_its_folder_is_waited_for() {
    let project = project();
    project.plan("onward: 1\nname: demo\nphases:\n  a: { run: step a hold }\n");
    let first = project.start(["run"]);
    project.wait_ledger("begin", "a", 1);
    first.kill();
    std::fs::remove_dir_all(project.path(".onward/attempts")).expect("the folder of the attempts");
    let second = project.start(["run"]);
    wait_until("the second driver to take the run", || {
        let status = project.command(["status", "--json"]).json();
        (status["status"] == "running").then_some(())
    });
    assert_eq!(project.count("begin", "a"), 1);
    project.open("a");
    second.wait_code(0);
    assert_eq!(project.order("overlap"), Vec::<String>::new());
}

/// A run whose phase still lives is to be deleted. It is refused; otherwise the next start would work beside it.
#[test]
fn a_living_run_is_not_deleted() {
    let project = project();
    project.plan(HELD);
    let first = project.start(["run"]);
    project.wait_ledger("begin", "b", 1);
    let run = project.command(["status", "--json"]).json()["run"].as_str().expect("an id").to_owned();
    project.command(["delete", &run, "--yes"]).expect(11).err_names([run.as_str(), "driven"]);
    first.kill();
    project.command(["delete", &run, "--yes"]).expect(13).err_names(["b"]);
    project.kill_everything();
    project.command(["delete", &run, "--yes"]).expect(0);
}

/// An orphan that shed its environment is ended before a fresh start, and the start does not wait for ever.
#[test]
fn a_fresh_start_ends_what_hides() {
    let project = project();
    project.plan("onward: 1\nname: demo\nphases:\n  a: { run: \"step a; env -i /bin/sh -c 'exec sleep 300'\" }\n");
    let first = project.start(["run"]);
    project.wait_ledger("end", "a", 1);
    first.kill();
    project.plan("onward: 1\nname: demo\nphases:\n  b: { run: step b }\n");
    project.command(["run", "--fresh"]).expect(14).err_names(["--orphan"]);
    project.command(["run", "--fresh", "--orphan", "kill"]).expect(0);
    project.ran_once(["b"]);
}

/// A choice names a phase that is not in the plan. Nothing is started, and no run is left behind.
#[test]
fn a_choice_for_no_phase_starts_nothing() {
    let project = project();
    project.plan("onward: 1\nname: demo\nphases:\n  a: { run: step a }\n");
    project.command(["run", "--skip", "nosuch"]).expect(10).err_names(["nosuch"]);
    assert_eq!(project.command(["list", "--all", "--json"]).json()["runs"].as_array().map(Vec::len), Some(0));
}

/// An outward effect ends politely with code 0 after Ctrl+C. Nobody can tell whether it happened, so it is asked about.
#[test]
fn a_polite_end_of_an_outward_effect_is_in_doubt() {
    let project = project();
    project.plan(
        "onward: 1\nname: demo\nphases:\n  pay: { effects: external, run: \"trap 'exit 0' INT; step pay hold & wait\" }\n",
    );
    let first = project.start(["run"]);
    project.wait_ledger("begin", "pay", 1);
    first.signal_group(Signal::SIGINT);
    first.wait_code(130);
    project.command(["run"]).expect(14).err_names(["pay"]);
    assert_eq!(project.count("begin", "pay"), 1);
}

/// A plan repeats one kind of failure only. What fails otherwise is not tried again.
#[test]
fn only_a_certain_failure_is_repeated() {
    let project = project();
    project.plan(
        "
        onward: 1
        name: demo
        on-failure: continue
        defaults: { retry: { max: 2, output-matches: ECONN, backoff: { initial: 0s } } }
        phases:
          a: { run: 'step a; echo ECONNRESET; exit 1' }
          b: { run: 'step b; echo a typo; exit 1' }
          c: { run: step c, verify: ['echo ECONNRESET; exit 1'] }
          d: { run: step d, verify: ['echo a typo; exit 1'] }
    ",
    );
    project.command(["run"]).expect(1);
    assert_eq!(["a", "b", "c", "d"].map(|phase| project.count("begin", phase)), [3, 1, 3, 1]);
}

/// A run is complete, and its end is to be done again: `run --from` goes on in that run instead of doing all of it once
/// more. Where nothing was done yet, or a phase is not in the plan, it says so and starts nothing.
#[test]
fn the_end_of_a_completed_run_once_more() {
    let project = project();
    project.plan(
        "
        onward: 1
        name: demo
        phases:
          a: { run: step a }
          b: { needs: a, run: step b }
          c: { needs: b, run: step c }
    ",
    );
    project.command(["run", "--from", "b"]).expect(10).err_names(["nothing can be done again"]);
    project.command(["run", "--only", "nosuch"]).expect(10);
    assert_eq!(project.command(["list", "--json"]).json()["runs"], serde_json::json!([]));
    project.command(["run"]).expect(0);
    project.command(["run", "--from", "nosuch"]).expect(10);
    project.command(["run", "--fresh", "--from", "b"]).expect(2);
    project.command(["run", "--from", "b"]).expect(0);
    assert_eq!(["a", "b", "c"].map(|phase| project.count("end", phase)), [1, 2, 2]);
    assert_eq!(project.command(["list", "--json"]).json()["runs"].as_array().map(Vec::len), Some(1));
}

/// A phase gives out a secret, and another one is to use it. It was cut out before it was written, so the other one does not start
/// with something else in its place.
#[test]
fn a_value_that_was_cut_is_not_used() {
    let project = project();
    project.plan(
        "
        onward: 1
        name: demo
        phases:
          a: { run: \"step a; printf 'it=ghp_%s\\\\n' 0123456789abcdefghijABCDEFGHIJ012345 >> $ONWARD_OUTPUT\" }
          b: { needs: a, run: step b, env: { IT: \"${{ phases.a.outputs.it }}\" } }
    ",
    );
    project.command(["run"]).expect(1).err_names(["phases.a.outputs.it", "IT"]);
    assert_eq!((project.count("end", "a"), project.count("begin", "b")), (1, 0));
}

/// A phase fails and the plan says that a person is asked. Without a terminal every answer is told as a command; on one the
/// words are offered, and what is said is done.
#[test]
fn a_person_is_asked_about_a_failure() {
    let project = project();
    let plan = "
        onward: 1
        name: demo
        phases:
          a: { on-failure: ask, run: step a 'exit 4' }
          b: { needs: a, run: step b }
    ";
    project.plan(plan);
    project.command(["run"]).expect(14).err_names(["phase a failed", "code 4", "--retry a", "--adopt a", "--skip a"]);
    project.command(["resume", "--skip", "a"]).expect(0);
    let mut terminal = project.terminal(["run"]);
    terminal.expect("Phase a failed");
    terminal.send("adopt\n");
    terminal.wait_code(0);
    assert_eq!(project.order("end"), ["b", "b"]);
}

/// A program asks for what is not there, says what makes no sense, or names no phase. It gets one object where the answer would
/// have been, with the exit code and what to type next, and a person gets the same page as ever.
#[test]
fn a_program_is_told_what_went_wrong() {
    let project = project();
    project
        .plan("{ onward: 1, name: demo, phases: { a: { run: step a }, ext: { external: { instructions: do it } } } }");
    let wrong = |words: &[&str], exit: i32, code: &str| {
        let ran = project.command(words).expect(exit);
        let told = ran.json();
        let error = &told["error"];
        assert_eq!((&error["exit"], &error["code"]), (&exit.into(), &code.into()), "{ran}");
        let message = error["message"].as_str().expect("a text");
        assert!(!message.is_empty() && ran.err.contains(message), "{ran}");
    };
    wrong(&["next", "--json"], 10, "no-project");
    wrong(&["status", "--frobnicate", "--json"], 2, "usage");
    wrong(&["worker", "--json"], 2, "not-yet");
    project.command(["run"]).expect(15);
    wrong(&["report", "done", "nosuch", "--json"], 10, "no-phase");
    wrong(&["show", "CP-nosuch", "--json"], 10, "no-checkpoint");
    wrong(&["approve", "latest", "a", "--json"], 2, "declined");
    assert_eq!(project.command(["report", "done", "nosuch"]).expect(10).out, "");
}

/// No plan, a plan with a fault, a plan whose input is missing: nothing is made of a start that cannot be.
#[test]
fn a_start_that_cannot_be_leaves_nothing() {
    let project = project();
    project.command(["run"]).expect(2);
    assert!(!project.exists(".onward"), "without a plan");
    project.plan("onward: 1\nname: demo\nphases:\n  a: { needs: b, run: step a }\n");
    project.command(["run"]).expect(2);
    assert!(!project.exists(".onward"), "with a faulty plan");
    project.command(["run", "--fresh"]).expect(2);
    project.command(["run", "--resume"]).expect(2);
    project.plan("onward: 1\nname: demo\ninputs: { who: { required: true } }\nphases:\n  a: { run: step a }\n");
    project.command(["run"]).expect(2);
    assert!(!project.exists(".onward"), "without an input");
    project.command(["run", "--input", "who=me"]).expect(0);
}
