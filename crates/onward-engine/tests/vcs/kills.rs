//! The process is ended as `kill -9` would end it, at every labelled point of a snapshot, a restore and a mini-commit.
//!
//! Only where the labels are compiled in; elsewhere there is nothing to pass.

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::Command;

use onward_engine::vcs::{CheckedOut, CommitRequest, Hooks, NotRestored, Repository, Whose, WhyLeftOut};

use crate::world::{World, run, to};

/// How often a point is passed before it is certainly passed no more.
const PASSES_MAX: u32 = 8;

/// The work of the child, by the name of a story.
fn act(story: &str, top: &Path, at: &CheckedOut, commits: &[String]) {
    let repository = Repository::open(top, &top.join(".onward")).expect("a repository");
    match story {
        "snapshot" => {
            std::fs::write(top.join("late.txt"), "3\n").expect("a file");
            repository.snapshot(&run(), 2, commits.first().map(String::as_str)).expect("a snapshot");
        }
        "restore" => {
            let present = repository.snapshot(&run(), 3, Some(&commits[1])).expect("a snapshot").commit;
            let later = [commits[1].as_str()];
            repository.restore((&run(), 4), &present, &to(&commits[0], &later)).expect("restored");
        }
        "commit" => {
            let request = CommitRequest {
                run: &run(),
                batch: "1",
                token: "token-1",
                at,
                subject: "checkpoint",
                body: "",
                trailers: &[],
                hooks: Hooks::Skip,
                whose: &|_| Whose::Run,
                has_secret: &|_| false,
            };
            repository.commit(&request).expect("a commit");
        }
        "refused" => {
            let present = repository.snapshot(&run(), 3, Some(&commits[1])).expect("a snapshot").commit;
            match repository.restore((&run(), 4), &present, &to(&commits[0], &[&commits[1]])) {
                Err(NotRestored::RolledBack { path, .. }) => assert_eq!(path, Path::new("shut/file.txt")),
                other => panic!("{other:?}"),
            }
        }
        "unreadable" => {
            let taken = repository.snapshot(&run(), 3, Some(&commits[1])).expect("a snapshot");
            let paths: Vec<&Path> = taken.left_out.iter().map(|one| one.path.as_path()).collect();
            assert_eq!(paths, [Path::new("closed"), Path::new("secret.txt")]);
            assert!(taken.left_out.iter().all(|one| one.why == WhyLeftOut::Unreadable));
        }
        other => panic!("no story {other}"),
    }
}

/// Not a test: what is killed.
#[test]
#[ignore = "started by the tests beside it"]
fn child() {
    let Ok(story) = std::env::var("VCS_STORY") else { return };
    let variable = |name: &str| std::env::var(name).expect("set by the test");
    let (top, head) = (variable("VCS_TOP"), variable("VCS_HEAD"));
    let commits: Vec<String> = variable("VCS_COMMITS").split_whitespace().map(str::to_owned).collect();
    act(&story, Path::new(&top), &CheckedOut { commit: Some(head), branch: Some("main".to_owned()) }, &commits);
}

/// Runs a story in a child that is killed at a point; true if it was.
fn killed(world: &World, story: &str, point: &str, at: &CheckedOut, commits: &[String]) -> bool {
    let status =
        in_child(world, story, at, commits).env("ONWARD_KILL_POINT", point).output().expect("it starts").status;
    assert!(status.signal() == Some(9) || status.success(), "{story} at {point}: {status}");
    status.signal() == Some(9)
}

fn in_child(world: &World, story: &str, at: &CheckedOut, commits: &[String]) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", "kills::child", "--ignored", "--quiet"]);
    command.env("VCS_STORY", story).env("VCS_TOP", &world.top).env("VCS_COMMITS", commits.join(" "));
    command.env("VCS_HEAD", at.commit.as_deref().expect("a commit"));
    command
}

/// Runs a story as a user whom permissions stop. Root is stopped by none, so it becomes somebody else for this.
fn as_a_plain_user(world: &World, story: &str, at: &CheckedOut, commits: &[String]) {
    const NOBODY: u32 = 65_534;
    let mut command = in_child(world, story, at, commits);
    if nix::unistd::geteuid().is_root() {
        world.mode(world.folder.path(), 0o755);
        let mut paths = vec![world.top.clone()];
        while let Some(path) = paths.pop() {
            std::os::unix::fs::lchown(&path, Some(NOBODY), Some(NOBODY)).expect("root may");
            if path.symlink_metadata().is_ok_and(|about| about.is_dir()) {
                paths.extend(std::fs::read_dir(&path).expect("a folder").flatten().map(|entry| entry.path()));
            }
        }
        command.uid(NOBODY).gid(NOBODY).env("HOME", &world.top);
    }
    let output = command.output().expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "the story was not told");
}

