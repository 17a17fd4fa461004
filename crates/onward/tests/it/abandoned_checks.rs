//! Commands that check whether a phase is done, when whoever started them is killed.

use onward_testkit::TestProject;

use crate::project;

const PLAN: &str = "
onward: 1
name: demo
phases:
  a: { run: step a, verify: [\"setsid -w step check hold\"], done-when: [step probe hold] }
  b: { needs: a, run: step b }
";

/// A run that waits for a report, whose check holds on until it is let go.
fn waiting_for_a_report() -> TestProject {
    let project = project();
    project.plan(
        "
        onward: 1
        name: demo
        phases:
          ext: { external: { instructions: do it }, verify: [step check hold] }
    ",
    );
    project.command(["run"]).expect(15);
    project
}

/// The driver alone is killed while a check of its runs, in a session of its own. The next driver ends that check before it
/// checks again: the two are never there at the same time. The same a second time with the probe.
#[test]
fn a_check_does_not_outlive_its_driver() {
    let project = project();
    project.plan(PLAN);
    let first = project.start(["run"]);
    let begun = project.wait_ledger("begin", "check", 1);
    first.kill();
    assert!(onward_testkit::is_alive(begun.pid), "the check lives on");
    let second = project.start(["run"]);
    project.wait_ledger("begin", "check", 2);
    assert!(!onward_testkit::is_alive(begun.pid), "two checks at the same time");
    project.open("check");
    let begun = project.wait_ledger("begin", "probe", 1);
    second.kill();
    let third = project.start(["run"]);
    project.wait_ledger("begin", "probe", 2);
    assert!(!onward_testkit::is_alive(begun.pid), "two probes at the same time");
    project.open("probe");
    third.wait_code(0);
    project.ran_once(["a", "b"]);
    let left = std::fs::read_dir(project.path(".onward/run/looks")).expect("it is there").count();
    assert_eq!(left, 0, "what is left of the looks");
}

/// The driver is killed while a check runs, and a person says that the phase is to be done again. The check is ended before
/// the phase runs anew.
#[test]
fn a_check_does_not_run_beside_the_next_attempt() {
    let project = project();
    project.plan(PLAN);
    let first = project.start(["run"]);
    let begun = project.wait_ledger("begin", "check", 1);
    first.kill();
    let second = project.start(["run", "--resume", "--retry", "a"]);
    project.wait_ledger("begin", "a", 2);
    assert!(!onward_testkit::is_alive(begun.pid), "the check of the first attempt beside the second attempt");
    project.open("check");
    project.open("probe");
    second.wait_code(0);
}

/// Two people report the same phase as done at once, and its check takes a while. The second check waits for the first, and
/// neither is ended by the other.
#[test]
fn two_reports_check_one_after_the_other() {
    let project = waiting_for_a_report();
    let one = project.start(["report", "done", "ext"]);
    project.wait_ledger("begin", "check", 1);
    let other = project.start(["report", "done", "ext"]);
    project.open("check");
    one.wait_code(0);
    other.wait_code(0);
    assert_eq!(project.order("overlap"), Vec::<String>::new());
    assert_eq!(project.command(["status", "--json"]).json()["status"], "completed");
}

/// A check fails and says why. `logs` shows what the phase printed and what its check did, apart from each other.
#[test]
fn logs_show_what_the_checks_said() {
    let project = project();
    project.plan(
        "
        onward: 1
        name: demo
        phases:
          a: { run: step a 'echo printed', verify: [\"true\", \"echo two tests failed; exit 3\"] }
    ",
    );
    project.command(["run"]).expect(1);
    let logs = project.command(["logs", "latest", "a"]).expect(0).out;
    assert_eq!(
        logs,
        "== a attempt 1 ==\nprinted\n== a attempt 1, its checks ==\n$ true\n$ echo two tests failed; exit 3\ntwo tests failed\n"
    );
    let json = project.command(["logs", "latest", "--json"]).json();
    assert!(json["logs"][0]["checks"].as_str().is_some_and(|said| said.contains("two tests failed")), "{json}");
}

/// The driver alone is killed while the command that makes another plan is at work. The next driver ends that command before
/// it starts another.
#[test]
fn the_maker_of_a_plan_does_not_outlive_its_driver() {
    let project = project();
    project.plan(
        "
        onward: 1
        name: demo
        replan: { approval: false, run: step maker 'hold; cat next.yaml' }
        phases:
          a: { run: step a 'exit 79' }
    ",
    );
    project.write("next.yaml", "onward: 1\nname: demo\nphases:\n  b: { run: step b }\n");
    let first = project.start(["run"]);
    let begun = project.wait_ledger("begin", "maker", 1);
    first.kill();
    let second = project.start(["run", "--resume"]);
    project.wait_ledger("begin", "maker", 2);
    assert!(!onward_testkit::is_alive(begun.pid), "two makers at the same time");
    project.open("maker");
    second.wait_code(0);
    project.ran_once(["b"]);
}

/// A check does not come to its end, and what it has started lives in a session of its own. The time limit of its phase holds for
/// both: the phase has failed, and nothing is left.
#[test]
fn a_check_has_the_time_of_its_phase() {
    let project = project();
    project.plan(
        "
        onward: 1
        name: demo
        phases:
          a: { run: 'true', timeout: 2s, verify: [setsid step child hold & step check hold] }
    ",
    );
    project.command(["run"]).expect(1).err_names(["step check hold", "2 s"]);
    project.wait_no_processes();
}

/// A check fails, and a probe sees nothing. What stands behind them is not asked any more.
#[test]
fn the_first_no_is_enough() {
    let project = project();
    project.plan(
        "
        onward: 1
        name: demo
        on-failure: continue
        phases:
          a: { run: step a, verify: [step one, step two 'exit 3', step three] }
          b: { run: step b, done-when: [step near, step far 'exit 1', step beyond] }
    ",
    );
    project.command(["run"]).expect(1);
    project.ran_once(["a", "b", "one", "near"]);
    assert_eq!((project.count("begin", "three"), project.count("begin", "beyond")), (0, 0));
}

/// Somebody reports a phase whose turn has not come, and one that is done twice. Nothing is started to look at the first, and the
/// second is looked at once. What is named and is not there is no proof.
#[test]
fn only_what_counts_is_looked_at() {
    let project = project();
    project.plan(
        "
        onward: 1
        name: demo
        phases:
          ext: { external: { instructions: do it }, verify: [step check] }
          later: { needs: ext, external: { instructions: do it }, verify: [step early] }
    ",
    );
    project.command(["run"]).expect(15);
    project.command(["report", "done", "later"]).expect(1);
    project.command(["report", "done", "ext", "--artifact", "nosuch.md"]).expect(1).err_names(["nosuch.md"]);
    assert_eq!(project.count("begin", "early"), 0);
    let before = project.count("begin", "check");
    for _ in 0..2 {
        project.command(["report", "done", "ext"]).expect(0);
    }
    assert_eq!(project.count("begin", "check"), before + 1);
}

/// Somebody reports while nobody drives, and a driver begins while the check runs. The check belongs to somebody who is there, and
/// is left alone.
#[test]
fn a_driver_leaves_the_check_of_a_report_alone() {
    let project = waiting_for_a_report();
    let report = project.start(["report", "done", "ext"]);
    let begun = project.wait_ledger("begin", "check", 1);
    project.command(["resume"]).expect(15);
    assert!(onward_testkit::is_alive(begun.pid), "the check was ended");
    project.open("check");
    report.wait_code(0);
    project.ran_once(["check"]);
}

/// A check prints a secret, and others say it in what they report. It is in no file that is kept.
#[test]
fn what_others_say_is_kept_without_secrets() {
    const TOKEN: &str = "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8";
    let project = project();
    let plan = "
        onward: 1
        name: demo
        on-failure: continue
        phases:
          a: { run: 'true', verify: [cat token; exit 1] }
          ext: { external: { instructions: do it } }
    ";
    project.plan(plan);
    project.plan_at("next.yaml", &plan.replace("do it", "do more"));
    project.write("token", TOKEN);
    project.command(["run"]).expect(15);
    project.command(["report", "start", "ext"]).expect(0);
    project.command(["report", "progress", "ext", "--note", TOKEN]).expect(0);
    project.command(["report", "done", "ext", "--remaining", TOKEN]).expect(1);
    project.command(["report", "replan", "ext", "--reason", TOKEN, "--plan", "next.yaml"]).expect(15);
    project.command(["report", "fail", "ext", "--reason", TOKEN]).expect(0);
    let all = project.tree();
    let with_it = all.keys().filter(|path| {
        let bytes = std::fs::read(project.root().join(path)).unwrap_or_default();
        bytes.windows(TOKEN.len()).any(|part| part == TOKEN.as_bytes())
    });
    assert_eq!(with_it.collect::<Vec<_>>(), ["project/token"]);
}

/// RUN and PLAN are left out wherever the contract has them in brackets.
#[test]
fn the_newest_run_and_the_usual_plan_are_meant_where_none_is_named() {
    let project = project();
    project.plan(
        "onward: 1\nphases:\n  a: { run: 'echo hello of a; false' }\n  b: { needs: a, run: step b }\n  c: { needs: a, run: step c }\n",
    );
    project.command(["check"]).expect(0);
    project.command(["check", "--json"]).expect(0);
    project.command(["run"]).expect(1);
    let run = project.command(["status", "--json"]).json()["run"].as_str().expect("a run").to_owned();
    assert_eq!(project.command(["why", "a", "--json"]).expect(0).json()["phase"], "a");
    assert_eq!(project.command(["why", &run, "a", "--json"]).expect(0).json()["phase"], "a");
    assert!(project.command(["logs", "a"]).expect(0).out.contains("hello of a"));
    assert!(project.command(["logs", &run]).expect(0).out.contains("hello of a"));
    assert!(project.command(["logs", &run, "a"]).expect(0).out.contains("hello of a"));
    project.command(["logs", "nosuch"]).expect(10).err_names(["nosuch"]);
    project.command(["retry", "a"]).expect(0);
    project.command(["adopt", "a"]).expect(0);
    project.command(["skip", "c"]).expect(0);
    project.command(["skip", "nosuch"]).expect(10).err_names(["nosuch"]);
    project.command(["approve"]).expect(2);
    project.command(["approve", "b"]).expect(2);
    project.command(["pause"]);
    project.command(["cancel"]).expect(0);
    assert_eq!(project.command(["list", "--all", "--json"]).json()["runs"][0]["status"], "archived");
    std::fs::remove_file(project.path("onward.yaml")).expect("it goes");
    project.command(["check"]).expect(2).err_names(["onward.yaml"]);
}
