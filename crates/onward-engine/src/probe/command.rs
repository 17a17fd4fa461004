//! A short command of the plan's author: with a time limit, and with no more output than anybody needs.

use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use onward_core::mutant::{self, Defect};

use crate::attendant::tree_value;
use crate::redact;
use crate::sys::process::{self, TREE_VARIABLE};
use crate::sys::stop;
use crate::sys::threads;

/// A probe that takes longer has no answer.
pub(crate) const TIME_MAX: Duration = Duration::from_secs(30);
/// Output of a probe beyond this is not read: it makes no difference any more.
pub(crate) const OUTPUT_BYTES_MAX: u64 = 1024 * 1024;
const LOOK_EVERY: Duration = Duration::from_millis(2);
/// How long what is still in the pipe is waited for when the command is over.
const PIPE_TIME_MAX: Duration = Duration::from_millis(500);
const CHUNK_BYTES: usize = 64 * 1024;
/// How long a command is tried again that cannot be started for want of memory, open files or processes. That says nothing
/// about what the command would have said.
const SHORTAGE_TIME_MAX: Duration = Duration::from_secs(10);
const SHORTAGE_PAUSE: Duration = Duration::from_millis(50);

/// How a command ended.
#[derive(Debug)]
pub(crate) struct CommandEnd {
    /// None where it was ended by a signal, took too long or could not be started.
    pub(crate) code: Option<i32>,
    /// Why there is no code.
    pub(crate) why: String,
    pub(crate) output: Vec<u8>,
}

impl CommandEnd {
    fn without(why: impl Into<String>) -> Self {
        Self { code: None, why: why.into(), output: Vec::new() }
    }
}

/// How long a command is waited for, and how much of what it prints is read.
#[derive(Clone, Copy)]
pub(crate) struct CommandBounds<'a> {
    pub(crate) time_max: Duration,
    pub(crate) bytes_max: u64,
    /// Set by somebody who does not want to know any more.
    pub(crate) given_up: &'a AtomicBool,
    /// The mark in its environment, by which all that it started is found and ended with it.
    pub(crate) tag: Option<&'a str>,
    pub(crate) flood: Flood,
}

/// The treatment of a command that prints more than is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flood {
    /// It comes to its end: how it ends is what counts.
    ReadOn,
    /// It is ended: what it prints is what counts, and that is of no use any more.
    End,
}

static NEVER: AtomicBool = AtomicBool::new(false);

impl CommandBounds<'_> {
    fn usual() -> Self {
        Self { time_max: TIME_MAX, bytes_max: OUTPUT_BYTES_MAX, given_up: &NEVER, tag: None, flood: Flood::ReadOn }
    }
}

pub(crate) fn default_shell() -> Vec<String> {
    vec!["sh".to_owned(), "-e".to_owned()]
}

/// Runs a script in a folder and waits for it. What it prints on stdout comes back; stderr is nobody's.
pub(crate) fn run(folder: &Path, shell: &[String], script: &str, env: Vec<(OsString, OsString)>) -> CommandEnd {
    words(folder, shell, script, env).map_or_else(|none| none, program_output)
}

/// The same with another patience.
pub(crate) fn run_within(
    folder: &Path,
    shell: &[String],
    script: &str,
    env: Vec<(OsString, OsString)>,
    patience: CommandBounds<'_>,
) -> CommandEnd {
    words(folder, shell, script, env).map_or_else(|none| none, |command| output_within(command, patience))
}

/// The same with what it prints on stderr, and with another patience.
pub(crate) fn run_and_hear(
    folder: &Path,
    shell: &[String],
    script: &str,
    env: Vec<(OsString, OsString)>,
    patience: CommandBounds<'_>,
) -> CommandEnd {
    words(folder, shell, script, env).map_or_else(|none| none, |command| heard_within(command, patience))
}

fn heard_within(mut command: Command, patience: CommandBounds<'_>) -> CommandEnd {
    let pipe = || std::io::pipe().and_then(|(reader, writer)| Ok((reader, writer.try_clone()?, writer)));
    match through_shortages(patience.given_up, pipe) {
        Ok((reader, out, err)) => {
            command.stdout(out).stderr(err);
            started(command, Some(Box::new(reader)), patience)
        }
        Err(why) => CommandEnd::without(format!("it could not be started: {why}")),
    }
}

