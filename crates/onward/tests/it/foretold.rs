//! A dry run, `why` and the brief say what the next start does.

use std::collections::BTreeSet;
use std::fs;

use onward_testkit::TestProject;
use serde_json::Value;

use super::project;

/// The phases that a resume would run, by its dry run; `why` says the same of each.
fn foretold(project: &TestProject) -> BTreeSet<String> {
    let told = project.command(["resume", "--dry-run", "--json"]).expect(0).json();
    let phases = told["phases"].as_array().expect("phases").clone();
    let plain = project.command(["run", "--dry-run", "--json"]).expect(0).json();
    assert_eq!(plain["phases"], told["phases"], "its `will_run` is what a resume would do");
    let id = |phase: &Value| phase["id"].as_str().expect("an id").to_owned();
    for phase in &phases {
        let why = project.command(["why", &id(phase), "--json"]).expect(0).json();
        assert_eq!(why["will_run"], phase["will_run"], "{why:#} {phase:#}");
    }
    phases.iter().filter(|phase| phase["will_run"] == true).map(id).collect()
}

/// The phases that a resume really begins.
fn resumed(project: &TestProject, code: i32) -> BTreeSet<String> {
    let before = project.order("begin").len();
    project.command(["resume"]).expect(code);
    project.order("begin")[before..].iter().cloned().collect()
}

fn set(ids: &[&str]) -> BTreeSet<String> {
    ids.iter().map(|id| (*id).to_owned()).collect()
}

/// The branch of the run was deleted while it was down. A resume is refused, so no phase is said to run, with the reason; nothing is
/// written by that. With the branch back all is as it was.
#[test]
fn a_refusal_is_foretold() {
    let project = project();
    project.plan(
        "
onward: 1
name: demo
phases:
  a: { run: step a 'git checkout -q -b work' }
  b: { needs: a, run: step b 'test -e ../ready' }
  c: { needs: b, run: step c }
",
    );
    project.git_init();
    project.command(["run"]).expect(1);
    fs::write(project.root().join("ready"), "").expect("a file");
    project.git(["checkout", "-q", "main"]);
    project.git(["branch", "-q", "-D", "work"]);
    assert_eq!(foretold(&project), set(&[]));
    for words in [&["resume", "--dry-run"][..], &["why", "c"]] {
        let told = project.command(words).expect(0).out;
        assert!(told.contains("refused") && told.contains("the branch work"), "{told}");
    }
    assert_eq!(resumed(&project, 13), set(&[]));
    project.git(["checkout", "-q", "-b", "work"]);
    assert_eq!(foretold(&project), set(&["b", "c"]));
    assert_eq!(resumed(&project, 0), set(&["b", "c"]));
}

/// A phase failed, and the end of the run was done. A resume tries it again and comes to another end, which is done once more.
#[test]
fn another_end_is_foretold() {
    let project = project();
    project.plan(
        "
onward: 1
name: demo
phases:
  a: { run: step a 'test -e ../ready' }
  b: { needs: a, run: step b }
finally:
  clean: { run: step clean }
  cry: { if: failure(), run: step cry }
",
    );
    project.command(["run"]).expect(1);
    assert_eq!(project.order("begin").iter().cloned().collect::<BTreeSet<_>>(), set(&["a", "clean", "cry"]));
    fs::write(project.root().join("ready"), "").expect("a file");
    assert_eq!(foretold(&project), set(&["a", "b", "clean"]));
    assert_eq!(resumed(&project, 0), set(&["a", "b", "clean"]));
}

/// Everything died three times in one part of a matrix, and the part is parked. Nothing that comes after the whole is said to run.
#[test]
fn nothing_behind_a_parked_part_is_foretold() {
    let project = project();
    project.plan(
        "
onward: 1
name: demo
on-failure: continue
phases:
  m: { matrix: { n: [1] }, run: step m hold }
  after: { needs: m, run: step after }
  later: { needs: after, run: step later }
",
    );
    for times in 1..=3 {
        let driver = project.start(["run", "--resume"]);
        project.wait_ledger("begin", "m", times);
        project.kill_everything();
        driver.wait_code(137);
    }
    assert_eq!(foretold(&project), set(&[]));
    assert_eq!(resumed(&project, 1), set(&[]));
    assert_eq!(foretold(&project), set(&[]));
    let told = project.command(["why", "later"]).expect(0).out;
    assert!(told.contains("which is parked"), "{told}");
}

