//! Processes that live on when an attempt is over, and those that do not.

use std::fs;
use std::path::Path;

use nix::sys::signal::Signal;
use onward_core::event::StopRequest;
use onward_core::id::{Attempt, PhaseId, RunId};
use onward_engine::attendant::{AfterSuccess, AttemptFolder, AttemptFound, ProcessEnd, is_at_work, kill};
use onward_engine::process::{self, AttemptMark, Pid};

use crate::world::{Tests, World, hold, lives, send, wait_for, wait_for_end};

pub(crate) const TESTS: Tests = &[
    ("main_process_killed_alone_takes_its_children_with_it", main_process_killed_alone_takes_its_children_with_it),
    ("children_of_a_failed_phase_are_told_before_they_are_killed", children_of_a_failed_phase_are_told),
    ("what_a_successful_phase_leaves_behind_is_named", what_a_successful_phase_leaves_behind_is_named),
    ("child_that_is_just_ending_is_not_named", child_that_is_just_ending_is_not_named),
    ("nothing_of_an_agent_lives_on_after_success", nothing_of_an_agent_lives_on_after_success),
    ("phase_that_closed_its_descriptors_is_at_work", phase_that_closed_its_descriptors_is_at_work),
    ("phase_without_tag_and_descriptors_is_at_work", phase_without_tag_and_descriptors_is_at_work),
    ("folder_that_was_renamed_has_the_outcome", folder_that_was_renamed_has_the_outcome),
    ("copy_of_a_project_has_other_tags", copy_of_a_project_has_other_tags),
    ("folder_with_traces_was_not_untouched", folder_with_traces_was_not_untouched),
    ("phase_in_another_pid_namespace_is_ended", phase_in_another_pid_namespace_is_ended),
    ("processes_that_fork_while_they_are_killed", processes_that_fork_while_they_are_killed),
];

/// Shell that closes every descriptor but the first three and goes on with the script after it.
const CLOSED: &str = "exec perl -MPOSIX -e 'POSIX::close($_) for 3..255; exec @ARGV' sh -c";

/// The out-of-memory killer takes the main process of a phase and nothing else. Its children, one of them in a session of its own
/// and one with an empty environment too, are gone before the outcome is there.
fn main_process_killed_alone_takes_its_children_with_it() {
    let world = World::new(
        "sh -c 'echo $$ > child; while :; do sleep 1; done' & \
         setsid sh -c 'trap \"\" TERM; echo $$ > apart; while :; do sleep 1; done' & \
         env -i PATH=\"$PATH\" setsid sh -c 'echo $$ > bare; while :; do sleep 1; done' & \
         echo $$ > phase; while :; do sleep 1; done",
    );
    let mut attending = world.start();
    let children = ["child", "apart", "bare"].map(|name| world.pid_in(name));
    send(world.pid_in("phase"), Signal::SIGKILL);
    wait_for(|| world.folder.exit().is_ok_and(|exit| exit.is_some()), "the outcome");
    assert_eq!(children.map(lives), [false; 3], "children live on beside the next attempt");
    wait_for_end(attending.fd());
    attending.reap().expect("our own child");
    let exit = world.exit();
    assert_eq!((exit.outcome, exit.timed_out, exit.stopped_by), (ProcessEnd::Signal(9), false, None));
    assert_eq!(exit.left_running, []);
}

/// A phase fails while its helper is at work. The helper is told first and may put things in order.
fn children_of_a_failed_phase_are_told() {
    let world = World::new(
        "sh -c 'trap \"echo told > told; exit\" TERM; echo up > up; while :; do sleep 0.01; done' & \
         until [ -e up ]; do sleep 0.01; done; exit 3",
    );
    let exit = world.run();
    assert_eq!((exit.outcome, exit.stopped_by), (ProcessEnd::Code(3), None));
    assert!(world.there("told"), "it was killed without a word");
    assert_eq!(process::sweep(&world.spec.tag, &[]).expect("a readable /proc"), []);
}

