//! The plan is edited while a phase is at work without a driver, or has ended and nobody has recorded it. Its result is that of the
//! plan under which it was started; what the edit means is asked after that.

use onward_testkit::TestProject;

use crate::project;

const PLAN: &str = "
onward: 1
name: demo
phases:
  a: { run: step a }
  b: { needs: [a], effects: external, run: step b hold }
  c: { needs: [b], run: step c }
";

fn renamed() -> String {
    PLAN.replace("  b:", "  build:").replace("[b]", "[build]")
}

/// The driver is dead, and b is at work.
fn without_a_driver(plan: &str) -> TestProject {
    let project = project();
    project.plan(plan);
    let run = project.start(["run"]);
    project.wait_ledger("begin", "b", 1);
    run.kill();
    project
}

/// The driver is dead, and b came to its end since: its record says so, and the journal does not.
fn ended_unrecorded(plan: &str) -> TestProject {
    let project = without_a_driver(plan);
    project.open("b");
    project.wait_no_processes();
    project
}

fn outcomes(project: &TestProject) -> Vec<String> {
    let log = project.command(["log", "--events", "--json"]).json();
    let ends = log["events"].as_array().expect("a list").iter().filter(|event| event["type"] == "attempt_ended");
    ends.map(|event| event["outcome"].to_string()).collect()
}

/// b gets another name after it ended: it is asked whether it is the same, as of a phase that is done on record, and not done twice.
#[test]
fn an_outcome_is_taken_before_its_phase_is_renamed() {
    let project = ended_unrecorded(PLAN);
    project.plan(&renamed());
    project.command(["resume"]).expect(14).err_names(["is it the same", "--accept-stale"]);
    project.command(["resume", "--accept-stale"]).expect(0);
    assert_eq!((project.count("begin", "b"), project.count("end", "b"), project.count("end", "c")), (1, 1, 1));
    assert!(!outcomes(&project).iter().any(|outcome| outcome.contains("unknown")), "{:?}", outcomes(&project));
}

/// b is taken out of the plan after it ended, and put back: it is done.
#[test]
fn an_outcome_is_taken_before_its_phase_is_removed() {
    let project = ended_unrecorded(PLAN);
    project
        .plan("onward: 1\nname: demo\nphases:\n  a: { run: step a }\n  c: { needs: [a], run: step c 'test -e ok' }\n");
    project.command(["resume"]).expect(1);
    project.write("ok", "");
    project.plan(PLAN);
    project.command(["resume", "--accept-stale"]).expect(0);
    assert_eq!(project.count("begin", "b"), 1, "{:?}", project.ledger());
}

/// The value of a matrix is replaced after its child ended: the record says that it was done.
#[test]
fn an_outcome_is_taken_before_its_value_is_replaced() {
    let plan = "onward: 1\nname: demo\nphases:\n  b: { effects: external, matrix: { v: [one] }, run: step b hold }\n";
    let project = ended_unrecorded(plan);
    project.plan(&plan.replace("one", "two"));
    let _ = project.command(["resume", "--accept-stale"]);
    assert!(!outcomes(&project).iter().any(|outcome| outcome.contains("unknown")), "{:?}", outcomes(&project));
}

/// Everything was killed in an outward phase, and it was renamed: nobody knows whether its effect happened, and that is asked.
#[test]
fn a_doubt_goes_with_its_phase() {
    for (answer, times) in [("--retry", 2), ("--adopt", 1), ("--skip", 1)] {
        let project = without_a_driver(PLAN);
        project.kill_everything();
        project.plan(&renamed());
        for words in [&["resume"][..], &["run", "--resume"], &["resume", "--accept-stale"]] {
            project.command(words).expect(14).err_names(["--retry build", "--adopt build", "--skip build"]);
        }
        assert_eq!(project.count("begin", "b"), 1, "{:?}", project.ledger());
        project.open("b");
        project.command(["resume", answer, "build"]).expect(0);
        assert_eq!((project.count("begin", "b"), project.count("end", "c")), (times, 1), "{answer}");
    }
}

/// b was edited after it ended: what was done is not what the plan says now, and that is asked.
#[test]
fn an_edit_of_what_ended_is_stale() {
    let plan = PLAN.replace(" effects: external,", "");
    let project = ended_unrecorded(&plan);
    project.plan(&plan.replace("step b hold", "step b; true"));
    project.command(["run", "--resume"]).expect(14).err_names(["its definition in the plan was changed", "--retry b"]);
    project.command(["resume", "--retry", "b"]).expect(0);
    assert_eq!((project.count("begin", "b"), project.count("begin", "c")), (2, 1));
}

/// b is edited, or taken away, while it is at work: what becomes of it is asked, and each answer that is offered works.
#[test]
fn an_edit_of_what_is_at_work_is_asked_about() {
    let plan = PLAN.replace(" effects: external,", "");
    let edited = plan.replace("step b hold", "step b; true");
    let without = "onward: 1\nname: demo\nphases:\n  a: { run: step a }\n  c: { needs: [a], run: step c }\n";
    for (new, again) in [(edited.as_str(), 2), (without, 1)] {
        let project = without_a_driver(&plan);
        project.plan(new);
        for words in [&["run"][..], &["resume"]] {
            let asked = project.command(words).expect(14);
            asked.err_names(["phase b is still at work", "--orphan wait", "--orphan kill", "--plan-from run"]);
        }
        project.open("b");
        let waited = project.command(["resume", "--orphan", "wait"]);
        if again == 2 {
            waited.expect(14).err_names(["--retry b"]);
            project.command(["resume", "--retry", "b"]).expect(0);
        } else {
            waited.expect(0);
        }
        assert_eq!((project.count("begin", "b"), project.count("end", "c")), (again, 1), "{new}");
        let kept = without_a_driver(&plan);
        kept.plan(new);
        kept.open("b");
        kept.command(["resume", "--plan-from", "run"]).expect(0);
        kept.ran_once(["a", "b", "c"]);
    }
}

