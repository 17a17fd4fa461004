//! One call of the git program: hardened, with a limit on its time, and with nothing of the caller's environment that steers git.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, killpg};
use onward_core::mutant::{self, Defect};

use super::held_up;
use super::trouble::GitTrouble;
use crate::sys::patient_io::Patient;
use crate::sys::process;
use crate::sys::stop;

/// No single git process is waited for longer.
pub(super) const GIT_TIME_MAX: Duration = Duration::from_mins(5);

/// The time that git is given to end by itself when it is given up.
const ENDING_TIME_MAX: Duration = Duration::from_millis(300);

/// So much of what git says on stderr is kept.
const SAID_BYTES_MAX: usize = 4_000;

/// The output is taken in pieces of this size.
const OUTPUT_PIECE_BYTES: usize = 64 * 1024;

/// Writes out what is made and leaves the flush to the call that follows. Git flushes several objects in the same way: all are handed
/// to the disk first, and one flush makes them last.
pub(super) const WRITTEN_OUT: [&str; 4] = ["-c", "core.fsync=committed", "-c", "core.fsyncMethod=writeout-only"];

/// Flushes every object by itself.
pub(super) const FLUSHED_EACH: [&str; 2] = ["-c", "core.fsync=committed"];

/// Flushes what is written, all at once where git can.
pub(super) const DURABLE: [&str; 4] = ["-c", "core.fsync=committed,reference", "-c", "core.fsyncMethod=batch"];

/// The git program in a folder. Hooks, the file system monitor, prompts and housekeeping are off.
pub(super) fn command(folder: &Path) -> Command {
    let mut command = command_with_hooks(folder);
    command.arg("--no-pager");
    if mutant::has(Defect::ObeyTheRepository) {
        return command;
    }
    command.args(["-c", "core.hooksPath=/dev/null"]);
    // What a repository lacks it may name a server for, and the command that calls it. Nothing is fetched here: no protocol is
    // allowed, whatever its settings say.
    command.env("GIT_NO_LAZY_FETCH", "1").env("GIT_ALLOW_PROTOCOL", "none");
    command
}

/// The same, but hooks of the repository are started where git would start them: only for a commit whose author asked for it.
pub(super) fn command_with_hooks(folder: &Path) -> Command {
    let mut command = Command::new("git");
    command.args(["-c", "core.fsmonitor=false", "-c", "gc.auto=0"]);
    command.current_dir(folder);
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("GIT_") && text != "GIT_CEILING_DIRECTORIES" {
            command.env_remove(&name);
        }
    }
    command.env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C");
    // A fetch may bring objects that take the place of others, an archive other parents. What is asked for by its hash is that
    // object and no other. A file that is there, even an empty one, would make git talk about it.
    command.env("GIT_NO_REPLACE_OBJECTS", "1").env("GIT_GRAFT_FILE", "/dev/null/none");
    command
}

/// A call that is being put together.
pub(super) struct GitCall {
    command: Command,
    what: &'static str,
    input: Option<Vec<u8>>,
    time_max: Duration,
}

/// The result of a call.
pub(super) struct GitAnswer {
    what: &'static str,
    pub(super) code: Option<i32>,
    pub(super) out: Vec<u8>,
    pub(super) said: String,
}

impl GitCall {
    /// A call of one of git's verbs. Options of git itself are in the command already.
    pub(super) fn new(mut command: Command, what: &'static str) -> Self {
        command.arg(what).stdin(Stdio::null());
        Self { command, what, input: None, time_max: GIT_TIME_MAX }
    }

    pub(super) fn args<S: AsRef<OsStr>>(mut self, words: impl IntoIterator<Item = S>) -> Self {
        self.command.args(words);
        self
    }

    pub(super) fn arg(mut self, word: impl AsRef<OsStr>) -> Self {
        self.command.arg(word);
        self
    }

