//! A whole store that somebody else made, with a plan in it that is not the one in the folder.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use onward_testkit::TestProject;

use super::{HARMLESS, World, nothing_was_found, share};
use crate::project;

/// The commands that the stored plan executes: each has its own way of coming to be run.
const STORED: [(&str, &str); 5] = [
    ("fingerprint", "  a: { run: 'true', fingerprint: [EVIL] }\n  b: { needs: a, run: 'false' }\n"),
    ("probe", "  a: { run: 'true' }\n  b: { needs: a, run: 'false' }\n"),
    ("done-when", "  a: { run: 'true' }\n  b: { needs: a, run: 'false', done-when: EVIL }\n"),
    ("verify", "  a: { run: 'true', verify: EVIL }\n  b: { needs: a, run: 'false' }\n"),
    ("run", "  a: { run: 'true' }\n  b: { needs: a, run: 'EVIL; false' }\n"),
];

/// A store with an unfinished run of a plan at `onward.yaml`, made elsewhere.
fn made_elsewhere(world: &World, phases: &str) -> TestProject {
    let evil = world.evil();
    let attacker = project();
    let freshness = format!("freshness: {{ probes: {{ evil: {{ command: {evil}, if-changed: ask }} }} }}\n");
    attacker.plan(&format!("onward: 1\nname: harmless\n{freshness}phases:\n{}", phases.replace("EVIL", &evil)));
    attacker.command(["run", "--no-input"]).expect(1);
    fs::remove_dir_all(world.root().join("pwned")).expect("the attacker's own doing");
    fs::create_dir(world.root().join("pwned")).expect("a new folder");
    attacker
}

fn copy(from: &Path, to: &Path) {
    let done = Command::new("cp").arg("-a").args([from, to]).status().expect("cp starts");
    assert!(done.success());
}

/// The store comes in an archive, beside a plan that is read and found harmless.
#[test]
fn soak_no_stored_plan_of_an_archive_is_executed() {
    let mut worlds = Vec::new();
    for (name, phases) in share(&STORED, 3) {
        let mut world = World::new(&format!("a stored plan with {name}, in an archive"), HARMLESS);
        let attacker = made_elsewhere(&world, phases);
        world.project.git_init();
        copy(&attacker.path(".onward"), &world.project.path(".onward"));
        world.type_everything();
        worlds.push(world);
    }
    nothing_was_found(&worlds);
}

/// The store is tracked by git and comes with a clone.
#[test]
fn soak_no_stored_plan_of_a_clone_is_executed() {
    let mut worlds = Vec::new();
    for (name, phases) in share(&STORED, 3) {
        let mut world = World::new(&format!("a stored plan with {name}, in a clone"), HARMLESS);
        let attacker = made_elsewhere(&world, phases);
        attacker.plan(HARMLESS);
        attacker.git(["init", "-q", "-b", "main"]);
        attacker.git(["add", "-A", "-f"]);
        attacker.git(["-c", "user.name=E", "-c", "user.email=e@example.org", "commit", "-q", "-m", "all"]);
        let theirs = world.project.dir();
        fs::remove_dir_all(&theirs).expect("it can be removed");
        fs::create_dir(&theirs).expect("a new folder");
        world.project.git([Path::new("clone"), Path::new("-q"), &attacker.dir(), &theirs]);
        world.type_everything();
        worlds.push(world);
    }
    nothing_was_found(&worlds);
}

const PROMISOR: &str = "[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tpartialClone = evil\n[remote \"evil\"]\n\
                        \tpromisor = true\n\turl = nowhere\n\tuploadpack = EVIL\n";

/// Settings of a git folder in the store that name commands, and one that leads into a repository of the user's.
#[test]
fn soak_no_planted_private_git_folder_is_used() {
    let planted = [
        ("fsmonitor", "[core]\n\tfsmonitor = EVIL\n"),
        ("hooks", "[core]\n\thooksPath = HOOKS\n"),
        ("include", "[include]\n\tpath = HOOKS/included\n"),
        ("filter", "[filter \"evil\"]\n\tclean = EVIL\n"),
        ("commondir", ""),
        ("promisor", PROMISOR),
    ];
    let mut worlds = Vec::new();
    for (name, text) in share(&planted, 3) {
        for own in [false, true] {
            let mut world =
                World::new(&format!(".onward/git with {name}, {}", if own { "own" } else { "new" }), HARMLESS);
            let (evil, folder) = (world.evil(), world.project.path(".onward/git"));
            world.project.write(".gitattributes", "* filter=evil\n");
            world.project.git_init();
            if own {
                world.project.command(["run", "--no-input"]).expect(1);
                fs::remove_dir_all(&folder).expect("it was made");
            }
            let hooks = folder.join("hooks");
            fs::create_dir_all(&hooks).expect("folders");
            for hook in ["post-index-change", "reference-transaction"] {
                fs::copy(&evil, hooks.join(hook)).expect("a hook");
            }
            fs::write(hooks.join("included"), format!("[core]\n\tfsmonitor = {evil}\n")).expect("a file");
            if name == "commondir" {
                fs::create_dir_all(hooks.join("common/objects")).expect("folders");
                fs::create_dir_all(hooks.join("common/refs")).expect("folders");
                fs::write(hooks.join("common/config"), PROMISOR.replace("EVIL", &evil)).expect("a file");
                fs::write(folder.join("commondir"), "hooks/common\n").expect("a file");
            }
            let fill = |text: &str| text.replace("EVIL", &evil).replace("HOOKS", &hooks.display().to_string());
            fs::write(folder.join("config"), "[core]\n\tbare = false\n".to_owned() + &fill(text)).expect("a file");
            let copied = Command::new("cp").arg(world.project.path(".git/index")).arg(folder.join("index")).status();
            assert!(copied.expect("cp starts").success());
            // A commit that is not there, so that git looks for it elsewhere.
            fs::write(folder.join("HEAD"), format!("{}\n", "1".repeat(40))).expect("a file");
            world.type_everything();
            worlds.push(world);
        }
    }
    nothing_was_found(&worlds);
}

/// The private git folder is a link into a repository of the user's: its HEAD would be detached, its index replaced.
#[test]
fn no_repository_of_the_users_is_taken_for_the_private_one() {
    let mut worlds = Vec::new();
    for own in [false, true] {
        let mut world = World::new("a linked .onward/git", HARMLESS);
        world.victim_repository();
        world.project.git_init();
        let place = world.project.path(".onward/git");
        if own {
            world.project.command(["run", "--no-input"]).expect(1);
            fs::remove_dir_all(&place).expect("it was made");
        } else {
            fs::create_dir(world.project.path(".onward")).expect("a new folder");
        }
        symlink(world.victim("repo/.git"), &place).expect("a link");
        world.type_everything();
        worlds.push(world);
    }
    nothing_was_found(&worlds);
}
