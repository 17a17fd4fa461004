//! A rewind or an undo is stopped or killed at any of its calls of git. Afterwards files and state agree, what was said is true, and
//! nothing that the user made is lost.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use onward_testkit::{Ran, Signal, TestProject, wait_until};
use serde_json::Value;

use crate::project;

const PLAN: &str = "
onward: 1
name: demo
phases:
  a: { run: step a 'echo a > made.txt; echo a > early.txt' }
  b: { needs: a, run: step b 'echo b > made.txt; echo b > late.txt; rm early.txt' }
  c: { needs: b, run: step c 'test -e ../ok' }
";

/// Cases that are tried at the same time: they wait more than they work.
const SIDE_BY_SIDE: usize = 4;

/// No rewind calls git more often.
const CALLS_MAX: u32 = 60;

/// Whoever comes next ends what was cut off, and waits for nobody who is gone.
const NEXT_TIME_MAX: Duration = Duration::from_secs(6);

/// A run in a git repository whose last phase failed, with files of the user's that nobody else knows.
fn failed_in_c() -> TestProject {
    let project = project();
    project.plan(PLAN);
    project.git_init();
    project.command(["run"]).expect(1);
    project.write("mine.txt", "mine\n");
    project
}

fn checkpoints(project: &TestProject) -> Vec<Value> {
    project.command(["log", "--json"]).json()["checkpoints"].as_array().expect("checkpoints").clone()
}

fn checkpoint_of(project: &TestProject, phase: &str) -> String {
    let of = |row: &&Value| row["phase"] == phase && row["trigger"] == "phase_transition";
    checkpoints(project).iter().find(of).expect("a checkpoint")["id"].as_str().expect("an id").to_owned()
}

/// How far the run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    A,
    B,
}

/// How far the files are; none where they are of both.
fn files(project: &TestProject) -> Option<At> {
    let made = project.read("made.txt");
    match (made.as_str(), project.exists("late.txt"), project.exists("early.txt")) {
        ("a\n", false, true) => Some(At::A),
        ("b\n", true, false) => Some(At::B),
        _ => None,
    }
}

fn state(status: &Value) -> At {
    match status["completed"].as_array().map(Vec::len) {
        Some(1) => At::A,
        Some(2) => At::B,
        other => panic!("{other:?} completed: {status}"),
    }
}

fn is_cut_off(status: &Value) -> bool {
    let warnings = status["warnings"].as_array().expect("warnings");
    warnings.iter().any(|line| line.as_str().is_some_and(|line| line.contains("was cut off")))
}

/// The deed of git at the call that is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Git {
    /// It does not come back.
    Hangs,
    /// It comes back when the signal was sent.
    IsSlow,
}

#[derive(Clone, Copy, Debug)]
struct Case {
    verb: &'static str,
    call: u32,
    signal: Signal,
    git: Git,
}

/// Stands in for git: the call of this number waits for as long as there is a file.
pub(crate) fn waiting_git(project: &TestProject, call: u32) {
    let paths = std::env::var_os("PATH").expect("a PATH");
    let real: PathBuf =
        std::env::split_paths(&paths).map(|folder| folder.join("git")).find(|p| p.is_file()).expect("git");
    let (real, root) = (real.display(), project.root().display());
    let wait = format!(": > {root}/waiting; : > {root}/hung; while [ -e {root}/waiting ]; do sleep 0.05; done");
    project.script(
        "git",
        &format!("#!/bin/sh\necho >> {root}/calls\nif [ $(wc -l < {root}/calls) = {call} ]; then {wait}; fi\nexec {real} \"$@\"\n"),
    );
}

