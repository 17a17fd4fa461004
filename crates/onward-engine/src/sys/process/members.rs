//! The processes of one attempt: how they are told from all others, and how all of them are ended.
//!
//! Three things tell, and each holds where the others fail. A tag in the environment survives `setsid`, double forks and the death
//! of every parent. The main process is on record by its number and start time, also if it sheds the tag. Whoever descends from
//! one that is known belongs to it too; under a subreaper these are all that were ever started. And a group that one of them leads
//! is killed as a whole, at once for all that are in it, so that nobody gets away by forking. What has lost its tag and its parent while no subreaper
//! was there any more is not found. Numbers alone, of sessions too, tell nothing: they are given out again.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::getpgrp;
use onward_store::listing;

use super::{Pid, Stat, TREE_VARIABLE, alive, signal};

/// How long, and how often, processes that keep appearing are looked for and killed before the rest is given up.
const KILL_TIME_MAX: Duration = Duration::from_millis(1_500);
const KILL_ROUNDS_MAX: u32 = 300;

/// Time for the kernel to take down what was just killed, or for a process to become another program, before the next look.
const LOOK_PAUSE: Duration = Duration::from_millis(4);

/// The mark that tells the processes of one attempt, or of one look, from all others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptMark {
    /// An element of `ONWARD_TREE`.
    pub tag: String,
    /// The main process, where it is known.
    pub main: Option<Member>,
    /// All that descends from this process belongs to it.
    pub root: Option<Pid>,
    /// Belongs to it and is left alone: an attendant to which whatever loses its parent still comes.
    pub spared: Option<Pid>,
}

/// A living process that belongs to an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Member {
    pub pid: Pid,
    pub start_time: u64,
}

/// Looks in a row that find nothing before everything counts as ended.
const EMPTY_LOOKS: u32 = 2;
/// The same for processes that were met in several rounds.
const EMPTY_LOOKS_AFTER_A_CHASE: u32 = 12;
/// Looks at our own children, each of some microseconds, before the whole machine is looked at.
const CHASE_ROUNDS_MAX: u32 = 2_000;

#[derive(Clone, Copy, PartialEq, Eq)]
enum MemberAct {
    Look,
    Kill,
}

impl AttemptMark {
    pub fn tagged(tag: &str) -> Self {
        Self { tag: tag.to_owned(), main: None, root: None, spared: None }
    }

    /// All that is there of it now. A process that is just becoming another program shows no environment for a moment, so nobody
    /// counts as gone before two looks.
    pub fn members(&self) -> io::Result<Vec<Member>> {
        let found = self.pass(MemberAct::Look)?;
        if !found.is_empty() {
            return Ok(found);
        }
        thread::sleep(LOOK_PAUSE);
        self.pass(MemberAct::Look)
    }

    /// Kills all of it, again and again until two looks in a row find nothing; more of them where it had to be chased, since what
    /// forks and ends at once can slip past a look. Gives what is still there in the end: processes that the kernel cannot end now or
    /// that we may not.
    pub fn kill(&self) -> io::Result<Vec<Member>> {
        let until = Instant::now() + KILL_TIME_MAX;
        let (mut empty_in_a_row, mut rounds_that_met_some, mut left) = (0, 0, Ok(Vec::new()));
        for _ in 0..KILL_ROUNDS_MAX {
            if self.root == Some(Pid::this()) {
                chase_children();
            }
            left = self.pass(MemberAct::Kill);
            let empty = left.as_ref().is_ok_and(Vec::is_empty);
            (empty_in_a_row, rounds_that_met_some) =
                if empty { (empty_in_a_row + 1, rounds_that_met_some) } else { (0, rounds_that_met_some + 1) };
            let enough = if rounds_that_met_some > 2 { EMPTY_LOOKS_AFTER_A_CHASE } else { EMPTY_LOOKS };
            if empty_in_a_row == enough || Instant::now() >= until {
                break;
            }
            thread::sleep(LOOK_PAUSE);
        }
        left
    }

