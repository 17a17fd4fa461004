//! Keeps what a phase prints: secrets cut out, lines whole where possible, the beginning and the end of it, never more.
//!
//! Nothing here may hold up the phase. If the disk is full, output is counted and lost, and the record says so.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::fcntl::{FcntlArg, OFlag, fcntl};

use onward_core::agent::FRAME_BYTES_MAX;

use super::agent_output::FrameSink;
use super::record::{FileSeal, FramesSeal, Spec};
use crate::redact::{Redactor, Secrets};

/// One read from a pipe; also what a pipe holds.
const READ_BYTES_MAX: usize = 64 * 1024;
/// A longer line is written in parts.
const LINE_BYTES_MAX: usize = 16 * 1024;
/// How long a part of a line waits for its end, so that lines of the two pipes do not mix.
const LINE_WAIT_MAX: Duration = Duration::from_millis(200);

/// The two pipes of a phase and the files behind them.
pub(super) struct Capture {
    streams: Vec<Stream>,
    sinks: Sinks,
    buffer: Box<[u8]>,
}

/// The file descriptor of the phase that a pipe is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StreamKind {
    Output,
    Errors,
}

/// Where the bytes of the pipes go.
struct Sinks {
    log: OutputFiles,
    /// Of a coding agent.
    frames: Option<FrameSink>,
}

impl Sinks {
    fn write(&mut self, from: StreamKind, bytes: &[u8]) {
        match (&mut self.frames, from) {
            (Some(frames), StreamKind::Output) => {
                let said = frames.frames(bytes);
                self.log.write(said.as_bytes());
            }
            (Some(frames), StreamKind::Errors) => {
                frames.errors(bytes);
                self.log.write(bytes);
            }
            (None, _) => self.log.write(bytes),
        }
    }

    /// A frame is of use only as a whole.
    fn takes_whole_lines(&self, from: StreamKind) -> bool {
        self.frames.is_some() && from == StreamKind::Output
    }
}

/// The result of one read from a pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PipeRead {
    Bytes,
    /// Nothing now, but someone still holds the other end.
    Nothing,
    End,
}

/// The account of the output for the record.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Account {
    pub(super) bytes: u64,
    pub(super) dropped_bytes: u64,
    pub(super) error: Option<String>,
    pub(super) redacted: u64,
    /// Of a coding agent.
    pub(super) frames: Option<FramesSeal>,
}

impl Capture {
    pub(super) fn new(spec: &Spec) -> Self {
        let buffer = vec![0; READ_BYTES_MAX].into_boxed_slice();
        let sinks = Sinks { log: OutputFiles::new(spec, OUTPUT), frames: FrameSink::new(spec) };
        Self { streams: Vec::new(), sinks, buffer }
    }