/// One case; false where git is not called so often.
fn was_cut_off(case: Case) -> bool {
    let project = failed_in_c();
    let to = checkpoint_of(&project, "a");
    let before = if case.verb == "undo" {
        project.command(["rewind", &to]).expect(0);
        At::A
    } else {
        At::B
    };
    assert_eq!(files(&project), Some(before), "{case:?}");
    waiting_git(&project, case.call);
    let words: &[&str] = if case.verb == "undo" { &["undo"] } else { &["rewind", &to] };
    let going = project.start(words);
    let hung = project.root().join("hung");
    wait_until("the call or the end", || (hung.exists() || !going.is_running()).then_some(()));
    if !hung.exists() {
        going.wait().expect(0);
        return false;
    }
    going.signal(case.signal);
    if case.git == Git::IsSlow {
        std::fs::remove_file(project.root().join("waiting")).expect("it waits");
    }
    let ran = going.wait();
    std::fs::remove_file(project.root().join("bin/git")).expect("it is there");
    told_the_truth(&project, case, before, &ran);
    // Whatever is started next, what was cut off is ended first.
    let run = project.command(["status", "--json"]).json()["run"].as_str().expect("an id").to_owned();
    project.plan_at("../other.yaml", "onward: 1\nname: other\nphases:\n  o: { run: step o }\n");
    let next = project.command(["run", "../other.yaml"]).expect(0);
    assert!(next.took < NEXT_TIME_MAX, "{case:?}: it took {:?}", next.took);
    let status = project.command(["status", &run, "--json"]).json();
    assert!(!is_cut_off(&status), "{case:?}: {status}");
    assert_eq!(files(&project), Some(state(&status)), "{case:?}: files and state agree");
    assert_eq!(project.read("mine.txt"), "mine\n", "{case:?}");
    project.write("../ok", "");
    project.command(["resume"]).expect(0);
    assert_eq!(files(&project), Some(At::B), "{case:?}");
    assert_eq!(project.read("mine.txt"), "mine\n", "{case:?}");
    project.git(["fsck", "--strict"]);
    true
}

/// The words at its end, and those of now.
fn told_the_truth(project: &TestProject, case: Case, before: At, ran: &Ran) {
    let status = project.command(["status", "--json"]).json();
    let (files, state, cut_off) = (files(project), state(&status), is_cut_off(&status));
    let seen = format!("{case:?}: files {files:?}, state {state:?}, exit code {}\n{}", ran.code, ran.err);
    let after = if before == At::A { At::B } else { At::A };
    match ran.code {
        0 => assert_eq!((files, state, cut_off), (Some(after), after, false), "it is done: {seen}"),
        137 => assert!(cut_off || files == Some(state), "it was killed: {seen}"),
        _ if ran.err.contains("as they were") => {
            assert_eq!((files, state, cut_off), (Some(before), before, false), "all is as it was: {seen}");
        }
        _ => assert!(cut_off || (files, state) == (Some(before), before), "{seen}"),
    }
    if case.signal != Signal::SIGKILL && ran.code != 0 {
        let code = if case.signal == Signal::SIGINT { 130 } else { 143 };
        assert_eq!(ran.code, code, "{seen}");
    }
    if cut_off {
        let dry = project.command(["resume", "--dry-run"]).expect(0);
        assert!(dry.err.contains("was cut off"), "{case:?}: a dry run says so\n{}", dry.err);
        assert!(case.signal == Signal::SIGKILL || ran.err.contains("half-way back"), "{seen}");
    }
}

fn every_call(verb: &'static str) {
    let cases: Mutex<VecDeque<Case>> = Mutex::default();
    for call in 1..=CALLS_MAX {
        let ways = [(Signal::SIGKILL, Git::Hangs), (Signal::SIGINT, Git::Hangs), (Signal::SIGTERM, Git::IsSlow)];
        cases.lock().expect("nobody else").extend(ways.map(|(signal, git)| Case { verb, call, signal, git }));
    }
    let (tried, wrong) = (Mutex::new(0_u32), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..SIDE_BY_SIDE {
            scope.spawn(|| {
                loop {
                    let next = cases.lock().map(|mut cases| cases.pop_front());
                    let Ok(Some(case)) = next else { return };
                    match std::panic::catch_unwind(|| was_cut_off(case)) {
                        Ok(true) => *tried.lock().expect("nobody panics with it") += 1,
                        // Git is not called so often: nor will it be for the cases that are left.
                        Ok(false) => return,
                        Err(why) => {
                            let text = why.downcast_ref::<String>().cloned().unwrap_or_default();
                            wrong.lock().expect("nobody panics with it").push(text);
                        }
                    }
                }
            });
        }
    });
    let (tried, wrong) = (tried.into_inner().expect("a number"), wrong.into_inner().expect("a list"));
    assert!(wrong.is_empty(), "{} of {} cases:\n{}", wrong.len(), tried, wrong.join("\n\n"));
    assert!(tried > 40, "only {tried} cases: the stand-in for git is not called");
}

