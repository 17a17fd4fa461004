//! The records of an attempt, and the envelope they are written in.
//!
//! A record is one line of JSON with its kind and version, and a second line with the hash of the first. It is written under another
//! name and renamed, so a reader sees all of it or none; after a power cut it may be empty or torn, which the hash shows.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use onward_core::event::{LeftRunning, StopRequest, Urgency};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::agent_output::ClientOrders;
use crate::redact::{Digests, SecretNames};
use crate::sys::attempts_at_large::Surroundings;
use crate::sys::process::{self, Member, Pid};

/// The version of all records of this module; a reader refuses a newer one.
const RECORD_VERSION: u32 = 1;

/// No record comes near this size; a longer file is not one of ours.
pub(crate) const RECORD_BYTES_MAX: u64 = 64 * 1024;

/// How many processes that an attempt left behind are named.
pub(crate) const LEFT_RUNNING_MAX: usize = 16;

/// The orders to the attendant when it starts. It travels through an unnamed file in memory and is never on disk: the
/// script of a phase may contain what its author would not want lying about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    pub run: String,
    pub phase: String,
    pub attempt: u32,
    /// The element of `ONWARD_TREE` by which everything this attempt starts is found.
    pub tag: String,
    /// Program and arguments, the script among them.
    pub argv: Vec<String>,
    pub working_directory: PathBuf,
    pub timeout_ms: Option<u64>,
    /// From the polite request to the firm one.
    pub grace_int_ms: u64,
    /// From the firm request to the kill.
    pub grace_term_ms: u64,
    /// How long output is still read after the phase has ended, if others go on writing to its pipes.
    pub drain_ms: u64,
    pub output_head_bytes_max: u64,
    pub output_tail_bytes_max: u64,
    pub driver_pid: i32,
    /// Which variables hold secrets, beside those whose names say so.
    pub secret_names: SecretNames,
    /// Secrets that are no variables: inputs of the run, and what stands in its plan.
    #[serde(default)]
    pub secret_values: Vec<Vec<u8>>,
    /// The attempt's folder, as an absolute path.
    pub folder: PathBuf,
    pub after_success: AfterSuccess,
    /// The text on standard input; none: nothing can be read there.
    #[serde(default)]
    pub stdin: Option<String>,
    /// The coding agent that is started, where it is one.
    #[serde(default)]
    pub client: Option<ClientOrders>,
}

/// The treatment of processes that a phase left behind when it succeeded. Where it did not succeed they are ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AfterSuccess {
    /// They go on, and are named: a shell phase may start a daemon on purpose.
    LetBe,
    /// They are ended before the outcome is written: for an agent's attempt, of which nothing lives on in either case.
    EndAll,
}

impl Spec {
    pub const GRACE_INT_MS: u64 = 5_000;
    pub const GRACE_TERM_MS: u64 = 3_000;
    pub const DRAIN_MS: u64 = 2_000;
    pub const OUTPUT_HEAD_BYTES_MAX: u64 = 1 << 20;
    pub const OUTPUT_TAIL_BYTES_MAX: u64 = 4 << 20;
}

/// The attendant stands ready and is about to execute the phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    pub attendant_pid: i32,
    /// Of the attendant, in clock ticks since boot.
    pub start_time: u64,
    pub boot_id: String,
    pub at: Timestamp,
    /// Of the secrets in the phase's environment: whoever knows them all can clean what the phase wrote itself. None where they
    /// were not written down; nobody is taken to know them then.
    #[serde(default)]
    pub secrets: Option<Digests>,
    /// Where the attendant lives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub surroundings: Option<Box<Surroundings>>,
}

impl Started {
    /// The attendant as a process of this boot.
    pub(crate) fn member(&self) -> Member {
        Member { pid: Pid::from_raw(self.attendant_pid), start_time: self.start_time }
    }
}

/// The main process of an attempt: whoever sheds the tag and everything else that was inherited is still known by it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Main {
    pub(crate) pid: i32,
    /// In clock ticks since boot.
    pub(crate) start_time: u64,
    pub(crate) boot_id: String,
}

/// The session in which an agent works: written anew whenever its frames name another one, so that it is known also where nobody
/// comes to read them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Session {
    pub id: String,
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExitRecord {
    pub outcome: ProcessEnd,
    /// The phase was ended because its time was up. Never together with `stopped_by`: what came first counts.
    pub timed_out: bool,
    /// Somebody asked for the end before it came. The phase may have ended well all the same.
    pub stopped_by: Option<StopRequest>,
    pub started_at: Timestamp,
    pub ended_at: Timestamp,
    /// Suspended time included, and right also when the clock was set in between.
    pub duration_ms: u64,
    /// All that the phase printed, after secrets were cut out.
    pub output_bytes: u64,
    /// The part of it that is neither in the head nor in the tail.
    pub output_dropped_bytes: u64,
    /// The first reason why a part of the output could not be kept.
    pub log_error: Option<String>,
    /// How many secrets were cut out.
    pub redacted: u64,
    /// Secrets could not be cut out of all files that the phase wrote itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub uncleaned: bool,
    /// Processes that were there when the outcome was written: let be after a success, or not to be ended by us. At most
    /// `LEFT_RUNNING_MAX` are named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_running: Vec<LeftRunning>,
    /// The frames of an agent as they were written. Version 1 had none of it at first: an older reader passes over it, and a record
    /// without it is read as before, its frames taken as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frames: Option<FramesSeal>,
}

