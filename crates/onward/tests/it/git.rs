//! Stories about the working tree: what a run keeps of it, and the way back.

use onward_testkit::{Signal, TestProject};
use serde_json::Value;

use crate::processes::send;
use crate::project;

const TWO: &str = "
onward: 1
name: demo
phases:
  a: { run: step a 'echo a > made.txt' }
  b: { needs: a, run: step b 'echo b > made.txt; echo b > late.txt' }
  c: { needs: b, run: step c '! test -e broken' }
";

/// A run in a git repository whose last phase failed.
fn failed_in_c() -> TestProject {
    let project = project();
    project.write(".gitignore", "broken\n");
    project.plan(TWO);
    project.git_init();
    project.write("broken", "");
    project.command(["run"]).expect(1);
    project
}

pub(crate) fn checkpoint_of(project: &TestProject, phase: &str) -> String {
    let log = project.command(["log", "--json"]).json();
    let all = log["checkpoints"].as_array().expect("checkpoints").clone();
    let of = |row: &&Value| row["phase"] == phase && row["trigger"] == "phase_transition";
    all.iter().find(of).expect("a checkpoint")["id"].as_str().expect("an id").to_owned()
}

/// A person at a terminal rewinds. What would change is shown, and only a yes does it.
#[test]
fn rewind_asks_at_a_terminal() {
    let project = failed_in_c();
    let point = checkpoint_of(&project, "a");
    let mut terminal = project.terminal(["rewind", &point]);
    terminal.expect("Go back?");
    let shown = terminal.text();
    for word in ["made.txt", "late.txt", "b"] {
        assert!(shown.contains(word), "{word} in: {shown}");
    }
    terminal.send("\n");
    terminal.wait_code(0);
    assert_eq!(project.read("made.txt"), "b\n");
    let mut terminal = project.terminal(["rewind", &point]);
    terminal.expect("Go back?");
    terminal.send("y\n");
    terminal.wait_code(0);
    assert_eq!((project.read("made.txt").as_str(), project.exists("late.txt")), ("a\n", false));
}

/// Only the state goes back, or only the files. The other half is as it was, and undo takes either back.
#[test]
fn one_half_goes_back() {
    let project = failed_in_c();
    let point = checkpoint_of(&project, "a");
    let completed = |project: &TestProject| project.command(["status", "--json"]).json()["completed"].clone();
    let ids = |list: &Value| list.as_array().expect("phases").iter().map(|p| p["id"].to_string()).collect::<Vec<_>>();
    project.command(["rewind", "--state-only", &point]).expect(0);
    assert_eq!((ids(&completed(&project)).len(), project.read("made.txt").as_str()), (1, "b\n"));
    project.command(["undo"]).expect(0);
    project.command(["rewind", "--files-only", &point]).expect(0);
    assert_eq!((ids(&completed(&project)).len(), project.read("made.txt").as_str()), (2, "a\n"));
    project.command(["undo"]).expect(0);
    assert_eq!((ids(&completed(&project)).len(), project.read("made.txt").as_str()), (2, "b\n"));
    project.command(["undo"]).expect(10);
}

/// An ignored file of the user's lies where the rewind would have to write. It is refused, and nothing is changed.
#[test]
fn what_is_in_the_way_is_not_overwritten() {
    let project = project();
    project.plan(&TWO.replace("echo b > made.txt;", "rm made.txt;").replace("! test -e broken", "false"));
    project.git_init();
    project.command(["run"]).expect(1);
    project.write(".gitignore", "made.txt\n");
    project.write("made.txt", "precious\n");
    project.command(["rewind", &checkpoint_of(&project, "a")]).expect(13).err_names(["made.txt"]);
    assert_eq!((project.read("made.txt").as_str(), project.exists("late.txt")), ("precious\n", true));
    let status = project.command(["status", "--json"]).json();
    assert_eq!(status["completed"].as_array().map(Vec::len), Some(2));
}

