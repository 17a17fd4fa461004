//! Every verb after every kind of loss, in a git repository: nothing begins that is on record in git as done or at work, and files of
//! which it is said that they were left are the same to the last byte.

use std::fs;
use std::path::PathBuf;

use onward_testkit::{TestProject, wait_until};

use crate::project;

const PLAN: &str = "
onward: 1
name: demo
phases:
  a: { effects: external, run: step a }
  b: { needs: a, run: \"step b 'test -e more'\" }
  c: { needs: b, run: step c hold }
";

const VERBS: [&[&str]; 21] = [
    &["status"],
    &["list"],
    &["next"],
    &["log"],
    &["show", "latest"],
    &["why", "latest", "a"],
    &["logs"],
    &["run", "--dry-run"],
    &["doctor"],
    &["checkpoint"],
    &["state", "merge", "state.json"],
    &["report", "start", "c"],
    &["retry", "latest", "c"],
    &["rewind", "@-", "--yes"],
    &["undo", "--yes"],
    &["fork", "latest"],
    &["pause", "latest"],
    &["resume"],
    &["run", "--resume"],
    &["run", "--no-input"],
    &["resume", "--no-input", "--orphan", "kill"],
];

const FILES: [&str; 4] = ["onward.db", "onward.db-wal", "HEAD", "made-here"];

/// A project whose phases a and b are done, b at its second try, and whose c was at work when its driver was killed; and the files of
/// its store as they were before that try.
struct Begun {
    project: TestProject,
    early: Vec<(PathBuf, Vec<u8>)>,
}

fn begun() -> Begun {
    let project = project();
    project.plan(PLAN);
    project.write("state.json", "{\"x\":1}");
    project.git_init();
    project.command(["run"]).expect(1);
    let early = files(&project);
    project.write("more", "");
    let driver = project.start(["resume"]);
    project.wait_ledger("begin", "c", 1);
    wait_until("a copy of the journal", || {
        let copy = project.git(["log", "--format=%B", "--glob=refs/onward/*/journal"]);
        (copy.matches("phase_completed").count() >= 2).then_some(())
    });
    driver.kill();
    project.open("c");
    project.wait_ledger("end", "c", 1);
    Begun { project, early }
}

fn files(project: &TestProject) -> Vec<(PathBuf, Vec<u8>)> {
    let paths = FILES.iter().map(|name| project.path(".onward").join(name));
    // An empty log says no more than none.
    let read = paths.filter_map(|path| fs::read(&path).ok().map(|bytes| (path, bytes)));
    read.filter(|(_, bytes)| !bytes.is_empty()).collect()
}

fn begins(project: &TestProject) -> [usize; 3] {
    ["a", "b", "c"].map(|phase| project.count("begin", phase))
}

fn change_database(project: &TestProject, change: impl FnOnce(&mut Vec<u8>)) {
    let path = project.path(".onward/onward.db");
    let mut bytes = fs::read(&path).expect("a database");
    change(&mut bytes);
    fs::write(path, bytes).expect("a file");
}

/// Puts the early files in the place of these, without making new ones.
fn put_back(begun: &Begun, names: &[&str]) {
    drop(fs::remove_file(begun.project.path(".onward/onward.db-shm")));
    for name in names {
        let path = begun.project.path(".onward").join(name);
        let bytes = begun.early.iter().find(|(early, _)| *early == path).map(|(_, bytes)| bytes.clone());
        fs::write(path, bytes.unwrap_or_default()).expect("a file");
    }
}

/// Loses something, tries every verb, repairs, and goes on to the end.
#[track_caller]
fn lost(lose: impl FnOnce(&Begun)) {
    let begun = begun();
    lose(&begun);
    let Begun { project, .. } = &begun;
    let before = (begins(project), files(project));
    for words in VERBS {
        let ran = project.command(words);
        assert_eq!(begins(project), before.0, "{words:?} began something: {ran}");
        assert!([2, 10, 12].contains(&ran.code) || ran.code == 0, "{words:?}: {ran}");
        assert!(ran.code == 12 || !is_a_start(words), "{words:?} does not tell of the loss: {ran}");
        let changed: Vec<PathBuf> =
            files(project).into_iter().filter(|one| !before.1.contains(one)).map(|one| one.0).collect();
        assert!(changed.is_empty(), "{words:?} changed {changed:?}: {ran}");
    }
    project.command(["doctor", "--repair"]).expect(0);
    project.command(["doctor"]).expect(0);
    project.command(["resume"]).expect(0);
    assert_eq!((project.count("end", "a"), project.count("end", "b")), (1, 1));
}

fn is_a_start(words: &[&str]) -> bool {
    words[0] == "run" || words[0] == "resume"
}

#[test]
fn of_the_folder() {
    lost(|begun| fs::remove_dir_all(begun.project.path(".onward")).expect("a folder"));
}

#[test]
fn of_all_that_git_does_not_track() {
    lost(|begun| drop(begun.project.git(["clean", "-fdxq", "-e", "more", "-e", "state.json"])));
}

#[test]
fn of_the_content_of_the_folder() {
    lost(|begun| {
        let all = fs::read_dir(begun.project.path(".onward")).expect("a folder").flatten();
        for entry in all {
            let gone = fs::remove_dir_all(entry.path()).or_else(|_| fs::remove_file(entry.path()));
            gone.expect("it can be removed");
        }
    });
}

#[test]
fn of_a_database_that_is_overwritten() {
    lost(|begun| change_database(&begun.project, |bytes| bytes.fill(b'x')));
}

#[test]
fn of_the_log() {
    lost(|begun| fs::remove_file(begun.project.path(".onward/onward.db-wal")).expect("a log"));
}

#[test]
fn of_the_database_and_its_log() {
    lost(|begun| {
        for name in ["onward.db", "onward.db-wal", "onward.db-shm"] {
            drop(fs::remove_file(begun.project.path(".onward").join(name)));
        }
    });
}

#[test]
fn of_what_came_after_an_old_copy() {
    lost(|begun| put_back(begun, &["onward.db", "onward.db-wal"]));
}

#[test]
fn of_what_came_after_an_old_copy_with_its_head() {
    lost(|begun| put_back(begun, &["onward.db", "onward.db-wal", "HEAD"]));
}

#[test]
fn of_what_came_after_an_old_copy_and_of_the_head() {
    lost(|begun| {
        put_back(begun, &["onward.db", "onward.db-wal"]);
        fs::remove_file(begun.project.path(".onward/HEAD")).expect("a head");
    });
}

/// The head file alone is no loss: the run goes on with what is there.
#[test]
fn of_the_head_alone() {
    let Begun { project, .. } = begun();
    fs::remove_file(project.path(".onward/HEAD")).expect("a head");
    project.command(["status"]).expect(0);
    project.command(["resume"]).expect(0);
    assert_eq!(begins(&project), [1, 2, 1]);
    project.command(["doctor"]).expect(0);
}
