//! How attempts end, and what becomes of it: an outward effect is not repeated unasked, and what was finished is done.

use std::path::Path;
use std::time::{Duration, Instant};

use onward_testkit::{Running, Signal, TestProject, wait_until};

use crate::processes::{attendant_of, send};
use crate::project;

/// How long a driver may take that cannot read an outcome: ten seconds, and room for a busy machine.
const BLIND_MAX: Duration = Duration::from_secs(25);

fn events(project: &TestProject, kind: &str) -> usize {
    let log = project.command(["log", "--events", "--json"]).json();
    log["events"].as_array().expect("a list").iter().filter(|event| event["type"] == kind).count()
}

fn wait_for_the_stop(project: &TestProject) {
    wait_until("the stop to be on record", || (events(project, "stop_asked") > 0).then_some(()));
}

/// The out-of-memory killer takes the main process of a payment, or a child whose shell says so. Nobody knows whether it was made:
/// with retries and without, a person is asked, by every start, until somebody has answered.
#[test]
fn a_payment_killed_from_outside_is_asked_about() {
    for (retry, script) in [
        ("retry: { max: 2, backoff: { initial: 0s } }", "exec step pay hold"),
        ("retry: { max: 2, when: [infra, failed], backoff: { initial: 0s } }", "exec step pay hold"),
        ("retry: { max: 2, backoff: { initial: 0s } }", "step pay hold; true"),
        ("timeout: 1h", "exec step pay hold"),
    ] {
        let project = project();
        project.plan(&format!(
            "onward: 1\nname: demo\nphases:\n  pay:\n    effects: external\n    {retry}\n    run: {script}\n  b: {{ needs: pay, run: step b }}\n"
        ));
        let run = project.start(["run"]);
        send(project.wait_ledger("begin", "pay", 1).pid, Signal::SIGKILL);
        run.wait_code(14);
        for words in [&["run"][..], &["resume"], &["run", "--yes"]] {
            project.command(words).expect(14).err_names(["--retry pay", "--adopt pay"]);
        }
        assert_eq!(project.count("begin", "pay"), 1, "{retry}: {:?}", project.ledger());
        project.command(["resume", "--adopt", "pay"]).expect(0);
        assert_eq!((project.count("begin", "pay"), project.count("end", "b")), (1, 1));
    }
}

/// The same with a probe that sees the payment, or does not. It speaks before anything is tried again.
#[test]
fn a_probe_speaks_before_a_killed_payment_is_tried_again() {
    for (made, attempts) in [("paid", 1), ("not-paid", 2)] {
        let project = project();
        project.plan(&format!(
            "onward: 1\nname: demo\nphases:\n  pay:\n    effects: external\n    retry: {{ max: 1, when: [infra], backoff: {{ initial: 0s }} }}\n    done-when: ['test -e paid']\n    run: |\n      touch {made}; [ $ONWARD_ATTEMPT = 1 ] || touch paid\n      exec step pay hold\n"
        ));
        let run = project.start(["run"]);
        send(project.wait_ledger("begin", "pay", 1).pid, Signal::SIGKILL);
        project.open("pay");
        run.wait_code(0);
        assert_eq!(project.count("begin", "pay"), attempts, "{:?}", project.ledger());
    }
}

/// Somebody presses Ctrl+C, or the session ends. The phase does not hear it and finishes its work: it is done, the run stops as it
/// was asked to, and the next start goes on behind it.
#[test]
fn what_finishes_after_a_stop_is_done() {
    for (signal, code) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143)] {
        let project = project();
        project.plan(
            "onward: 1\nname: demo\nphases:\n  a:\n    outputs: { word: x }\n    run: trap '' INT TERM; echo word=yes >> $ONWARD_OUTPUT; step a hold\n  b: { needs: a, run: step b }\n",
        );
        let run = project.start(["run"]);
        project.wait_ledger("begin", "a", 1);
        run.signal_group(signal);
        wait_for_the_stop(&project);
        project.open("a");
        run.wait_code(code);
        let status = project.command(["status", "--json"]).json();
        assert_eq!(
            (&status["completed"][0]["id"], &status["status"]),
            (&"a".into(), &"interrupted".into()),
            "{status}"
        );
        project.command(["run"]).expect(0);
        project.ran_once(["a", "b"]);
    }
}

/// A phase is asked to end, ends with a code of its own, and is interrupted as ever: it is run again, and no retry is used up.
#[test]
fn what_ends_by_a_stop_is_interrupted() {
    let project = project();
    project.plan("onward: 1\nname: demo\nphases:\n  a: { run: step a hold }\n");
    let run = project.start(["run"]);
    project.wait_ledger("begin", "a", 1);
    run.signal_group(Signal::SIGINT);
    run.wait_code(130);
    project.open("a");
    project.command(["run"]).expect(0);
    assert_eq!((project.count("begin", "a"), project.count("end", "a")), (2, 1));
}

