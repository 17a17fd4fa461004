//! Stories about commits along the way: what is the run's is committed, what is the user's stays theirs.

use onward_testkit::TestProject;

use crate::project;

/// `FILES` is done by the first phase.
fn plan(files: &str, writes: &str) -> String {
    format!(
        "
onward: 1
name: demo
checkpoint: {{ git-commit: {{ every: 2 }} }}
phases:
  a: {{ name: First things, {writes} run: step a '{files}' }}
  b: {{ needs: a, run: step b 'echo 1 > b.txt' }}
  c: {{ needs: b, run: step c 'echo 1 > c.txt' }}
"
    )
}

/// A repository in which the user is in the middle of something: one file changed, one half staged, one staged, one new, and an
/// `.env` that git does not ignore.
fn in_the_middle_of_something(plan: &str) -> TestProject {
    let project = project();
    project.plan(plan);
    for file in ["mine.txt", "partly.txt", "code.txt"] {
        project.write(file, "1\n");
    }
    project.git_init();
    project.write("mine.txt", "2\n");
    project.write("partly.txt", "2\n");
    project.git(["add", "partly.txt"]);
    project.write("partly.txt", "3\n");
    project.write("staged.txt", "1\n");
    project.git(["add", "staged.txt"]);
    project.write("notes.txt", "1\n");
    project.write(".env", "PASSWORD=hunter2\n");
    project
}

fn committed(project: &TestProject) -> Vec<String> {
    let names = project.git(["show", "--format=", "--name-only", "HEAD"]);
    names.lines().map(str::to_owned).collect()
}

/// The run makes and changes files. Its commit has these and nothing of what the user had changed, staged or left untracked
/// before; index and files of the user are as they were, to the hunk.
#[test]
fn a_commit_takes_what_the_run_changed() {
    for config in ["", "checkpoint: { snapshots: false }\n"] {
        let project = in_the_middle_of_something(&plan("echo 2 > code.txt; echo 1 > a.txt", ""));
        project.command(["init"]).expect(0);
        project.write(".onward/config.yaml", config);
        let theirs = ["mine.txt", "partly.txt", "staged.txt", "notes.txt", ".env"];
        let index = |project: &TestProject| project.git(["ls-files", "-s"].iter().chain(&theirs));
        let before = index(&project);
        project.command(["run"]).expect(0).err_names(["committed", ".env"]);
        assert_eq!(committed(&project), ["a.txt", "b.txt", "code.txt"]);
        assert_eq!(index(&project), before);
        let status = project.git(["status", "--porcelain"]);
        assert_eq!(status, " M mine.txt\nMM partly.txt\nA  staged.txt\n?? .env\n?? c.txt\n?? notes.txt");
        assert_eq!((project.read("partly.txt").as_str(), project.git(["show", ":partly.txt"]).as_str()), ("3\n", "2"));
    }
}

/// A phase writes to a file that the user had changed before. Nobody can tell the two apart: it is named and not committed,
/// unless the phase says that it writes it.
#[test]
fn a_file_of_both_is_committed_only_where_a_phase_declares_it() {
    let project = in_the_middle_of_something(&plan("echo 3 >> mine.txt; echo 1 > a.txt", ""));
    project.command(["run"]).expect(0).err_names(["mine.txt", "before the run began"]);
    assert_eq!(committed(&project), ["a.txt", "b.txt"]);
    assert_eq!(project.read("mine.txt"), "2\n3\n");
    let project =
        in_the_middle_of_something(&plan("echo 3 >> mine.txt; echo 4 > partly.txt", "writes: [mine.txt, partly.txt],"));
    project.command(["run"]).expect(0);
    assert_eq!(committed(&project), ["b.txt", "mine.txt", "partly.txt"]);
    assert_eq!(project.git(["show", "HEAD:mine.txt"]), "2\n3");
    assert_eq!(project.git(["show", ":partly.txt"]), "2", "what was staged of it stays staged");
}

