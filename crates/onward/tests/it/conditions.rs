//! `if` sees the environment that the command sees.

use super::project;

const PLAN: &str = "onward: 1
name: demo
env: { PLACE: \"${{ env.TARGET }}\", WHERE: \"at-${{ env.PLACE }}\" }
phases:
  named: { if: \"env.TARGET == 'live'\", run: step named }
  made: { if: \"env.WHERE == 'at-live'\", run: \"step made 'test $WHERE = at-live'\" }
  own: { env: { SIZE: \"${{ env.WHERE }}-big\" }, if: \"env.SIZE == 'at-live-big'\", run: \"step own 'test $SIZE = at-live-big'\" }
  other: { if: \"env.TARGET != 'live'\", run: step other }
";

/// A variable of the process, one made of it, one made of that: the condition and the command agree.
#[test]
fn a_condition_sees_the_variables_of_the_command() {
    let mut project = project();
    project.plan(PLAN);
    project.set_env("TARGET", "live");
    project.command(["run"]).expect(0);
    let mut ran = project.order("end");
    ran.sort();
    assert_eq!(ran, ["made", "named", "own"]);
}

/// The value of the variable counts when a phase is decided about: another driver may have another one.
#[test]
fn the_variable_of_the_driver_that_decides_counts() {
    let mut project = project();
    project.plan(
        "onward: 1\nname: demo\nphases:\n  a: { run: \"step a 'test -e ../ok'\" }\n  b: { needs: a, if: \"env.TARGET == 'live'\", run: step b }\n",
    );
    project.set_env("TARGET", "test");
    project.command(["run"]).expect(1);
    project.write("../ok", "");
    project.set_env("TARGET", "live");
    let would = project.command(["resume", "--dry-run", "--json"]).expect(0).json();
    assert_eq!(would["phases"][1]["will_run"], true, "{would:#}");
    project.command(["resume"]).expect(0);
    assert_eq!(project.count("end", "b"), 1);
}

/// A secret is not on record, so nothing can be decided by it. That is said, and the phase is not silently left out.
#[test]
fn a_condition_about_a_secret_fails_and_says_so() {
    let mut project = project();
    project.plan("onward: 1\nname: demo\nphases:\n  a: { if: \"env.API_TOKEN == 'x'\", run: step a }\n");
    project.set_env("API_TOKEN", "x");
    let ran = project.command(["run"]).expect(1);
    assert!(ran.err.contains("API_TOKEN") && ran.err.contains("secret"), "{}", ran.err);
    assert_eq!(project.count("begin", "a"), 0);
}

/// A phase whose condition hangs on an output by way of a variable is asked about when the output is there.
#[test]
fn a_variable_made_of_an_output_is_known_in_time() {
    let project = project();
    project.plan(
        "onward: 1\nname: demo\nphases:\n  a: { outputs: { n: count }, run: \"step a 'echo n=3 >> $ONWARD_OUTPUT'\" }\n  b: { needs: a, env: { N: \"${{ phases.a.outputs.n }}\" }, if: \"env.N == '3'\", run: step b }\n",
    );
    project.command(["run"]).expect(0);
    assert_eq!(project.count("end", "b"), 1);
}
