//! Follows the processes of a command by ptrace, counts their system calls by role, and has one or several of them fail.
//!
//! Only processes that are the binary itself are followed: what a phase executes is let go at once, so a fault never reaches
//! the ledger. A tracer is one thread: the kernel knows tracees by the thread that seized them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;

use nix::errno::Errno;
use nix::libc;
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use super::calls::{self, CallFault};

/// The role of a process of the binary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    Driver,
    Attendant,
    Poster,
}

impl std::fmt::Display for Role {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Driver => "driver",
            Self::Attendant => "attendant",
            Self::Poster => "poster",
        })
    }
}

/// Which call fails, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Aim {
    pub role: Role,
    /// Which process of that role, from 1 in the order of their starts.
    pub process: u32,
    /// Which of its calls, from 1.
    pub call: u32,
    /// Which of the ways in which that call may fail; counted around.
    pub way: u32,
}

/// The call that was hit.
#[derive(Clone, Debug)]
pub struct CallHit {
    pub role: Role,
    pub call: &'static str,
    pub fault: CallFault,
    /// The arguments of the process.
    pub words: Vec<String>,
}

/// A call that was seen.
#[derive(Clone, Copy, Debug)]
pub struct SeenCall {
    pub role: Role,
    pub process: u32,
    pub call: u32,
    pub number: i64,
}

/// The account of a tracer when all its processes are gone.
#[derive(Debug, Default)]
pub struct Traced {
    pub hits: Vec<CallHit>,
    pub seen: Vec<SeenCall>,
}

/// A command under a tracer.
pub(super) struct Under {
    /// Its exit code as a shell gives it, once it has ended.
    pub(super) code: Receiver<i32>,
    thread: JoinHandle<Traced>,
}

impl Under {
    /// Waits for the end of all that is traced.
    pub(super) fn finish(self) -> Traced {
        self.thread.join().expect("the tracer does not panic")
    }
}

/// Starts a command under a tracer. It must be the binary, called as `sh -c 'kill -STOP $$; exec "$@"' sh BINARY ARGS`.
/// Without an aim every call is written down.
pub(super) fn start(mut command: Command, binary: &Path, aims: &[Aim]) -> Under {
    let (binary, aims) = (binary.to_path_buf(), aims.to_vec());
    let (tell_started, started) = channel();
    let (tell_code, code) = channel();
    let thread = std::thread::spawn(move || {
        #[expect(clippy::zombie_processes, reason = "the tracer waits for it with all that it follows")]
        let child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        tell_started.send(()).expect("the starter waits for it");
        let mut tracer = Tracer {
            binary,
            aims,
            lasting: Vec::new(),
            all: HashMap::new(),
            own: Vec::new(),
            traced: Traced::default(),
        };
        tracer.follow(&child, &tell_code);
        tracer.traced
    });
    started.recv().expect("the command starts");
    Under { code, thread }
}

/// One process of the binary.
struct TracedProcess {
    role: Role,
    number: u32,
    calls: u32,
    words: Vec<String>,
}

/// One thread that is followed.
#[derive(Default)]
struct Tracee {
    /// Which of our processes it belongs to; none before the binary is executed.
    owner: Option<usize>,
    inside: bool,
    /// The error that the call which it is inside of shall give.
    error: Option<Errno>,
}

struct Tracer {
    binary: PathBuf,
    aims: Vec<Aim>,
    /// Calls that go on failing: in which of our processes, which one, and how.
    lasting: Vec<(usize, i64, Errno)>,
    all: HashMap<Pid, Tracee>,
    own: Vec<TracedProcess>,
    traced: Traced,
}

impl Tracer {
    fn follow(&mut self, child: &Child, tell_code: &std::sync::mpsc::Sender<i32>) {
        let root = Pid::from_raw(i32::try_from(child.id()).expect("process ids fit into 31 bits"));
        let flags = WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD;
        let _ = waitpid(root, Some(WaitPidFlag::WUNTRACED | WaitPidFlag::__WNOTHREAD));
        let options = Options::PTRACE_O_TRACESYSGOOD
            | Options::PTRACE_O_TRACEFORK
            | Options::PTRACE_O_TRACEVFORK
            | Options::PTRACE_O_TRACECLONE
            | Options::PTRACE_O_TRACEEXEC;
        ptrace::seize(root, options).expect("a child of ours may be traced");
        self.all.insert(root, Tracee::default());
        let _ = kill(root, Signal::SIGCONT);
        loop {
            match waitpid(None, Some(flags)) {
                Ok(status) => self.step(status, root, tell_code),
                Err(Errno::EINTR) => {}
                Err(_) => return,
            }
        }
    }

    fn step(&mut self, status: WaitStatus, root: Pid, tell_code: &std::sync::mpsc::Sender<i32>) {
        match status {
            WaitStatus::Exited(pid, code) => {
                self.all.remove(&pid);
                if pid == root {
                    let _ = tell_code.send(code);
                }
            }
            WaitStatus::Signaled(pid, signal, _) => {
                self.all.remove(&pid);
                if pid == root {
                    let _ = tell_code.send(128 + signal as i32);
                }
            }
            WaitStatus::PtraceSyscall(pid) => self.at_call(pid),
            WaitStatus::PtraceEvent(pid, _, event) => self.at_event(pid, event),
            WaitStatus::Stopped(pid, signal) => go_on(pid, Some(signal)),
            WaitStatus::Continued(_) | WaitStatus::StillAlive => {}
        }
    }