    /// One look at every process there is, from the oldest number to the newest: one that forks and ends at once, again and again,
    /// is met where it goes. A look that could not see everything is an error, and kills what it saw all the same.
    fn pass(&self, act: MemberAct) -> io::Result<Vec<Member>> {
        let mut others: BTreeMap<Pid, Vec<(Pid, Stat)>> = BTreeMap::new();
        let (mut found, mut trouble) = (Vec::new(), None);
        let take = |pid: Pid, stat: Stat, found: &mut Vec<Member>| {
            found.push(Member { pid, start_time: stat.start_time });
            if act == MemberAct::Kill {
                // A group that one of ours leads is ours; first, while its leader is there and its number can be nobody else's.
                // One that is gone or cannot be killed is found out by the next look.
                if stat.group == pid && pid != getpgrp() && alive(pid, stat.start_time) {
                    let _ = killpg(pid, Signal::SIGKILL);
                }
                let _ = signal(pid, stat.start_time, Signal::SIGKILL);
            }
        };
        for pid in all_pids()?.filter(|pid| *pid != Pid::this() && Some(*pid) != self.spared) {
            let stat = match Stat::read(pid) {
                Ok(stat) => stat,
                Err(why) => {
                    trouble = trouble.or(Some(why).filter(is_shortage));
                    continue;
                }
            };
            let known = self.main == Some(Member { pid, start_time: stat.start_time });
            let tagged = if known { Ok(true) } else { carries(pid, &self.tag) };
            if stat.lives() && *tagged.as_ref().unwrap_or(&false) {
                take(pid, stat, &mut found);
            } else {
                others.entry(stat.parent).or_default().push((pid, stat));
            }
            trouble = trouble.or(tagged.err());
        }
        let mut parents: Vec<Pid> = found.iter().map(|one| one.pid).chain(self.root).collect();
        while let Some(parent) = parents.pop() {
            for (pid, stat) in others.remove(&parent).unwrap_or_default() {
                parents.push(pid);
                if stat.lives() {
                    take(pid, stat, &mut found);
                }
            }
        }
        found.sort_unstable();
        trouble.map_or(Ok(found), Err)
    }
}

/// Kills our own children until none is left for a while. Under a subreaper whatever loses its parent becomes one of them, so that
/// what forks and ends at once, again and again, is always in this short list.
fn chase_children() {
    let mut empty_in_a_row = 0;
    for _ in 0..CHASE_ROUNDS_MAX {
        let mut living = children().into_iter().filter(|(_, stat)| stat.lives()).peekable();
        empty_in_a_row = if living.peek().is_none() { empty_in_a_row + 1 } else { 0 };
        if empty_in_a_row == EMPTY_LOOKS_AFTER_A_CHASE {
            return;
        }
        living.for_each(|(pid, stat)| drop(signal(pid, stat.start_time, Signal::SIGKILL)));
        thread::yield_now();
    }
}

/// The children of this process, those that have ended included.
fn children() -> Vec<(Pid, Stat)> {
    let threads = listing::readable("/proc/self/task").into_iter();
    let lists = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let pids: Vec<Pid> = lists
        .flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<i32>>())
        .map(Pid::from_raw)
        .collect();
    pids.into_iter().filter_map(|pid| Some((pid, Stat::read(pid).ok()?))).collect()
}

/// Every process that carries the tag in its environment, without those in `except`. Zombies carry nothing any more.
pub fn sweep(tag: &str, except: &[Pid]) -> io::Result<Vec<Pid>> {
    let mut found = Vec::new();
    for pid in all_pids()?.filter(|pid| !except.contains(pid)) {
        if carries(pid, tag)? {
            found.push(pid);
        }
    }
    Ok(found)
}

