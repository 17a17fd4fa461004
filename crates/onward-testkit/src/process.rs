//! Processes, as /proc shows them.

use std::collections::BTreeSet;
use std::fs;
use std::thread::sleep;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// How often the list of processes is read before a kill is given up: each round finds what was born in the one before.
const KILL_ROUNDS_MAX: u32 = 2_000;

/// Rounds without a find until nothing is left: one may fall between a fork and the moment the child shows up.
const QUIET_ROUNDS: u32 = 3;

/// True if the process runs. One that has ended and waits to be collected does not.
pub fn is_alive(pid: u32) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    // The name stands in brackets and may hold anything, brackets too: the state comes after the last one.
    let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    state.is_some_and(|state| state != 'Z' && state != 'X')
}

/// The command line of a process, for messages.
pub(crate) fn command_line(pid: u32) -> String {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).replace('\0', " ").trim_end().chars().take(120).collect()
}

/// Every living process, other than this one, whose environment holds the token.
pub(crate) fn carrying(token: &str) -> Vec<u32> {
    let own = std::process::id();
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|pid| *pid != own && has_token(*pid, token) && is_alive(*pid))
        .collect()
}

/// Kills every process that carries the token; false if some are left at the limit. All are stopped first, so that none
/// of them sees another one die.
pub(crate) fn kill_all_carrying(token: &str) -> bool {
    let mut stopped = BTreeSet::new();
    let all_stopped = repeat_until_quiet(|| {
        let found: Vec<u32> = carrying(token).into_iter().filter(|pid| stopped.insert(*pid)).collect();
        for pid in &found {
            send(*pid, Signal::SIGSTOP);
        }
        found.is_empty()
    });
    let all_killed = repeat_until_quiet(|| {
        let found = carrying(token);
        for pid in &found {
            send(*pid, Signal::SIGKILL);
        }
        found.is_empty()
    });
    all_stopped && all_killed
}

/// Sends a signal; a process that is gone already is no mistake.
#[track_caller]
pub fn send(pid: u32, signal: Signal) {
    send_to(as_pid(pid), signal);
}

/// Sends a signal to a whole process group.
#[track_caller]
pub(crate) fn send_group(leader: u32, signal: Signal) {
    send_to(Pid::from_raw(-as_pid(leader).as_raw()), signal);
}

#[track_caller]
fn send_to(target: Pid, signal: Signal) {
    match kill(target, signal) {
        Ok(()) | Err(Errno::ESRCH) => {}
        Err(error) => panic!("{signal} to {target}: {error}"),
    }
}

fn as_pid(pid: u32) -> Pid {
    Pid::from_raw(i32::try_from(pid).expect("process ids fit into 31 bits"))
}

fn has_token(pid: u32, token: &str) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.windows(token.len()).any(|window| window == token.as_bytes())
}

/// Repeats a round until it was quiet often enough; false at the limit.
fn repeat_until_quiet(mut is_quiet: impl FnMut() -> bool) -> bool {
    let mut quiet = 0;
    for _ in 0..KILL_ROUNDS_MAX {
        quiet = if is_quiet() { quiet + 1 } else { 0 };
        if quiet == QUIET_ROUNDS {
            return true;
        }
        sleep(Duration::from_millis(2));
    }
    false
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_process_that_ended_and_was_not_collected_is_dead() {
        let mut child = Command::new("sleep").arg("60").spawn().expect("sleep starts");
        assert!(is_alive(child.id()));
        send(child.id(), Signal::SIGKILL);
        crate::wait_until("the end of the child", || (!is_alive(child.id())).then_some(()));
        assert!(fs::exists(format!("/proc/{}", child.id())).expect("/proc can be read"));
        child.wait().expect("the child is collected");
        assert!(!is_alive(child.id()));
    }
}
