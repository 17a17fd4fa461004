//! Waiting, pausing, giving up.

use std::num::NonZeroU16;
use std::time::Duration;

use onward_testkit::{Signal, TestProject, wait_until};

use crate::project;

const CHAIN: &str = "
onward: 1
name: demo
phases:
  a: { run: step a hold }
  b: { needs: a, run: step b }
";

/// Somebody pauses a run from a second terminal. The phase at work comes to its end, no other is started, the driver says
/// 75, and the bare command goes on.
#[test]
fn paused_from_a_second_terminal() {
    let project = project();
    project.plan(CHAIN);
    let driver = project.start(["run"]);
    project.wait_ledger("begin", "a", 1);
    project.command(["pause", "latest"]).expect(0);
    wait_until("the pause in the status", || {
        let told = project.command(["status"]).expect(0).out;
        (told.contains("driven by") && told.contains(", and starts nothing more")).then_some(())
    });
    project.open("a");
    driver.wait_code(75);
    assert_eq!(project.command(["status", "--json"]).json()["status"], "paused");
    assert_eq!(project.order("end"), ["a"]);
    project.command(["run"]).expect(0);
    project.ran_once(["a", "b"]);
}

/// Somebody gives a run up. Its phase is ended, the run is put away, and the next start is a new one.
#[test]
fn cancelled_from_a_second_terminal() {
    let project = project();
    project.plan(CHAIN);
    let driver = project.start(["run"]);
    project.wait_ledger("begin", "a", 1);
    project.command(["cancel", "latest"]).expect(0);
    driver.wait_code(1);
    project.wait_no_processes();
    let all = project.command(["list", "--all", "--json"]).json();
    assert_eq!(all["runs"][0]["status"], "archived");
    project.command(["status"]).expect(10).err_names(["next: onward run\n", "next: onward list --all\n"]);
    project.open("a");
    project.command(["run"]).expect(0);
    assert_eq!(project.order("end"), ["a", "b"]);
}

/// The driver was killed and its phase lives on. A pause is on record though nobody drives; giving the run up ends the
/// phase too.
#[test]
fn paused_and_cancelled_with_nobody_driving() {
    let project = project();
    project.plan(CHAIN);
    let driver = project.start(["run"]);
    project.wait_ledger("begin", "a", 1);
    driver.kill();
    project.command(["pause", "latest"]).expect(0);
    assert_eq!(project.command(["status", "--json"]).json()["status"], "paused");
    project.command(["cancel", "latest"]).expect(0);
    project.wait_no_processes();
    assert_eq!(project.command(["list", "--all", "--json"]).json()["runs"][0]["status"], "archived");
    assert_eq!(project.order("end"), Vec::<String>::new());
}

/// A run hits a limit of the project that opens in an hour, and does not wait. A run of another plan that draws on the same
/// limit does not even try.
#[test]
fn another_run_of_the_project_knows_of_the_limit() {
    let project = project();
    let plan = |name: &str| {
        format!(
            "onward: 1\nname: {name}\nlimits: {{ api: {{ when-limited: pause }} }}\nphases:\n  \
             {name}: {{ limits: [api], run: \"step {name} 'echo retry-after: 3600; exit 75'\" }}\n"
        )
    };
    project.plan(&plan("one"));
    project.command(["run"]).expect(75);
    project.write("two.yaml", plan("two"));
    project.command(["run", "two.yaml"]).expect(75);
    assert_eq!(project.order("begin"), ["one"]);
}

fn limited_for(seconds: u32) -> String {
    format!(
        "onward: 1\nname: demo\nlimits: {{ api: {{ scope: run }} }}\nphases:\n  \
         a: {{ limits: [api], run: \"step a 'test -e go || {{ echo retry-after: {seconds}; exit 75; }}'\" }}\n"
    )
}

/// A run waits for a limit, and its output goes into a file. One line says so when the waiting begins, `status` says the same,
/// with the time for programs, and whoever resumes it later is told again, once.
#[test]
fn waiting_is_said_once_where_nobody_watches() {
    let project = project();
    project.plan(&limited_for(7200));
    for driver in 0..2 {
        let driver = (driver, project.start(["run"])).1;
        wait_until("the line", || driver.err().contains("waiting for the limit api: ").then_some(()));
        let status = project.command(["status", "--json"]).json();
        let (waiting, phase) = (&status["waiting"], &status["remaining"][0]);
        assert_eq!(waiting["for"], "the limit api", "{status}");
        assert_eq!((&waiting["until"], &phase["waits_for"]), (&phase["retry_at"], &"the limit api".into()), "{status}");
        let told = project.command(["status"]).expect(0).out;
        assert_eq!(told.matches("waiting for the limit api: ").count(), 2, "{told}");
        driver.signal(Signal::SIGINT);
        let ended = driver.wait_code(130);
        assert_eq!(ended.err.matches("waiting for").count(), 1, "{}", ended.err);
    }
    assert_eq!(project.count("begin", "a"), 1);
}

/// A person watches a run that waits. One line counts down in its place and is gone when the run goes on.
#[test]
fn a_countdown_is_one_line() {
    let project = project();
    project.plan(&limited_for(3));
    let mut terminal = project.terminal(["run"]);
    terminal.expect("waiting for the limit api: 3 s left");
    project.write("go", "");
    terminal.expect("waiting for the limit api: 2 s left");
    terminal.expect("a done");
    let count = |count| NonZeroU16::new(count).expect("a screen has some");
    let mut screen = vt100::Parser::new(count(40), count(120), 0);
    terminal.wait_until("the end", |terminal| terminal.text().contains("is complete"));
    screen.process(terminal.shown());
    let shown = screen.screen().contents();
    assert!(!shown.contains("waiting for") && shown.contains("rate-limited by the limit api"), "{shown}");
    terminal.wait_code(0);
}

/// Two projects of one user draw on one limit. The first is turned away for some seconds; the second does not even try before
/// that, not even after its driver was killed in the wait, and does its work when the time has come.
#[test]
fn another_project_of_the_user_waits_too() {
    let plan = |name: &str, body: &str| {
        format!(
            "onward: 1\nname: {name}\nlimits: {{ api: {{ scope: user }} }}\nphases:\n  \
             {name}: {{ limits: [api], run: \"step {name} '{body}'\" }}\n"
        )
    };
    let one = project();
    one.plan(&plan("one", "echo retry-after: 4; exit 75"));
    one.command(["run", "--wait-limit", "0"]).expect(75);
    let mut two = project();
    share_the_home(&mut two, &one);
    two.plan(&plan("two", "true"));
    let first = two.start(["run"]);
    wait_until("the line", || first.err().contains("waiting for the limit api").then_some(()));
    first.kill();
    assert_eq!(two.count("begin", "two"), 0);
    let second = two.start(["run"]);
    wait_until("the line", || second.err().contains("waiting for the limit api").then_some(()));
    assert_eq!(two.count("begin", "two"), 0);
    second.wait_within(Duration::from_secs(10)).expect(0);
    two.ran_once(["two"]);
    let hits = two.command(["log", "--events", "--json"]).json();
    let hits = hits["events"].as_array().expect("events").iter().filter(|event| event["type"] == "limit_hit");
    let elsewhere: Vec<_> = hits.map(|hit| hit["phase"].is_null()).collect();
    assert_eq!(elsewhere, [true], "what the other has met is on record, once");
}

fn share_the_home(project: &mut TestProject, other: &TestProject) {
    project.set_env("HOME", other.home());
    project.set_env("XDG_STATE_HOME", other.home().join(".local/state"));
}
