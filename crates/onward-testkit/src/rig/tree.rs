//! The processes of a project, by what they are.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::deeds::OUTWARD;
use super::lane::has_effect;
use crate::TestProject;

/// A process in a long system call stops when that is over.
const HELD_MAX: Duration = Duration::from_millis(200);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProcessKind {
    Driver,
    Attendant,
    /// The main process of a phase.
    Main,
    /// Anything below the main process, wherever it has gone.
    Child,
    /// A check or a probe of a phase, or a command that makes a plan.
    Check,
    /// A command that posts: `report`, `state merge`, `checkpoint`, `approve`.
    Poster,
    /// git, called by a driver or a poster.
    Helper,
}

impl fmt::Display for ProcessKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Driver => "driver",
            Self::Attendant => "attendant",
            Self::Main => "main process",
            Self::Child => "child",
            Self::Check => "check",
            Self::Poster => "poster",
            Self::Helper => "helper",
        })
    }
}

/// An attempt, by the names that its folder has.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AttemptName {
    pub run: String,
    pub phase: String,
    pub attempt: u32,
}

impl AttemptName {
    /// Where its attendant leaves the outcome.
    pub(super) fn exit_record(&self, project: &TestProject) -> PathBuf {
        let phase = self.phase.replace('/', "%2F");
        project.path(format!(".onward/attempts/{}/{phase}/{}/EXIT", self.run, self.attempt))
    }
}

#[derive(Clone, Debug)]
pub(super) struct Process {
    pub(super) pid: u32,
    pub(super) kind: ProcessKind,
    /// The attempt that it belongs to, if it belongs to one.
    pub(super) of: Option<AttemptName>,
    pub(super) command: String,
}

/// Processes of phases with an outward effect that live although the effect has happened.
pub(super) fn after_an_effect(project: &TestProject, binary: &Path) -> Vec<Process> {
    let is_outward =
        |name: &AttemptName| OUTWARD.contains(&name.phase.as_str()) && has_effect(project, &name.run, &name.phase);
    let is_work = |process: &Process| matches!(process.kind, ProcessKind::Main | ProcessKind::Child);
    let all = processes(project, binary).into_iter();
    all.filter(|process| is_work(process) && process.of.as_ref().is_some_and(is_outward)).collect()
}

/// All processes of the project that live now.
pub(super) fn processes(project: &TestProject, binary: &Path) -> Vec<Process> {
    project.processes().into_iter().filter_map(|pid| identify(pid, binary)).collect()
}

/// A process that was told to stop, once it has: nothing of it changes any more.
pub(super) fn held(pid: u32, binary: &Path) -> Option<Process> {
    let since = Instant::now();
    while since.elapsed() < HELD_MAX {
        match state(pid)?.as_str() {
            "T" | "t" => return identify(pid, binary),
            "Z" | "X" => return None,
            _ => sleep(Duration::from_millis(1)),
        }
    }
    None
}

fn identify(pid: u32, binary: &Path) -> Option<Process> {
    let words = null_separated(pid, "cmdline")?;
    let environment: BTreeMap<String, String> = null_separated(pid, "environ")?
        .into_iter()
        .filter_map(|pair| pair.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned())))
        .collect();
    let is_ours = fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe == binary);
    let verb = words.get(1).map(String::as_str).unwrap_or_default();
    let mut of = attempt_in(&environment);
    let kind = match (is_ours, verb) {
        (true, "__attend") => {
            of = Some(AttemptName {
                run: words.get(2)?.clone(),
                phase: words.get(3)?.clone(),
                attempt: words.get(4)?.parse().ok()?,
            });
            ProcessKind::Attendant
        }
        (true, "run" | "resume") => ProcessKind::Driver,
        (true, _) => ProcessKind::Poster,
        (false, _) if of.is_none() && words.first().is_some_and(|word| word.ends_with("git")) => ProcessKind::Helper,
        // It is just becoming another program and shows no environment: nobody can tell whose it is.
        (false, _) if of.is_none() => return None,
        (false, _) if is_attendant(parent(pid)?, binary) && group(pid) == Some(pid) => ProcessKind::Main,
        // What a driver or a poster starts for a phase has no progress to tell.
        (false, _) if !environment.contains_key("ONWARD_OUTPUT") && !environment.contains_key("RIG_OF") => {
            ProcessKind::Check
        }
        (false, _) => ProcessKind::Child,
    };
    Some(Process { pid, kind, of, command: words.join(" ").chars().take(100).collect() })
}

fn attempt_in(environment: &BTreeMap<String, String>) -> Option<AttemptName> {
    if let Some(of) = environment.get("RIG_OF") {
        let mut words = of.split(' ').map(str::to_owned);
        return Some(AttemptName { run: words.next()?, phase: words.next()?, attempt: words.next()?.parse().ok()? });
    }
    let value = |name: &str| environment.get(name).cloned();
    Some(AttemptName {
        run: value("ONWARD_RUN")?,
        phase: value("ONWARD_PHASE")?,
        attempt: value("ONWARD_ATTEMPT")?.parse().ok()?,
    })
}

fn is_attendant(pid: u32, binary: &Path) -> bool {
    fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe == binary)
        && null_separated(pid, "cmdline").is_some_and(|words| words.get(1).is_some_and(|verb| verb == "__attend"))
}

fn null_separated(pid: u32, file: &str) -> Option<Vec<String>> {
    let bytes = fs::read(format!("/proc/{pid}/{file}")).ok()?;
    Some(bytes.split(|byte| *byte == 0).map(|part| String::from_utf8_lossy(part).into_owned()).collect())
}

fn parent(pid: u32) -> Option<u32> {
    stat_field(pid, 1)
}

fn group(pid: u32) -> Option<u32> {
    stat_field(pid, 2)
}

fn state(pid: u32) -> Option<String> {
    stat_text(pid, 0)
}

fn stat_field(pid: u32, at: usize) -> Option<u32> {
    stat_text(pid, at)?.parse().ok()
}

/// A field after the name, which stands in brackets and may hold anything.
fn stat_text(pid: u32, at: usize) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(at).map(str::to_owned)
}