/// The frames that an attendant has written, by which their reader notices that somebody else wrote there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FramesSeal {
    pub head: FileSeal,
    pub older: FileSeal,
    pub newer: FileSeal,
    /// The cost by the client's own word.
    pub cost_nano_usd: Option<u64>,
}

/// One file of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSeal {
    pub bytes: u64,
    /// BLAKE3 in hex; none where nothing was written, or where nobody knows how much of it the disk took.
    pub hash: Option<String>,
}

/// The record of processes that an attempt left behind, at most [`LEFT_RUNNING_MAX`] of them.
pub(super) fn left_running(members: &[Member]) -> Vec<LeftRunning> {
    let one = |member: &Member| LeftRunning {
        pid: member.pid.as_raw(),
        start_time: member.start_time,
        name: process::program_name(member.pid),
    };
    members.iter().take(LEFT_RUNNING_MAX).map(one).collect()
}

/// The end of a phase's main process, before it is judged: the journal has an
/// [`Outcome`](onward_core::event::Outcome).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProcessEnd {
    Code(i32),
    Signal(i32),
    /// Nothing was executed; the reason.
    CouldNotStart(String),
}

/// A request that an attempt should end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stop {
    pub by: StopRequest,
    pub urgency: Urgency,
}

/// A record that is there but cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    #[error("the record {name} is damaged: {reason}")]
    Damaged { name: &'static str, reason: String },
    #[error("the record {name} has version {version}, newer than this program knows")]
    Newer { name: &'static str, version: u32 },
    #[error("the record {name} cannot be read: {source}")]
    Unreadable { name: &'static str, source: io::Error },
}

/// A kind of record with the name of its file.
pub(crate) trait AttemptRecord: Serialize + DeserializeOwned {
    const NAME: &'static str;
}

impl AttemptRecord for Started {
    const NAME: &'static str = "STARTED";
}

impl AttemptRecord for Main {
    const NAME: &'static str = "MAIN";
}

impl AttemptRecord for Session {
    const NAME: &'static str = "SESSION";
}

impl AttemptRecord for ExitRecord {
    const NAME: &'static str = "EXIT";
}

impl AttemptRecord for Stop {
    const NAME: &'static str = "STOP";
}

#[derive(Serialize)]
struct EnvelopeOut<'a, T> {
    record: &'a str,
    version: u32,
    body: &'a T,
}

/// Read first and alone, so that a newer record is called newer even if its body has another form.
#[derive(Deserialize)]
struct EnvelopeHead {
    record: String,
    version: u32,
}

#[derive(Deserialize)]
struct EnvelopeIn<T> {
    body: T,
}

pub(crate) fn encode<T: AttemptRecord>(body: &T) -> io::Result<Vec<u8>> {
    let mut text = serde_json::to_vec(&EnvelopeOut { record: T::NAME, version: RECORD_VERSION, body })?;
    let hash = blake3::hash(&text).to_hex();
    text.push(b'\n');
    text.extend_from_slice(hash.as_bytes());
    text.push(b'\n');
    Ok(text)
}

pub(crate) fn decode<T: AttemptRecord>(text: &[u8]) -> Result<T, RecordError> {
    let damaged = |reason: String| RecordError::Damaged { name: T::NAME, reason };
    let mut lines = text.split(|&byte| byte == b'\n');
    let (line, hash) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    if blake3::hash(line).to_hex().as_bytes() != hash {
        return Err(damaged(format!("its {} bytes do not agree with their hash", text.len())));
    }
    let head: EnvelopeHead = serde_json::from_slice(line).map_err(|error| damaged(error.to_string()))?;
    if head.record != T::NAME {
        return Err(damaged(format!("it is a record of another kind, {}", head.record)));
    }
    if head.version > RECORD_VERSION {
        return Err(RecordError::Newer { name: T::NAME, version: head.version });
    }
    let whole: EnvelopeIn<T> = serde_json::from_slice(line).map_err(|error| damaged(error.to_string()))?;
    Ok(whole.body)
}

/// Puts a record into place, all at once.
pub(crate) fn write<T: AttemptRecord>(folder: &Path, body: &T) -> io::Result<File> {
    let text = encode(body)?;
    // The writer's pid keeps two writers of one record from sharing a half-written file.
    let temporary = folder.join(format!("{}.{}", T::NAME, std::process::id()));
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600).custom_flags(libc::O_NOFOLLOW);
    let mut file = options.open(&temporary)?;
    let written = file.write_all(&text).and_then(|()| fs::rename(&temporary, folder.join(T::NAME)));
    if let Err(error) = written {
        let _ = fs::remove_file(&temporary);
        return Err(error);
    }
    Ok(file)
}

