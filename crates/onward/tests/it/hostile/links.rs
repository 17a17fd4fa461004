//! Links, second names and pipes in the places of files and folders of the store.

use std::fs;
use std::path::Path;

use super::{HARMLESS, Kind, World, nothing_was_found, plant, share};

/// Files of the store; `RUN` is the run that is there, if there is one.
const FILES: [&str; 42] = [
    ".gitignore",
    "config.yaml",
    "HEAD",
    "reserve",
    "made-here",
    "made-here.new",
    "onward.db",
    "onward.db-wal",
    "onward.db-shm",
    "onward.db-journal",
    "limits.json",
    "limits.json.new",
    "limits.lock",
    "run/start.lock",
    "run/RUN.lock",
    "run/RUN.wake",
    "run/RUN.found",
    "run/RUN.new",
    "run/RUN.driver.log",
    "run/mirror.lock",
    "run/housekeeping",
    "mirrors/written.json",
    "git/config",
    "git/config.new",
    "git/config.lock",
    "git/HEAD",
    "git/HEAD.new",
    "git/index",
    "git/index.lock",
    "git/last",
    "git/last.new",
    "git/lock",
    "git/info/attributes",
    "git/info/attributes.new",
    "git/info/exclude",
    "git/info/exclude.new",
    "git/commit-index",
    "git/worktree-index",
    "git/COMMIT_EDITMSG",
    "attempts/RUN/b/1/lock",
    "attempts/RUN/b/2/progress",
    "attempts/RUN/b/2/seen",
];

/// Folders of the store.
const FOLDERS: [&str; 20] = [
    "run",
    "run/looks",
    "blobs",
    "git",
    "git/info",
    "git/objects",
    "git/refs",
    "git/restore",
    "state",
    "state/RUN",
    "state/RUN/b",
    "attempts",
    "attempts/RUN",
    "attempts/RUN/b",
    "attempts/RUN/b/2",
    "artifacts",
    "damaged",
    "mirrors",
    "mirrors/kept",
    "upgraded",
];

/// Files and folders of the project that are written for other tools, from the folder of the store.
const MIRRORS: [&str; 3] =
    ["../.claude/pipeline-state.json", "../.claude/data/checkpoints/RUN.json", "../.git/info/exclude"];
const MIRROR_FOLDERS: [&str; 3] = ["../.claude", "../.claude/crunch", "../.claude/crunch/RUN/checkpoints"];

/// Whether a folder of ours belongs there.
pub(super) fn is_folder(path: &Path) -> bool {
    FOLDERS.iter().chain(&MIRROR_FOLDERS).any(|folder| path.ends_with(folder.replace("RUN", &run_in(path))))
        || path.ends_with(".onward")
        || path.ends_with("checkpoints")
}

fn run_in(path: &Path) -> String {
    let mut parts = path.iter().skip_while(|part| *part != "attempts" && *part != "state").skip(1);
    parts.next().map_or_else(|| "RUN".to_owned(), |part| part.to_string_lossy().into_owned())
}

/// The folder as an archive brings it: nothing but what was planted.
fn in_a_new_project(kinds: &[Kind], places: &[&str]) {
    let places = share(places, 6);
    let mut worlds = Vec::new();
    for (place, kind) in places.iter().flat_map(|place| kinds.iter().map(move |kind| (place, *kind))) {
        let mut world = World::new(&format!("{kind:?} at {place} in a new project"), HARMLESS);
        world.project.git_init();
        plant(&world, &world.project.path(".onward").join(place), kind);
        world.type_everything();
        worlds.push(world);
    }
    nothing_was_found(&worlds);
}

/// The user's own store, into which something was put afterwards: by an archive that was unpacked over it, or by git, which
/// takes ignored files for worthless.
fn in_a_store_of_ones_own(kinds: &[Kind], places: &[&str]) {
    let places = share(places, 6);
    let mut worlds = Vec::new();
    for (place, kind) in places.iter().flat_map(|place| kinds.iter().map(move |kind| (place, *kind))) {
        let mut world = World::new(&format!("{kind:?} at {place} in a store of one's own"), HARMLESS);
        world.project.git_init();
        world.project.command(["run", "--no-input"]).expect(1);
        let attempts = fs::read_dir(world.project.path(".onward/attempts")).expect("attempts");
        let run = attempts.flatten().next().expect("a run").file_name().to_string_lossy().into_owned();
        plant(&world, &world.project.path(".onward").join(place.replace("RUN", &run)), kind);
        world.type_everything();
        worlds.push(world);
    }
    nothing_was_found(&worlds);
}

