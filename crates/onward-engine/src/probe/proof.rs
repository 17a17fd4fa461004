//! Whether a phase that says it is done is done: what it was to leave behind is looked at, its checks are run, its probe
//! is asked. Core judges.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, PipeReader, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use onward_core::event::ArtifactSeen;
use onward_core::id::Attempt;
use onward_core::plan::Phase;
use onward_core::run::proof::{self, ArtifactFound, ArtifactState, CheckEnd, Effect, Proof};
use onward_core::run::{PhaseState, Run};

use super::command::{self, Patience};
use super::phase::shell_of;
use crate::attendant::AttemptFolder;
use crate::executor::shell;
use crate::flight;
use crate::project::Project;

/// A check that takes longer than this has not passed, where its phase has no timeout of its own.
const CHECK_TIME_MAX: Duration = Duration::from_mins(30);
/// Files of one folder that are read at most.
const FILES_PER_ARTIFACT_MAX: u32 = 10_000;
/// Characters of the last line of a check that an error holds.
const SAID_CHARS_MAX: usize = 200;
const LOG: &str = "verify.log";
/// An artifact up to this size is read whenever somebody wants to know whether it is what it was.
const READ_ANYWAY_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Times of files are taken from a clock that moves in steps.
const CLOCK_STEP: SignedDuration = SignedDuration::from_millis(100);

/// All that is needed to look, so that it can be done beside everything else.
pub(crate) struct Looking {
    top: PathBuf,
    folder: PathBuf,
    shell: Vec<String>,
    env: Result<Vec<(OsString, OsString)>, String>,
    /// Names and paths, filled in.
    artifacts: Vec<(String, Option<String>)>,
    verify: Vec<String>,
    done_when: Vec<String>,
    time_max: Duration,
    log: AttemptFolder,
}

impl Looking {
    /// `more` are artifacts that whoever did the phase names beside those of the plan.
    pub(crate) fn at(project: &Project, run: &Run, phase: &Phase, more: &[String]) -> Self {
        let top = shell::top(project, run);
        let attempts = run.phase_state(&phase.id).map_or(1, |state| state.attempts.max(1));
        let planned = phase.artifacts.iter().map(|artifact| (artifact.name.clone(), shell::fill(run, &artifact.path)));
        Self {
            folder: top.join(phase.working_directory.as_deref().unwrap_or(".")),
            shell: shell_of(phase),
            env: shell::probe_environment(project, run, phase),
            artifacts: planned.chain(more.iter().map(|path| (path.clone(), Some(path.clone())))).collect(),
            verify: phase.verify.clone(),
            done_when: phase.done_when.clone(),
            time_max: phase.timeout.unwrap_or(CHECK_TIME_MAX),
            log: shell::folder(project, run, &phase.id, Attempt(attempts)),
            top,
        }
    }

    /// Looks at the artifacts first; the first thing that is missing ends it.
    pub(crate) fn look(&self, given_up: &AtomicBool) -> Proof {
        let artifacts: Vec<ArtifactFound> =
            self.artifacts.iter().map(|(name, path)| self.artifact(name, path.as_ref())).collect();
        let lacking = artifacts.iter().any(|found| !matches!(found.state, ArtifactState::There { .. }));
        let mut proof = Proof { artifacts, checks: Vec::new(), effect: None };
        if lacking && self.nothing_else_matters(&proof) {
            return proof;
        }
        for script in &self.verify {
            let end = self.check(script, given_up);
            let passed = end.code == Some(0);
            proof.checks.push(end);
            if !passed {
                return proof;
            }
        }
        if !self.done_when.is_empty() {
            proof.effect = Some(self.effect(given_up));
        }
        proof
    }

    /// A missing artifact may be one that need not be there; only core knows.
    fn nothing_else_matters(&self, proof: &Proof) -> bool {
        self.verify.is_empty() && self.done_when.is_empty()
            || proof.artifacts.iter().any(|found| matches!(found.state, ArtifactState::Refused { .. }))
    }

    fn artifact(&self, name: &str, path: Option<&String>) -> ArtifactFound {
        let (path, state) = match path {
            Some(path) => (path.clone(), seen(&self.top, path)),
            None => (String::new(), ArtifactState::Refused { why: "its path cannot be filled in".to_owned() }),
        };
        ArtifactFound { name: name.to_owned(), path, state }
    }

    fn check(&self, script: &str, given_up: &AtomicBool) -> CheckEnd {
        let env = match &self.env {
            Ok(env) => env.clone(),
            Err(why) => return CheckEnd { command: script.to_owned(), code: None, said: why.clone() },
        };
        let patience = Patience { time_max: self.time_max, bytes_max: command::OUTPUT_BYTES_MAX, given_up };
        let ran = command::run_and_hear(&self.folder, &self.shell, script, env, patience);
        let output = flight::secrets().bytes(&ran.output);
        // What a check printed is for people; that it cannot be kept does not change what it found.
        let _ = self.keep(script, &output);
        let text = String::from_utf8_lossy(&output);
        let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let said = if ran.code.is_none() { ran.why } else { last.chars().take(SAID_CHARS_MAX).collect() };
        CheckEnd { command: flight::secrets().text(script).into_owned(), code: ran.code, said }
    }

    fn keep(&self, script: &str, output: &[u8]) -> io::Result<()> {
        if !self.log.path().exists() {
            self.log.create().map_err(io::Error::other)?;
        }
        let mut options = OpenOptions::new();
        options.append(true).create(true).mode(0o600).custom_flags(libc::O_NOFOLLOW);
        let mut file = options.open(self.log.path().join(LOG))?;
        let heading = format!("$ {}\n", flight::secrets().text(script));
        file.write_all(heading.as_bytes())?;
        file.write_all(output)
    }

