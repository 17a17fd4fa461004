//! Answers to people at 2 am: where a run is, whether it is stuck, and what to do.

use onward_testkit::{TestProject, wait_until};

use crate::project;

const GATE: &str = "
onward: 1
name: parcels
phases:
  a: { run: step a hold }
  gate: { needs: a, approval: 'Ship it?' }
  b: { needs: gate, run: step b }
";

fn times(text: &str, words: &str) -> usize {
    text.matches(words).count()
}

/// A run comes as far as an approval, and nothing else is left to do. The question and how to answer it are said once, and the answer goes
/// on with the run.
#[test]
fn approval_is_told_once_where_it_is_needed() {
    let project = project();
    project.plan(GATE);
    project.open("a");
    let told = project.command(["run"]).expect(15).err;
    assert_eq!((times(&told, "Ship it?"), times(&told, "onward approve")), (1, 1), "{told}");
    assert!(told.contains("answer with  onward approve @ gate --resume   or   onward reject @ gate\n"), "{told}");
    let asked_again = project.command(["resume"]).expect(15).err;
    assert_eq!(times(&asked_again, "onward approve"), 1, "{asked_again}");
    // At a terminal it is asked, and how to answer it elsewhere is said once nobody asks any more.
    let mut terminal = project.terminal(["resume"]);
    terminal.expect("Ship it?");
    terminal.expect("[later]: ");
    assert_eq!(times(&terminal.text(), "onward approve"), 0, "{}", terminal.text());
    terminal.send("\r");
    let told = terminal.wait_code(15).out;
    assert_eq!(times(&told, "onward approve"), 1, "{told}");
}

/// An approval is due while another phase is at work: it can be given at once, by a command that leaves the driver its run.
#[test]
fn approval_beside_other_work_can_be_given_at_once() {
    let project = project();
    project.plan(&GATE.replace("needs: a, approval", "approval"));
    let driver = project.start(["run"]);
    project.wait_ledger("begin", "a", 1);
    wait_until("the question", || driver.err().contains("Ship it?").then_some(()));
    assert!(driver.err().contains("  onward approve @ gate   or   onward reject @ gate\n"), "{}", driver.err());
    assert!(project.command(["status"]).out.contains("answer with  onward approve @ gate   or "));
    let list = project.command(["list"]).expect(0).out;
    assert!(list.contains("  running") && list.contains("      onward approve @ gate   or "), "{list}");
    project.command(["approve", "gate"]).expect(0);
    project.open("a");
    let told = driver.wait_code(0).err;
    assert_eq!(times(&told, "onward approve"), 1, "{told}");
}

/// A list and the bare command say what people are asked and how they answer, as `status` does; once it is answered they do not.
#[test]
fn lists_name_what_people_are_asked() {
    let project = project();
    project.plan(&GATE.replace("'Ship it?'", "\"Ship it?\\nIt is late.\""));
    project.open("a");
    project.command(["run"]).expect(15);
    for words in [&["list"][..], &[]] {
        let told = project.command(words).expect(0).out;
        assert!(told.contains("    ? gate asks: Ship it? …\n"), "{told}");
        assert!(told.contains("      onward approve @ gate --resume   or   onward reject @ gate\n"), "{told}");
    }
    let asks = project.command(["list", "--json"]).json()["runs"][0]["asks"].clone();
    assert_eq!(asks, serde_json::json!([{ "phase": "gate", "asks": "Ship it? …" }]));
    project.command(["approve", "gate", "--resume"]).expect(0);
    let list = project.command(["list", "--json"]).json();
    assert_eq!(list["runs"][0]["asks"], serde_json::json!([]));
    assert!(!project.command(["list"]).expect(0).out.contains("asks"));
}

/// Somebody types while a phase is at work, and then an approval is asked for. What was typed is no answer to it.
#[test]
fn what_was_typed_ahead_approves_nothing() {
    let project = project();
    project.plan(GATE);
    let mut terminal = project.terminal(["run"]);
    project.wait_ledger("begin", "a", 1);
    terminal.send("a\rapprove\r");
    project.open("a");
    terminal.expect("[later]: ");
    terminal.send("\r");
    terminal.wait_code(15);
    assert_eq!(project.count("begin", "b"), 0);
}

fn phase<'a>(status: &'a serde_json::Value, group: &str, id: &str) -> &'a serde_json::Value {
    let found = status[group].as_array().and_then(|all| all.iter().find(|one| one["id"] == id));
    found.unwrap_or_else(|| panic!("{id} is not {group}: {status}"))
}

fn wait_words(project: &TestProject, words: &[&str]) -> String {
    wait_until(&format!("a status with {words:?}"), || {
        let told = project.command(["status"]).expect(0).out;
        words.iter().all(|word| told.contains(word)).then_some(told)
    })
}

