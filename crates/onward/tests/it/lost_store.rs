//! The folder of the books is gone, or what is in it. What git and the records of attempts still prove comes back, and nothing
//! more.

use std::fs;

use onward_testkit::{TestProject, wait_until};

use crate::chain::UNFIXED;
use crate::project;

const OUTWARD: &str = "
onward: 1
name: demo
phases:
  a: { run: step a }
  b: { needs: a, effects: external, run: step b hold }
  c: { needs: b, run: step c }
";

fn in_git(plan: &str) -> TestProject {
    let project = project();
    project.plan(plan);
    project.git_init();
    project
}

/// Waits until git has the journal of the one run up to the end of phase a; then its driver is killed while b works.
fn killed_in_b(project: &TestProject) {
    let driver = project.start(["run"]);
    project.wait_ledger("begin", "b", 1);
    wait_until("a copy of the journal", || {
        // All its pieces: which records are in which of them depends on who was faster.
        let copy = project.git(["log", "--format=%B", "--glob=refs/onward/*/journal"]);
        copy.contains("phase_completed").then_some(())
    });
    driver.kill();
}

fn completed(project: &TestProject) -> Vec<String> {
    let status = project.command(["status", "--json"]).expect(0).json();
    let all = status["completed"].as_array().expect("a list").iter();
    all.map(|phase| phase["id"].as_str().expect("an id").to_owned()).collect()
}

/// The books were swept away with everything that git does not track. Finished phases stay finished, and the run goes on.
#[test]
fn swept_away_by_git_clean() {
    for way in ["clean", "remove"] {
        let project = in_git(UNFIXED);
        project.command(["run"]).expect(1);
        let run = project.command(["status", "--json"]).expect(0).json()["run"].as_str().expect("an id").to_owned();
        if way == "clean" {
            project.git(["clean", "-fdxq"]);
        } else {
            fs::remove_dir_all(project.path(".onward")).expect("a folder");
        }
        assert!(!project.exists(".onward"), "this test needs the books to be gone");
        let found = project.command(["doctor", "--json"]).expect(12).json();
        assert_eq!(found["findings"][0]["code"], "run-lost", "{found:#}");
        assert!(!project.exists(".onward"), "looking made something");
        project.command(["doctor", "--repair"]).expect(0);
        assert_eq!(completed(&project), ["a", "b"]);
        let status = project.command(["status", "--json"]).expect(0).json();
        assert_eq!(status["run"], run.as_str());
        assert!(status["warnings"].to_string().contains("brought"), "{status:#}");
        project.write("fixed", "");
        project.command(["resume"]).expect(0);
        project.ran_once(["a", "b"]);
        project.command(["doctor"]).expect(0);
        project.git(["fsck", "--strict"]);
    }
}

/// The database was overwritten while nobody looked, and git is a little behind: what an attempt left tells the rest.
#[test]
fn what_attempts_left_tells_the_rest() {
    let project = in_git(&UNFIXED.replace("step b", "step b hold").replace(" 'test -e fixed'", ""));
    killed_in_b(&project);
    // As if git had lagged behind: the rest of the run is in no copy.
    let copy = project.git(["for-each-ref", "--format=%(objectname) %(refname)", "refs/onward/*/journal"]);
    let (commit, name) = copy.trim().split_once(' ').expect("a copy");
    project.open("b");
    project.command(["resume"]).expect(0);
    project.git(["update-ref", name, commit]);
    fs::write(project.path(".onward/onward.db"), "overwritten").expect("a file");
    for beside in ["onward.db-wal", "onward.db-shm"] {
        drop(fs::remove_file(project.path(".onward").join(beside)));
    }
    project.command(["status"]).expect(12);
    project.command(["doctor", "--repair"]).expect(0);
    assert_eq!(completed(&project), ["a"]);
    project.command(["doctor"]).expect(0);
    project.command(["resume"]).expect(0);
    assert_eq!(completed(&project), ["a", "b", "c"]);
    project.ran_once(["a", "b", "c"]);
}

