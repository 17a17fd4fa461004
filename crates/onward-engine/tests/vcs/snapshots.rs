//! Taking snapshots of the working tree.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use onward_engine::vcs::{LeftOut, Repository, WhyLeftOut};

use crate::world::{World, file, run, to};

fn left_out(path: &str, why: WhyLeftOut) -> LeftOut {
    LeftOut { path: PathBuf::from(path), why }
}

/// There are staged, unstaged, untracked and stashed changes when a snapshot is taken. It has what is on disk, and nothing that the
/// user sees of git is different afterwards.
#[test]
fn a_snapshot_leaves_git_as_it_was() {
    let world = World::new();
    world.write("tracked.txt", "stashed\n");
    world.git(&["stash", "-q"]);
    world.write("tracked.txt", "staged\n");
    world.git(&["add", "tracked.txt"]);
    world.write("tracked.txt", "unstaged\n");
    world.write("new.txt", "untracked\n");
    world.write("made.log", "ignored\n");
    let index = fs::read(world.path(".git/index")).expect("an index");
    let before = world.what_users_see();
    let taken = world.snapshot(1, None);
    assert_eq!(fs::read(world.path(".git/index")).expect("an index"), index);
    assert_eq!(world.what_users_see(), before);
    let things = world.things_in(&taken.commit);
    assert_eq!(things.get(Path::new("tracked.txt")), Some(&file("unstaged\n")));
    assert_eq!(things.get(Path::new("new.txt")), Some(&file("untracked\n")));
    assert_eq!(things.len(), 3, "with .gitignore, without what is ignored: {things:?}");
    assert_eq!(world.git(&["rev-parse", "refs/onward/run_demo_20260101_120000/1"]), taken.commit);
    world.git(&["fsck", "--strict"]);
}

/// Nothing changes between two snapshots. The second makes no commit and no ref.
#[test]
fn an_unchanged_tree_is_not_snapshotted_twice() {
    let world = World::new();
    world.write("new.txt", "1\n");
    let first = world.snapshot(1, None);
    let second = world.snapshot(2, Some(&first));
    assert!(second.same_as_last);
    assert_eq!((&second.commit, &second.tree), (&first.commit, &first.tree));
    assert_eq!(world.git_code(&["rev-parse", "--verify", "-q", "refs/onward/run_demo_20260101_120000/2"]).0, Some(1));
    world.write("new.txt", "2\n");
    let third = world.snapshot(2, Some(&second));
    assert!(!third.same_as_last);
    world.write("new.txt", "1\n");
    let back = world.snapshot(3, Some(&first));
    assert!(back.same_as_last, "it is what the first one was, though the shadow went on");
}

/// The repository asks for line endings, a filter, a keyword and another encoding. The snapshot has the very bytes of the disk.
#[test]
fn bytes_are_taken_as_they_are() {
    for autocrlf in ["true", "input", "false"] {
        let world = World::new();
        world.git(&["config", "core.autocrlf", autocrlf]);
        world.git(&["config", "filter.upper.clean", "tr a-z A-Z"]);
        world.git(&["config", "filter.upper.required", "true"]);
        world.write(
            ".gitattributes",
            "*.txt text\n*.up filter=upper\n*.id ident\n*.wide text working-tree-encoding=UTF-16\n*.auto text=auto eol=crlf\n",
        );
        let wide: Vec<u8> = "\u{feff}hi\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        world.write("dos.txt", "one\r\ntwo\r\n");
        world.write("mixed.auto", "one\r\ntwo\n");
        world.write("low.up", "low\n");
        world.write("key.id", "$Id: something $\n");
        world.write("text.wide", &wide);
        world.commit("converted");
        let taken = world.snapshot(1, None);
        assert_eq!(world.things_in(&taken.commit), world.things(), "autocrlf {autocrlf}");
        world.write("late.txt", "three\r\n");
        let taken = world.snapshot(2, Some(&taken));
        assert_eq!(world.things_in(&taken.commit), world.things(), "autocrlf {autocrlf}, the second time");
    }
}

