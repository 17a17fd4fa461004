//! A machine that must not go to sleep while a run is at work.
//!
//! The programs that can do it run another one and hold the machine awake as long as that lives. It is a `cat` that reads from a
//! pipe of ours: when this process ends, in whatever way, the pipe is closed and the machine may sleep again.

use std::io::{BufRead, BufReader, Read};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use crate::sys::patient_io::Patient;

/// The programs that can, and what they are told, in the order in which they are tried.
const HOLDERS: [(&str, &[&str]); 3] = [
    ("systemd-inhibit", &["--what=sleep:idle", "--who=onward", "--mode=block", "--why"]),
    ("gnome-session-inhibit", &["--inhibit", "suspend:idle", "--reason"]),
    ("caffeinate", &["-i"]),
];
/// Takes a reason as its last word.
const WITHOUT_A_REASON: &str = "caffeinate";
const HELD: &str = "held";
const WATCHED: [&str; 3] = ["sh", "-c", "echo held; exec cat"];
/// How long one of them is waited for.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(2);
const WHY_BYTES_MAX: u64 = 1024;

/// Holds the machine awake until it is dropped or this process ends.
#[derive(Debug)]
pub struct Awake {
    child: Child,
    pipe: Option<ChildStdin>,
}

impl Awake {
    /// An error says why the machine may go to sleep all the same.
    pub fn keep(reason: &str) -> Result<Self, String> {
        let mut whys = Vec::new();
        for (program, words) in HOLDERS {
            match Self::by(program, words, reason) {
                Ok(awake) => return Ok(awake),
                Err(None) => {}
                Err(Some(why)) => whys.push(format!("{program}: {why}")),
            }
        }
        let names = HOLDERS.map(|(program, _)| program).join(", ");
        Err(if whys.is_empty() { format!("none of {names} is there") } else { whys.join("; ") })
    }

    /// None where there is no such program.
    fn by(program: &str, words: &[&str], reason: &str) -> Result<Self, Option<String>> {
        let mut command = Command::new(program);
        command.args(words).args((program != WITHOUT_A_REASON).then_some(reason)).args(WATCHED);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(why) if why.kind() == std::io::ErrorKind::NotFound => return Err(None),
            Err(why) => return Err(Some(why.to_string())),
        };
        let answer = child.stdout.take().is_some_and(|out| answers(&out));
        let pipe = child.stdin.take();
        if answer {
            return Ok(Self { child, pipe });
        }
        drop(pipe);
        let _ = child.kill();
        let _ = child.wait();
        Err(Some(said(&mut child)))
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        drop(self.pipe.take());
        // It ends by itself with the pipe; a program that does not is made to.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn answers(out: &impl AsFd) -> bool {
    let Ok(out) = out.as_fd().try_clone_to_owned() else { return false };
    let until = Some(Instant::now() + ANSWER_TIME_MAX);
    let mut line = String::new();
    let out = Patient::new(std::fs::File::from(out), until);
    BufReader::new(out.take(WHY_BYTES_MAX)).read_line(&mut line).is_ok() && line.trim() == HELD
}

/// The first line of its complaint.
fn said(child: &mut Child) -> String {
    let mut text = Vec::new();
    if let Some(err) = child.stderr.take() {
        let until = Some(Instant::now() + Duration::from_millis(100));
        let _ = Patient::new(err, until).take(WHY_BYTES_MAX).read_to_end(&mut text);
    }
    let text = String::from_utf8_lossy(&text);
    let first = text.lines().map(str::trim).find(|line| !line.is_empty());
    first.map_or_else(|| "it does not answer".to_owned(), str::to_owned)
}
