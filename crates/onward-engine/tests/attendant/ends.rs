//! Phases that end by themselves, or never begin.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use onward_core::event::StopRequest;
use onward_core::id::{Attempt, PhaseId, RunId};
use onward_engine::attendant::{AttemptFolder, FolderError, ProcessEnd, SpawnError, ask_to_stop};

use crate::world::{Tests, World, hold, wait_for_end};

pub(crate) const TESTS: Tests = &[
    ("phase_that_succeeds", phase_that_succeeds),
    ("phase_that_fails", phase_that_fails),
    ("phase_ended_by_a_signal", phase_ended_by_a_signal),
    ("program_that_is_not_there", program_that_is_not_there),
    ("working_directory_that_is_not_there", working_directory_that_is_not_there),
    ("phase_starts_with_default_signals", phase_starts_with_default_signals),
    ("phase_has_no_keyboard_and_no_stray_descriptors", phase_has_no_keyboard_and_no_stray_descriptors),
    ("attempt_is_started_at_most_once", attempt_is_started_at_most_once),
    ("files_are_private", files_are_private),
    ("planted_folder_is_refused", planted_folder_is_refused),
    ("background_child_delays_nothing", background_child_delays_nothing),
    ("stop_that_comes_too_late", stop_that_comes_too_late),
    ("request_that_cannot_be_read_stops_nothing", request_that_cannot_be_read_stops_nothing),
    ("long_script_arrives_whole", long_script_arrives_whole),
];

/// A phase prints on both streams and ends well. The record says so, and both lines are kept.
fn phase_that_succeeds() {
    let world = World::new("echo out; echo err >&2");
    let exit = world.run();
    assert_eq!((&exit.outcome, exit.timed_out, exit.stopped_by), (&ProcessEnd::Code(0), false, None));
    assert_eq!((exit.output_bytes, exit.output_dropped_bytes, exit.log_error), (8, 0, None));
    assert!(exit.started_at <= exit.ended_at && exit.duration_ms < 10_000);
    let output = world.output();
    assert!(output == "out\nerr\n" || output == "err\nout\n", "{output:?}");
}

/// A phase ends with code 3. The record has that code.
fn phase_that_fails() {
    assert_eq!(World::new("exit 3").run().outcome, ProcessEnd::Code(3));
}

/// A phase crashes. The record has the signal, which is no exit code.
fn phase_ended_by_a_signal() {
    assert_eq!(World::new("kill -SEGV $$").run().outcome, ProcessEnd::Signal(11));
}

/// The shell that the plan asks for is not installed. Nothing ran, and the record says which program it was.
fn program_that_is_not_there() {
    let mut world = World::new("");
    "no-such-shell".clone_into(&mut world.spec.argv[0]);
    let ProcessEnd::CouldNotStart(reason) = world.run().outcome else { panic!("it started") };
    assert!(reason.contains("no-such-shell"), "{reason}");
}

/// The working directory was removed. The reason names it, although the system's error is the one for a missing program.
fn working_directory_that_is_not_there() {
    let mut world = World::new("true");
    world.spec.working_directory = world.path("gone");
    let ProcessEnd::CouldNotStart(reason) = world.run().outcome else { panic!("it started") };
    assert!(reason.contains("gone"), "{reason}");
}

/// The attendant shrugs off INT, TERM and HUP and was started with signals blocked. None of that is left in the phase.
fn phase_starts_with_default_signals() {
    let world = World::new("grep -E 'Sig(Blk|Ign)' /proc/self/status");
    world.run();
    for line in world.output().lines() {
        let mask =
            u64::from_str_radix(line.split_whitespace().nth(1).expect("a mask"), 16).expect("a hexadecimal mask");
        // The C library keeps two numbers above the named signals to itself.
        assert_eq!(mask & 0x7fff_ffff, 0, "{line}");
    }
}

