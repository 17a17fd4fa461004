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
    let (pid, record) = (first.pid().to_string(), record.to_str().expect("plain").to_owned());
    let log = project.root().join("strace");
    let inject = "inject=read:error=EIO:delay_enter=100000";
    let words = ["-f", "-o", log.to_str().expect("plain"), "-P", &record, "-e", "trace=read", "-e", inject, "-p", &pid];
    let strace = project.spawn(project.prepare_program("strace", words));
    let traced =
        || std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?.contains("TracerPid:\t0").then_some(());
    let until = Instant::now() + Duration::from_secs(3);
    while traced().is_some() {
        if Instant::now() > until {
            // Without strace, or where it may not trace, there is nothing that would fail.
            return;
        }
        std::thread::yield_now();
    }
    project.open("a");
    let began = Instant::now();
    let ended = first.wait_within(BLIND_MAX + BLIND_MAX);
    assert_eq!(ended.code, 74, "{ended:?}");
    assert!(began.elapsed() < BLIND_MAX, "it took {:?}", began.elapsed());
    drop(strace);
    project.command(["run"]).expect(0);
    project.ran_once(["a"]);
}
