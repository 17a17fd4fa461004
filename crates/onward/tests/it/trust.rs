//! Stories about stores that came from elsewhere: looked at, and used once a person has said so.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use onward_testkit::TestProject;

use crate::project;

const PLAN: &str = "
onward: 1
name: demo
phases:
  a: { run: step a, fingerprint: [echo looked >> ../looked; echo one] }
  b: { needs: a, run: step b 'test -e go' }
";

/// A project whose run failed in its second phase.
fn failed_in_b() -> TestProject {
    let project = project();
    project.plan(PLAN);
    project.command(["run"]).expect(1);
    project
}

fn copy(from: &Path, to: &Path) {
    let done = Command::new("cp").arg("-a").args([from, to]).status().expect("cp starts");
    assert!(done.success());
}

/// A store is tracked by git and comes with a clone. It can be looked at and nothing in it is executed, until a person trusts it.
#[test]
fn a_store_that_came_with_a_clone_is_only_looked_at() {
    let theirs = failed_in_b();
    theirs.git(["init", "-q", "-b", "main"]);
    theirs.git(["add", "-A", "-f"]);
    theirs.git(["-c", "user.name=E", "-c", "user.email=e@example.org", "commit", "-q", "-m", "all"]);
    let project = project();
    fs::remove_dir(project.dir()).expect("an empty folder");
    fs::create_dir(project.dir()).expect("a new folder");
    project.git([Path::new("clone"), Path::new("-q"), &theirs.dir(), &project.dir()]);
    let looked = project.root().join("looked");
    let status = project.command(["status", "--json"]).expect(0).json();
    assert!(status["warnings"][0].as_str().is_some_and(|words| words.contains("onward trust")), "{status}");
    assert!(status["resume"].is_null(), "a resume is refused, and is told as the way on: {status}");
    project.command(["run", "--dry-run"]).expect(0).err_names(["onward trust"]);
    project.command(["resume", "--dry-run"]).expect(0);
    for words in [&["run"][..], &["resume"], &["run", "--fresh"], &["checkpoint"], &["doctor", "--repair"], &["init"]] {
        let said = project.command(words.iter().copied()).expect(74).err_names(["onward trust", ".onward"]);
        assert!(!said.err.contains("panicked"), "{said}");
    }
    assert!(!looked.exists(), "the fingerprint of the stored plan was executed");
    assert_eq!(project.order("begin"), Vec::<String>::new());
    project.command(["trust"]).expect(0).err_names(["runs in it: 1, unfinished: 1"]);
    project.write("go", "");
    project.command(["resume"]).expect(0);
    assert!(looked.exists());
    assert_eq!(project.order("end"), ["b"]);
    project.command(["trust"]).expect(0).err_names(["yours already"]);
}

/// One's own project is copied, and then moved. The copy is somebody's word away from being used; the move is nobody's business.
#[test]
fn a_copy_wants_a_word_and_a_move_does_not() {
    let project = failed_in_b();
    let copied = project.root().join("copied");
    copy(&project.dir(), &copied);
    let in_copy = |words: &[&str]| {
        let mut command = project.prepare(words.iter().copied());
        command.current_dir(&copied);
        project.spawn(command).wait()
    };
    in_copy(&["run"]).expect(74).err_names(["it was copied"]);
    in_copy(&["list"]).expect(0);
    in_copy(&["trust", "--json"]).expect(0);
    fs::write(copied.join("go"), "").expect("a file");
    in_copy(&["resume"]).expect(0);
    let moved = project.root().join("moved");
    fs::rename(project.dir(), &moved).expect("a move");
    fs::write(moved.join("go"), "").expect("a file");
    let mut command = project.prepare(["resume"]);
    command.current_dir(&moved);
    project.spawn(command).wait_code(0);
    fs::create_dir(project.dir()).expect("a folder for what is left");
}

/// A database is put into the place of one's own: by an archive that was unpacked over the project, say.
#[test]
fn a_database_from_elsewhere_is_not_taken_for_ones_own() {
    let (project, theirs) = (failed_in_b(), failed_in_b());
    fs::remove_file(project.path(".onward/onward.db")).expect("it was there");
    copy(&theirs.path(".onward/onward.db"), &project.path(".onward/onward.db"));
    project.command(["resume"]).expect(74).err_names(["it was replaced", "onward trust"]);
}

/// Files of one's own store get under version control. From then on a pull can replace them, and nobody would see it.
#[test]
fn a_store_that_git_tracks_wants_a_word() {
    let project = failed_in_b();
    project.git_init();
    project.command(["checkpoint"]).expect(0);
    project.git(["add", "-f", ".onward/onward.db-wal"]);
    project.command(["checkpoint"]).expect(74).err_names(["git tracks", "onward.db-wal"]);
    project.command(["trust"]).expect(0);
    project.command(["checkpoint"]).expect(0);
}

/// A team keeps its configuration and plan under version control. Whoever clones them starts without a word.
#[test]
fn a_configuration_in_a_clone_is_no_store() {
    let project = project();
    project.write(".onward/config.yaml", "resume: { auto: never }\n");
    project.write(".onward/plan.yaml", "onward: 1\nname: team\nphases:\n  a: { run: step a }\n");
    project.git_init();
    project.command(["run"]).expect(0);
    project.ran_once(["a"]);
}

/// A phase's command cannot grant itself what a person has to.
#[test]
fn no_phase_trusts_a_store() {
    let project = project();
    project.plan("onward: 1\nname: sly\nphases:\n  a: { run: onward trust }\n");
    project.command(["run"]).expect(1);
    let said = project.command(["logs", "@", "a"]).expect(0);
    assert!(said.out.contains("nothing is trusted from inside a phase"), "{said}");
}

/// There is a link in the store. No word makes that safe.
#[test]
fn a_store_with_a_link_in_it_is_not_trusted() {
    let theirs = failed_in_b();
    for place in ["state/linked", "attempts/linked", "run/linked", "blobs/linked", "linked"] {
        let project = project();
        copy(&theirs.path(".onward"), &project.path(".onward"));
        symlink(project.home(), project.path(".onward").join(place)).expect("a link");
        project.command(["trust"]).expect(74).err_names([place, "symbolic link"]);
    }
}

/// The settings of the repository name a filter. A commit along the way is not made with it, nor without it, until it is trusted.
#[test]
fn a_filter_of_the_repository_waits_for_a_word() {
    let project = project();
    project.plan(
        "
        onward: 1
        name: demo
        checkpoint: { git-commit: { every: 1 } }
        phases:
          a: { run: step a 'echo plain > made.txt' }
          b: { needs: a, run: step b 'test -e ../go && echo more >> made.txt' }
        ",
    );
    project.write(".gitattributes", "made.txt filter=shout\n");
    project.write(".gitignore", "go\n");
    project.write("made.txt", "before\n");
    project.git_init();
    project.git(["config", "filter.shout.clean", "touch ../ran; tr a-z A-Z"]);
    let before = project.git(["rev-parse", "HEAD"]);
    let ran = project.root().join("ran");
    let said = project.command(["run"]).expect(1);
    assert!(said.err.contains("onward trust"), "{said}");
    assert!(!ran.exists(), "the filter was run");
    assert_eq!(project.git(["rev-parse", "HEAD"]), before);
    project.command(["trust"]).expect(0);
    fs::write(project.root().join("go"), "").expect("a file");
    project.command(["resume"]).expect(0);
    assert_eq!(project.git(["show", "HEAD:made.txt"]), "PLAIN\nMORE");
    assert!(ran.exists());
}
