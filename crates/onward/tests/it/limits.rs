//! Waiting, pausing, giving up.

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
