//! A stop stops, whatever hangs: every hang with every signal. Measured is the time from the signal to the end, and a ledger
//! outside says what was started.

mod hangs;

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use onward_testkit::{Signal, TestProject, wait_until};

use super::project;
use hangs::{HANGS, Hang};

/// A stop takes no longer. A loaded machine is given a little more.
const STOP_TIME_MAX: Duration = Duration::from_secs(10);
const MACHINE_TIME: Duration = Duration::from_secs(3);

/// Cases that are tried at the same time: they wait more than they work.
const SIDE_BY_SIDE: usize = 4;

const SIGNALS: [(Signal, i32); 3] = [(Signal::SIGINT, 130), (Signal::SIGTERM, 143), (Signal::SIGHUP, 129)];

/// Every hang of the table is met by every signal. The process is gone within ten seconds with the code of the signal, nothing
/// was started after it, no program that hung is left, and the run goes on and comes to its end.
#[test]
fn every_hang_is_left_by_every_signal_which_kills_nothing_else() {
    let only = std::env::var("ONWARD_HANG").ok();
    let wanted = |hang: &&Hang| only.as_ref().is_none_or(|only| hang.name.contains(only.as_str()));
    let all = HANGS.iter().filter(wanted).flat_map(|hang| SIGNALS.map(|signal| (hang, signal)));
    let cases: Mutex<VecDeque<_>> = Mutex::new(all.collect());
    let told = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..SIDE_BY_SIDE {
            scope.spawn(|| {
                loop {
                    let next = cases.lock().map(|mut cases| cases.pop_front());
                    let Ok(Some((hang, (signal, code)))) = next else { return };
                    let tried = std::panic::catch_unwind(|| attempt(hang, signal, code));
                    let line = match tried {
                        Ok(Some(took)) => format!("ok    {} {signal}: {} ms", hang.name, took.as_millis()),
                        Ok(None) => format!("left  {} {signal}: this machine does not allow it", hang.name),
                        Err(why) => format!("WRONG {} {signal}: {}", hang.name, words(why.as_ref())),
                    };
                    told.lock().expect("nobody panics with it").push(line);
                }
            });
        }
    });
    let told = told.into_inner().expect("nobody panics with it");
    let text = told.join("\n");
    assert!(!told.is_empty() && told.iter().all(|line| !line.starts_with("WRONG")), "{text}");
    println!("{text}");
}

