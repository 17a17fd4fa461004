//! Requirements of a plan and its phases: looked at before anything starts, told with the author's words, and never a failure.

use std::time::Duration;

use onward_testkit::Signal;

use crate::project;

const PLAN: &str = "
onward: 1
name: demo
requires:
  - { run: test -e ../tool, message: Install the tool first. }
phases:
  a: { run: step a }
  b: { needs: a, requires: [{ run: 'step look; test -e ../login', message: Log in to the registry. }], run: step b }
  c: { needs: a, run: step c }
";

/// The tool is missing: the run is refused, and nothing at all is made. The login is missing: what does not need it is done, and the run
/// stops with 13 and can go on. Checkpoint and export say what is met.
#[test]
fn a_tool_and_a_login() {
    let project = project();
    project.plan(PLAN);
    project.command(["run"]).expect(13).err_names(["Install the tool first."]);
    assert!(!project.exists(".onward"), "something was made");
    let said = project.command(["run", "--json"]).expect(13).err_names(["Install the tool first."]);
    assert_eq!(said.exit()["code"], 13);
    std::fs::write(project.root().join("tool"), "").expect("a file");
    project.command(["run"]).expect(13).err_names(["Log in to the registry."]);
    let stopped = project.command(["run", "--json"]).expect(13);
    assert!(stopped.out.contains("Log in to the registry."), "{}", stopped.out);
    assert_eq!((stopped.exit()["code"].clone(), stopped.exit()["resumable"].clone()), (13.into(), true.into()));
    project.ran_once(["a", "c"]);
    assert_eq!(project.count("begin", "b"), 0);
    let status = project.command(["status", "--json"]).json();
    assert_eq!(status["resumable"], true);
    assert!(status["warnings"].to_string().contains("Log in to the registry."), "{status}");
    let shown = project.command(["show", "@", "--json"]).json();
    assert!(shown["recovery"]["prerequisites"].to_string().contains("Install the tool first."), "{shown}");
    project.command(["checkpoint"]).expect(0);
    let shown = project.command(["show", "@", "--json"]).json();
    assert_eq!(shown["recovery"]["prerequisites_met"], false, "{shown}");
    std::fs::write(project.root().join("login"), "").expect("a file");
    project.command(["run"]).expect(0);
    project.ran_once(["a", "b", "c"]);
}

/// Somebody wants to know beforehand. A plan that was never started is told and not executed; of a run that would go on its commands are
/// asked, as its other probes are.
#[test]
fn told_before_anything_starts() {
    let project = project();
    project.plan(PLAN);
    let told = project.command(["run", "--dry-run", "--json"]).expect(0).json()["notes"].to_string();
    assert!(told.contains("Install the tool first.") && told.contains("Log in to the registry."), "{told}");
    assert!(!project.exists(".onward") && project.count("begin", "look") == 0);
    std::fs::write(project.root().join("tool"), "").expect("a file");
    project.command(["run"]).expect(13);
    let looks = project.count("begin", "look");
    let told = project.command(["run", "--dry-run"]).expect(0);
    let told = format!("{}{}", told.out, told.err);
    assert!(
        told.contains("Install the tool first. (met)") && told.contains("Log in to the registry. (not met"),
        "{told}"
    );
    assert_eq!(project.count("begin", "look"), looks + 1);
    std::fs::remove_file(project.root().join("tool")).expect("it is there");
    project.command(["resume"]).expect(13).err_names(["Install the tool first."]);
}

/// A command hangs. Whoever presses Ctrl+C is not kept waiting, and nothing of it is left.
#[test]
fn a_requirement_that_hangs() {
    let of_plan = "onward: 1\nname: demo\nrequires: ['step look hold']\nphases: { a: { run: step a } }\n";
    let of_phase = "onward: 1\nname: demo\nphases: { a: { requires: 'step look hold', run: step a } }\n";
    for plan in [of_plan, of_phase] {
        let project = project();
        project.plan(plan);
        let driver = project.start(["run"]);
        project.wait_ledger("begin", "look", 1);
        driver.signal(Signal::SIGINT);
        let ran = driver.wait_within(Duration::from_secs(10));
        assert_eq!(ran.code, 130, "{}", ran.err);
        assert_eq!(project.count("begin", "a"), 0);
        project.wait_no_processes();
    }
}

/// A command that hangs, hears no signal and has a child in a session of its own, of the plan or of a phase: at a start, a resume and a
/// look at what a resume would do. Whoever asks for a stop is out within ten seconds, nothing was started, and nothing is left.
#[test]
fn a_stubborn_requirement_is_ended_with_all_that_it_started() {
    let look = "test -e ../tool && exit; test -e ../hangs || exit 1; trap '' INT TERM HUP; (setsid sh -c 'trap \"\" INT TERM; step child hold' &); step look hold; true";
    let of_plan =
        format!("requires: [{{ run: {look:?} }}]\nphases: {{ a: {{ run: step a }}, ok: {{ approval: ok? }} }}\n");
    let of_phase =
        format!("phases: {{ a: {{ requires: [{{ run: {look:?} }}], run: step a }}, ok: {{ approval: ok? }} }}\n");
    for (at, plan) in [of_plan, of_phase].iter().enumerate() {
        for words in [&["run"][..], &["resume"], &["run", "--dry-run"]] {
            for (signal, code) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143)] {
                let of_plan = at == 0;
                let is_first = words == ["run"];
                if words.contains(&"--dry-run") && of_plan && is_first {
                    continue;
                }
                let project = project();
                project.plan(&format!("onward: 1\nname: demo\n{plan}"));
                let tool = project.root().join("tool");
                if !is_first {
                    if of_plan {
                        // What the plan requires is there at its start and gone at the next.
                        std::fs::write(&tool, "").expect("a file");
                    }
                    let begun = project.command(["run"]);
                    assert!([13, 15].contains(&begun.code), "{begun}");
                    let _ = std::fs::remove_file(&tool);
                }
                std::fs::write(project.root().join("hangs"), "").expect("a file");
                let begun = project.count("begin", "a");
                let driver = project.start(words);
                project.wait_ledger("begin", "look", 1);
                project.wait_ledger("begin", "child", 1);
                driver.signal(signal);
                let ran = driver.wait_within(Duration::from_secs(10));
                assert_eq!(ran.code, code, "{words:?} {signal}: {}", ran.err);
                assert_eq!(project.count("begin", "a"), begun, "{words:?} {signal}");
                project.wait_no_processes();
            }
        }
    }
}

/// The author takes the requirement out of the plan. The run goes on by the edited plan, without a question.
#[test]
fn a_requirement_that_was_taken_out() {
    let project = project();
    project.plan(PLAN);
    std::fs::write(project.root().join("tool"), "").expect("a file");
    project.command(["run"]).expect(13);
    std::fs::remove_file(project.root().join("tool")).expect("it is there");
    project.plan(
        "
onward: 1
name: demo
phases:
  a: { run: step a }
  b: { needs: a, run: step b }
  c: { needs: a, run: step c }
",
    );
    project.command(["run"]).expect(0);
    project.ran_once(["a", "b", "c"]);
    assert_eq!(project.command(["show", "@", "--json"]).json()["recovery"]["prerequisites"], serde_json::json!([]));
}
