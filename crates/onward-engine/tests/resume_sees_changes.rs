//! Going on with a run that was looked at a moment ago.

use std::fs;

use onward_engine::{Onward, Ready, Request, Silent, Want};

const PLAN: &str = "onward: 1\nphases:\n  ask: { approval: { message: really? } }\n";

/// Somebody looked at an unfinished run and decided to go on; before that, somebody else put the run away. Whoever goes on knows
/// of it, although the run was not read from its beginning again.
#[test]
fn what_came_after_the_look_counts() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("onward.yaml"), PLAN).expect("a plan");
    let mut first = Onward::work_or_new(folder.path()).expect("a project");
    let request = Request::default();
    let found = first.find(&request).expect("a plan");
    let run = first.start(&request, found, &mut Silent).expect("it waits for a person").run.id;

    let request = Request { want: Want::ResumeRun(None), ..Request::default() };
    let found = first.find(&request).expect("the run");
    let Ok(Ready::GoOn(going)) = first.ready(&request, &found) else { panic!("nothing stands in the way") };
    Onward::work(folder.path()).expect("a project").archive(&run).expect("it is put away");
    let refused = first.go_on(&going, &request, &mut Silent).expect_err("it was put away").to_string();
    assert!(refused.contains("archived"), "{refused}");
}
