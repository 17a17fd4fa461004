//! Agents in git worktrees of their own: side by side in the same files, one after the other into the project, and a person where
//! two have changed the same.

use onward_testkit::{Signal, TestProject, wait_until};

use crate::project;

/// Plays `$HOME/agent/PHASE-ATTEMPT`, and notes its prompt and where it was started.
const CLIENT: &str = r#"#!/bin/sh
me="$ONWARD_PHASE-$ONWARD_ATTEMPT"
{ printf '%s\n' "$@"; echo --prompt--; cat; } > "$HOME/agent/prompt-$me"
pwd > "$HOME/agent/place-$me"
echo x >> "$HOME/agent/calls-$me"
hold() { until [ -e "$HOME/$1" ]; do sleep 0.02; done; }
meet() { touch "$HOME/begun-$ONWARD_PHASE"; until [ -e "$HOME/begun-$1" ]; do sleep 0.02; done; }
echo '{"type":"system","subtype":"init","session_id":"s-'"$ONWARD_PHASE"'","model":"fake"}'
. "$HOME/agent/$me"
echo '{"type":"result","subtype":"success","is_error":false,"session_id":"s-'"$ONWARD_PHASE"'","result":"Done.","num_turns":1,"total_cost_usd":0}'
"#;

const LINES: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";