    /// Reads from this pipe from now on, without ever waiting in it.
    pub(super) fn add(&mut self, pipe: OwnedFd, kind: StreamKind, secrets: &Arc<Secrets>) -> io::Result<()> {
        fcntl(&pipe, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        let redactor = Redactor::with(Arc::clone(secrets));
        let pipe = Some(File::from(pipe));
        self.streams.push(Stream { kind, pipe, redactor, line: Vec::new(), waiting_since: None });
        Ok(())
    }

    /// The session of an agent, if another one was named since this was last asked.
    pub(super) fn new_session(&mut self) -> Option<String> {
        self.sinks.frames.as_mut()?.new_session()
    }

    /// The pipes that are still open, each with its place.
    pub(super) fn open(&self) -> impl Iterator<Item = (usize, BorrowedFd<'_>)> {
        let pipes = self.streams.iter().enumerate();
        pipes.filter_map(|(place, stream)| Some((place, stream.pipe.as_ref()?.as_fd())))
    }

    /// Takes what one pipe has, up to one buffer.
    pub(super) fn take(&mut self, place: usize, now: Instant) -> PipeRead {
        let stream = &mut self.streams[place];
        let Some(pipe) = stream.pipe.as_mut() else { return PipeRead::End };
        match pipe.read(&mut self.buffer) {
            Ok(0) => {
                stream.close(&mut self.sinks);
                PipeRead::End
            }
            Ok(count) => {
                stream.push(&self.buffer[..count], &mut self.sinks, now);
                PipeRead::Bytes
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => PipeRead::Nothing,
            Err(error) => {
                self.sinks.log.note_error(&error);
                stream.close(&mut self.sinks);
                PipeRead::End
            }
        }
    }

    /// When a part of a line has waited long enough.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.streams.iter().filter_map(|stream| stream.waiting_since).min().map(|since| since + LINE_WAIT_MAX)
    }

    /// Writes the parts of lines that have waited long enough.
    pub(super) fn write_waiting(&mut self, now: Instant) {
        for stream in &mut self.streams {
            if stream.waiting_since.is_some_and(|since| now >= since + LINE_WAIT_MAX) {
                stream.write_line(&mut self.sinks);
            }
        }
    }

    /// Closes the pipes and writes what was held back.
    pub(super) fn finish(&mut self) -> Account {
        for stream in &mut self.streams {
            stream.close(&mut self.sinks);
        }
        let redacted = self.streams.iter().map(|stream| stream.redactor.count()).sum();
        let frames = self.sinks.frames.as_ref().map(FrameSink::seal);
        let log = &mut self.sinks.log;
        Account { bytes: log.bytes, dropped_bytes: log.dropped, error: log.error.take(), redacted, frames }
    }
}

struct Stream {
    kind: StreamKind,
    pipe: Option<File>,
    redactor: Redactor,
    /// The part of a line whose end has not come yet.
    line: Vec<u8>,
    waiting_since: Option<Instant>,
}

impl Stream {
    fn push(&mut self, bytes: &[u8], sinks: &mut Sinks, now: Instant) {
        // What stood there before has no end of a line: only what is new is looked through, however long the line becomes.
        let before = self.line.len();
        self.redactor.push(bytes, &mut self.line);
        let whole = self.line[before..].iter().rposition(|&byte| byte == b'\n').map_or(0, |at| before + at + 1);
        let whole_lines = sinks.takes_whole_lines(self.kind);
        let line_bytes_max = if whole_lines { FRAME_BYTES_MAX } else { LINE_BYTES_MAX };
        if self.line.len() - whole > line_bytes_max {
            self.write_line(sinks);
            return;
        }
        if whole > 0 {
            sinks.write(self.kind, &self.line[..whole]);
            self.line.drain(..whole);
            self.waiting_since = None;
        }
        if !self.line.is_empty() && !whole_lines {
            self.waiting_since.get_or_insert(now);
        }
    }

    fn write_line(&mut self, sinks: &mut Sinks) {
        sinks.write(self.kind, &self.line);
        self.line.clear();
        self.waiting_since = None;
    }

    fn close(&mut self, sinks: &mut Sinks) {
        self.pipe = None;
        self.redactor.finish(&mut self.line);
        self.write_line(sinks);
    }
}

/// The places of the seals.
const HEAD: usize = 0;
const OLDER: usize = 1;
const NEWER: usize = 2;

/// Names of the files of one output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutputNames {
    pub(crate) head: &'static str,
    pub(crate) older: &'static str,
    pub(crate) newer: &'static str,
    pub(crate) dropped: &'static str,
}

/// All that a phase printed, in the form for people.
pub(crate) const OUTPUT: OutputNames =
    OutputNames { head: "output", older: "tail.0", newer: "tail.1", dropped: "dropped" };

/// The files: `output` takes the beginning; when it is full, `tail.1` takes what follows, and each time that is full it becomes
/// `tail.0` in place of the one before. So the end of the output is always there, in that order, and the files never grow further.
pub(super) struct OutputFiles {
    folder: PathBuf,
    names: OutputNames,
    head: Option<File>,
    head_left: u64,
    tail: Option<File>,
    tail_bytes: u64,
    tail_bytes_max: u64,
    /// How much `tail.0` holds, which is lost when it is replaced.
    older_tail_bytes: u64,
    bytes: u64,
    dropped: u64,
    error: Option<String>,
    /// Of the head, the older tail and the newer one; none where nobody asks for it.
    /// Apart, since the attendant may have a small stack.
    seals: Option<Box<[Written; 3]>>,
}

/// The bytes that one file was given.
#[derive(Clone, Default)]
struct Written {
    hash: blake3::Hasher,
    bytes: u64,
    /// A write failed, and may have left a part of it.
    unsure: bool,
}

impl Written {
    fn seal(&self) -> FileSeal {
        let known = self.bytes > 0 && !self.unsure;
        FileSeal { bytes: self.bytes, hash: known.then(|| self.hash.finalize().to_hex().to_string()) }
    }
}

impl OutputFiles {
    pub(super) fn new(spec: &Spec, names: OutputNames) -> Self {
        Self {
            folder: spec.folder.clone(),
            names,
            head: None,
            head_left: spec.output_head_bytes_max,
            tail: None,
            tail_bytes: 0,
            tail_bytes_max: (spec.output_tail_bytes_max / 2).max(1),
            older_tail_bytes: 0,
            bytes: 0,
            dropped: 0,
            error: None,
            seals: None,
        }
    }