/// A phase with an outward effect was done after the checkpoint. The rewind cannot take that back, so going forward it
/// is asked about.
#[test]
fn an_outward_effect_is_not_rewound() {
    let project = project();
    project.plan(
        "onward: 1\nname: demo\nphases:\n  a: { run: step a }\n  b: { needs: a, effects: external, run: step b }\n",
    );
    project.git_init();
    project.command(["run"]).expect(0);
    project.command(["rewind", &checkpoint_of(&project, "a")]).expect(0);
    project.command(["resume"]).expect(14).err_names(["b", "--adopt"]);
    project.command(["resume", "--adopt", "b"]).expect(0);
    project.ran_once(["a", "b"]);
}

/// A run is branched off before a payment that the first one has made, is making, or was killed at. The new run does not pay again
/// unasked.
#[test]
fn a_fork_does_not_repeat_an_outward_effect_unasked() {
    for (ends, code) in [("done", 0), ("at work", 0), ("killed", 14)] {
        let project = project();
        project.plan(
            "onward: 1\nname: demo\nphases:\n  a: { run: step a }\n  \
             pay: { needs: a, effects: external, run: exec step pay hold }\n",
        );
        project.git_init();
        let first = project.start(["run"]);
        let pid = project.wait_ledger("begin", "pay", 1).pid;
        match ends {
            "done" => project.open("pay"),
            "killed" => send(pid, Signal::SIGKILL),
            _ => {}
        }
        let mut first = Some(first);
        if ends != "at work" {
            first.take().expect("it was started").wait_code(code);
        }
        let forked = project.command(["fork", &checkpoint_of(&project, "a"), "--json"]).expect(0).json();
        assert_eq!(forked["in_doubt"], serde_json::json!(["pay"]), "{ends}: {forked}");
        let run = forked["run"].as_str().expect("an id");
        project.open("pay");
        if let Some(first) = first {
            first.wait_code(code);
        }
        for words in [&["resume", run][..], &["resume", run, "--yes"], &["resume", run, "--accept-stale"]] {
            project.command(words).expect(14).err_names(["--retry pay", "--adopt pay"]);
        }
        project.command(["resume", run, "--adopt", "pay"]).expect(0);
        assert_eq!(project.count("begin", "pay"), 1, "{ends}: {:?}", project.ledger());
    }
}

/// The same with a probe that sees the payment: nobody is asked, and nothing is paid twice.
#[test]
fn a_fork_asks_the_probe_of_an_outward_effect() {
    let project = project();
    project.plan(
        "onward: 1\nname: demo\nphases:\n  a: { run: step a }\n  \
         pay: { needs: a, effects: external, done-when: ['test -e ../paid'], run: step pay 'touch ../paid' }\n",
    );
    project.git_init();
    project.command(["run"]).expect(0);
    let forked = project.command(["fork", &checkpoint_of(&project, "a"), "--json"]).expect(0).json();
    project.command(["resume", forked["run"].as_str().expect("an id")]).expect(0);
    project.ran_once(["a", "pay"]);
}

/// A run is branched off into a working tree of its own. Its phases work there, and the first tree is left alone.
#[test]
fn a_fork_in_a_working_tree_of_its_own() {
    let project = failed_in_c();
    let point = checkpoint_of(&project, "a");
    let run = project.command(["fork", &point, "--worktree", "../beside", "--json"]).expect(0).json();
    let run = run["run"].as_str().expect("an id").to_owned();
    let beside = project.root().join("beside");
    assert_eq!(std::fs::read_to_string(beside.join("made.txt")).expect("the file of a"), "a\n");
    assert!(!beside.join("late.txt").exists(), "b had not run there");
    project.command(["resume", &run]).expect(0);
    assert_eq!(std::fs::read_to_string(beside.join("late.txt")).expect("b has run there"), "b\n");
    assert_eq!(project.read("made.txt"), "b\n");
    assert!(project.git(["branch", "--list", "onward/*"]).contains(&run));
}

/// Outside git nothing is missing but the files: commits are not made, a rewind is of the state, and it is said.
#[test]
fn without_git_all_else_works() {
    let project = project();
    project.plan(&TWO.replace("phases:", "checkpoint: { git-commit: { every: 1 } }\nphases:"));
    project.write("broken", "");
    project.command(["run"]).expect(1).err_names(["git"]);
    let point = checkpoint_of(&project, "a");
    project.command(["rewind", &point]).expect(0).err_names(["files stay as they are"]);
    assert_eq!(project.read("made.txt"), "b\n");
    project.command(["rewind", "--files-only", &point]).expect(13);
    let diff = project.command(["diff", &point, "@", "--json"]).expect(0).json();
    assert_eq!(diff["files"].as_array().map(Vec::len), Some(0));
    assert!(diff["files_unknown"].is_string(), "{diff}");
}

