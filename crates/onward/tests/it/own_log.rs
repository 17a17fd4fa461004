//! Our own log on stderr, for whoever asks by `-v`.

use crate::project;

const PLAN: &str = "
    onward: 1
    name: demo
    inputs: { deploy_token: { type: string, required: true } }
    phases:
      a: { run: step a }
";
const TOKEN: &str = "deploy_token=s3cret-and-long-enough";

/// Nothing is told of it where nobody asks; `-v` tells steps, `-vv` events too. Answers for programs are what they are without it,
/// and the value of a secret is nowhere.
#[test]
fn told_where_it_is_asked_for() {
    let project = project();
    project.plan(PLAN);
    let plain = project.command(["run", "--input", TOKEN]).expect(0);
    assert!(!plain.err.contains("engine::"), "{}", plain.err);
    let once = project.command(["run", "-v", "--input", TOKEN]).expect(0);
    let step = |err: &str| err.lines().any(|line| line.contains("an attempt was started phase=a attempt=1"));
    assert!(step(&once.err) && !once.err.contains("kind=phase_completed"), "{}", once.err);
    let twice = project.command(["-vv", "run", "--json", "--input", TOKEN]).expect(0);
    assert!(step(&twice.err) && twice.err.contains("kind=phase_completed"), "{}", twice.err);
    assert_eq!(twice.exit()["code"], 0);
    assert!(twice.json_lines().iter().all(|line| line["type"].is_string()));
    for ran in [plain, once, twice] {
        assert!(!ran.err.contains("s3cret") && !ran.out.contains("s3cret"), "{}", ran.err);
    }
    let status = project.command(["status", "--json", "--verbose"]).expect(0);
    assert!(status.err.contains("the project") && status.json()["run"].is_string(), "{}", status.err);
}