/// A rewind is stopped or killed at every call of git that it makes.
#[test]
fn kills_a_rewind_at_every_call_of_git() {
    every_call("rewind");
}

/// The same for an undo.
#[test]
fn kills_an_undo_at_every_call_of_git() {
    every_call("undo");
}

/// The user has a file that the run does not know. It goes through a rewind, an undo and a rewind again, and through a resume in
/// between, and stays.
#[test]
fn a_file_of_the_users_stays_whatever_goes_back_and_forth() {
    let project = failed_in_c();
    let to = checkpoint_of(&project, "a");
    for _ in 0..2 {
        project.command(["rewind", &to]).expect(0);
        assert_eq!((files(&project), project.exists("mine.txt")), (Some(At::A), true));
        project.command(["undo"]).expect(0);
        assert_eq!((files(&project), project.exists("mine.txt")), (Some(At::B), true));
    }
    project.command(["rewind", &to]).expect(0);
    project.command(["resume"]).expect(1);
    assert_eq!(files(&project), Some(At::B));
    project.command(["rewind", &to]).expect(0);
    assert_eq!((files(&project), project.exists("mine.txt")), (Some(At::A), true));
}

/// A file that the user made before a resume is in every snapshot that the run takes afterwards, and stays all the same.
#[test]
fn what_the_user_made_before_a_resume_stays() {
    let project = failed_in_c();
    let to = checkpoint_of(&project, "a");
    project.command(["resume"]).expect(1);
    project.command(["rewind", &to]).expect(0);
    assert_eq!((files(&project), project.exists("mine.txt")), (Some(At::A), true));
}

/// Files that a rewind brought go again with its undo, unless somebody has changed it since.
#[test]
fn an_undo_takes_away_what_its_rewind_brought_and_nobody_changed() {
    let project = failed_in_c();
    let to = checkpoint_of(&project, "a");
    project.command(["rewind", &to]).expect(0);
    assert_eq!(project.read("early.txt"), "a\n");
    project.command(["undo"]).expect(0);
    assert!(!project.exists("early.txt"));
    project.command(["rewind", &to]).expect(0);
    project.write("early.txt", "edited\n");
    project.command(["undo"]).expect(0);
    assert_eq!((project.read("early.txt").as_str(), project.exists("late.txt")), ("edited\n", true));
}

/// Each checkpoint has the files that belong to its state, and a rewind with its undo leaves one.
#[test]
fn state_and_files_of_a_checkpoint_belong_together() {
    let project = failed_in_c();
    let to = checkpoint_of(&project, "a");
    let count = checkpoints(&project).len();
    project.command(["rewind", &to]).expect(0);
    assert_eq!(checkpoints(&project).len(), count + 1, "the one that an undo needs");
    project.command(["undo"]).expect(0);
    assert_eq!(checkpoints(&project).len(), count + 1, "all that was there is kept already");
    project.command(["rewind", &to]).expect(0);
    project.write("made.txt", "edited\n");
    project.command(["undo"]).expect(0);
    assert_eq!(checkpoints(&project).len(), count + 3, "what was edited is kept");
    for row in checkpoints(&project) {
        let shown = project.command(["show", row["id"].as_str().expect("an id"), "--json"]).json();
        let Some(commit) = shown["snapshot"]["commit"].as_str() else { continue };
        let done = |id: &str| {
            let phases = shown["phases"].as_array().expect("phases");
            phases.iter().any(|phase| phase["id"] == id && phase["status"] == "completed")
        };
        let listed = project.git(["ls-tree", "--name-only", commit]);
        let late = listed.lines().any(|name| name == "late.txt");
        assert_eq!(late, done("b"), "{row}");
    }
}

