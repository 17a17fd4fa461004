//! Runs without a terminal: detached, watched and followed from elsewhere, on a machine that is kept awake.

use onward_testkit::wait_until;

use crate::project;

const CHAIN: &str = "
onward: 1
name: demo
phases:
  a: { run: step a }
  b: { needs: a, run: step b 'echo first words; hold one; echo last words' }
  c: { needs: b, run: step c }
";

/// A run is started with `--detach`. The command returns with its id while the driver is at work; what the driver says is kept.
#[test]
fn detached_run_is_named_and_its_words_are_kept() {
    let project = project();
    project.plan(CHAIN);
    let ran = project.command(["run", "--detach"]).expect(0);
    let run = ran.out.trim().to_owned();
    project.wait_ledger("begin", "b", 1);
    let status = project.command(["status", "--json"]).json();
    assert_eq!((&status["run"], &status["status"]), (&run.as_str().into(), &"running".into()));
    project.command(["resume", "--detach"]).expect(11);
    project.open("one");
    project.wait_no_processes();
    assert_eq!(project.command(["status", "--json"]).json()["status"], "completed");
    let log = project.read(format!(".onward/run/{run}.driver.log"));
    assert!(log.contains("b started") && log.contains("is complete"), "{log}");
    project.ran_once(["a", "b", "c"]);
}

/// A program starts a run with `--detach --json`: it reads the run and where its log is, and an exit line.
#[test]
fn detached_run_for_a_program() {
    let project = project();
    project.plan(CHAIN);
    project.open("one");
    let ran = project.command(["run", "--detach", "--json"]).expect(0);
    let lines: Vec<serde_json::Value> =
        ran.out.lines().map(|line| serde_json::from_str(line).expect("an object a line")).collect();
    let [told, exit] = lines.as_slice() else { panic!("two lines: {}", ran.out) };
    assert_eq!(
        (told["type"].as_str(), exit["type"].as_str(), exit["code"].as_u64()),
        (Some("detached"), Some("exit"), Some(0))
    );
    assert_eq!(told["run"], exit["run"]);
    project.wait_no_processes();
    project.ran_once(["a", "b", "c"]);
}

/// A mistake that is found before the run begins is told on the terminal, with its exit code, and nothing stays behind.
#[test]
fn detached_start_that_fails_says_so() {
    let project = project();
    project.command(["run", "--detach"]).expect(2);
    project.plan("onward: 1\nphases: { a: { run: step a, needs: nobody } }\n");
    project.command(["run", "--detach"]).expect(2).err_names(["nobody"]);
    assert!(project.processes().is_empty());
}

/// Two phases print side by side; `logs -f` puts the name of its phase in front of every line. One phase alone has its own lines.
#[test]
fn followed_lines_have_their_names() {
    let project = project();
    project.plan(
        "
        onward: 1
        name: demo
        phases:
          left: { run: step left 'echo from the left; hold' }
          right: { run: step right 'echo from the right; hold' }
    ",
    );
    let driver = project.start(["run"]);
    project.wait_ledger("begin", "left", 1);
    project.wait_ledger("begin", "right", 1);
    let (all, one) = (project.start(["logs", "-f"]), project.start(["logs", "-f", "right"]));
    wait_until("both lines", || (all.out().contains("left") && all.out().contains("right")).then_some(()));
    project.open("left");
    project.open("right");
    driver.wait_code(0);
    let all = all.wait_code(0).out;
    assert!(all.contains("left         | from the left\n") && all.contains("right        | from the right\n"), "{all}");
    assert_eq!(one.wait_code(0).out, "from the right\n");
}

/// The machine is held awake by the program that can do it for as long as the run is at work, and let go of after a kill, too.
#[test]
fn awake_as_long_as_the_run_is_at_work() {
    let project = project();
    project.plan(CHAIN);
    let mark = project.root().join("awake");
    let mark = mark.to_str().expect("a path of text");
    project.script(
        "systemd-inhibit",
        &format!("#!/bin/sh\necho \"$@\" > {mark}\nwhile [ \"$1\" != sh ]; do shift; done\n\"$@\"\nrm {mark}\n"),
    );
    let driver = project.start(["run", "--keep-awake"]);
    project.wait_ledger("begin", "b", 1);
    let told = std::fs::read_to_string(mark).expect("it is held");
    assert!(told.contains("--what=sleep:idle") && told.contains("onward"), "{told}");
    driver.kill();
    wait_until("the machine to be let go of", || (!std::path::Path::new(mark).exists()).then_some(()));
    project.open("one");
    project.command(["run"]).expect(0);
}

/// Nothing on this machine can hold it awake. The run goes on all the same, and says so.
#[test]
fn awake_cannot_be_had() {
    let project = project();
    project.plan(CHAIN);
    project.open("one");
    for program in ["systemd-inhibit", "gnome-session-inhibit", "caffeinate"] {
        project.script(program, "#!/bin/sh\necho no manager to ask >&2\nexit 1\n");
    }
    project.command(["run", "--keep-awake"]).expect(0).err_names(["may go to sleep", "no manager to ask"]);
    project.ran_once(["a", "b", "c"]);
}

/// `status --watch` without a terminal tells the run anew after each change, and ends with the run.
#[test]
fn watched_without_a_terminal() {
    let project = project();
    project.plan(CHAIN);
    let driver = project.start(["run"]);
    project.wait_ledger("begin", "b", 1);
    let watch = project.start(["status", "--watch", "--json"]);
    wait_until("a first look", || watch.out().contains('\n').then_some(()));
    project.open("one");
    driver.wait_code(0);
    let out = watch.wait_code(0).out;
    let last: serde_json::Value = serde_json::from_str(out.lines().last().expect("lines")).expect("an object");
    assert_eq!(last["status"]["status"], "completed");
    assert!(out.lines().count() < 12, "a line after a change, not after each look: {out}");
}