/// A run is deleted. The snapshots that nothing else names go with it.
#[test]
fn snapshots_go_with_their_run() {
    let project = failed_in_c();
    assert!(!project.git(["for-each-ref", "refs/onward"]).is_empty());
    let run = project.command(["status", "--json"]).json()["run"].as_str().expect("an id").to_owned();
    project.command(["delete", &run, "--yes"]).expect(0);
    assert_eq!(project.git(["for-each-ref", "refs/onward"]), "");
}

/// A project whose second phase failed after it had written into its file.
fn project_with_rubbish() -> TestProject {
    let project = project();
    project.write("list.txt", "old\n");
    project.plan(
        "onward: 1\nname: demo\nphases:\n  a: { run: step a }\n  \
         b: { needs: a, writes: list.txt, run: step b 'echo new >> list.txt; test -e ../ready' }\n  c: { needs: b, run: step c }\n",
    );
    project.git_init();
    project.command(["run"]).expect(1);
    project
}

/// A failed phase left rubbish in what it writes. A clean retry starts from what was there before it.
#[test]
fn a_clean_retry_starts_from_what_was_there() {
    let project = project_with_rubbish();
    project.write("notes.txt", "mine\n");
    std::fs::write(project.root().join("ready"), "").expect("a file");
    project.command(["resume", "--retry", "c=clean"]).expect(2).err_names(["does not say what it writes"]);
    project.command(["resume", "--retry", "b=clean"]).expect(0);
    assert_eq!((project.read("list.txt").as_str(), project.read("notes.txt").as_str()), ("old\nnew\n", "mine\n"));
}

/// Files that a clean retry restores are kept before, under a checkpoint that the log shows and a rewind reaches; and
/// no ref is there that no checkpoint names.
#[test]
fn the_copy_before_a_clean_retry_has_a_checkpoint() {
    let project = project_with_rubbish();
    project.write("list.txt", "old\nnew\nedited by hand\n");
    std::fs::write(project.root().join("ready"), "").expect("a file");
    project.command(["resume", "--retry", "b=clean"]).expect(0);
    assert_eq!(project.read("list.txt"), "old\nnew\n");
    let log = project.command(["log", "--json"]).json();
    let all = log["checkpoints"].as_array().expect("checkpoints").clone();
    let copy = all.iter().find(|row| row["name"] == "before-clean-b-2").expect("a checkpoint of the copy");
    only_named_refs(&project);
    project.command(["rewind", copy["id"].as_str().expect("an id")]).expect(0);
    assert_eq!(project.read("list.txt"), "old\nnew\nedited by hand\n");
    only_named_refs(&project);
}

/// A phase that begins anew from clean files was interrupted, and its files were edited. Whoever takes that as it is, is told where
/// the edits are now.
#[test]
fn a_clean_rerun_says_where_the_edits_are() {
    let project = project();
    project.write("list.txt", "old\n");
    project.plan(
        "onward: 1\nname: demo\nphases:\n  a: { run: step a }\n  \
         b: { needs: a, writes: list.txt, on-interrupt: rerun-clean, run: echo new >> list.txt; step b hold }\n",
    );
    project.git_init();
    let first = project.start(["run"]);
    project.wait_ledger("begin", "b", 1);
    first.signal_group(Signal::SIGINT);
    first.wait_code(130);
    project.write("list.txt", "old\nnew\nedited by hand\n");
    project.open("b");
    project.command(["resume", "--accept-stale"]).expect(0).err_names(["b", "put back", "before-clean-b-2"]);
    assert_eq!(project.read("list.txt"), "old\nnew\n");
    project.command(["rewind", "before-clean-b-2"]).expect(0);
    assert_eq!(project.read("list.txt"), "old\nnew\nedited by hand\n");
}