/// A rewind was killed in the middle, and the way there is closed since. What it had moved is put back, and the run can go on.
#[cfg(feature = "kill-points")]
#[test]
fn what_cannot_be_ended_is_put_back() {
    let mut project = failed_in_c();
    let to = checkpoint_of(&project, "a");
    project.set_env("ONWARD_KILL_POINT", "vcs.restore-one:1");
    project.command(["rewind", &to]).expect(137);
    project.remove_env("ONWARD_KILL_POINT");
    assert_eq!(files(&project), None, "some files are moved");
    project.write(".gitignore", "early.txt\n");
    project.write("early.txt", "precious\n");
    project.command(["resume"]).expect(13).err_names(["early.txt", "as they were"]);
    assert_eq!(project.read("early.txt"), "precious\n");
    assert_eq!((project.read("made.txt").as_str(), project.exists("late.txt")), ("b\n", true));
    project.write("../ok", "");
    project.command(["resume"]).expect(0);
}

/// A run with a rewind that was cut off is not the one that is started: it is ended all the same, since both share the files.
#[cfg(feature = "kill-points")]
#[test]
fn another_plan_does_not_build_on_files_that_are_halfway() {
    let mut project = failed_in_c();
    let to = checkpoint_of(&project, "a");
    project.plan_at("other.yaml", "onward: 1\nname: other\nphases:\n  o: { run: \"step o 'test -e early.txt'\" }\n");
    project.set_env("ONWARD_KILL_POINT", "vcs.restore-one:1");
    project.command(["rewind", &to]).expect(137);
    project.remove_env("ONWARD_KILL_POINT");
    assert_eq!(files(&project), None);
    project.command(["run", "other.yaml"]).expect(0).err_names(["on its way back"]);
    assert_eq!(files(&project), Some(At::A));
}

/// Whoever ends a rewind that was killed is stopped while it waits for git. The rewind stays on record, and an undo brings all of it
/// back to where it was before.
#[cfg(feature = "kill-points")]
#[test]
fn ctrl_c_does_not_drop_a_rewind_that_was_killed() {
    let mut project = failed_in_c();
    let to = checkpoint_of(&project, "a");
    project.set_env("ONWARD_KILL_POINT", "vcs.restore-one:1");
    project.command(["rewind", &to]).expect(137);
    project.remove_env("ONWARD_KILL_POINT");
    for call in [1, 3, 5] {
        waiting_git(&project, call);
        let going = project.start(["resume"]);
        let hung = project.root().join("hung");
        wait_until("the call", || hung.exists().then_some(()));
        going.signal(Signal::SIGINT);
        going.wait_code(130);
        for name in ["hung", "waiting", "calls", "bin/git"] {
            std::fs::remove_file(project.root().join(name)).expect("it is there");
        }
        assert!(is_cut_off(&project.command(["status", "--json"]).json()), "at call {call}");
    }
    project.command(["undo"]).expect(0);
    assert_eq!(files(&project), Some(At::B));
    assert_eq!(project.read("mine.txt"), "mine\n");
}

/// The checkpoint in which a file has this content.
#[cfg(feature = "kill-points")]
fn checkpoint_with(project: &TestProject, file: &str, content: &str) -> Option<String> {
    let has_it = |row: &Value| {
        let shown = project.command(["show", row["id"].as_str().expect("an id"), "--json"]).json();
        let commit = shown["snapshot"]["commit"].as_str()?.to_owned();
        let listed = project.git(["ls-tree", "--name-only", &commit]);
        let there = listed.lines().any(|name| name == file);
        (there && project.git(["show", &format!("{commit}:{file}")]) == content.trim_end()).then(|| shown["id"].clone())
    };
    checkpoints(project).iter().find_map(has_it).and_then(|id| id.as_str().map(str::to_owned))
}