    pub(super) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    pub(super) fn within(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    pub(super) fn input(mut self, bytes: Vec<u8>) -> Self {
        self.command.stdin(Stdio::piped());
        self.input = Some(bytes);
        self
    }

    /// Lets git hold our lock as well, so that one that outlives us is waited for by the next.
    pub(super) fn holding(mut self, lock: &File) -> Self {
        if let (None, Ok(copy)) = (&self.input, lock.try_clone()) {
            self.command.stdin(Stdio::from(copy));
        }
        self
    }

    /// For what nobody should have to wait for.
    pub(super) fn at_most(mut self, time: Duration) -> Self {
        self.time_max = time;
        self
    }

    /// The answer, whatever the exit code.
    pub(super) fn ask(self) -> Result<GitAnswer, GitTrouble> {
        let (answer, out) = self.run(|from| Ok(read_all(from)))?;
        Ok(GitAnswer { out, ..answer })
    }

    /// Hands over the output of a call that has to succeed while it comes, for what may be large.
    pub(super) fn stream<T>(
        self,
        read: impl FnOnce(&mut dyn BufRead) -> Result<T, GitTrouble>,
    ) -> Result<T, GitTrouble> {
        let (answer, read) = self.run(read)?;
        if answer.code == Some(0) { Ok(read) } else { Err(answer.failed()) }
    }

    /// A call whose verb is among the words of the command already.
    pub(super) fn worded(mut command: Command) -> Self {
        command.stdin(Stdio::null());
        Self { command, what: "", input: None, time_max: GIT_TIME_MAX }
    }

    fn run<T>(
        mut self,
        read: impl FnOnce(&mut dyn BufRead) -> Result<T, GitTrouble>,
    ) -> Result<(GitAnswer, T), GitTrouble> {
        self.command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        if stop::asked().is_some() {
            return Err(self.given_up());
        }
        let folder = self.command.get_current_dir().map(Path::to_owned);
        if let Some(path) = folder.as_deref().and_then(waits_for_ever).or_else(held_up::known) {
            return Err(self.held_up(&path));
        }
        tracing::debug!(verb = self.what, "calling git");
        let mut child = self.command.spawn().map_err(|why| GitTrouble::NotStarted { why })?;
        // Somebody whom git started may hold the pipes when git is gone; nothing is read or written after that time.
        let until = Some(Instant::now() + self.time_max + ENDING_TIME_MAX);
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let stdout = Patient::new(stdout.expect("it was asked for"), until);
        let input = self.input.take().unwrap_or_default();
        std::thread::scope(|scope| {
            if let Some(stdin) = stdin {
                // One that ends without reading all of it says why on stderr.
                scope.spawn(move || Patient::new(stdin, until).write_all(&input));
            }
            let said = scope.spawn(move || stderr.map(|pipe| read_all(Patient::new(pipe, until))).unwrap_or_default());
            let heeded = stop::heeded_in_this_thread();
            let code = scope.spawn(|| {
                stop::heed_in_this_thread(heeded);
                self.wait(&mut child)
            });
            let mut from = BufReader::with_capacity(OUTPUT_PIECE_BYTES, stdout);
            let read = read(&mut from);
            // Whoever stopped reading early must not leave git waiting to be read.
            drop(from);
            let code = code.join().expect("waiting does not panic");
            let said = said.join().expect("reading does not panic");
            let said = String::from_utf8_lossy(&said[..said.len().min(SAID_BYTES_MAX)]).trim_end().to_owned();
            // Half of an answer is none: what was read of it is of no use.
            let code = code?;
            if stop::asked().is_some() {
                return Err(self.given_up());
            }
            Ok((GitAnswer { what: self.what, code, out: Vec::new(), said }, read?))
        })
    }

    fn held_up(&self, path: &Path) -> GitTrouble {
        let said = format!("{} is neither a file nor a folder, and git would wait for it", path.display());
        GitTrouble::Failed { what: self.what.to_owned(), said }
    }

    /// A pipe that a git which takes long may be waiting for.
    fn pipe_in_the_way(&self) -> Option<PathBuf> {
        let folder = self.command.get_current_dir()?;
        // Where the user keeps a list of what is left out. Git says so without opening it.
        let asked = ["config", "--type=path", "--get", "core.excludesFile"];
        let listed = (self.what != "config").then(|| {
            let said = command(folder).args(asked).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
            let text = String::from_utf8(said.stdout).ok()?;
            Some(folder.join(text.trim_end())).filter(|_| !text.trim_end().is_empty())
        });
        held_up::find(folder, listed.flatten())
    }

    fn given_up(&self) -> GitTrouble {
        GitTrouble::GivenUp { what: self.what.to_owned() }
    }

    /// The output of a call that has to succeed.
    pub(super) fn output(self) -> Result<Vec<u8>, GitTrouble> {
        self.ask()?.output()
    }

    /// The one line that a call that has to succeed gives.
    pub(super) fn line(self) -> Result<String, GitTrouble> {
        let what = self.what;
        let out = self.output()?;
        match String::from_utf8(out) {
            Ok(text) if !text.trim_end().is_empty() => Ok(text.trim_end().to_owned()),
            Ok(text) => Err(GitTrouble::unclear(what, text.as_bytes())),
            Err(bytes) => Err(GitTrouble::unclear(what, bytes.as_bytes())),
        }
    }

    fn wait(&self, child: &mut Child) -> Result<Option<i32>, GitTrouble> {
        let begun = Instant::now();
        let failed = |why| GitTrouble::NotStarted { why };
        let pid = process::Pid::from_raw(i32::try_from(child.id()).expect("a pid is a small number"));
        if let Ok(pidfd) = process::pidfd_open(pid) {
            let mut looked = false;
            while !process::pidfd_ended(pidfd.as_fd()) {
                let left = self.time_max.saturating_sub(begun.elapsed());
                if !looked && begun.elapsed() >= held_up::LOOK_AFTER {
                    looked = true;
                    if let Some(path) = self.pipe_in_the_way() {
                        end(pid, pidfd.as_fd());
                        child.wait().map_err(failed)?;
                        return Err(self.held_up(&path));
                    }
                }
                let stopped = stop::asked().is_some() && !mutant::has(Defect::WaitForGit);
                if left.is_zero() || stopped {
                    end(pid, pidfd.as_fd());
                    child.wait().map_err(failed)?;
                    let (what, seconds) = (self.what.to_owned(), self.time_max.as_secs());
                    return Err(if stopped { self.given_up() } else { GitTrouble::TooSlow { what, seconds } });
                }
                let mut fds = vec![PollFd::new(pidfd.as_fd(), PollFlags::POLLIN)];
                fds.extend(stop::fd().map(|stop| PollFd::new(stop, PollFlags::POLLIN)));
                // A signal may cut the wait short; the loop looks again.
                let left = stop::look_every().map_or(left, |every| left.min(every));
                let left = if looked { left } else { left.min(held_up::LOOK_AFTER) };
                let _ = poll(&mut fds, PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX));
            }
        }
        Ok(child.wait().map_err(failed)?.code())
    }
}

