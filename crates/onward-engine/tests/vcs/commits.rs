//! Mini-commits on the branch.

use std::fs;
use std::path::PathBuf;

use onward_engine::vcs::{
    CheckedOut, CommitRequest, Committed, Hooks, IndexAfter, LeftOut, NotCommitted, Whose, WhyLeftOut,
};

use crate::world::{World, run};

fn looks_secret(content: &[u8]) -> bool {
    content.windows(6).any(|part| part == b"SECRET")
}

fn ask(world: &World, at: &CheckedOut, batch: &str, hooks: Hooks) -> Result<Committed, NotCommitted> {
    world.repository().commit(&CommitRequest {
        run: &run(),
        batch,
        token: "token-1",
        at,
        subject: "checkpoint: a-c complete",
        body: "- a\n- b\n- c",
        trailers: &["Co-Authored-By: Someone <someone@example.org>".to_owned()],
        hooks,
        whose: &|_| Whose::Run,
        has_secret: &looks_secret,
    })
}

fn commit(world: &World) -> Committed {
    ask(world, &world.repository().head(), "1", Hooks::Skip).expect("a commit")
}

/// Files were made, changed and removed. They are in one commit on the branch with its message and trailers; git shows a clean tree
/// and a reflog entry as for any commit.
#[test]
fn everything_is_in_one_commit() {
    let world = World::new();
    world.write("gone.txt", "1\n");
    world.write("folder/file", "1\n");
    world.commit("two");
    fs::remove_file(world.path("gone.txt")).expect("a file");
    fs::remove_dir_all(world.path("folder")).expect("a folder");
    world.write("folder", "a file now\n");
    world.write("tracked.txt", "2\n");
    world.write("new/file.txt", "1\n");
    world.write("made.log", "ignored\n");
    let made = commit(&world);
    assert_eq!(world.git(&["rev-parse", "main"]), made.commit);
    assert_eq!(world.git(&["status", "--porcelain"]), "");
    let names = world.git(&["show", "--format=", "--name-status", "--no-renames", "HEAD"]);
    assert_eq!(names, "A\tfolder\nD\tfolder/file\nD\tgone.txt\nA\tnew/file.txt\nM\ttracked.txt");
    let message = world.git(&["log", "-1", "--format=%s|%an|%(trailers:separator=%x2C)"]);
    assert_eq!(
        message,
        "checkpoint: a-c complete|someone|Co-Authored-By: Someone <someone@example.org>,\
         Onward-Run: run_demo_20260101_120000,Onward-Batch: 1"
    );
    assert_eq!(world.git(&["reflog", "-1", "--format=%gs"]), "commit: checkpoint: a-c complete");
    assert_eq!((made.was_there, made.left_out.len(), made.index), (false, 0, IndexAfter::Updated));
    world.git(&["fsck", "--strict"]);
    assert!(!world.exists(".git/index.lock"));
}

/// The answer to a commit was lost and it is asked for again, after the user has committed on top. There is still one.
#[test]
fn a_commit_is_found_again() {
    let world = World::new();
    let at = world.repository().head();
    world.write("new.txt", "1\n");
    let first = ask(&world, &at, "1", Hooks::Skip).expect("a commit");
    world.write("mine.txt", "1\n");
    world.commit("mine");
    let second = ask(&world, &at, "1", Hooks::Skip).expect("the same commit");
    assert_eq!((second.commit, second.was_there), (first.commit, true));
    world.write("more.txt", "1\n");
    let other = ask(&world, &at, "2", Hooks::Skip).expect("another batch is another commit");
    assert!(!other.was_there);
    assert_eq!(world.git(&["rev-list", "--count", "HEAD"]), "4");
}

/// Nothing changed, or only what is left out. There is no empty commit.
#[test]
fn nothing_to_commit() {
    let world = World::new();
    let head = world.repository().head();
    assert!(matches!(ask(&world, &head, "1", Hooks::Skip), Err(NotCommitted::NothingChanged { .. })));
    world.write("key.txt", "SECRET\n");
    match ask(&world, &head, "1", Hooks::Skip) {
        Err(NotCommitted::NothingChanged { left_out }) => assert_eq!(left_out.len(), 1),
        other => panic!("{other:?}"),
    }
    assert_eq!(world.repository().head(), head);
}

