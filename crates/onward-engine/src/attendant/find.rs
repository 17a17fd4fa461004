//! The next driver's side: what became of an attempt that is on record as running, and how to end it.

use std::fs::OpenOptions;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use onward_core::event::{StopRequest, Urgency};
use onward_store::lock::is_locked;

use super::folder::AttemptFolder;
use super::record::{self, ExitRecord, RecordError, Started, Stop};
use super::survivors::was_given_to_somebody;
use crate::drive::running_attempt;
use crate::kill_point::reached;
use crate::sys::process::{self, AttemptMark, Member, Pid};

/// How long an attendant that holds its lock may take to say who it is. It needs a millisecond.
const STARTING_WAIT_MAX: Duration = Duration::from_millis(500);
const STARTING_WAIT_STEP: Duration = Duration::from_millis(2);

/// The state in which an attempt was found that is on record as running.
#[derive(Debug)]
pub enum AttemptFound {
    /// It ended, and its outcome is on record. A daemon that it left behind may still hold the lock; that changes nothing.
    Exited(ExitRecord),
    /// Its attendant lives and will write the outcome.
    Alive(Adopted),
    /// Its attendant is dead or cannot be watched, yet something that the phase started is still there: it holds the lock, or
    /// carries the tag of the attempt. Nothing may start beside it.
    Holding,
    /// It was never executed: nothing can have happened.
    NeverStarted,
    /// It was executed, or may have been, and nobody knows how it ended.
    Unknown,
}

/// An attendant that another driver started.
#[derive(Debug)]
pub struct Adopted {
    pub pid: Pid,
    pub pidfd: OwnedFd,
    pub started: Started,
}

impl Adopted {
    /// Readable when the attendant has ended.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }
}

/// Whether a request to stop met anyone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReached {
    /// The attendant was woken.
    Signalled,
    /// There is no attendant yet; it reads the request before it executes anything.
    NotYetStarted,
    /// The attendant is gone.
    Gone,
}

/// Finds out what became of an attempt. `boot_now` is the id of this boot, `attempt_boot` the one noted when the attempt was begun.
///
/// The order is what makes it right: the outcome counts whatever the lock says, and it is looked for once more after the lock was
/// found free and nobody was found at work, because it may have been written in between. A phase may close every descriptor that
/// it inherited, so a lock that is free does not say that nobody is at work.
pub fn find(folder: &AttemptFolder, boot_now: &str, attempt_boot: &str) -> Result<AttemptFound, RecordError> {
    let patience = Instant::now() + STARTING_WAIT_MAX;
    loop {
        if let Some(exit) = usable(folder.exit())? {
            return Ok(AttemptFound::Exited(exit));
        }
        if !lock_is_held(folder)? {
            return without_lock(folder, boot_now, attempt_boot);
        }
        match folder.started() {
            Ok(Some(started)) => {
                if let Some(adopted) = adopt(started, boot_now) {
                    return Ok(AttemptFound::Alive(adopted));
                }
                break;
            }
            // The lock is held from before the process exists, so its record may be a moment away.
            Ok(None) if Instant::now() < patience => thread::sleep(STARTING_WAIT_STEP),
            Ok(None) | Err(_) => break,
        }
    }
    // The attendant ended between the two looks if its outcome is there now.
    Ok(usable(folder.exit())?.map_or(AttemptFound::Holding, AttemptFound::Exited))
}

fn without_lock(folder: &AttemptFolder, boot_now: &str, attempt_boot: &str) -> Result<AttemptFound, RecordError> {
    let carried = somebody_is_there(folder, boot_now)?;
    if let Some(exit) = usable(folder.exit())? {
        return Ok(AttemptFound::Exited(exit));
    }
    if carried {
        return Ok(AttemptFound::Holding);
    }
    // Only what was looked at may be said never to have begun; that it could not be looked at says nothing.
    let begun = match folder.started() {
        Ok(None) => {
            let unreadable = |source| RecordError::Unreadable { name: "output", source };
            folder.is_noted_as_begun().map_err(unreadable)? || !folder.is_untouched().map_err(unreadable)?
        }
        Ok(Some(_)) | Err(RecordError::Damaged { .. } | RecordError::Newer { .. }) => true,
        Err(why @ RecordError::Unreadable { .. }) => return Err(why),
    };
    Ok(if begun || boot_now != attempt_boot { AttemptFound::Unknown } else { AttemptFound::NeverStarted })
}

/// Whether something of an attempt that is on record as running is at work now, by the same order as [`find`] but without waiting
/// for anything. Other processes are looked at only where the attempt was begun, has no outcome and nobody holds its lock.
pub fn is_at_work(folder: &AttemptFolder) -> Result<bool, RecordError> {
    let ended = || matches!(folder.exit(), Ok(Some(_)));
    if ended() {
        return Ok(false);
    }
    if lock_is_held(folder)? {
        return Ok(true);
    }
    let is_noted = || folder.is_noted_as_begun().unwrap_or(true);
    let begun = !matches!(folder.started(), Ok(None)) || !folder.path().exists() || is_noted();
    let boot_now = process::boot_id().unwrap_or_default();
    Ok(begun && somebody_is_there(folder, &boot_now)? && !ended())
}