/// Git fails when it is asked for the snapshot. Nothing goes back, neither files nor state, and it is said that git failed.
#[test]
fn a_rewind_beside_a_git_that_fails_changes_nothing() {
    let project = failed_in_c();
    let point = checkpoint_of(&project, "a");
    let real = String::from_utf8(
        std::process::Command::new("sh").args(["-c", "command -v git"]).output().expect("a shell").stdout,
    );
    let real = real.expect("a path").trim().to_owned();
    let before = project.command(["log", "--events", "--json"]).json();
    project.script(
        "git",
        &format!("#!/bin/sh\ncase \" $* \" in *' cat-file '*) echo no luck >&2; exit 9;; esac\nexec {real} \"$@\"\n"),
    );
    for words in [&["rewind", &point][..], &["rewind", &point, "--files-only"], &["resume", "--checkpoint", &point]] {
        project.command(words).expect(13).err_names(["git cat-file failed", "no luck", "are as they were"]);
        assert_eq!((project.read("made.txt").as_str(), project.exists("late.txt")), ("b\n", true));
        assert_eq!(project.command(["log", "--events", "--json"]).json(), before, "{words:?}");
    }
    std::fs::remove_file(project.root().join("bin/git")).expect("it is there");
    project.command(["rewind", &point]).expect(0);
    assert_eq!((project.read("made.txt").as_str(), project.exists("late.txt")), ("a\n", false));
}

/// All refs of ours are named by a checkpoint.
fn only_named_refs(project: &TestProject) {
    let log = project.command(["log", "--json"]).json();
    let ids = log["checkpoints"].as_array().expect("checkpoints").iter().map(|row| row["id"].as_str().expect("an id"));
    let mut named: Vec<String> = ids
        .filter_map(|id| {
            let shown = project.command(["show", id, "--json"]).json();
            shown["snapshot"]["commit"].as_str().map(str::to_owned)
        })
        .collect();
    let refs = project.git(["for-each-ref", "--format=%(objectname) %(refname:lstrip=-1)", "refs/onward"]);
    // The copy of the journal goes with the run.
    let numbered = refs.lines().filter_map(|line| line.split_once(' ')).filter(|(_, name)| name.parse::<u64>().is_ok());
    let mut kept: Vec<String> = numbered.map(|(commit, _)| commit.to_owned()).collect();
    for list in [&mut named, &mut kept] {
        list.sort_unstable();
        list.dedup();
    }
    assert_eq!(kept, named);
}

/// A person looks at what a rewind would do and says no. Nothing is left of the look.
#[test]
fn a_rewind_that_was_declined_leaves_no_ref() {
    let project = failed_in_c();
    project.write("made.txt", "edited\n");
    let mut terminal = project.terminal(["rewind", &checkpoint_of(&project, "a")]);
    terminal.expect("Go back?");
    terminal.send("n\n");
    terminal.wait_code(0);
    only_named_refs(&project);
}

/// A push to a mirror publishes the snapshots. With the setting that the guide names it does not, and doctor names it where a
/// remote is a mirror.
#[test]
fn a_push_to_a_mirror_can_leave_the_snapshots_out() {
    let project = failed_in_c();
    project.git(["init", "-q", "--bare", "../mirror.git"]);
    project.git(["remote", "add", "--mirror=push", "backup", "../mirror.git"]);
    let published = |project: &TestProject| {
        project.git(["push", "-q", "backup"]);
        project.git(["--git-dir=../mirror.git", "for-each-ref", "--format=%(refname)"])
    };
    assert!(published(&project).contains("refs/onward/"), "this is what the guide warns of");
    let told = |project: &TestProject| {
        let findings = project.command(["doctor", "--json"]).json()["findings"].clone();
        findings.as_array().expect("findings").iter().any(|finding| finding["code"] == "mirror")
    };
    assert!(told(&project));
    for rule in ["+refs/*:refs/*", "^refs/onward/*"] {
        project.git(["config", "--add", "remote.backup.push", rule]);
    }
    assert!(!told(&project));
    project.git(["init", "-q", "--bare", "../second.git"]);
    project.git(["config", "remote.backup.url", "../second.git"]);
    project.git(["push", "-q", "backup"]);
    project.git(["push", "-q", "--mirror", "backup"]);
    assert_eq!(project.git(["--git-dir=../second.git", "for-each-ref", "--format=%(refname)"]), "refs/heads/main");
}

