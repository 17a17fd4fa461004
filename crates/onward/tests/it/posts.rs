//! Requests to a run whose sender is stopped before it is answered: what is told about them is true.

use std::fs;
use std::time::Duration;

use onward_testkit::{Running, Signal, TestProject, WriteLock, wait_until};

use crate::project;

const PLAN: &str = "
onward: 1
name: demo
phases:
  a: { run: step a hold }
  b: { needs: a, run: step b }
  other: { needs: b, run: step other }
  docs: { external: { instructions: write them } }
  gate: { approval: { message: 'Ship it?' } }
";

/// A run at work, and its driver.
fn at_work() -> (TestProject, Running) {
    let project = project();
    project.plan(PLAN);
    let driver = project.start(["run"]);
    project.wait_ledger("begin", "a", 1);
    wait_until("the question is asked", || project.command(["status", "--json"]).out.contains("waiting").then_some(()));
    (project, driver)
}

/// Moves with every commit of the store.
fn head(project: &TestProject) -> Vec<u8> {
    fs::read(project.path(".onward/HEAD")).expect("the head file of a store")
}

/// The kinds of all events, oldest first.
fn events(project: &TestProject) -> Vec<String> {
    let told = project.command(["log", "--events", "--json"]).expect(0).json();
    let all = told["events"].as_array().expect("a list").iter();
    all.map(|event| event["type"].as_str().expect("a word").to_owned()).collect()
}

