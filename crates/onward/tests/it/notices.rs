//! People are told of what happens in a run.

use onward_testkit::wait_until;

use crate::project;

fn lines(project: &onward_testkit::TestProject, file: &str) -> Vec<String> {
    let text = if project.exists(file) { project.read(file) } else { String::new() };
    text.lines().map(str::to_owned).collect()
}

/// Everything is killed in the second phase and goes on. Each event was told once, in order, by a command that has it in its
/// environment; what it prints is nobody's.
#[test]
fn people_are_told_once_across_a_kill() {
    let project = project();
    project.plan(
        "
        onward: 1
        name: demo
        notify:
          when: [run-started, phase-completed, run-succeeded]
          command: 'echo \"$ONWARD_EVENT $ONWARD_PHASE $ONWARD_KEY\" >> told.txt; echo noise'
        phases:
          a: { run: step a }
          b: { needs: a, run: step b hold }
    ",
    );
    let first = project.start(["run"]);
    project.wait_ledger("begin", "b", 1);
    wait_until("two notices", || (lines(&project, "told.txt").len() == 2).then_some(()));
    // On record before the kill: then it is not told again.
    let on_record = || project.command(["log", "--events", "--json"]).expect(0).out.matches("notice_sent").count();
    wait_until("both on record", || (on_record() == 2).then_some(()));
    project.kill_everything();
    first.wait_code(137);
    project.open("b");
    let ran = project.command(["run", "--resume"]).expect(0);
    assert!(!ran.err.contains("noise"), "{}", ran.err);
    let run = project.command(["list", "--json"]).json()["runs"][0]["run"].as_str().expect("an id").to_owned();
    let told: Vec<String> = lines(&project, "told.txt").iter().map(|line| line.replace(&run, "RUN")).collect();
    assert_eq!(
        told,
        ["run-started  RUN-1", "phase-completed a RUN-2", "phase-completed b RUN-3", "run-succeeded  RUN-4"]
    );
}

/// The program that tells people fails twice and then does it. The phases do not notice, and nothing is told twice.
#[test]
fn a_notice_is_tried_again_and_no_phase_waits() {
    let project = project();
    project.plan(
        "
        onward: 1
        name: demo
        notify: { when: run-succeeded, command: 'echo try >> tries.txt; test $(wc -l < tries.txt) -eq 3; echo told >> told.txt' }
        phases: { a: { run: step a } }
    ",
    );
    let ran = project.command(["run"]).expect(0);
    assert_eq!((lines(&project, "tries.txt").len(), lines(&project, "told.txt").len()), (3, 1), "{}", ran.err);
    let status = project.command(["status", "--json"]).json();
    assert_eq!((&status["status"], &status["warnings"]), (&"completed".into(), &serde_json::json!([])));
}

/// There is no such program. The run is complete all the same, and that nobody was told is shown, when it happens and later.
#[test]
fn people_who_cannot_be_told_are_a_warning() {
    let project = project();
    project.plan(
        "
        onward: 1
        name: demo
        notify: { when: run-started, command: no-such-mailer }
        phases: { a: { run: step a }, b: { needs: a, run: step b } }
    ",
    );
    project.command(["run"]).expect(0);
    let status = project.command(["status", "--json"]).json();
    let warning = status["warnings"][0].as_str().expect("a warning");
    assert!(warning.contains("run-started") && warning.contains("no-such-mailer"), "{warning}");
    project.ran_once(["a", "b"]);
}

