//! Runs of one group (`concurrency`), of which one at most is at work.

use onward_testkit::{Signal, TestProject, wait_until};

use crate::project;

/// A run for each day; all of them are of one group.
fn plan(when_busy: &str) -> String {
    format!(
        "
        onward: 1
        name: load
        inputs: {{ day: {{ type: string, required: true }} }}
        concurrency: {{ group: load, when-busy: {when_busy} }}
        env: {{ DAY: \"${{{{ inputs.day }}}}\" }}
        phases:
          a: {{ run: 'step a$DAY \"hold $DAY\"' }}
    "
    )
}

fn two_days(when_busy: &str) -> TestProject {
    let project = project();
    project.plan(&plan(when_busy));
    project
}

fn run_of(project: &TestProject, day: &str) -> String {
    let list = project.command(["list", "--all", "--json", "--input", &format!("day={day}")]).json();
    list["runs"][0]["run"].as_str().expect("a run of that day").to_owned()
}

/// The load of Monday is at work when that of Tuesday starts. Tuesday's run is on record, says whom it waits for, starts nothing,
/// and goes on by itself when Monday's is done.
#[test]
fn second_run_of_a_group_waits_for_the_first() {
    let project = two_days("wait");
    let monday = project.start(["run", "--input", "day=mon"]);
    project.wait_ledger("begin", "amon", 1);
    let tuesday = project.start(["run", "--json", "--input", "day=tue"]);
    wait_until("the wait", || tuesday.out().contains("group_awaited").then_some(()));
    let (first, second) = (run_of(&project, "mon"), run_of(&project, "tue"));
    let status = project.command(["status", &second, "--json"]).json();
    assert_eq!(
        (&status["group"]["group"], &status["group"]["by"]),
        (&"load".into(), &first.as_str().into()),
        "{status}"
    );
    assert_eq!((&status["status"], &status["remaining"][0]["status"]), (&"running".into(), &"pending".into()));
    let words = format!("run {first}, which is at work in the group load");
    assert!(project.command(["status", &second]).expect(0).out.contains(&words));
    assert!(project.command(["why", &second, "a"]).expect(0).out.contains(&words));
    project.open("tue");
    project.open("mon");
    monday.wait_code(0);
    tuesday.wait_code(0);
    assert_eq!(project.order("begin"), ["amon", "atue"]);
    assert_eq!(project.order("end"), ["amon", "atue"]);
}

/// The driver of the first run is killed; its phase lives on. The second run waits for that phase, too, and for no dead driver.
#[test]
fn killed_driver_keeps_its_turn_as_long_as_its_phase() {
    let project = two_days("wait");
    let monday = project.start(["run", "--input", "day=mon"]);
    project.wait_ledger("begin", "amon", 1);
    monday.kill();
    let tuesday = project.start(["run", "--input", "day=tue"]);
    wait_until("the wait", || tuesday.err().contains("waiting for run").then_some(()));
    project.open("tue");
    assert_eq!(project.count("begin", "atue"), 0);
    project.open("mon");
    tuesday.wait_code(0);
    assert_eq!(project.order("end"), ["amon", "atue"]);
    project.command(["run", "--input", "day=mon"]).expect(0);
    project.ran_once(["amon", "atue"]);
}

/// Ctrl+C while a run waits: at once, 130, resumable. Killed while it waits, it is there all the same, and the next start of the
/// same work goes on with it.
#[test]
fn stopped_and_killed_while_it_waits() {
    let project = two_days("wait");
    let monday = project.start(["run", "--input", "day=mon"]);
    project.wait_ledger("begin", "amon", 1);
    let tuesday = project.start(["run", "--input", "day=tue"]);
    wait_until("the wait", || tuesday.err().contains("waiting for run").then_some(()));
    tuesday.signal(Signal::SIGINT);
    tuesday.wait_code(130);
    let again = project.start(["run", "--input", "day=tue"]);
    wait_until("the wait", || again.err().contains("waiting for run").then_some(()));
    again.kill();
    assert_eq!(project.count("begin", "atue"), 0);
    project.open("mon");
    project.open("tue");
    monday.wait_code(0);
    project.command(["run", "--input", "day=tue"]).expect(0);
    assert_eq!(project.command(["list", "--all", "--json"]).json()["runs"].as_array().map(Vec::len), Some(2));
    project.ran_once(["amon", "atue"]);
}

/// `when-busy: fail`: exit 11 with the run that is in the way, and nothing was made. Another group is not in the way.
#[test]
fn second_run_fails_where_the_plan_says_so() {
    let project = two_days("fail");
    let monday = project.start(["run", "--input", "day=mon"]);
    project.wait_ledger("begin", "amon", 1);
    let first = run_of(&project, "mon");
    let words = "the group load is busy";
    project.command(["run", "--input", "day=tue"]).expect(11).err_names([words, &first, "nothing was started"]);
    let told = project.command(["run", "--json", "--input", "day=tue"]).expect(11);
    assert_eq!(told.json_lines()[0]["error"]["code"], "group-busy");
    assert_eq!(project.command(["list", "--all", "--json"]).json()["runs"].as_array().map(Vec::len), Some(1));
    project.open("mon");
    monday.wait_code(0);
    project.open("tue");
    project.command(["run", "--input", "day=tue"]).expect(0);
}

/// `cancel-in-progress: true`: the run at work is cancelled as by `onward cancel`, and the new one takes its turn.
#[test]
fn second_run_takes_the_place_of_the_first() {
    let project = project();
    project.plan(&plan("wait").replace("when-busy: wait", "cancel-in-progress: true"));
    let monday = project.start(["run", "--input", "day=mon"]);
    project.wait_ledger("begin", "amon", 1);
    let first = run_of(&project, "mon");
    project.open("tue");
    project.command(["run", "--input", "day=tue"]).expect(0);
    monday.wait_code(1);
    assert_eq!(project.command(["status", &first, "--json"]).json()["status"], "archived");
    assert_eq!(project.order("end"), ["atue"]);
}

/// A detached run that has to wait returns at once with its id, and is there when its turn has come.
#[test]
fn detached_run_waits_in_the_background() {
    let project = two_days("wait");
    let monday = project.start(["run", "--input", "day=mon"]);
    project.wait_ledger("begin", "amon", 1);
    let ran = project.command(["run", "--detach", "--input", "day=tue"]).expect(0);
    let second = ran.out.trim().to_owned();
    wait_until("the wait", || {
        let status = project.command(["status", &second, "--json"]).json();
        (status["group"]["group"] == "load").then_some(())
    });
    project.open("tue");
    project.open("mon");
    monday.wait_code(0);
    project.wait_no_processes();
    assert_eq!(project.command(["status", &second, "--json"]).json()["status"], "completed");
    assert_eq!(project.order("end"), ["amon", "atue"]);
}

/// A phase starts a run of the group that it is at work in. It would wait for itself; it is refused instead.
#[test]
fn run_inside_a_phase_does_not_wait_for_that_one() {
    let project = project();
    project.write("inner.yaml", "onward: 1\nname: inner\nconcurrency: load\nphases: { b: { run: step b } }\n");
    project.plan(
        "
        onward: 1
        name: outer
        concurrency: load
        phases:
          a: { run: 'onward run inner.yaml' }
    ",
    );
    project.command(["run"]).expect(1).err_names(["the group load is busy for good"]);
    assert_eq!(project.count("begin", "b"), 0);
}
