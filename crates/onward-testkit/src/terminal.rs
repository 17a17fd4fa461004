//! A command in front of a person: on a real terminal, read and answered as a person would.

use std::fmt;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::pty::{Winsize, openpty};
use nix::sys::signal::Signal;
use nix::unistd::{read, write};

use crate::process;
use crate::ran::{Ran, shell_code, tail};
use crate::wait::LIMIT;

const SIZE: Winsize = Winsize { ws_row: 40, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0 };

/// How long one look at the terminal waits for something new, in milliseconds.
const LOOK_MS: u16 = 20;

/// A command with stdin, stdout and stderr on a terminal of 120 columns and 40 lines that it controls.
pub struct Terminal {
    args: Vec<String>,
    child: Child,
    /// The person's side; none after the terminal was closed.
    screen: Option<OwnedFd>,
    shown: Vec<u8>,
    /// Up to here the text has been expected already.
    seen: usize,
    started: Instant,
}

impl Terminal {
    /// Starts a prepared command on a terminal of its own.
    ///
    /// `setsid --ctty` gives it a session and the terminal to control; it then becomes the command, under the same id.
    #[track_caller]
    pub fn spawn(command: &Command) -> Self {
        let pty = openpty(&SIZE, None).expect("a terminal can be opened");
        close_on_exec(&pty.master);
        close_on_exec(&pty.slave);
        let side = || Stdio::from(pty.slave.try_clone().expect("a descriptor can be doubled"));
        let mut wrapped = Command::new("setsid");
        wrapped.arg("--ctty").arg(command.get_program()).args(command.get_args()).env_clear();
        wrapped.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        wrapped.current_dir(command.get_current_dir().expect("a prepared command has a folder"));
        wrapped.stdin(side()).stdout(side()).stderr(side());
        let child = wrapped.spawn().expect("setsid starts");
        let args = command.get_args().map(|arg| arg.to_string_lossy().into_owned()).collect();
        Self { args, child, screen: Some(pty.master), shown: Vec::new(), seen: 0, started: Instant::now() }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// All that was shown so far, without colours, cursor moves and carriage returns.
    pub fn text(&self) -> String {
        plain(&String::from_utf8_lossy(&self.shown))
    }

    /// All bytes that the terminal got so far: what a person sees is what a terminal makes of them.
    pub fn shown(&self) -> &[u8] {
        &self.shown
    }

    /// Takes what comes until this holds for what was shown so far.
    #[track_caller]
    pub fn wait_until(&mut self, what: &str, holds: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + LIMIT;
        while !holds(self) {
            let ended = self.ended();
            assert!(self.read_more() || ended.is_none(), "the program ended ({ended:?}) before {what}\n{self}");
            assert!(Instant::now() < deadline, "not in time: {what}\n{self}");
        }
    }

    /// A terminal of another size from now on; the program is told as by a window that is resized.
    #[track_caller]
    pub fn resize(&self, lines: u16, columns: u16) {
        let screen = self.screen.as_ref().expect("the terminal is open");
        let size = rustix::termios::Winsize { ws_row: lines, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        rustix::termios::tcsetwinsize(screen, size).expect("a terminal can be resized");
    }

    /// Waits until this text is shown, after what was expected before.
    #[track_caller]
    pub fn expect(&mut self, text: &str) {
        let deadline = Instant::now() + LIMIT;
        loop {
            let shown = self.text();
            if let Some(at) = shown.get(self.seen..).and_then(|rest| rest.find(text)) {
                self.seen += at + text.len();
                return;
            }
            let ended = self.ended();
            if !self.read_more() {
                assert!(ended.is_none(), "the program ended ({ended:?}) and did not show {text:?}\n{self}");
                assert!(Instant::now() < deadline, "{text:?} was not shown in time\n{self}");
            }
        }
    }

    /// Types this text; `\n` is the Enter key, `\u{3}` is Ctrl+C.
    #[track_caller]
    pub fn send(&mut self, text: &str) {
        let screen = self.screen.as_ref().expect("the terminal is open");
        let written = write(screen, text.as_bytes()).expect("the terminal takes what is typed");
        assert_eq!(written, text.len(), "the terminal took a part of what was typed");
    }

    /// A signal to the program alone.
    #[track_caller]
    pub fn signal(&self, signal: Signal) {
        process::send(self.pid(), signal);
    }

    /// Closes the terminal as a closed window does: the program gets SIGHUP, and there is nothing left to write to.
    pub fn hang_up(&mut self) {
        self.screen = None;
    }

    /// Waits for the end of the program; `out` of the result is what was shown.
    #[track_caller]
    pub fn wait(self) -> Ran {
        self.wait_within(LIMIT)
    }

    /// Waits for the end of the program and demands the exit code.
    #[track_caller]
    pub fn wait_code(self, code: i32) -> Ran {
        self.wait().expect(code)
    }

    /// [`Terminal::wait`] with a limit of its own.
    #[track_caller]
    pub fn wait_within(mut self, limit: Duration) -> Ran {
        let deadline = Instant::now() + limit;
        let status = loop {
            if let Some(status) = self.ended() {
                break status;
            }
            self.read_more();
            assert!(Instant::now() < deadline, "the program did not end within {} s\n{self}", limit.as_secs_f32());
        };
        let took = self.started.elapsed();
        while self.read_more() {}
        Ran { code: shell_code(status), out: self.text(), err: String::new(), took, args: self.args }
    }

    fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("a child of ours can be waited for")
    }

    /// Waits a moment for something new on the terminal and takes it; false if there was nothing.
    fn read_more(&mut self) -> bool {
        let Some(screen) = &self.screen else {
            std::thread::sleep(Duration::from_millis(LOOK_MS.into()));
            return false;
        };
        let mut waiting = [PollFd::new(screen.as_fd(), PollFlags::POLLIN)];
        let ready = poll(&mut waiting, PollTimeout::from(LOOK_MS)).expect("a terminal can be polled");
        let mut buffer = [0; 4096];
        match if ready == 0 { Ok(0) } else { read(screen, &mut buffer) } {
            Ok(count) => {
                self.shown.extend_from_slice(&buffer[..count]);
                count > 0
            }
            // The other side is closed: what was shown before has been read.
            Err(Errno::EIO) => false,
            Err(error) => panic!("reading the terminal: {error}"),
        }
    }
}

impl fmt::Display for Terminal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`onward {}` on a terminal\n--- shown\n{}", self.args.join(" "), tail(&self.text()))
    }
}