/// Names have blanks, line breaks, dashes, other alphabets and bytes that are no text; there are links and executable files.
/// All of them are in the snapshot as they are on disk.
#[test]
fn odd_names_modes_and_links() {
    let world = World::new();
    world.git(&["config", "core.quotePath", "true"]);
    for name in
        ["a b", "line\nbreak", "-rf", "--all", "ünïcödé/日本", "tab\there", "q\"uote", "back\\slash", ":colon", "*star"]
    {
        world.write(name, name);
    }
    world.write(OsStr::from_bytes(b"bytes\xff\xfe"), "not text");
    world.write("run.sh", "#!/bin/sh\n");
    world.mode("run.sh", 0o755);
    symlink("nowhere", world.path("broken")).expect("a link");
    symlink("ünïcödé", world.path("folder-link")).expect("a link");
    let first = world.snapshot(1, None);
    assert_eq!(world.things_in(&first.commit), world.things());
    world.mode("run.sh", 0o644);
    fs::remove_file(world.path("a b")).expect("a file");
    fs::remove_file(world.path("broken")).expect("a link");
    world.write("broken", "a file now");
    let second = world.snapshot(2, Some(&first));
    assert_eq!(world.things_in(&second.commit), world.things());
}

/// A folder becomes a file, a file a folder, and a folder a link to itself under another name. The snapshot follows.
#[test]
fn files_and_folders_change_places() {
    let world = World::new();
    world.write("folder/deep/file", "1");
    world.write("file", "2");
    world.write("moved/inside", "3");
    let first = world.snapshot(1, None);
    fs::remove_dir_all(world.path("folder")).expect("a folder");
    world.write("folder", "now a file");
    fs::remove_file(world.path("file")).expect("a file");
    world.write("file/in/it", "now a folder");
    fs::rename(world.path("moved"), world.path("elsewhere")).expect("a folder");
    symlink("elsewhere", world.path("moved")).expect("a link");
    let second = world.snapshot(2, Some(&first));
    assert_eq!(world.things_in(&second.commit), world.things());
}

/// There are a nested repository, a submodule, a large file, a store that an ignore rule wants back, and a pipe.
/// None is in the snapshot, and those that a user would miss are named.
#[test]
fn what_is_left_out_is_named() {
    let world = World::new();
    let other = World::new();
    world.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        other.top.to_str().expect("text"),
        "sub",
    ]);
    world.commit("with a submodule");
    world.git(&["init", "-q", "nested"]);
    world.write("nested/file", "not ours");
    world.git(&["init", "-q", "nested-with-a-commit"]);
    world.git(&[
        "-C",
        "nested-with-a-commit",
        "-c",
        "user.name=a",
        "-c",
        "user.email=b",
        "commit",
        "-qm",
        "x",
        "--allow-empty",
    ]);
    world.write("large.bin", vec![0; 2_000]);
    world.write(".gitignore", "*.log\n!.onward\n!.onward/**\n");
    fs::remove_file(world.store().join(".gitignore")).expect("a file");
    world.write(".onward/secret", "never");
    let repository = world.repository().with_file_bytes_max(1_000);
    let taken = repository.snapshot(&run(), 1, None).expect("a snapshot");
    let expected = [
        left_out("large.bin", WhyLeftOut::TooLarge),
        left_out("nested", WhyLeftOut::Repository),
        left_out("nested-with-a-commit", WhyLeftOut::Repository),
        left_out("sub", WhyLeftOut::Repository),
    ];
    assert_eq!(taken.left_out, expected);
    let paths: Vec<PathBuf> = world.things_in(&taken.commit).into_keys().collect();
    assert_eq!(paths, [".gitignore", ".gitmodules", "tracked.txt"].map(PathBuf::from));
    let again = repository.snapshot(&run(), 2, Some(&taken.commit)).expect("a snapshot");
    assert!(again.same_as_last);
    assert_eq!(again.left_out, expected, "they are named each time");
    world.write("tracked.txt", vec![b'x'; 2_000]);
    let grown = repository.snapshot(&run(), 2, Some(&taken.commit)).expect("a snapshot");
    assert!(!world.things_in(&grown.commit).contains_key(Path::new("tracked.txt")), "an old content would be a lie");
}

/// A store was planted in the commits of a clone. It is in no snapshot all the same.
#[test]
fn a_tracked_store_is_in_no_snapshot() {
    let world = World::new();
    world.write(".onward/planted", "1");
    world.git(&["add", "-f", ".onward/planted"]);
    world.git(&["commit", "-qm", "planted"]);
    let taken = world.snapshot(1, None);
    assert!(!world.things_in(&taken.commit).keys().any(|path| path.starts_with(".onward")));
}