/// The kill point that a story here hits.
#[cfg(feature = "kill-points")]
pub(crate) const EDITED_KEPT: &str = "rewind.edited-kept";

/// A rewind is killed at this point, the user edits files, and this verb comes next.
#[cfg(feature = "kill-points")]
fn edited_in_between(point: &str, verb: &str, code: i32) {
    let mut project = failed_in_c();
    let to = checkpoint_of(&project, "a");
    project.set_env("ONWARD_KILL_POINT", point);
    project.command(["rewind", &to]).expect(137);
    project.remove_env("ONWARD_KILL_POINT");
    project.write("made.txt", "two hours\n");
    project.write("late.txt", "of work\n");
    let words: &[&str] = if verb == "rewind" { &["rewind", &to] } else { &[verb] };
    let ended = project.command(words).expect(code);
    project.git(["gc", "--quiet", "--prune=now"]);
    let kept = checkpoint_with(&project, "made.txt", "two hours\n");
    let kept = kept.unwrap_or_else(|| panic!("{point}, {verb}: no checkpoint has what was edited\n{}", ended.err));
    assert!(ended.err.contains(&kept), "{point}, {verb}: {kept} is named\n{}", ended.err);
    project.command(["rewind", &kept]).expect(0);
    assert_eq!((project.read("made.txt").as_str(), project.read("late.txt").as_str()), ("two hours\n", "of work\n"));
}

/// A rewind was killed, and the user went on with their work. Whoever ends it keeps that first, and says where.
#[cfg(feature = "kill-points")]
#[test]
fn an_undo_keeps_what_was_edited_since_a_rewind_was_killed() {
    edited_in_between("rewind.begun", "undo", 0);
    edited_in_between("vcs.restore-placed", "undo", 0);
}

/// The same where it is asked for again.
#[cfg(feature = "kill-points")]
#[test]
fn a_rewind_keeps_what_was_edited_since_another_was_killed() {
    edited_in_between("vcs.restore-one:1", "rewind", 0);
}

/// The same where the run is gone on with.
#[cfg(feature = "kill-points")]
#[test]
fn a_resume_keeps_what_was_edited_since_a_rewind_was_killed() {
    edited_in_between("vcs.restore-one:1", "resume", 1);
}

/// A rewind was killed half-way, and the user went on with their work.
#[cfg(feature = "kill-points")]
fn killed_and_edited() -> TestProject {
    let mut project = failed_in_c();
    let to = checkpoint_of(&project, "a");
    project.set_env("ONWARD_KILL_POINT", "vcs.restore-one:1");
    project.command(["rewind", &to]).expect(137);
    project.remove_env("ONWARD_KILL_POINT");
    project.write("made.txt", "two hours\n");
    project.write("late.txt", "of work\n");
    project
}

