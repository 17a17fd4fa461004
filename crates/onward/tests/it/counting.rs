//! Phases as their author counts them: a matrix is one phase with so many values, everywhere alike.

use onward_testkit::{TestProject, wait_until};

use crate::project;

/// Five phases; the second one has three values, of which the last fails.
const FIVE: &str = "
    onward: 1
    name: five
    phases:
      prepare: { run: step prepare }
      fetch:
        needs: prepare
        matrix: { day: [mon, tue, wed] }
        env: { DAY: \"${{ matrix.day }}\" }
        run: step fetch-$DAY \"hold $DAY; test $DAY != wed\"
      merge: { needs: fetch, run: step merge }
      gate: { needs: merge, approval: Ship it? }
      ship: { needs: gate, run: step ship }
";

/// Two values are at work and one is done. The run has five phases in every place where people read, and the programs' counts are as
/// they were.
#[test]
fn matrix_is_one_phase_with_values() {
    let project = project();
    project.plan(FIVE);
    project.open("mon");
    let driver = project.start(["run"]);
    project.wait_ledger("end", "fetch-mon", 1);
    project.wait_ledger("begin", "fetch-wed", 1);
    let status = || project.command(["status"]).expect(0).out;
    wait_until("the first value", || status().contains("fetch  1/3 values").then_some(()));
    let told = status();
    assert!(told.contains("1 of 5 phases done"), "{told}");
    assert!(told.contains("  → fetch  1/3 values\n    ✓ fetch[mon]  done"), "{told}");
    assert!(project.command(["list"]).expect(0).out.contains(" 1/5 "));
    assert!(driver.err().contains("phases: 5\n"), "{}", driver.err());
    project.open("tue");
    project.open("wed");
    let ended = driver.wait_code(1);
    assert!(ended.err.contains("1 of 5 phases done"), "{}", ended.err);
    let told = status();
    assert!(told.contains("✗ fetch  failed, 2/3 values done: its part fetch[wed] failed"), "{told}");
    let bare = project.command::<&str>([]).expect(0).out;
    assert!(bare.contains("1 of 5 phases done") && bare.contains("its part fetch[wed] failed"), "{bare}");
    let item = &project.command(["list", "--json"]).json()["runs"][0];
    assert_eq!((&item["phases_total"], &item["phases_completed"]), (&8.into(), &3.into()));
    let drawn = project.command(["graph", "latest"]).expect(0).out;
    assert!(drawn.contains("fetch[wed]") && !drawn.contains('@'), "{drawn}");
    let summary = project.command(["summary"]).expect(0).out;
    assert!(summary.contains("1 of 5 phases done") && summary.contains("✗ fetch[wed]"), "{summary}");
    let dry = project.command(["run", "--dry-run"]).expect(0);
    assert!(dry.out.contains("fetch[wed]"), "{}", dry.out);
}

/// A matrix of thirty values of which one fails: those that are done are counted, and the one that is not has its line.
#[test]
fn many_values_are_counted_and_not_listed() {
    let project = project();
    let values: Vec<String> = (0..30).map(|value| format!("v{value}")).collect();
    project.plan(&format!(
        "
        onward: 1
        name: thirty
        max-parallel: 30
        phases:
          load:
            matrix: {{ part: [{}] }}
            env: {{ PART: \"${{{{ matrix.part }}}}\" }}
            run: test $PART != v7
    ",
        values.join(", ")
    ));
    project.command(["run"]).expect(1);
    let told = project.command(["status"]).expect(0).out;
    assert!(told.contains("failed, 29/30 values done") && told.contains("✗ load[v7]"), "{told}");
    assert!(!told.contains("load[v8]"), "{told}");
}

fn three_runs() -> TestProject {
    let project = project();
    project.plan(
        "
        onward: 1
        name: demo
        phases:
          load: { matrix: { part: [a, b] }, run: step load }
          tell: { needs: load, run: step tell }
    ",
    );
    for _ in 0..2 {
        project.command(["run"]).expect(0);
    }
    project
}

/// `list --durations` and `show` tell how long each phase takes over the runs of its plan, all values of a matrix together, and
/// nothing about what was done less than three times.
#[test]
fn durations_over_all_runs() {
    let project = three_runs();
    let told = project.command(["list", "--durations"]).expect(0).out;
    assert!(told.contains("onward.yaml, all its runs; phases with at least three attempts\n  load takes "), "{told}");
    assert!(told.contains("(4 attempts)") && !told.contains("tell takes"), "{told}");
    project.command(["run"]).expect(0);
    let plans = &project.command(["list", "--durations", "--json"]).json()["durations"];
    assert_eq!(
        (plans[0]["plan"].as_str(), plans[0]["phases"].as_array().map(Vec::len)),
        (Some("onward.yaml"), Some(2))
    );
    assert!(project.command(["list", "--json"]).json().get("durations").is_none(), "only where it is asked for");
    let run = project.command(["list", "--json"]).json()["runs"][0]["run"].as_str().expect("a run").to_owned();
    let shown = project.command(["show", &run]).expect(0).out;
    assert_eq!(shown.matches("load takes ").count(), 1, "{shown}");
}