/// All tags that any other process carries now.
pub fn carried() -> io::Result<BTreeSet<String>> {
    let mut tags = BTreeSet::new();
    for pid in all_pids()?.filter(|pid| *pid != Pid::this()) {
        tags.extend(tags_in(&environment(pid)?).map(|tag| String::from_utf8_lossy(tag).into_owned()));
    }
    Ok(tags)
}

/// Every other process that was given a path in this variable, and the path. Zombies have none any more.
pub(crate) fn given_paths(variable: &str) -> io::Result<Vec<(Pid, PathBuf)>> {
    let mut given = Vec::new();
    for pid in all_pids()?.filter(|pid| *pid != Pid::this()) {
        let environment = environment(pid)?;
        let value = |one: &[u8]| -> Option<PathBuf> {
            let path = one.strip_prefix(variable.as_bytes())?.strip_prefix(b"=")?;
            Some(PathBuf::from(OsStr::from_bytes(path)))
        };
        given.extend(environment.split(|&byte| byte == 0).find_map(value).map(|path| (pid, path)));
    }
    Ok(given)
}

/// The tag of the innermost attempt that a process descends from.
pub(crate) fn last_tag(pid: Pid) -> io::Result<Option<String>> {
    let environment = environment(pid)?;
    Ok(tags_in(&environment).last().map(|tag| String::from_utf8_lossy(tag).into_owned()))
}

/// Kills the group, then everything that carries the tag and what belongs to it. Gives what is still there in the end.
pub fn kill_tree(group: Option<Pid>, tag: &str) -> io::Result<Vec<Member>> {
    if let Some(group) = group {
        // A group that is empty by now is what we want.
        let _ = killpg(group, Signal::SIGKILL);
    }
    AttemptMark::tagged(tag).kill()
}

/// Whether one of the tags in the environment of the process is this one.
fn carries(pid: Pid, tag: &str) -> io::Result<bool> {
    Ok(tags_in(&environment(pid)?).any(|one| one == tag.as_bytes()))
}

/// A process of somebody else, or one that has just ended, cannot be read and is none of ours. That we have no room to read it says
/// nothing about it.
fn environment(pid: Pid) -> io::Result<Vec<u8>> {
    match fs::read(format!("/proc/{pid}/environ")) {
        Ok(environment) => Ok(environment),
        Err(why) if is_shortage(&why) => Err(why),
        Err(_) => Ok(Vec::new()),
    }
}

/// Whether an error is about us or the whole machine and not about what was asked for: it may be gone at the next try.
pub(crate) fn is_shortage(why: &io::Error) -> bool {
    matches!(
        why.raw_os_error(),
        Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM | libc::EINTR | libc::EAGAIN | libc::EIO | libc::ENOSPC)
    )
}

/// The same, or a refusal of the system: of what is our own that, too, may be gone at the next try, and says nothing about it.
pub(crate) fn may_pass(why: &io::Error) -> bool {
    is_shortage(why) || why.raw_os_error() == Some(libc::EPERM)
}

fn tags_in(environment: &[u8]) -> impl Iterator<Item = &[u8]> {
    environment
        .split(|&byte| byte == 0)
        .filter_map(|variable| variable.strip_prefix(TREE_VARIABLE.as_bytes())?.strip_prefix(b"="))
        .flat_map(|tags| tags.split(|&byte| byte == b','))
        .filter(|tag| !tag.is_empty())
}

pub(super) fn all_pids() -> io::Result<impl Iterator<Item = Pid>> {
    let entries = listing::all("/proc")?;
    Ok(entries.into_iter().filter_map(|entry| entry.file_name().to_str()?.parse().ok().map(Pid::from_raw)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tags are elements of a list. A tag that is the beginning of another one does not stand for it.
    #[test]
    fn a_tag_is_a_whole_element() {
        let environment = b"PATH=/bin\0ONWARD_TREE=run-a,run-b1\0X_ONWARD_TREE=run-c\0";
        let tags: Vec<&[u8]> = tags_in(environment).collect();
        assert_eq!(tags, [b"run-a".as_slice(), b"run-b1"]);
    }
}
