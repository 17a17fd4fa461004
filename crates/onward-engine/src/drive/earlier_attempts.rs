//! Earlier attempts at a phase: nothing of them may be there any more when the next one is started.
//!
//! An attendant ends all of an attempt that did not succeed. Yet it may have been killed before it could, or not have been allowed
//! to. What is found then is ended here, and what cannot be ended keeps the next attempt from being started.

use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use onward_core::id::{Attempt, PhaseId};
use onward_core::mutant::{self, Defect};
use onward_core::run::Run;

use crate::attendant::{AttemptFolder, ExitRecord, ProcessEnd};
use crate::drive::running_attempt::boot_now;
use crate::executor::shell;
use crate::project::Project;
use crate::sys::process::{self, Pid};

/// How many earlier attempts are looked for, the latest first. Those before were looked for when the later ones were started.
const FORMER_ATTEMPTS_MAX: u32 = 100;

/// How long what cannot be ended is waited for, and how often it is looked at.
const FORMER_WAIT_MAX: Duration = Duration::from_secs(10);
const FORMER_LOOK_EVERY: Duration = Duration::from_millis(250);

/// The phases that wait for the end of an earlier attempt.
#[derive(Default)]
pub(crate) struct Former {
    waiting: BTreeMap<(PhaseId, Attempt), WaitedFor>,
}

struct WaitedFor {
    since: Instant,
    looked: Instant,
}

/// Whether an attempt may be started.
pub(crate) enum Cleared {
    /// Nothing is there of earlier ones.
    Nothing,
    /// Something is, and is given a little time.
    NotYet,
    /// Something is, and cannot be ended.
    Never(String),
}

impl Former {
    /// Ends what is there of earlier attempts, and says whether the next one may be started.
    pub(crate) fn clear(&mut self, project: &Project, run: &Run, phase: &PhaseId, attempt: Attempt) -> Cleared {
        if attempt.0 <= 1 || mutant::has(Defect::LetTheRestLive) {
            return Cleared::Nothing;
        }
        let (key, now) = ((phase.clone(), attempt), Instant::now());
        if self.waiting.get(&key).is_some_and(|waiting| now < waiting.looked + FORMER_LOOK_EVERY) {
            return Cleared::NotYet;
        }
        let first = attempt.0.saturating_sub(FORMER_ATTEMPTS_MAX).max(1);
        let folders: Vec<AttemptFolder> =
            (first..attempt.0).rev().map(|number| shell::folder(project, run, phase, Attempt(number))).collect();
        let left = match end_all(&folders) {
            Ok(left) if left.is_empty() => {
                self.waiting.remove(&key);
                return Cleared::Nothing;
            }
            Ok(left) => format!("of an earlier attempt there is still {} and cannot be ended", left.join(", ")),
            Err(why) => format!("whether anything of an earlier attempt is still there cannot be seen: {why}"),
        };
        let waiting = self.waiting.entry(key.clone()).or_insert(WaitedFor { since: now, looked: now });
        waiting.looked = now;
        if now < waiting.since + FORMER_WAIT_MAX {
            return Cleared::NotYet;
        }
        self.waiting.remove(&key);
        Cleared::Never(left)
    }
}

/// Ends what is there of these attempts, the latest of which comes first; gives what is still there, in words. What an attempt that
/// succeeded left running was let be, and is let be now.
fn end_all(folders: &[AttemptFolder]) -> io::Result<Vec<String>> {
    let carried = process::carried()?;
    let mut left = Vec::new();
    for folder in folders.iter().filter(|folder| carried.contains(&folder.tag())) {
        if !exit_of(folder).as_ref().is_some_and(succeeded) {
            let mark = folder.mark(&boot_now());
            left.extend(mark.kill()?.into_iter().map(|one| in_words(one.pid)));
        }
    }
    // Numbers of processes mean nothing across a boot.
    let boot = boot_now();
    let same_boot = |folder: &&AttemptFolder| matches!(folder.started(), Ok(Some(started)) if started.boot_id == boot);
    let latest = folders.first().filter(same_boot).and_then(exit_of).filter(|exit| !succeeded(exit));
    for one in latest.map(|exit| exit.left_running).unwrap_or_default() {
        let pid = Pid::from_raw(one.pid);
        let _ = process::signal(pid, one.start_time, Signal::SIGKILL);
        if process::alive(pid, one.start_time) {
            left.push(in_words(pid));
        }
    }
    left.sort_unstable();
    left.dedup();
    Ok(left)
}

fn in_words(pid: Pid) -> String {
    format!("process {pid} ({})", process::program_name(pid))
}

fn exit_of(folder: &AttemptFolder) -> Option<ExitRecord> {
    folder.exit().ok().flatten()
}

fn succeeded(exit: &ExitRecord) -> bool {
    exit.outcome == ProcessEnd::Code(0) && exit.stopped_by.is_none() && !exit.timed_out
}