/// Nothing is left that could tell whether a phase had its effect outside. It is not run again unasked.
#[test]
fn an_effect_that_nobody_knows_of_is_in_doubt() {
    let project = in_git(OUTWARD);
    killed_in_b(&project);
    project.open("b");
    project.wait_ledger("end", "b", 1);
    // Its attendant writes until its own end.
    wait_until("the end of everything", || project.processes().is_empty().then_some(()));
    fs::remove_dir_all(project.path(".onward")).expect("a folder");
    project.command(["doctor", "--repair"]).expect(0);
    assert_eq!(completed(&project), ["a"]);
    project.command(["resume"]).expect(14).err_names(["b"]);
    assert_eq!(project.count("begin", "b"), 1);
    project.command(["resume", "--adopt", "b"]).expect(0);
    project.ran_once(["a", "b", "c"]);
}

/// The books are swept away beside a driver whose phase works. The repair does not say that the phase was never started: nobody knows.
#[test]
fn a_repair_does_not_say_that_a_phase_never_ran() {
    let project = in_git(OUTWARD);
    let driver = project.start(["run"]);
    project.wait_ledger("begin", "b", 1);
    fs::remove_dir_all(project.path(".onward")).expect("a folder");
    driver.wait();
    let repaired = wait_until("the end of the attempt", || {
        let repaired = project.command(["doctor", "--repair"]);
        (repaired.code == 0).then_some(repaired)
    });
    let said = format!("{}{}", repaired.out, repaired.err);
    assert!(!said.contains("never was"), "b has run\n{said}");
    assert!(said.contains("whether it ran is not known"), "{said}");
    project.command(["resume"]).expect(14).err_names(["b"]);
    assert_eq!(project.count("begin", "b"), 1);
}

/// The copy in git ends before a phase with an effect outside was begun, and nothing else is left. It may have had its effect, so it
/// is not run unasked.
#[test]
fn an_effect_after_the_last_copy_is_in_doubt() {
    let project = in_git(&OUTWARD.replace("step a }", "\"step a 'test -e ready'\" }"));
    project.command(["run"]).expect(1);
    let copy = project.git(["for-each-ref", "--format=%(objectname) %(refname)", "refs/onward/*/journal"]);
    let (commit, name) = copy.trim().split_once(' ').expect("a copy");
    project.write("ready", "");
    let driver = project.start(["resume"]);
    project.wait_ledger("begin", "b", 1);
    driver.kill();
    project.open("b");
    project.wait_ledger("end", "b", 1);
    project.git(["update-ref", name, commit]);
    wait_until("the end of the attempt", || {
        drop(fs::remove_dir_all(project.path(".onward")));
        (project.command(["doctor", "--repair"]).code == 0).then_some(())
    });
    project.command(["resume"]).expect(14).err_names(["b"]);
    assert_eq!(project.count("begin", "b"), 1, "{:?}", project.ledger());
    project.command(["resume", "--adopt", "b"]).expect(0);
    assert_eq!(project.count("begin", "b"), 1, "{:?}", project.ledger());
}

/// An old copy of the database was put back. What it lacks is in git.
#[test]
fn an_old_copy_is_brought_up_to_date() {
    let project = in_git(UNFIXED);
    project.write("state.json", "{}");
    project.command(["save", "early", "x", "--state", "state.json"]).expect(0);
    let old: Vec<(String, Vec<u8>)> = ["onward.db", "onward.db-wal"]
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), fs::read(project.path(".onward").join(name)).ok()?)))
        .collect();
    project.command(["run"]).expect(1);
    drop(fs::remove_file(project.path(".onward/onward.db-shm")));
    for (name, bytes) in old {
        fs::write(project.path(".onward").join(name), bytes).expect("a file");
    }
    project.command(["resume"]).expect(12);
    project.command(["doctor", "--repair"]).expect(0);
    assert_eq!(completed(&project), ["a", "b"]);
    project.write("fixed", "");
    project.command(["resume"]).expect(0);
    project.ran_once(["a", "b"]);
}

