//! One look at a phase at a time, and the end of what a look left behind whose process was killed.
//!
//! The commands of a look are children of a process that may be killed alone. They carry a mark in their environment, and a
//! file says that they may be at work: whoever looks next, or drives the run next, ends them first. The file is locked as long
//! as its writer lives, so that nobody is ended who is only to be waited for.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use onward_core::id::{PhaseId, RunId};
use onward_store::lock::{Hold, is_still_there, try_lock};
use onward_store::{listing, private};

use super::command;
use crate::attendant::tree_value;
use crate::project::Project;
use crate::sys::file_lock::LOCK_LOOK_EVERY;
use crate::sys::process::{self, TREE_VARIABLE};
use crate::sys::stop;

/// Where it stands that a phase is looked at.
#[derive(Clone, Debug)]
pub(crate) struct ProbePlace {
    folder: PathBuf,
    tag: String,
}

/// The purpose of a command that is started for a phase beside its attempts.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ProbePurpose {
    /// To see whether it is done.
    Proof,
    /// To make another plan.
    Replan,
    /// To see whether what it requires is there.
    Requirement,
}

impl ProbePlace {
    pub(crate) fn new(project: &Project, run: &RunId, phase: &PhaseId, why: ProbePurpose) -> Self {
        let folder = folder(project, run);
        let why: &[u8] = match why {
            ProbePurpose::Proof => b"",
            ProbePurpose::Replan => b"\0replan",
            ProbePurpose::Requirement => b"\0requires",
        };
        let name = [folder.as_os_str().as_encoded_bytes(), b"\0", phase.as_str().as_bytes(), why].concat();
        Self { folder, tag: blake3::hash(&name).to_hex()[..24].to_owned() }
    }

    /// The mark of everything that is started for the look.
    pub(crate) fn tag(&self) -> &str {
        &self.tag
    }

    /// The variable that carries the mark.
    pub(crate) fn variable(&self) -> (&'static str, String) {
        let inherited = std::env::var(TREE_VARIABLE).ok();
        (TREE_VARIABLE, tree_value(inherited.as_deref(), &self.tag))
    }

    /// Waits until nobody else looks, and ends what somebody left behind who was killed. None where it was given up; an error
    /// where nothing can be written, for a while: without the file the next one would know of nothing.
    pub(crate) fn take(&self, given_up: &AtomicBool) -> io::Result<Option<ProbeLock>> {
        command::through_shortages(given_up, || self.take_at_once(given_up))
    }

    fn take_at_once(&self, given_up: &AtomicBool) -> io::Result<Option<ProbeLock>> {
        let path = self.folder.join(&self.tag);
        let root = self.folder.ancestors().nth(2).expect("looks lie two folders below the runtime folder");
        while !given_up.load(Ordering::Relaxed) && stop::asked().is_none() {
            match private::make_folders(root, &self.folder) {
                // It was there when it was to be made, and went with somebody's last look before anybody could see what it is.
                Err(why) if why.kind() == io::ErrorKind::NotFound && root.is_dir() => continue,
                other => other?,
            }
            let opened = match open(&path, MissingLock::Make) {
                // The folder goes with the last look in it.
                Err(why) if why.kind() == io::ErrorKind::NotFound => continue,
                other => other?,
            };
            if try_lock(&opened, Hold::Alone)?
                && is_still_there(&opened, &path)
                && end_what_is_left(&opened, &self.tag)?
            {
                let mut turn = ProbeLock { file: opened, path };
                turn.file.write_all(b"looking\n")?;
                return Ok(Some(turn));
            }
            drop(opened);
            std::thread::sleep(LOCK_LOOK_EVERY);
        }
        Ok(None)
    }
}

/// The right to look, until it is dropped.
pub(crate) struct ProbeLock {
    file: File,
    path: PathBuf,
}

impl Drop for ProbeLock {
    /// Removed while it is still locked: who opened it before finds that it is not there any more, and makes another.
    fn drop(&mut self) {
        let _ = self.file.set_len(0);
        let _ = fs::remove_file(&self.path);
        if let Some(folder) = self.path.parent() {
            let _ = fs::remove_dir(folder);
        }
    }
}

/// Ends what looks at phases of this run have left behind, wherever nobody is there any more who wants to know.
pub(crate) fn end_what_was_left(project: &Project, run: &RunId) {
    let folder = folder(project, run);
    for entry in listing::readable(&folder) {
        let (path, name) = (entry.path(), entry.file_name());
        let (Ok(file), Some(tag)) = (open(&path, MissingLock::Fails), name.to_str()) else { continue };
        let alone = try_lock(&file, Hold::Alone).unwrap_or(false) && is_still_there(&file, &path);
        if alone && end_what_is_left(&file, tag).unwrap_or(false) {
            drop(ProbeLock { file, path });
        }
    }
}

fn folder(project: &Project, run: &RunId) -> PathBuf {
    project.runtime().join("looks").join(run.as_str())
}

/// Whether nothing is left of the one who wrote into this file; a file without a word is one whose look came to its end.
fn end_what_is_left(file: &File, tag: &str) -> io::Result<bool> {
    Ok(file.metadata()?.len() == 0 || process::kill_tree(None, tag)?.is_empty())
}

#[derive(Clone, Copy)]
enum MissingLock {
    Make,
    Fails,
}

fn open(path: &Path, missing: MissingLock) -> io::Result<File> {
    match missing {
        MissingLock::Make => private::open_or_create(path),
        MissingLock::Fails => private::open_to_write(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parts of one run come to their ends at the same time, again and again, and each is looked at. The folder comes and goes
    /// with the looks, and no look fails for it.
    #[test]
    fn looks_that_begin_while_others_end() {
        let top = tempfile::tempdir().expect("a folder");
        let folder = top.path().join("looks/run");
        std::thread::scope(|scope| {
            for tag in ["a", "b", "c"] {
                let place = ProbePlace { folder: folder.clone(), tag: tag.to_owned() };
                scope.spawn(move || {
                    for _ in 0..3000 {
                        let turn = place.take(&AtomicBool::new(false)).expect("the folder can be made");
                        assert!(turn.is_some(), "nobody gave up");
                    }
                });
            }
        });
        fs::create_dir_all(folder.parent().expect("a folder above")).expect("it can be made");
        fs::write(&folder, "").expect("a file");
        let place = ProbePlace { folder, tag: "a".to_owned() };
        assert!(place.take(&AtomicBool::new(false)).is_err(), "a file in the way is said");
    }

    /// Somebody looks, and somebody else wants to. The second waits as long as the first is there and not given up itself, and
    /// has its turn afterwards.
    #[test]
    fn one_look_at_a_time() {
        let top = tempfile::tempdir().expect("a folder");
        let place = ProbePlace { folder: top.path().join("looks/run"), tag: "a".to_owned() };
        let first = place.take(&AtomicBool::new(false)).expect("the folder can be made");
        let (given_up, asked) = (AtomicBool::new(false), std::time::Instant::now());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while asked.elapsed() < LOCK_LOOK_EVERY * 5 {
                    std::thread::yield_now();
                }
                given_up.store(true, Ordering::Relaxed);
            });
            assert!(place.take(&given_up).expect("it can be asked").is_none(), "two look at once");
        });
        drop(first);
        assert!(place.take(&AtomicBool::new(false)).expect("it can be asked").is_some());
    }
}
