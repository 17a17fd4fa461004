//! A database that is not what it was, met by every verb: it is named with its path, nothing is changed, and there is a way
//! out.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use onward_testkit::TestProject;

use crate::project;

const CHAIN: &str = "
onward: 1
name: demo
phases:
  a: { run: step a }
  x: { needs: a, run: step x }
  b: { needs: x, run: \"step b 'test -e fixed'\" }
";

/// Every verb that needs the store, in a form that finds something where it is whole.
const VERBS: [&[&str]; 31] = [
    &["status"],
    &["list"],
    &["log"],
    &["log", "--events"],
    &["show", "latest"],
    &["logs"],
    &["why", "latest", "b"],
    &["graph", "latest"],
    &["diff", "@-", "@"],
    &["run"],
    &["run", "--resume"],
    &["run", "--fresh"],
    &["run", "--dry-run"],
    &["resume"],
    &["resume", "--dry-run"],
    &["fork", "latest"],
    &["rewind", "@-"],
    &["undo"],
    &["checkpoint"],
    &["save", "implement", "x", "--state", "state.json"],
    &["load", "implement"],
    &["state", "get"],
    &["state", "merge", "state.json"],
    &["next"],
    &["report", "start", "b"],
    &["approve", "latest", "b"],
    &["retry", "latest", "b"],
    &["pause", "latest"],
    &["cancel", "latest"],
    &["prune", "--dry-run"],
    &["delete", "latest", "--yes"],
];

fn failed() -> TestProject {
    let project = project();
    project.plan(CHAIN);
    project.write("state.json", "{\"x\":1}");
    project.command(["run"]).expect(1);
    let log = fs::metadata(project.path(".onward/onward.db-wal")).map_or(0, |log| log.len());
    assert_eq!(log, 0, "what is only in the log is not damaged with the database");
    project
}

fn database(project: &TestProject) -> PathBuf {
    project.path(".onward/onward.db")
}

/// Every verb ends with one of these codes, names the database and leaves every byte as it is; so does the doctor.
#[track_caller]
fn named_by_every_verb(project: &TestProject, codes: &[i32]) {
    let path = database(project).canonicalize().unwrap_or_else(|_| database(project)).display().to_string();
    let before = project.tree();
    for words in VERBS {
        let ran = project.command(words);
        assert!(codes.contains(&ran.code), "{words:?}: {ran}");
        assert!(ran.code == 0 || ran.err.contains(&path), "{words:?} does not name {path}: {ran}");
        assert!(ran.code == 0 || ran.err.contains("onward doctor"), "{words:?} says nothing to do: {ran}");
    }
    let bare = project.command([] as [&str; 0]);
    assert!(codes.contains(&bare.code) && (bare.code == 0 || bare.err.contains(&path)), "{bare}");
    let found = project.command(["doctor"]).expect(12);
    assert!(found.out.contains(".onward/onward.db") || found.out.contains(".onward/HEAD"), "{found}");
    for words in [&["completions", "bash"][..], &["config"], &["check", "onward.yaml"], &["schema", "plan"]] {
        project.command(words).expect(0);
    }
    assert_eq!(project.tree(), before, "something was changed");
}

/// The repaired store goes on, or can be begun anew.
#[track_caller]
fn both_ways_out(project: &TestProject) {
    project.write("fixed", "");
    let aside = project.command(["run", "--fresh", "--damaged", "aside"]).expect(0).err_names([".onward/damaged/"]);
    assert!(!aside.err.contains("error"), "{aside}");
    assert_eq!((project.count("end", "a"), project.count("end", "b")), (2, 1));
    let kept: Vec<PathBuf> =
        fs::read_dir(project.path(".onward/damaged")).expect("a folder").flatten().map(|at| at.path()).collect();
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert!(kept[0].join("attempts").is_dir() && kept[0].join("report.json").is_file(), "{kept:?}");
    project.command(["doctor"]).expect(0);
    project.command(["status"]).expect(0);
}

#[test]
fn overwritten_with_text() {
    let project = failed();
    fs::write(database(&project), "not a database at all\n".repeat(500)).expect("a file");
    named_by_every_verb(&project, &[12]);
    both_ways_out(&project);
}

#[test]
fn cut_to_nothing() {
    let project = failed();
    fs::write(database(&project), "").expect("a file");
    named_by_every_verb(&project, &[12]);
    both_ways_out(&project);
}

#[test]
fn cut_to_a_hundred_bytes() {
    let project = failed();
    let bytes = fs::read(database(&project)).expect("a file");
    fs::write(database(&project), &bytes[..100]).expect("a file");
    named_by_every_verb(&project, &[12]);
    both_ways_out(&project);
}

#[test]
fn a_header_of_nonsense() {
    let project = failed();
    let mut bytes = fs::read(database(&project)).expect("a file");
    bytes[..100].fill(0x5a);
    fs::write(database(&project), bytes).expect("a file");
    named_by_every_verb(&project, &[12]);
    both_ways_out(&project);
}

#[test]
fn pages_of_nonsense() {
    let project = failed();
    let mut bytes = fs::read(database(&project)).expect("a file");
    bytes[4096..].fill(0x5a);
    fs::write(database(&project), bytes).expect("a file");
    named_by_every_verb(&project, &[12]);
    both_ways_out(&project);
}

#[test]
fn taken_away() {
    let project = failed();
    for name in ["onward.db", "onward.db-wal", "onward.db-shm"] {
        drop(fs::remove_file(project.path(".onward").join(name)));
    }
    named_by_every_verb(&project, &[12]);
    both_ways_out(&project);
}

/// An old copy was put back: it reads well, and what is looked for was in what is gone.
#[test]
fn an_old_copy_put_back() {
    let project = project();
    project.plan(CHAIN);
    project.command(["list"]).expect(0);
    project.write("state.json", "{\"x\":1}");
    project.command(["save", "early", "x", "--state", "state.json"]).expect(0);
    let old = fs::read(database(&project)).expect("a file");
    project.command(["run"]).expect(1);
    fs::write(database(&project), old).expect("a file");
    for beside in ["onward.db-wal", "onward.db-shm"] {
        drop(fs::remove_file(project.path(".onward").join(beside)));
    }
    let path = database(&project).canonicalize().expect("a path").display().to_string();
    let finds_nothing: [&[&str]; 6] = [
        &["resume"],
        &["resume", "demo"],
        &["show", "CP-b"],
        &["load", "implement"],
        &["status", "demo"],
        &["next", "--run", "demo"],
    ];
    for words in finds_nothing {
        project.command(words).expect(12).err_names([path.as_str()]);
    }
}

/// A folder stands in its place. Nothing is guessed about it.
#[test]
fn a_folder_in_its_place() {
    let project = failed();
    fs::remove_file(database(&project)).expect("a file");
    fs::create_dir(database(&project)).expect("a folder");
    let path = database(&project).canonicalize().expect("a path").display().to_string();
    for words in VERBS {
        let ran = project.command(words);
        assert!(ran.code == 74 && ran.err.contains(&path), "{words:?}: {ran}");
    }
}

/// Without an answer nothing happens: both answers are named as they can be typed, also for programs. A phase of the old run
/// that is still at work is in the way of putting its records aside.
#[test]
fn the_way_out_is_offered_and_never_taken_unasked() {
    let project = failed();
    fs::write(database(&project), "gone").expect("a file");
    let before = project.tree();
    let offered = project.command(["run", "--fresh"]).expect(12);
    let offered = offered.err_names(["onward run --fresh --damaged repair", "onward run --fresh --damaged aside"]);
    assert!(!offered.err.contains("rm "), "{offered}");
    let told = project.command(["run", "--fresh", "--json"]).expect(12).json_lines();
    assert_eq!(told.last().map(|last| last["code"].clone()), Some(12.into()), "{told:?}");
    assert_eq!(project.tree(), before);
    project.write("fixed", "");
    project.command(["run", "--fresh", "--damaged", "repair"]).expect(0);
    project.command(["doctor"]).expect(0);
}

/// The disk fails while something is made to last. Nobody claims to know whether it is there; the next command settles it and
/// goes on.
#[test]
fn a_flush_that_fails_is_told_as_what_it_is() {
    let mut project = project();
    project.plan(CHAIN);
    let (source, built) = (project.path("flush.c"), project.path("flush.so"));
    fs::write(&source, include_str!("../../../onward-store/tests/it/flush.c")).expect("a file");
    let made = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&built).arg(&source).status();
    assert!(made.is_ok_and(|status| status.success()), "a C compiler");
    project.write("one.json", "{\"n\":1}");
    project.write("two.json", "{\"n\":2}");
    project.write("three.json", "{\"n\":3}");
    project.command(["save", "work", "x", "--state", "one.json"]).expect(0);
    project.write("now", "");
    for (name, value) in
        [("LD_PRELOAD", built), ("FLUSH_FAILS", project.path("now")), ("FLUSH_OF", "onward.db-wal".into())]
    {
        project.set_env(name, value);
    }
    let told = project.command(["save", "work", "x", "--state", "two.json"]).expect(74);
    let told = told.err_names(["not known whether it was saved", "onward.db", "onward status"]);
    assert!(!told.err.contains("not saved"), "{told}");
    assert!(!project.exists("now"), "this test needs a flush that fails");
    let found = project.command(["doctor", "--json"]).expect(0).json();
    assert_eq!(found["findings"][0]["code"], "flush-failed", "{found}");
    project.command(["save", "work", "x", "--state", "three.json"]).expect(0);
    assert_eq!(project.command(["load", "work"]).expect(0).json()["workflow_state"]["n"], 3);
    let found = project.command(["doctor", "--json"]).expect(0).json();
    assert_eq!(found["findings"].as_array().map(Vec::len), Some(0), "{found}");
}