/// A phase starts a daemon, and succeeds. The daemon lives, the outcome does not wait for it, and it is on record by name.
fn what_a_successful_phase_leaves_behind_is_named() {
    let world = World::new("setsid sleep 60 </dev/null >/dev/null 2>&1 & echo $! > daemon");
    let exit = world.run();
    assert_eq!(exit.outcome, ProcessEnd::Code(0));
    let named: Vec<(i32, &str)> = exit.left_running.iter().map(|one| (one.pid, one.name.as_str())).collect();
    let daemon = world.pid_in("daemon");
    assert_eq!(named, [(daemon.as_raw(), "sleep")]);
    assert!(lives(daemon) && exit.duration_ms < 2_000);
    assert!(!is_at_work(&world.folder).expect("readable records"), "the outcome is there, whatever the lock says");
}

/// A phase writes its log through `tee`, which ends a moment after the phase. Nothing was left behind.
fn child_that_is_just_ending_is_not_named() {
    let world =
        World::new("mkfifo pipe; (cat < pipe > copy; sleep 0.01) >/dev/null 2>&1 & exec > pipe 2>&1; echo line");
    let exit = world.run();
    assert_eq!((exit.outcome, exit.left_running), (ProcessEnd::Code(0), vec![]));
}

/// An attempt of which nothing may live on succeeds and leaves a child in a session of its own.
fn nothing_of_an_agent_lives_on_after_success() {
    let mut world = World::new("setsid sh -c 'echo $$ > child; sleep 60' & until [ -s child ]; do sleep 0.01; done");
    world.spec.after_success = AfterSuccess::EndAll;
    let exit = world.run();
    assert_eq!((exit.outcome, exit.stopped_by, exit.timed_out), (ProcessEnd::Code(0), None, false));
    assert!(!lives(world.pid_in("child")));
}

/// The attendant is killed, and the phase has closed every descriptor that it inherited, as `sudo` and daemons do. The lock is free;
/// the tag in its environment tells that it is at work, and then that it is not.
fn phase_that_closed_its_descriptors_is_at_work() {
    let world = World::new(&format!("{CLOSED} 'echo $$ > phase; {}'", hold("gate")));
    let mut attending = world.start();
    let phase = world.pid_in("phase");
    send(attending.pid, Signal::SIGKILL);
    attending.reap().expect("our own child");
    assert!(matches!(world.find(), AttemptFound::Holding), "{:?}", world.find());
    assert!(is_at_work(&world.folder).expect("readable records"));
    world.open("gate");
    wait_for(|| !lives(phase), "the phase to end");
    assert!(matches!(world.find(), AttemptFound::Unknown));
    assert!(!is_at_work(&world.folder).expect("readable records"));
}

/// The same with an empty environment: it is known as the main process.
fn phase_without_tag_and_descriptors_is_at_work() {
    let script = format!("{CLOSED} 'exec env -i PATH=\"$PATH\" sh -c \"echo \\$\\$ > phase; {}\"'", hold("gate"));
    let world = World::new(&script);
    let mut attending = world.start();
    let phase = world.pid_in("phase");
    wait_for(|| process::sweep(&world.spec.tag, &[attending.pid]).is_ok_and(|all| all.is_empty()), "the tag to go");
    send(attending.pid, Signal::SIGKILL);
    attending.reap().expect("our own child");
    assert!(matches!(world.find(), AttemptFound::Holding), "{:?}", world.find());
    let boot = process::boot_id().expect("a boot id");
    assert_eq!(world.folder.mark(&boot).kill().expect("a readable /proc"), []);
    assert!(!lives(phase) && matches!(world.find(), AttemptFound::Unknown));
}

/// The project is renamed while an orphan works. Its lock, its tag, its output and its outcome are found where the project is now.
fn folder_that_was_renamed_has_the_outcome() {
    let world = World::new(&format!("echo before; echo up > ready; {}; echo after; exit 4", hold("gate")));
    let driver = world.start_by_another_driver();
    world.wait_for_file("ready");
    driver.kill();
    let there =
        |top: &str| AttemptFolder::new(&world.path(top), &RunId::new("run_1"), &PhaseId::new("build"), Attempt(1));
    fs::rename(world.path(".onward"), world.path("renamed")).expect("our own folder");
    let (folder, boot) = (there("renamed"), process::boot_id().expect("a boot id"));
    assert_eq!(folder.tag(), world.spec.tag, "nobody would find it by its tag");
    let found = || onward_engine::attendant::find(&folder, &boot, &boot).expect("readable records");
    let AttemptFound::Alive(adopted) = found() else { panic!("not found alive") };
    world.open("gate");
    wait_for_end(adopted.fd());
    let AttemptFound::Exited(exit) = found() else { panic!("its outcome is not there") };
    assert_eq!((exit.outcome, exit.log_error), (ProcessEnd::Code(4), None));
    assert_eq!(fs::read_to_string(folder.path().join("output")).expect("its output"), "before\nafter\n");
    assert!(!Path::new(world.folder.path()).exists(), "something was written to the old place");
}