/// A run that was deleted on purpose stays deleted, and a look at a whole store finds nothing.
#[test]
fn what_was_deleted_stays_deleted() {
    let project = in_git(UNFIXED);
    project.command(["run"]).expect(1);
    let found = project.command(["doctor", "--json"]).expect(0).json();
    assert_eq!(found["findings"].as_array().map(Vec::len), Some(0), "{found:#}");
    let run = project.command(["status", "--json"]).expect(0).json()["run"].as_str().expect("an id").to_owned();
    project.command(["delete", &run, "--yes"]).expect(0);
    assert_eq!(project.git(["for-each-ref", "refs/onward"]), "");
    let done = project.command(["doctor", "--repair", "--json"]).expect(0).json();
    assert_eq!(done["repaired"].as_array().map(Vec::len), Some(0), "{done:#}");
    project.command(["status"]).expect(10);
}

/// Two phases are done, one of them with an effect outside, and the third failed.
fn begun(plan: &str) -> (TestProject, String) {
    let project = in_git(plan);
    project.command(["run"]).expect(1);
    let run = project.command(["status", "--json"]).expect(0).json()["run"].as_str().expect("an id").to_owned();
    (project, run)
}

const EFFECT: &str = "
onward: 1
name: demo
phases:
  a: { run: step a }
  b: { needs: a, effects: external, run: step b }
  c: { needs: b, run: \"step c 'test -e fixed'\" }
";

/// The store is gone and git knows of a run that is not finished. Every verb says so and names the way out, and none begins anew.
#[test]
fn nothing_begins_anew_that_git_knows() {
    for keeps_configuration in [false, true] {
        let (project, run) = begun(EFFECT);
        if keeps_configuration {
            project.write(".onward/config.yaml", "# ours\n");
            project.git(["add", "-f", ".onward/config.yaml"]);
            project.git(["commit", "-qm", "configuration"]);
        }
        project.git(["clean", "-fdxq"]);
        assert!(!project.exists(".onward/onward.db"), "this test needs the books to be gone");
        for words in [
            &["run"][..],
            &["run", "--resume"],
            &["run", "--dry-run"],
            &["resume"],
            &["resume", &run],
            &["status"],
            &["next"],
            &["checkpoint"],
        ] {
            let said = project.command(words).expect(12).err_names([run.as_str(), "onward doctor --repair"]);
            assert!(said.err.contains("--fresh"), "{said}");
        }
        let listed = project.command(["list"]).expect(0).err_names([run.as_str(), "onward doctor --repair"]);
        assert!(listed.out.is_empty(), "{listed}");
        project.command([""; 0]).expect(12).err_names([run.as_str(), "onward doctor --repair"]);
        assert_eq!(project.ledger().iter().filter(|entry| entry.phase == "b").count(), 2, "b began and ended once");
        fs::remove_file(project.path("onward.yaml")).ok();
        project.git(["checkout", "-q", "--", "."]);
        project.command(["doctor", "--repair"]).expect(0);
        project.write("fixed", "");
        project.command(["resume"]).expect(0);
        project.ran_once(["a", "b"]);
    }
}

/// The plan went with the store. That is not all that is to be said.
#[test]
fn the_plan_is_gone_as_well() {
    let (project, run) = begun(EFFECT);
    fs::remove_dir_all(project.path(".onward")).expect("a folder");
    fs::remove_file(project.path("onward.yaml")).expect("a file");
    project.command(["run"]).expect(12).err_names([run.as_str(), "onward doctor --repair"]);
}

/// Whoever wants it begins anew, in the same second under another name. From then on nobody is asked again, and both runs are
/// listed in their order once the first is brought back.
#[test]
fn a_fresh_start_after_a_loss_has_a_name_of_its_own() {
    let (project, _) = begun(UNFIXED);
    let mut runs = vec![];
    for _ in 0..3 {
        fs::remove_dir_all(project.path(".onward")).expect("a folder");
        project.command(["run", "--fresh"]).expect(1);
        runs.push(project.command(["status", "--json"]).expect(0).json()["run"].as_str().expect("an id").to_owned());
    }
    let copies = project.git(["for-each-ref", "--format=%(refname)", "refs/onward/*/journal"]);
    assert_eq!(copies.lines().count(), 4, "{copies}");
    project.write("fixed", "");
    project.command(["run", "--resume"]).expect(0);
    project.command(["run"]).expect(0);
    project.command(["doctor", "--repair"]).expect(0);
    let listed = project.command(["list", "--all", "--json"]).expect(0).json();
    let listed = listed["runs"].as_array().expect("a list").iter();
    let begun: Vec<String> = listed.map(|run| run["created_at"].as_str().expect("a time").to_owned()).collect();
    let mut in_order = begun.clone();
    in_order.sort();
    in_order.reverse();
    assert_eq!((begun.len(), &begun), (5, &in_order), "the newest first");
}

/// All that is lost had come to its end. The work may be done once more, and it is said where the records are.
#[test]
fn what_was_finished_is_no_obstacle() {
    let project = in_git(UNFIXED);
    project.write("fixed", "");
    project.command(["run"]).expect(0);
    fs::remove_dir_all(project.path(".onward")).expect("a folder");
    project.command(["status"]).expect(12).err_names(["onward doctor --repair"]);
    project.command(["run"]).expect(0).err_names(["finished runs", "onward doctor --repair"]);
    assert_eq!(project.count("end", "a"), 2);
}

/// A journal came with a fetch of everything. A start refuses, a repair brings it back, and nothing in it is executed before a
/// person has trusted it.
#[test]
fn a_journal_from_elsewhere_is_not_executed() {
    let (theirs, run) =
        begun(&UNFIXED.replace("name: demo", "name: theirs").replace("step c", "touch planted; step c"));
    for has_a_store in [false, true] {
        let project = in_git(UNFIXED);
        if has_a_store {
            project.command(["run"]).expect(1);
        }
        let from = theirs.dir().join(".git").display().to_string();
        project.git(["fetch", "-q", &from, "refs/onward/*:refs/onward/*"]);
        if !has_a_store {
            project.command(["run"]).expect(12);
        }
        let done = project.command(["doctor", "--repair"]).expect(0);
        assert!(done.out.contains("onward trust"), "{done}");
        project.write("fixed", "");
        for words in [&["resume", &run][..], &["run"], &["run", "--fresh"], &["checkpoint", &run]] {
            project.command(words).expect(74).err_names(["onward trust"]);
        }
        assert!(!project.exists("planted"));
        project.command(["trust"]).expect(0);
        project.command(["doctor"]).expect(0);
        let ran = project.command(["resume", &run, "--plan-from", "run", "--accept-stale"]);
        assert!(project.exists("planted"), "this test needs a run that could have been executed: {ran}");
    }
}

/// A second working tree has the refs of the first one in front of it. Its runs are not lost.
#[test]
fn another_working_tree_has_its_own_runs() {
    let (project, run) = begun(UNFIXED);
    let other = project.root().join("other");
    project.git(["worktree", "add", "-q", &other.display().to_string()]);
    let mut command = project.prepare(["run"]);
    command.current_dir(&other);
    let ran = project.spawn(command).wait();
    assert_eq!(ran.code, 1, "{ran}");
    assert!(ran.err.split_whitespace().all(|word| word != run), "{ran}");
    assert_eq!(project.count("begin", "a"), 2);
    for folder in [project.dir(), other] {
        let mut command = project.prepare(["doctor", "--json"]);
        command.current_dir(&folder);
        let found = project.spawn(command).wait().json();
        assert_eq!(found["findings"].as_array().map(Vec::len), Some(0), "{found:#}");
    }
}

/// An old copy of the database was put back, and the head file that would tell is gone as well. Git still knows.
#[test]
fn an_old_copy_without_its_head_is_noticed() {
    let project = in_git(&EFFECT.replace("step b }", "\"step b 'test -e more'\" }").replace("effects: external, ", ""));
    project.command(["run"]).expect(1);
    let old: Vec<(String, Vec<u8>)> = ["onward.db", "onward.db-wal"]
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), fs::read(project.path(".onward").join(name)).ok()?)))
        .collect();
    project.write("more", "");
    project.command(["resume"]).expect(1);
    for name in ["onward.db-shm", "HEAD"] {
        drop(fs::remove_file(project.path(".onward").join(name)));
    }
    for (name, bytes) in old {
        fs::write(project.path(".onward").join(name), bytes).expect("a file");
    }
    for words in [&["resume"][..], &["run"]] {
        project.command(words).expect(12).err_names(["onward doctor --repair"]);
    }
    project.command(["doctor", "--repair"]).expect(0);
    assert_eq!(completed(&project), ["a", "b"]);
    project.write("fixed", "");
    project.command(["resume"]).expect(0);
    assert_eq!((project.count("fail", "b"), project.count("end", "b")), (1, 1));
}

