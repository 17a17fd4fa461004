//! The attendant itself: from its first act to the record of the outcome.
//!
//! It is alone in its process and has one thread. It waits in one place, for the phase's two pipes, for signals and for the next
//! moment at which something is due, and it never waits for the driver, which may be dead.

use std::env;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, killpg, pthread_sigmask};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd;
use onward_core::event::{LeftRunning, StopRequest, Urgency};
use onward_core::mutant::{self, Defect};

use super::begun;
use super::capture::{Account, Capture, PipeRead, StreamKind};
use super::ending::{EndCause, EndUnderWay, NextAct};
use super::folder::AttemptFolder;
use super::gone_folder::StoreThen;
use super::record::{self, AfterSuccess, ExitRecord, Main, ProcessEnd, RecordError, Session, Spec, Started, Stop};
use super::wake::{AttendantWake, AttendantWoken};
use crate::kill_point::reached;
use crate::redact::{self, Digests, Secrets};
use crate::sys::attempts_at_large::Surroundings;
use crate::sys::process::{self, AttemptMark, Pid};

/// Where the lock is kept: out of the way of the low numbers that shell scripts use. A small limit on descriptors may forbid the
/// higher places.
const LOCK_PLACES: [i32; 4] = [199, 63, 20, 3];

/// How often a request to stop that cannot be read is read again.
const READS_OF_A_REQUEST_MAX: usize = 3;

/// After the phase has ended and others still hold its pipes: how long to wait for one more byte.
const DRAIN_PATIENCE: Duration = Duration::from_millis(100);

/// How often to look whether the rest of a group that was asked to end has ended.
const LEFTOVER_LOOK: Duration = Duration::from_millis(20);

/// How often, and how far apart, the outcome is written again while there is no room for it.
const EXIT_TRIES_MAX: u32 = 40;
const EXIT_TRY_PAUSE: Duration = Duration::from_millis(250);

/// Room reserved by the output for the outcome on a full disk: more than the record needs, for file systems with large
/// blocks.
const ROOM_BYTES: u64 = 64 * 1024;

/// After a phase has succeeded: how long those that it left behind may take to end by themselves before they are named.
const LEFTOVER_PATIENCE: Duration = Duration::from_millis(50);

/// The entry point of `onward __attend`. The descriptors 0, 1 and 2 are the lock, the orders and the folder of the
/// attempt. The folder is where we work from then on, and all its files are opened relative to it: whoever renames the
/// project meanwhile finds the outcome where the folder is then.
pub fn main() -> ExitCode {
    // Before anything else: out of the driver's session, so that its terminal cannot end us. It fails only if we lead one already.
    let _ = unistd::setsid();
    process::close_descriptors_from(3);
    let (Ok((mut spec, orders)), Ok(())) = (read_orders(), unistd::fchdir(io::stderr())) else {
        return ExitCode::from(2);
    };
    spec.folder = PathBuf::from(".");
    let folder = AttemptFolder::at(spec.folder.clone());
    note_panics(&folder);
    match Attendant::prepare(spec, orders, folder.clone()).and_then(Attendant::attend) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            note_failure(&folder, &error.to_string());
            ExitCode::FAILURE
        }
    }
}

fn read_orders() -> io::Result<(Spec, File)> {
    let mut text = Vec::new();
    let mut orders = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    orders.read_to_end(&mut text)?;
    Ok((serde_json::from_slice(&text)?, orders))
}

/// The one place where a failing attendant can say why; it has no terminal, and the outcome is not its own.
fn note_failure(folder: &AttemptFolder, text: &str) {
    let _ = std::fs::write(folder.path().join("attendant.log"), format!("{}\n", redact::secrets().text(text)));
}

fn note_panics(folder: &AttemptFolder) {
    let folder = folder.clone();
    std::panic::set_hook(Box::new(move |panic| note_failure(&folder, &panic.to_string())));
}