/// A project is copied while a phase works. The copy does not take the other one's processes for its own.
fn copy_of_a_project_has_other_tags() {
    let world = World::new("true");
    let other = World::new("true");
    assert_ne!(world.folder.tag(), other.folder.tag());
}

/// The record of a start was lost, and the phase has printed something. Nobody may say that it never ran.
fn folder_with_traces_was_not_untouched() {
    let world = World::new("echo printed");
    world.run();
    fs::remove_file(world.folder.path().join("STARTED")).expect("it is there");
    fs::remove_file(world.folder.path().join("EXIT")).expect("it is there");
    assert!(matches!(world.find(), AttemptFound::Unknown));
}

/// A phase works as the first process of another pid namespace, which takes no signal that it does not handle. It is ended all the
/// same, and with it the whole namespace.
fn phase_in_another_pid_namespace_is_ended() {
    let unshare = "unshare --user --map-root-user --pid --fork";
    let allowed = std::process::Command::new("sh").args(["-c", &format!("{unshare} true")]).status();
    if !allowed.is_ok_and(|status| status.success()) {
        // Where namespaces are forbidden no phase can be in one.
        return;
    }
    let mut world =
        World::new(&format!("exec {unshare} sh -c 'setsid sleep 60 & echo up > up; while :; do sleep 1; done'"));
    (world.spec.grace_int_ms, world.spec.grace_term_ms) = (50, 50);
    let attending = world.start();
    world.wait_for_file("up");
    // Known by their parents: the environment of a process in a namespace of its own cannot be read everywhere.
    let inside = descendants(attending.pid);
    assert!(inside.len() >= 3, "this test needs processes in the namespace: {inside:?}");
    onward_engine::attendant::ask_to_stop(&world.folder, StopRequest::Interrupt).expect("a writable folder");
    wait_for_end(attending.fd());
    let exit = world.exit();
    assert_eq!((exit.stopped_by, exit.left_running), (Some(StopRequest::Interrupt), vec![]));
    assert_eq!(inside.into_iter().filter(|pid| lives(*pid)).collect::<Vec<_>>(), []);
    assert_eq!(AttemptMark::tagged(&world.spec.tag).members().expect("a readable /proc"), []);
}

/// All that descends from a process now.
fn descendants(of: Pid) -> Vec<Pid> {
    let pids = fs::read_dir("/proc").expect("a readable /proc").flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok().map(Pid::from_raw));
    let parent = |pid: Pid| -> Option<Pid> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit(") ").next()?.split(' ').nth(1)?.parse().ok().map(Pid::from_raw)
    };
    let belongs = |pid: &Pid| std::iter::successors(Some(*pid), |pid| parent(*pid)).skip(1).any(|above| above == of);
    pids.filter(belongs).collect()
}

/// Looks after which nobody who forks all the time has been missed.
const LOOKS_AT_THOSE_WHO_FORK: u32 = 40;

/// Some processes do nothing but start the next one and end, each in a session of its own. The kill catches up with all of them.
fn processes_that_fork_while_they_are_killed() {
    let world = World::new("");
    fs::write(world.path("comet"), "setsid sh ./comet & exit\n").expect("a writable folder");
    let mut world = world;
    world.spec.argv =
        ["sh", "-c", "for i in 1 2 3; do setsid sh ./comet & done; echo up > up; while :; do sleep 1; done"]
            .map(str::to_owned)
            .to_vec();
    let attending = world.start();
    world.wait_for_file("up");
    kill(&world.folder, StopRequest::Cancel).expect("a writable folder");
    wait_for_end(attending.fd());
    assert_eq!(world.exit().left_running, []);
    // One look may miss somebody who is about to begin and to end; many do not.
    for _ in 0..LOOKS_AT_THOSE_WHO_FORK {
        assert_eq!(AttemptMark::tagged(&world.spec.tag).members().expect("a readable /proc"), []);
    }
}
