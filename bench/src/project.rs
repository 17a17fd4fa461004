//! A folder with a plan, and the real program in it.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::Result;
use crate::options::Options;
use crate::plans::MadeGraph;

/// No single command is waited for any longer: the whole must come to an end.
pub(crate) const COMMAND_SECONDS_MAX: u64 = 120;
/// How long the first ring may take; before it, half of a large run may have to be done.
const RING_MS_MAX: i32 = 120_000;
/// How long the phases that outlive their driver get to end.
const SETTLE: Duration = Duration::from_millis(100);
/// How often the memory of a driver is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(10);

pub(crate) struct BenchProject {
    folder: PathBuf,
    binary: PathBuf,
}

impl BenchProject {
    /// An empty one.
    pub(crate) fn new(options: &Options) -> Result<Self> {
        let folder = options.scratch()?;
        fs::create_dir(folder.join(".onward"))?;
        Ok(Self { folder, binary: options.binary.clone() })
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// One with a plan.
    pub(crate) fn with_plan(options: &Options, graph: &MadeGraph) -> Result<Self> {
        let project = Self::new(options)?;
        project.write("onward.yaml", &graph.plan())?;
        Ok(project)
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> Result<()> {
        Ok(fs::write(self.folder().join(name), text)?)
    }

    pub(crate) fn onward(&self, arguments: &[&str]) -> Command {
        self.program(&self.binary, arguments)
    }

    /// A program in the project, in a process group of its own and with an environment that holds nothing of the user's.
    pub(crate) fn program(&self, program: impl AsRef<std::ffi::OsStr>, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.folder()).process_group(0);
        command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", self.folder()).env("USER", "bench");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// The newest run.
    pub(crate) fn run_id(&self) -> Result<String> {
        let shown = self.onward(&["list", "--json"]).stdout(Stdio::piped()).output()?;
        let list: serde_json::Value = serde_json::from_slice(&shown.stdout)?;
        Ok(list["runs"][0]["run"].as_str().ok_or("no run is listed")?.to_owned())
    }

    /// How many phases of the newest run are done.
    pub(crate) fn phases_done(&self) -> Result<u64> {
        let shown = self.onward(&["list", "--json"]).stdout(Stdio::piped()).output()?;
        let list: serde_json::Value = serde_json::from_slice(&shown.stdout)?;
        Ok(list["runs"][0]["phases_completed"].as_u64().ok_or("no run is listed")?)
    }
}

/// Runs a command to its end, which must be a good one, within the limit.
pub(crate) fn finish(mut command: Command) -> Result<()> {
    let child = command.spawn().map_err(|why| format!("{command:?}: {why}"))?;
    wait(child).map_err(|why| format!("{command:?}: {why}").into())
}

/// Waits for the end of a process, which must be a good one, within the limit.
pub(crate) fn wait(child: Child) -> Result<()> {
    wait_for_code(child, 0)
}

/// Waits for the end of a process, which must have this code, within the limit.
pub(crate) fn wait_for_code(mut child: Child, code: i32) -> Result<()> {
    let group = group_of(&child)?;
    let (ended, watched) = channel::<()>();
    let status = std::thread::scope(|scope| {
        scope.spawn(move || {
            let limit = Duration::from_secs(COMMAND_SECONDS_MAX);
            if watched.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                let _ = killpg(group, Signal::SIGKILL);
            }
        });
        let status = child.wait();
        drop(ended);
        status
    })?;
    if status.code() == Some(code) { Ok(()) } else { Err(format!("it ended with {status}").into()) }
}

/// Runs a command to its end; the most memory it was seen to hold, in MB.
pub(crate) fn peak_memory(mut command: Command) -> Result<f64> {
    let mut child = command.spawn()?;
    let about = format!("/proc/{}/status", child.id());
    let (mut most, start) = (0.0_f64, Instant::now());
    loop {
        if let Some(status) = child.try_wait()? {
            return if status.success() { Ok(most) } else { Err(format!("{command:?} ended with {status}").into()) };
        }
        most = most.max(fs::read_to_string(&about).map_or(0.0, |text| high_water_mb(&text)));
        if start.elapsed() > Duration::from_secs(COMMAND_SECONDS_MAX) {
            killpg(group_of(&child)?, Signal::SIGKILL)?;
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

fn high_water_mb(status: &str) -> f64 {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<f64>().ok());
    kilobytes.unwrap_or(0.0) / 1024.0
}

fn group_of(child: &Child) -> Result<Pid> {
    Ok(Pid::from_raw(i32::try_from(child.id())?))
}

/// How a driver is made to leave its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leave {
    /// `kill -9` of the driver alone.
    Killed,
    /// Asked to, and waited for.
    Stopped,
}

/// A pipe with a name, into which phases write a byte when they start.
pub(crate) struct Bell {
    pipe: File,
    path: PathBuf,
}

impl Bell {
    pub(crate) fn new(folder: &Path) -> Result<Self> {
        let path = folder.join("bell");
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRUSR | nix::sys::stat::Mode::S_IWUSR)?;
        // Open for both, so that nobody who writes has to wait for a reader and reading never meets an end.
        let nonblocking = nix::fcntl::OFlag::O_NONBLOCK.bits();
        let pipe = File::options().read(true).write(true).custom_flags(nonblocking).open(&path)?;
        Ok(Self { pipe, path })
    }

    /// The script with which a phase rings it.
    pub(crate) fn ring(&self) -> String {
        format!("echo >{}", self.path.display())
    }

    /// Starts a command and gives the milliseconds until the first ring; then the command is made to leave.
    pub(crate) fn first_ring(&mut self, mut command: Command, leave: Leave) -> Result<f64> {
        self.silence()?;
        let start = Instant::now();
        let mut child = command.spawn().map_err(|why| format!("{command:?}: {why}"))?;
        let rang = self.wait();
        let milliseconds = start.elapsed().as_secs_f64() * 1_000.0;
        match leave {
            Leave::Killed => child.kill()?,
            Leave::Stopped => nix::sys::signal::kill(group_of(&child)?, Signal::SIGTERM)?,
        }
        child.wait()?;
        std::thread::sleep(SETTLE);
        rang.map_err(|why| format!("{command:?}: {why}"))?;
        Ok(milliseconds)
    }

    fn wait(&self) -> Result<()> {
        use std::os::fd::AsFd;
        let mut watched = [PollFd::new(self.pipe.as_fd(), PollFlags::POLLIN)];
        let rang = poll(&mut watched, PollTimeout::try_from(RING_MS_MAX)?)?;
        if rang == 0 { Err("no phase started".into()) } else { Ok(()) }
    }

    fn silence(&mut self) -> Result<()> {
        let mut bytes = [0; 4096];
        loop {
            match self.pipe.read(&mut bytes) {
                Ok(_) => {}
                Err(why) if why.kind() == std::io::ErrorKind::WouldBlock => return Ok(()),
                Err(why) => return Err(why.into()),
            }
        }
    }
}
