//! Orphans: the next driver finds them when the one before is dead, and when the attendant is dead too.

use std::fs;
use std::process::Command;

use nix::sys::signal::Signal;
use onward_core::event::StopRequest;
use onward_engine::attendant::{self, AttemptFound, ProcessEnd, StopReached};
use onward_engine::process;

use crate::world::{Tests, World, hold, lives, send, wait_for, wait_for_end};

pub(crate) const TESTS: Tests = &[
    ("phase_outlives_its_driver", phase_outlives_its_driver),
    ("phase_ends_while_no_driver_lives", phase_ends_while_no_driver_lives),
    ("orphan_is_stopped_by_the_next_driver", orphan_is_stopped_by_the_next_driver),
    ("attendant_killed_and_phase_alive", attendant_killed_and_phase_alive),
    ("child_in_another_session_holds_the_lock", child_in_another_session_holds_the_lock),
    ("never_started", never_started),
    ("damaged_records", damaged_records),
    ("no_room_to_look_says_nothing", no_room_to_look_says_nothing),
    ("starting_attendant_is_waited_for", starting_attendant_is_waited_for),
    ("killed_at_random_moments", killed_at_random_moments),
];

/// SIGKILL hits the driver while the phase works. The next driver finds it alive, waits for it, and takes its outcome.
fn phase_outlives_its_driver() {
    let world = World::new(&format!("echo ready > ready; {}; echo done; exit 4", hold("gate")));
    let driver = world.start_by_another_driver();
    world.wait_for_file("ready");
    let attendant = driver.attendant;
    driver.kill();
    let AttemptFound::Alive(adopted) = world.find() else { panic!("not found alive") };
    assert_eq!(adopted.pid, attendant);
    assert!(!process::pidfd_ended(adopted.fd()));
    world.open("gate");
    wait_for_end(adopted.fd());
    let AttemptFound::Exited(exit) = world.find() else { panic!("its outcome is not there") };
    assert_eq!((exit.outcome, exit.stopped_by, world.output().as_str()), (ProcessEnd::Code(4), None, "done\n"));
}

/// SIGKILL hits the driver, then the phase ends with nobody watching. The outcome is there for whoever comes.
fn phase_ends_while_no_driver_lives() {
    let world = World::new(&format!("echo ready > ready; {}", hold("gate")));
    let driver = world.start_by_another_driver();
    world.wait_for_file("ready");
    let attendant = driver.attendant;
    driver.kill();
    world.open("gate");
    wait_for(|| !lives(attendant), "the attendant to end");
    let AttemptFound::Exited(exit) = world.find() else { panic!("its outcome is not there") };
    assert_eq!(exit.outcome, ProcessEnd::Code(0));
}

/// The next driver does not want to wait for an orphan. It can end it without having started it, and nothing is left.
fn orphan_is_stopped_by_the_next_driver() {
    let world = World::new(&format!("trap '' INT TERM; echo $$ > phase; {}", hold("never")));
    let driver = world.start_by_another_driver();
    let phase = world.pid_in("phase");
    driver.kill();
    let AttemptFound::Alive(adopted) = world.find() else { panic!("not found alive") };
    assert_eq!(
        attendant::kill(&world.folder, StopRequest::OrphanKill).expect("a writable folder"),
        StopReached::Signalled
    );
    wait_for_end(adopted.fd());
    assert!(!lives(phase), "the orphan lives");
    let AttemptFound::Exited(exit) = world.find() else { panic!("its outcome is not there") };
    assert_eq!((exit.outcome, exit.stopped_by), (ProcessEnd::Signal(9), Some(StopRequest::OrphanKill)));
}

/// SIGKILL hits the attendant, as the OOM killer may. While the phase lives the attempt is held and no second one can start; when it
/// is gone nobody knows how it ended.
fn attendant_killed_and_phase_alive() {
    let world = World::new(&format!("echo $$ > phase; {}", hold("gate")));
    let mut attending = world.start();
    let phase = world.pid_in("phase");
    send(attending.pid, Signal::SIGKILL);
    wait_for_end(attending.fd());
    attending.reap().expect("our own child");
    assert!(lives(phase));
    assert!(matches!(world.find(), AttemptFound::Holding));
    assert!(matches!(world.try_start(), Err(attendant::SpawnError::Held)));
    assert_eq!(
        attendant::ask_to_stop(&world.folder, StopRequest::Interrupt).expect("a writable folder"),
        StopReached::Gone
    );
    assert_eq!(process::kill_tree(None, &world.spec.tag).expect("a readable /proc"), []);
    assert!(!lives(phase));
    assert!(matches!(world.find(), AttemptFound::Unknown));
}

