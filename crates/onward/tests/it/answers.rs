//! Answers that can be typed: what is offered is about this very run, and what is said to be kept is so.

use crate::project;

const OTHER: &str = "
onward: 1
name: demo
inputs: { day: { default: monday } }
phases:
  a: { run: 'true' }
  b: { needs: a, run: 'false' }
";

/// A run of another plan with an input of its own is asked about by `resume`, which names neither. The fresh start that is offered
/// is one of the same work.
#[test]
fn a_fresh_start_is_offered_of_the_same_work() {
    let project = project();
    project.write("other.yaml", OTHER);
    project.command(["run", "other.yaml", "--input", "day=sunday"]).expect(1);
    project.write("other.yaml", OTHER.replace("'true'", "'true # edited'"));
    let offered = "onward run other.yaml --input=day=sunday --fresh";
    project.command(["resume", "--no-input"]).expect(14).err_names([offered]);
}

/// Files were edited since the checkpoint that a resume goes back to. It says where the run is now, and how to take that back;
/// where it then has to ask, it does not say that nothing was changed.
#[test]
fn going_back_before_a_resume_is_told() {
    let project = project();
    project.plan(
        "
onward: 1
name: demo
phases:
  a: { run: 'echo a > made.txt' }
  b: { needs: a, run: 'test -e ../ready' }
",
    );
    project.git_init();
    project.command(["run"]).expect(1);
    project.command(["checkpoint", "--name", "m"]).expect(0);
    project.write("user.txt", "work\n");
    let refused = project.command(["resume", "--checkpoint", "m", "--adopt", "a"]).expect(2);
    assert!(!refused.err.contains("nothing was changed"), "{}", refused.err);
    refused.err_names(["is back at", "onward undo", "the run and its files are at the checkpoint"]);
    project.command(["undo"]).expect(0);
    assert_eq!(project.read("user.txt"), "work\n");
    std::fs::write(project.root().join("ready"), "").expect("a file");
    project.command(["resume", "--checkpoint", "m"]).expect(0).err_names(["is back at", "onward undo"]);
}

/// A phase of a run that is complete is to be done again. `retry` says by which command, and that command does it.
#[test]
fn a_complete_run_is_opened_again_by_a_resume() {
    let project = project();
    project.plan("onward: 1\nname: demo\nphases:\n  a: { run: 'echo a >> ../did' }\n");
    project.command(["run"]).expect(0);
    let run = project.command(["status", "--json"]).expect(0).json()["run"].as_str().expect("an id").to_owned();
    project.command(["retry", "a"]).expect(2).err_names(["onward resume @ --retry a"]);
    assert_eq!(project.command(["status", "--json"]).expect(0).json()["status"], "completed");
    project.command(["resume", &run, "--retry", "a"]).expect(0);
    assert_eq!(std::fs::read_to_string(project.root().join("did")).expect("a file"), "a\na\n");
}