#[cfg(feature = "kill-points")]
mod kills {
    use super::*;

    const COMMITS: &str = "
onward: 1
name: points
checkpoint: { git-commit: { every: 2 } }
phases:
  a: { run: step a 'echo a > a.txt' }
  b: { needs: a, run: step b 'echo b > b.txt' }
  c: { needs: b, run: step c 'echo c > c.txt' }
";

    const PASSES_MAX: u32 = 12;
    const STARTS_MAX: u32 = 4;

    fn armed(project: &mut TestProject, point: &str, pass: u32) -> std::path::PathBuf {
        let mark = project.root().join("killed");
        project.set_env("ONWARD_KILL_POINT", format!("{point}:{pass}"));
        project.set_env("ONWARD_KILL_MARK", mark.to_str().expect("a UTF-8 path"));
        mark
    }

    /// The driver is killed at a step of git. Gone on with, every phase is done once, each commit is made once, and the
    /// repository is sound.
    fn killed_in_a_run(point: &str, pass: u32) -> bool {
        let mut project = project();
        project.plan(COMMITS);
        project.git_init();
        let mark = armed(&mut project, point, pass);
        for _ in 0..STARTS_MAX {
            project.command(["run"]);
            if project.command(["list", "--json"]).json()["runs"][0]["status"] == "completed" {
                break;
            }
        }
        project.ran_once(["a", "b", "c"]);
        let subjects = project.git(["log", "--format=%s"]);
        let made = subjects.lines().filter(|line| line.starts_with("checkpoint:")).count();
        assert_eq!(made, 1, "{point}:{pass}: {subjects}");
        sound(&project, point, pass);
        assert_eq!(project.git(["status", "--porcelain"]), "?? c.txt", "{point}:{pass}");
        mark.exists()
    }

    fn sound(project: &TestProject, point: &str, pass: u32) {
        assert!(!project.exists(".git/index.lock"), "{point}:{pass}: git's index is locked");
        project.git(["fsck", "--strict"]);
    }

    /// A rewind is killed at one of its steps. Whoever comes next ends it: the files and the state are those of the
    /// checkpoint, and what was there before can be had back.
    fn killed_in_a_rewind(point: &str, pass: u32) -> bool {
        let mut project = failed_in_c();
        let to = checkpoint_of(&project, "a");
        let mark = armed(&mut project, point, pass);
        project.command(["rewind", &to]);
        project.remove_env("ONWARD_KILL_POINT");
        project.command(["rewind", &to]).expect(0);
        assert_eq!((project.read("made.txt").as_str(), project.exists("late.txt")), ("a\n", false), "{point}:{pass}");
        let status = project.command(["status", "--json"]).json();
        assert_eq!(status["completed"].as_array().map(Vec::len), Some(1), "{point}:{pass}");
        sound(&project, point, pass);
        while project.command(["undo"]).code == 0 {}
        assert_eq!(project.read("made.txt"), "b\n", "{point}:{pass}");
        mark.exists()
    }

    /// A rewind stands still just before it touches the first file.
    fn held_before_the_first_file(project: &mut TestProject) -> std::path::PathBuf {
        let held = project.root().join("held");
        project.set_env("ONWARD_HOLD_POINT", "vcs.restore-go");
        project.set_env("ONWARD_HOLD_FILE", held.to_str().expect("a UTF-8 path"));
        held
    }

    /// Somebody saves a file in the very moment in which a rewind swaps it, one that it overwrites or one that it removes. The
    /// rewind is called off, all is as it was, and what was saved is there.
    #[test]
    fn what_is_saved_in_the_moment_of_the_swap_is_not_lost() {
        for edited in ["made.txt", "late.txt"] {
            let mut project = failed_in_c();
            let to = checkpoint_of(&project, "a");
            let held = held_before_the_first_file(&mut project);
            let rewinding = project.start(["rewind", &to]);
            onward_testkit::wait_until("the last look", || held.exists().then_some(()));
            project.write(edited, "precious\n");
            std::fs::remove_file(&held).expect("the rewind waits");
            rewinding.wait().expect(13).err_names([edited, "edited"]);
            assert_eq!(project.read(edited), "precious\n");
            let other = if edited == "made.txt" { "late.txt" } else { "made.txt" };
            assert_eq!(project.read(other), "b\n", "all is as it was");
        }
    }