    fn at_event(&mut self, pid: Pid, event: i32) {
        match event {
            libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK | libc::PTRACE_EVENT_CLONE => {
                let owner = self.all.get(&pid).and_then(|tracee| tracee.owner);
                if let Ok(child) = ptrace::getevent(pid) {
                    let child = Pid::from_raw(i32::try_from(child).expect("process ids fit into 31 bits"));
                    self.all.entry(child).or_default().owner = owner;
                }
            }
            libc::PTRACE_EVENT_EXEC => {
                let Some(own) = self.identify(pid) else {
                    self.all.remove(&pid);
                    let _ = ptrace::detach(pid, None);
                    return;
                };
                self.own.push(own);
                let owner = Some(self.own.len() - 1);
                // The call that did this is still to come back.
                self.all.insert(pid, Tracee { owner, inside: true, error: None });
            }
            // A child is there, or somebody stopped the group.
            _ => {
                self.all.entry(pid).or_default();
            }
        }
        go_on(pid, None);
    }

    /// The role of this process, if it is one of ours.
    fn identify(&self, pid: Pid) -> Option<TracedProcess> {
        if std::fs::read_link(format!("/proc/{pid}/exe")).ok()? != self.binary {
            return None;
        }
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let words: Vec<String> =
            line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect();
        let role = match words.get(1)?.as_str() {
            "__attend" => Role::Attendant,
            "run" | "resume" => Role::Driver,
            _ => Role::Poster,
        };
        let before = self.own.iter().filter(|own| own.role == role).count();
        Some(TracedProcess { role, number: u32::try_from(before).expect("few processes") + 1, calls: 0, words })
    }

    fn at_call(&mut self, pid: Pid) {
        let Some(tracee) = self.all.get_mut(&pid) else { return go_on(pid, None) };
        tracee.inside = !tracee.inside;
        if !tracee.inside {
            if let Some(errno) = tracee.error.take() {
                give(pid, errno);
            }
            return go_on(pid, None);
        }
        let (Some(owner), Ok(regs)) = (tracee.owner, ptrace::getregs(pid)) else { return go_on(pid, None) };
        let number = i64::try_from(regs.orig_rax).unwrap_or(-1);
        if let Some(fault) = self.fault_for(owner, number) {
            match fault {
                CallFault::Kill => {
                    let _ = kill(group_of(pid), Signal::SIGKILL);
                    return;
                }
                CallFault::Once(errno) | CallFault::Lasting(errno) => {
                    let mut skipped = regs;
                    skipped.orig_rax = u64::MAX;
                    if ptrace::setregs(pid, skipped).is_ok()
                        && let Some(tracee) = self.all.get_mut(&pid)
                    {
                        tracee.error = Some(errno);
                    }
                }
            }
        }
        go_on(pid, None);
    }

    /// Counts a call, and says how it shall fail.
    fn fault_for(&mut self, owner: usize, number: i64) -> Option<CallFault> {
        let call = calls::name(number)?;
        let lasting = self.lasting.iter().find(|(of, which, _)| (*of, *which) == (owner, number));
        if let Some((_, _, errno)) = lasting {
            return Some(CallFault::Once(*errno));
        }
        let own = &mut self.own[owner];
        own.calls += 1;
        let seen = SeenCall { role: own.role, process: own.number, call: own.calls, number };
        if self.aims.is_empty() {
            self.traced.seen.push(seen);
        }
        let is_here = |aim: &&Aim| (aim.role, aim.process, aim.call) == (seen.role, seen.process, seen.call);
        let aim = self.aims.iter().find(is_here)?;
        let ways = calls::ways(number);
        let fault = ways[usize::try_from(aim.way).expect("a small number") % ways.len()];
        if let CallFault::Lasting(errno) = fault {
            self.lasting.push((owner, number, errno));
        }
        self.traced.hits.push(CallHit { role: own.role, call, fault, words: own.words.clone() });
        Some(fault)
    }
}

/// The process of a thread.
fn group_of(thread: Pid) -> Pid {
    let status = std::fs::read_to_string(format!("/proc/{thread}/status")).unwrap_or_default();
    let group = status.lines().find_map(|line| line.strip_prefix("Tgid:")?.trim().parse().ok());
    group.map_or(thread, Pid::from_raw)
}

/// Has the call that a thread comes back from give an error.
fn give(pid: Pid, errno: Errno) {
    if let Ok(mut regs) = ptrace::getregs(pid) {
        regs.rax = (-i64::from(errno as i32)).cast_unsigned();
        let _ = ptrace::setregs(pid, regs);
    }
}

/// A process that was killed meanwhile cannot go on, and its end is told by the next wait.
fn go_on(pid: Pid, signal: Option<Signal>) {
    let _ = ptrace::syscall(pid, signal);
}
