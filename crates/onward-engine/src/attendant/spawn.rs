//! The driver's side of the start of an attempt.
//!
//! The lock is taken before the process exists and handed to it as a descriptor. So there is no moment at which an attendant lives
//! without its lock, and if the driver dies first the lock is free and nothing ran.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};

use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, pthread_sigmask};
use onward_store::lock::{Hold, try_lock};

use super::folder::{AttemptFolder, check_plain};
use super::record::{RecordError, Spec};
use crate::kill_point::reached;
use crate::sys::process::{self, Pid};

/// The first argument by which the binary knows that it is to be an attendant.
pub const ARGUMENT: &str = "__attend";

/// An attendant that this process started.
#[derive(Debug)]
pub struct Attending {
    pub pid: Pid,
    /// None where the kernel would not give one, as under a strict seccomp filter or with too many files open.
    pub pidfd: Option<OwnedFd>,
    pub child: Option<Child>,
    /// The orders as they were handed over. The attendant empties them right before it executes the phase, which cannot reach them.
    pub(crate) orders: Option<Orders>,
}

/// The driver's own copy of the orders of an attempt.
#[derive(Debug)]
pub(crate) struct Orders(File);

impl Orders {
    /// Whether the phase was executed, or was just about to be. That nobody can tell says nothing.
    pub(crate) fn are_carried_out(&self) -> bool {
        self.0.metadata().map_or(true, |about| about.len() == 0)
    }
}

impl Attending {
    /// Readable when the attendant has ended; its record is in place by then, if it could write one. Where there is none it has to
    /// be asked again and again.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.pidfd.as_ref().map(AsFd::as_fd)
    }

    /// Whether the attendant has ended.
    pub fn has_ended(&mut self) -> bool {
        match (&self.pidfd, &mut self.child) {
            (Some(pidfd), _) => process::pidfd_ended(pidfd.as_fd()),
            (None, Some(child)) => child.try_wait().is_ok_and(|status| status.is_some()),
            (None, None) => true,
        }
    }

    /// Waits for the attendant and takes it off the process table. Its status says nothing about the phase: the record does.
    pub fn reap(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.take().map(|mut child| child.wait()).transpose()
    }
}

#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// The attempt's lock is held: its process lives, so a second one must not be started.
    #[error("a process of this attempt is still alive")]
    Held,
    /// An attempt is started at most once; whoever wants it again takes the next number.
    #[error("this attempt was started before")]
    StartedBefore,
    #[error("the lock of the attempt cannot be taken: {0}")]
    Lock(#[source] io::Error),
    #[error("the attendant cannot be told what to do: {0}")]
    Handover(#[source] io::Error),
    #[error("the attendant cannot be started: {0}")]
    Process(#[source] io::Error),
}

/// Starts the attendant of an attempt: `exe` is this program, `env` the whole environment of the phase.
///
/// A failure after there is a process is none of the start: the attempt is watched as well as can be. What an error says about
/// the attempt is found out by [`super::find`] and never by the error alone.
pub fn spawn(
    exe: &Path,
    folder: &AttemptFolder,
    spec: &Spec,
    env: &[(OsString, OsString)],
) -> Result<Attending, SpawnError> {
    let lock = take_lock(folder)?;
    match folder.started() {
        Ok(None) => {}
        Ok(Some(_)) | Err(RecordError::Damaged { .. } | RecordError::Newer { .. }) => {
            return Err(SpawnError::StartedBefore);
        }
        Err(RecordError::Unreadable { source, .. }) => return Err(SpawnError::Handover(source)),
    }
    let orders = orders(spec).map_err(SpawnError::Handover)?;
    let kept = Orders(orders.try_clone().map_err(SpawnError::Handover)?);
    let mut command = Command::new(exe);
    command.args([ARGUMENT, &spec.run, &spec.phase, &spec.attempt.to_string()]);
    command.env_clear().envs(env.iter().map(|(name, value)| (name, value)));
    let place = folder.open().map_err(SpawnError::Handover)?;
    command.stdin(lock).stdout(orders).stderr(place);
    reached("spawn.before");
    let started = spawn_undisturbed(&mut command);
    // With the command goes our copy of the lock, so there is room for the pidfd below.
    drop(command);
    let child = started.map_err(SpawnError::Process)?;
    reached("spawn.after");
    let pid = Pid::from_raw(i32::try_from(child.id()).expect("the kernel's pids are small numbers"));
    Ok(Attending { pid, pidfd: process::pidfd_open(pid).ok(), child: Some(child), orders: Some(kept) })
}

/// The value of `ONWARD_TREE` for a new attempt: a driver that itself runs inside an attempt adds to what it inherited, so that the
/// outer attempt still finds everything.
pub fn tree_value(inherited: Option<&str>, tag: &str) -> String {
    match inherited {
        Some(outer) if !outer.is_empty() => format!("{outer},{tag}"),
        Some(_) | None => tag.to_owned(),
    }
}

fn take_lock(folder: &AttemptFolder) -> Result<File, SpawnError> {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    let file = options.open(folder.lock_path()).map_err(SpawnError::Lock)?;
    check_plain(&file).map_err(SpawnError::Lock)?;
    // It belongs to the open file, and so to everyone who inherits it.
    if try_lock(&file, Hold::Alone).map_err(SpawnError::Lock)? { Ok(file) } else { Err(SpawnError::Held) }
}

/// The orders as an unnamed file in memory: a pipe would block on a long script before there is anyone to read it.
fn orders(spec: &Spec) -> io::Result<File> {
    let mut file = File::from(memfd_create(c"onward-orders", MFdFlags::MFD_CLOEXEC)?);
    file.write_all(&serde_json::to_vec(spec)?)?;
    file.rewind()?;
    Ok(file)
}

/// Starts the process with the signals blocked that it will handle. The block is inherited and lifted by the attendant when it is
/// ready, so a signal that arrives before waits instead of ending it.
fn spawn_undisturbed(command: &mut Command) -> io::Result<Child> {
    let signals = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT, Signal::SIGUSR1, Signal::SIGUSR2];
    let blocked: SigSet = signals.into_iter().collect();
    let mut before = SigSet::empty();
    pthread_sigmask(SigmaskHow::SIG_BLOCK, Some(&blocked), Some(&mut before))?;
    let started = command.spawn();
    // It fails only for a mask that cannot be read, and then there is a process all the same.
    let _ = pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&before), None);
    started
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A driver inside an attempt of another driver adds its tag at the end of the list.
    #[test]
    fn tags_are_added_to_what_was_inherited() {
        assert_eq!(tree_value(None, "b"), "b");
        assert_eq!(tree_value(Some(""), "b"), "b");
        assert_eq!(tree_value(Some("a"), "b"), "a,b");
    }
}
