//! Nothing runs twice and nothing runs beside itself, whichever process of a phase is killed. A ledger outside decides.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use onward_testkit::{Running, Signal, TestProject, wait_until};

use crate::project;

/// Shell that closes every descriptor but the first three and goes on with the script after it, as `sudo` and daemons do.
const CLOSED: &str = "exec perl -MPOSIX -e 'POSIX::close($_) for 3..255; exec @ARGV' sh -c";

/// The attendant above a process.
pub(crate) fn attendant_of(pid: u32) -> u32 {
    let mut above = pid;
    loop {
        let stat = std::fs::read_to_string(format!("/proc/{above}/stat")).expect("a living process");
        let words = stat.rsplit(") ").next().expect("a name in brackets");
        above = words.split(' ').nth(1).and_then(|parent| parent.parse().ok()).expect("a parent");
        assert!(above > 1, "no attendant above {pid}");
        let line = std::fs::read(format!("/proc/{above}/cmdline")).expect("a living process");
        if line.split(|&byte| byte == 0).any(|word| word == b"__attend") {
            return above;
        }
    }
}

pub(crate) fn send(pid: u32, signal: Signal) {
    let words = ["-s".to_owned(), (signal as i32).to_string(), pid.to_string()];
    let sent = std::process::Command::new("kill").args(words).status();
    assert!(sent.is_ok_and(|status| status.success()), "{signal} to {pid}");
}

fn number_in(project: &TestProject, file: &str) -> u32 {
    let path: PathBuf = project.path(file);
    wait_until(file, || std::fs::read_to_string(&path).ok()?.trim().parse().ok())
}

fn assert_alone(project: &TestProject) {
    assert_eq!(project.order("overlap"), Vec::<String>::new(), "{:?}", project.ledger());
}

/// The out-of-memory killer takes the shell of a phase and leaves what it started. That is gone before the phase is tried again,
/// so what it would have done outside happens once.
#[test]
fn a_shell_killed_alone_leaves_nothing_beside_the_retry() {
    let project = project();
    project.plan(
        "onward: 1\nname: demo\nphases:\n  a:\n    retry: { max: 1, when: [infra], backoff: { initial: 0s } }\n    run: |\n      echo $$ > shell\n      setsid step a hold & wait\n",
    );
    let run = project.start(["run"]);
    project.wait_ledger("begin", "a", 1);
    send(number_in(&project, "shell"), Signal::SIGKILL);
    project.wait_ledger("begin", "a", 2);
    project.open("a");
    run.wait_code(0);
    assert_alone(&project);
    assert_eq!(project.count("end", "a"), 1, "{:?}", project.ledger());
}

/// Driver and attendant are killed, and the phase had closed what it inherited. It is seen at work, nothing starts beside it, and
/// what became of it is asked about.
#[test]
fn a_phase_without_driver_attendant_and_descriptors_is_waited_for() {
    let project = project();
    project.plan(&format!(
        "onward: 1\nname: demo\nphases:\n  pay:\n    effects: external\n    run: |\n      {CLOSED} 'step pay hold'\n"
    ));
    let first = project.start(["run"]);
    let pid = project.wait_ledger("begin", "pay", 1).pid;
    let attendant = attendant_of(pid);
    first.kill();
    send(attendant, Signal::SIGKILL);
    let status = project.command(["status", "--json"]).json();
    assert_eq!((&status["status"], &status["running"][0]["orphan"]), (&"interrupted".into(), &true.into()));
    let run = status["run"].as_str().expect("an id").to_owned();
    project.command(["delete", &run, "--yes"]).expect(13).err_names(["pay"]);
    let second = project.start(["run"]);
    wait_until("the second driver to take the run", || {
        (project.command(["status", "--json"]).json()["status"] == "running").then_some(())
    });
    project.open("pay");
    let ended = second.wait();
    assert_eq!(ended.code, 14, "{ended:?}");
    project.ran_once(["pay"]);
}

/// The same, and nobody wants to wait: it is ended, and only then a fresh start begins.
#[test]
fn a_fresh_start_ends_a_phase_without_descriptors() {
    let project = project();
    project.plan(&format!("onward: 1\nname: demo\nphases:\n  a:\n    run: |\n      {CLOSED} 'step a hold'\n"));
    let first = project.start(["run"]);
    let pid = project.wait_ledger("begin", "a", 1).pid;
    let attendant = attendant_of(pid);
    first.kill();
    send(attendant, Signal::SIGKILL);
    project.plan("onward: 1\nname: demo\nphases:\n  a: { run: step a }\n");
    project.command(["run", "--fresh"]).expect(14).err_names(["--orphan"]);
    let fresh = project.start(["run", "--fresh", "--orphan", "kill"]);
    fresh.wait_code(0);
    assert_alone(&project);
    assert_eq!(project.count("end", "a"), 1);
}