/// The run itself makes files that look like secrets, by name or by what is in them, and puts a token into one that is
/// tracked. None of them is committed, also where a phase declares them, and all are named.
#[test]
fn secrets_are_named_and_not_committed() {
    let files = "echo A=1 > .env.local; echo k > deploy.pem; echo x > id_rsa; mkdir cfg; echo A=1 > cfg/prod.env; \
                 echo A= > .env.example; \
                 echo ghp_0123456789abcdefghijABCDEFGHIJ012345 | tee token.txt >> code.txt; echo 1 > a.txt";
    let project = project();
    project.plan(&plan(files, "writes: [.env.local, code.txt, token.txt],"));
    project.write("code.txt", "1\n");
    project.git_init();
    let ran = project.command(["run"]).expect(0);
    assert_eq!(committed(&project), [".env.example", "a.txt", "b.txt"]);
    ran.err_names([".env.local", "cfg/prod.env", "deploy.pem", "id_rsa", "token.txt", "code.txt"]);
    let log = project.git(["log", "-p", "--all", "--not", "--glob=refs/onward"]);
    assert!(!log.contains("ghp_0123456789"), "{log}");
}

/// The message has the form that is documented: where the phases stand in the plan, their names, how many are left.
#[test]
fn the_message_of_a_commit() {
    let project = project();
    project.plan(&plan("echo 1 > a.txt", ""));
    project.git_init();
    project.command(["run"]).expect(0);
    let message = project.git(["log", "-1", "--format=%B"]);
    let run = project.command(["status", "--json"]).json()["run"].as_str().expect("an id").to_owned();
    let expected = format!(
        "checkpoint: phases 1-2 complete\n\nCompleted:\n- Phase 1: First things\n- Phase 2: b\n\n\
         Remaining: 1 phases\n\nOnward-Run: {run}\nOnward-Batch: 1"
    );
    assert_eq!(message.trim_end(), expected);
}

/// A project is made in a repository. Commits are off, it is said how to switch them on, and a run makes none.
#[test]
fn init_switches_no_commits_on() {
    let project = project();
    project.plan(&plan("echo 1 > a.txt", "").replace("checkpoint: { git-commit: { every: 2 } }\n", ""));
    project.git_init();
    project.command(["init"]).expect(0).err_names(["commits along the way are off", "git-commit: { every: 3 }"]);
    assert_eq!(project.command(["init", "--json"]).expect(0).json()["mini_commits"], "off");
    project.command(["run"]).expect(0);
    assert_eq!(project.git(["rev-list", "--count", "HEAD"]), "1");
    project.write(".onward/config.yaml", "checkpoint: { git-commit: { every: 3 } }\n");
    let said = project.command(["init"]).expect(0);
    assert!(!said.err.contains("are off"), "{}", said.err);
}

/// Git fails at the update of the index, when the branch has moved already. The next start makes it, so that a commit of the user's
/// does not take back what the run had committed.
#[test]
fn an_index_that_could_not_be_updated_is_updated_by_the_next_start() {
    let project = project();
    project.plan(
        "
onward: 1
name: demo
checkpoint: { git-commit: { every: 1 } }
phases:
  a: { run: step a 'echo a > made.txt' }
  b: { needs: a, run: step b 'test -e ../ok' }
",
    );
    project.git_init();
    let paths = std::env::var_os("PATH").expect("a PATH");
    let real = std::env::split_paths(&paths).map(|folder| folder.join("git")).find(|p| p.is_file()).expect("git");
    let real = real.display();
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in *'update-index -z --index-info'*) case \"$GIT_INDEX_FILE\" in *onward-index-new) exit 1;; esac;; esac\nexec {real} \"$@\"\n"
    );
    project.script("git", &script);
    project.command(["run"]).expect(1).err_names(["git's index"]);
    std::fs::remove_file(project.root().join("bin/git")).expect("it is there");
    assert!(project.git(["status", "--porcelain", "made.txt"]).starts_with('D'), "the index is behind");
    project.write("../ok", "");
    project.command(["resume"]).expect(0);
    assert_eq!(project.git(["status", "--porcelain", "made.txt"]), "");
}