#[test]
fn soak_no_linked_file_is_written_through_in_a_new_project() {
    in_a_new_project(&[Kind::Link], &FILES);
}

#[test]
fn soak_no_linked_folder_is_written_through_in_a_new_project() {
    in_a_new_project(&[Kind::Link], &FOLDERS);
}

#[test]
fn soak_no_linked_file_is_written_through_in_a_store_of_ones_own() {
    in_a_store_of_ones_own(&[Kind::Link], &FILES);
}

#[test]
fn soak_no_linked_folder_is_written_through_in_a_store_of_ones_own() {
    in_a_store_of_ones_own(&[Kind::Link], &FOLDERS);
}

#[test]
fn soak_no_second_name_is_written_through() {
    in_a_store_of_ones_own(&[Kind::SecondName], &FILES);
}

#[test]
fn soak_nothing_of_others_is_written_through() {
    in_a_store_of_ones_own(&[Kind::Link], &MIRROR_FOLDERS);
    in_a_store_of_ones_own(&[Kind::Link, Kind::SecondName], &MIRRORS);
    // A pipe in the place of the list holds up git itself.
    in_a_store_of_ones_own(&[Kind::Pipe], &MIRRORS[..2]);
}

#[test]
fn soak_no_pipe_holds_anybody_up() {
    // A pipe named `.gitignore`, in whichever folder, holds up git itself; a stop is heard meanwhile.
    let ours: Vec<&str> = FILES.into_iter().filter(|file| *file != ".gitignore").collect();
    in_a_store_of_ones_own(&[Kind::Pipe], &ours);
}

/// The folder of the store is itself a link, to a folder of the user's or to another project's store.
#[test]
fn a_linked_store_is_not_written_through() {
    let mut world = World::new("a linked .onward", HARMLESS);
    world.project.git_init();
    plant(&world, &world.project.path(".onward"), Kind::Link);
    world.type_everything();
    nothing_was_found(&[world]);
}

/// The configuration of the project is a link to a file of the user's that holds a password, a second name of it, or a pipe. No
/// verb tells a line of it.
#[test]
fn a_linked_configuration_is_not_told() {
    for kind in [Kind::Link, Kind::SecondName, Kind::Pipe] {
        let world = World::new("a planted configuration", HARMLESS);
        fs::write(world.victim("file.txt"), "machine: login me\npassword: open-sesame\n").expect("a file");
        plant(&world, &world.project.path(".onward/config.yaml"), kind);
        for words in
            [&["status"][..], &["config", "--origin"], &["list", "--json"], &["doctor"], &["run", "--no-input"]]
        {
            let ran = world.project.command(words);
            let told = format!("{ran}");
            assert!(!told.contains("open-sesame") && !told.contains("login me"), "{kind:?}: {told}");
            assert!(ran.code != 70, "{told}");
        }
        let page = world.project.command(["config"]).expect(74);
        assert!(page.err.contains("config.yaml is not safe to use"), "{page}");
    }
}

/// The whole folder of the store is a link to a folder in which such a file lies.
#[test]
fn a_configuration_behind_a_linked_store_is_not_told() {
    let world = World::new("a linked .onward", HARMLESS);
    fs::write(world.victim("folder/config.yaml"), "password: open-sesame\n").expect("a file");
    plant(&world, &world.project.path(".onward"), Kind::Link);
    for words in [&["status"][..], &["config", "--origin"], &["list", "--json"], &["run", "--no-input"]] {
        let told = format!("{}", world.project.command(words));
        assert!(!told.contains("open-sesame"), "{told}");
    }
}

/// The folder of an attempt, of its phase, of its run, or of all of them leads to what somebody wants shown. `logs` shows nothing
/// of it.
#[test]
fn logs_are_not_read_through_links() {
    for depth in 0..4 {
        let project = crate::project();
        project.plan("onward: 1\nname: demo\nphases:\n  a: { run: 'echo printed' }\n");
        project.command(["run"]).expect(0);
        let run = project.command(["status", "--json"]).expect(0).json()["run"].as_str().expect("an id").to_owned();
        assert!(project.command(["logs"]).expect(0).out.contains("printed"));
        let parts = ["attempts", run.as_str(), "a", "1"];
        let at = parts[..=depth].iter().fold(project.path(".onward"), |path, part| path.join(part));
        let away = project.root().join("away");
        fs::rename(&at, &away).expect("our own folder");
        std::os::unix::fs::symlink(&away, &at).expect("a link");
        let told = project.command(["logs"]);
        assert!(!told.out.contains("printed"), "depth {depth}: {}", told.out);
    }
}