/// Everything died in a phase with an effect outside. `why` and the brief say that nobody knows of it and how that is answered, and do
/// not call it work that is still to be done; nothing is on record yet, and looking records nothing.
#[test]
fn an_unknown_outcome_is_told_as_that() {
    let project = project();
    project.plan(
        "
onward: 1
name: demo
phases:
  pay: { effects: external, run: step pay hold }
  b: { needs: pay, run: step b }
",
    );
    let driver = project.start(["run"]);
    project.wait_ledger("begin", "pay", 1);
    project.kill_everything();
    driver.wait_code(137);
    let before = project.command(["log", "--events", "--json"]).expect(0).out;
    assert_eq!(foretold(&project), set(&[]));
    let why = project.command(["why", "pay"]).expect(0).out;
    let brief = project.command(["brief"]).expect(0).out;
    for told in [&why, &brief] {
        assert!(told.contains("nobody knows") && told.contains("--retry, --adopt or --skip pay"), "{told}");
        assert!(!told.contains("no result yet") && !told.contains("is at work"), "{told}");
    }
    assert_eq!(project.command(["log", "--events", "--json"]).expect(0).out, before);
    assert_eq!(resumed(&project, 14), set(&[]));
    project.open("b");
    project.command(["resume", "--adopt", "pay"]).expect(0);
    assert_eq!(project.order("begin"), ["pay", "b"]);
}

/// All from a phase on is done again, but one behind it is left out; the dry run says the same, and what cannot be said at once is
/// refused.
#[test]
fn from_a_phase_and_one_behind_it_left_out() {
    let project = project();
    project.plan(
        "
onward: 1
name: demo
phases:
  a: { run: step a }
  b: { needs: a, run: step b }
  c: { needs: b, run: step c }
  ok: { needs: c, approval: { message: Well? } }
",
    );
    project.command(["run"]).expect(15);
    project.command(["resume", "--from", "b", "--skip", "b"]).expect(2).err_names(["--from b does it again"]);
    let told = project.command(["resume", "--from", "a", "--skip", "b", "--dry-run", "--json"]).expect(0).json();
    let runs: Vec<bool> =
        told["phases"].as_array().expect("phases").iter().map(|phase| phase["will_run"] == true).collect();
    assert_eq!(runs[..3], [true, false, true], "{told:#}");
    project.command(["resume", "--from", "a", "--skip", "b"]).expect(15);
    assert_eq!((project.count("begin", "a"), project.count("begin", "b"), project.count("begin", "c")), (2, 1, 2));
}

/// An agent reports that its phase failed, and a person retries it. The phase is open again, and the run waits for it. Of a run that is
/// put away the retry is refused, and changes nothing.
#[test]
fn a_retry_of_what_was_reported_as_failed() {
    let project = project();
    project.plan("onward: 1\nname: demo\nphases:\n  a: { external: { instructions: Do it. } }\n");
    project.command(["run"]).expect(15);
    project.command(["report", "start", "a"]).expect(0);
    project.command(["report", "fail", "a", "--reason", "no"]).expect(0);
    let status = || project.command(["status", "--json"]).expect(0).json();
    assert_eq!(status()["status"], "failed");
    project.command(["retry", "a"]).expect(0);
    assert_eq!((&status()["status"], &status()["remaining"][0]["status"]), (&"waiting".into(), &"pending".into()));
    let run = status()["run"].as_str().expect("an id").to_owned();
    project.command(["archive", &run]).expect(0);
    let before = project.command(["log", &run, "--events", "--json"]).expect(0).out;
    project.command(["retry", &run, "a"]).expect(13).err_names([&run, "the run is archived"]);
    project.command(["resume", &run, "--retry", "a"]).expect(13).err_names(["archived"]);
    assert_eq!(project.command(["log", &run, "--events", "--json"]).expect(0).out, before);
}