    /// The same, and the rewind is killed once it has swapped the file. The next one brings everything back and says where what
    /// was saved lies.
    #[test]
    fn what_was_swapped_out_by_a_killed_rewind_is_kept() {
        let mut project = failed_in_c();
        let to = checkpoint_of(&project, "a");
        let held = held_before_the_first_file(&mut project);
        let mark = armed(&mut project, "vcs.restore-one", 2);
        let rewinding = project.start(["rewind", &to]);
        onward_testkit::wait_until("the last look", || held.exists().then_some(()));
        project.write("made.txt", "precious\n");
        std::fs::remove_file(&held).expect("the rewind waits");
        rewinding.wait();
        assert!(mark.exists(), "it was killed");
        project.remove_env("ONWARD_HOLD_POINT");
        let ran = project.command(["rewind", &to]).expect(0).err_names(["made.txt", "kept"]);
        assert_eq!((project.read("made.txt").as_str(), project.exists("late.txt")), ("a\n", false));
        let place = ran.err.split("it lies in ").nth(1).and_then(|rest| rest.lines().next()).expect("a place");
        assert_eq!(std::fs::read_to_string(place.trim()).expect("the file"), "precious\n");
    }

    fn every_pass(point: &str, story: fn(&str, u32) -> bool) {
        let passes = (1..=PASSES_MAX).take_while(|pass| story(point, *pass)).count();
        assert!(passes > 0, "{point} was never passed: the label is gone or the story misses it");
    }

    macro_rules! points {
        ($($name:ident: $point:literal, $story:ident;)*) => {
            $(
                #[test]
                fn $name() {
                    every_pass($point, $story);
                }
            )*

            /// Every label of git and of the way back has its story here.
            pub(crate) const TOLD: &[&str] = &[$($point,)*];
        };
    }

    points! {
        kills_snapshot_begun: "vcs.snapshot-begun", killed_in_a_run;
        kills_snapshot_looked: "vcs.snapshot-looked", killed_in_a_run;
        kills_snapshot_indexed: "vcs.snapshot-indexed", killed_in_a_run;
        kills_snapshot_committed: "vcs.snapshot-committed", killed_in_a_run;
        kills_snapshot_named: "vcs.snapshot-named", killed_in_a_run;
        kills_commit_checked: "vcs.commit-checked", killed_in_a_run;
        kills_commit_gathered: "vcs.commit-gathered", killed_in_a_run;
        kills_commit_made: "vcs.commit-made", killed_in_a_run;
        kills_commit_locked: "vcs.commit-locked", killed_in_a_run;
        kills_commit_moved: "vcs.commit-moved", killed_in_a_run;
        kills_commit_index_ready: "vcs.commit-index-ready", killed_in_a_run;
        kills_commit_index_in_place: "vcs.commit-index-in-place", killed_in_a_run;
        kills_restore_checked: "vcs.restore-checked", killed_in_a_rewind;
        kills_restore_staged: "vcs.restore-staged", killed_in_a_rewind;
        kills_restore_go: "vcs.restore-go", killed_in_a_rewind;
        kills_restore_one: "vcs.restore-one", killed_in_a_rewind;
        kills_restore_placed: "vcs.restore-placed", killed_in_a_rewind;
        kills_rewind_kept: "rewind.kept", killed_in_a_rewind;
        kills_rewind_begun: "rewind.begun", killed_in_a_rewind;
        kills_rewind_files: "rewind.files", killed_in_a_rewind;
        kills_rewind_before_append: "commit.before-append", killed_in_a_rewind;
        kills_rewind_after_append: "commit.after-append", killed_in_a_rewind;
    }
}

#[cfg(feature = "kill-points")]
pub(crate) use kills::TOLD;
