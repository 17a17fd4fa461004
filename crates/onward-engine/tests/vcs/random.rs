//! Any sequence of edits, snapshots, restores and undos.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use onward_engine::vcs::TreeSnapshot;
use proptest::prelude::*;

use crate::world::{Thing, World, run, to};

const PATHS: [&str; 8] = ["a", "b", "a/x", "a/y/z", "b/x", "b/with blank", "-c", "ü/ö"];

#[derive(Clone, Debug)]
enum Edit {
    Write(usize, u8),
    Remove(usize),
    Executable(usize),
    Link(usize, usize),
    Rename(usize, usize),
    Snapshot,
    Restore(usize),
    Undo,
}

fn edit() -> impl Strategy<Value = Edit> {
    let path = || 0..PATHS.len();
    prop_oneof![
        4 => (path(), any::<u8>()).prop_map(|(path, content)| Edit::Write(path, content)),
        2 => path().prop_map(Edit::Remove),
        1 => path().prop_map(Edit::Executable),
        1 => (path(), path()).prop_map(|(path, to)| Edit::Link(path, to)),
        1 => (path(), path()).prop_map(|(from, to)| Edit::Rename(from, to)),
        3 => Just(Edit::Snapshot),
        2 => any::<usize>().prop_map(Edit::Restore),
        1 => Just(Edit::Undo),
    ]
}

/// Makes room for something at a path: what is there goes, and so does a file or a link where a folder has to be.
fn make_room(world: &World, path: &str) {
    for above in Path::new(path).ancestors().skip(1).filter(|above| *above != Path::new("")) {
        if fs::symlink_metadata(world.path(above)).is_ok_and(|about| !about.is_dir()) {
            fs::remove_file(world.path(above)).expect("a file");
        }
    }
    fs::create_dir_all(world.path(path).parent().expect("a parent")).expect("folders");
    let full = world.path(path);
    match fs::symlink_metadata(&full) {
        Ok(about) if about.is_dir() => fs::remove_dir_all(&full).expect("a folder"),
        Ok(_) => fs::remove_file(&full).expect("a file"),
        Err(_) => {}
    }
}

/// The snapshots so far, oldest first, each with what was there.
struct Books {
    world: World,
    snapshots: Vec<(TreeSnapshot, BTreeMap<PathBuf, Thing>)>,
    /// The tree before the last restore, and the snapshot that the restore left.
    undo: Option<(TreeSnapshot, BTreeMap<PathBuf, Thing>, TreeSnapshot)>,
    number: u64,
}

impl Books {
    fn snapshot(&mut self) -> TreeSnapshot {
        self.number += 1;
        let taken = self.world.snapshot(self.number, self.snapshots.last().map(|(last, _)| last));
        let mut things = self.world.things();
        things.remove(Path::new("keep.log"));
        assert_eq!(self.world.things_in(&taken.commit), things);
        self.snapshots.push((taken.clone(), things));
        taken
    }

    fn bring(&mut self, target: &TreeSnapshot, later: &[String]) -> TreeSnapshot {
        let present = self.snapshot();
        let later: Vec<&str> = later.iter().map(String::as_str).chain([present.commit.as_str()]).collect();
        self.number += 1;
        let restored =
            self.world.repository().restore((&run(), self.number), &present.commit, &to(&target.commit, &later));
        restored.expect("restored").snapshot
    }

    fn expect(&self, expected: &BTreeMap<PathBuf, Thing>) {
        let mut things = self.world.things();
        assert!(things.remove(Path::new("keep.log")).is_some(), "an ignored file is gone");
        assert_eq!(&things, expected);
    }

    fn restore(&mut self, choice: usize) {
        if self.snapshots.is_empty() {
            return;
        }
        let at = choice % self.snapshots.len();
        let (target, expected) = self.snapshots[at].clone();
        let later: Vec<String> = self.snapshots[at..].iter().map(|(one, _)| one.commit.clone()).collect();
        let mut before = self.world.things();
        before.remove(Path::new("keep.log"));
        let restored = self.bring(&target, &later);
        self.expect(&expected);
        let present = self.snapshots.last().expect("just taken").0.clone();
        self.undo = Some((present, before, restored.clone()));
        self.snapshots.push((restored, expected));
    }

    fn undo(&mut self) {
        if let Some((target, expected, restored)) = self.undo.take() {
            self.bring(&target, &[restored.commit]);
            self.expect(&expected);
        }
    }

    fn edit(&mut self, edit: &Edit) {
        let world = &self.world;
        match edit {
            Edit::Write(path, content) => {
                make_room(world, PATHS[*path]);
                world.write(PATHS[*path], [*content, b'\r', b'\n']);
            }
            Edit::Remove(path) => make_room(world, PATHS[*path]),
            Edit::Executable(path) => {
                if fs::symlink_metadata(world.path(PATHS[*path])).is_ok_and(|about| about.is_file()) {
                    world.mode(PATHS[*path], 0o755);
                }
            }
            Edit::Link(path, to) => {
                make_room(world, PATHS[*path]);
                symlink(PATHS[*to], world.path(PATHS[*path])).expect("a link");
            }
            Edit::Rename(from, to) => {
                if from != to && !PATHS[*to].starts_with(PATHS[*from]) && world.exists(PATHS[*from]) {
                    make_room(world, PATHS[*to]);
                    // What makes room may have taken it along.
                    let _ = fs::rename(world.path(PATHS[*from]), world.path(PATHS[*to]));
                }
            }
            Edit::Snapshot => drop(self.snapshot()),
            Edit::Restore(choice) => self.restore(*choice),
            Edit::Undo => self.undo(),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, max_shrink_iters: 60, failure_persistence: None, ..ProptestConfig::default() })]

    /// Files, links and folders come, go and change places, and snapshots are brought back and undone in between.
    /// Each time the bytes and modes are exactly those of the snapshot, and ignored files are never touched.
    #[test]
    fn snapshots_come_back_exactly(edits in proptest::collection::vec(edit(), 4..28)) {
        let world = World::new();
        world.git(&["config", "core.autocrlf", "input"]);
        world.write("keep.log", "ignored, precious\n");
        let mut books = Books { world, snapshots: Vec::new(), undo: None, number: 0 };
        for edit in &edits {
            books.edit(edit);
        }
        prop_assert_eq!(books.world.git(&["rev-list", "--count", "HEAD"]), "1");
    }
}
