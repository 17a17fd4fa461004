//! The folder of the books is gone, or what is in it. What git and the records of attempts still prove comes back, and nothing
//! more.

use std::fs;

use onward_testkit::{TestProject, wait_until};

use crate::project;

const CHAIN: &str = "
onward: 1
name: demo
phases:
  a: { run: step a }
  b: { needs: a, run: step b }
  c: { needs: b, run: \"step c 'test -e fixed'\" }
";

const OUTWARD: &str = "
onward: 1
name: demo
phases:
  a: { run: step a }
  b: { needs: a, effects: external, run: step b hold }
  c: { needs: b, run: step c }
";

fn in_git(plan: &str) -> TestProject {
    let project = project();
    project.plan(plan);
    project.git_init();
    project
}

/// Waits until git has the journal of the one run up to the end of phase a; then its driver is killed while b works.
fn killed_in_b(project: &TestProject) {
    let driver = project.start(["run"]);
    project.wait_ledger("begin", "b", 1);
    wait_until("a copy of the journal", || {
        let copy = project.git(["for-each-ref", "--format=%(contents)", "refs/onward/*/journal"]);
        (copy.contains("\"phase_completed") || copy.contains("phase_completed")).then_some(())
    });
    driver.kill();
}

fn completed(project: &TestProject) -> Vec<String> {
    let status = project.command(["status", "--json"]).expect(0).json();
    let all = status["completed"].as_array().expect("a list").iter();
    all.map(|phase| phase["id"].as_str().expect("an id").to_owned()).collect()
}

/// The books were swept away with everything that git does not track. Finished phases stay finished, and the run goes on.
#[test]
fn swept_away_by_git_clean() {
    for way in ["clean", "remove"] {
        let project = in_git(CHAIN);
        project.command(["run"]).expect(1);
        let run = project.command(["status", "--json"]).expect(0).json()["run"].as_str().expect("an id").to_owned();
        if way == "clean" {
            project.git(["clean", "-fdxq"]);
        } else {
            fs::remove_dir_all(project.path(".onward")).expect("a folder");
        }
        assert!(!project.exists(".onward"), "this test needs the books to be gone");
        let found = project.command(["doctor", "--json"]).expect(12).json();
        assert_eq!(found["findings"][0]["code"], "run-lost", "{found:#}");
        assert!(!project.exists(".onward"), "looking made something");
        project.command(["doctor", "--repair"]).expect(0);
        assert_eq!(completed(&project), ["a", "b"]);
        let status = project.command(["status", "--json"]).expect(0).json();
        assert_eq!(status["run"], run.as_str());
        assert!(status["warnings"].to_string().contains("brought"), "{status:#}");
        project.write("fixed", "");
        project.command(["resume"]).expect(0);
        project.ran_once(["a", "b"]);
        project.command(["doctor"]).expect(0);
        project.git(["fsck", "--strict"]);
    }
}

/// The database was overwritten while nobody looked, and git is a little behind: what an attempt left tells the rest.
#[test]
fn what_attempts_left_tells_the_rest() {
    let project = in_git(&CHAIN.replace("step b", "step b hold").replace(" 'test -e fixed'", ""));
    killed_in_b(&project);
    // As if git had lagged behind: the rest of the run is in no copy.
    let copy = project.git(["for-each-ref", "--format=%(objectname) %(refname)", "refs/onward/*/journal"]);
    let (commit, name) = copy.trim().split_once(' ').expect("a copy");
    project.open("b");
    project.command(["resume"]).expect(0);
    project.git(["update-ref", name, commit]);
    fs::write(project.path(".onward/onward.db"), "overwritten").expect("a file");
    for beside in ["onward.db-wal", "onward.db-shm"] {
        drop(fs::remove_file(project.path(".onward").join(beside)));
    }
    project.command(["status"]).expect(12);
    project.command(["doctor", "--repair"]).expect(0);
    assert_eq!(completed(&project), ["a"]);
    project.command(["doctor"]).expect(0);
    project.command(["resume"]).expect(0);
    assert_eq!(completed(&project), ["a", "b", "c"]);
    project.ran_once(["a", "b", "c"]);
}

/// Nothing is left that could tell whether a phase had its effect outside. It is not run again unasked.
#[test]
fn an_effect_that_nobody_knows_of_is_in_doubt() {
    let project = in_git(OUTWARD);
    killed_in_b(&project);
    project.open("b");
    project.wait_ledger("end", "b", 1);
    fs::remove_dir_all(project.path(".onward")).expect("a folder");
    project.command(["doctor", "--repair"]).expect(0);
    assert_eq!(completed(&project), ["a"]);
    project.command(["resume"]).expect(14).err_names(["b"]);
    assert_eq!(project.count("begin", "b"), 1);
    project.command(["resume", "--adopt", "b"]).expect(0);
    project.ran_once(["a", "b", "c"]);
}

/// An old copy of the database was put back. What it lacks is in git.
#[test]
fn an_old_copy_is_brought_up_to_date() {
    let project = in_git(CHAIN);
    project.write("state.json", "{}");
    project.command(["save", "early", "x", "--state", "state.json"]).expect(0);
    let old: Vec<(String, Vec<u8>)> = ["onward.db", "onward.db-wal"]
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), fs::read(project.path(".onward").join(name)).ok()?)))
        .collect();
    project.command(["run"]).expect(1);
    drop(fs::remove_file(project.path(".onward/onward.db-shm")));
    for (name, bytes) in old {
        fs::write(project.path(".onward").join(name), bytes).expect("a file");
    }
    project.command(["resume"]).expect(12);
    project.command(["doctor", "--repair"]).expect(0);
    assert_eq!(completed(&project), ["a", "b"]);
    project.write("fixed", "");
    project.command(["resume"]).expect(0);
    project.ran_once(["a", "b"]);
}

/// What was deleted on purpose stays deleted, and a look at a whole store finds nothing.
#[test]
fn what_was_deleted_stays_deleted() {
    let project = in_git(CHAIN);
    project.command(["run"]).expect(1);
    let found = project.command(["doctor", "--json"]).expect(0).json();
    assert_eq!(found["findings"].as_array().map(Vec::len), Some(0), "{found:#}");
    let run = project.command(["status", "--json"]).expect(0).json()["run"].as_str().expect("an id").to_owned();
    project.command(["delete", &run, "--yes"]).expect(0);
    assert_eq!(project.git(["for-each-ref", "refs/onward"]), "");
    let done = project.command(["doctor", "--repair", "--json"]).expect(0).json();
    assert_eq!(done["repaired"].as_array().map(Vec::len), Some(0), "{done:#}");
    project.command(["status"]).expect(10);
}