    fn effect(&self, given_up: &AtomicBool) -> Effect {
        let Ok(env) = &self.env else { return Effect::CannotTell };
        let patience = Patience { time_max: command::TIME_MAX, bytes_max: command::OUTPUT_BYTES_MAX, given_up };
        let mut codes = Vec::new();
        for script in &self.done_when {
            let code = command::run_and_hear(&self.folder, &self.shell, script, env.clone(), patience).code;
            codes.push(code);
            if code != Some(0) {
                break;
            }
        }
        proof::effect(&codes)
    }
}

/// What lies where a finished phase left its artifacts. One that cannot be looked at any more is there, and another one.
pub(super) fn artifacts_now(project: &Project, run: &Run, state: &PhaseState) -> Vec<ArtifactSeen> {
    let top = shell::top(project, run);
    let now = |then: &ArtifactSeen| {
        if is_untouched(&top.join(&then.path), then, state.ended_at) {
            return Some(then.clone());
        }
        let (bytes, digest) = match seen(&top, &then.path) {
            ArtifactState::There { bytes, digest } => (bytes, digest),
            ArtifactState::Missing => return None,
            ArtifactState::Refused { .. } => (0, String::new()),
        };
        Some(ArtifactSeen { bytes, digest, ..then.clone() })
    };
    state.artifacts.iter().filter_map(now).collect()
}

/// Whether a large file certainly is what it was: nothing about it, not even its name, has changed since the phase ended. Nobody
/// can set that time. What is small is read all the same.
fn is_untouched(path: &Path, then: &ArtifactSeen, done_at: Option<Timestamp>) -> bool {
    let Some(limit) = done_at.and_then(|at| at.checked_sub(CLOCK_STEP).ok()) else { return false };
    let Ok(about) = fs::symlink_metadata(path) else { return false };
    let large = about.is_file() && about.len() == then.bytes && then.bytes > READ_ANYWAY_BYTES_MAX;
    large && (about.ctime(), about.ctime_nsec()) < (limit.as_second(), i64::from(limit.subsec_nanosecond()))
}

/// What lies at a path below the top. What leads out of it is not even looked at.
fn seen(top: &Path, path: &str) -> ArtifactState {
    let refused = |why: &str| ArtifactState::Refused { why: why.to_owned() };
    let inside = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    if path.is_empty() || !Path::new(path).components().all(inside) {
        return refused("it is outside the project");
    }
    let whole = top.join(path);
    let real = match (fs::canonicalize(&whole), fs::canonicalize(top)) {
        (Ok(real), Ok(top)) if real.starts_with(&top) => real,
        (Ok(_), Ok(_)) => return refused("it leads out of the project"),
        (Err(why), _) if why.kind() == io::ErrorKind::NotFound && fs::symlink_metadata(&whole).is_ok() => {
            return refused("it is a link that leads nowhere");
        }
        (Err(why), _) if matches!(why.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return ArtifactState::Missing;
        }
        (Err(why), _) | (_, Err(why)) => return refused(&why.to_string()),
    };
    let mut hasher = blake3::Hasher::new();
    let mut files_left = FILES_PER_ARTIFACT_MAX;
    match digest(&real, &mut hasher, &mut files_left) {
        Ok(bytes) => ArtifactState::There { bytes, digest: hasher.finalize().to_hex().to_string() },
        Err(why) => refused(&format!("it cannot be read: {why}")),
    }
}

/// The bytes of a file, or of all files of a folder with their names. Links inside a folder are named and not followed.
fn digest(path: &Path, hasher: &mut blake3::Hasher, files_left: &mut u32) -> io::Result<u64> {
    let kind = fs::symlink_metadata(path)?;
    if kind.is_file() {
        return io::copy(&mut File::open(path)?, hasher);
    }
    if !kind.is_dir() {
        return Ok(0);
    }
    let mut names: Vec<OsString> =
        fs::read_dir(path)?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<_>>()?;
    names.sort_unstable();
    let mut bytes = 0;
    for name in names {
        *files_left = files_left.checked_sub(1).ok_or_else(|| io::Error::other("it has too many files"))?;
        hasher.update(name.as_encoded_bytes()).update(&[0]);
        bytes += digest(&path.join(name), hasher, files_left)?;
    }
    Ok(bytes)
}

/// A look that is under way in a thread of its own: whoever drives must not stand still for it.
pub(crate) struct Proving {
    thread: Option<JoinHandle<Proof>>,
    /// Readable once the look is over.
    over: Option<PipeReader>,
    given_up: Arc<AtomicBool>,
}

impl Proving {
    pub(crate) fn begin(looking: Looking) -> Self {
        let given_up = Arc::new(AtomicBool::new(false));
        let flag = given_up.clone();
        // Without a pipe its end is noticed at the next look at everything.
        let (over, writer) = std::io::pipe().map_or((None, None), |(reader, writer)| (Some(reader), Some(writer)));
        let thread = std::thread::spawn(move || {
            let _writer = writer;
            looking.look(&flag)
        });
        Self { thread: Some(thread), over, given_up }
    }

    pub(crate) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.over.as_ref().map(AsFd::as_fd)
    }

    /// What was found, once all of it was looked at.
    pub(crate) fn proof(&mut self) -> Option<Proof> {
        let thread = self.thread.take_if(|thread| thread.is_finished())?;
        // A look that broke down has seen nothing; a probe that did not answer cannot tell.
        Some(thread.join().unwrap_or(Proof { effect: Some(Effect::CannotTell), ..Proof::default() }))
    }
}

impl Drop for Proving {
    /// What is still being looked at is of no use to anybody any more, and what was started for it is ended.
    fn drop(&mut self) {
        self.given_up.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
