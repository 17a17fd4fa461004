//! Three phases in a row, as many stories need them.

use onward_testkit::TestProject;

/// The second one waits for its gate.
pub(crate) const HELD: &str = "
onward: 1
name: demo
phases:
  a: { run: step a }
  b: { needs: a, run: step b hold }
  c: { needs: b, run: step c }
";

/// The last one fails until a file is there.
pub(crate) const UNFIXED: &str = "
onward: 1
name: demo
phases:
  a: { run: step a }
  b: { needs: a, run: step b }
  c: { needs: b, run: \"step c 'test -e fixed'\" }
";

/// Everything is killed once a is done, while b is at work.
pub(crate) fn killed_in_b(project: &TestProject, plan: &str) -> String {
    project.plan(plan);
    let _first = project.start(["run"]);
    project.wait_ledger("begin", "b", 1);
    project.kill_everything();
    project.command(["status", "--json"]).json()["run"].as_str().expect("a run").to_owned()
}