fn words(folder: &Path, shell: &[String], script: &str, env: Vec<(OsString, OsString)>) -> Result<Command, CommandEnd> {
    let none = || CommandEnd::without("there is no shell, or a secret was cut out of the command");
    let (program, words) = shell.split_first().ok_or_else(none)?;
    // Nothing runs that is not what the plan says.
    let script = redact::whole_text(script).map_err(|_| none())?;
    let mut command = Command::new(program);
    command.args(words).args(["-c", &script]).current_dir(folder).env_clear().envs(env);
    Ok(command)
}

/// The same for a program with its words.
pub(crate) fn program_output(command: Command) -> CommandEnd {
    program_output_within(command, TIME_MAX)
}

/// The same, and it is waited for so long.
pub(crate) fn program_output_within(command: Command, time_max: Duration) -> CommandEnd {
    output_within(command, CommandBounds { time_max, ..CommandBounds::usual() })
}

fn output_within(mut command: Command, patience: CommandBounds<'_>) -> CommandEnd {
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    started(command, None, patience)
}

/// The same, with what it prints on stderr apart.
pub(crate) fn program_heard_within(mut command: Command, time_max: Duration) -> (CommandEnd, Vec<u8>) {
    command.stdout(Stdio::piped());
    let bounds = CommandBounds { time_max, ..CommandBounds::usual() };
    let Ok((errors, writer)) = through_shortages(bounds.given_up, std::io::pipe) else {
        command.stderr(Stdio::null());
        return (started(command, None, bounds), Vec::new());
    };
    command.stderr(writer);
    let (sender, receiver) = mpsc::channel();
    threads::spawn(move || {
        let (mut errors, mut said) = (errors.take(OUTPUT_BYTES_MAX), Vec::new());
        let _ = errors.read_to_end(&mut said);
        let _ = sender.send(said);
        let _ = std::io::copy(&mut errors.into_inner(), &mut std::io::sink());
    });
    let ran = started(command, None, bounds);
    // A background child may hold the pipe.
    let said = receiver.recv_timeout(PIPE_TIME_MAX).unwrap_or_default();
    (ran, said)
}

fn started(mut command: Command, heard: Option<Box<dyn Read + Send>>, patience: CommandBounds<'_>) -> CommandEnd {
    command.stdin(Stdio::null()).process_group(0);
    if stop::asked().is_some() {
        return CommandEnd::without("it was not started, since a stop was asked for");
    }
    let own = patience.tag.is_none().then(|| marked(&mut command));
    let patience = CommandBounds { tag: patience.tag.or(own.as_deref()), ..patience };
    let mut child = match through_shortages(patience.given_up, || command.spawn()) {
        Ok(child) => child,
        Err(why) => return CommandEnd::without(format!("it could not be started: {why}")),
    };
    // It holds the other ends of the pipe, which is at its end only when nobody does.
    drop(command);
    let (sender, receiver) = mpsc::channel();
    let full = Arc::new(AtomicBool::new(false));
    let out = heard.or_else(|| child.stdout.take().map(|out| Box::new(out) as Box<dyn Read + Send>));
    if let Some(out) = out {
        let (bytes_max, full) = (patience.bytes_max, full.clone());
        threads::spawn(move || {
            let (mut out, mut buffer) = (out.take(bytes_max), vec![0; CHUNK_BYTES]);
            while let Ok(count @ 1..) = out.read(&mut buffer) {
                let _ = sender.send(buffer[..count].to_vec());
            }
            full.store(out.limit() == 0, Ordering::Relaxed);
            drop(sender);
            // Read on, so that whoever prints without end is not held up by a full pipe.
            let _ = std::io::copy(&mut out.into_inner(), &mut std::io::sink());
        });
    }
    let (code, why) = wait(&mut child, patience, &full, Child::try_wait);
    // A background child may hold the pipe; what was printed up to here is what counts.
    let (until, mut output) = (Instant::now() + PIPE_TIME_MAX, Vec::new());
    while let Ok(bytes) = receiver.recv_timeout(until.saturating_duration_since(Instant::now())) {
        output.extend(bytes);
    }
    CommandEnd { code, why, output }
}

/// Tries again what fails for want of something that may be there a moment later.
pub(super) fn through_shortages<T>(given_up: &AtomicBool, mut make: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let until = Instant::now() + SHORTAGE_TIME_MAX;
    let is_over = || given_up.load(Ordering::Relaxed) || stop::asked().is_some();
    loop {
        match make() {
            Err(why) if may_pass(&why) && Instant::now() < until && !is_over() => {
                std::thread::sleep(SHORTAGE_PAUSE);
            }
            answer => return answer,
        }
    }
}