/// Hooks, a file system monitor and filters of the repository write a trace when they are started. A snapshot starts none.
#[test]
fn nothing_of_the_repository_is_started() {
    let world = World::new();
    let trap = format!("#!/bin/sh\necho \"$0\" >> '{}'\ncat\n", world.folder.path().join("trapped").display());
    for hook in
        ["pre-commit", "post-commit", "post-checkout", "post-index-change", "reference-transaction", "pre-auto-gc"]
    {
        world.write(format!(".git/hooks/{hook}"), &trap);
        world.mode(format!(".git/hooks/{hook}"), 0o755);
    }
    world.write(".git/monitor", &trap);
    world.mode(".git/monitor", 0o755);
    let monitor = world.path(".git/monitor");
    for name in ["core.fsmonitor", "filter.trap.clean", "filter.trap.smudge", "diff.trap.command", "diff.trap.textconv"]
    {
        world.git(&["-c", "core.fsmonitor=false", "config", name, monitor.to_str().expect("text")]);
    }
    world.write(".gitattributes", "* filter=trap diff=trap\n");
    world.write("new.txt", "1\n");
    let trapped = world.folder.path().join("trapped");
    let _ = fs::remove_file(&trapped);
    let first = world.snapshot(1, None);
    world.write("new.txt", "2\n");
    let second = world.snapshot(2, Some(&first));
    let repository = world.repository();
    repository.changes(&first.commit, &second.commit).expect("changes");
    let mut text = Vec::new();
    repository.diff_text(&first.commit, &second.commit, &mut text).expect("a diff");
    assert!(String::from_utf8_lossy(&text).contains("+2"));
    let present = second.commit.as_str();
    repository.restore((&run(), 3), present, &to(&first.commit, &[present])).expect("restored");
    assert_eq!(fs::read_to_string(&trapped).unwrap_or_default(), "", "what was started");
}

/// A linked working tree has an index and a HEAD of its own. Its snapshot has its files, and its ref is seen from the main one.
#[test]
fn a_linked_working_tree() {
    let main = World::new();
    let linked = main.folder.path().canonicalize().expect("a path").join("linked");
    main.git(&["worktree", "add", "-q", "-b", "side", linked.to_str().expect("text")]);
    let world = World { folder: tempfile::TempDir::new().expect("a folder"), top: linked };
    world.make_store();
    world.write("only-here.txt", "1\n");
    let taken = world.snapshot(1, None);
    assert_eq!(world.things_in(&taken.commit), world.things());
    assert_eq!(main.git(&["rev-parse", "refs/onward/run_demo_20260101_120000/1"]), taken.commit);
    let head = world.repository().head();
    assert_eq!((head.branch.as_deref(), head.commit), (Some("side"), Some(main.git(&["rev-parse", "HEAD"]))));
}

/// A branch without a commit, and a repository with long names of objects. Both can be snapshotted.
#[test]
fn an_unborn_branch_and_sha256() {
    for options in [&[] as &[&str], &["--object-format=sha256"]] {
        let world = World::unborn(options);
        assert_eq!(world.repository().head().branch.as_deref(), Some("main"));
        assert_eq!(world.repository().head().commit, None);
        let empty = world.snapshot(1, None);
        world.write("first.txt", "1\n");
        let taken = world.snapshot(2, Some(&empty));
        assert_eq!(world.things_in(&taken.commit), world.things());
        world.commit("one");
        let taken = world.snapshot(3, Some(&taken));
        assert!(taken.same_as_last);
        world.git(&["fsck", "--strict"]);
    }
}

/// The project is a folder below the top of the repository. Its snapshot has its own files only, by the ignore rules of all folders.
#[test]
fn a_project_below_the_top() {
    let world = World::new();
    world.write("beside.txt", "changed\n");
    world.write("below/mine.txt", "1\n");
    world.write("below/made.log", "ignored by the rule above\n");
    fs::create_dir(world.path("below/.onward")).expect("a folder");
    let repository = Repository::open(&world.path("below"), &world.path("below/.onward")).expect("a repository");
    let first = repository.snapshot(&run(), 1, None).expect("a snapshot");
    assert_eq!(world.things_in(&first.commit).into_keys().collect::<Vec<_>>(), [PathBuf::from("below/mine.txt")]);
    world.write("below/mine.txt", "2\n");
    world.write("beside.txt", "changed again\n");
    let second = repository.snapshot(&run(), 2, Some(&first.commit)).expect("a snapshot");
    let changes = repository.changes(&first.commit, &second.commit).expect("changes");
    assert_eq!(changes.iter().map(|change| change.path.clone()).collect::<Vec<_>>(), [PathBuf::from("mine.txt")]);
    repository.restore((&run(), 3), &second.commit, &to(&first.commit, &[])).expect("restored");
    assert_eq!(world.read("below/mine.txt").as_deref(), Some("1\n"));
    assert_eq!(world.read("beside.txt").as_deref(), Some("changed again\n"));
}

