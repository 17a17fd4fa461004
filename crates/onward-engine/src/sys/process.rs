//! Processes as Linux shows them: who lives, since when, and what belongs to an attempt.
//!
//! A pid alone names nothing, because the kernel gives it out again. A process is named here by its pid together with its start
//! time, or by a descriptor that the kernel ties to it (a pidfd). What an attempt started is found by [`AttemptMark`].

#![expect(
    unsafe_code,
    reason = "resetting a signal and closing descriptors that nobody here opened have no safe wrapper in the libraries used"
)]

mod members;

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
pub use members::{AttemptMark, Member, carried, kill_tree, sweep};
pub(crate) use members::{given_paths, last_tag, may_pass};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
pub use nix::unistd::Pid;
use nix::unistd::{SysconfVar, sysconf};
use onward_store::listing;
use rustix::process::PidfdFlags;
use rustix::time::{ClockId, clock_gettime};

/// The variable that carries the tags of every attempt that a process descends from, separated by commas.
pub const TREE_VARIABLE: &str = "ONWARD_TREE";

/// How many ancestors of a process are looked at. A person has a dozen.
pub(crate) const ANCESTORS_MAX: usize = 1_024;

/// The id that the kernel draws anew at every boot. Start times and pids mean nothing across a change of it.
pub fn boot_id() -> io::Result<String> {
    #[cfg(feature = "kill-points")]
    if let Ok(boot) = std::env::var("ONWARD_TEST_BOOT_ID") {
        return Ok(boot);
    }
    Ok(fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned())
}

/// The name of this machine, for people; nothing is decided by it.
pub fn hostname() -> String {
    nix::unistd::gethostname().map_or_else(|_| "localhost".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// Time since boot, suspended time included; it never goes back, so durations are taken from it.
pub fn boottime() -> Duration {
    let now = clock_gettime(ClockId::Boottime);
    Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or(0))
}

/// The fields of `/proc/PID/stat` that matter here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stat {
    state: u8,
    parent: Pid,
    group: Pid,
    /// The kernel's flags of the process.
    flags: u32,
    start_time: u64,
}

/// The kernel's flag of a process that is about to end.
const EXITING: u32 = 0x4;

impl Stat {
    fn read(pid: Pid) -> io::Result<Self> {
        let text = fs::read(format!("/proc/{pid}/stat"))?;
        Self::parse(&text)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "unexpected form of /proc/PID/stat"))
    }

    /// The second field is the name of the program, which may contain anything, so fields are counted from its last bracket.
    fn parse(text: &[u8]) -> Option<Self> {
        let after = text.iter().rposition(|&byte| byte == b')')? + 1;
        let rest = std::str::from_utf8(text.get(after..)?).ok()?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        let pid = |at: usize| Some(Pid::from_raw(fields.get(at)?.parse().ok()?));
        Some(Self {
            state: *fields.first()?.as_bytes().first()?,
            parent: pid(1)?,
            group: pid(2)?,
            flags: fields.get(6)?.parse().ok()?,
            start_time: fields.get(19)?.parse().ok()?,
        })
    }

    /// A zombie has ended; only its parent has not looked yet, and under a lazy init it never will.
    fn lives(self) -> bool {
        !matches!(self.state, b'Z' | b'X' | b'x')
    }
}

/// When a process started, in clock ticks since boot: with its pid it names the process within one boot.
pub fn start_time(pid: Pid) -> io::Result<u64> {
    Stat::read(pid).map(|stat| stat.start_time)
}

/// Whether exactly this process still runs. A zombie does not.
pub fn alive(pid: Pid, start_time: u64) -> bool {
    Stat::read(pid).is_ok_and(|stat| stat.lives() && stat.start_time == start_time)
}

/// Whether somebody stopped this process, by a signal or as its tracer.
pub(crate) fn is_stopped(pid: Pid) -> bool {
    Stat::read(pid).is_ok_and(|stat| matches!(stat.state, b'T' | b't'))
}

/// Whether a process has ended, or was killed and only has not come to its end yet. On a busy machine that takes a while, and
/// until then it keeps its locks.
pub(crate) fn is_ending(pid: Pid) -> bool {
    let Ok(stat) = Stat::read(pid) else { return true };
    let killed = || fs::read_to_string(format!("/proc/{pid}/status")).is_ok_and(|status| has_pending_kill(&status));
    !stat.lives() || stat.flags & EXITING != 0 || killed()
}

/// Whether a SIGKILL waits, as `/proc/PID/status` tells it.
fn has_pending_kill(status: &str) -> bool {
    let bit = 1_u64 << (Signal::SIGKILL as u32 - 1);
    let waiting = status.lines().filter_map(|line| line.strip_prefix("SigPnd:").or(line.strip_prefix("ShdPnd:")));
    waiting.filter_map(|mask| u64::from_str_radix(mask.trim(), 16).ok()).any(|mask| mask & bit != 0)
}

/// When a process was started, by the clock on the wall as it goes now.
pub(crate) fn started_at(pid: Pid) -> Option<Timestamp> {
    let ticks_per_second = sysconf(SysconfVar::CLK_TCK).ok()??.unsigned_abs();
    let since_boot = Duration::from_millis(start_time(pid).ok()?.saturating_mul(1_000) / ticks_per_second);
    Some(Timestamp::now() - boottime().saturating_sub(since_boot))
}

/// A process that has this very file open, other than this one. Only those that we may look at are found.
pub(crate) fn who_has_open(path: &Path) -> Option<Pid> {
    let wanted = fs::metadata(path).ok()?;
    let is_it = |fd: fs::DirEntry| {
        fs::metadata(fd.path()).is_ok_and(|open| (open.dev(), open.ino()) == (wanted.dev(), wanted.ino()))
    };
    let holds = |pid: &Pid| {
        let mut open = listing::readable(format!("/proc/{pid}/fd")).into_iter();
        *pid != Pid::this() && open.any(is_it)
    };
    members::all_pids().ok()?.find(holds)
}