/// A rewind was killed, and the user edits on. Verbs that have nothing to do with files leave them alone, and name those that end it.
#[cfg(feature = "kill-points")]
#[test]
fn steering_does_not_end_a_rewind_that_was_killed() {
    let project = killed_and_edited();
    project.write("../patch.json", r#"{"x": 1}"#);
    let count = checkpoints(&project).len();
    let all: [&[&str]; 6] = [
        &["skip", "@", "c"],
        &["checkpoint", "--name", "mine"],
        &["state", "merge", "../patch.json"],
        &["pause", "@"],
        &["retry", "@", "c"],
        &["cancel", "@"],
    ];
    for words in all {
        let refused = project.command(words).expect(13);
        refused.err_names(["half-way back", "resume, rewind or undo"]);
        let edited = (project.read("made.txt"), project.read("late.txt"));
        assert_eq!(edited, ("two hours\n".to_owned(), "of work\n".to_owned()), "{words:?}");
        assert_eq!(checkpoints(&project).len(), count, "{words:?} left a checkpoint");
    }
    assert!(is_cut_off(&project.command(["status", "--json"]).json()));
    let ended = project.command(["resume"]).expect(1);
    let kept = checkpoint_with(&project, "made.txt", "two hours\n").expect("a checkpoint has what was edited");
    ended.err_names([kept.as_str()]);
    assert!(!is_cut_off(&project.command(["status", "--json"]).json()));
    project.command(["checkpoint", "--name", "mine"]).expect(0);
}

/// A rewind was killed, and the user edits on. Another one ends it and then asks; also who says no is told where the edited files are.
#[cfg(feature = "kill-points")]
#[test]
fn who_declines_a_rewind_is_told_what_was_kept() {
    let project = killed_and_edited();
    let mut terminal = project.terminal(["rewind", &checkpoint_of(&project, "b")]);
    terminal.expect("Go back? (y/N): ");
    terminal.send("n\n");
    let declined = terminal.wait_code(0);
    let kept = checkpoint_with(&project, "made.txt", "two hours\n").expect("a checkpoint has what was edited");
    assert!(format!("{}{}", declined.out, declined.err).contains(&kept), "{kept} is named\n{}", declined.out);
}

/// The same where a run is branched off.
#[cfg(feature = "kill-points")]
#[test]
fn a_fork_says_what_was_kept_of_files_that_were_edited() {
    let project = killed_and_edited();
    let run = project.command(["status", "--json"]).json()["run"].as_str().expect("an id").to_owned();
    let forked = project.command(["fork", &checkpoint_of(&project, "b")]).expect(0);
    let log = project.command(["log", &run, "--json"]).json();
    let kept = log["checkpoints"]
        .as_array()
        .expect("checkpoints")
        .iter()
        .find(|row| forked.err.contains(row["id"].as_str().expect("an id")));
    assert!(kept.is_some(), "no checkpoint is named\n{}", forked.err);
}

/// The end of a rewind that was cut off is killed itself, right after it kept what was edited. It is still there after the next one.
#[cfg(feature = "kill-points")]
#[test]
fn kills_the_end_of_a_rewind_that_kept_what_was_edited() {
    let mut project = failed_in_c();
    let to = checkpoint_of(&project, "a");
    project.set_env("ONWARD_KILL_POINT", "vcs.restore-one:1");
    project.command(["rewind", &to]).expect(137);
    project.write("made.txt", "two hours\n");
    project.set_env("ONWARD_KILL_POINT", EDITED_KEPT);
    project.command(["undo"]).expect(137);
    project.remove_env("ONWARD_KILL_POINT");
    project.command(["undo"]).expect(0);
    project.git(["gc", "--quiet", "--prune=now"]);
    let kept = checkpoint_with(&project, "made.txt", "two hours\n").expect("a checkpoint has what was edited");
    project.command(["rewind", &kept]).expect(0);
    assert_eq!(project.read("made.txt"), "two hours\n");
}

/// Nobody edited anything: what the rewind itself had moved needs no checkpoint.
#[cfg(feature = "kill-points")]
#[test]
fn ending_a_rewind_leaves_no_checkpoint_where_nobody_edited() {
    let mut project = failed_in_c();
    let to = checkpoint_of(&project, "a");
    project.set_env("ONWARD_KILL_POINT", "vcs.restore-one:1");
    project.command(["rewind", &to]).expect(137);
    project.remove_env("ONWARD_KILL_POINT");
    let count = checkpoints(&project).len();
    project.command(["undo"]).expect(0);
    // The one that is as the rewind left it belongs to the undo.
    assert!(checkpoints(&project).len() <= count + 1);
}

/// An undo was killed. The next one ends it, and says so; it takes nothing else back.
#[cfg(feature = "kill-points")]
#[test]
fn an_undo_ends_the_one_that_was_killed_and_says_so() {
    let mut project = failed_in_c();
    let to = checkpoint_of(&project, "a");
    project.command(["rewind", &to]).expect(0);
    project.set_env("ONWARD_KILL_POINT", "vcs.restore-one:1");
    project.command(["undo"]).expect(137);
    project.remove_env("ONWARD_KILL_POINT");
    project.command(["undo"]).expect(0).err_names(["the undo that was cut off", "ended"]);
    assert_eq!(files(&project), Some(At::B));
    assert_eq!(state(&project.command(["status", "--json"]).json()), At::B);
}