/// A refusal of the system may be for the moment, too: it says nothing about what was to be started.
fn may_pass(why: &io::Error) -> bool {
    process::may_pass(why) && !mutant::has(Defect::NoPatienceWithShortages)
}

/// Waits for a command, at which `look` looks.
fn wait(
    child: &mut Child,
    patience: CommandBounds<'_>,
    full: &AtomicBool,
    mut look: impl FnMut(&mut Child) -> io::Result<Option<ExitStatus>>,
) -> (Option<i32>, String) {
    let deadline = Instant::now() + patience.time_max;
    loop {
        let stopped = stop::asked().is_some();
        let given_up = stopped || patience.given_up.load(Ordering::Relaxed);
        let flood = patience.flood == Flood::End && full.load(Ordering::Relaxed);
        match look(child) {
            Ok(Some(status)) => return (status.code(), "it was ended by a signal".to_owned()),
            Ok(None) if Instant::now() < deadline && !given_up && !flood => std::thread::sleep(LOOK_EVERY),
            Ok(None) => {
                end(child, patience.tag);
                let _ = child.wait();
                if stopped {
                    return (None, "it was given up, since a stop was asked for".to_owned());
                }
                if flood {
                    return (None, format!("it prints without end, more than {} bytes", patience.bytes_max - 1));
                }
                return (None, format!("it took longer than {} s", patience.time_max.as_secs()));
            }
            // It says nothing about the command, which goes on.
            Err(why) if why.kind() == io::ErrorKind::Interrupted => std::thread::sleep(LOOK_EVERY),
            Err(why) => return (None, why.to_string()),
        }
    }
}

/// Gives a command a mark of its own, by which its children are found in whatever session they are.
fn marked(command: &mut Command) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let now = jiff::Timestamp::now().as_nanosecond();
    let name = format!("{} {} {now}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let tag = blake3::hash(name.as_bytes()).to_hex()[..24].to_owned();
    let given = command.get_envs().find(|(name, _)| *name == TREE_VARIABLE).and_then(|(_, value)| value);
    let inherited =
        given.map(|value| value.to_string_lossy().into_owned()).or_else(|| std::env::var(TREE_VARIABLE).ok());
    command.env(TREE_VARIABLE, tree_value(inherited.as_deref(), &tag));
    tag
}

/// The command with its process group, and with all that carries its mark.
fn end(child: &Child, tag: Option<&str>) {
    let Ok(group) = i32::try_from(child.id()).map(Pid::from_raw) else { return };
    match tag {
        Some(tag) => drop(process::kill_tree(Some(group), tag)),
        None => drop(killpg(group, Signal::SIGKILL)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fails_with(error: i32, given_up: &AtomicBool) -> (u32, bool) {
        let mut tries = 0;
        let made = through_shortages(given_up, || {
            tries += 1;
            if tries < 3 { Err(io::Error::from_raw_os_error(error)) } else { Ok(()) }
        });
        (tries, made.is_ok())
    }

    /// The machine has no process or descriptor to spare for a moment. The check is started a moment later: that it could not
    /// be started is nothing that it said about the phase.
    #[test]
    fn a_shortage_is_waited_through() {
        let (wanted, given_up) = (&AtomicBool::new(false), &AtomicBool::new(true));
        assert_eq!(fails_with(libc::EMFILE, wanted), (3, true));
        assert_eq!(fails_with(libc::EAGAIN, wanted), (3, true));
        assert_eq!(fails_with(libc::EPERM, wanted), (3, true));
        assert_eq!(fails_with(libc::EMFILE, given_up), (1, false), "not by somebody who is to stop");
        assert_eq!(fails_with(libc::ENOENT, wanted), (1, false), "what is not there is not there a moment later");
    }

    /// A look at a command is interrupted, again and again. What the command says in the end counts, and nothing else.
    #[test]
    fn an_interrupted_look_says_nothing_of_the_command() {
        for code in [0, 3] {
            let script = format!("sleep 0.05; exit {code}");
            let mut child = Command::new("sh").args(["-c", &script]).spawn().expect("a shell");
            let mut looks = 0;
            let (said, why) = wait(&mut child, CommandBounds::usual(), &NEVER, |child| {
                looks += 1;
                let interrupted = looks % 2 == 1;
                if interrupted { Err(io::Error::from_raw_os_error(libc::EINTR)) } else { child.try_wait() }
            });
            assert_eq!(said, Some(code), "{why}");
        }
    }
}
