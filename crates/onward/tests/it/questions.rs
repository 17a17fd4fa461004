//! Questions at a terminal, and what becomes of each answer.

use onward_testkit::{TestProject, wait_until};

use crate::chain::killed_in_b;
use crate::project;

const CHAIN: &str = "
onward: 1
name: demo
description: Three steps
phases:
  a: { name: The first step, run: step a }
  b: { needs: a, run: step b hold }
  c: { needs: b, run: step c }
";

fn statuses(project: &TestProject) -> Vec<String> {
    let runs = project.command(["list", "--all", "--json"]).json();
    let runs = runs["runs"].as_array().expect("runs");
    runs.iter().map(|run| run["status"].as_str().expect("a status").to_owned()).collect()
}

/// A run was killed. The question says what it is, how far it is, and what would be done next. `q` changes nothing, `a` archives
/// the run and starts nothing.
#[test]
fn quit_leaves_and_abandon_archives() {
    let project = project();
    killed_in_b(&project, CHAIN);
    let mut terminal = project.terminal(["run"]);
    for told in ["demo", "Three steps", "1 of 3 phases done", "created", "last sign of life", "a: The first step"] {
        terminal.expect(told);
    }
    terminal.expect("Next: run b, c");
    terminal.expect("[r]: ");
    terminal.send("q\n");
    terminal.wait_code(0);
    assert_eq!(statuses(&project), ["interrupted"]);
    let mut terminal = project.terminal(["run"]);
    terminal.expect("[r]: ");
    terminal.send("a\n");
    terminal.expect("is archived");
    terminal.wait_code(0);
    assert_eq!(statuses(&project), ["archived"]);
    assert_eq!(project.order("begin"), ["a", "b"]);
}

/// The text of an approval and a phase that is done were edited. Whoever does not want the plan as it was is asked what becomes of that
/// phase by the edited one, and not turned away.
#[test]
fn an_edited_approval_is_agreed_to_at_the_terminal() {
    let project = project();
    let plan = |body: &str, message: &str| {
        format!(
            "onward: 1\nname: demo\nphases:\n  a: {{ run: {body} }}\n  gate: {{ needs: a, approval: {message} }}\n  c: {{ needs: \
             gate, run: step c }}\n"
        )
    };
    project.plan(&plan("step a", "Ship it?"));
    project.command(["run"]).expect(15);
    project.plan(&plan("step a again", "Ship it now?"));
    let mut terminal = project.terminal(["run"]);
    terminal.expect("gate: approval: message: Ship it? → Ship it now?");
    terminal.expect("[r]: ");
    terminal.send("r\n");
    terminal.expect("as it was when the run was started? [y/N]: ");
    terminal.send("n\n");
    terminal.expect("By the edited plan");
    terminal.expect("[q]: ");
    terminal.send("k\n");
    terminal.expect("gate asks: Ship it now?");
    terminal.expect("[later]: ");
    terminal.send("a\n");
    terminal.wait_code(0);
    assert_eq!(project.order("end"), ["a", "c"]);
}

/// `n` asks what else: back to the question, or a phase by its number, the remaining ones first; `q` leads back. The finished one is picked, so it
/// is done again, with all that needs it.
#[test]
fn a_phase_is_picked_by_its_number() {
    let project = project();
    killed_in_b(&project, CHAIN);
    let mut terminal = project.terminal(["run"]);
    terminal.expect("[r]: ");
    terminal.send("n\n");
    terminal.expect("[b]: ");
    terminal.send("\n");
    terminal.expect("[r]: ");
    terminal.send("p\n");
    for listed in ["1) b", "2) c", "3) a: The first step", "goes back: "] {
        terminal.expect(listed);
    }
    terminal.send("7\n");
    terminal.expect("no such phase");
    terminal.send("q\n");
    terminal.expect("[r]: ");
    terminal.send("p\n");
    terminal.expect("goes back: ");
    project.open("b");
    terminal.send("3\n");
    terminal.wait_code(0);
    assert_eq!(project.order("end"), ["a", "a", "b", "c"]);
}

