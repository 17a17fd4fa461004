//! The kit itself, tried with a shell in the place of the binary.

use onward_testkit::{Signal, TestProject, is_alive, wait_until};

fn shell() -> TestProject {
    TestProject::new("/bin/sh")
}

#[test]
fn a_step_writes_its_begin_and_its_end() {
    let project = shell();
    project.command(["-c", "ONWARD_ATTEMPT=2 step a; step b 'exit 3'"]).expect(3);
    let lines: Vec<String> = project.ledger().iter().map(|e| format!("{} {} {}", e.what, e.phase, e.attempt)).collect();
    assert_eq!(lines, ["begin a 2", "end a 2", "begin b -", "fail b -"]);
    project.ran_once(["a"]);
}

#[test]
fn a_held_step_waits_for_its_gate() {
    let project = shell();
    let running = project.start(["-c", "step a hold"]);
    project.wait_ledger("begin", "a", 1);
    assert_eq!(project.count("end", "a"), 0);
    project.open("a");
    running.wait_code(0);
    assert_eq!(project.count("end", "a"), 1);
}

#[test]
fn steps_that_meet_were_under_way_together() {
    let project = shell();
    project.command(["-c", "step a 'meet b' & step b 'meet a'; wait"]).expect(0);
    project.ran_once(["a", "b"]);
}

#[test]
fn two_steps_of_one_name_at_once_are_an_overlap() {
    let project = shell();
    let first = project.start(["-c", "step a hold"]);
    project.wait_ledger("begin", "a", 1);
    let second = project.start(["-c", "step a hold"]);
    project.wait_ledger("overlap", "a", 1);
    project.open("a");
    first.wait_code(0);
    second.wait_code(0);
}

#[test]
fn a_step_that_was_killed_is_no_overlap_for_the_next() {
    let project = shell();
    let first = project.start(["-c", "step a hold; true"]);
    project.wait_ledger("begin", "a", 1);
    project.kill_everything();
    first.wait_code(137);
    project.open("a");
    project.command(["-c", "step a hold"]).expect(0);
    assert_eq!(project.order("overlap"), Vec::<String>::new());
    assert_eq!((project.count("begin", "a"), project.count("end", "a")), (2, 1));
}

#[test]
fn everything_is_killed_however_far_it_ran_away() {
    let project = shell();
    let running = project.start(["-c", "setsid --fork step far hold; setsid step farther hold & exec step near hold"]);
    for phase in ["far", "farther", "near"] {
        project.wait_ledger("begin", phase, 1);
    }
    assert!(project.processes().len() >= 3);
    project.kill_everything();
    assert_eq!(project.processes(), Vec::<u32>::new());
    running.wait_code(137);
    assert_eq!(project.order("end"), Vec::<String>::new());
}

#[test]
fn killing_one_process_leaves_what_it_started() {
    let project = shell();
    let running = project.start(["-c", "step child hold; true"]);
    let child = project.wait_ledger("begin", "child", 1);
    running.kill().expect(137);
    assert!(is_alive(child.pid));
    project.open("child");
    project.wait_ledger("end", "child", 1);
    project.wait_no_processes();
}

#[test]
fn a_signal_reaches_the_command() {
    let project = shell();
    let running = project.start(["-c", "trap 'echo got it; exit 7' TERM; step up; while :; do sleep 0.01; done"]);
    project.wait_ledger("end", "up", 1);
    running.signal(Signal::SIGTERM);
    assert_eq!(running.wait_code(7).out, "got it\n");
}

#[test]
fn nothing_of_the_machine_is_in_the_environment() {
    let project = shell();
    let seen = project.command(["-c", "env"]).expect(0).out;
    let root = project.root().to_string_lossy().into_owned();
    for line in seen.lines() {
        let (name, value) = line.split_once('=').expect("a variable has a value");
        let own = ["PWD", "SHLVL", "_", "OLDPWD"].contains(&name) || name.starts_with("TESTKIT_");
        let fixed = ["LANG", "TZ", "TERM", "NO_COLOR"].contains(&name) || name.starts_with("GIT_");
        assert!(own || fixed || value.starts_with(&root), "{line}");
    }
    assert!(seen.contains("TZ=UTC\n"));
}

#[test]
fn the_folder_and_the_processes_go_with_the_project() {
    let project = shell();
    let root = project.root().to_path_buf();
    let running = project.start(["-c", "step a hold; true"]);
    let step = project.wait_ledger("begin", "a", 1);
    drop(project);
    assert!(!root.exists());
    assert!(!is_alive(step.pid));
    assert!(!running.is_running());
}

#[test]
fn a_written_file_shows_in_the_tree() {
    let project = shell();
    project.write("a/b.txt", "one");
    let before = project.tree();
    assert_eq!(project.tree(), before);
    project.write("a/b.txt", "two");
    assert_ne!(project.tree(), before);
    assert_eq!(project.read("a/b.txt"), "two");
}

#[test]
fn a_repository_has_one_commit_of_all() {
    let project = shell();
    project.plan("onward: 1\n");
    project.git_init();
    assert_eq!(project.git(["ls-files"]), "onward.yaml");
    assert_eq!(project.git(["status", "--porcelain"]), "");
}

#[test]
fn a_terminal_shows_asks_and_is_answered() {
    let project = shell();
    let script = "test -t 0 && test -t 1 && test -t 2 && : > /dev/tty && \
                  printf '\\033[1mname?\\033[0m '; read name; echo \"hello $name\"; stty size; exit 4";
    let mut terminal = project.terminal(["-c", script]);
    terminal.expect("name? ");
    terminal.send("Ada\n");
    terminal.expect("hello Ada");
    let ran = terminal.wait_code(4);
    assert!(ran.out.ends_with("40 120\n"), "{ran}");
}

#[test]
fn ctrl_c_on_a_terminal_is_a_signal() {
    let project = shell();
    let mut terminal =
        project.terminal(["-c", "trap 'echo stopped; exit 130' INT; echo ready; while :; do sleep 0.01; done"]);
    terminal.expect("ready");
    terminal.send("\u{3}");
    terminal.expect("stopped");
    terminal.wait_code(130);
}

#[test]
fn a_closed_terminal_hangs_up() {
    let project = shell();
    let mut terminal =
        project.terminal(["-c", "trap 'step hup; exit 129' HUP; echo ready; while :; do sleep 0.01; done"]);
    terminal.expect("ready");
    terminal.hang_up();
    project.wait_ledger("end", "hup", 1);
    terminal.wait_code(129);
}

#[test]
#[should_panic(expected = "the program ended")]
fn what_a_program_never_shows_is_not_waited_for_after_its_end() {
    shell().terminal(["-c", "echo something"]).expect("something else");
}

#[test]
fn a_running_command_shows_what_it_printed_so_far() {
    let project = shell();
    let running = project.start(["-c", "echo out; echo err >&2; step a hold"]);
    project.wait_ledger("begin", "a", 1);
    wait_until("both lines", || (running.out() == "out\n" && running.err() == "err\n").then_some(()));
    assert!(running.is_running());
    project.open("a");
    running.wait_code(0);
}