/// After the last phase somebody merged state, took a checkpoint and went back to an earlier one. Git has all of that.
#[test]
fn what_came_after_the_last_phase_comes_back() {
    let (project, _) = begun(UNFIXED);
    project.write("state.json", "{\"kept\":1}");
    project.command(["state", "merge", "state.json"]).expect(0);
    let id = project.command(["checkpoint", "--name", "by hand"]).expect(0).out.trim().to_owned();
    let lose = || {
        fs::remove_dir_all(project.path(".onward")).expect("a folder");
        project.command(["doctor", "--repair"]).expect(0);
    };
    lose();
    assert_eq!(project.command(["state", "get"]).expect(0).json()["kept"], 1);
    project.command(["show", &id]).expect(0);
    let first = project.command(["log", "--json"]).expect(0).json();
    let first = first.pointer("/checkpoints").or(Some(&first)).and_then(|all| all.as_array()).expect("a list").clone();
    let first = first.last().expect("a checkpoint")["id"].as_str().expect("an id").to_owned();
    project.command(["rewind", &first, "--yes"]).expect(0);
    assert_eq!(completed(&project), Vec::<String>::new());
    lose();
    assert_eq!(completed(&project), Vec::<String>::new());
}

/// The books are swept away while a phase works. Nothing is brought back or begun beside it, and it is named.
#[test]
fn nothing_is_begun_beside_a_phase_that_outlived_the_books() {
    for (plan, in_a_repository) in
        [(OUTWARD, true), (&OUTWARD.replace("effects: external, ", ""), true), (OUTWARD, false)]
    {
        let project = if in_a_repository { in_git(plan) } else { project() };
        project.plan(plan);
        if in_a_repository {
            killed_in_b(&project);
        } else {
            let driver = project.start(["run"]);
            project.wait_ledger("begin", "b", 1);
            driver.kill();
        }
        fs::remove_dir_all(project.path(".onward")).expect("a folder");
        if in_a_repository {
            project.command(["doctor", "--repair"]).expect(11).err_names(["phase b", "process"]);
            project.command(["run"]).expect(12);
        } else {
            project.command(["run"]).expect(11).err_names(["phase b", "process"]);
        }
        project.command(["run", "--fresh"]).expect(14).err_names(["phase b", "process", "--orphan"]);
        assert!(!project.exists(".onward/onward.db"), "a refusal made a store");
        assert_eq!(project.count("begin", "b"), 1);
        project.open("b");
        project.wait_ledger("end", "b", 1);
        wait_until("the end of the attempt", || {
            let code = project.command(["run", "--fresh"]).code;
            (code != 14).then_some(())
        });
        assert_eq!(project.count("begin", "b"), 2);
    }
}