/// Files that git opens whatever it is asked, or as soon as it looks at an object or a file.
const ALWAYS_OPENED: [&str; 7] =
    ["HEAD", "config", "packed-refs", "index", "shallow", "info/attributes", "objects/info/alternates"];

/// A pipe or a device that git would open in the repository around a folder, and wait for.
fn waits_for_ever(folder: &Path) -> Option<PathBuf> {
    let git = folder.ancestors().map(|folder| folder.join(".git")).find(|git| git.exists())?;
    let opened = [git.clone()].into_iter().chain(ALWAYS_OPENED.map(|name| git.join(name)));
    let is_other = |path: &PathBuf| path.metadata().is_ok_and(|about| !about.is_file() && !about.is_dir());
    opened.into_iter().find(is_other)
}

/// Ends git with all of its group. It is asked first, since it then takes its lock files with it.
fn end(group: process::Pid, pidfd: BorrowedFd<'_>) {
    let _ = killpg(group, Signal::SIGTERM);
    let mut fds = [PollFd::new(pidfd, PollFlags::POLLIN)];
    let _ = poll(&mut fds, PollTimeout::try_from(ENDING_TIME_MAX).unwrap_or(PollTimeout::MAX));
    let _ = killpg(group, Signal::SIGKILL);
}

impl GitAnswer {
    pub(super) fn output(self) -> Result<Vec<u8>, GitTrouble> {
        if self.code == Some(0) { Ok(self.out) } else { Err(self.failed()) }
    }

    pub(super) fn failed(self) -> GitTrouble {
        let said = if self.said.is_empty() { format!("exit code {:?}", self.code) } else { self.said };
        GitTrouble::Failed { what: self.what.to_owned(), said }
    }
}

fn read_all(mut from: impl Read) -> Vec<u8> {
    let mut bytes = Vec::new();
    // What was read before an error is better than nothing; the exit code tells whether it is all.
    let _ = from.read_to_end(&mut bytes);
    bytes
}

/// The parts of an answer in which everything ends with a NUL.
pub(super) fn parts(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|&byte| byte == 0).filter(|part| !part.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A repository came with other parents for one of its commits, and with an object in the place of another. Git is asked
    /// about what the hashes stand for.
    #[test]
    fn no_object_takes_the_place_of_another() {
        let folder = tempfile::tempdir().expect("a folder");
        let git = |verb| GitCall::new(command(folder.path()), verb);
        git("init").args(["-q", "-b", "main"]).output().expect("a repository");
        let tree = git("hash-object").args(["-w", "-t", "tree", "/dev/null"]).line().expect("a tree");
        let commit = |message: &str| {
            let names = ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"];
            let call = names.into_iter().fold(git("commit-tree"), |call, name| call.env(name, "ada"));
            call.args(["-m", message, &tree]).line().expect("a commit")
        };
        let (own, foreign) = (commit("own"), commit("foreign"));
        std::fs::create_dir_all(folder.path().join(".git/info")).expect("a folder");
        std::fs::write(folder.path().join(".git/info/grafts"), format!("{own} {foreign}\n")).expect("a file");
        assert_eq!(git("rev-list").arg(&own).line().expect("a list"), own, "parents");
        git("update-ref").args([&format!("refs/replace/{own}"), &foreign]).output().expect("a ref");
        let said = git("log").args(["--format=%s", &own]).ask().expect("git answers");
        assert_eq!((said.out.as_slice(), said.said.as_str()), (b"own\n".as_slice(), ""), "the commit");
    }
}