/// Git fails at the update of the index once. It is made up for when the run is stopped, or comes to its end: nobody has to start
/// anything for that.
#[test]
fn an_index_that_could_not_be_updated_is_updated_at_the_end() {
    for stopped in [true, false] {
        let project = project();
        project.plan(
            "
onward: 1
name: demo
checkpoint: { git-commit: { every: 1 } }
phases:
  a: { run: step a 'echo a > made.txt' }
  b: { needs: a, run: step b hold }
",
        );
        project.git_init();
        let paths = std::env::var_os("PATH").expect("a PATH");
        let real = std::env::split_paths(&paths).map(|folder| folder.join("git")).find(|p| p.is_file()).expect("git");
        let (real, root) = (real.display(), project.root().display());
        project.script(
            "git",
            &format!(
                "#!/bin/sh\ncase \"$*\" in *'update-index -z --index-info'*) case \"$GIT_INDEX_FILE\" in *onward-index-new) \
                 [ -e {root}/well ] || exit 1;; esac;; esac\nexec {real} \"$@\"\n"
            ),
        );
        let run = project.start(["run"]);
        project.wait_ledger("begin", "b", 1);
        assert!(project.git(["status", "--porcelain", "made.txt"]).starts_with('D'), "the index is behind");
        std::fs::write(project.root().join("well"), "").expect("a file");
        if stopped {
            run.signal_group(onward_testkit::Signal::SIGINT);
            run.wait_code(130);
        } else {
            project.open("b");
            run.wait_code(0);
        }
        assert_eq!(project.git(["status", "--porcelain", "made.txt"]), "", "stopped: {stopped}");
    }
}

/// The project is renamed in the very moment in which git moves the branch. Nothing is left in the old place, and the commit is made
/// once.
#[test]
fn a_project_renamed_while_git_moves_the_branch_leaves_nothing_behind() {
    let project = project();
    project.plan(
        "
onward: 1
name: demo
checkpoint: { git-commit: { every: 1 } }
phases:
  a: { run: step a 'echo a > made.txt' }
",
    );
    project.git_init();
    let paths = std::env::var_os("PATH").expect("a PATH");
    let real = std::env::split_paths(&paths).map(|folder| folder.join("git")).find(|p| p.is_file()).expect("git");
    let (real, root, top) = (real.display(), project.root().display(), project.dir());
    let top = top.display();
    // Git has found the repository when it says that it begins, and writes the ref when it is told to.
    project.script(
        "git",
        &format!(
            "#!/bin/sh
case \" $* \" in *' update-ref '*refs/heads/*) ;; *) exec {real} \"$@\";; esac
[ ! -e {root}/moved ] || exec {real} \"$@\"
for word; do name=$new; new=$old; old=$word; done
mkfifo {root}/told {root}/answered
{real} update-ref --stdin < {root}/told > {root}/answered &
exec 8> {root}/told 9< {root}/answered
echo start >&8; read said <&9
mv {top} {root}/moved
printf 'update %s %s %s\\ncommit\\n' $name $new $old >&8
exec 8>&-; wait $!
"
        ),
    );
    let ended = project.command(["run"]);
    let moved = project.root().join("moved");
    assert!(moved.exists(), "git was asked to move the branch: {ended:?}");
    assert_eq!(ended.code, 74, "{ended:?}");
    assert!(!project.dir().exists(), "something was made in the old place");
    let mut command = project.prepare(["resume"]);
    command.current_dir(&moved);
    project.spawn(command).wait_code(0);
    std::fs::rename(&moved, project.dir()).expect("our own folder");
    project.ran_once(["a"]);
    let subjects = project.git(["log", "--format=%s"]);
    assert_eq!(subjects.lines().filter(|line| line.starts_with("checkpoint:")).count(), 1, "{subjects}");
    assert_eq!(project.git(["status", "--porcelain", "made.txt"]), "");
}