/// The user has part of a file staged, a file taken out of the index, one only announced, and one staged whole. The commit has what is
/// on disk; what they had staged and is not in it is still staged, all else is clean.
#[test]
fn what_the_user_staged_stays_staged() {
    let world = World::new();
    world.write("partly.txt", "1\n");
    world.write("uncached.txt", "1\n");
    world.commit("two");
    world.write("partly.txt", "2\n");
    world.git(&["add", "partly.txt"]);
    world.write("partly.txt", "3\n");
    world.git(&["rm", "-q", "--cached", "uncached.txt"]);
    world.write("announced.txt", "1\n");
    world.git(&["add", "-N", "announced.txt"]);
    world.write("whole.txt", "1\n");
    world.git(&["add", "whole.txt"]);
    world.write("tracked.txt", "2\n");
    commit(&world);
    let names = world.git(&["show", "--format=", "--name-status", "HEAD"]);
    assert_eq!(names, "A\tannounced.txt\nM\tpartly.txt\nM\ttracked.txt\nA\twhole.txt");
    assert_eq!(world.git(&["show", "HEAD:partly.txt"]), "3");
    assert_eq!(world.git(&["show", ":partly.txt"]), "2");
    assert_eq!(world.git(&["status", "--porcelain"]), "MM partly.txt\nD  uncached.txt\n?? uncached.txt");
    world.git(&["fsck", "--strict"]);
}

/// A new file contains a secret, also one that is staged; one has a secret in the name of its folder, a link leads to one; there are a nested repository and a large file. They are not in the commit,
/// are named, and git still lists them as they were.
#[test]
fn what_is_left_out_of_a_commit() {
    let world = World::new();
    world.write("key.txt", "SECRET\n");
    world.write("staged-key.txt", "SECRET\n");
    world.git(&["add", "staged-key.txt"]);
    world.git(&["init", "-q", "nested"]);
    world.write("nested/file", "1\n");
    world.write("large.bin", vec![0; 2_000]);
    world.write("new.txt", "1\n");
    world.write("SECRET/report.txt", "1\n");
    std::os::unix::fs::symlink("https://host/SECRET", world.top.join("link")).expect("a link");
    std::os::unix::fs::symlink("new.txt", world.top.join("plain-link")).expect("a link");
    let repository = world.repository().with_file_bytes_max(1_000);
    let made = repository
        .commit(&CommitRequest {
            run: &run(),
            batch: "1",
            token: "token-1",
            at: &repository.head(),
            subject: "checkpoint",
            body: "",
            trailers: &[],
            hooks: Hooks::Skip,
            whose: &|_| Whose::Run,
            has_secret: &looks_secret,
        })
        .expect("a commit");
    let mut left_out = made.left_out;
    left_out.sort();
    let expected = [
        ("SECRET/report.txt", WhyLeftOut::TokenInName),
        ("key.txt", WhyLeftOut::Token),
        ("large.bin", WhyLeftOut::TooLarge),
        ("link", WhyLeftOut::Token),
        ("nested", WhyLeftOut::Repository),
        ("staged-key.txt", WhyLeftOut::Token),
    ];
    assert_eq!(left_out, expected.map(|(path, why)| LeftOut { path: PathBuf::from(path), why }));
    assert_eq!(world.git(&["show", "--format=", "--name-only", "HEAD"]), "new.txt\nplain-link");
    let listed = "A  staged-key.txt\n?? SECRET/\n?? key.txt\n?? large.bin\n?? link\n?? nested/";
    assert_eq!(world.git(&["status", "--porcelain"]), listed);
}

/// A filter and line endings of the repository apply to a commit as they would to the user's own.
#[test]
fn the_rules_of_the_user_apply() {
    let world = World::new();
    world.git(&["config", "filter.upper.clean", "tr a-z A-Z"]);
    world.git(&["config", "core.autocrlf", "true"]);
    world.write(".gitattributes", "*.up filter=upper\n");
    world.write("low.up", "low\n");
    world.write("dos.txt", "one\r\n");
    let head = world.repository().head();
    match ask(&world, &head, "0", Hooks::Skip) {
        Err(NotCommitted::UntrustedFilter { filter }) => assert_eq!(filter, "upper"),
        other => panic!("a command that the repository names was run: {other:?}"),
    }
    let granted = world.repository().filters_word().expect("settings").expect("a filter");
    onward_store::ownership::mark(&world.store(), &[], &[&granted]).expect("a person says so");
    commit(&world);
    assert_eq!(world.raw(&["show", "HEAD:low.up"]), b"LOW\n");
    assert_eq!(world.raw(&["show", "HEAD:dos.txt"]), b"one\n");
    assert_eq!(world.git(&["status", "--porcelain"]), "");
}