/// The books are gone and a phase of theirs works. Whoever wants to start fresh says what becomes of it: it is ended with all that it
/// started, or waited for, and only then anything begins.
#[test]
fn a_fresh_start_ends_or_awaits_what_outlived_the_books() {
    let stray = "(env -i setsid sleep 300 >/dev/null 2>&1 199>&- 63>&- & echo $! > stray)";
    let plan = format!("onward: 1\nname: demo\nphases:\n  a:\n    run: |\n      {stray}\n      step a hold\n");
    for how in ["kill", "wait"] {
        let project = project();
        project.plan(&plan);
        let driver = project.start(["run"]);
        let pid = project.wait_ledger("begin", "a", 1).pid;
        let stray: u32 =
            wait_until("a process", || project.exists("stray").then(|| project.read("stray").trim().parse().ok())?);
        driver.kill();
        fs::remove_dir_all(project.path(".onward")).expect("our own folder");
        project.plan("onward: 1\nname: demo\nphases:\n  a: { run: step a }\n");
        let fresh = project.start(["run", "--fresh", "--orphan", how]);
        if how == "wait" {
            wait_until("what it waits for", || fresh.err().contains("is waited for").then_some(()));
            assert_eq!(project.count("begin", "a"), 1, "{:?}", project.ledger());
            project.open("a");
        }
        fresh.wait_code(0);
        assert!(!onward_testkit::is_alive(pid), "the phase goes on");
        assert_eq!(onward_testkit::is_alive(stray), how == "wait", "what a successful phase leaves behind is let be");
        assert_eq!(project.order("overlap"), Vec::<String>::new(), "{:?}", project.ledger());
        assert_eq!((project.count("begin", "a"), project.count("end", "a")), (2, if how == "wait" { 2 } else { 1 }));
    }
}