const PAIR: &str = "
    onward: 1
    name: pair
    on-failure: continue
    defaults: { agent: { worktree: own } }
    phases:
      a: { agent: { prompt: Do a. }, writes: src/** }
      b: { agent: { prompt: Do b. }, writes: src/**, verify: [\"test -e src/b.txt\", \"echo $ONWARD_PHASE $PWD >> $HOME/verified\"] }
      c: { needs: [a, b], run: step c }
";

/// A repository with a file of seven lines, and agents that play these scripts.
pub(crate) fn with_agents(plan: &str, scripts: &[(&str, &str)]) -> TestProject {
    let project = project();
    project.write("src/lines.txt", LINES);
    project.plan(plan);
    project.git_init();
    project.script("claude", CLIENT);
    for (name, script) in scripts {
        project.write(project.home().join("agent").join(name), script);
    }
    project
}

pub(crate) fn told(project: &TestProject, what: &str) -> String {
    std::fs::read_to_string(project.home().join("agent").join(what)).unwrap_or_default()
}

fn change(line: &str, to: &str) -> String {
    format!("sed -i 's/^{line}$/{to}/' src/lines.txt\n")
}

/// No worktree, no branch, and no ref of ours but snapshots is left; the repository is sound.
fn nothing_is_left(project: &TestProject) {
    assert_eq!(project.git(["worktree", "list"]).lines().count(), 1);
    let refs = project.git(["for-each-ref", "--format=%(refname)"]);
    assert!(!refs.contains("/own-"), "{refs}");
    let left: Vec<_> = std::fs::read_dir(project.path(".onward/worktrees"))
        .into_iter()
        .flatten()
        .flatten()
        .flat_map(|run| std::fs::read_dir(run.path()).into_iter().flatten().flatten())
        .map(|entry| entry.path())
        .collect();
    assert_eq!(left, Vec::<std::path::PathBuf>::new());
    project.git(["fsck", "--strict"]);
}

/// Two agents work at the same time in one folder, and in different places of one file. Each sees what was there when it began, and
/// not the other; in the end the project has the work of both, HEAD and index are what they were, and nothing is left behind.
#[test]
fn two_agents_side_by_side_in_one_file() {
    let a = format!("meet b\n{}echo a > src/a.txt\ntest ! -e src/b.txt\n", change("one", "ONE"));
    let b = format!("meet a\n{}echo b > src/b.txt; chmod +x src/b.txt\nrm src/gone.txt\n", change("seven", "SEVEN"));
    let project = with_agents(PAIR, &[("a-1", &a), ("b-1", &b)]);
    project.write("src/gone.txt", "not committed\n");
    project.write("src/mine.txt", "untracked\n");
    let (head, index) = (project.git(["rev-parse", "HEAD"]), project.git(["ls-files", "--stage"]));
    project.command(["run"]).expect(0);
    assert_eq!(project.read("src/lines.txt"), "ONE\ntwo\nthree\nfour\nfive\nsix\nSEVEN\n");
    assert_eq!((project.read("src/a.txt").as_str(), project.read("src/b.txt").as_str()), ("a\n", "b\n"));
    assert_eq!((project.exists("src/gone.txt"), project.read("src/mine.txt").as_str()), (false, "untracked\n"));
    assert_eq!((project.git(["rev-parse", "HEAD"]), project.git(["ls-files", "--stage"])), (head, index));
    assert!(told(&project, "place-a-1").contains("/.onward/worktrees/"), "{}", told(&project, "place-a-1"));
    let verified = std::fs::read_to_string(project.home().join("verified")).expect("it was verified");
    let places: Vec<bool> = verified.lines().map(|line| line.contains("/.onward/worktrees/")).collect();
    assert_eq!(places, [true, false], "first there, then in the project: {verified}");
    project.ran_once(["c"]);
    nothing_is_left(&project);
}

/// Both change line four. `a` is first; `b` has to wait for a person.
fn conflicting(more: &[(&str, &str)]) -> TestProject {
    let a = format!("meet b\n{}", change("four", "A"));
    let b = format!("meet a\n{}echo b > src/b.txt\nhold a-is-in\n", change("four", "B"));
    let project = with_agents(PAIR, &[("a-1", &a), ("b-1", &b)]);
    for (name, script) in more {
        project.write(project.home().join("agent").join(name), script);
    }
    let driver = project.start(["run"]);
    wait_until("the work of a", || project.read("src/lines.txt").contains("\nA\n").then_some(()));
    project.write(project.home().join("a-is-in"), "");
    driver.wait_code(15);
    project
}

fn triggers(project: &TestProject) -> String {
    project.command(["log", "--json"]).out
}

/// Two agents change the same line. Nothing is merged: the run waits, says where both versions are, and keeps both.
#[test]
fn two_agents_change_the_same_line() {
    let project = conflicting(&[]);
    assert!(project.read("src/lines.txt").contains("\nA\n"));
    assert!(!project.exists("src/b.txt"), "a part of it came into the project");
    let status = project.command(["status", "--json"]).json();
    assert_eq!(status["status"], "waiting");
    let b = status["remaining"].as_array().expect("phases").iter().find(|phase| phase["id"] == "b").expect("b").clone();
    assert_eq!(b["status"], "waiting");
    let asks = b["asks"].as_str().expect("it asks");
    assert!(asks.contains("src/lines.txt") && asks.contains(".onward/worktrees/"), "{asks}");
    let place = told(&project, "place-b-1");
    assert!(std::fs::read_to_string(format!("{}/src/lines.txt", place.trim())).expect("its version").contains("\nB\n"));
    assert!(triggers(&project).contains("conflict_start"), "{}", triggers(&project));
    let shown = project.command(["status"]).expect(0).out;
    assert!(!shown.contains("onward approve"), "{shown}");
    for verb in ["retry", "adopt", "skip"] {
        assert!(shown.contains(&format!("onward {verb} ")), "{verb}: {shown}");
    }
    let again = project.command(["run"]).expect(15);
    assert!(again.out.contains("onward retry") || again.err.contains("onward retry"), "{} {}", again.out, again.err);
    assert_eq!(project.count("begin", "c"), 0);
}

/// The agent has put another repository in the place of its worktree's. Nothing comes into the project, and it is said where its work
/// still lies.
#[test]
fn a_worktree_that_is_none_any_more_is_still_there() {
    let lone = "
    onward: 1
    name: lone
    phases:
      b: { agent: { prompt: do b, worktree: own } }
    ";
    let project = with_agents(lone, &[("b-1", "rm -rf .git; git init -q; echo b > b.txt\n")]);
    let ran = project.command(["run"]).expect(1);
    ran.err_names(["is no worktree of this repository any more; what it did still lies there"]);
    assert!(std::path::Path::new(told(&project, "place-b-1").trim()).join("b.txt").exists());
}

/// The agent is told to bring both together. It goes on in its session and its worktree, finds both versions between marks, and what it
/// makes of them comes into the project. A result with marks in it does not.
#[test]
fn a_conflict_that_the_agent_settles() {
    let marks = "grep -q '^<<<<<<< project$' src/lines.txt; grep -q '^A$' src/lines.txt; echo more > src/more.txt\n";
    let settle = "printf 'one\\ntwo\\nthree\\nA and B\\nfive\\nsix\\nseven\\n' > src/lines.txt\n";
    let project = conflicting(&[("b-2", marks), ("b-3", settle)]);
    project.command(["retry", "b"]).expect(0);
    assert!(triggers(&project).contains("conflict_resolved"), "{}", triggers(&project));
    project.command(["resume"]).expect(1).err_names(["conflict marks"]);
    project.command(["resume", "--retry", "b"]).expect(0);
    assert!(project.read("src/lines.txt").contains("\nA and B\n"));
    assert_eq!((project.exists("src/b.txt"), project.read("src/more.txt").as_str()), (true, "more\n"));
    let prompt = told(&project, "prompt-b-2");
    assert!(prompt.contains("src/lines.txt") && prompt.contains("--resume\ns-b"), "{prompt}");
    assert_eq!(told(&project, "place-b-1"), told(&project, "place-b-3"));
    nothing_is_left(&project);
}

/// A person brings both together by hand and says so, or leaves the work out. The files are as that person left them.
#[test]
fn a_conflict_that_a_person_settles() {
    for (verb, answer) in [("adopt", "completed"), ("skip", "skipped")] {
        let project = conflicting(&[]);
        project.write("src/lines.txt", "by hand\n");
        project.command([verb, "b"]).expect(0);
        assert!(triggers(&project).contains("conflict_resolved"), "{verb}: {}", triggers(&project));
        project.command(["resume"]).expect(0);
        let status = project.command(["status", "--json"]).json();
        let b =
            status["completed"].as_array().expect("phases").iter().find(|phase| phase["id"] == "b").expect("b").clone();
        assert_eq!(b["status"], answer);
        assert_eq!(project.read("src/lines.txt"), "by hand\n");
        // Its worktree is gone; its version is not.
        nothing_is_left(&project);
        let log = project.command(["log", "--events", "--json"]).json();
        let events = log["events"].as_array().expect("events");
        let kept = events
            .iter()
            .find_map(|one| one["fact"]["put_away"].as_str().or(one["event"]["fact"]["put_away"].as_str()));
        let kept = kept.unwrap_or_else(|| panic!("nobody says where it is: {log}")).to_owned();
        assert!(project.git(["show", &format!("{kept}:src/lines.txt")]).contains("\nB\n"));
        let run = status["run"].as_str().expect("a run").to_owned();
        project.command(["delete", &run, "--yes"]).expect(0);
        nothing_is_left(&project);
        let refs = project.git(["for-each-ref", "--format=%(refname)"]);
        assert!(!refs.contains("/left-"), "{refs}");
    }
}

/// Git hangs while it brings an agent's files together with those of the project. Whoever drives does not stand still for it: messages are
/// answered, the end of another phase is put on record, and a stop is heeded soon. The next start puts the files in their place.
#[test]
fn git_hangs_while_files_come_into_the_project() {
    let plan = "
        onward: 1
        name: one
        phases:
          a: { agent: { prompt: Do a., worktree: own } }
          side: { run: step side hold }
          next: { needs: side, run: step next }
    ";
    let project = with_agents(plan, &[("a-1", "echo a > src/a.txt\n")]);
    let paths = std::env::var_os("PATH").expect("a PATH");
    let git = std::env::split_paths(&paths).map(|folder| folder.join("git")).find(|git| git.exists()).expect("git");
    let hangs = "case \" $* \" in *' merge-tree '*) touch \"$HOME/merges\"; until [ -e \"$HOME/go-on\" ]; do sleep 0.02; done ;; esac";
    project.script("git", &format!("#!/bin/sh\n{hangs}\nexec {} \"$@\"\n", git.display()));
    let driver = project.start(["run"]);
    wait_until("the files", || project.home().join("merges").exists().then_some(()));
    project.command(["decision", "add", "Somebody is there."]).expect(0);
    project.open("side");
    wait_until("the end of the other phase", || {
        let status = project.command(["status", "--json"]).json();
        let done = status["completed"].as_array()?.iter().any(|phase| phase["id"] == "side");
        done.then_some(())
    });
    assert!(!project.exists("src/a.txt"));
    driver.signal(Signal::SIGINT);
    let stopped = driver.wait_within(std::time::Duration::from_secs(10));
    assert_ne!(stopped.code, 0, "{stopped}");
    project.write(project.home().join("go-on"), "");
    project.command(["resume"]).expect(0);
    assert_eq!(project.read("src/a.txt"), "a\n");
    project.ran_once(["next"]);
    nothing_is_left(&project);
}

/// Git hangs while it makes the worktree of an agent. Whoever drives does not stand still for it: messages are answered, the end of
/// another phase is put on record, and a stop is heeded soon. The next start makes the worktree.
#[test]
fn git_hangs_while_a_worktree_is_made() {
    let plan = "
        onward: 1
        name: one
        phases:
          a: { agent: { prompt: Do a., worktree: own } }
          side: { run: step side hold }
          next: { needs: side, run: step next }
    ";
    let project = with_agents(plan, &[("a-1", "echo a > src/a.txt\n"), ("a-2", "echo a > src/a.txt\n")]);
    let paths = std::env::var_os("PATH").expect("a PATH");
    let git = std::env::split_paths(&paths).map(|folder| folder.join("git")).find(|git| git.exists()).expect("git");
    let hangs = "case \" $* \" in *' worktree add '*) touch \"$HOME/adds\"; until [ -e \"$HOME/go-on\" ]; do sleep 0.02; done ;; esac";
    project.script("git", &format!("#!/bin/sh\n{hangs}\nexec {} \"$@\"\n", git.display()));
    let driver = project.start(["run"]);
    wait_until("the worktree", || project.home().join("adds").exists().then_some(()));
    project.command(["decision", "add", "Somebody is there."]).expect(0);
    driver.signal(Signal::SIGINT);
    let stopped = driver.wait_within(std::time::Duration::from_secs(12));
    assert_ne!(stopped.code, 0, "{stopped}");
    project.write(project.home().join("go-on"), "");
    project.open("side");
    project.command(["resume"]).expect(0);
    assert_eq!(project.read("src/a.txt"), "a\n");
    project.ran_once(["next"]);
    nothing_is_left(&project);
}

/// Somebody edits the very line while the agent works, and somebody else makes a file that the agent makes as well and that git
/// ignores. Neither is overwritten.
#[test]
fn what_the_user_edits_meanwhile_is_never_overwritten() {
    const ONE: &str = "
        onward: 1
        name: one
        phases:
          a: { agent: { prompt: Do a., worktree: own } }
    ";
    for (path, text, script) in [
        ("src/lines.txt", LINES.replace("four", "mine"), change("four", "A")),
        ("src/new.txt", "mine\n".to_owned(), "echo a > src/new.txt\n".to_owned()),
        ("src/notes.log", "mine\n".to_owned(), "echo a > src/notes.log\ngit add -f src/notes.log\n".to_owned()),
    ] {
        let project = with_agents(ONE, &[("a-1", &format!("touch \"$HOME/begun\"\nhold go-on\n{script}"))]);
        project.write(".gitignore", "*.log\n.onward/\n");
        let driver = project.start(["run"]);
        wait_until("the agent", || project.home().join("begun").exists().then_some(()));
        project.write(path, &text);
        project.write(project.home().join("go-on"), "");
        driver.wait_code(15);
        assert_eq!(project.read(path), text);
        let asks = project.command(["status", "--json"]).json()["remaining"][0]["asks"].to_string();
        assert!(asks.contains(path), "{asks}");
    }
}

/// The driver dies while the agent is at work, and the agent goes on. The next driver takes its result out of the worktree. Then both
/// die: the next attempt goes on in the same session and the same worktree, with all that was in it.
#[test]
fn killed_while_the_agent_is_at_work() {
    let first = "echo half > src/half.txt\ntouch \"$HOME/begun\"\nhold go-on\n";
    let project = with_agents(
        "onward: 1\nname: one\nphases:\n  a: { agent: { prompt: Do a., worktree: own } }\n",
        &[("a-1", first), ("a-2", "cat src/half.txt > src/whole.txt\n")],
    );
    let driver = project.start(["run"]);
    wait_until("the agent", || project.home().join("begun").exists().then_some(()));
    wait_until("its file", || (!told(&project, "place-a-1").is_empty()).then_some(()));
    project.kill_everything();
    driver.wait_code(137);
    project.command(["run"]).expect(0);
    assert_eq!((project.read("src/whole.txt").as_str(), project.read("src/half.txt").as_str()), ("half\n", "half\n"));
    assert!(told(&project, "prompt-a-2").contains("--resume\ns-a"), "{}", told(&project, "prompt-a-2"));
    assert_eq!(told(&project, "place-a-1"), told(&project, "place-a-2"));
    nothing_is_left(&project);
}

/// Without git there are no worktrees. Nothing is made, and the words say why.
#[test]
fn outside_of_git() {
    let project = project();
    project.plan(PAIR);
    project.command(["check"]).expect(0);
    project.command(["run"]).expect(13).err_names(["worktree: own", "no git repository"]);
    assert_eq!(project.command(["list", "--json"]).json()["runs"].as_array().map(Vec::len), Some(0));
}

/// The project lies below the top of its repository. The worktree shows what lies around it, too; only the project's files come back.
#[test]
fn a_project_below_the_top_of_its_repository() {
    let project = with_agents("onward: 1\nname: none\nphases: {}\n", &[]);
    project.write("around.txt", "around\n");
    project.git(["add", "around.txt"]);
    project.git(["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "one"]);
    let plan = "onward: 1\nname: one\nphases:\n  a: { agent: { prompt: Do a., worktree: own } }\n";
    project.write("below/.onward/plan.yaml", plan);
    project.write("below/mine.txt", "not committed\n");
    let script = "cat ../around.txt mine.txt > seen.txt\necho outside > ../around.txt\n";
    project.write(project.home().join("agent/a-1"), script);
    let mut run = project.prepare(["run"]);
    run.current_dir(project.path("below"));
    project.spawn(run).wait().expect(0);
    assert_eq!(project.read("below/seen.txt"), "around\nnot committed\n");
    assert_eq!((project.read("around.txt").as_str(), project.exists("seen.txt")), ("around\n", false));
    assert_eq!(project.git(["worktree", "list"]).lines().count(), 1);
}

#[cfg(feature = "kill-points")]
mod kills {
    use super::*;

    /// How often a point is passed before it is certainly passed no more.
    const PASSES_MAX: u32 = 8;
    const STARTS_MAX: u32 = 4;

    /// The driver is killed at one point of a worktree's life. Gone on with, the agents were called once each, both are in, and
    /// nothing is left.
    fn killed_at(point: &str, pass: u32) -> bool {
        let a = format!("{}echo a > src/a.txt\nrm src/gone.txt\n", change("one", "ONE"));
        let b = format!("{}echo b > src/b.txt\n", change("seven", "SEVEN"));
        let mut project = with_agents(PAIR, &[("a-1", &a), ("b-1", &b)]);
        project.write("src/gone.txt", "1\n");
        let mark = project.root().join("killed");
        project.set_env("ONWARD_KILL_POINT", format!("{point}:{pass}"));
        project.set_env("ONWARD_KILL_MARK", mark.to_str().expect("a UTF-8 path"));
        for _ in 0..STARTS_MAX {
            project.command(["run"]);
            if project.command(["list", "--json"]).json()["runs"][0]["status"] == "completed" {
                break;
            }
        }
        let status = project.command(["status", "--json"]).json();
        assert_eq!(status["status"], "completed", "{point}:{pass}");
        assert_eq!(project.read("src/lines.txt"), "ONE\ntwo\nthree\nfour\nfive\nsix\nSEVEN\n", "{point}:{pass}");
        assert_eq!(
            (project.exists("src/a.txt"), project.exists("src/b.txt"), project.exists("src/gone.txt")),
            (true, true, false),
            "{point}:{pass}"
        );
        for phase in ["a", "b"] {
            assert_eq!(told(&project, &format!("calls-{phase}-1")), "x\n", "{point}:{pass}: {phase} was called once");
            assert_eq!(told(&project, &format!("calls-{phase}-2")), "", "{point}:{pass}: {phase} was called once");
        }
        project.ran_once(["c"]);
        nothing_is_left(&project);
        mark.exists()
    }

    fn every_pass(point: &str) {
        let passes = (1..=PASSES_MAX).take_while(|pass| killed_at(point, *pass)).count();
        assert!(passes > 0, "{point} was never passed: the label is gone or the story misses it");
    }

    macro_rules! points {
        ($($name:ident: $point:literal;)*) => {
            $(
                #[test]
                fn $name() {
                    every_pass($point);
                }
            )*

            /// The points that these stories hit.
            pub(crate) const KILLED_AT: &[&str] = &[$($point,)* "worktree.renewed"];
        };
    }

    points! {
        kills_base_taken: "worktree.base-taken";
        kills_before_made: "worktree.before-made";
        kills_added: "worktree.added";
        kills_made: "worktree.made";
        kills_ready: "worktree.ready";
        kills_result_taken: "worktree.result-taken";
        kills_merged: "worktree.merged";
        kills_before_put: "worktree.before-put";
        kills_after_put: "worktree.after-put";
        kills_before_removed: "worktree.before-removed";
        kills_folder_removed: "worktree.folder-removed";
    }

    const ONE: &str = "
        onward: 1
        name: one
        phases:
          a: { agent: { prompt: Do a., worktree: own } }
    ";

    /// A run of one agent, whose driver was killed while the files were put into the project.
    fn killed_halfway(point: &str) -> TestProject {
        let mut project = with_agents(ONE, &[("a-1", "echo a > src/a.txt\n"), ("a-2", "echo a > src/a.txt\n")]);
        project.set_env("ONWARD_KILL_POINT", format!("{point}:1"));
        project.command(["run"]).expect(137);
        project.remove_env("ONWARD_KILL_POINT");
        project
    }

    const HALFWAY: [&str; 2] = ["worktree.before-put", "worktree.after-put"];

    /// The plan is edited after that kill, and the phase is a person's now. The files are put in wholly before the plan counts, people are
    /// told at the start and in the status, and what the agent claimed is no approval.
    #[test]
    fn a_phase_that_is_no_agents_any_more() {
        for point in HALFWAY {
            let project = killed_halfway(point);
            project.plan("onward: 1\nname: one\nphases:\n  a: { approval: { message: Is it good? } }\n");
            let resumed = project.command(["resume"]).expect(15);
            assert!(resumed.err.contains("the files of a, which were on their way"), "{point}: {resumed}");
            assert_eq!(project.read("src/a.txt"), "a\n", "{point}");
            let status = project.command(["status", "--json"]).json();
            assert_eq!(status["status"], "waiting", "{point}: {status}");
            let told = project.command(["status"]).expect(0);
            assert!(told.out.contains("files of an agent that worked at a"), "{point}: {told}");
            project.command(["approve", "@", "a", "--resume"]).expect(0);
            assert_eq!(told_calls(&project), "x\n", "{point}");
        }
    }

    /// After that kill the run is put away, by a fresh start and by hand: the files are in, and people are told.
    #[test]
    fn a_run_that_is_put_away() {
        for (at, words) in ["run --fresh", "cancel"].into_iter().enumerate() {
            let project = killed_halfway(HALFWAY[at]);
            let away = project.command(words.split(' ')).expect(0);
            assert!(away.err.contains("the files of a, which were on their way"), "{words}: {away}");
            assert_eq!(project.read("src/a.txt"), "a\n", "{words}");
        }
    }

    /// After that kill the run is rewound: what was begun is ended first, so no half of it is left. No snapshot of the run has seen these
    /// files yet, so they stay, and the agent is asked once more.
    #[test]
    fn a_run_that_is_rewound() {
        let project = killed_halfway("worktree.after-put");
        let log = project.command(["log", "--json"]).json();
        let first = log["checkpoints"].as_array().and_then(|all| all.last()).expect("a checkpoint")["id"].clone();
        let rewound = project.command(["rewind", first.as_str().expect("an id")]).expect(0);
        assert!(rewound.err.contains("the files of a, which were on their way"), "{rewound}");
        assert_eq!(project.read("src/a.txt"), "a\n");
        assert_eq!(project.command(["status", "--json"]).json()["remaining"][0]["status"], "pending");
        project.command(["resume"]).expect(0);
        assert_eq!(told_calls(&project), "x\nx\n");
    }

    fn told_calls(project: &TestProject) -> String {
        told(project, "calls-a-1") + &told(project, "calls-a-2")
    }

    /// A person has the agent settle a conflict, and the driver is killed while the worktree is made anew for that. The agent finds both
    /// versions in it all the same, once.
    #[test]
    fn kills_while_a_worktree_is_made_anew() {
        for point in RENEWED {
            let settle =
                "grep -q '^A$' src/lines.txt; grep -q '^B$' src/lines.txt\nprintf 'A and B\\n' > src/lines.txt\n";
            let mut project = conflicting(&[("b-2", settle)]);
            project.command(["retry", "b"]).expect(0);
            let mark = project.root().join("killed");
            project.set_env("ONWARD_KILL_POINT", *point);
            project.set_env("ONWARD_KILL_MARK", mark.to_str().expect("a UTF-8 path"));
            project.command(["run"]).expect(137);
            assert!(mark.exists(), "{point}");
            project.command(["run"]).expect(0);
            assert_eq!(project.read("src/lines.txt"), "A and B\n", "{point}");
            assert_eq!(told(&project, "calls-b-2"), "x\n", "{point}");
            nothing_is_left(&project);
        }
    }

    const RENEWED: &[&str] = &["worktree.renewed", "worktree.merged", "worktree.made"];

    /// The same in the middle of the files.
    #[test]
    fn kills_between_two_files() {
        for point in ["vcs.restore-staged", "vcs.restore-go", "vcs.restore-one", "vcs.restore-placed"] {
            every_pass(point);
        }
    }

    /// A driver stands still just before the first file is put into the project, or dies between two of them. A file that is saved then
    /// is not overwritten, and nothing of the other files is lost.
    #[test]
    fn what_is_saved_in_the_moment_of_the_integration() {
        const ONE: &str = "
            onward: 1
            name: one
            phases:
              a: { agent: { prompt: Do a., worktree: own } }
        ";
        let script = format!("{}echo a > src/a.txt\n", change("one", "ONE"));
        for (edit, code, lines) in [
            // Another place of the same file: both are in the end in it.
            ("seven", 0, "ONE\ntwo\nthree\nfour\nfive\nsix\nmine\n"),
            // The same line: a person is asked, and the project is as the user left it.
            ("one", 15, "mine\ntwo\nthree\nfour\nfive\nsix\nseven\n"),
        ] {
            let mut project = with_agents(ONE, &[("a-1", &script)]);
            let held = project.root().join("held");
            project.set_env("ONWARD_HOLD_POINT", "vcs.restore-go");
            project.set_env("ONWARD_HOLD_FILE", held.to_str().expect("a UTF-8 path"));
            let driver = project.start(["run"]);
            wait_until("the last look", || held.exists().then_some(()));
            project.write("src/lines.txt", LINES.replace(edit, "mine"));
            // Each further time it stands still only until somebody has looked.
            let over = std::sync::atomic::AtomicBool::new(false);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    while !over.load(std::sync::atomic::Ordering::Relaxed) {
                        let _ = std::fs::remove_file(&held);
                        std::thread::yield_now();
                    }
                });
                driver.wait_code(code);
                over.store(true, std::sync::atomic::Ordering::Relaxed);
            });
            assert_eq!(project.read("src/lines.txt"), lines);
            assert_eq!(project.exists("src/a.txt"), code == 0, "all of it or nothing");
        }
        // Killed between two files, and edited before the next driver comes.
        let mut project = with_agents(ONE, &[("a-1", &script)]);
        project.set_env("ONWARD_KILL_POINT", "vcs.restore-one:1");
        project.set_env("ONWARD_KILL_MARK", project.root().join("killed").to_str().expect("a UTF-8 path"));
        project.command(["run"]);
        assert!(project.exists("src/a.txt"), "the first of two files is in its place");
        project.write("src/lines.txt", LINES.replace("one", "mine"));
        project.command(["run"]).expect(15);
        assert_eq!((project.read("src/lines.txt"), project.exists("src/a.txt")), (LINES.replace("one", "mine"), false));
    }
}

#[cfg(feature = "kill-points")]
pub(crate) use kills::KILLED_AT;
