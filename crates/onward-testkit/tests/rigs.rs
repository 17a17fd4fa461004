//! The rigs print their figures whatever happens to them, and say by their exit code whether something broke.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// A program in the place of onward.
fn program(folder: &Path, text: &str) -> PathBuf {
    let path = folder.join("program");
    std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("our own folder");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("our own file");
    path
}

fn rig(folder: &Path, program: &Path, words: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_onward-rigs"));
    command.args(words).arg("--bin").arg(program).env("TMPDIR", folder).stdout(Stdio::piped()).stderr(Stdio::null());
    command.spawn().expect("the rig starts")
}

fn ended(rig: Child) -> (Option<i32>, String) {
    let ended = rig.wait_with_output().expect("the rig ends");
    (ended.status.code(), String::from_utf8_lossy(&ended.stdout).into_owned())
}

/// The program answers nonsense: that is said of each seed, with the figures.
#[test]
fn what_broke_is_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = program(folder.path(), "exit 70");
    let (code, out) = ended(rig(folder.path(), &program, &["kills", "--runs", "3"]));
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("3 of 3 runs"), "{out}");
    assert!(out.contains("3 broke [\"seed 1\", \"seed 2\", \"seed 3\"]"), "{out}");
    assert!(out.contains("play it again: onward-rigs kills --seed 2"), "{out}");
}

/// The rig itself breaks at each of its points, and goes on to the next one.
#[test]
fn a_rig_that_breaks_loses_no_figures() {
    let folder = tempfile::tempdir().expect("a folder");
    // A completed run, and a ledger that nobody can read.
    let script = r#"echo garbage >> "$RIG/ledger"
case $1 in
    list) echo '{"runs":[{"run":"r","plan":"a.yaml"},{"run":"s","plan":"b.yaml"}]}' ;;
    *) echo '{"status":"completed"}' ;;
esac"#;
    let program = program(folder.path(), script);
    let (code, out) = ended(rig(folder.path(), &program, &["kills", "--runs", "2"]));
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("2 of 2 runs") && out.contains("2 broke"), "{out}");
    assert!(out.contains("eight words are wanted"), "{out}");
}

/// Somebody interrupts a rig whose program hangs: it leaves what it plays, prints what it has, and does not call that a success.
#[test]
fn a_rig_that_is_interrupted_prints_its_figures() {
    for words in [&["kills", "--runs", "5", "--tale"][..], &["faults", "--at", "driver:1:5:0", "--tale"]] {
        let folder = tempfile::tempdir().expect("a folder");
        let begun = folder.path().join("begun");
        let program = program(folder.path(), &format!("echo > {}; exec sleep 600", begun.display()));
        let mut rig = rig(folder.path(), &program, words);
        onward_testkit::wait_until("the first command", || begun.exists().then_some(()));
        kill(Pid::from_raw(i32::try_from(rig.id()).expect("process ids fit")), Signal::SIGINT).expect("it is ours");
        let lines = BufReader::new(rig.stdout.take().expect("it was asked for")).lines();
        let out: Vec<String> = lines.map_while(Result::ok).collect();
        let code = rig.wait().expect("the rig ends").code();
        assert_eq!(code, Some(130), "{out:?}");
        assert!(out.iter().any(|line| line.starts_with("0 of ")), "{out:?}");
    }
}
