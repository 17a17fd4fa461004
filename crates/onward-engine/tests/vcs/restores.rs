//! Bringing snapshots back.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use onward_engine::vcs::{ChangeKind, NotRestored, RestoredTree, TreeSnapshot};

use crate::world::{World, run, to};

fn restore(
    world: &World,
    present: &TreeSnapshot,
    target: &TreeSnapshot,
    later: &[&TreeSnapshot],
) -> Result<RestoredTree, NotRestored> {
    let later: Vec<&str> = later.iter().map(|one| one.commit.as_str()).collect();
    let numbers = world.git(&["for-each-ref", "refs/onward"]).lines().count() as u64 + 100;
    world.repository().restore((&run(), numbers), &present.commit, &to(&target.commit, &later))
}

/// Files were changed, made, removed and made executable by later work, and the user wrote notes. Restored, all is as it was then,
/// but the notes and ignored files are still there, and git shows the same HEAD and index. Undone, everything is back.
#[test]
fn files_come_back_and_go_back() {
    let world = World::new();
    world.write("made.txt", "a\n");
    world.mode("made.txt", 0o755);
    world.write("dir/deep.txt", "a\n");
    world.write("build.log", "ignored, precious\n");
    let first = world.snapshot(1, None);
    let then = world.things();
    world.write("made.txt", "b\n");
    world.mode("made.txt", 0o600);
    world.write("tracked.txt", "b\n");
    fs::remove_dir_all(world.path("dir")).expect("a folder");
    world.write("late.txt", "b\n");
    let second = world.snapshot(2, Some(&first));
    world.write("notes.txt", "mine\n");
    let before = world.things();
    let index = world.git(&["ls-files", "-s"]);
    let present = world.snapshot(3, Some(&second));
    let seen = world.repository().preview(&present.commit, &to(&first.commit, &[&second.commit])).expect("a preview");
    let kinds: Vec<(&Path, ChangeKind)> = seen.iter().map(|one| (one.path.as_path(), one.kind)).collect();
    let expected = [
        (Path::new("dir/deep.txt"), ChangeKind::Added),
        (Path::new("late.txt"), ChangeKind::Removed),
        (Path::new("made.txt"), ChangeKind::Changed),
        (Path::new("tracked.txt"), ChangeKind::Changed),
    ];
    assert_eq!(kinds, expected);
    let restored = restore(&world, &present, &first, &[&second]).expect("restored");
    let mut things = world.things();
    assert!(things.remove(Path::new("notes.txt")).is_some(), "the notes are the user's");
    assert_eq!(things, then);
    assert_eq!(world.git(&["ls-files", "-s"]), index);
    assert_eq!(world.git(&["symbolic-ref", "HEAD"]), "refs/heads/main");
    restore(&world, &restored.snapshot, &present, &[&restored.snapshot]).expect("undone");
    assert_eq!(world.things(), before);
    assert!(!world.exists("dir"), "an empty folder is not left behind");
}

type Obstruct = fn(&World);

/// Something that no snapshot has lies where a file belongs: an ignored file, a folder with an ignored file in it, a link in the
/// place of a folder. Nothing is touched, and it is named.
#[test]
fn what_lies_in_the_way_is_named() {
    let cases: [(&str, Obstruct, &str); 4] = [
        ("x.log", |world| world.write("x.log", "precious"), "x.log"),
        ("dir/file", |world| world.write("dir", "a file by the user"), "dir"),
        ("file", |world| world.write("file/x.log", "precious"), "file/x.log"),
        ("far/file", |world| symlink(world.folder.path(), world.path("far")).expect("a link"), "far"),
    ];
    for (target, obstruct, named) in cases {
        let world = World::new();
        world.write(".gitignore", "");
        world.write(target, "then\n");
        world.write("other.txt", "then\n");
        let first = world.snapshot(1, None);
        let folder = Path::new(target).components().next().expect("a part");
        let _ = fs::remove_dir_all(world.path(folder));
        let _ = fs::remove_file(world.path(target));
        world.write("other.txt", "now\n");
        world.write(".gitignore", "*.log\n");
        let second = world.snapshot(2, Some(&first));
        obstruct(&world);
        let before = world.things();
        let present = world.snapshot(3, Some(&second));
        match restore(&world, &present, &first, &[&second]) {
            Err(NotRestored::InTheWay { paths }) => assert_eq!(paths, [PathBuf::from(named)]),
            other => panic!("{target}: {other:?}"),
        }
        assert_eq!(world.things(), before, "{target}");
        assert!(!world.folder.path().join("file").exists(), "a link was followed");
    }
}

/// Folders and files changed places since. Restored, each is what it was.
#[test]
fn places_change_back() {
    let world = World::new();
    world.write("folder/deep/file", "1");
    world.write("file", "2");
    symlink("folder", world.path("link")).expect("a link");
    let first = world.snapshot(1, None);
    let then = world.things();
    fs::remove_dir_all(world.path("folder")).expect("a folder");
    world.write("folder", "now a file");
    fs::remove_file(world.path("file")).expect("a file");
    world.write("file/in/it", "now a folder");
    fs::create_dir(world.path("file/empty")).expect("a folder");
    fs::remove_file(world.path("link")).expect("a link");
    world.write("link/is", "a folder");
    let second = world.snapshot(2, Some(&first));
    let now = world.things();
    let restored = restore(&world, &second, &first, &[&second]).expect("restored");
    assert_eq!(world.things(), then);
    restore(&world, &restored.snapshot, &second, &[&restored.snapshot]).expect("undone");
    assert_eq!(world.things(), now);
}

/// The tree changes after the snapshot that protects it. Nothing is restored.
#[test]
fn a_tree_that_moved_is_not_touched() {
    let world = World::new();
    let first = world.snapshot(1, None);
    world.write("tracked.txt", "2\n");
    let present = world.snapshot(2, Some(&first));
    world.write("tracked.txt", "3, in no snapshot\n");
    assert!(matches!(restore(&world, &present, &first, &[&present]), Err(NotRestored::Moved)));
    assert_eq!(world.read("tracked.txt").as_deref(), Some("3, in no snapshot\n"));
}