/// A phase reads its input and lists what it has open. There is no input, and besides its two pipes only the attempt's lock.
fn phase_has_no_keyboard_and_no_stray_descriptors() {
    let world = World::new("cat; for fd in /proc/$$/fd/*; do readlink $fd; done");
    world.run();
    let output = world.output();
    let open: Vec<&str> = output.lines().filter(|name| !name.starts_with("pipe:")).collect();
    let lock = world.folder.lock_path();
    assert_eq!(open, ["/dev/null", lock.to_str().expect("a plain path")], "{output}");
}

/// An attempt is started while it runs, and once more after its end. Neither start happens.
fn attempt_is_started_at_most_once() {
    let world = World::new(&format!("echo x >> ran; {}", hold("gate")));
    let attending = world.start();
    world.wait_for_file("ran");
    assert!(matches!(world.try_start(), Err(SpawnError::Held)));
    world.open("gate");
    wait_for_end(attending.fd());
    assert!(matches!(world.try_start(), Err(SpawnError::StartedBefore)));
    assert_eq!(fs::read_to_string(world.path("ran")).expect("the phase's file"), "x\n");
}

/// A phase with a loose umask writes everything it may. No other user can read any of it.
fn files_are_private() {
    let world =
        World::new("umask 0; echo a=b >> $ONWARD_OUTPUT; echo c > $ONWARD_SUMMARY; echo d > $ONWARD_PROGRESS; echo e");
    world.run();
    let mode = |path: &std::path::Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!(mode(world.folder.path()), 0o700);
    for entry in fs::read_dir(world.folder.path()).expect("a readable folder").flatten() {
        assert_eq!(mode(&entry.path()), 0o600, "{}", entry.path().display());
    }
}

/// Someone has put a link in the place where an attempt's folder would be made. It is not written through.
fn planted_folder_is_refused() {
    let world = World::new("true");
    fs::create_dir(world.path("elsewhere")).expect("a new folder");
    let phases = world.path(".onward/attempts/run_1");
    symlink(world.path("elsewhere"), phases.join("planted")).expect("a new link");
    let folder = AttemptFolder::new(&world.path(".onward"), &RunId::new("run_1"), &PhaseId::new("planted"), Attempt(1));
    assert!(matches!(folder.create(), Err(FolderError::NotOurs { .. })));
}

/// A phase leaves a daemon behind that holds its pipes and its lock. The outcome comes at once and counts, and the daemon lives.
fn background_child_delays_nothing() {
    let world = World::new("sleep 60 & echo $! > daemon; echo done");
    let exit = world.run();
    assert_eq!((exit.outcome, world.output().as_str()), (ProcessEnd::Code(0), "done\n"));
    assert!(exit.duration_ms < 5_000);
    assert!(crate::world::lives(world.pid_in("daemon")), "the daemon was killed");
    assert!(matches!(world.find(), onward_engine::attendant::AttemptFound::Exited(_)), "the held lock was asked first");
}

/// Somebody wants to stop a phase that has just ended. The outcome stays what it was.
fn stop_that_comes_too_late() {
    let world = World::new("true");
    world.run();
    let reached = ask_to_stop(&world.folder, StopRequest::Interrupt).expect("a writable folder");
    assert_eq!(reached, onward_engine::attendant::StopReached::Gone);
    assert_eq!(world.exit().stopped_by, None);
}

/// Something is in the place of a request to stop that cannot be read, before the phase begins. Nobody asked for an end, so it does its
/// work.
fn request_that_cannot_be_read_stops_nothing() {
    let world = World::new("echo done");
    fs::create_dir(world.folder.path().join("STOP")).expect("a new folder");
    let exit = world.run();
    assert_eq!((exit.outcome, exit.stopped_by), (ProcessEnd::Code(0), None));
    assert_eq!(world.output(), "done\n");
}

/// A script is longer than any pipe. It arrives whole.
fn long_script_arrives_whole() {
    let world = World::new(&format!("echo begin; : {}; echo end", "x".repeat(100_000)));
    assert_eq!((world.run().outcome, world.output().as_str()), (ProcessEnd::Code(0), "begin\nend\n"));
}
