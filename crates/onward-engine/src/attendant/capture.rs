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

use super::record::Spec;
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
    log: OutputFiles,
    buffer: Box<[u8]>,
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
}

impl Capture {
    pub(super) fn new(spec: &Spec) -> Self {
        let buffer = vec![0; READ_BYTES_MAX].into_boxed_slice();
        Self { streams: Vec::new(), log: OutputFiles::new(spec), buffer }
    }

    /// Reads from this pipe from now on, without ever waiting in it.
    pub(super) fn add(&mut self, pipe: OwnedFd, secrets: &Arc<Secrets>) -> io::Result<()> {
        fcntl(&pipe, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        let redactor = Redactor::with(Arc::clone(secrets));
        self.streams.push(Stream { pipe: Some(File::from(pipe)), redactor, line: Vec::new(), waiting_since: None });
        Ok(())
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
                stream.close(&mut self.log);
                PipeRead::End
            }
            Ok(count) => {
                stream.push(&self.buffer[..count], &mut self.log, now);
                PipeRead::Bytes
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => PipeRead::Nothing,
            Err(error) => {
                self.log.note_error(&error);
                stream.close(&mut self.log);
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
                stream.write_line(&mut self.log);
            }
        }
    }

    /// Closes the pipes and writes what was held back.
    pub(super) fn finish(&mut self) -> Account {
        for stream in &mut self.streams {
            stream.close(&mut self.log);
        }
        let redacted = self.streams.iter().map(|stream| stream.redactor.count()).sum();
        Account { bytes: self.log.bytes, dropped_bytes: self.log.dropped, error: self.log.error.take(), redacted }
    }
}

struct Stream {
    pipe: Option<File>,
    redactor: Redactor,
    /// The part of a line whose end has not come yet.
    line: Vec<u8>,
    waiting_since: Option<Instant>,
}

impl Stream {
    fn push(&mut self, bytes: &[u8], log: &mut OutputFiles, now: Instant) {
        self.redactor.push(bytes, &mut self.line);
        let whole = self.line.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        if self.line.len() - whole > LINE_BYTES_MAX {
            self.write_line(log);
            return;
        }
        if whole > 0 {
            log.write(&self.line[..whole]);
            self.line.drain(..whole);
            self.waiting_since = None;
        }
        if !self.line.is_empty() {
            self.waiting_since.get_or_insert(now);
        }
    }

    fn write_line(&mut self, log: &mut OutputFiles) {
        log.write(&self.line);
        self.line.clear();
        self.waiting_since = None;
    }

    fn close(&mut self, log: &mut OutputFiles) {
        self.pipe = None;
        self.redactor.finish(&mut self.line);
        self.write_line(log);
    }
}

/// The files: `output` takes the beginning; when it is full, `tail.1` takes what follows, and each time that is full it becomes
/// `tail.0` in place of the one before. So the end of the output is always there, in that order, and the files never grow further.
struct OutputFiles {
    folder: PathBuf,
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
}

impl OutputFiles {
    fn new(spec: &Spec) -> Self {
        Self {
            folder: spec.folder.clone(),
            head: None,
            head_left: spec.output_head_bytes_max,
            tail: None,
            tail_bytes: 0,
            tail_bytes_max: (spec.output_tail_bytes_max / 2).max(1),
            older_tail_bytes: 0,
            bytes: 0,
            dropped: 0,
            error: None,
        }
    }

    fn write(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        let split = usize::try_from(self.head_left).map_or(bytes.len(), |left| left.min(bytes.len()));
        let (head, mut rest) = bytes.split_at(split);
        if !head.is_empty() {
            self.head_left -= head.len() as u64;
            let result = write_to(&mut self.head, &self.folder.join("output"), head);
            self.account(head, result);
        }
        while !rest.is_empty() {
            if self.tail_bytes >= self.tail_bytes_max {
                self.turn();
            }
            let room = usize::try_from(self.tail_bytes_max - self.tail_bytes).unwrap_or(rest.len());
            let (now, later) = rest.split_at(room.min(rest.len()));
            self.tail_bytes += now.len() as u64;
            let result = write_to(&mut self.tail, &self.folder.join("tail.1"), now);
            self.account(now, result);
            rest = later;
        }
    }

    /// The newer tail becomes the older one.
    fn turn(&mut self) {
        self.tail = None;
        self.dropped += self.older_tail_bytes;
        let turned = fs::rename(self.folder.join("tail.1"), self.folder.join("tail.0"));
        if let Err(error) = turned {
            self.note_error(&error);
        }
        self.older_tail_bytes = self.tail_bytes;
        self.tail_bytes = 0;
        if self.dropped > 0 {
            // For those who read while the phase still runs; afterwards the record has the exact number.
            let result = open_new(&self.folder.join("dropped"))
                .and_then(|file| file.write_all_at(format!("{:020}\n", self.dropped).as_bytes(), 0));
            if let Err(error) = result {
                self.note_error(&error);
            }
        }
    }

    fn account(&mut self, bytes: &[u8], result: io::Result<()>) {
        if let Err(error) = result {
            self.dropped += bytes.len() as u64;
            self.note_error(&error);
        }
    }

    fn note_error(&mut self, error: &io::Error) {
        self.error.get_or_insert_with(|| error.to_string());
    }
}

fn write_to(place: &mut Option<File>, path: &Path, bytes: &[u8]) -> io::Result<()> {
    if place.is_none() {
        *place = Some(open_new(path)?);
    }
    place.as_mut().map_or(Ok(()), |file| file.write_all(bytes))
}

fn open_new(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).custom_flags(libc::O_NOFOLLOW).open(path)
}
