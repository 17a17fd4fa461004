//! Phases that are ended: by their time limit, by a person, by a driver.

use std::fs;

use nix::sys::signal::Signal;
use onward_core::event::StopRequest;
use onward_engine::attendant::{ProcessEnd, StopReached, ask_to_stop, kill};
use onward_engine::process;

use crate::world::{Tests, World, hold, lives, send, wait_for, wait_for_end};

pub(crate) const TESTS: Tests = &[
    ("time_limit_ends_everything", time_limit_ends_everything),
    ("time_limit_is_not_reached", time_limit_is_not_reached),
    ("asked_phase_ends_well", asked_phase_ends_well),
    ("asked_phase_ends_by_the_signal", asked_phase_ends_by_the_signal),
    ("deaf_phase_is_killed_in_the_end", deaf_phase_is_killed_in_the_end),
    ("stopped_phase_hears_the_request", stopped_phase_hears_the_request),
    ("second_request_kills_at_once", second_request_kills_at_once),
    ("kill_reaches_those_who_hide", kill_reaches_those_who_hide),
    ("rest_of_the_group_may_clean_up", rest_of_the_group_may_clean_up),
    ("request_before_the_start", request_before_the_start),
    ("request_at_the_start", request_at_the_start),
    ("attendant_shrugs_off_signals", attendant_shrugs_off_signals),
];

/// A child that has left the group and ignores everything that can be ignored.
const DEAF_DAEMON: &str =
    "setsid sh -c 'trap \"\" INT TERM HUP; echo $$ > daemon; while :; do sleep 1; done' >/dev/null 2>&1 &";

/// The time of a phase is up; it ends when told so, but it has a child in another session that ignores every request. Both are gone
/// when the record is written.
fn time_limit_ends_everything() {
    let mut world = World::new(&format!("{DEAF_DAEMON} until [ -e daemon ]; do sleep 0.01; done; sleep 60"));
    (world.spec.timeout_ms, world.spec.grace_term_ms) = (Some(300), 200);
    let exit = world.run();
    assert_eq!((exit.outcome, exit.timed_out, exit.stopped_by), (ProcessEnd::Signal(15), true, None));
    assert!(exit.duration_ms >= 300, "{}", exit.duration_ms);
    assert!(!lives(world.pid_in("daemon")), "the child in another session lives");
    assert_eq!(process::sweep(&world.spec.tag, &[]).expect("a readable /proc"), []);
}

/// A phase is quicker than its time limit. Nothing is said of time.
fn time_limit_is_not_reached() {
    let mut world = World::new("true");
    world.spec.timeout_ms = Some(60_000);
    let exit = world.run();
    assert_eq!((exit.outcome, exit.timed_out), (ProcessEnd::Code(0), false));
}

/// A phase is asked to stop, finishes its work and ends with 0. The record has both facts; what they mean is not decided here.
fn asked_phase_ends_well() {
    let world = World::new(&format!("trap 'echo asked; exit 0' INT; echo ready > ready; {}", hold("never")));
    let attending = world.start();
    world.wait_for_file("ready");
    assert_eq!(ask_to_stop(&world.folder, StopRequest::SessionEnd).expect("a writable folder"), StopReached::Signalled);
    wait_for_end(attending.fd());
    let exit = world.exit();
    assert_eq!((exit.outcome, exit.stopped_by), (ProcessEnd::Code(0), Some(StopRequest::SessionEnd)));
    assert_eq!(world.output(), "asked\n");
}

/// A plain program is asked to stop, as by Ctrl+C. It ends by that signal, long before it would be told firmly.
fn asked_phase_ends_by_the_signal() {
    // Not a shell: one that is just starting a command loses the signal now and then, as it does on a terminal.
    let mut world = World::new("");
    world.spec.argv = ["perl", "-e", "open(F, '>', 'ready'); close(F); sleep"].map(str::to_owned).to_vec();
    let attending = world.start();
    world.wait_for_file("ready");
    ask_to_stop(&world.folder, StopRequest::Interrupt).expect("a writable folder");
    wait_for_end(attending.fd());
    let exit = world.exit();
    assert_eq!((exit.outcome, exit.stopped_by), (ProcessEnd::Signal(2), Some(StopRequest::Interrupt)));
    assert!(exit.duration_ms < 4_000, "{}", exit.duration_ms);
}

/// A phase hears the first request and the second, and goes on. When both times are over it is killed.
fn deaf_phase_is_killed_in_the_end() {
    let mut world = World::new(&format!(
        "trap 'echo int >> heard' INT; trap 'echo term >> heard' TERM; echo ready > ready; {}",
        hold("never")
    ));
    (world.spec.grace_int_ms, world.spec.grace_term_ms) = (150, 150);
    let attending = world.start();
    world.wait_for_file("ready");
    ask_to_stop(&world.folder, StopRequest::Deadline).expect("a writable folder");
    wait_for_end(attending.fd());
    let exit = world.exit();
    assert_eq!((exit.outcome, exit.stopped_by), (ProcessEnd::Signal(9), Some(StopRequest::Deadline)));
    assert_eq!(fs::read_to_string(world.path("heard")).expect("the phase's file"), "int\nterm\n");
}