fn words(why: &(dyn std::any::Any + Send)) -> String {
    let text = why.downcast_ref::<String>().cloned();
    text.or_else(|| why.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
}

/// One hang and one signal; how long the stop took.
fn attempt(hang: &Hang, signal: Signal, code: i32) -> Option<Duration> {
    let project = project();
    project.plan(hang.plan);
    (hang.prepare)(&project);
    let mut begun = (hang.begin)(&project)?;
    (hang.is_hung)(&project, &begun);
    let begins = project.order("begin");
    let asked = Instant::now();
    begun.signal(signal);
    let ran = begun.wait_within(STOP_TIME_MAX + MACHINE_TIME);
    let took = asked.elapsed();
    assert_eq!(ran.code, code, "the exit code\n{}", ran.err);
    assert!(!ran.err.contains("cut off"), "it ends in good order\n{}", ran.err);
    let allowed = if hang.takes_long { STOP_TIME_MAX } else { STOP_TIME_MAX / 2 };
    assert!(took <= allowed + MACHINE_TIME, "it took {} ms", took.as_millis());
    assert_eq!(project.order("begin"), begins, "nothing is started after a stop");
    if signal != Signal::SIGHUP && !hang.lives_on {
        project.wait_no_processes();
    }
    (hang.repair)(&project);
    project.command(["resume"]).expect(0);
    for phase in hang.phases {
        assert_eq!(project.count("end", phase), 1, "phase {phase} came to its end once: {:?}", project.ledger());
    }
    assert_eq!(project.count("overlap", "a") + project.count("overlap", "b"), 0);
    Some(took)
}

/// There is no room to write down that a phase is to end. It is asked by a signal alone, and ends as it likes to, before it is ended.
#[test]
fn a_phase_is_asked_to_end_where_nothing_can_be_written() {
    let project = project();
    project.plan(
        "onward: 1\nname: demo\nphases:\n  a: { run: \"trap 'echo heard > ../heard; exit 3' INT; step a hold & wait\" }\n",
    );
    let run = project.start(["run"]);
    project.wait_ledger("begin", "a", 1);
    hangs::leave_no_room(&project, run.pid());
    run.signal(Signal::SIGINT);
    run.wait_code(130);
    assert_eq!(project.read("../heard"), "heard\n");
    project.wait_no_processes();
}

/// A phase ignores what it is asked, and the first Ctrl+C waits for it. The second kills at once.
#[test]
fn the_second_ctrl_c_does_not_wait() {
    let project = project();
    project.plan("onward: 1\nname: demo\nphases:\n  a: { run: \"step a 'trap \\\"\\\" INT TERM; hold'\" }\n");
    let run = project.start(["run"]);
    project.wait_ledger("begin", "a", 1);
    run.signal(Signal::SIGINT);
    wait_until("the first is heard", || run.err().contains("asked to end").then_some(()));
    let asked = Instant::now();
    run.signal(Signal::SIGINT);
    run.wait_code(130);
    assert!(asked.elapsed() < Duration::from_secs(4), "{:?}", asked.elapsed());
    project.wait_no_processes();
}

/// The same while git hangs beside the phase.
#[test]
fn the_second_ctrl_c_does_not_wait_while_git_hangs() {
    let project = project();
    project.plan(
        "onward: 1\nname: demo\nmax-parallel: 2\nphases:\n  a: { run: \"step a 'meet z; : > ../slow'\" }\n  z: { run: \"step z 'trap \\\"\\\" INT TERM; hold'\" }\n  b: { needs: a, run: step b }\n",
    );
    project.git_init();
    hangs::slow_git(&project, "");
    let run = project.start(["run"]);
    hangs::wait_hung(&project);
    run.signal(Signal::SIGINT);
    wait_until("the first is heard", || run.err().contains("asked to end").then_some(()));
    let asked = Instant::now();
    run.signal(Signal::SIGINT);
    run.wait_code(130);
    assert!(asked.elapsed() < Duration::from_secs(4), "{:?}", asked.elapsed());
    assert_eq!(project.count("begin", "b"), 0);
    project.wait_no_processes();
}

/// A git call of the start hangs, whichever it is, and the start is stopped. What is begun then or afterwards has its snapshots
/// and its branch.
#[test]
fn a_start_that_is_stopped_in_a_git_call_leaves_no_half_run() {
    for call in 1..=8 {
        let project = project();
        project.plan("onward: 1\nname: demo\nphases:\n  a: { run: \"step a 'echo a > made'\" }\n");
        project.git_init();
        hangs::git_slow_at(&project, call);
        let run = project.start(["run"]);
        hangs::wait_hung(&project);
        run.signal(Signal::SIGINT);
        let begun = project.order("begin");
        run.wait_code(130);
        assert_eq!(project.order("begin"), begun, "nothing is started after a stop");
        project.command(["run", "--yes"]).expect(0);
        assert_eq!(project.count("begin", "a"), 1);
        let status = project.command(["status", "--json"]).expect(0).json();
        assert_eq!(status["branch"], "main", "call {call}: {status:#}");
        let kept = project.git(["for-each-ref", "--format=%(refname)", "refs/onward"]);
        assert!(kept.lines().any(|name| !name.ends_with("/journal")), "call {call}: {kept}");
    }
}

/// Somebody starts anew and waits for the phases of the old run. Others start meanwhile, since the place to start is not taken.
#[test]
fn waiting_for_an_orphan_keeps_nobody_from_starting() {
    let project = project();
    project.plan("onward: 1\nname: demo\nphases:\n  a: { run: step a hold }\n");
    project.plan_at("other.yaml", "onward: 1\nname: other\nphases:\n  o: { run: step o }\n");
    let first = project.start(["run"]);
    project.wait_ledger("begin", "a", 1);
    first.kill();
    let waits = project.start(["run", "--fresh", "--orphan", "wait"]);
    wait_until("it waits", || waits.err().contains("is waited for").then_some(()));
    let other = project.command(["run", "other.yaml"]).expect(0);
    assert!(waits.is_running(), "{}", waits.err());
    assert!(other.took < Duration::from_secs(9), "{:?}", other.took);
    waits.signal(Signal::SIGTERM);
    waits.wait_code(143);
    let again = project.start(["run", "--fresh", "--orphan", "wait"]);
    project.open("a");
    again.wait_code(0);
    assert_eq!((project.count("end", "a"), project.count("overlap", "a")), (2, 0));
}

/// A verb that is no run: its check hangs, Ctrl+C ends the check with it, and nothing is recorded.
#[test]
fn ctrl_c_while_a_report_is_checked() {
    let project = project();
    let verify = hangs::HANG;
    project.plan(&format!(
        "onward: 1\nname: demo\nphases:\n  a: {{ external: {{ instructions: do it }}, verify: ['{verify}'] }}\n"
    ));
    project.command(["run"]).expect(15);
    project.write("../slow", "");
    let report = project.start(["report", "done", "a", "--remaining", "none"]);
    hangs::wait_hung(&project);
    report.signal(Signal::SIGINT);
    report.wait_code(130).err_names(["stopped", "SIGINT"]);
    project.wait_no_processes();
    assert_eq!(project.command(["status", "--json"]).json()["completed"].as_array().map(Vec::len), Some(0));
    std::fs::remove_file(project.root().join("slow")).expect("it is there");
    project.command(["report", "done", "a", "--remaining", "none"]).expect(0);
}

/// A rewind is interrupted while git looks at the tree. Nothing was moved, and the same rewind works afterwards.
#[test]
fn ctrl_c_while_a_rewind_looks_at_the_tree() {
    let project = project();
    project.plan("onward: 1\nname: demo\nphases:\n  a: { run: 'echo a > made; step a' }\n  b: { needs: a, run: 'echo b > made; step b' }\n");
    project.git_init();
    project.command(["run"]).expect(0);
    let log = project.command(["log", "--json"]).json();
    let of_a = |row: &&serde_json::Value| row["phase"] == "a" && row["trigger"] == "phase_transition";
    let rows = log["checkpoints"].as_array().expect("checkpoints").clone();
    let point = rows.iter().find(of_a).expect("a checkpoint")["id"].as_str().expect("an id").to_owned();
    hangs::slow_git(&project, "");
    project.write("../slow", "");
    let rewind = project.start(["rewind", &point]);
    hangs::wait_hung(&project);
    rewind.signal(Signal::SIGINT);
    rewind.wait_code(130);
    assert_eq!(project.read("made"), "b\n");
    project.wait_no_processes();
    std::fs::remove_file(project.root().join("slow")).expect("it is there");
    project.command(["rewind", &point]).expect(0);
    assert_eq!(project.read("made"), "a\n");
}

/// Ctrl+C at the question of a resume changes nothing.
#[test]
fn ctrl_c_at_the_question_changes_nothing() {
    let project = project();
    project.plan("onward: 1\nname: demo\nphases:\n  a: { run: \"step a 'test -e ../ok'\" }\n");
    project.command(["run"]).expect(1);
    let before = project.command(["log", "--json"]).out;
    let mut terminal = project.terminal(["run"]);
    terminal.expect("(r)esume");
    terminal.send("\u{3}");
    terminal.wait_code(130);
    assert_eq!(project.command(["log", "--json"]).out, before);
}

/// A slow reader is no reason to lose a line.
#[test]
fn a_slow_reader_gets_every_line() {
    let project = project();
    let phases: Vec<String> = (0..10).map(|number| format!("  p{number}: {{ run: 'true' }}\n")).collect();
    let phases = phases.concat();
    project.plan(&format!("onward: 1\nname: demo\nphases:\n{phases}"));
    let (reader, writer) = hangs::full_pipe();
    let run = project.spawn_onto(project.prepare(["run", "--json"]), Some(writer), None);
    wait_until("the project", || project.exists(".onward/onward.db").then_some(()));
    let ended = |project: &TestProject| project.command(["status", "--json"]).json()["status"] == "completed";
    wait_until("all phases", || ended(&project).then_some(()));
    let text = std::io::read_to_string(reader).expect("text");
    run.wait_code(0);
    let text = text.trim_start_matches('.');
    let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let seqs: Vec<u64> = lines.iter().filter_map(|line| line["seq"].as_u64()).collect();
    assert!(seqs.windows(2).all(|two| two[1] == two[0] + 1) && seqs.len() > 30, "{seqs:?}");
    assert_eq!(lines.last().map(|last| last["type"] == "exit"), Some(true));
}