struct Attendant {
    spec: Spec,
    /// The file that the orders came in. The driver that started us has it, too.
    orders: File,
    folder: AttemptFolder,
    store: StoreThen,
    secrets: Arc<Secrets>,
    capture: Capture,
    wake: AttendantWake,
    /// The main child and its group.
    phase: Option<Pid>,
    /// The group may still have members. Once it was seen empty its number belongs to nobody and is not used again.
    group_alive: bool,
    ending: Option<EndUnderWay>,
    begun: StartMoment,
    ended: Option<Ended>,
    /// Processes of the attempt that are there after its end.
    left_running: Vec<LeftRunning>,
}

#[derive(Clone, Copy)]
struct StartMoment {
    at: Timestamp,
    boottime: Duration,
    moment: Instant,
}

impl StartMoment {
    fn now() -> Self {
        Self { at: Timestamp::now(), boottime: process::boottime(), moment: Instant::now() }
    }
}

struct Ended {
    outcome: ProcessEnd,
    at: Timestamp,
    duration: Duration,
}

impl Attendant {
    /// Everything that must be in place before the phase is: signals, the lock for those to come, the way back for orphans.
    fn prepare(spec: Spec, orders: File, folder: AttemptFolder) -> io::Result<Self> {
        let wake = AttendantWake::install()?;
        process::reset_ignored_signals();
        // The driver started us with signals blocked that would have ended us before we were ready for them.
        pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None)?;
        pass_the_lock_on()?;
        nix::sys::prctl::set_child_subreaper(true)?;
        let variables: Vec<_> = env::vars_os().collect();
        let pairs = variables.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()));
        let secrets = Arc::new(Secrets::from_env_and(pairs, &spec.secret_names, &spec.secret_values));
        let capture = Capture::new(&spec);
        Ok(Self {
            spec,
            orders,
            folder,
            store: StoreThen::from_here(),
            secrets,
            capture,
            wake,
            phase: None,
            group_alive: false,
            ending: None,
            begun: StartMoment::now(),
            ended: None,
            left_running: Vec::new(),
        })
    }

    fn attend(mut self) -> io::Result<()> {
        reached("attend.before-started");
        self.write_started()?;
        reached("attend.after-started");
        // A request that was written before our record was there came without a signal. Nothing is executed then.
        if let Some(stop) = self.requested() {
            self.ending = Some(EndUnderWay::by_request(stop, Instant::now()));
            self.end_with(ProcessEnd::CouldNotStart("stopped before it began".to_owned()));
        } else if let Err(error) = self.start_phase() {
            let reason = self.reason(&error);
            self.end_with(ProcessEnd::CouldNotStart(reason));
        }
        while !self.is_over() {
            self.wait_and_work()?;
        }
        self.drain();
        self.name_what_is_left();
        let account = self.capture.finish();
        self.note_the_session();
        let mut exit = self.exit(account);
        reached("attend.before-exit-record");
        self.write_exit(&mut exit)?;
        reached("attend.after-exit-record");
        Ok(())
    }

    fn write_started(&self) -> io::Result<()> {
        let own = Pid::this();
        let started = Started {
            attendant_pid: own.as_raw(),
            start_time: process::start_time(own)?,
            boot_id: process::boot_id()?,
            at: self.begun.at,
            // Without them nobody else reads what the phase writes itself; that is no reason not to start it.
            secrets: Digests::new(&self.secrets).unwrap_or_default(),
            surroundings: Some(Box::new(Surroundings::here())),
        };
        record::write(self.folder.path(), &started).map(drop)
    }

    fn start_phase(&mut self) -> io::Result<()> {
        let (program, arguments) = self.spec.argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&self.spec.working_directory).process_group(0);
        // All that can fail comes before the phase does: once it lives, nothing says any more that it could not be started.
        command.stdin(self.stdin()?).stdout(self.pipe(StreamKind::Output)?).stderr(self.pipe(StreamKind::Errors)?);
        begun::note(&self.orders)?;
        self.begun = StartMoment::now();
        // Our own handlers fall back to the defaults in the new program, and nothing is blocked or ignored for it.
        let child = command.spawn()?;
        self.phase = Some(Pid::from_raw(i32::try_from(child.id()).expect("the kernel's pids are small numbers")));
        self.group_alive = true;
        // Without it a phase that sheds its tag is not known again once we are dead; that is no reason to end it.
        let _ = self.write_main();
        Ok(())
    }

    fn write_main(&self) -> io::Result<()> {
        let pid = self.phase.ok_or(io::ErrorKind::NotFound)?;
        let (start_time, boot_id) = (process::start_time(pid)?, process::boot_id()?);
        record::write(self.folder.path(), &Main { pid: pid.as_raw(), start_time, boot_id }).map(drop)
    }

    /// A pipe from which we read, as the end that the phase writes to.
    fn pipe(&mut self, kind: StreamKind) -> io::Result<OwnedFd> {
        let (ours, theirs) = unistd::pipe2(OFlag::O_CLOEXEC)?;
        self.capture.add(ours, kind, &self.secrets)?;
        Ok(theirs)
    }

    /// A text for the phase as an unnamed file in memory: nobody has to be there to feed it, and it is never on disk.
    fn stdin(&self) -> io::Result<Stdio> {
        let Some(text) = &self.spec.stdin else { return Ok(Stdio::null()) };
        let mut file = File::from(memfd_create(c"onward-stdin", MFdFlags::MFD_CLOEXEC)?);
        file.write_all(text.as_bytes())?;
        file.rewind()?;
        Ok(file.into())
    }

    /// Puts the session that an agent has named since on record. Without the record only an orphan's session is not known.
    fn note_the_session(&mut self) {
        if let Some(id) = self.capture.new_session() {
            let _ = record::write(self.folder.path(), &Session { id });
        }
    }

    /// Why the phase could not be started, with the usual suspect named: a missing folder gives the same error as a missing program.
    fn reason(&self, error: &io::Error) -> String {
        let program = self.spec.argv.first().map_or("", String::as_str);
        if !self.spec.working_directory.is_dir() {
            return format!("the working directory {} is not there", self.spec.working_directory.display());
        }
        match error.kind() {
            io::ErrorKind::NotFound if !program.contains('/') => format!("there is no program {program} on the PATH"),
            _ => format!("{program}: {error}"),
        }
    }

    /// The phase has ended; and if we were ending it, so has everything that it started.
    fn is_over(&self) -> bool {
        let all_gone = self.ending.is_none() || !self.group_alive;
        self.ended.is_some() && all_gone
    }

    /// One round: wait until something happens, then see to all that has happened or is due.
    fn wait_and_work(&mut self) -> io::Result<()> {
        let now = Instant::now();
        let timeout = self.next_deadline(now).map_or(PollTimeout::NONE, |due| poll_timeout(due, now));
        let mut readable = [false; 2];
        {
            let mut places = Vec::with_capacity(2);
            let mut fds = vec![PollFd::new(self.wake.fd(), PollFlags::POLLIN)];
            for (place, pipe) in self.capture.open() {
                places.push(place);
                fds.push(PollFd::new(pipe, PollFlags::POLLIN));
            }
            match poll(&mut fds, timeout) {
                Ok(_) | Err(Errno::EINTR) => {}
                // Short of memory, say. Everything is looked at below all the same, a little later.
                Err(_) => thread::sleep(LEFTOVER_LOOK),
            }
            for (place, fd) in places.into_iter().zip(&fds[1..]) {
                readable[place] = fd.any().unwrap_or(true);
            }
        }
        let now = Instant::now();
        for place in (0..readable.len()).filter(|&place| readable[place]) {
            self.capture.take(place, now);
        }
        self.capture.write_waiting(now);
        self.note_the_session();
        let woken = self.wake.take();
        self.reap()?;
        if woken.asked || woken.hurried || woken.told {
            self.obey(woken, now);
        }
        self.look_at_the_clock(now);
        self.see_to_leftovers();
        Ok(())
    }

    fn next_deadline(&self, now: Instant) -> Option<Instant> {
        let ending = self.ending.as_ref().and_then(|ending| ending.next_deadline(&self.spec));
        let timeout = self.timeout().filter(|_| self.ending.is_none() && self.ended.is_none());
        let leftovers = self.ended.is_some().then_some(now + LEFTOVER_LOOK);
        [ending, timeout, leftovers, self.capture.next_deadline()].into_iter().flatten().min()
    }

    fn timeout(&self) -> Option<Instant> {
        // A limit beyond what a clock can show is none.
        self.spec.timeout_ms.and_then(|limit| self.begun.moment.checked_add(Duration::from_millis(limit)))
    }

    /// Collects whoever has ended: the phase, whose status is the outcome, and orphans that came to us.
    fn reap(&mut self) -> io::Result<()> {
        loop {
            match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::Exited(pid, code)) if Some(pid) == self.phase => self.end_with(ProcessEnd::Code(code)),
                Ok(WaitStatus::Signaled(pid, signal, _)) if Some(pid) == self.phase => {
                    self.end_with(ProcessEnd::Signal(signal as i32));
                }
                Ok(WaitStatus::StillAlive) | Err(Errno::ECHILD) => return Ok(()),
                Ok(_) | Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Its main process has ended. Nothing of an attempt that did not succeed lives on: what would go on working would do so beside
    /// the next attempt.
    fn end_with(&mut self, outcome: ProcessEnd) {
        let duration = process::boottime().saturating_sub(self.begun.boottime);
        let succeeded = outcome == ProcessEnd::Code(0);
        self.ended = Some(Ended { outcome, at: Timestamp::now(), duration });
        let ends_all = !succeeded || self.spec.after_success == AfterSuccess::EndAll;
        let ends_all = ends_all && !mutant::has(Defect::LetTheRestLive);
        if ends_all && self.ending.is_none() && self.phase.is_some() {
            let act = self.ending.insert(EndUnderWay::of_the_rest(Instant::now())).act();
            self.perform(Some(act));
        }
    }

    /// Those that were let be after a success; a short moment for those that are just ending. Whatever a phase starts comes to us
    /// when its parent ends, so without children there is nothing to look for.
    fn name_what_is_left(&mut self) {
        let until = Instant::now() + LEFTOVER_PATIENCE;
        while self.ending.is_none() && has_children() {
            if Instant::now() >= until {
                let left = self.mark().members().unwrap_or_default();
                self.left_running = record::left_running(&left);
                return;
            }
            thread::sleep(LEFTOVER_LOOK / 4);
        }
    }

    /// All that was ever started for this attempt.
    fn mark(&self) -> AttemptMark {
        AttemptMark { root: Some(Pid::this()), ..AttemptMark::tagged(&self.spec.tag) }
    }

    /// The request that is on record, if any. A damaged one still is one; that there is none to be read, for whatever reason, says
    /// nothing: whoever asks sends a signal, too.
    fn requested(&self) -> Option<Stop> {
        for _ in 0..READS_OF_A_REQUEST_MAX {
            match self.folder.stop() {
                Ok(stop) => return stop,
                Err(RecordError::Damaged { .. } | RecordError::Newer { .. }) => {
                    return Some(Stop { by: StopRequest::Interrupt, urgency: Urgency::Ask });
                }
                Err(RecordError::Unreadable { .. }) => {}
            }
        }
        None
    }

    fn obey(&mut self, woken: AttendantWoken, now: Instant) {
        let on_record = self.requested();
        if self.ended.is_some() && self.ending.is_none() {
            // Too late: the outcome came first, and it stays what it was.
            return;
        }
        let mut stop = match on_record {
            Some(stop) => stop,
            None if woken.hurried || woken.told => Stop { by: StopRequest::Interrupt, urgency: Urgency::Ask },
            None => return,
        };
        if woken.hurried {
            stop.urgency = Urgency::Kill;
        }
        let act = match &mut self.ending {
            None => Some(self.ending.insert(EndUnderWay::by_request(stop, now)).act()),
            Some(ending) if stop.urgency == Urgency::Kill => ending.hurry(now),
            Some(_) => None,
        };
        self.perform(act);
    }

    fn look_at_the_clock(&mut self, now: Instant) {
        let time_is_up = self.timeout().is_some_and(|due| now >= due);
        let act = match &mut self.ending {
            None if time_is_up && self.ended.is_none() => Some(self.ending.insert(EndUnderWay::by_timeout(now)).act()),
            None => None,
            Some(ending) => ending.advance(&self.spec, now),
        };
        self.perform(act);
    }

    fn perform(&mut self, act: Option<NextAct>) {
        let Some(act) = act else { return };
        match act {
            NextAct::Interrupt => self.signal_group(Signal::SIGINT),
            NextAct::Terminate => {
                self.signal_group(Signal::SIGTERM);
                // One that was stopped could not hear it.
                self.signal_group(Signal::SIGCONT);
            }
            NextAct::Kill => {
                self.signal_group(Signal::SIGKILL);
                // Where not even /proc can be read the group is all that is known.
                let left = self.mark().kill().unwrap_or_default();
                self.left_running = record::left_running(&left);
                self.group_alive = false;
            }
        }
    }

    fn signal_group(&mut self, signal: Signal) {
        if let Some(group) = self.phase.filter(|_| self.group_alive) {
            // A group without members is found out by `see_to_leftovers`.
            let _ = killpg(group, signal);
        }
    }

    /// The phase has ended because we wanted it to. Those of its group that were asked with it get the same time; when they are gone
    /// too, the rest was never asked and has nothing to wait for.
    fn see_to_leftovers(&mut self) {
        if self.ended.is_none() || self.ending.is_none() || !self.group_alive {
            return;
        }
        let gone = self.phase.is_none_or(|group| killpg(group, None) == Err(Errno::ESRCH));
        if gone {
            self.group_alive = false;
            self.perform(Some(NextAct::Kill));
        }
    }

    /// Takes what is still in the pipes. Others may hold them open or even go on writing; neither may hold us up for long.
    fn drain(&mut self) {
        let limit = Instant::now() + Duration::from_millis(self.spec.drain_ms);
        loop {
            let places: Vec<usize> = self.capture.open().map(|(place, _)| place).collect();
            let taken: Vec<PipeRead> =
                places.into_iter().map(|place| self.capture.take(place, Instant::now())).collect();
            let now = Instant::now();
            if now >= limit || taken.iter().all(|one| *one == PipeRead::End) {
                return;
            }
            if !taken.contains(&PipeRead::Bytes) && !self.more_comes(limit.min(now + DRAIN_PATIENCE), now) {
                return;
            }
        }
    }

    fn more_comes(&self, until: Instant, now: Instant) -> bool {
        let mut fds: Vec<PollFd<'_>> =
            self.capture.open().map(|(_, pipe)| PollFd::new(pipe, PollFlags::POLLIN)).collect();
        matches!(poll(&mut fds, poll_timeout(until, now)), Ok(1..) | Err(Errno::EINTR))
    }

    fn exit(&self, account: Account) -> ExitRecord {
        let (outcome, ended_at, duration) = match &self.ended {
            Some(ended) => (ended.outcome.clone(), ended.at, ended.duration),
            None => unreachable!("the record is made after the end"),
        };
        let (cleaned, clean_error) = match self.folder.clean(&self.secrets) {
            Ok(count) => (count, None),
            Err(error) => (0, Some(format!("the phase's own files could not be cleaned: {error}"))),
        };
        let uncleaned = clean_error.is_some();
        ExitRecord {
            outcome,
            timed_out: self.ending.is_some_and(|ending| ending.cause == EndCause::TimedOut),
            stopped_by: self.ending.and_then(|ending| match ending.cause {
                EndCause::TimedOut | EndCause::Over => None,
                EndCause::Stopped(by) => Some(by),
            }),
            started_at: self.begun.at,
            ended_at,
            duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
            output_bytes: account.bytes,
            output_dropped_bytes: account.dropped_bytes,
            log_error: account.error.or(clean_error),
            redacted: account.redacted + cleaned,
            uncleaned,
            left_running: self.left_running.clone(),
            frames: account.frames,
        }
    }

    /// The outcome matters more than the output: where there is no room for it, the output makes room, and if that does not help
    /// either, the record of the start gives its place away.
    fn write_exit(&self, exit: &mut ExitRecord) -> io::Result<()> {
        let (mut tries, mut made_anew) = (0, false);
        let file = loop {
            let written = match tries {
                0 => record::write(self.folder.path(), exit),
                1 => {
                    exit.output_dropped_bytes += self.make_room();
                    record::write(self.folder.path(), exit)
                }
                _ => record::write_in_place_of::<Started, _>(self.folder.path(), exit),
            };
            match written {
                Ok(file) => break file,
                // The phase itself has deleted it, and its end is known all the same.
                Err(error) if error.kind() == io::ErrorKind::NotFound && !made_anew => {
                    made_anew = true;
                    self.store.make_folder_anew().map_err(|_| error)?;
                    continue;
                }
                Err(error) if tries == EXIT_TRIES_MAX || error.kind() == io::ErrorKind::NotFound => return Err(error),
                Err(_) if tries > 1 => thread::sleep(EXIT_TRY_PAUSE),
                Err(_) => {}
            }
            tries += 1;
        };
        // A kill of the driver loses nothing that was written; a power cut does, and with a living driver its own commit sees to
        // that. Alone, we do.
        if unistd::getppid().as_raw() != self.spec.driver_pid {
            file.sync_all()?;
            File::open(self.folder.path())?.sync_all()?;
        }
        Ok(())
    }

    /// Gives up the tail and the last part of the head; gives how many bytes that were.
    fn make_room(&self) -> u64 {
        let path = |name: &str| self.folder.path().join(name);
        let length = |name: &str| std::fs::metadata(path(name)).map_or(0, |about| about.len());
        let mut given_up = 0;
        for name in ["tail.0", "tail.1"] {
            let bytes = length(name);
            given_up += std::fs::remove_file(path(name)).map_or(0, |()| bytes);
        }
        let kept = length("output").saturating_sub(ROOM_BYTES);
        let cut = File::options().write(true).open(path("output")).and_then(|file| {
            let before = file.metadata()?.len();
            file.set_len(kept).map(|()| before - kept)
        });
        given_up + cut.unwrap_or(0)
    }
}