/// The store is gone and git, which would know, is not there or fails. That is said, and nothing begins from nothing.
#[test]
fn without_an_answer_of_git_nothing_begins_anew() {
    for way in ["fails", "missing"] {
        let (project, run) = begun(EFFECT);
        project.git(["clean", "-fdxq"]);
        let start = |words: &[&str]| {
            let mut command = project.prepare(words);
            if way == "missing" {
                // Phases are found here, and git is not.
                command.env("PATH", project.root().join("bin"));
            }
            project.spawn(command).wait()
        };
        let git = (way == "fails").then(|| project.script("git", "#!/bin/sh\nexit 128\n"));
        let refused = start(&["run"]);
        assert_eq!(refused.code, 12, "{refused}");
        assert!(refused.err.contains("git did not answer") && refused.err.contains("--fresh"), "{refused}");
        assert!(!project.exists(".onward/onward.db"), "a refusal made a store");
        assert_eq!(project.count("begin", "b"), 1);
        if git.is_some() {
            let fresh = start(&["run", "--fresh"]);
            assert_eq!(fresh.code, 1, "{fresh}");
            assert_eq!(project.count("begin", "b"), 2);
        }
        git.map(fs::remove_file).transpose().expect("the file is ours");
        if way == "missing" {
            project.command(["run"]).expect(12).err_names([run.as_str()]);
        }
    }
}

/// A repository that never had a run, on a machine whose git fails: nothing can be lost, and the first run begins.
#[test]
fn a_first_run_needs_no_answer_of_git() {
    let project = in_git("onward: 1\nname: demo\nphases:\n  a: { run: step a }\n");
    project.script("git", "#!/bin/sh\nexit 128\n");
    project.command(["run"]).expect(0);
    assert_eq!(project.count("end", "a"), 1);
}

/// Git fails from one of its calls on, whichever it is. The repair does not say that all is well, and the next one does it all.
#[test]
fn a_repair_during_which_git_fails_is_no_success() {
    let (project, _) = begun(UNFIXED);
    let calls = project.root().join("calls");
    let real = std::env::var_os("PATH").expect("a path");
    let real = std::env::split_paths(&real).map(|folder| folder.join("git")).find(|git| git.is_file()).expect("git");
    for fails_from in 1..40 {
        drop(fs::remove_dir_all(project.path(".onward")));
        fs::write(&calls, "").expect("the folder is ours");
        let (log, real) = (calls.display(), real.display());
        let git = project.script(
            "git",
            &format!("#!/bin/sh\necho x >> '{log}'\n[ $(wc -l < '{log}') -lt {fails_from} ] || exit 128\nexec '{real}' \"$@\"\n"),
        );
        let done = project.command(["doctor", "--repair"]);
        fs::remove_file(git).expect("the file is ours");
        let made = fs::read_to_string(&calls).expect("the file is ours").lines().count();
        if made < fails_from {
            assert_eq!(done.code, 0, "{done}");
            assert!(fails_from > 5, "this test needs a repair that asks git");
            return;
        }
        assert_ne!(done.code, 0, "call {fails_from}: {done}");
        // Where nothing was made, the next one begins as this one did.
        if project.exists(".onward/onward.db") {
            project.command(["doctor", "--repair"]).expect(0);
            assert_eq!(completed(&project), ["a", "b"], "call {fails_from}");
        }
    }
    panic!("a repair takes more calls than anybody thought");
}
