//! The folder of the demonstration and the commands that are typed in it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};

use crate::error::{Error, Result};
use crate::sys::process::{self, Pid, TREE_VARIABLE};
use crate::sys::stop;

/// Longest time that one command of the demonstration may take.
const COMMAND_MAX: Duration = Duration::from_secs(40);

/// How often files are looked at while something is waited for.
const LOOK_EVERY: Duration = Duration::from_millis(40);

/// The processes that are killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Killed {
    /// The program that drives the run, alone; the phase at work lives on.
    Driver,
    /// All processes at once, as in a power cut.
    Everything,
}

/// A folder for the demonstration; it is removed at the end, with all that still runs in it.
pub struct DemoStage {
    folder: PathBuf,
    program: PathBuf,
    /// All that is started here carries it.
    tag: String,
}

/// A command of the demonstration at work.
pub struct DemoCommand {
    child: Child,
    lines: Receiver<String>,
    until: Instant,
}

impl DemoStage {
    /// Makes the folder, with this plan in it.
    pub fn set(plan_file: &str, plan: &str) -> Result<Self> {
        let program = std::env::current_exe().map_err(Error::io("looking for this program"))?;
        // The time since boot and the process together name nothing twice.
        let name = format!("onward-demo-{}-{}", std::process::id(), process::boottime().as_micros());
        let folder = std::env::temp_dir().join(&name);
        fs::create_dir(&folder).map_err(Error::io(format!("making {}", folder.display())))?;
        let stage = Self { folder, program, tag: name };
        onward_store::private::replace(&stage.folder.join(plan_file), plan.as_bytes())
            .map_err(Error::io("writing the plan of the demonstration"))?;
        // A project of its own, whatever the folder for temporary files belongs to.
        fs::create_dir(stage.folder.join(crate::FOLDER)).map_err(Error::io("making a project"))?;
        Ok(stage)
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Starts this program with these words, as somebody without a terminal would.
    pub fn start(&self, words: &[&str]) -> Result<DemoCommand> {
        let (reader, writer) = std::io::pipe().map_err(Error::io("making a pipe"))?;
        let errors = writer.try_clone().map_err(Error::io("making a pipe"))?;
        let mut command = Command::new(&self.program);
        command.args(words).current_dir(&self.folder).stdin(Stdio::null()).stdout(writer).stderr(errors);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("ONWARD_") {
                command.env_remove(&name);
            }
        }
        // The configuration of whoever watches has no part in it.
        command.env("XDG_CONFIG_HOME", self.folder.join("no-configuration")).env(TREE_VARIABLE, &self.tag);
        // Ctrl+C is for the demonstration, which then ends all of it.
        command.process_group(0);
        let child = command.spawn().map_err(Error::io("starting this program"))?;
        drop(command);
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(reader).lines().map_while(std::result::Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Ok(DemoCommand { child, lines, until: Instant::now() + COMMAND_MAX })
    }

    /// Kills with signal 9.
    pub fn kill(&self, command: &DemoCommand, what: Killed) -> Result<()> {
        match what {
            Killed::Driver => {
                let pid = i32::try_from(command.child.id()).expect("process ids are small");
                kill(Pid::from_raw(pid), Signal::SIGKILL).map_err(|why| Error::io("killing the driver")(why.into()))
            }
            Killed::Everything => {
                process::kill_tree(None, &self.tag).map(drop).map_err(Error::io("killing all processes"))
            }
        }
    }

    /// Removes the folder, after all that still runs in it.
    pub fn clear(self) {
        drop(self);
    }
}

impl Drop for DemoStage {
    fn drop(&mut self) {
        // Nothing depends on it any more, and what cannot be removed lies among temporary files.
        let _ = process::kill_tree(None, &self.tag);
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl DemoCommand {
    /// Passes lines on until the command has ended; gives its exit code, 128 and the signal where it was killed.
    pub fn wait(mut self, mut line: impl FnMut(&str)) -> Result<i32> {
        while let Some(text) = self.next_line()? {
            line(&text);
        }
        let status = self.child.wait().map_err(Error::io("waiting for a command"))?;
        Ok(status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(-1))
    }

    /// Passes lines on until something has come about.
    pub fn until(&mut self, come_about: impl Fn() -> bool, mut line: impl FnMut(&str)) -> Result<()> {
        while !come_about() {
            self.demand_time()?;
            match self.lines.recv_timeout(LOOK_EVERY) {
                Ok(text) => line(&text),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(too_soon("a command ended before it was killed")),
            }
        }
        Ok(())
    }

    /// Nothing once the output has ended.
    fn next_line(&self) -> Result<Option<String>> {
        loop {
            self.demand_time()?;
            match self.lines.recv_timeout(LOOK_EVERY) {
                Ok(text) => return Ok(Some(text)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
            }
        }
    }

    fn demand_time(&self) -> Result<()> {
        if let Some(signal) = stop::signal() {
            return Err(Error::Stopped { signal });
        }
        if Instant::now() > self.until { Err(too_soon("a command takes too long")) } else { Ok(()) }
    }
}

fn too_soon(what: &str) -> Error {
    Error::io("telling the demonstration")(std::io::Error::other(what.to_owned()))
}