/// A fork in the same tree does not start its phases beside one of the run that it was branched off.
#[test]
fn a_fork_starts_nothing_beside_an_orphan_of_its_origin() {
    let project = without_a_driver(&PLAN.replace(" effects: external,", ""));
    let log = project.command(["log", "--json"]).json();
    let point = log["checkpoints"][0]["id"].as_str().expect("a checkpoint").to_owned();
    let fork = project.command(["fork", &point, "--json"]).expect(0).json();
    let fork = fork["run"].as_str().expect("a run").to_owned();
    project.command(["resume", &fork]).expect(11).err_names(["phase b", "still at work"]);
    assert_eq!(project.count("begin", "b"), 1, "{:?}", project.ledger());
    project.open("b");
    project.wait_no_processes();
    project.command(["resume", &fork]).expect(0);
}

/// Everything was killed in an outward phase: a dry run says that this is asked, and that nothing is started before.
#[test]
fn a_dry_run_knows_of_a_doubt() {
    let project = without_a_driver(PLAN);
    project.kill_everything();
    let told = project.command(["resume", "--dry-run", "--json"]);
    let told = format!("{}{}", told.out, told.err);
    assert!(told.contains("nobody knows whether its effect happened") && !told.contains("\"will_run\":true"), "{told}");
    project.open("b");
    project.command(["resume"]).expect(14);
    assert_eq!((project.count("begin", "b"), project.count("begin", "c")), (1, 0));
}

const SOME_FAIL: &str = "
onward: 1
name: demo
on-failure: continue
phases:
  b: { run: \"step b 'test -e fixed'\" }
  d: { run: step d }
  e: { run: step e hold }
";

/// One phase alone is wanted: what failed beside it has failed as before, and is asked about.
#[test]
fn one_phase_alone_leaves_the_failures_of_others() {
    let project = project();
    project.plan(&SOME_FAIL.replace(" hold", ""));
    project.command(["run"]).expect(1);
    project.command(["resume", "--only", "d"]).expect(0);
    project.command(["run"]).expect(14).err_names(["phase b failed"]);
    assert_eq!(project.count("begin", "b"), 1);
    project.command(["resume", "--only", "d", "--retry", "d"]).expect(0);
    assert_eq!((project.count("begin", "b"), project.count("begin", "d")), (1, 2));
}

/// A phase of `finally` that a person leaves out is not done.
#[test]
fn what_a_person_leaves_out_of_the_end_is_not_done() {
    let project = project();
    let plan = project.plan(
        "onward: 1\nname: demo\nphases:\n  a: { run: step a }\nfinally:\n  f: { run: step f }\n  g: { run: step g }\n",
    );
    project.command(["run", plan.to_str().expect("a path"), "--skip", "f"]).expect(0);
    assert_eq!((project.count("begin", "f"), project.count("begin", "g")), (0, 1));
}

/// A choice that cannot be is refused before anything is made, and a run that is there stays.
#[test]
fn a_choice_that_cannot_be_makes_nothing() {
    let project = project();
    project.write("u.yaml", "onward: 1\nname: u\nphases:\n  s1: { run: step s1 }\n");
    let plan = "onward: 1\nname: demo\nphases:\n  a: { run: step a }\n  b: { needs: [a], run: step b 'test -e ok' }\n  u: { needs: [b], uses: u.yaml }\nfinally:\n  f: { run: step f }\n";
    project.plan(plan);
    for only in ["b", "f", "u/s1"] {
        let refused = project.command(["run", "--only", only]);
        assert_ne!(refused.code, 0, "{only}");
        assert!(!project.exists(".onward"), "{only} made something");
    }
    project.command(["run"]).expect(1);
    let run = project.command(["status", "--json"]).json()["run"].clone();
    assert_ne!(project.command(["run", "--fresh", "--only", "b"]).code, 0);
    let status = project.command(["status", "--json"]).json();
    assert_eq!((&status["run"], &status["status"]), (&run, &serde_json::json!("failed")));
}

/// A part of a plan that is used is done again, alone.
#[test]
fn a_part_is_done_again_alone() {
    let project = project();
    project
        .write("u.yaml", "onward: 1\nname: u\nphases:\n  s1: { run: step s1 }\n  s2: { needs: [s1], run: step s2 }\n");
    project.plan("onward: 1\nname: demo\nphases:\n  a: { run: step a }\n  u: { needs: [a], uses: u.yaml }\n  z: { needs: [u], run: step z }\n");
    project.command(["run"]).expect(0);
    project.command(["run", "--from", "u/s1", "--only", "u/s1"]).expect(0);
    assert_eq!((project.count("begin", "s1"), project.count("begin", "s2")), (2, 1), "{:?}", project.ledger());
    project.command(["resume"]).expect(0);
    assert_eq!((project.count("begin", "s1"), project.count("begin", "s2"), project.count("begin", "z")), (2, 2, 2));
}