/// A phase was frozen by SIGSTOP and cannot hear anything. It is woken to hear the firm request, and need not be killed.
fn stopped_phase_hears_the_request() {
    let mut world = World::new("trap 'exit 7' TERM; echo $$ > ready; while :; do sleep 0.01; done");
    world.spec.grace_int_ms = 50;
    world.spec.grace_term_ms = 15_000;
    world.spec.argv[2].insert_str(0, "trap '' INT; ");
    let attending = world.start();
    send(world.pid_in("ready"), Signal::SIGSTOP);
    ask_to_stop(&world.folder, StopRequest::Interrupt).expect("a writable folder");
    wait_for_end(attending.fd());
    assert_eq!(world.exit().outcome, ProcessEnd::Code(7));
}

/// A phase ignores the first request, and somebody asks a second time. It is killed then, not after its grace.
fn second_request_kills_at_once() {
    let world = World::new(&format!("trap '' INT TERM; echo ready > ready; {}", hold("never")));
    let attending = world.start();
    world.wait_for_file("ready");
    ask_to_stop(&world.folder, StopRequest::Interrupt).expect("a writable folder");
    assert_eq!(kill(&world.folder, StopRequest::Interrupt).expect("a writable folder"), StopReached::Signalled);
    wait_for_end(attending.fd());
    let exit = world.exit();
    assert_eq!((exit.outcome, exit.stopped_by), (ProcessEnd::Signal(9), Some(StopRequest::Interrupt)));
    assert!(exit.duration_ms < 4_000, "{}", exit.duration_ms);
}

/// A phase has a child that left the group and another one that also cleared its environment, so that the tag is gone. A kill
/// reaches both.
fn kill_reaches_those_who_hide() {
    let hidden = "env -i setsid /bin/sh -c 'echo $$ > hidden; while :; do sleep 1; done' >/dev/null 2>&1 &";
    let world = World::new(&format!("{DEAF_DAEMON} ({hidden}); {}", hold("never")));
    let attending = world.start();
    let (daemon, hidden) = (world.pid_in("daemon"), world.pid_in("hidden"));
    kill(&world.folder, StopRequest::OrphanKill).expect("a writable folder");
    wait_for_end(attending.fd());
    let exit = world.exit();
    assert_eq!((exit.outcome, exit.stopped_by), (ProcessEnd::Signal(9), Some(StopRequest::OrphanKill)));
    assert!(!lives(daemon) && !lives(hidden), "somebody hid well");
}

/// The shell of a phase ends at once when asked, but its worker needs a moment to clean up. It gets that moment, and the record
/// comes after it.
fn rest_of_the_group_may_clean_up() {
    let worker =
        "sh -c 'trap \"sleep 0.3; echo clean > cleaned; exit\" INT; echo ready > ready; while :; do sleep 0.01; done'";
    // A shell without job control starts its background children deaf to INT, so the worker is started by something else.
    let mut world = World::new("");
    world.spec.argv = ["perl", "-e", PERL_WITH_WORKER, worker].map(str::to_owned).to_vec();
    let attending = world.start();
    world.wait_for_file("ready");
    ask_to_stop(&world.folder, StopRequest::Interrupt).expect("a writable folder");
    wait_for_end(attending.fd());
    assert!(world.there("cleaned"), "the worker was killed while it cleaned up");
    assert!(world.exit().duration_ms < 4_000);
}

const PERL_WITH_WORKER: &str = "if (fork) { sleep } else { exec 'sh', '-c', @ARGV }";

/// A request to stop is on record before the attendant has begun. Nothing is executed.
fn request_before_the_start() {
    let world = World::new("echo ran > ran");
    assert_eq!(ask_to_stop(&world.folder, StopRequest::Cancel).expect("a writable folder"), StopReached::NotYetStarted);
    let exit = world.run();
    assert!(matches!(exit.outcome, ProcessEnd::CouldNotStart(_)), "{:?}", exit.outcome);
    assert_eq!((exit.stopped_by, world.there("ran")), (Some(StopRequest::Cancel), false));
}

/// Ctrl+C comes in the very moment of the start, again and again. Each time the attendant lives to say what became of it, whether
/// the phase had begun or not.
fn request_at_the_start() {
    for round in 0..40 {
        let world = World::new(&hold("never"));
        let attending = world.start();
        if round % 2 == 0 {
            ask_to_stop(&world.folder, StopRequest::Interrupt).expect("a writable folder");
        } else {
            kill(&world.folder, StopRequest::Interrupt).expect("a writable folder");
        }
        wait_for_end(attending.fd());
        assert_eq!(world.exit().stopped_by, Some(StopRequest::Interrupt), "round {round}");
    }
}

/// The attendant is sent INT, TERM, HUP and QUIT from its first moment on. It stays, and so does its phase.
fn attendant_shrugs_off_signals() {
    let world = World::new(&format!("echo ready > ready; {}", hold("gate")));
    let attending = world.start();
    let signals = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT];
    let send_all = || {
        for signal in signals {
            send(attending.pid, signal);
        }
    };
    send_all();
    world.wait_for_file("ready");
    send_all();
    wait_for(|| matches!(world.folder.started(), Ok(Some(_))), "the start");
    world.open("gate");
    wait_for_end(attending.fd());
    let exit = world.exit();
    assert_eq!((exit.outcome, exit.stopped_by), (ProcessEnd::Code(0), None));
}