/// A phase is at work for the fourth time, and prints. `status` has its last line, when it was heard, and how long it usually takes,
/// also when nobody drives the run any more.
#[test]
fn status_tells_whether_work_is_stuck() {
    let project = project();
    project.plan(
        "onward: 1\nname: load\nphases:\n  a: { run: \"step a 'printf \\\"loading part 7\\\\n\\\\n\\\"; hold'\" }\n",
    );
    project.open("a");
    for _ in 0..3 {
        project.command(["run"]).expect(0);
    }
    project.shut("a");
    let driver = project.start(["run"]);
    project.wait_ledger("begin", "a", 4);
    let told = wait_words(&project, &["heard", "ago: loading part 7\n", "last sign of life"]);
    assert!(told.contains(" of ~1 s") || told.contains(", usually 1 s"), "{told}");
    let status = project.command(["status", "--json"]).json();
    let work = phase(&status, "running", "a");
    assert_eq!((&work["last_line"], &work["expected"]["runs"]), (&"loading part 7".into(), &3.into()), "{work}");
    assert!(work["heard_at"].as_str() >= work["started_at"].as_str(), "{work}");
    driver.kill();
    wait_words(&project, &["although nobody drives the run", "ago: loading part 7\n"]);
    project.open("a");
    wait_words(&project, &["→ a  has ended meanwhile, and the next start takes its result\n"]);
    let status = project.command(["status", "--json"]).json();
    assert_eq!(phase(&status, "remaining", "a")["result_waits"], true);
    project.command(["resume"]).expect(0);
    let done = project.command(["status", "--json"]).json();
    assert!(phase(&done, "completed", "a").get("last_line").is_none(), "{done}");
}

/// One of a hundred phases has failed. `status` fits a screen and has it, with where to look and what to type at the end; `show` has
/// all of them.
#[test]
fn status_of_many_phases_fits_a_screen() {
    let project = project();
    let body = |n: usize| if n == 60 { "step p60 'echo disk full; exit 3'".to_owned() } else { format!("step p{n}") };
    let needs = |n: usize| if n == 0 { String::new() } else { format!("needs: p{}, ", n - 1) };
    let phases: String = (0..100).map(|n| format!("  p{n}: {{ {}run: \"{}\" }}\n", needs(n), body(n))).collect();
    project.plan(&format!("onward: 1\nname: many\nphases:\n{phases}"));
    project.command(["run"]).expect(1);
    let told = project.command(["status"]).expect(0).out;
    assert!(told.lines().count() < 24, "{told}");
    assert!(told.contains("60 of 100 phases done, 1 failed") && told.contains("✗ p60  failed in attempt 1"), "{told}");
    assert!(told.contains("55 phases are done; the last of them:") && told.contains("and 34 more to come"), "{told}");
    let end: Vec<&str> = told.lines().rev().take(2).collect();
    assert_eq!(end, ["go on with  onward resume @", "see what it printed with  onward logs @ p60"]);
    let all = told.split("onward show ").nth(1).and_then(|rest| rest.lines().next()).expect("a run to show");
    let all = project.command(["show", all]).expect(0).out;
    assert!((0..100).all(|n| all.contains(&format!(" p{n} "))), "{all}");
}

/// The checkpoints of children of a matrix are listed and shown by their values.
#[test]
fn checkpoints_of_children_are_called_by_values() {
    let project = project();
    project.plan("onward: 1\nname: load\nphases:\n  fetch: { matrix: { day: [mon, tue] }, run: step fetch }\n");
    project.command(["run"]).expect(0);
    for words in [&["log"][..], &["show", "@"], &["summary"]] {
        let told = project.command(words).expect(0).out;
        assert!(told.contains("fetch[mon]") && !told.contains("fetch@"), "{words:?}: {told}");
    }
    let summary = project.command(["summary"]).expect(0).out;
    assert!(summary.lines().all(|line| times(line, "fetch[mon]") < 2), "{summary}");
}

/// A newcomer makes a project. It is said what is off where they stand, and what to type next.
#[test]
fn init_says_what_is_off_and_what_comes_next() {
    let project = project();
    let bare = project.command(["init"]).expect(0).err;
    assert!(bare.contains("snapshots of files are off") && bare.contains("with  onward init --plan\n"), "{bare}");
    project.command(["init", "--plan"]).expect(0).err_names(["onward check", "onward run"]);
    assert_eq!(project.command(["init", "--json"]).expect(0).json()["snapshots"], "off");
    project.git_init();
    let in_git = project.command(["init"]).expect(0).err;
    assert!(!in_git.contains("snapshots of files are off"), "{in_git}");
}