/// Attendant and phase are both killed, but a grandchild in a session of its own goes on. It holds the attempt all the same.
fn child_in_another_session_holds_the_lock() {
    let world = World::new("setsid sh -c 'echo $$ > daemon; while :; do sleep 1; done' & echo $$ > phase; wait");
    let mut attending = world.start();
    let (phase, daemon) = (world.pid_in("phase"), world.pid_in("daemon"));
    send(attending.pid, Signal::SIGKILL);
    send(phase, Signal::SIGKILL);
    attending.reap().expect("our own child");
    wait_for(|| !lives(phase), "the phase to end");
    assert!(matches!(world.find(), AttemptFound::Holding));
    process::kill_tree(None, &world.spec.tag).expect("a readable /proc");
    assert!(!lives(daemon) && matches!(world.find(), AttemptFound::Unknown));
}

/// The driver died between its intent and the start. In the same boot that is certain; after another boot the record may have been
/// lost with the power.
fn never_started() {
    let world = World::new("true");
    let found = |now, then| attendant::find(&world.folder, now, then).expect("readable records");
    assert!(matches!(found("boot-a", "boot-a"), AttemptFound::NeverStarted));
    assert!(matches!(found("boot-b", "boot-a"), AttemptFound::Unknown));
    fs::remove_dir_all(world.folder.path()).expect("our own folder");
    assert!(matches!(found("boot-a", "boot-a"), AttemptFound::NeverStarted));
    assert!(matches!(found("boot-b", "boot-a"), AttemptFound::Unknown));
}

/// A power cut has left records of zeros. A start that cannot be read is a start, an outcome that cannot be read is none.
fn damaged_records() {
    let world = World::new("true");
    fs::write(world.folder.path().join("STARTED"), [0; 200]).expect("a writable folder");
    assert!(matches!(world.find(), AttemptFound::Unknown));
    assert!(matches!(world.try_start(), Err(attendant::SpawnError::StartedBefore)));
    fs::write(world.folder.path().join("EXIT"), [0; 300]).expect("a writable folder");
    assert!(matches!(world.find(), AttemptFound::Unknown));
}

/// A driver may open no more files just when it looks for the outcome. It says so, and does not call the outcome unknown or the
/// attempt never begun; a moment later it finds it.
fn no_room_to_look_says_nothing() {
    let world = World::new("exit 4");
    let boot = process::boot_id().expect("a boot id");
    let look = || attendant::find(&world.folder, &boot, &boot);
    let without_room = || {
        let all: Vec<fs::File> = std::iter::from_fn(|| fs::File::open("/dev/null").ok()).collect();
        let found = look();
        drop(all);
        found
    };
    let limit = process::Pid::this().to_string();
    let lowered = Command::new("prlimit").args(["--pid", &limit, "--nofile=64:"]).status();
    assert!(lowered.is_ok_and(|status| status.success()), "a lower limit");
    assert!(without_room().is_err(), "it was called never begun");
    world.run();
    assert!(without_room().is_err(), "its outcome was called unknown");
    assert!(matches!(look(), Ok(AttemptFound::Exited(exit)) if exit.outcome == ProcessEnd::Code(4)));
}

/// The next driver looks in the moment in which the attendant has its lock but has not yet said who it is. It is found alive, never
/// held by a stranger or never started.
fn starting_attendant_is_waited_for() {
    for _ in 0..20 {
        let world = World::new(&hold("gate"));
        let attending = world.start();
        let AttemptFound::Alive(adopted) = world.find() else { panic!("not found alive") };
        assert_eq!(adopted.pid, attending.pid);
        world.open("gate");
        wait_for_end(attending.fd());
    }
}

/// Drivers are killed at many different moments around the start of a phase. Whatever is found then, the phase has run at most once,
/// and never ran if it is said so.
fn killed_at_random_moments() {
    for round in 0..30 {
        let world = World::new("echo x >> ran");
        let driver = world.start_by_another_driver();
        for _ in 0..round * 2000 {
            std::hint::spin_loop();
        }
        driver.kill();
        let outcome = loop {
            match world.find() {
                AttemptFound::Alive(adopted) => wait_for_end(adopted.fd()),
                AttemptFound::Exited(exit) => break exit.outcome,
                other @ (AttemptFound::Holding | AttemptFound::NeverStarted | AttemptFound::Unknown) => {
                    panic!("round {round}: {other:?}")
                }
            }
        };
        assert_eq!(outcome, ProcessEnd::Code(0), "round {round}");
        assert_eq!(fs::read_to_string(world.path("ran")).expect("the phase's file"), "x\n", "round {round}");
    }
}