/// A webhook is posted by `curl`: address and document on its stdin, so that no list of processes shows them. The address comes from
/// a variable, and a plan that does not say how people are told is refused.
#[test]
fn a_webhook_is_posted() {
    let project = project();
    let programs = project.root().join("programs");
    std::fs::create_dir_all(&programs).expect("a folder");
    let curl = programs.join("curl");
    std::fs::write(&curl, "#!/bin/sh\necho \"$@\" > words.txt\ncat > posted.txt\n").expect("a program");
    std::fs::set_permissions(&curl, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("executable");
    let plan = |how: &str| {
        let text = format!(
            "onward: 1\nname: demo\nnotify: {{ when: run-succeeded{how} }}\nphases: {{ a: {{ run: step a }} }}\n"
        );
        project.plan(&text);
    };
    plan("");
    let refused = project.command(["check"]).expect(2);
    assert!(format!("{}{}", refused.out, refused.err).contains("does not say how people are told"), "{}", refused.out);
    plan(", webhook: example.org");
    project.command(["check"]).expect(2);
    plan(", webhook: '${{ env.CHAT_URL }}'");
    let line = format!(
        "PATH={}:$PATH CHAT_URL='https://chat.example.org/hook?x=1' {} run",
        programs.display(),
        env!("CARGO_BIN_EXE_onward")
    );
    let ran =
        project.spawn(project.prepare_program("bash", ["-c", &line])).wait_within(std::time::Duration::from_mins(1));
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(project.read("words.txt"), "--config -\n");
    let posted = project.read("posted.txt");
    for words in [
        "url = \"https://chat.example.org/hook?x=1\"",
        "Idempotency-Key: run_demo_",
        "run-succeeded",
        "complete, 1 of 1",
    ] {
        assert!(posted.contains(words), "{words} in {posted}");
    }
}

/// The program that tells people prints far more than is kept of it. It is not ended by that, and does its work once.
#[test]
fn a_noisy_program_tells_people_once() {
    let project = project();
    project.plan(
        "
        onward: 1
        name: demo
        notify: { when: run-succeeded, command: 'yes noise | head -c 300000 >&2; echo told >> told.txt' }
        phases: { a: { run: step a } }
    ",
    );
    project.command(["run"]).expect(0);
    assert_eq!(lines(&project, "told.txt"), ["told"]);
    assert_eq!(project.command(["status", "--json"]).expect(0).json()["warnings"], serde_json::json!([]));
}

/// The program that tells people hangs, with a child of its own, and another notice waits behind it. The run ends without it, nothing
/// of it lives on, and `status` says of both that nobody was told.
#[test]
fn a_program_that_hangs_does_not_outlive_the_run() {
    let project = project();
    project.plan(
        "
        onward: 1
        name: demo
        notify: { when: [phase-completed, run-succeeded], command: 'sleep 300 & echo $! >> pids; echo $$ >> pids; wait' }
        phases: { a: { run: step a } }
    ",
    );
    project.command(["run"]).expect(0);
    wait_until("the end of what hung", || {
        let alive = |pid: &String| std::path::Path::new(&format!("/proc/{pid}")).exists();
        let pids = lines(&project, "pids");
        (pids.len() == 2 && !pids.iter().any(alive)).then_some(())
    });
    let told = project.command(["status"]).expect(0).out;
    assert!(told.contains("not told of phase-completed") && told.contains("not told of run-succeeded"), "{told}");
}

/// While the program that tells people is at work, every second look at it is interrupted. It comes to its end, and they are told once.
#[test]
fn an_interrupted_look_at_a_notice_says_nothing() {
    let project = project();
    let interrupted = "inject=wait4,waitid:error=EINTR:when=1+2";
    let strace = ["-f", "-qq", "-o", "/dev/null", "-e", "trace=wait4,waitid", "-e", interrupted, "onward"];
    let run = |words: &[&str]| project.spawn(project.prepare_program("strace", strace.iter().chain(words)));
    if run(&["--version"]).wait().code != 0 {
        // Where strace may not trace there is nothing that would interrupt a call.
        return;
    }
    project.plan(
        "
        onward: 1
        name: demo
        notify: { when: run-started, command: 'echo begun >> told.txt; sleep 0.4; echo told >> told.txt' }
        phases: { a: { run: step a } }
    ",
    );
    run(&["run"]).wait_code(0);
    assert_eq!(lines(&project, "told.txt"), ["begun", "told"]);
    project.ran_once(["a"]);
}