/// At a terminal the way out is asked about; whoever says nothing leaves everything as it is.
#[test]
fn the_way_out_is_asked_about_at_a_terminal() {
    let project = failed();
    fs::write(database(&project), "gone").expect("a file");
    let before = project.tree();
    let mut terminal = project.terminal(["run", "--fresh"]);
    terminal.expect("(a)side");
    terminal.send("\n");
    terminal.wait_code(12);
    assert_eq!(project.tree(), before);
    project.write("fixed", "");
    let mut terminal = project.terminal(["run", "--fresh"]);
    terminal.expect("(a)side");
    terminal.send("a\n");
    terminal.wait_code(0);
    project.command(["doctor"]).expect(0);
}

/// A phase of the lost run is still at work. Its records are not put aside under it.
#[test]
fn nothing_is_put_aside_under_a_phase_at_work() {
    let project = project();
    project.plan(&CHAIN.replace("step x", "step x hold"));
    let driver = project.start(["run"]);
    project.wait_ledger("begin", "x", 1);
    driver.kill();
    fs::write(database(&project), "gone").expect("a file");
    drop(fs::remove_file(project.path(".onward/onward.db-wal")));
    drop(fs::remove_file(project.path(".onward/onward.db-shm")));
    project.command(["run", "--fresh", "--damaged", "aside"]).expect(11).err_names(["still at work"]);
    assert!(database(&project).exists() && !project.exists(".onward/damaged"), "something was moved");
    project.open("x");
    project.wait_ledger("end", "x", 1);
}

