//! Finding the project: in the working tree of a fork, and from elsewhere.

use std::fs;
use std::path::Path;

use onward_testkit::{Ran, TestProject};
use serde_json::json;

use crate::project;

const PLAN: &str = "
onward: 1
name: demo
phases:
  a: { run: step a 'echo a > made.txt' }
  b: { needs: a, run: step b 'echo b > made.txt; test -e ../ready' }
";

fn in_folder(project: &TestProject, folder: &Path, words: &[&str]) -> Ran {
    let mut command = project.prepare(words);
    command.current_dir(folder);
    project.spawn(command).wait()
}

/// A run that failed in `b`, and a fork of it from behind `a`, in a folder beside the project. The id of the fork.
fn forked() -> (TestProject, String) {
    let project = project();
    project.plan(PLAN);
    fs::create_dir_all(project.path("below")).expect("our own folder");
    project.write("below/kept.txt", "\n");
    project.git_init();
    project.command(["run"]).expect(1);
    let log = project.command(["log", "--json"]).json();
    let all = log["checkpoints"].as_array().expect("a list").clone();
    let of_a = all.iter().find(|one| one["phase"] == "a" && one["trigger"] == "phase_transition").expect("one of a");
    let words = ["fork", of_a["id"].as_str().expect("an id"), "--worktree", "../beside", "--json"];
    let run = project.command(words).expect(0).json()["run"].as_str().expect("an id").to_owned();
    (project, run)
}

/// Somebody works in the folder of a fork. The verbs find the project there, and a start goes on with the fork and nothing else.
#[test]
fn in_the_folder_of_a_fork_the_project_is_found() {
    let (project, run) = forked();
    let (beside, status) = (project.root().join("beside"), ["status", "--json"]);
    for folder in [beside.clone(), beside.join("below")] {
        assert_eq!(in_folder(&project, &folder, &status).expect(0).json()["run"], json!(run));
        assert_eq!(in_folder(&project, &folder, &["list", "--json"]).json()["runs"].as_array().map(Vec::len), Some(2));
    }
    fs::write(project.root().join("ready"), "").expect("a file");
    in_folder(&project, &beside, &["run"]).expect(0);
    assert_eq!(fs::read_to_string(beside.join("made.txt")).expect("b has run there"), "b\n");
    assert_eq!(project.command(["status", &run, "--json"]).json()["status"], "completed");
    assert_eq!(project.command(["list", "--json"]).json()["runs"].as_array().map(Vec::len), Some(2));
    assert!(!beside.join(".onward").exists(), "the books are the project's");
    // The run of the first tree is the one that is left, and it is offered.
    in_folder(&project, &beside, &["resume"]).expect(0);
    assert_eq!(project.command(["list", "--json"]).json()["runs"][1]["status"], "completed");
    assert_eq!(project.read("made.txt"), "b\n");
}

/// A plan is started in the folder of a fork once nothing is left to go on with: it works there.
#[test]
fn a_start_in_the_folder_of_a_fork_works_there() {
    let (project, _) = forked();
    let beside = project.root().join("beside");
    fs::write(project.root().join("ready"), "").expect("a file");
    project.command(["resume"]).expect(0);
    project.command(["run", "--resume"]).expect(0);
    project.write("made.txt", "mine\n");
    in_folder(&project, &beside, &["run"]).expect(0);
    assert_eq!(project.read("made.txt"), "mine\n");
    assert_eq!(project.command(["list", "--json"]).json()["runs"].as_array().map(Vec::len), Some(3));
}

/// A working tree that somebody made with git, and folders that only say that they are the fork: none of them is believed.
#[test]
fn a_folder_that_is_no_fork_is_not_believed() {
    let (project, _) = forked();
    project.git(["worktree", "add", "-q", "../mine"]);
    let root = project.root().to_owned();
    in_folder(&project, &root.join("mine"), &["status"]).expect(10);
    let copied = root.join("copied");
    fs::create_dir_all(&copied).expect("our own folder");
    fs::copy(root.join("beside/.git"), copied.join(".git")).expect("a file");
    in_folder(&project, &copied, &["status"]).expect(10);
    let planted = root.join("planted");
    let books = planted.join("books/worktrees/beside");
    fs::create_dir_all(&books).expect("our own folder");
    fs::write(planted.join(".git"), format!("gitdir: {}\n", books.display())).expect("a file");
    fs::write(books.join("gitdir"), format!("{}\n", planted.join(".git").display())).expect("a file");
    fs::write(books.join("commondir"), format!("{}\n", project.path(".git").display())).expect("a file");
    in_folder(&project, &planted, &["status"]).expect(10);
    in_folder(&project, &root.join("beside"), &["status"]).expect(0);
}

