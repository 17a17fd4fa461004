//! Keeping and removing snapshots.

use std::fs;

use onward_core::plan::globs::Globs;
use onward_engine::vcs::{Repository, Without};

use crate::world::{World, run};

/// Of four snapshots two are to be kept, after git has packed its refs. The others are gone, and those of other runs are untouched.
#[test]
fn snapshots_are_let_go() {
    let world = World::new();
    let mut last = None;
    for number in 1..=4 {
        world.write("tracked.txt", format!("{number}\n"));
        last = Some(world.snapshot(number, last.as_ref()));
    }
    let other = onward_core::id::RunId::new("run_demo_20260101_120000-2");
    world.repository().snapshot(&other, 1, None).expect("a snapshot");
    world.git(&["pack-refs", "--all"]);
    let dropped = world.repository().drop_snapshots(&run(), &|number, _| [2, 4].contains(&number)).expect("dropped");
    assert_eq!(dropped, 2);
    let left = world.git(&["for-each-ref", "--format=%(refname:lstrip=2)", "refs/onward"]);
    assert_eq!(left, "run_demo_20260101_120000-2/1\nrun_demo_20260101_120000/2\nrun_demo_20260101_120000/4");
    let commit = last.expect("a snapshot").commit;
    assert!(world.repository().has_commit(&commit).expect("an answer"));
    assert!(!world.repository().has_commit(&"0".repeat(commit.len())).expect("an answer"));
}

/// A snapshot is taken to a working tree of its own. It has the very bytes, on a branch of its own, as changes that are not staged.
#[test]
fn a_working_tree_of_its_own() {
    let world = World::new();
    world.git(&["config", "core.autocrlf", "true"]);
    world.write("tracked.txt", "dos\r\nlines\r\n");
    world.write("new.sh", "new\n");
    world.mode("new.sh", 0o755);
    let taken = world.snapshot(1, None);
    let folder = world.folder.path().join("fork");
    let head = world.repository().head().commit.expect("a commit");
    world.repository().add_worktree(&folder, "fork", &head, &taken.commit).expect("a working tree");
    let fork = World { folder: tempfile::TempDir::new().expect("a folder"), top: folder.clone() };
    assert_eq!(fork.things(), world.things());
    assert_eq!(fork.git(&["branch", "--show-current"]), "fork");
    assert_eq!(fork.git(&["status", "--porcelain"]), " M tracked.txt\n?? new.sh");
    let again = world.repository().add_worktree(&folder, "fork-2", &head, &taken.commit);
    assert!(again.is_err(), "there is something already");
}

/// A phase wrote a list and made a file, in a folder that the user works in as well. Only what its globs mean is put back.
#[test]
fn only_what_globs_mean_is_put_back() {
    let world = World::new();
    world.write("list.txt", "old\n");
    world.write("notes.txt", "before\n");
    let first = world.snapshot(1, None);
    world.write("list.txt", "old\nnew\n");
    world.write("made/by/phase.txt", "half\n");
    world.write("made/by/hand.log", "ignored\n");
    world.write("notes.txt", "mine\n");
    let present = world.snapshot(2, Some(&first));
    let globs = Globs::new(&["list.txt", "made/**"]).expect("globs");
    let restored = world
        .repository()
        .restore_paths(&present.commit, &first.commit, &|path| globs.mean(path.as_os_str().as_encoded_bytes()));
    assert_eq!(restored.expect("restored").changes.len(), 2);
    assert_eq!(world.read("list.txt").as_deref(), Some("old\n"));
    assert_eq!(world.read("notes.txt").as_deref(), Some("mine\n"));
    assert!(!world.exists("made/by/phase.txt"));
    assert!(world.exists("made/by/hand.log"), "what is ignored is not touched");
}

/// There is no repository, a bare one, or none that git reads. Each is told in words, the first without starting git.
#[test]
fn without_a_repository() {
    let world = World::new();
    let outside = world.folder.path().join("outside");
    fs::create_dir(&outside).expect("a folder");
    let open = |folder: &std::path::Path| Repository::open(folder, &folder.join(".onward")).map(drop);
    assert!(matches!(open(&outside), Err(Without::NoRepository)));
    assert!(matches!(open(&world.path(".git")), Err(Without::Bare)));
    fs::create_dir(outside.join(".git")).expect("a folder");
    let broken = open(&outside).expect_err("it is empty");
    assert!(!broken.to_string().is_empty());
}

/// HEAD is on a packed branch, on one with a slash, detached, in a repository with tables of refs where git has them.
/// It is read right each time.
#[test]
fn where_head_is() {
    let world = World::new();
    let commit = world.git(&["rev-parse", "HEAD"]);
    let seen = || {
        let head = world.repository().head();
        (head.branch, head.commit)
    };
    world.git(&["pack-refs", "--all"]);
    assert_eq!(seen(), (Some("main".to_owned()), Some(commit.clone())));
    world.git(&["checkout", "-q", "-b", "feature/one"]);
    assert_eq!(seen(), (Some("feature/one".to_owned()), Some(commit.clone())));
    world.git(&["checkout", "-q", "--detach"]);
    assert_eq!(seen(), (None, Some(commit)));
    assert_eq!(world.repository().busy(), Some("HEAD is detached"));
    let table = World::unborn(&[]);
    if table.git_code(&["refs", "migrate", "--ref-format=reftable"]).0 == Some(0) {
        table.write("first.txt", "1\n");
        table.commit("one");
        let head = table.repository().head();
        assert_eq!((head.branch.as_deref(), head.commit), (Some("main"), Some(table.git(&["rev-parse", "HEAD"]))));
        let taken = table.snapshot(1, None);
        assert_eq!(table.git(&["rev-parse", "refs/onward/run_demo_20260101_120000/1"]), taken.commit);
    }
}