/// Keeps a descriptor from the programs that are started: whoever holds the person's side keeps the terminal open.
fn close_on_exec(descriptor: &OwnedFd) {
    fcntl(descriptor, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC)).expect("an open descriptor can be marked");
}

/// The text without escape sequences and carriage returns. A sequence that is not complete yet is left out.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(letter) = rest.next() {
        match letter {
            '\r' => {}
            '\u{1b}' => skip_escape(&mut rest),
            other => plain.push(other),
        }
    }
    plain
}

/// Takes one escape sequence, whose first byte is gone already.
fn skip_escape(rest: &mut std::str::Chars<'_>) {
    match rest.next() {
        // Colours and cursor moves end with a letter or one of the signs beside the letters.
        Some('[') => {
            rest.find(|letter| ('@'..='~').contains(letter));
        }
        // Titles and links end with BEL or with ESC and a backslash.
        Some(']') => {
            let end = rest.find(|letter| matches!(letter, '\u{7}' | '\u{1b}'));
            if end == Some('\u{1b}') {
                rest.next();
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_moves_titles_and_returns_are_left_out() {
        assert_eq!(plain("\u{1b}[1;32mgreen\u{1b}[0m\r\n"), "green\n");
        assert_eq!(plain("\u{1b}]0;title\u{7}a\u{1b}]8;;link\u{1b}\\b"), "ab");
        assert_eq!(plain("up\u{1b}[2Aü"), "upü");
        assert_eq!(plain("cut\u{1b}[3"), "cut");
    }
}