/// Files are marked as unchanged in the user's index though they are not, one is only meant to be added, and a merge stands still
/// with a conflict. The snapshot goes by the disk.
#[test]
fn marks_in_the_index_do_not_deceive() {
    let world = World::new();
    world.write("assumed.txt", "1\n");
    world.write("skipped.txt", "1\n");
    world.commit("two");
    world.git(&["update-index", "--assume-unchanged", "assumed.txt"]);
    world.git(&["update-index", "--skip-worktree", "skipped.txt"]);
    world.write("assumed.txt", "2\n");
    world.write("skipped.txt", "2\n");
    world.write("meant.txt", "meant\n");
    world.git(&["add", "-N", "meant.txt"]);
    world.git(&["rm", "-q", "--cached", "tracked.txt"]);
    let before = world.what_users_see();
    let taken = world.snapshot(1, None);
    assert_eq!(world.things_in(&taken.commit), world.things());
    assert_eq!(world.what_users_see(), before);
}

/// The last onward was killed while its git worked in the shadow: locks and half an index are left. The next snapshot is right.
#[test]
fn leftovers_in_the_shadow() {
    let world = World::new();
    let first = world.snapshot(1, None);
    world.write(".onward/git/index.lock", "half");
    world.write("new.txt", "1\n");
    let second = world.snapshot(2, Some(&first));
    assert_eq!(world.things_in(&second.commit), world.things());
    let index = fs::read(world.path(".onward/git/index")).expect("an index");
    world.write(".onward/git/index", &index[..index.len() / 2]);
    world.write(".onward/git/HEAD", "nonsense");
    world.write("new.txt", "2\n");
    let third = world.snapshot(3, Some(&second));
    assert_eq!(world.things_in(&third.commit), world.things());
}

/// Folders have not changed for long when files and folders are put into them, also into some that git has never seen a tracked file
/// in. The next snapshot has all of them, though git remembers which folders it need not read.
#[test]
fn new_files_in_old_folders() {
    let world = World::new();
    world.write("old/tracked.txt", "1\n");
    world.commit("two");
    world.write("old/untracked/first.txt", "1\n");
    fs::create_dir_all(world.path("old/empty/deep")).expect("folders");
    let age = |path: &str| {
        let long_ago = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_hours(400_000);
        fs::File::open(world.path(path)).and_then(|folder| folder.set_modified(long_ago)).expect("a folder");
    };
    for folder in ["old/empty/deep", "old/empty", "old/untracked", "old", "."] {
        age(folder);
    }
    let first = world.snapshot(1, None);
    let second = world.snapshot(2, Some(&first));
    assert!(second.same_as_last);
    for path in
        ["old/second.txt", "old/untracked/second.txt", "old/empty/deep/file.txt", "top.txt", "new/folder/file.txt"]
    {
        world.write(path, "1\n");
        let taken = world.snapshot(3, Some(&first));
        assert_eq!(world.things_in(&taken.commit), world.things(), "{path}");
    }
    fs::remove_file(world.path("old/untracked/first.txt")).expect("a file");
    let taken = world.snapshot(4, Some(&first));
    assert_eq!(world.things_in(&taken.commit), world.things());
}

/// A file was in a snapshot, and then the user has git ignore it. The next snapshot is without it; a tracked file that is ignored as
/// well stays in.
#[test]
fn what_is_ignored_later_leaves_the_snapshots() {
    let world = World::new();
    world.write("notes.txt", "one\n");
    let first = world.snapshot(1, None);
    assert!(world.things_in(&first.commit).contains_key(Path::new("notes.txt")));
    world.write(".gitignore", "notes.txt\ntracked.txt\n");
    world.write("notes.txt", "two\n");
    let second = world.snapshot(2, Some(&first));
    let things = world.things_in(&second.commit);
    assert!(!things.contains_key(Path::new("notes.txt")), "{things:?}");
    assert!(things.contains_key(Path::new("tracked.txt")), "{things:?}");
}

/// `.git` is a file that leads to a folder inside the working tree. Nothing of that folder is in a snapshot, and going back works.
#[test]
fn a_git_folder_inside_the_tree_is_in_no_snapshot() {
    let world = World::new();
    fs::rename(world.path(".git"), world.path("books")).expect("a folder of ours");
    world.write(".git", "gitdir: books\n");
    let first = world.snapshot(1, None);
    assert!(!world.things_in(&first.commit).keys().any(|path| path.starts_with("books")));
    world.write("new.txt", "1\n");
    let second = world.snapshot(2, Some(&first));
    let repository = world.repository();
    let present = second.commit.as_str();
    repository.restore((&run(), 3), present, &to(&first.commit, &[present])).expect("restored");
    assert!(!world.exists("new.txt") && world.exists("books/HEAD"));
}