/// The name of the program that a process runs, cut short by the kernel; empty if it has ended.
pub fn program_name(pid: Pid) -> String {
    let name = fs::read(format!("/proc/{pid}/comm")).unwrap_or_default();
    String::from_utf8_lossy(&name).trim_end().to_owned()
}

/// The words with which a process was started; none if it has ended or belongs to somebody else.
pub(crate) fn command_line(pid: Pid) -> Vec<Vec<u8>> {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.split(|&byte| byte == 0).map(<[u8]>::to_vec).collect()
}

/// A descriptor that stays with this process and becomes readable when it ends, whatever happens to its number afterwards.
pub fn pidfd_open(pid: Pid) -> io::Result<OwnedFd> {
    let pid = rustix::process::Pid::from_raw(pid.as_raw()).ok_or(io::ErrorKind::InvalidInput)?;
    Ok(rustix::process::pidfd_open(pid, PidfdFlags::empty())?)
}

/// Sends a signal to the very process that the descriptor stands for.
pub fn pidfd_signal(pidfd: BorrowedFd<'_>, signal: Signal) -> io::Result<()> {
    let signal = rustix::process::Signal::from_named_raw(signal as i32).ok_or(io::ErrorKind::InvalidInput)?;
    Ok(rustix::process::pidfd_send_signal(pidfd, signal)?)
}

/// Sends a signal to exactly this process, if it lives; `false` if it does not. Where there is no descriptor to be had for it, as
/// under a strict seccomp filter or with too many files open, its number is used right after its start time was looked at.
pub fn signal(pid: Pid, start_time: u64, signal: Signal) -> io::Result<bool> {
    let pidfd = pidfd_open(pid);
    if !alive(pid, start_time) {
        return Ok(false);
    }
    let sent = match pidfd {
        Ok(pidfd) => pidfd_signal(pidfd.as_fd(), signal),
        Err(_) => kill(pid, signal).map_err(io::Error::from),
    };
    match sent {
        Ok(()) => Ok(true),
        Err(why) if why.raw_os_error() == Some(Errno::ESRCH as i32) => Ok(false),
        Err(why) => Err(why),
    }
}

/// Whether the process behind the descriptor has ended.
pub fn pidfd_ended(pidfd: BorrowedFd<'_>) -> bool {
    let mut fds = [PollFd::new(pidfd, PollFlags::POLLIN)];
    poll(&mut fds, PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
}

/// Gives every signal that was inherited as ignored its default back, so that a phase behind this process starts like any other
/// program, also when onward itself was started with `nohup`. `SIGPIPE` is left to the standard library, which resets it in children.
pub(crate) fn reset_ignored_signals() {
    for signal in Signal::iterator() {
        if matches!(signal, Signal::SIGKILL | Signal::SIGSTOP | Signal::SIGPIPE) {
            continue;
        }
        // SAFETY: both pointers are to live values or null; setting a default disposition installs no code of ours.
        unsafe {
            let mut now: libc::sigaction = std::mem::zeroed();
            if libc::sigaction(signal as i32, std::ptr::null(), &raw mut now) == 0 && now.sa_sigaction == libc::SIG_IGN
            {
                now.sa_sigaction = libc::SIG_DFL;
                libc::sigaction(signal as i32, &raw const now, std::ptr::null_mut());
            }
        }
    }
}

/// Closes every descriptor from `first` on. For the attendant's first moment: what the driver inherited from its own caller, such as
/// the pipe of a program that waits for its end, must not live on in a process that outlives the driver.
pub(crate) fn close_descriptors_from(first: u32) {
    // SAFETY: called before this process has opened anything itself, so no owner of a descriptor loses it. An old kernel without the
    // call leaves them open, which is untidy and no more.
    unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, 0) };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program calls itself `a) R 1 (b`. The fields after its name are still found.
    #[test]
    fn a_name_with_brackets_does_not_shift_the_fields() {
        let line = b"42 (a) R 1 (b) S 7 8 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 98765 1 2 3";
        let stat = Stat::parse(line).expect("a well-formed line");
        let [parent, group] = [7, 8].map(Pid::from_raw);
        assert_eq!(stat, Stat { state: b'S', parent, group, flags: 4_194_560, start_time: 98765 });
    }

    /// A process was killed and not yet waited for: it is ending. One that works is not, whatever else waits for it.
    #[test]
    fn a_killed_process_is_ending_and_one_at_work_is_not() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("sleep starts");
        let pid = Pid::from_raw(i32::try_from(child.id()).expect("a pid"));
        assert!(!is_ending(pid) && !is_ending(Pid::this()));
        child.kill().expect("it can be killed");
        assert!(is_ending(pid));
        child.wait().expect("it ended");
        assert!(is_ending(pid));
        assert!(has_pending_kill("State:\tD\nSigPnd:\t0000000000000100\nShdPnd:\t0000000000000000\n"));
        assert!(!has_pending_kill("State:\tT\nSigPnd:\t0000000000000000\nShdPnd:\t0000000000004001\n"));
    }

    /// This very process is alive under its start time, and under no other.
    #[test]
    fn a_process_is_named_by_pid_and_start_time() {
        let own = Pid::this();
        let started = start_time(own).expect("our own stat");
        assert!(alive(own, started) && !alive(own, started + 1));
        assert!(!pidfd_ended(pidfd_open(own).expect("our own pidfd").as_fd()));
    }
}