    /// The same, of which it is known afterwards what was written.
    pub(super) fn sealed(self) -> Self {
        Self { seals: Some(Box::default()), ..self }
    }

    /// The seals of the head, the older tail and the newer one.
    pub(super) fn seals(&self) -> [FileSeal; 3] {
        self.seals.as_ref().map(|seals| seals.each_ref().map(Written::seal)).unwrap_or_default()
    }

    fn note_written(&mut self, file: usize, bytes: &[u8], result: &Result<(), WriteFault>) {
        let Some(seal) = self.seals.as_mut().map(|seals| &mut seals[file]) else { return };
        match result {
            Ok(()) => {
                seal.hash.update(bytes);
                seal.bytes += bytes.len() as u64;
            }
            // The agent has deleted the folder or put something else in the place: it is to be noticed.
            Err(WriteFault::NotOpened(why)) if is_by_somebody(why) => {
                seal.hash.update(bytes);
                seal.bytes += bytes.len() as u64;
            }
            Err(WriteFault::NotOpened(_)) => {}
            Err(WriteFault::InBetween(_)) => seal.unsure = true,
        }
    }

    /// The same with other limits: so much of the beginning, and so much of the end.
    pub(super) fn limited(spec: &Spec, names: OutputNames, bytes_max: u64) -> Self {
        Self { head_left: bytes_max, tail_bytes_max: (bytes_max / 2).max(1), ..Self::new(spec, names) }
    }

    pub(super) fn write(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        let split = usize::try_from(self.head_left).map_or(bytes.len(), |left| left.min(bytes.len()));
        let (head, mut rest) = bytes.split_at(split);
        if !head.is_empty() {
            self.head_left -= head.len() as u64;
            let result = write_to(&mut self.head, &self.folder.join(self.names.head), head);
            self.note_written(HEAD, head, &result);
            self.account(head, result);
        }
        while !rest.is_empty() {
            if self.tail_bytes >= self.tail_bytes_max {
                self.turn();
            }
            let room = usize::try_from(self.tail_bytes_max - self.tail_bytes).unwrap_or(rest.len());
            let (now, later) = rest.split_at(room.min(rest.len()));
            self.tail_bytes += now.len() as u64;
            let result = write_to(&mut self.tail, &self.folder.join(self.names.newer), now);
            self.note_written(NEWER, now, &result);
            self.account(now, result);
            rest = later;
        }
    }

    /// The newer tail becomes the older one.
    fn turn(&mut self) {
        self.tail = None;
        self.dropped += self.older_tail_bytes;
        let turned = fs::rename(self.folder.join(self.names.newer), self.folder.join(self.names.older));
        if let Err(error) = turned {
            self.note_error(&error);
        }
        if let Some(seals) = &mut self.seals {
            seals[OLDER] = std::mem::take(&mut seals[NEWER]);
        }
        self.older_tail_bytes = self.tail_bytes;
        self.tail_bytes = 0;
        if self.dropped > 0 {
            // For those who read while the phase still runs; afterwards the record has the exact number.
            let result = open_new(&self.folder.join(self.names.dropped))
                .and_then(|file| file.write_all_at(format!("{:020}\n", self.dropped).as_bytes(), 0));
            if let Err(error) = result {
                self.note_error(&error);
            }
        }
    }

    fn account(&mut self, bytes: &[u8], result: Result<(), WriteFault>) {
        if let Err(WriteFault::NotOpened(error) | WriteFault::InBetween(error)) = result {
            self.dropped += bytes.len() as u64;
            self.note_error(&error);
        }
    }

    fn note_error(&mut self, error: &io::Error) {
        self.error.get_or_insert_with(|| error.to_string());
    }
}

/// Not for want of room, say.
fn is_by_somebody(why: &io::Error) -> bool {
    matches!(why.kind(), ErrorKind::NotFound | ErrorKind::IsADirectory) || why.raw_os_error() == Some(libc::ELOOP)
}

/// How a write failed.
enum WriteFault {
    NotOpened(io::Error),
    InBetween(io::Error),
}

fn write_to(place: &mut Option<File>, path: &Path, bytes: &[u8]) -> Result<(), WriteFault> {
    if place.is_none() {
        *place = Some(open_new(path).map_err(WriteFault::NotOpened)?);
    }
    place.as_mut().map_or(Ok(()), |file| file.write_all(bytes)).map_err(WriteFault::InBetween)
}

fn open_new(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).custom_flags(libc::O_NOFOLLOW).open(path)
}
