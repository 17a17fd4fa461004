//! A command at work in the background.

use std::fs;
use std::path::PathBuf;
use std::process::Child;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use crate::process;
use crate::ran::{Ran, shell_code, tail};
use crate::wait::{LIMIT, try_within};

/// A command in the background, in a process group of its own and without a terminal.
///
/// Letting go of it changes nothing: the project ends what is left when it goes.
#[derive(Debug)]
pub struct Running {
    pub(crate) args: Vec<String>,
    pub(crate) child: Child,
    pub(crate) out: PathBuf,
    pub(crate) err: PathBuf,
    pub(crate) started: Instant,
}

impl Running {
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn is_running(&self) -> bool {
        process::is_alive(self.pid())
    }

    /// Its output so far.
    pub fn out(&self) -> String {
        read(&self.out)
    }

    /// Its output on stderr so far.
    pub fn err(&self) -> String {
        read(&self.err)
    }

    /// SIGKILL to this one process; what it started lives on. Gives back what it had printed.
    #[track_caller]
    pub fn kill(self) -> Ran {
        process::send(self.pid(), Signal::SIGKILL);
        self.wait()
    }

    /// A signal to this one process.
    #[track_caller]
    pub fn signal(&self, signal: Signal) {
        process::send(self.pid(), signal);
    }

    /// A signal to its process group, as a terminal sends it for Ctrl+C.
    #[track_caller]
    pub fn signal_group(&self, signal: Signal) {
        process::send_group(self.pid(), signal);
    }

    /// Waits for its end, whatever the exit code.
    #[track_caller]
    pub fn wait(self) -> Ran {
        self.wait_within(LIMIT)
    }

    /// Waits for its end and demands the exit code.
    #[track_caller]
    pub fn wait_code(self, code: i32) -> Ran {
        self.wait().expect(code)
    }

    /// The exit code as a shell gives it, if the command has ended by now.
    pub fn ended(&mut self) -> Option<i32> {
        self.child.try_wait().expect("a child of ours can be waited for").map(shell_code)
    }

    /// [`Running::wait`] with a limit of its own.
    #[track_caller]
    pub fn wait_within(mut self, limit: Duration) -> Ran {
        let ended = try_within(limit, || self.child.try_wait().expect("a child of ours can be waited for"));
        let took = self.started.elapsed();
        let Some(status) = ended else {
            let command = self.args.join(" ");
            panic!("`onward {command}` did not end within {} s\n{}", limit.as_secs_f32(), tail(&self.err()))
        };
        Ran { code: shell_code(status), out: self.out(), err: self.err(), took, args: self.args }
    }
}

impl Running {
    /// Waits for its end; none where it had to be killed because it takes longer.
    pub fn end_within(mut self, limit: Duration) -> Option<Ran> {
        let ended = try_within(limit, || self.child.try_wait().expect("a child of ours can be waited for"));
        if ended.is_none() {
            process::send_group(self.pid(), Signal::SIGKILL);
            let _ = self.child.wait();
        }
        let (took, code) = (self.started.elapsed(), shell_code(ended?));
        Some(Ran { code, out: self.out(), err: self.err(), took, args: self.args })
    }
}

fn read(path: &PathBuf) -> String {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    String::from_utf8_lossy(&bytes).into_owned()
}