fn somebody_is_there(folder: &AttemptFolder, boot_now: &str) -> Result<bool, RecordError> {
    // The tag is another one where the store was lost and brought back; the path that was given is the same.
    let members = folder.mark(boot_now).members();
    let there = members.and_then(|all| Ok(!all.is_empty() || was_given_to_somebody(folder)?));
    there.map_err(|source| RecordError::Unreadable { name: "/proc", source })
}

/// Whether anyone holds the attempt's lock: the attendant, or something that the phase started.
fn lock_is_held(folder: &AttemptFolder) -> Result<bool, RecordError> {
    let unreadable = |source| RecordError::Unreadable { name: "lock", source };
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    let file = match options.open(folder.lock_path()) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(unreadable(error)),
    };
    is_locked(&file).map_err(unreadable)
}

impl AttemptFolder {
    /// Whether somebody holds the lock of the attempt.
    pub(crate) fn is_locked(&self) -> Result<bool, RecordError> {
        lock_is_held(self)
    }
}

/// Asks the phase to end: politely, then firmly, then by force. The attendant sees to that; this returns at once.
pub fn ask_to_stop(folder: &AttemptFolder, by: StopRequest) -> io::Result<StopReached> {
    request(folder, Stop { by, urgency: Urgency::Ask }, (Signal::SIGUSR1, Signal::SIGURG))
}

/// Has the phase and everything it started killed now.
pub fn kill(folder: &AttemptFolder, by: StopRequest) -> io::Result<StopReached> {
    request(folder, Stop { by, urgency: Urgency::Kill }, (Signal::SIGUSR2, Signal::SIGUSR2))
}

/// Writes the request first and looks for the attendant afterwards; the attendant does it the other way round. So one of the two
/// always sees the other. Where there is no room for the record the attendant is told all the same, by a signal that says it alone;
/// one that is not there yet cannot be, and that is an error.
fn request(folder: &AttemptFolder, stop: Stop, (signal, alone): (Signal, Signal)) -> io::Result<StopReached> {
    reached("stop.before-record");
    let written = folder.demand_ours().and_then(|()| record::write(folder.path(), &stop));
    reached("stop.after-record");
    let signal = if written.is_ok() { signal } else { alone };
    let started = match folder.started() {
        Ok(Some(started)) => started,
        Ok(None) => return written.map(|_| StopReached::NotYetStarted),
        Err(_) => return Ok(StopReached::Gone),
    };
    if started.boot_id != process::boot_id()? {
        return Ok(StopReached::Gone);
    }
    let reached = tell(started.member(), signal)?;
    Ok(if reached { StopReached::Signalled } else { StopReached::Gone })
}

/// The same where nothing can be written down and the folder of the attempt may be gone: an attendant that is known by its number.
pub(crate) fn tell_to_stop(attendant: Member, urgency: Urgency) -> io::Result<bool> {
    tell(
        attendant,
        match urgency {
            Urgency::Ask => Signal::SIGURG,
            Urgency::Kill => Signal::SIGUSR2,
        },
    )
}

/// Sends a signal to an attendant, also to one that somebody stopped: it hears nothing until it goes on.
fn tell(attendant: Member, signal: Signal) -> io::Result<bool> {
    let reached = process::signal(attendant.pid, attendant.start_time, signal)?;
    let _ = process::signal(attendant.pid, attendant.start_time, Signal::SIGCONT);
    Ok(reached)
}

/// Ends all of an attempt by force, and its attendant with it, which goes last: as long as it is there, also stopped, whatever loses
/// its parent becomes its child and is found. Gives what is still there.
pub(crate) fn end_by_force(mark: &AttemptMark, attendant: Option<Member>) -> io::Result<Vec<Member>> {
    if let Some(Member { pid, start_time }) = attendant.filter(|one| process::alive(one.pid, one.start_time)) {
        let _ = AttemptMark { root: Some(pid), spared: Some(pid), ..mark.clone() }.kill();
        let _ = process::signal(pid, start_time, Signal::SIGKILL);
    }
    mark.kill()
}

/// The attendant of an attempt, as far as its record tells; it may be dead.
pub(crate) fn attendant_of(folder: &AttemptFolder) -> Option<Member> {
    let started = folder.started().ok().flatten().filter(|started| started.boot_id == running_attempt::boot_now());
    started.map(|started| started.member())
}

/// Whether the attendant of an attempt lives, as far as its record tells.
pub(crate) fn is_attended(folder: &AttemptFolder) -> bool {
    attendant_of(folder).is_some_and(|attendant| process::alive(attendant.pid, attendant.start_time))
}

/// The attendant of the record, if exactly that process lives. The descriptor is opened before the start time is compared, so it
/// cannot stand for a process that got the number later.
fn adopt(started: Started, boot_now: &str) -> Option<Adopted> {
    let pid = Pid::from_raw(started.attendant_pid);
    let pidfd = process::pidfd_open(pid).ok()?;
    let same = started.boot_id == boot_now && process::alive(pid, started.start_time);
    same.then_some(Adopted { pid, pidfd, started })
}

/// A damaged record counts as one that was lost; a newer or unreadable one is for a person to see.
fn usable<T>(record: Result<Option<T>, RecordError>) -> Result<Option<T>, RecordError> {
    match record {
        Ok(found) => Ok(found),
        Err(RecordError::Damaged { .. }) => Ok(None),
        Err(error @ (RecordError::Newer { .. } | RecordError::Unreadable { .. })) => Err(error),
    }
}
