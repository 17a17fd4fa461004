//! A repository with a configuration that names commands, as an archive brings it.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::{HARMLESS, WITH_COMMITS, World, nothing_was_found, share};

/// Lines added to `.git/config`; `EVIL` is the command, `VICTIM` a folder of the user's, `ROOT` the folder around all.
const KEYS: [(&str, &str); 30] = [
    ("core.fsmonitor", "[core]\n\tfsmonitor = EVIL\n"),
    ("core.hooksPath", "[core]\n\thooksPath = ROOT/hooks\n"),
    ("core.sshCommand", "[core]\n\tsshCommand = EVIL\n"),
    ("core.gitProxy", "[core]\n\tgitProxy = EVIL\n"),
    ("core.askPass", "[core]\n\taskPass = EVIL\n"),
    ("core.pager", "[core]\n\tpager = EVIL\n[pager]\n\tstatus = EVIL\n\tlog = EVIL\n"),
    ("core.editor", "[core]\n\teditor = EVIL\n[sequence]\n\teditor = EVIL\n"),
    ("core.alternateRefsCommand", "[core]\n\talternateRefsCommand = EVIL\n"),
    (
        "core.attributesFile",
        "[core]\n\tattributesFile = ROOT/attributes\n[filter \"evil\"]\n\tclean = EVIL\n\tsmudge = EVIL\n",
    ),
    ("core.worktree", "[core]\n\tworktree = VICTIM/folder\n"),
    ("filter.clean", "[filter \"evil\"]\n\tclean = EVIL\n\tsmudge = EVIL\n"),
    ("filter.required", "[filter \"evil\"]\n\tclean = EVIL\n\tsmudge = EVIL\n\trequired = true\n"),
    ("filter.process", "[filter \"evil\"]\n\tprocess = EVIL\n"),
    ("diff.external", "[diff]\n\texternal = EVIL\n"),
    ("diff.textconv", "[diff \"evil\"]\n\ttextconv = EVIL\n\tcommand = EVIL\n"),
    ("merge.driver", "[merge \"evil\"]\n\tdriver = EVIL\n"),
    (
        "gpg.program",
        "[gpg]\n\tprogram = EVIL\n[commit]\n\tgpgsign = true\n[log]\n\tshowSignature = true\n[tag]\n\tgpgsign = true\n",
    ),
    ("credential.helper", "[credential]\n\thelper = !EVIL\n"),
    ("include.path", "[include]\n\tpath = ROOT/included\n"),
    ("includeIf", "[includeIf \"gitdir:**\"]\n\tpath = ROOT/included\n"),
    ("worktreeConfig", "[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tworktreeConfig = true\n"),
    ("uploadpack.packObjectsHook", "[uploadpack]\n\tpackObjectsHook = EVIL\n"),
    ("submodule.update", "[submodule \"evil\"]\n\tupdate = !EVIL\n\tactive = true\n\turl = ./evil\n"),
    ("alias", "[alias]\n\tstatus = !EVIL\n\trev-parse = !EVIL\n\tconfig = !EVIL\n\tls-files = !EVIL\n"),
    ("interactive.diffFilter", "[interactive]\n\tdiffFilter = EVIL\n[receive]\n\tprocReceiveRefs = refs\n"),
    ("promisor uploadpack", "PROMISOR\n\turl = ROOT/nowhere\n\tuploadpack = EVIL\n"),
    (
        "promisor ext",
        "PROMISOR\n\turl = \"ext::EVIL\"\n[protocol]\n\tallow = always\n[protocol \"ext\"]\n\tallow = always\n",
    ),
    (
        "promisor ssh",
        "PROMISOR\n\turl = ssh://example.invalid/x\n[core]\n\tsshCommand = EVIL\n[ssh]\n\tvariant = simple\n",
    ),
    ("promisor git proxy", "PROMISOR\n\turl = git://example.invalid/x\n[core]\n\tgitProxy = EVIL\n"),
    ("promisor vcs", "PROMISOR\n\tvcs = evil\n\turl = x\n"),
];

const PROMISOR: &str = "[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tpartialClone = evil\n[remote \"evil\"]\n\
                        \tpromisor = true\n\tpartialCloneFilter = blob:none";

const HOOKS: [&str; 9] = [
    "pre-commit",
    "commit-msg",
    "prepare-commit-msg",
    "post-commit",
    "post-checkout",
    "post-index-change",
    "reference-transaction",
    "fsmonitor-watchman",
    "post-rewrite",
];

fn repository(name: &str, config: &str, plan: &str) -> World {
    let world = World::new(name, plan);
    let evil = world.evil();
    let root = world.root().display().to_string();
    let project = &world.project;
    project.write(".gitattributes", "* filter=evil diff=evil merge=evil\n");
    project.write("sub/one.txt", "one\n");
    project.git_init();
    let fill = |text: &str| {
        let text = text.replace("PROMISOR", PROMISOR).replace("VICTIM", "ROOT/victim");
        text.replace("ROOT", &root).replace("EVIL", &evil)
    };
    fs::write(world.root().join("attributes"), "* filter=evil\n").expect("a file");
    fs::write(
        world.root().join("included"),
        fill("[core]\n\tfsmonitor = EVIL\n\thooksPath = ROOT/hooks\n\tsshCommand = EVIL\n"),
    )
    .expect("a file");
    fs::create_dir(world.root().join("hooks")).expect("a folder");
    // A helper of git by its name, in case a planted word is taken for a transport.
    fs::copy(&evil, world.root().join("bin/git-remote-evil")).expect("a program");
    for folder in [world.root().join("hooks"), project.path(".git/hooks")] {
        fs::create_dir_all(&folder).expect("a folder");
        for hook in HOOKS {
            fs::copy(&evil, folder.join(hook)).expect("a hook");
            fs::set_permissions(folder.join(hook), fs::Permissions::from_mode(0o755)).expect("a mode");
        }
    }
    if name == "worktreeConfig" {
        project.write(".git/config.worktree", fill("[core]\n\tfsmonitor = EVIL\n\thooksPath = ROOT/hooks\n"));
    }
    if config.starts_with("PROMISOR") {
        // A tracked file that git looks for in the index, and whose content is not there.
        let blob = project.git(["rev-parse", "HEAD:.gitattributes"]);
        fs::remove_file(project.path(".gitattributes")).expect("it was there");
        fs::remove_file(project.path(format!(".git/objects/{}/{}", &blob[..2], &blob[2..]))).expect("it was there");
    }
    let path = project.path(".git/config");
    let text = fs::read_to_string(&path).expect("a configuration") + &fill(config);
    fs::write(path, text).expect("it can be written");
    // Looks as if it had changed, so that git wants to compare it.
    project.write("sub/one.txt", "other\n");
    world
}

/// The commands that a repository names in its configuration are git's to run when its user says so. Nothing that is typed here
/// says so: none of them is executed.
fn no_key_is_executed(plan: &str, keys: &[(&str, &str)]) {
    let worlds: Vec<World> = share(keys, 5)
        .into_iter()
        .map(|(name, config)| {
            let mut world = repository(name, config, plan);
            world.type_everything();
            world
        })
        .collect();
    nothing_was_found(&worlds);
}

#[test]
fn soak_no_key_of_a_hostile_repository_is_executed() {
    no_key_is_executed(HARMLESS, &KEYS);
}

#[test]
fn soak_no_key_is_executed_by_commits_along_the_way() {
    no_key_is_executed(WITH_COMMITS, &KEYS);
}