/// The project is renamed while an orphan works. What became of it is found in the new place, and it does not run again.
#[test]
fn a_renamed_project_takes_the_outcome_of_its_orphan() {
    let project = project();
    project.plan("onward: 1\nname: demo\nphases:\n  a: { run: step a hold }\n  b: { needs: a, run: step b }\n");
    let first = project.start(["run"]);
    project.wait_ledger("begin", "a", 1);
    first.kill();
    let moved = project.root().join("moved");
    std::fs::rename(project.dir(), &moved).expect("our own folder");
    let there = |words: &[&str]| {
        let mut command = project.prepare(words);
        command.current_dir(&moved);
        project.spawn(command)
    };
    let status = there(&["status", "--json"]).wait().json();
    assert_eq!(status["running"][0]["orphan"], true, "{status}");
    project.open("a");
    project.wait_ledger("end", "a", 1);
    there(&["run"]).wait_code(0);
    project.ran_once(["a", "b"]);
}

/// Mounts a folder at another place, in a mount namespace of its own, and goes on there. Where a third word is given, nothing is to be
/// seen in the old place any more.
const MOUNTED: &str = r#"
mount --bind "$1" "$2" || exit 99
if [ -n "$3" ]; then mount -t tmpfs none "$1" || exit 99; fi
cd "$2" && shift 3 && exec "$@"
"#;

/// The words of `unshare` with which this machine lets us mount; none if it does not.
fn namespace(project: &TestProject) -> Option<&'static str> {
    let (from, to) = (project.dir(), project.root().join("there"));
    std::fs::create_dir(&to).expect("our own folder");
    ["-m", "-Urm"].into_iter().find(|how| {
        let words = ["sh", "-c", MOUNTED, "sh"].map(std::ffi::OsStr::new);
        let words = words.into_iter().chain([from.as_os_str(), to.as_os_str(), "x".as_ref(), "true".as_ref()]);
        let done = project.prepare_program("unshare", [(*how).as_ref()].into_iter().chain(words)).output();
        done.is_ok_and(|done| done.status.success())
    })
}

/// The project is mounted at another place while an orphan works, and somebody goes on there. A phase that kept its lock is waited for
/// and taken; of one that closed it, without an attendant, the tag is found, and nothing starts beside it. While its driver lives, it
/// is known there too.
#[test]
fn a_project_mounted_elsewhere_knows_its_orphan() {
    for (hidden, closed) in [("", false), ("x", false), ("", true), ("x", true)] {
        let project = project();
        let Some(how) = namespace(&project) else {
            println!("skipped: a_project_mounted_elsewhere_knows_its_orphan, nothing may be mounted here");
            return;
        };
        let a = if closed { format!("\n      {CLOSED} 'step a hold'") } else { "\n      step a hold".to_owned() };
        project
            .plan(&format!("onward: 1\nname: demo\nphases:\n  a:\n    run: |{a}\n  b: {{ needs: a, run: step b }}\n"));
        let first = project.start(["run"]);
        let pid = project.wait_ledger("begin", "a", 1).pid;
        let (from, to) = (project.dir(), project.root().join("there"));
        let there = |words: &[&str]| {
            let (from, to) = (from.to_string_lossy(), to.to_string_lossy());
            let all = [how, "sh", "-c", MOUNTED, "sh", from.as_ref(), to.as_ref(), hidden, "onward"];
            project.spawn(project.prepare_program("unshare", all.iter().chain(words)))
        };
        let refused = there(&["run", "--resume"]).wait();
        assert_eq!(refused.code, 11, "{refused:?}");
        let attendant = attendant_of(pid);
        first.kill();
        if closed {
            send(attendant, Signal::SIGKILL);
        }
        let status = there(&["status", "--json"]).wait().json();
        assert_eq!(status["running"][0]["orphan"], true, "{status}");
        let second = there(&["run"]);
        wait_until("the second driver to wait for it", || second.err().contains("still at work").then_some(()));
        project.open("a");
        second.wait_code(0);
        assert_alone(&project);
        let begun = if closed { 2 } else { 1 };
        assert_eq!((project.count("begin", "a"), project.count("end", "b")), (begun, 1), "{:?}", project.ledger());
        project.command(["doctor"]).expect(0);
    }
}