/// Moves the lock to a high place from which every child inherits it, and leaves nothing of the orders in the low ones. The
/// descriptor is never closed: it goes when we and all that the phase started are gone.
fn pass_the_lock_on() -> io::Result<()> {
    let stdin = io::stdin();
    let moved = LOCK_PLACES.iter().find_map(|&place| fcntl(stdin.as_fd(), FcntlArg::F_DUPFD(place)).ok());
    if moved.is_none() {
        return Err(io::Error::last_os_error());
    }
    let nothing = File::options().read(true).write(true).open("/dev/null")?;
    unistd::dup2_stdin(&nothing)?;
    unistd::dup2_stdout(&nothing)?;
    unistd::dup2_stderr(&nothing)?;
    Ok(())
}

/// Whether anybody is left for whom we are the parent; those that have ended are taken off the process table on the way.
fn has_children() -> bool {
    loop {
        match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::StillAlive) => return true,
            Err(Errno::EINTR) | Ok(_) => {}
            Err(_) => return false,
        }
    }
}

/// Rounded up, so that what is due is due when the wait is over.
fn poll_timeout(due: Instant, now: Instant) -> PollTimeout {
    let wait = due.saturating_duration_since(now).as_micros().div_ceil(1_000);
    PollTimeout::try_from(i32::try_from(wait).unwrap_or(i32::MAX)).unwrap_or(PollTimeout::MAX)
}