/// In the middle of a restore a folder refuses to be written. All that was done before is undone, and the refusal is told.
#[test]
fn a_folder_that_refuses() {
    let (world, _, head) = begun();
    world.write("shut/file.txt", "1\n");
    let first = world.snapshot(11, None);
    world.write("shut/file.txt", "2\n");
    world.write("another.txt", "2\n");
    world.write("dir", "2\n");
    world.write("tracked.txt", "changed again\n");
    let second = world.snapshot(12, Some(&first));
    world.mode("shut", 0o555);
    let before = world.things();
    as_a_plain_user(&world, "refused", &head, &[first.commit, second.commit]);
    assert_eq!(world.things(), before);
    world.mode("shut", 0o755);
}

/// A file and a folder cannot be read. The snapshot is taken without them, and both are named.
#[test]
fn what_cannot_be_read() {
    let (world, commits, head) = begun();
    world.write("secret.txt", "1\n");
    world.mode("secret.txt", 0);
    world.write("closed/file.txt", "1\n");
    world.mode("closed", 0);
    as_a_plain_user(&world, "unreadable", &head, &commits);
    world.mode("closed", 0o755);
}

/// A tree with two snapshots and work on top.
fn begun() -> (World, Vec<String>, CheckedOut) {
    let world = World::new();
    world.write("dir/one.txt", "1\n");
    let first = world.snapshot(1, None);
    world.write("tracked.txt", "2\n");
    std::fs::remove_dir_all(world.path("dir")).expect("a folder");
    world.write("dir", "a file now\n");
    world.write("late.txt", "2\n");
    let second = world.snapshot(2, Some(&first));
    let head = world.repository().head();
    (world, vec![first.commit, second.commit], head)
}

fn every_pass(story: &str, points: &[&str], check: impl Fn(&World, &[String], &str)) {
    if !cfg!(feature = "kill-points") {
        return;
    }
    for point in points {
        let mut passed = 0;
        for pass in 1..=PASSES_MAX {
            let (world, commits, head) = begun();
            let place = format!("{point}:{pass}");
            if !killed(&world, story, &place, &head, &commits) {
                break;
            }
            passed = pass;
            act(story, &world.top, &head, &commits);
            check(&world, &commits, &place);
            world.git(&["fsck", "--strict"]);
            assert!(!world.exists(".git/index.lock"), "{place}");
        }
        assert!(passed > 0, "{point} was never passed: the label is gone or the story misses it");
    }
}

/// Killed at any point of a snapshot, the next one is whole, and git looks as it did.
#[test]
fn killed_in_a_snapshot() {
    let points = [
        "vcs.snapshot-begun",
        "vcs.snapshot-looked",
        "vcs.snapshot-indexed",
        "vcs.snapshot-committed",
        "vcs.snapshot-named",
    ];
    every_pass("snapshot", &points, |world, commits, place| {
        let taken = world.git(&["rev-parse", "refs/onward/run_demo_20260101_120000/2"]);
        assert_eq!(world.things_in(&taken), world.things(), "{place}");
        assert_ne!(taken, commits[0], "{place}");
        assert_eq!(world.git(&["status", "--porcelain"]), " M tracked.txt\n?? dir\n?? late.txt", "{place}");
    });
}

/// Killed at any point of a restore, doing it again finishes it.
#[test]
fn killed_in_a_restore() {
    let points =
        ["vcs.restore-checked", "vcs.restore-staged", "vcs.restore-one", "vcs.restore-placed", "vcs.snapshot-looked"];
    every_pass("restore", &points, |world, commits, place| {
        assert_eq!(world.things(), world.things_in(&commits[0]), "{place}");
    });
}

/// Killed at any point of a mini-commit, doing it again makes exactly one, and git shows a clean tree.
#[test]
fn killed_in_a_mini_commit() {
    let points = [
        "vcs.commit-checked",
        "vcs.commit-gathered",
        "vcs.commit-made",
        "vcs.commit-locked",
        "vcs.commit-moved",
        "vcs.commit-index-ready",
        "vcs.commit-index-in-place",
    ];
    every_pass("commit", &points, |world, _, place| {
        assert_eq!(world.git(&["rev-list", "--count", "HEAD"]), "2", "{place}");
        assert_eq!(world.git(&["status", "--porcelain"]), "", "{place}");
        let left: Vec<_> = std::fs::read_dir(world.path(".git")).expect("a folder").flatten().collect();
        let ours = left.iter().filter(|entry| entry.file_name().to_string_lossy().contains("onward")).count();
        assert_eq!(ours, 0, "{place}: something of ours is left in git's folder");
    });
}