/// A run is stopped, and something of its phase stays at work because it could not be reached. It is ended before the phase is tried
/// again.
#[test]
fn a_piece_that_survived_the_stop_is_ended_before_the_next_attempt() {
    let project = project();
    project.plan("onward: 1\nname: demo\nphases:\n  a: { run: 'echo $ONWARD_TREE > tree; step a hold' }\n");
    let first = project.start(["run"]);
    project.wait_ledger("begin", "a", 1);
    first.signal_group(Signal::SIGINT);
    first.wait_code(130);
    let mut survivor = project.prepare_program("setsid", ["step", "a", "hold never"]);
    survivor.env("ONWARD_TREE", project.read("tree").trim());
    let survivor = project.spawn(survivor);
    project.wait_ledger("begin", "a", 2);
    project.open("a");
    project.command(["run"]).expect(0);
    assert_alone(&project);
    assert_eq!((project.count("end", "a"), survivor.is_running()), (1, false), "{:?}", project.ledger());
}

/// The system refuses the descriptor by which a process is watched, as a strict seccomp filter does, to driver and attendant alike.
/// Phases are started once, watched without it, and can be stopped.
#[test]
fn no_process_descriptors_are_to_be_had() {
    let project = project();
    let refused = |words: &[&str]| {
        let strace =
            ["-f", "-qq", "-o", "/dev/null", "-e", "trace=pidfd_open", "-e", "inject=pidfd_open:error=EPERM", "onward"];
        project.prepare_program("strace", strace.iter().chain(words))
    };
    let usable = refused(&["--version"]).output().is_ok_and(|done| done.status.success());
    if !usable {
        // Without strace, or where it may not trace, there is nothing that would refuse the call.
        return;
    }
    project.plan(
        "onward: 1\nname: demo\nphases:\n  a: { retry: { max: 2, backoff: { initial: 0s } }, run: step a }\n  b: { needs: a, run: step b hold }\n",
    );
    let first = project.spawn(refused(&["run"]));
    let pid = project.wait_ledger("begin", "b", 1).pid;
    project.ran_once(["a"]);
    let line = |pid: u32| std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let driver = project.processes().into_iter().find(|pid| line(*pid).starts_with(b"onward\0run\0"));
    send(driver.expect("a driver"), Signal::SIGINT);
    first.wait_code(130);
    assert!(!project.processes().contains(&pid), "the phase lives");
    project.open("b");
    project.command(["run"]).expect(0);
    assert_alone(&project);
    assert_eq!((project.count("begin", "a"), project.count("end", "b")), (1, 1));
}

/// No folder can be read to its end, `/proc` among them. Whoever is asked for says so, within seconds, and nothing is on record that
/// nobody could know.
#[test]
fn folders_that_cannot_be_read_hold_nobody_up() {
    let project = project();
    let failing = |words: &[&str]| {
        let strace =
            ["-f", "-qq", "-o", "/dev/null", "-e", "trace=getdents64", "-e", "inject=getdents64:error=EIO", "onward"];
        project.prepare_program("strace", strace.iter().chain(words))
    };
    if !failing(&["--version"]).output().is_ok_and(|done| done.status.success()) {
        return;
    }
    project.plan(
        "onward: 1\nname: demo\nphases:\n  a: { approval: 'Go on?' }\n  b: { external: { instructions: Do it. } }\n  c: { needs: a, run: step c }\n",
    );
    project.command(["run"]).expect(15);
    for words in
        [&["approve", "@", "a"][..], &["report", "start", "b"], &["run", "--no-input"], &["status"], &["doctor"]]
    {
        let ended = project.spawn(failing(words)).wait_within(Duration::from_secs(25));
        assert!(ended.code <= 75, "{words:?}: {ended:?}");
    }
    let events = project.command(["log", "--events", "--json"]).json();
    assert!(!events.to_string().contains("attempt_ended"), "{events}");
    project.command(["approve", "@", "a"]).expect(0);
    project.command(["run"]).expect(15);
    project.ran_once(["c"]);
}

/// A phase starts a daemon and succeeds. The daemon is let be and delays nothing; the run and the status name it as long as it lives.
#[test]
fn a_daemon_of_a_successful_phase_is_named() {
    let project = project();
    project.plan(
        "onward: 1\nname: demo\nphases:\n  a: { run: 'setsid sleep 300 >/dev/null 2>&1 & echo $! > daemon; step a' }\n  b: { needs: a, run: step b }\n",
    );
    let ran = project.command(["run"]).expect(0);
    let daemon = number_in(&project, "daemon");
    let named = format!("left running: sleep (process {daemon})");
    assert!(ran.out.contains(&named) || ran.err.contains(&named), "{ran:?}");
    let status = || project.command(["status"]).out;
    assert!(status().contains(&named), "{}", status());
    project.ran_once(["a", "b"]);
    send(daemon, Signal::SIGKILL);
    wait_until("the daemon to end", || (!onward_testkit::is_alive(daemon)).then_some(()));
    assert!(!status().contains("left running"), "{}", status());
}