/// Every verb that leaves something for the driver was stopped by every signal while the driver was stopped too. Each says that
/// nothing was changed, and so it is when the driver goes on.
#[test]
fn a_request_whose_sender_was_stopped_is_not_carried_out() {
    let (project, driver) = at_work();
    project.write("patch.json", r#"{"x": 1}"#);
    let verbs: [&[&str]; 9] = [
        &["state", "merge", "patch.json"],
        &["pause", "@"],
        &["cancel", "@"],
        &["checkpoint", "--name", "never"],
        &["skip", "@", "other"],
        &["approve", "@", "gate"],
        &["reject", "@", "gate", "--json"],
        &["report", "progress", "docs", "--note", "never"],
        &["report", "start", "docs", "--json"],
    ];
    let known = events(&project).len();
    driver.signal(Signal::SIGSTOP);
    for (at, verb) in verbs.iter().enumerate() {
        let (signal, code) = [(Signal::SIGINT, 130), (Signal::SIGTERM, 143), (Signal::SIGHUP, 129)][at % 3];
        let before = head(&project);
        let poster = project.start(verb.iter());
        wait_until("it is posted", || (head(&project) != before).then_some(()));
        poster.signal(signal);
        let ran = poster.wait_code(code);
        assert!(ran.err.contains("stopped") && ran.err.contains("nothing was changed"), "{verb:?}: {}", ran.err);
        if verb.contains(&"--json") {
            assert_eq!(ran.json()["error"]["exit"], code, "{}", ran.out);
        }
    }
    driver.signal(Signal::SIGCONT);
    // Answered by the driver, and so after all that waited.
    project.command(["checkpoint", "--name", "after"]).expect(0);
    let log = project.command(["log", "--json"]).out;
    assert!(log.contains("\"after\"") && !log.contains("\"never\""), "{log}");
    project.command(["state", "get", "/x"]).expect(10);
    let new = &events(&project)[known..];
    assert!(new.iter().all(|kind| kind == "checkpoint_taken"), "{new:?}");
    project.command(["approve", "@", "gate"]).expect(0);
    project.command(["report", "done", "docs"]).expect(0);
    project.open("a");
    driver.wait_code(0);
    project.ran_once(["a", "b", "other"]);
    project.command(["doctor"]).expect(0);
}

/// A request to a driver that does not answer was given up. It is taken back, and the page says so.
#[test]
fn soak_a_request_that_nobody_answers_is_taken_back() {
    let (project, driver) = at_work();
    driver.signal(Signal::SIGSTOP);
    let ran = project.start(["pause", "@"]).wait_within(Duration::from_secs(30));
    assert_eq!(ran.code, 11, "{ran:?}");
    assert!(ran.err.contains("taken back") && ran.err.contains("nothing was changed"), "{}", ran.err);
    driver.signal(Signal::SIGCONT);
    project.command(["checkpoint"]).expect(0);
    project.command(["approve", "@", "gate"]).expect(0);
    project.command(["report", "done", "docs"]).expect(0);
    project.open("a");
    driver.wait_code(0);
}

/// A request was stopped while nobody can write to the store, as beside a driver that was stopped in the middle of a commit. It
/// cannot be taken back: it is said that it waits, and it is carried out.
#[test]
fn soak_a_request_that_cannot_be_taken_back_is_said_to_wait() {
    let (project, driver) = at_work();
    project.write("patch.json", r#"{"x": 1}"#);
    driver.signal(Signal::SIGSTOP);
    let before = head(&project);
    let poster = project.start(["state", "merge", "patch.json"]);
    wait_until("it is posted", || (head(&project) != before).then_some(()));
    let locked = WriteLock::take(&project.path(".onward"));
    poster.signal(Signal::SIGTERM);
    let ran = poster.wait_within(Duration::from_secs(30));
    assert_eq!(ran.code, 143, "{ran:?}");
    assert!(ran.err.contains("the request stays") && !ran.err.contains("nothing was changed"), "{}", ran.err);
    drop(locked);
    driver.signal(Signal::SIGCONT);
    project.command(["checkpoint"]).expect(0);
    project.command(["state", "get", "/x"]).expect(0);
}

/// Posters are stopped at any moment, beside a driver that is at work or stopped itself. Whoever says that it is done finds it
/// done; whoever says that nothing was changed finds nothing. `ONWARD_POSTS` says how many.
#[test]
fn soak_whoever_is_stopped_tells_the_truth() {
    let (project, driver) = at_work();
    let count = std::env::var("ONWARD_POSTS").ok().and_then(|count| count.parse().ok()).unwrap_or(24);
    let (mut random, mut done, mut stopped) = (0x9e37_79b9_7f4a_7c15_u64, Vec::new(), Vec::new());
    let mut below = |limit: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % limit
    };
    for number in 0..count {
        let held = below(2) == 0;
        if held {
            driver.signal(Signal::SIGSTOP);
        }
        let name = format!("post-{number}");
        project.write("patch.json", format!(r#"{{"{name}": {number}}}"#));
        let merges = below(2) == 0;
        let poster = if merges {
            project.start(["state", "merge", "patch.json"])
        } else {
            project.start(["checkpoint", "--name", &name])
        };
        std::thread::sleep(Duration::from_millis(below(60)));
        let signal = [Signal::SIGINT, Signal::SIGTERM][usize::try_from(below(2)).expect("small")];
        poster.signal(signal);
        let ran = poster.wait();
        match ran.code {
            0 => done.push((name, merges)),
            // The driver was stopped in the middle of a commit: nobody can write, and nothing is claimed.
            130 | 143 if ran.err.contains("the stop was cut off") => {}
            // Before it could listen, a signal ends it as it ends any program; then nothing is said.
            130 | 143 => {
                assert!(ran.err.is_empty() || ran.err.contains("nothing was changed"), "{}", ran.err);
                stopped.push((name, merges));
            }
            other => panic!("{other}: {ran:?}"),
        }
        driver.signal(Signal::SIGCONT);
    }
    project.command(["checkpoint", "--name", "after"]).expect(0);
    let (log, state) = (project.command(["log", "--json"]).out, project.command(["state", "get"]).json());
    let is_there = |(name, merges): &(String, bool)| {
        if *merges { state.get(name).is_some() } else { log.contains(&format!("\"{name}\"")) }
    };
    assert!(done.iter().all(is_there), "{done:?}: {state} {log}");
    let all: Vec<_> = stopped.iter().filter(|one| is_there(one)).collect();
    assert!(all.is_empty(), "{all:?}: {state} {log}");
    project.command(["doctor"]).expect(0);
    println!("{} done, {} stopped", done.len(), stopped.len());
}

/// Ctrl+C while a state is typed, or while its sender hesitates.
#[test]
fn a_stop_while_a_state_is_read_changes_nothing() {
    let project = project();
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let mut command = project.prepare(["save", "build", "demo"]);
    command.stdin(reader);
    let saving = project.spawn(command);
    wait_until("it listens", || {
        let status = fs::read_to_string(format!("/proc/{}/status", saving.pid())).unwrap_or_default();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).map(str::trim);
        caught.and_then(|mask| u64::from_str_radix(mask, 16).ok()).filter(|mask| mask & 2 != 0)
    });
    saving.signal(Signal::SIGINT);
    let ran = saving.wait_code(130);
    assert!(ran.err.contains("nothing was changed"), "{}", ran.err);
    drop(writer);
    assert!(!project.exists(".onward/onward.db"));
}
