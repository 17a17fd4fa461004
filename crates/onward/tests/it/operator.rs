//! People who steer a run, and find later that it did what they said.

use std::fs;

use onward_testkit::{TestProject, wait_until};
use serde_json::Value;

use crate::project;

fn status_of(project: &TestProject, phase: &str) -> String {
    let status = project.command(["status", "--json"]).json();
    let all = ["completed", "running", "remaining"].map(|part| status[part].as_array().cloned().unwrap_or_default());
    let found = all.into_iter().flatten().find(|record| record["id"] == phase);
    found.and_then(|record| record["status"].as_str().map(str::to_owned)).unwrap_or_default()
}

fn run_status(project: &TestProject) -> String {
    project.command(["status", "--json"]).json()["status"].as_str().expect("a status").to_owned()
}

/// The word of a dry run about a phase: whether it runs, and why.
fn foretold(project: &TestProject, phase: &str) -> (bool, String) {
    let told = project.command(["resume", "-n", "--json"]).expect(0).json();
    let row =
        told["phases"].as_array().expect("phases").iter().find(|row| row["id"] == phase).expect("it is told").clone();
    (row["will_run"].as_bool().expect("yes or no"), row["reason"].as_str().expect("a reason").to_owned())
}

fn write_used_plan(project: &TestProject) {
    project.plan_at(
        "plans/s.yaml",
        "
        onward: 1
        name: s
        phases:
          x: { run: step x }
          y: { needs: x, effects: external, run: \"step y; exit 1\" }
    ",
    );
    project.plan(
        "
        onward: 1
        name: demo
        phases:
          s: { uses: ./plans/s.yaml }
          z: { needs: s, run: step z }
    ",
    );
}

/// A phase that uses another plan has failed. A person leaves it out while nobody drives the run: the next driver does not try its
/// parts again, and what comes after it runs. The dry run says the same before.
#[test]
fn a_skipped_whole_stays_skipped() {
    let project = project();
    write_used_plan(&project);
    project.command(["run"]).expect(1);
    project.command(["skip", "s"]).expect(0);
    assert_eq!((status_of(&project, "s"), status_of(&project, "s/y")), ("skipped".to_owned(), "skipped".to_owned()));
    assert!(!foretold(&project, "s/y").0);
    project.command(["resume"]).expect(0);
    assert_eq!(project.order("begin"), ["x", "y", "z"]);
    assert_eq!(run_status(&project), "completed");
}

/// The same of a matrix that is taken as done.
#[test]
fn an_adopted_matrix_stays_done() {
    let project = project();
    project.plan(
        "
        onward: 1
        name: demo
        phases:
          f: { matrix: { d: [1, 2] }, env: { D: '${{ matrix.d }}' }, run: 'step f$D; exit $((D - 1))' }
          z: { needs: f, run: step z }
    ",
    );
    project.command(["run"]).expect(1);
    project.command(["adopt", "f"]).expect(0);
    project.command(["resume"]).expect(0);
    assert_eq!(status_of(&project, "f"), "completed");
    assert_eq!(["f1", "f2", "z"].map(|phase| project.count("begin", phase)), [1, 1, 1]);
}

/// Two runs of one plan with other inputs are unfinished. The one with the inputs that are given is gone on with, and none where
/// no run has them.
#[test]
fn a_run_is_resumed_by_its_inputs() {
    let project = project();
    project.plan(
        "
        onward: 1
        name: demo
        inputs: { d: { type: string, required: true } }
        phases:
          a: { env: { D: \"${{ inputs.d }}\" }, run: 'step \"$D\"; exit 1' }
    ",
    );
    project.command(["run", "--input", "d=monday"]).expect(1);
    project.command(["run", "--input", "d=tuesday"]).expect(1);
    let newest = project.command(["status", "--json"]).json()["run"].as_str().expect("a run").to_owned();
    project.command(["resume", "--input", "d=monday"]).expect(1);
    assert_eq!(project.order("begin"), ["monday", "tuesday", "monday"]);
    project.command(["run", "--resume", "--input", "d=monday"]).expect(1);
    for words in [&["resume", "--input", "d=sunday"][..], &["resume", "--input", "bogus=1"]] {
        project.command(words).expect(10);
    }
    let other = project.command(["resume", &newest, "--input", "d=monday"]).expect(2);
    assert!(other.err.contains("d=tuesday"), "{other}");
    assert_eq!(project.order("begin"), ["monday", "tuesday", "monday", "monday"]);
}

/// A phase needs another to be completed, and that one was skipped. The end of the run names it and says why; `why`, the dry run and
/// the list agree, and the ways out that are told lead out.
#[test]
fn a_need_that_was_skipped_is_named() {
    let project = project();
    project.plan(
        "
        onward: 1
        name: demo
        inputs: { go: { type: boolean, default: false } }
        phases:
          i: { if: inputs.go, run: step i }
          k: { needs: [{ phase: i, state: completed }], run: step k }
          l: { needs: k, run: step l }
    ",
    );
    let because = "it needs i to be completed, and i was skipped";
    for words in ["run", "resume"] {
        let ended = project.command([words]).expect(1);
        assert!(ended.err.contains("✗ k") && ended.err.contains(because), "{words}: {ended}");
    }
    assert!(project.command(["why", "k"]).expect(0).out.contains(because));
    let (runs, reason) = foretold(&project, "k");
    assert!(!runs && reason.contains(because), "{reason}");
    let (runs, reason) = foretold(&project, "l");
    assert!(!runs && reason.contains("it comes after k"), "{reason}");
    let listed = project.command(["list", "--json"]).json();
    assert!(listed["runs"][0]["error"].as_str().is_some_and(|error| error.contains(because)), "{listed}");
    assert!(project.command(["status"]).expect(0).out.contains(because));
    project.command(["resume", "--adopt", "i"]).expect(0);
    assert_eq!(project.order("begin"), ["k", "l"]);
}

/// The driver is killed, its phase ends, and the record of its end is spoilt. The doctor and the next start name the record and the
/// damage; what is harmless is done again, and what has effects outside is asked about for that reason.
#[test]
fn a_damaged_end_is_named() {
    for effects in ["files", "external"] {
        let project = project();
        let plan = format!("onward: 1\nname: demo\nphases:\n  a: {{ effects: {effects}, run: step a hold }}\n");
        project.plan(&plan);
        let driver = project.start(["run"]);
        project.wait_ledger("begin", "a", 1);
        driver.kill();
        project.open("a");
        let exit = wait_until("the record of the end", || exit_record(&project));
        let mut bytes = fs::read(&exit).expect("it is there");
        bytes[40] ^= 1;
        fs::write(&exit, bytes).expect("it is ours");
        let found = project.command(["doctor", "--json"]).expect(12).json();
        let codes: Vec<&Value> =
            found["findings"].as_array().expect("findings").iter().map(|one| &one["code"]).collect();
        assert!(codes.iter().any(|code| *code == "attempt-record"), "{found}");
        let resumed = project.command(["resume"]).expect(if effects == "files" { 0 } else { 14 });
        assert!(resumed.err.contains("the record EXIT is damaged") && resumed.err.contains("a/1/EXIT"), "{resumed}");
        assert!(!resumed.err.contains("left no record"), "{resumed}");
        if effects == "external" {
            let asked = project.command(["resume"]).expect(14);
            assert!(asked.err.contains("the record EXIT is damaged"), "{asked}");
        }
    }
}

fn exit_record(project: &TestProject) -> Option<std::path::PathBuf> {
    let runs = fs::read_dir(project.path(".onward/attempts")).ok()?;
    runs.filter_map(Result::ok).map(|run| run.path().join("a/1/EXIT")).find(|path| path.exists())
}

/// The driver's terminal asks for an approval, and it is given in another place. The answer is heard by that driver, the prompt is
/// taken back with a line that says who answered, and what is ready starts there.
#[test]
fn an_approval_from_another_place() {
    let project = project();
    project.plan(
        "
        onward: 1
        name: demo
        phases:
          g: { approval: Go? }
          h: { approval: Really? }
          b: { needs: g, run: step b }
    ",
    );
    let mut terminal = project.terminal(["run"]);
    terminal.expect("[later]: ");
    wait_until("somebody to drive the run", || {
        let status = project.command(["status", "--json"]).json();
        status["driver"].is_object().then_some(())
    });
    project.command(["approve", "g"]).expect(0);
    terminal.expect("g was answered by");
    terminal.expect("in another place: approve");
    terminal.expect("h asks: Really?");
    terminal.expect("[later]: ");
    project.ran_once(["b"]);
    terminal.send("a\n");
    terminal.wait_code(0);
}

/// The run is cancelled while its driver's terminal asks: the prompt is taken back, and nothing goes on.
#[test]
fn cancelled_at_the_prompt() {
    let project = project();
    project.plan("onward: 1\nname: demo\nphases:\n  g: { approval: Go? }\n  b: { needs: g, run: step b }\n");
    let mut terminal = project.terminal(["run"]);
    terminal.expect("[later]: ");
    project.command(["cancel"]).expect(0);
    terminal.wait_code(1);
    assert_eq!(project.count("begin", "b"), 0);
}

/// The driver was killed, and its phase failed after that. The dry run and the status say so before a start takes it.
#[test]
fn a_recorded_failure_is_foretold() {
    let project = project();
    project.plan(
        "
        onward: 1
        name: demo
        phases:
          a: { run: \"step a hold; exit 3\" }
          b: { needs: a, run: step b }
    ",
    );
    let driver = project.start(["run"]);
    project.wait_ledger("begin", "a", 1);
    driver.kill();
    project.open("a");
    wait_until("the record of the end", || exit_record(&project));
    let (runs, reason) = foretold(&project, "b");
    assert!(!runs && reason.contains("it comes after a, which has failed"), "{reason}");
    let (runs, reason) = foretold(&project, "a");
    assert!(!runs && reason.contains("failed (exited with code 3)"), "{reason}");
    let status = project.command(["status"]).expect(0);
    assert!(status.out.contains("exit code 3"), "{status}");
    project.command(["resume"]).expect(1);
    assert_eq!(project.order("begin"), ["a"]);
}

/// A run that had failed is rewound, and the rewind is taken back: it has failed again, in the list, too.
#[test]
fn an_undo_brings_the_failure_back() {
    let project = project();
    project.plan("onward: 1\nname: demo\nphases:\n  a: { run: step a }\n  b: { needs: a, run: \"step b; exit 1\" }\n");
    project.git_init();
    project.command(["run"]).expect(1);
    let log = project.command(["log", "--json"]).json();
    let log = log["checkpoints"].as_array().expect("checkpoints").clone();
    let first =
        log.iter().find(|row| row["phase"] == "a").expect("one after a")["id"].as_str().expect("an id").to_owned();
    project.command(["rewind", &first, "--yes"]).expect(0);
    assert_eq!(run_status(&project), "interrupted");
    project.command(["undo", "--yes"]).expect(0);
    assert_eq!(run_status(&project), "failed");
    assert_eq!(project.command(["list", "--json"]).json()["runs"][0]["status"], "failed");
    project.command(["resume"]).expect(1);
    assert_eq!(project.order("begin"), ["a", "b", "b"]);
}

/// A run is cancelled while its last phase, which ignores signals, ends well. It is archived all the same, and its driver says so.
#[test]
fn cancelled_although_the_last_phase_is_done() {
    let project = project();
    project.plan("onward: 1\nname: demo\nphases:\n  a: { run: \"trap '' INT TERM; step a hold\" }\n");
    let driver = project.start(["run"]);
    project.wait_ledger("begin", "a", 1);
    project.command(["cancel"]).expect(0);
    project.open("a");
    driver.wait_code(1);
    let listed = project.command(["list", "--all", "--json"]).json();
    assert_eq!(listed["runs"][0]["status"], "archived", "{listed}");
}