/// How long a stop may take, whatever hangs.
const OUT_WITHIN: Duration = Duration::from_secs(10);

/// A phase, and a process of its that has lost its tag, its parent and its group: only the attendant above it knows it.
const WITH_A_STRAY: &str = "onward: 1\nname: demo\nphases:\n  a:\n    run: |\n      (env -i setsid sleep 300 >/dev/null 2>&1 199>&- 63>&- & echo $! > stray)\n      step a hold\n";

fn assert_all_ended(project: &TestProject, pids: &[u32]) {
    for pid in pids {
        assert!(!onward_testkit::is_alive(*pid), "process {pid} lives: {:?}", project.ledger());
    }
}

/// Somebody stopped the attendant of a phase. Ctrl+C makes it go on, so that it ends the phase in order.
#[test]
fn a_stopped_attendant_goes_on_to_end_its_phase() {
    let project = project();
    project.plan(WITH_A_STRAY);
    let run = project.start(["run"]);
    let pid = project.wait_ledger("begin", "a", 1).pid;
    let stray = number_in(&project, "stray");
    send(attendant_of(pid), Signal::SIGSTOP);
    let begun = Instant::now();
    run.signal(Signal::SIGINT);
    run.wait_code(130);
    assert!(begun.elapsed() < OUT_WITHIN / 2, "it was not made to go on: {:?}", begun.elapsed());
    assert_all_ended(&project, &[pid, stray]);
    let events = project.command(["log", "--events", "--json"]).json().to_string();
    assert!(events.contains("attempt_ended"), "its end is on record: {events}");
}

/// The attendant of a phase stands still, and is stopped again and again whenever it is made to go on.
fn hold_attendant(project: &TestProject, attendant: u32) -> Running {
    let again = "kill 'STOP', $ARGV[0] while kill 0, $ARGV[0]";
    let holder = project.spawn(project.prepare_program("perl", ["-e", again, &attendant.to_string()]));
    wait_until("the attendant to stand still", || {
        let stat = std::fs::read_to_string(format!("/proc/{attendant}/stat")).ok()?;
        stat.rsplit(") ").next()?.starts_with('T').then_some(())
    });
    holder
}

/// The same, and it stays stopped. The second Ctrl+C ends the phase without it, with all that only it knew.
#[test]
fn a_second_interrupt_needs_no_attendant() {
    let project = project();
    project.plan(WITH_A_STRAY);
    let run = project.start(["run"]);
    let pid = project.wait_ledger("begin", "a", 1).pid;
    let (stray, attendant) = (number_in(&project, "stray"), attendant_of(pid));
    let holder = hold_attendant(&project, attendant);
    let begun = Instant::now();
    run.signal(Signal::SIGINT);
    wait_until("the first to be on record", || {
        let said = project.command(["log", "--events", "--json"]).json().to_string();
        said.contains("stop_asked").then_some(())
    });
    run.signal(Signal::SIGINT);
    run.wait_code(130);
    assert!(begun.elapsed() < OUT_WITHIN, "{:?}", begun.elapsed());
    assert_all_ended(&project, &[pid, stray, attendant]);
    holder.kill();
    project.open("a");
    project.command(["run"]).expect(0);
    assert_alone(&project);
}

/// A phase whose attendant stands still outlived its driver. Whoever wants it ended goes on soon, and alone.
#[test]
fn an_orphan_is_killed_without_its_attendant() {
    let project = project();
    project.plan(WITH_A_STRAY);
    let first = project.start(["run"]);
    let pid = project.wait_ledger("begin", "a", 1).pid;
    let (stray, attendant) = (number_in(&project, "stray"), attendant_of(pid));
    let holder = hold_attendant(&project, attendant);
    first.kill();
    let begun = Instant::now();
    let second = project.start(["resume", "--orphan", "kill"]);
    project.wait_ledger("begin", "a", 2);
    assert!(begun.elapsed() < OUT_WITHIN, "{:?}", begun.elapsed());
    assert_all_ended(&project, &[pid, stray, attendant]);
    holder.kill();
    project.open("a");
    second.wait_code(0);
    assert_alone(&project);
}