/// Puts a record into the place on disk of another one, which is lost: on a full disk that needs no room. Killed in between it
/// leaves a damaged record of the old kind.
pub(crate) fn write_in_place_of<Old: AttemptRecord, New: AttemptRecord>(folder: &Path, body: &New) -> io::Result<File> {
    let text = encode(body)?;
    let old = folder.join(Old::NAME);
    let file = OpenOptions::new().write(true).custom_flags(libc::O_NOFOLLOW).open(&old)?;
    file.write_all_at(&text, 0)?;
    file.set_len(text.len() as u64)?;
    fs::rename(&old, folder.join(New::NAME))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exit() -> ExitRecord {
        ExitRecord {
            outcome: ProcessEnd::Code(3),
            timed_out: false,
            stopped_by: Some(StopRequest::OrphanKill),
            started_at: Timestamp::UNIX_EPOCH,
            ended_at: Timestamp::UNIX_EPOCH,
            duration_ms: 12,
            output_bytes: 5,
            output_dropped_bytes: 0,
            log_error: None,
            redacted: 1,
            uncleaned: false,
            left_running: Vec::new(),
            frames: None,
        }
    }

    /// A record with the seal of frames comes back; one from before it is read as one without.
    #[test]
    fn a_seal_of_frames_comes_back() {
        let head = FileSeal { bytes: 3, hash: Some("ab".to_owned()) };
        let frames = FramesSeal { head, cost_nano_usd: Some(7), ..FramesSeal::default() };
        let sealed = ExitRecord { frames: Some(frames), ..exit() };
        let text = encode(&sealed).expect("a plain struct");
        let line = concat!(
            r#""frames":{"head":{"bytes":3,"hash":"ab"},"older":{"bytes":0,"hash":null},"newer":{"bytes":0,"hash":null},"#,
            r#""cost_nano_usd":7}}}"#,
        );
        assert!(String::from_utf8_lossy(&text).contains(line), "{}", String::from_utf8_lossy(&text));
        assert_eq!(decode::<ExitRecord>(&text).expect("our own bytes"), sealed);
    }

    /// A record is read back as it was written, and its form on disk is a promise.
    #[test]
    fn a_record_comes_back_as_it_went_in() {
        let text = encode(&exit()).expect("a plain struct");
        let line = concat!(
            r#"{"record":"EXIT","version":1,"body":{"outcome":{"code":3},"timed_out":false,"stopped_by":"orphan_kill","#,
            r#""started_at":"1970-01-01T00:00:00Z","ended_at":"1970-01-01T00:00:00Z","duration_ms":12,"output_bytes":5,"#,
            r#""output_dropped_bytes":0,"log_error":null,"redacted":1}}"#,
        );
        assert_eq!(text.split(|&byte| byte == b'\n').next(), Some(line.as_bytes()));
        assert_eq!(decode::<ExitRecord>(&text).expect("our own bytes"), exit());
    }

    /// Any byte of a record is changed, or its end is missing. It is never taken for a record.
    #[test]
    fn every_damage_is_seen() {
        let text = encode(&exit()).expect("a plain struct");
        let damaged = |text: &[u8]| matches!(decode::<ExitRecord>(text), Err(RecordError::Damaged { .. }));
        for at in 0..text.len() - 1 {
            for by in 1..=u8::MAX {
                let mut changed = text.clone();
                changed[at] ^= by;
                assert!(damaged(&changed), "byte {at} changed by {by:#x} was not called damage");
            }
            assert!(damaged(&text[..at]), "a cut at byte {at} was not called damage");
        }
        assert!(decode::<ExitRecord>(&vec![0; text.len()]).is_err(), "zeros were taken for a record");
    }

    /// The disk is full and the outcome takes the place of the record of the start. It is whole, and the start is gone.
    #[test]
    fn a_record_takes_the_place_of_another() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (boot_id, at) = ("b".repeat(600), Timestamp::UNIX_EPOCH);
        let started = Started { attendant_pid: 1, start_time: 2, boot_id, at, secrets: None, surroundings: None };
        write(folder.path(), &started).expect("a writable folder");
        write_in_place_of::<Started, _>(folder.path(), &exit()).expect("a writable folder");
        let text = fs::read(folder.path().join("EXIT")).expect("it is there");
        assert_eq!(decode::<ExitRecord>(&text).expect("a whole record"), exit());
        assert!(!folder.path().join("STARTED").exists());
    }

    /// A later version writes a record with another body. It is called newer, not damaged.
    #[test]
    fn a_newer_record_is_called_newer() {
        let line = r#"{"record":"EXIT","version":2,"body":7}"#;
        let text = format!("{line}\n{}\n", blake3::hash(line.as_bytes()).to_hex());
        assert!(matches!(decode::<ExitRecord>(text.as_bytes()), Err(RecordError::Newer { version: 2, .. })));
    }
}
