//! A short command of the plan's author: with a time limit, and with no more output than anybody needs.

use std::ffi::OsString;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

/// A probe that takes longer has no answer.
const TIME_MAX: Duration = Duration::from_secs(30);
/// What a probe prints beyond this is not read: it makes no difference any more.
const OUTPUT_BYTES_MAX: u64 = 1024 * 1024;
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Ran {
    /// None where it was ended by a signal, took too long or could not be started.
    pub(crate) code: Option<i32>,
    /// Why there is no code.
    pub(crate) why: String,
    pub(crate) output: Vec<u8>,
}

impl Ran {
    fn without(why: impl Into<String>) -> Self {
        Self { code: None, why: why.into(), output: Vec::new() }
    }
}

pub(crate) fn default_shell() -> Vec<String> {
    vec!["sh".to_owned(), "-e".to_owned()]
}

/// Runs a script in a folder and waits for it. What it prints on stdout comes back; stderr is nobody's.
pub(crate) fn run(folder: &Path, shell: &[String], script: &str, env: Vec<(OsString, OsString)>) -> Ran {
    run_within(&Bounds::default(), folder, shell, script, env)
}

/// How long a command may take and how much it may print; and it ends when nobody wants its answer any more.
pub(crate) struct Bounds {
    pub(crate) time: Duration,
    pub(crate) bytes: u64,
    pub(crate) unwanted: Arc<AtomicBool>,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { time: TIME_MAX, bytes: OUTPUT_BYTES_MAX, unwanted: Arc::default() }
    }
}

/// The same within bounds of one's own.
pub(crate) fn run_within(
    bounds: &Bounds,
    folder: &Path,
    shell: &[String],
    script: &str,
    env: Vec<(OsString, OsString)>,
) -> Ran {
    let Some((program, words)) = shell.split_first() else { return Ran::without("there is no shell") };
    let mut command = Command::new(program);
    command.args(words).args(["-c", script]).current_dir(folder).env_clear().envs(env);
    output_within(bounds, command)
}

/// The same for a program with its words.
pub(crate) fn program_output(command: Command) -> Ran {
    output_within(&Bounds::default(), command)
}

fn output_within(bounds: &Bounds, mut command: Command) -> Ran {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(why) => return Ran::without(format!("it could not be started: {why}")),
    };
    let (sender, receiver) = mpsc::channel();
    let bytes_max = bounds.bytes;
    if let Some(out) = child.stdout.take() {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let mut out = out.take(bytes_max);
            let _ = out.read_to_end(&mut bytes);
            let _ = sender.send(bytes);
            // Read on, so that whoever prints without end is not held up by a full pipe.
            let _ = std::io::copy(&mut out.into_inner(), &mut std::io::sink());
        });
    }
    let (code, why) = wait(&mut child, bounds);
    // A background child may hold the pipe; what was printed up to here is what counts.
    let output = receiver.recv_timeout(Duration::from_millis(500)).unwrap_or_default();
    Ran { code, why, output }
}

fn wait(child: &mut Child, bounds: &Bounds) -> (Option<i32>, String) {
    let deadline = Instant::now() + bounds.time;
    let wanted = || Instant::now() < deadline && !bounds.unwanted.load(Ordering::Relaxed);
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return (status.code(), "it was ended by a signal".to_owned()),
            Ok(None) if wanted() => std::thread::sleep(LOOK_EVERY),
            Ok(None) => {
                if let Ok(id) = i32::try_from(child.id()) {
                    let _ = killpg(Pid::from_raw(id), Signal::SIGKILL);
                }
                let _ = child.wait();
                return (None, format!("it took longer than {} s", bounds.time.as_secs()));
            }
            Err(why) => return (None, why.to_string()),
        }
    }
}