fn start_in(project: &TestProject, folder: &Path, words: &[&str]) -> Running {
    let mut command = project.prepare(words);
    command.current_dir(folder);
    project.spawn(command)
}

/// The project is renamed while its driver lives and a phase works; perhaps another folder is put into its place. The driver says
/// so and ends, the phase goes on, and the next start in the new place takes its result.
#[test]
fn a_project_renamed_under_its_driver_loses_no_outcome() {
    for other in [false, true] {
        let project = project();
        project.plan(
            "onward: 1\nname: demo\nphases:\n  a: { effects: external, run: step a hold }\n  b: { needs: a, run: step b }\n",
        );
        let first = project.start(["run"]);
        project.wait_ledger("begin", "a", 1);
        let moved = project.root().join("moved");
        std::fs::rename(project.dir(), &moved).expect("our own folder");
        if other {
            std::fs::create_dir_all(project.path(".onward")).expect("our own folder");
        }
        let ended = first.wait();
        assert_eq!(ended.code, 74, "{ended:?}");
        ended.err_names(["moved", moved.to_str().expect("plain"), "onward resume"]);
        let status = start_in(&project, &moved, &["status", "--json"]).wait().json();
        assert_eq!(status["running"][0]["orphan"], true, "{status}");
        project.open("a");
        start_in(&project, &moved, &["run"]).wait_code(0);
        project.ran_once(["a", "b"]);
        if other {
            let left = std::fs::read_dir(project.path(".onward")).expect("our own folder").count();
            assert_eq!(left, 0, "something was written into the other folder");
        }
    }
}

/// The same in the moment in which the phase ends.
#[test]
fn a_project_renamed_while_a_phase_ends_loses_no_outcome() {
    let project = project();
    project.plan("onward: 1\nname: demo\nphases:\n  a: { run: step a hold }\n  b: { needs: a, run: step b }\n");
    let first = project.start(["run"]);
    let attendant = attendant_of(project.wait_ledger("begin", "a", 1).pid);
    // The driver sees nothing until all has happened.
    send(first.pid(), Signal::SIGSTOP);
    project.open("a");
    wait_until("the attendant to end", || (!onward_testkit::is_alive(attendant)).then_some(()));
    let moved = project.root().join("moved");
    std::fs::rename(project.dir(), &moved).expect("our own folder");
    send(first.pid(), Signal::SIGCONT);
    first.wait_code(74);
    start_in(&project, &moved, &["run"]).wait_code(0);
    project.ran_once(["a", "b"]);
}

/// The same before the driver begins to wait for anything, with a phase at work that has outlived an earlier one. Nothing is asked to
/// end, and nothing is written in the old place.
#[test]
fn a_project_renamed_before_its_driver_begins_loses_no_outcome() {
    let mut project = project();
    project.plan("onward: 1\nname: demo\nphases:\n  a: { run: step a hold }\n  b: { needs: a, run: step b }\n");
    let first = project.start(["run"]);
    project.wait_ledger("begin", "a", 1);
    first.kill();
    let held = project.root().join("held");
    project.set_env("ONWARD_HOLD_POINT", "start.before-drive");
    project.set_env("ONWARD_HOLD_FILE", &held);
    let second = project.start(["run", "--resume"]);
    wait_until("the driver to have all that it needs", || held.exists().then_some(()));
    let moved = project.root().join("moved");
    std::fs::rename(project.dir(), &moved).expect("our own folder");
    std::fs::remove_file(&held).expect("the driver waits");
    let ended = second.wait_code(74).err_names(["moved", "onward resume"]);
    assert!(!ended.err.contains("asked to end") && !ended.err.contains("is ended"), "{ended:?}");
    assert!(!project.dir().exists(), "something was made in the old place");
    project.remove_env("ONWARD_HOLD_POINT");
    project.open("a");
    start_in(&project, &moved, &["run"]).wait_code(0);
    project.ran_once(["a", "b"]);
}