/// Hooks that refuse are in the repository. They run only where they are asked for, and then their answer counts.
#[test]
fn hooks_run_only_if_asked() {
    let world = World::new();
    let trapped = world.folder.path().join("trapped");
    let hook = |name: &str, code: u8| {
        world.write(
            format!(".git/hooks/{name}"),
            format!("#!/bin/sh\necho {name} >> '{}'\nexit {code}\n", trapped.display()),
        );
        world.mode(format!(".git/hooks/{name}"), 0o755);
    };
    hook("pre-commit", 1);
    hook("commit-msg", 0);
    hook("post-commit", 0);
    world.write("new.txt", "1\n");
    let head = world.repository().head();
    match ask(&world, &head, "1", Hooks::Run) {
        Err(NotCommitted::HookRefused { hook, .. }) => assert_eq!(hook, "pre-commit"),
        other => panic!("{other:?}"),
    }
    assert_eq!(world.repository().head(), head);
    ask(&world, &head, "1", Hooks::Skip).expect("a commit");
    assert_eq!(fs::read_to_string(&trapped).expect("a trace"), "pre-commit\n");
    hook("pre-commit", 0);
    world.write("more.txt", "1\n");
    ask(&world, &world.repository().head(), "2", Hooks::Run).expect("a commit");
    assert_eq!(fs::read_to_string(&trapped).expect("a trace"), "pre-commit\npre-commit\ncommit-msg\n");
}

/// The branch was changed, reset, or HEAD is detached, or a merge stands still. Nothing is committed.
#[test]
fn a_branch_that_moved() {
    let world = World::new();
    world.write("two.txt", "1\n");
    world.commit("two");
    let at = world.repository().head();
    world.write("new.txt", "1\n");
    world.git(&["checkout", "-q", "-b", "other"]);
    assert!(matches!(ask(&world, &at, "1", Hooks::Skip), Err(NotCommitted::HeadMoved { .. })));
    world.git(&["checkout", "-q", "main"]);
    world.git(&["reset", "-q", "--soft", "HEAD^"]);
    assert!(matches!(ask(&world, &at, "1", Hooks::Skip), Err(NotCommitted::HeadMoved { .. })));
    world.git(&["checkout", "-q", "--detach"]);
    assert!(matches!(ask(&world, &at, "1", Hooks::Skip), Err(NotCommitted::Busy("HEAD is detached"))));
    world.git(&["checkout", "-q", "main"]);
    world.write(".git/MERGE_HEAD", world.git(&["rev-parse", "HEAD"]));
    assert!(matches!(ask(&world, &at, "1", Hooks::Skip), Err(NotCommitted::Busy("a merge is under way"))));
    assert!(!world.exists(".git/index.lock"));
}

/// Another git holds the index and lets go a moment later. The commit waits. A lock that a killed try of ours left is known and
/// does not stop anything.
#[test]
fn locks_of_the_index() {
    let world = World::new();
    world.write("new.txt", "1\n");
    world.write(".git/index.lock", "");
    let (lock, shadow) = (world.path(".git/index.lock"), world.path(".onward/git/commit-index"));
    let user = std::thread::spawn(move || {
        // By then everything is gathered, and only the lock is missing.
        while !shadow.exists() {
            std::thread::yield_now();
        }
        fs::remove_file(lock).expect("the lock of the test");
    });
    commit(&world);
    user.join().expect("the user's git ends");
    world.write(".git/index.lock", "onward token-1\n");
    world.write("more.txt", "1\n");
    ask(&world, &world.repository().head(), "2", Hooks::Skip).expect("a commit");
    assert!(!world.exists(".git/index.lock"));
    assert_eq!(world.git(&["status", "--porcelain"]), "");
}

/// There is no commit yet, or nobody is known to git. The first commit is made; without a name it is refused in words.
#[test]
fn the_first_commit_and_nobody() {
    let world = World::unborn(&[]);
    world.write("first.txt", "1\n");
    commit(&world);
    assert_eq!(world.git(&["show", "--format=%s", "--name-only", "HEAD"]), "checkpoint: a-c complete\n\nfirst.txt");
    assert_eq!(world.git(&["status", "--porcelain"]), "");
    world.git(&["config", "user.email", ""]);
    world.git(&["config", "user.name", ""]);
    world.write("second.txt", "1\n");
    let refused = ask(&world, &world.repository().head(), "2", Hooks::Skip);
    assert!(matches!(refused, Err(NotCommitted::NoIdentity { .. })), "{refused:?}");
}
