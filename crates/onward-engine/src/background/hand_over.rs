//! The driver that lets go of its terminal.
//!
//! The command that was typed starts itself once more, on the same terminal, and waits. The second process does everything as
//! usual, questions included. Once its run is on record it leaves the session, takes a log file for its output, and tells the
//! first one through a pipe, which then ends. Until that moment the exit code is the second one's.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use nix::fcntl::{FcntlArg, FdFlag, OFlag, fcntl};
use nix::sys::signal::{Signal, kill};
use onward_core::id::RunId;
use onward_store::private;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::project::Project;
use crate::sys::own_files::{THIS_PROGRAM, path_of_descriptor};
use crate::sys::process::Pid;
use crate::sys::{patient_io, stop};

/// The flag that tells the second process where to tell of its start; hidden from the help.
const FLAG: &str = "--detach-to";
/// More does not come through the pipe.
const TOLD_BYTES_MAX: u64 = 64 * 1024;

/// The end of the start of a driver in the background.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Detached {
    /// It drives this run and needs no terminal any more.
    Drives { run: RunId, pid: u32, log: PathBuf },
    /// It came to its end before that, and has said why.
    Ended { code: u8 },
}

/// The words that come through the pipe.
#[derive(Debug, Serialize, Deserialize)]
struct Told {
    run: RunId,
    log: PathBuf,
}

/// Starts this program once more with the same words, and waits until it drives a run alone or has ended.
pub fn detach(words: &[OsString]) -> Result<Detached> {
    let failed = || Error::io("starting a driver in the background");
    let (mut told, tells) = io::pipe().map_err(failed())?;
    fcntl(tells.as_fd(), FcntlArg::F_SETFD(FdFlag::empty())).map_err(|why| failed()(why.into()))?;
    let mut command = Command::new(THIS_PROGRAM);
    command.args(with_flag(words.get(1..).unwrap_or_default(), tells.as_raw_fd()));
    let mut child = command.spawn().map_err(failed())?;
    drop(tells);
    if !patient_io::is_readable(&told)
        && stop::signal() == Some(Signal::SIGTERM as i32)
        && let Ok(pid) = i32::try_from(child.id())
    {
        // Ctrl+C and the end of the terminal reach it by themselves; this reaches only whom it is sent to.
        let _ = kill(Pid::from_raw(pid), Signal::SIGTERM);
    }
    let mut text = Vec::new();
    (&mut told).take(TOLD_BYTES_MAX).read_to_end(&mut text).map_err(failed())?;
    match serde_json::from_slice::<Told>(&text) {
        Ok(Told { run, log }) => Ok(Detached::Drives { run, pid: child.id(), log }),
        // Its end is what closed the pipe.
        Err(_) => Ok(Detached::Ended { code: code_of(child.wait().map_err(failed())?) }),
    }
}

/// The same words, with the flag among the flags.
fn with_flag(words: &[OsString], fd: i32) -> Vec<OsString> {
    let place = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let mut all = words.to_vec();
    all.insert(place, OsString::from(format!("{FLAG}={fd}")));
    all
}

fn code_of(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    u8::try_from(code.unwrap_or_default()).unwrap_or(onward_core::exit::BUG)
}

/// The end of the pipe in the second process.
#[derive(Debug)]
pub struct HandOver {
    tells: File,
    log_folder: Option<PathBuf>,
}

impl HandOver {
    /// Takes the pipe that came with the flag. Nothing that this process starts inherits it.
    pub fn from_flag(fd: i32) -> Result<Self> {
        let failed = || Error::io(format!("{FLAG} {fd}, which onward passes to itself"));
        let path = path_of_descriptor(fd);
        // A file or a terminal of that number is somebody else's.
        let kind = std::fs::metadata(&path).map_err(failed())?;
        if fd <= 2 || !std::os::unix::fs::FileTypeExt::is_fifo(&kind.file_type()) {
            return Err(failed()(io::ErrorKind::InvalidInput.into()));
        }
        let tells = File::options().write(true).open(path).map_err(failed())?;
        nix::unistd::close(fd).map_err(|why| failed()(why.into()))?;
        Ok(Self { tells, log_folder: None })
    }

    /// Names the project in which the output is to be kept.
    #[must_use]
    pub fn in_project(mut self, project: &Project) -> Self {
        self.log_folder = Some(project.runtime());
        self
    }

    /// Lets go of the terminal: from here on this process is of a session of its own, and what it says goes to a file.
    pub fn now(mut self, run: &RunId) -> io::Result<()> {
        let (log, path) = self.log(run)?;
        let null = File::open("/dev/null")?;
        nix::unistd::setsid()?;
        nix::unistd::dup2_stdin(&null)?;
        nix::unistd::dup2_stdout(&log)?;
        nix::unistd::dup2_stderr(&log)?;
        let told = Told { run: run.clone(), log: path };
        self.tells.write_all(&serde_json::to_vec(&told)?)
    }

    /// The file for the words of a driver without a terminal, behind those of the drivers before it.
    fn log(&self, run: &RunId) -> io::Result<(File, PathBuf)> {
        let folder = self.log_folder.as_deref().ok_or_else(|| io::Error::other("no project is named"))?;
        let path = log_path(folder, run);
        let log = private::open_or_create(&path)?;
        fcntl(log.as_fd(), FcntlArg::F_SETFL(OFlag::O_APPEND))?;
        Ok((log, path))
    }
}

pub(crate) fn log_path(folder: &Path, run: &RunId) -> PathBuf {
    folder.join(format!("{run}.driver.log"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split(' ').map(OsString::from).collect()
    }

    /// A file whose name looks like a flag stands behind `--`, and stays there.
    #[test]
    fn the_flag_stands_before_the_names() {
        assert_eq!(with_flag(&words("run --detach"), 7), words("run --detach --detach-to=7"));
        assert_eq!(with_flag(&words("run --detach -- -x.yaml"), 7), words("run --detach --detach-to=7 -- -x.yaml"));
    }

    #[test]
    fn a_descriptor_that_is_no_pipe_is_refused() {
        let file = tempfile::tempfile().expect("a temporary file");
        assert!(HandOver::from_flag(file.as_raw_fd()).is_err());
        assert!(HandOver::from_flag(1).is_err());
    }
}