/// A phase deletes the folder in which its own attempt is kept, or all folders of the run's attempts. Its attendant saw how it ended, so
/// that is what is recorded, with a driver and without.
#[test]
fn a_phase_that_deletes_its_own_records_has_its_outcome() {
    for folders in ["$here", "$(dirname $here)", "$(dirname $(dirname $here))"] {
        for (end, driver_lives) in [("true", true), ("true", false), ("exit 3", true)] {
            let project = project();
            let script = format!("here=$(dirname \"$ONWARD_PROGRESS\"); step a hold; rm -rf {folders}; {end}");
            project.plan(&format!(
                "onward: 1\nname: demo\nphases:\n  a:\n    effects: external\n    run: {script:?}\n  b: {{ needs: a, run: step b }}\n"
            ));
            let first = project.start(["run"]);
            let attendant = attendant_of(project.wait_ledger("begin", "a", 1).pid);
            let first = if driver_lives {
                Some(first)
            } else {
                first.kill();
                None
            };
            project.open("a");
            wait_until("the attendant to end", || (!onward_testkit::is_alive(attendant)).then_some(()));
            let ran = first.map_or_else(|| project.command(["run"]), onward_testkit::Running::wait);
            assert_eq!(ran.code, i32::from(end != "true"), "{folders} {end}: {ran}");
            let log = project.command(["log", "--events", "--json"]).json();
            let events = log["events"].as_array().expect("a list");
            let ended = events.iter().find(|event| event["type"] == "attempt_ended" && event["phase"] == "a");
            assert_eq!(ended.expect("an end")["outcome"]["how"], "exited", "{folders} {end}");
            assert_eq!(project.count("begin", "a"), 1, "{folders} {end}");
            project.command(["doctor"]).expect(0);
        }
    }
}

/// Follows a process and all that it starts: each read of this file fails. False where that is not to be had here.
fn reads_fail(project: &TestProject, pid: u32, file: &str) -> bool {
    calls_fail(project, pid, file, "read:error=EIO:delay_enter=100000")
}

fn calls_fail(project: &TestProject, pid: u32, file: &str, how: &str) -> bool {
    let (pid, log) = (pid.to_string(), project.root().join("strace"));
    let (trace, inject) = (format!("trace={}", how.split(':').next().expect("a call")), format!("inject={how}"));
    let words = ["-f", "-o", log.to_str().expect("plain"), "-P", file, "-e", &trace, "-e", &inject, "-p", &pid];
    is_traced(project, &pid, &words)
}

fn is_traced(project: &TestProject, pid: &str, words: &[&str]) -> bool {
    let _strace = project.spawn(project.prepare_program("strace", words));
    let untraced =
        || std::fs::read_to_string(format!("/proc/{pid}/status")).is_ok_and(|status| status.contains("TracerPid:\t0"));
    let until = Instant::now() + Duration::from_secs(3);
    while untraced() {
        if Instant::now() > until {
            return false;
        }
        std::thread::yield_now();
    }
    true
}

/// The system refuses once, for reasons of its own, to open the outcome of a phase, its output or its artifact. It is looked at again, and the
/// phase is done.
#[test]
fn a_refusal_for_a_moment_says_nothing_of_a_phase() {
    for file in ["EXIT", "result", "made.txt"] {
        let project = project();
        project.plan(
            "onward: 1\nname: demo\nphases:\n  a: { retry: { max: 2, when: [failed, infra], backoff: { initial: 0s } }, outputs: { word: x }, artifacts: { it: made.txt }, run: echo x > made.txt; echo word=yes >> $ONWARD_OUTPUT; step a hold }\n",
        );
        let first = project.start(["run"]);
        project.wait_ledger("begin", "a", 1);
        let run = project.command(["status", "--json"]).json()["run"].as_str().expect("an id").to_owned();
        let in_books = project.path(format!(".onward/attempts/{run}/a/1/{file}"));
        let place = if file == "made.txt" { project.path(file) } else { in_books };
        // Without strace, or where it may not trace, there is nothing that would fail.
        if !calls_fail(&project, first.pid(), place.to_str().expect("plain"), "openat:error=EPERM:when=1") {
            return;
        }
        project.open("a");
        first.wait_code(0);
        project.ran_once(["a"]);
        let log = std::fs::read_to_string(project.root().join("strace")).expect("it was written");
        assert!(log.contains("(INJECTED)"), "{file} was opened in another way: {log}");
    }
}

/// A look whether a check has ended is interrupted. The check goes on, and says what it finds.
#[test]
fn an_interrupted_look_at_a_check_says_nothing() {
    let project = project();
    project.plan(
        "onward: 1\nname: demo\nphases:\n  a: { retry: { max: 2, when: [failed], backoff: { initial: 0s } }, verify: ['sleep 0.3'], run: step a hold }\n",
    );
    let first = project.start(["run"]);
    project.wait_ledger("begin", "a", 1);
    let (pid, log) = (first.pid().to_string(), project.root().join("strace"));
    let words = [
        "-f",
        "-o",
        log.to_str().expect("plain"),
        "-e",
        "trace=wait4",
        "-e",
        "inject=wait4:error=EINTR:when=1..20",
        "-p",
        &pid,
    ];
    if !is_traced(&project, &pid, &words) {
        return;
    }
    project.open("a");
    first.wait_code(0);
    project.ran_once(["a"]);
}

