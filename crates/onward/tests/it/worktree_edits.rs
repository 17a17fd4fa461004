//! The plan of a run is edited while an agent's worktree exists, or its driver is told to end while git makes one. What the agent did so
//! far is never lost, and people and agents are told where it lies.

use std::time::Duration;

use onward_testkit::{TestProject, wait_until};

use crate::worktrees::{told, with_agents};

const PLAN: &str = "
    onward: 1
    name: one
    phases:
      a: { agent: { prompt: Do a., worktree: own } }
      next: { needs: a, run: step next }
";
const HALF: &str = "echo half > src/half.txt\ntouch \"$HOME/begun\"\nhold go-on\n";
const WHOLE: &str = "echo whole > src/whole.txt\n";

/// A run whose agent has done half of its work when everything is killed.
fn half_done() -> TestProject {
    let project = with_agents(PLAN, &[("a-1", HALF), ("a-2", WHOLE), ("b-1", WHOLE)]);
    let driver = project.start(["run"]);
    wait_until("the agent", || project.home().join("begun").exists().then_some(()));
    wait_until("its place", || told(&project, "place-a-1").ends_with('\n').then_some(()));
    project.kill_everything();
    driver.wait_code(137);
    project
}

/// The half is where it was and nowhere else, and a person was told at the start, and is told by the status and the doctor.
fn half_is_kept_and_told(project: &TestProject, plan: &str) {
    project.plan(plan);
    let place = told(project, "place-a-1").trim().to_owned();
    let below =
        place.split_once("/.onward/").map(|(_, below)| format!(".onward/{below}")).expect("it lies in the store");
    let resumed = project.command(["resume"]).expect(0);
    assert!(resumed.err.contains(&below) && resumed.err.contains("take what you want of it"), "{resumed}");
    assert_eq!(std::fs::read_to_string(format!("{place}/src/half.txt")).expect("it is kept"), "half\n");
    assert!(!project.exists("src/half.txt"), "nobody has taken it into the project");
    let doctor = project.command(["doctor"]).expect(0).out;
    assert!(doctor.contains(&below), "{doctor}");
    let status = project.command(["status", "--json"]).json();
    assert_eq!(status["status"], "completed", "{status}");
    assert!(status["warnings"].to_string().contains(&below), "{status}");
    project.ran_once(["next"]);
}

/// The phase is gone from the plan.
#[test]
fn a_phase_with_a_worktree_is_removed() {
    let project = half_done();
    half_is_kept_and_told(&project, "onward: 1\nname: one\nphases:\n  next: { run: step next }\n");
    assert_eq!(told(&project, "calls-a-2"), "", "nobody asks its agent again");
}

/// The phase has another name now: its agent begins anew, in a worktree of its own, and does not write over the old one.
#[test]
fn a_phase_with_a_worktree_is_renamed() {
    let project = half_done();
    half_is_kept_and_told(&project, &PLAN.replace("      a:", "      b:").replace("needs: a", "needs: b"));
    assert_eq!(project.read("src/whole.txt"), "whole\n");
    assert_ne!(told(&project, "place-b-1"), told(&project, "place-a-1"));
}

/// The phase works in the project from now on: its agent goes on in its session, and is told that its files are elsewhere.
#[test]
fn a_phase_with_a_worktree_works_in_the_project() {
    let project = half_done();
    half_is_kept_and_told(&project, &PLAN.replace("worktree: own", "worktree: never"));
    assert_eq!(project.read("src/whole.txt"), "whole\n");
    assert_eq!(told(&project, "place-a-2").trim(), project.path("").to_string_lossy().trim_end_matches('/'));
    let prompt = told(&project, "prompt-a-2");
    assert!(prompt.contains("--resume\ns-a") && prompt.contains("# Your earlier files"), "{prompt}");
    assert!(
        prompt.contains(".onward/worktrees/") && prompt.contains("nothing of what you did there came into it"),
        "{prompt}"
    );
}

/// A driver at work is told to cancel while git takes for ever to make a worktree. It gives git up and ends, and no agent was started.
#[test]
fn git_hangs_while_a_run_is_cancelled() {
    let project = with_agents(PLAN, &[("a-1", WHOLE)]);
    let paths = std::env::var_os("PATH").expect("a PATH");
    let git = std::env::split_paths(&paths).map(|folder| folder.join("git")).find(|git| git.exists()).expect("git");
    let hangs = "case \" $* \" in *' worktree add '*) touch \"$HOME/adds\"; until [ -e \"$HOME/go-on\" ]; do sleep 0.02; done ;; esac";
    project.script("git", &format!("#!/bin/sh\n{hangs}\nexec {} \"$@\"\n", git.display()));
    let driver = project.start(["run"]);
    wait_until("the worktree", || project.home().join("adds").exists().then_some(()));
    project.command(["cancel", "@"]).expect(0);
    let ended = driver.wait_within(Duration::from_secs(10));
    assert_eq!(ended.code, 1, "{ended}");
    project.write(project.home().join("go-on"), "");
    project.command(["resume"]).expect(10);
    assert_eq!((told(&project, "calls-a-1").as_str(), project.exists("src/whole.txt")), ("", false));
    project.command(["run"]).expect(0);
    assert_eq!(project.read("src/whole.txt"), "whole\n", "nothing of it is in the way of another run");
}