/// The last save is in the log only, and the beginning of the database is damaged, in one way after the other. Where a verb
/// says that all is left as it is, the log is not copied into the database either. A repair says that the end is gone.
#[test]
fn a_damaged_beginning_with_a_log_is_left_as_it_is() {
    let project = failed();
    for _ in 0..2 {
        project.command(["checkpoint"]).expect(0);
    }
    let files = [".onward/onward.db", ".onward/onward.db-wal", ".onward/HEAD"].map(|name| project.path(name));
    let whole = files.each_ref().map(|path| fs::read(path).expect("a file"));
    assert!(whole[1].len() > 4096, "this test needs a log");
    for (from, to) in [(0, 16), (16, 18), (28, 32), (44, 48), (56, 60), (0, 4096)] {
        for words in [&["run"][..], &["checkpoint"], &["status"], &["doctor"]] {
            drop(fs::remove_file(project.path(".onward/onward.db-shm")));
            for (path, bytes) in files.iter().zip(&whole) {
                fs::write(path, bytes).expect("a file");
            }
            let mut damaged = whole[0].clone();
            damaged[from..to].fill(0x5a);
            fs::write(&files[0], &damaged).expect("a file");
            let ran = project.command(words).expect(12);
            let now = files.each_ref().map(|path| fs::read(path).unwrap_or_default());
            let same = now[0] == damaged && now[1..] == whole[1..];
            assert!(same, "{words:?} changed what it left as it is, bytes {from} to {to}: {ran}");
        }
    }
}

/// The head file knows how far the books went. A repair that cannot bring all of that back says so.
#[test]
fn a_repair_says_that_the_end_is_gone() {
    for is_all_there in [true, false] {
        let project = failed();
        project.command(["checkpoint"]).expect(0);
        let mut bytes = fs::read(database(&project)).expect("a file");
        bytes[..16].fill(0x5a);
        fs::write(database(&project), bytes).expect("a file");
        if !is_all_there {
            drop(fs::remove_file(project.path(".onward/onward.db-wal")));
        }
        let done = project.command(["doctor", "--repair", "--json"]).expect(0).json();
        let said = done["repaired"].as_array().expect("a list").iter().any(|one| one["code"] == "end-lost");
        assert_eq!(said, !is_all_there, "{done:#}");
    }
}