/// The disk gives an error whenever an artifact is read. That says nothing of its phase, which is done: the driver ends, and once the
/// disk is well the next one looks again. The phase is not run again.
#[test]
fn soak_an_artifact_that_cannot_be_read_fails_no_phase() {
    let project = project();
    project.plan(
        "onward: 1\nname: demo\nphases:\n  a: { retry: { max: 2, when: [failed], backoff: { initial: 0s } }, artifacts: { it: made.txt }, run: echo x > made.txt; step a hold }\n",
    );
    let first = project.start(["run"]);
    project.wait_ledger("begin", "a", 1);
    let made = project.path("made.txt");
    // Without strace, or where it may not trace, there is nothing that would fail.
    if !reads_fail(&project, first.pid(), made.to_str().expect("plain")) {
        return;
    }
    project.open("a");
    first.wait_within(BLIND_MAX + BLIND_MAX).expect(74).err_names(["whether phase a is done cannot be seen"]);
    project.command(["run"]).expect(0);
    project.ran_once(["a"]);
}

/// The disk gives an error whenever the outcome of a phase is read, slowly, for ever. The driver ends after ten seconds and says
/// nothing of the phase; once the disk is well the next one takes the outcome.
#[test]
fn soak_an_outcome_that_cannot_be_read_ends_the_driver_in_time() {
    let project = project();
    project.plan("onward: 1\nname: demo\nphases:\n  a: { run: step a hold }\n");
    let first = project.start(["run"]);
    project.wait_ledger("begin", "a", 1);
    let run = project.command(["status", "--json"]).json()["run"].as_str().expect("an id").to_owned();
    let record = project.path(format!(".onward/attempts/{run}/a/1/EXIT"));
    if !reads_fail(&project, first.pid(), record.to_str().expect("plain")) {
        return;
    }
    project.open("a");
    let began = Instant::now();
    let ended = first.wait_within(BLIND_MAX + BLIND_MAX);
    assert_eq!(ended.code, 74, "{ended:?}");
    assert!(began.elapsed() < BLIND_MAX, "it took {:?}", began.elapsed());
    project.command(["run"]).expect(0);
    project.ran_once(["a"]);
}

/// Nothing can be written about a check that is to be started. That says nothing about the phase: the driver ends, and once there is
/// room the next start has it checked and does not do it again.
#[test]
fn a_check_that_cannot_be_noted_says_nothing_about_its_phase() {
    let project = project();
    project.plan(
        "
        onward: 1
        name: demo
        phases:
          a: { run: 'step a; rm -rf .onward/run/looks; : > .onward/run/looks', verify: 'true', retry: 3 }
        ",
    );
    project.command(["run"]).expect(74);
    std::fs::remove_file(project.path(".onward/run/looks")).expect("the phase made it");
    let status = project.command(["status", "--json"]).json();
    assert_eq!(status["status"], "interrupted", "{status}");
    project.command(["run"]).expect(0);
    project.ran_once(["a"]);
}

/// A payment moves the folder of its attempt aside, or takes the record of its start away and kills its attendant. Nobody knows then
/// how it ended, but that it ran is known: it is not made again, and a person is asked, also where the driver is killed, too.
#[test]
fn a_payment_that_hides_its_start_is_not_repeated() {
    for hides in [
        "mv $D $D.x; mkdir $D",
        "mv $D $D.x",
        "rm -f $D/STARTED $D/MAIN; kill -9 $PPID",
        "rm -rf $D; mkdir $D; kill -9 $PPID",
        "rm -rf $D/../../*; mkdir -p $D; kill -9 $PPID",
        "rm -f $D/STARTED $D/MAIN; kill -9 $DRIVER $PPID",
        "mv $D $D.x; mkdir $D; kill -9 $DRIVER $PPID",
    ] {
        let project = project();
        let find = "D=$(dirname $ONWARD_OUTPUT); DRIVER=$(cut -d' ' -f4 /proc/$PPID/stat)";
        project.plan(&format!(
            "onward: 1\nname: demo\nphases:\n  pay:\n    effects: external\n    run: |\n      echo paid >> paid\n      {find}\n      {hides}\n"
        ));
        let codes = [(); 3].map(|()| project.command(["run"]).code);
        assert_eq!(project.read("paid").lines().count(), 1, "{hides}: {codes:?}");
        assert_eq!(codes[1..], [14, 14], "{hides}: {codes:?}");
    }
}