/// The driver was killed and its phase lives on: it is waited for. When it has ended its result is taken.
#[test]
fn next_says_what_a_start_would_do() {
    let project = project();
    project.plan(CHAIN);
    let driver = project.start(["run"]);
    project.wait_ledger("begin", "b", 1);
    driver.kill();
    let coming = |words: &str| {
        let mut terminal = project.terminal(["run"]);
        terminal.expect(words);
        terminal.expect("[r]: ");
        terminal.send("q\n");
        terminal.wait_code(0);
    };
    coming("Next: wait for b, then run c");
    project.open("b");
    project.wait_ledger("end", "b", 1);
    wait_until("b to be gone", || {
        let why = project.command(["why", "b", "--json"]).json();
        (why["next"] == "take_result").then_some(())
    });
    coming("Next: take the result of b, then run c");
    project.command(["run"]).expect(0);
    project.ran_once(["a", "b", "c"]);
}

/// A file that a finished phase had written was edited by hand. `f` shows what was changed, `v` the state and the checkpoints.
#[test]
fn files_and_details_are_shown() {
    let project = project();
    let plan = CHAIN
        .replace("run: step a }", "run: \"step a 'printf \\\"one\\ntwo\\n\\\" > report.txt'\", writes: report.txt }");
    project.plan(&plan);
    project.git_init();
    killed_in_b(&project, &plan);
    project.write("report.txt", "one\nby hand\n");
    let mut terminal = project.terminal(["run"]);
    terminal.expect("[r]: ");
    terminal.send("f\n");
    for shown in ["report.txt", "-two", "+by hand", "[r]: "] {
        terminal.expect(shown);
    }
    terminal.send("v\n");
    terminal.expect("checkpoints, newest first");
    terminal.expect("[r]: ");
    terminal.send("q\n");
    terminal.wait_code(0);
    assert_eq!(project.read("report.txt"), "one\nby hand\n");
}

/// Two runs of the same plan are unfinished. They are numbered, the newest first; the older one is chosen and asked about, and the
/// other stays as it is.
#[test]
fn one_of_several_runs_is_chosen() {
    let project = project();
    let old = killed_in_b(&project, CHAIN);
    let log = project.command(["log", &old, "--json"]).json();
    let checkpoint = log["checkpoints"][0]["id"].as_str().expect("a checkpoint").to_owned();
    project.command(["fork", &checkpoint]).expect(0);
    project.open("b");
    let mut terminal = project.terminal(["run"]);
    terminal.expect(&format!("2) {old}"));
    terminal.expect("[1]: ");
    terminal.send("2\n");
    terminal.expect("[r]: ");
    terminal.send("\n");
    terminal.wait_code(0);
    assert_eq!(statuses(&project), ["interrupted", "completed"]);
}

/// A phase failed for good. `l` shows what it printed and asks again; `a` takes it as done, and the rest goes on. Whose word that
/// was is shown afterwards.
#[test]
fn a_failure_is_answered_by_letters() {
    let project = project();
    project.plan(
        "onward: 1\nname: demo\nphases:\n  a: { run: \"step a 'seq 101 140; false'\" }\n  b: { needs: a, run: step b }\n",
    );
    let mut terminal = project.terminal(["run"]);
    terminal.expect("(l)og  [q]: ");
    terminal.send("l\n");
    terminal.expect("105");
    terminal.expect("[q]: ");
    terminal.send("a\n");
    terminal.wait_code(0);
    project.ran_once(["b"]);
    let record = project.command(["status", "--json"]).json()["completed"][0].clone();
    assert!(record["adopted"]["by"].is_string() && record["adopted"]["at"].is_string(), "{record}");
    let text = project.command(["status"]).expect(0).out;
    assert!(
        text.contains(&format!("taken as done by {}", record["adopted"]["by"].as_str().unwrap_or_default())),
        "{text}"
    );
}

