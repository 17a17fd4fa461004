//! Runs found by what they are about: their inputs, their issue, words of their description.

use crate::project;

const PLAN: &str = "
onward: 1
name: nightly
run-name: 'load of ${{ inputs.day }}'
description: Loads the ORDERS of one day
inputs: { day: { required: true }, target: { default: staging } }
issue: { number: '${{ inputs.day }}', provider: no-such-provider }
phases:
  a: { run: step a 'test -e fixed' }
";

/// Three days failed. Each is found by its input, by words in any case, and by its issue; what fits nothing is an empty list.
#[test]
fn runs_are_listed_by_what_they_are_about() {
    let project = project();
    project.plan(PLAN);
    for day in ["11", "12", "13"] {
        project.command(["run", "--input", &format!("day={day}")]).expect(1);
    }
    let listed = |flags: &[&str]| -> Vec<String> {
        let list = project.command(["list", "--json"].iter().chain(flags)).expect(0).json();
        let runs = list["runs"].as_array().expect("a list").clone();
        runs.iter().map(|run| run["title"].as_str().expect("a title").to_owned()).collect()
    };
    assert_eq!(listed(&["--input", "day=12"]), ["load of 12"]);
    assert_eq!(listed(&["--input", "target=staging", "--input", "day=13"]), ["load of 13"]);
    assert_eq!(listed(&["--grep", "orders 11"]), ["load of 11"]);
    assert_eq!(listed(&["--grep", "LOADS the"]).len(), 3);
    assert_eq!(listed(&["--issue", "13"]), ["load of 13"]);
    assert_eq!(listed(&["--issue", "1"]), Vec::<String>::new());
    assert_eq!(listed(&["--input", "day=14"]), Vec::<String>::new());
    project.command(["list", "--input", "day"]).expect(2);
}

/// `resume --grep` goes on with the one run that fits; several are named and none is chosen; none is exit 10.
#[test]
fn a_run_is_resumed_by_its_words() {
    let project = project();
    project.plan(PLAN);
    for day in ["11", "12"] {
        project.command(["run", "--input", &format!("day={day}")]).expect(1);
    }
    project.write("fixed", "");
    project.command(["resume", "--grep", "orders"]).expect(14).err_names(["--resume=run_nightly"]);
    project.command(["resume", "--grep", "weather"]).expect(10);
    project.command(["resume", "--issue", "99"]).expect(10);
    project.command(["resume", "--grep", "of 12"]).expect(0);
    project.command(["resume", "--issue", "11"]).expect(0);
    project.command(["resume", "--grep", "orders"]).expect(10);
    assert_eq!(project.count("end", "a"), 2);
}
