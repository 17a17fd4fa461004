//! Command lines with a mistake: what is wrong stands in the first words, and then what to type.

use crate::project;

/// Arguments are left out, a verb and a plan are misspelt, a name is nobody's. Each is told by its name, with the way on.
#[test]
fn mistakes_are_named_with_a_way_on() {
    let project = project();
    project.plan("{ onward: 1, name: demo, phases: { a: { run: step a } } }");
    project.command(["run"]).expect(0);
    let told = |words: &[&str], code: i32| project.command(words).expect(code).err;
    let begins = |words: &[&str], code: i32, first: &str| {
        let told = told(words, code);
        assert!(told.starts_with(first), "{words:?}: {told}");
        told
    };
    let one = begins(&["approve"], 2, "error: <PHASE> is missing\n");
    assert!(
        one.contains("onward status names the phases") && one.contains("Usage: onward approve [RUN] <PHASE>"),
        "{one}"
    );
    let two = begins(&["diff"], 2, "error: <FROM> and <TO> are missing\n");
    assert!(two.contains("onward log names the checkpoints"), "{two}");
    let verb = begins(&["staus"], 2, "error: unrecognized subcommand 'staus'");
    assert!(verb.contains("'status', 'trust'"), "{verb}");
    let plan = begins(&["run", "onwrad.yaml"], 2, "error[plan-unreadable]: cannot read the plan");
    assert!(plan.contains("plans that may be meant: ") && plan.contains("next: onward check "), "{plan}");
    begins(&["logs", "nosuch"], 10, "error[no-run]: no run and no phase nosuch\n");
    let json = project.command(["approve", "--json"]).expect(2).json();
    assert_eq!(json["error"]["message"], "<PHASE> is missing");
}

/// A run is complete. Whoever wants to pause or cancel it is told that it is over, and it stays where it is.
#[test]
fn what_is_over_is_not_cancelled() {
    let project = project();
    project.plan("{ onward: 1, name: demo, phases: { a: { run: step a } } }");
    project.command(["run"]).expect(0);
    for verb in ["pause", "cancel"] {
        let told = project.command([verb]).expect(13).err;
        assert!(
            told.contains("refused the request: the run is over") && told.contains("next: onward status @"),
            "{told}"
        );
    }
    assert_eq!(project.command(["status", "--json"]).json()["status"], "completed");
}