/// A variable names the project, from a folder that has nothing to do with it. One that names no project is said to.
#[test]
fn a_variable_names_the_project_from_elsewhere() {
    let mut project = project();
    project.plan("onward: 1\nname: demo\nphases:\n  a: { run: step a }\n");
    project.command(["run"]).expect(0);
    let elsewhere = project.root().join("elsewhere");
    fs::create_dir_all(&elsewhere).expect("our own folder");
    in_folder(&project, &elsewhere, &["status"]).expect(10);
    let top = project.dir();
    project.set_env("ONWARD_PROJECT", &top);
    assert_eq!(in_folder(&project, &elsewhere, &["status", "--json"]).expect(0).json()["status"], "completed");
    in_folder(&project, &elsewhere, &["run"]).expect(0);
    assert_eq!(project.count("end", "a"), 2);
    assert!(!elsewhere.join(".onward").exists());
    project.set_env("ONWARD_PROJECT", &elsewhere);
    project.command(["status"]).expect(10).err_names(["elsewhere"]);
    project.set_env("ONWARD_PROJECT", "");
    project.command(["status"]).expect(0);
}

/// The folder of a phase is a link: one that stays in the repository is followed, one that leads out of it is refused before anything is
/// run there, by the phase itself, what it requires, and what proves that it is done.
#[test]
fn no_command_is_run_behind_a_link_out_of_the_project() {
    let project = project();
    let elsewhere = project.root().join("elsewhere");
    fs::create_dir_all(&elsewhere).expect("our own folder");
    fs::create_dir_all(project.path("packages/web")).expect("our own folder");
    std::os::unix::fs::symlink("packages/web", project.path("web")).expect("a link");
    std::os::unix::fs::symlink(&elsewhere, project.path("wd")).expect("a link");
    project.git_init();
    project.plan(
        "
onward: 1
name: demo
on-failure: continue
phases:
  inside: { working-directory: web, run: echo 1 > made }
  outside: { working-directory: wd, run: echo 1 > made }
  required: { working-directory: wd, requires: [{ run: echo 1 > required }], run: 'true' }
  moved: { working-directory: later, run: 'rmdir ../later; ln -s $1 ../later', verify: [echo 1 > proof] }
"
        .replace("$1", elsewhere.to_str().expect("a UTF-8 path"))
        .as_str(),
    );
    fs::create_dir_all(project.path("later")).expect("our own folder");
    let ran = project.command(["run"]).expect(1);
    assert!(project.exists("packages/web/made"), "{ran}");
    assert!(ran.err.contains("its working directory wd is a link out of the project"), "{ran}");
    assert_eq!(fs::read_dir(&elsewhere).expect("a folder").count(), 0, "{ran}");
}

/// The umask lets everybody read and write what is made. Nothing in the store does.
#[test]
fn nothing_in_the_store_is_open_to_others_whatever_the_umask() {
    use std::os::unix::fs::PermissionsExt;
    let project = project();
    project.plan(
        "
onward: 1
name: demo
checkpoint: { git-commit: { every: 1 }, mirror: [pipeline-state, crunch] }
phases:
  a: { run: step a 'echo a > made.txt; echo x=y >> $ONWARD_OUTPUT', artifacts: { made: { path: made.txt, keep: true } } }
  b: { needs: a, run: step b 'echo b > made.txt' }
",
    );
    project.git_init();
    project.write(".claude/pipeline-state.json", "not ours\n");
    let script = "umask 000; \"$0\" run && \"$0\" checkpoint --name n && \"$0\" rewind @ && \"$0\" undo && \"$0\" fork @ --worktree ../beside";
    let command = project.prepare_program("sh", ["-c", script, env!("CARGO_BIN_EXE_onward")]);
    let ran = project.spawn(command).wait();
    assert!(ran.code == 0 || ran.code == 1, "{ran}");
    let (mut folders, mut open) = (vec![project.path(".onward")], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder").flatten() {
            let about = entry.metadata().expect("about a file");
            if about.permissions().mode() & 0o077 != 0 && !about.is_symlink() {
                open.push(format!("{:o} {}", about.permissions().mode(), entry.path().display()));
            }
            if about.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    assert!(open.is_empty(), "{}\n{ran}", open.join("\n"));
}

/// The variable names a folder that is not there, by a slip of the hand. Every verb says so and makes nothing.
#[test]
fn a_project_that_is_named_and_not_there_is_told() {
    let mut project = project();
    project.plan(PLAN);
    project.set_env("ONWARD_PROJECT", project.root().join("nowhere"));
    project.write("state.json", "{}");
    for words in [&["list"][..], &["status"], &["run"], &["save", "t", "x", "--state", "state.json"], &["resume"], &[]]
    {
        project.command(words).expect(10).err_names(["ONWARD_PROJECT", "nowhere"]);
    }
    assert!(!project.root().join("nowhere").exists() && !project.exists(".onward"));
}

/// Two plans lie in files whose names are no text. They would be taken for one work, and are refused by their names.
#[test]
fn plans_with_names_that_are_no_text_are_refused() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let project = project();
    for name in [&b"a\xff.yaml"[..], b"a\xfe.yaml"] {
        let name = OsStr::from_bytes(name);
        fs::write(project.dir().join(name), PLAN).expect("our own folder");
        for verb in ["run", "check"] {
            project.command([OsStr::new(verb), name]).expect(2).err_names(["UTF-8"]);
        }
    }
    assert_eq!(project.ledger().len(), 0);
}