/// One failed phase is adopted with a reason, another is skipped. The reason is on record, and what was skipped is not done.
#[test]
fn adopted_and_skipped_are_told_apart() {
    let project = project();
    project.plan(
        "onward: 1\nname: demo\nphases:\n  a: { run: step a false }\n  s: { needs: a, run: step s false }\n  d: { needs: s, run: step d }\n",
    );
    project.command(["run"]).expect(1);
    project.command(["adopt", "a", "--reason", "done on the console"]).expect(0);
    project.command(["skip", "s"]).expect(0);
    project.command(["resume"]).expect(0).err_names(["2 of 3 phases done, 1 skipped"]);
    let status = project.command(["status", "--json"]).json();
    assert_eq!(status["completed"][0]["adopted"]["reason"], "done on the console", "{status}");
    assert!(status["completed"][1]["adopted"].is_null(), "{status}");
    let text = project.command(["status"]).expect(0).out;
    assert!(text.contains("(done on the console)") && text.contains("2 of 3 phases done, 1 skipped"), "{text}");
}

const GATED: &str = "
onward: 1
name: demo
phases:
  a: { run: step a }
  gate: { needs: a, approval: \"Go live?\" }
  b: { needs: gate, run: step b }
";

/// An approval falls due while its driver has a terminal, and is asked there. `later`, and Enter, leave it; the next start asks
/// again.
#[test]
fn approvals_are_asked_where_the_driver_is() {
    let project = project();
    project.plan(GATED);
    for (verb, answer) in [("run", "\n"), ("resume", "later\n")] {
        let mut terminal = project.terminal([verb]);
        terminal.expect("Go live?");
        terminal.expect("[later]: ");
        terminal.send(answer);
        terminal.wait_code(15);
    }
    let mut terminal = project.terminal(["resume"]);
    terminal.expect("[later]: ");
    terminal.send("a\n");
    terminal.wait_code(0);
    project.ran_once(["a", "b"]);
}

/// A person says no at the terminal: the run has failed, and a resume does not ask again. Where choices have names of their own,
/// they are numbered.
#[test]
fn an_approval_is_rejected_or_one_of_its_choices_is_made() {
    let project = project();
    project.plan(GATED);
    let mut terminal = project.terminal(["run"]);
    terminal.expect("[later]: ");
    terminal.send("r\n");
    terminal.expect("[q]: ");
    terminal.send("\n");
    terminal.wait_code(1);
    project.command(["resume"]).expect(1);
    let other = crate::project();
    other.plan(&GATED.replace("\"Go live?\"", "{ message: Where to?, choices: [stage, live, reject] }"));
    let mut terminal = other.terminal(["run"]);
    terminal.expect("2) live");
    terminal.send("2\n");
    terminal.wait_code(0);
    let gate = other.command(["status", "--json"]).json()["completed"][1].clone();
    assert_eq!(gate["outputs"]["choice"], "live", "{gate}");
}

/// An answer from another terminal says whether anybody goes on with it.
#[test]
fn an_answer_says_whether_somebody_drives_the_run() {
    let project = project();
    project.plan(&GATED.replace("phases:", "phases:\n  side: { run: step side hold }"));
    let driver = project.start(["run"]);
    wait_until("the question", || driver.err().contains("Go live?").then_some(()));
    project.command(["approve", "gate"]).expect(0).err_names([format!("process {}", driver.pid()).as_str()]);
    project.open("side");
    driver.wait_code(0);
    let other = crate::project();
    other.plan(GATED);
    other.command(["run"]).expect(15);
    other.command(["approve", "gate"]).expect(0).err_names(["nobody drives the run", "onward resume @"]);
}

/// While the run was down one phase was added to the plan, one removed, and a finished one changed. The next start tells all
/// three; what the removed one printed and what is on record of it stays readable.
#[test]
fn plan_edits_are_told() {
    let project = project();
    let plan = "
        onward: 1
        name: demo
        phases:
          build: { run: step build 'echo one > b.txt', writes: b.txt }
          notes: { run: step notes 'echo said by notes' }
          last: { needs: [build, notes], run: step last '! test -e broken' }
    ";
    project.write("broken", "");
    project.plan(plan);
    project.command(["run"]).expect(1);
    std::fs::remove_file(project.path("broken")).expect("it is there");
    let edited = plan.replace("echo one", "echo two").replace("[build, notes]", "[build, extra]");
    project.plan(&edited.replace("notes: { run: step notes 'echo said by notes' }", "extra: { run: step extra }"));
    let told = project.command(["run"]).expect(14);
    told.err_names(["added: extra", "removed: notes", "echo one", "echo two", "needs: build, notes → build, extra"]);
    project.command(["resume"]).expect(14).err_names(["phase build is done, but", "echo two"]);
    project.command(["resume", "--accept-stale"]).expect(0);
    project.ran_once(["build", "notes", "extra"]);
    assert!(project.command(["logs", "notes"]).expect(0).out.contains("said by notes"));
    let run = project.command(["status", "--json"]).json()["run"].as_str().expect("a run").to_owned();
    let shown = project.command(["show", &run, "--json"]).json();
    assert_eq!(shown["removed"][0]["id"], "notes", "{shown}");
    assert!(project.command(["show", &run]).expect(0).out.contains("no longer in the plan"));
}

/// The children of a matrix are shown by their values, and are known by them wherever a phase is named.
#[test]
fn children_of_a_matrix_have_names() {
    let project = project();
    project.plan(
        "
        onward: 1
        name: demo
        on-failure: continue
        phases:
          fetch:
            matrix: { day: [\"2026-11-13\", \"2026-11-14\"], region: [eu] }
            env: { DAY: \"${{ matrix.day }}\" }
            run: step fetch-$DAY 'echo got $DAY; test -e ok-$DAY'
          join: { needs: fetch, run: step join }
        ",
    );
    project.write("ok-2026-11-13", "");
    let ran = project.command(["run"]).expect(1);
    ran.err_names(["fetch[2026-11-13,eu]", "onward logs @ 'fetch[2026-11-14,eu]'"]);
    let logs = |of: &str| project.command(["logs", of]).expect(0).out;
    assert!(!logs("fetch[2026-11-14,eu]").contains("got 2026-11-13"));
    assert!(logs("fetch").contains("got 2026-11-13") && logs("fetch").contains("got 2026-11-14"));
    project.command(["logs", "@", "fetch[2026-11-15,eu]"]).expect(10);
    project.command(["why", "fetch[2026-11-14,eu]"]).expect(0);
    project.write("ok-2026-11-14", "");
    project.command(["resume", "--retry", "fetch[2026-11-14,eu]"]).expect(0);
    project.ran_once(["fetch-2026-11-13", "join"]);
    let status = project.command(["status", "--json"]).json();
    assert!(
        status["completed"].as_array().expect("phases").iter().any(|it| it["shown"] == "fetch[2026-11-14,eu]"),
        "{status}"
    );
}

/// A command fails below the project, and a flag names a phase that is not there. The page names the folder of the project, hints
/// call the newest run by its sign, and nothing is made.
#[test]
fn pages_say_where_the_project_is_and_make_nothing() {
    let project = project();
    project.plan("onward: 1\nname: Big-demo 2\nphases:\n  a: { run: step a false }\n");
    project.command(["run", "--only", "nosuch"]).expect(10);
    assert!(!project.path(".onward").exists(), "nothing is made before all is checked");
    let ran = project.command(["run"]).expect(1).err_names(["onward resume @"]);
    assert!(!ran.err.contains("onward resume run_"), "{}", ran.err);
    let run = project.command(["status", "--json"]).json()["run"].as_str().expect("a run").to_owned();
    assert!(run.starts_with("run_big_demo_2_"), "{run}");
    let time = run.rsplit('_').next().expect("a time").to_owned();
    assert_eq!(project.command(["status", &time, "--json"]).json()["run"], run.as_str());
    project.command(["status", "999999"]).expect(10);
    std::fs::create_dir_all(project.path("deep/er")).expect("a folder");
    let mut below = project.prepare(["status", "nosuch"]);
    below.current_dir(project.path("deep/er"));
    let told = project.spawn(below).wait_code(10);
    told.err_names([format!("the project is {}", project.dir().display()).as_str()]);
}
