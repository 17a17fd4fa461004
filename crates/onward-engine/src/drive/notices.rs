//! Notices to people are sent beside the run: one at a time, each by a program of its own with a time limit, so that nothing waits
//! for whoever is told. Such a program does not outlive the command that started it, unless that is killed.

use std::ffi::OsString;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use onward_core::input::Input;
use onward_core::plan::NoticeWay;
use onward_core::run::Run;
use onward_core::run::notices::DueNotice;
use serde_json::json;

use crate::executor::shell;
use crate::project::Project;
use crate::redact;
use crate::sys::threads;

/// A notice that takes longer has not been sent.
const NOTICE_TIME_MAX: Duration = Duration::from_secs(20);
/// Of what the program said about its failure.
const SAID_BYTES_MAX: u64 = 500;
/// A background child may hold the pipe.
const PIPE_TIME_MAX: Duration = Duration::from_millis(300);
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// How long the end of a program that was killed is waited for.
const END_TIME_MAX: Duration = Duration::from_millis(500);

/// The sender of notices.
#[derive(Default)]
pub(crate) struct NoticeSender {
    under_way: Option<NoticeUnderWay>,
}

/// A notice that is being sent.
struct NoticeUnderWay {
    number: u32,
    answer: Receiver<Result<(), String>>,
    program: Arc<Mutex<ProgramState>>,
}

/// A program that tells people, from its start to its end. Whoever ends it or sees it end has this locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProgramState {
    NotStarted,
    /// It leads this group of processes, whose number nobody else has until its end was seen.
    Started(Pid),
    Over,
    /// It is not to be started, or was killed.
    GivenUp,
}

fn locked(program: &Mutex<ProgramState>) -> std::sync::MutexGuard<'_, ProgramState> {
    program.lock().unwrap_or_else(PoisonError::into_inner)
}

impl NoticeUnderWay {
    fn end(&self) {
        let mut state = locked(&self.program);
        match *state {
            ProgramState::Started(group) => {
                let _ = killpg(group, Signal::SIGKILL);
                *state = ProgramState::GivenUp;
            }
            ProgramState::NotStarted => *state = ProgramState::GivenUp,
            ProgramState::Over | ProgramState::GivenUp => {}
        }
    }
}

impl Drop for NoticeUnderWay {
    fn drop(&mut self) {
        self.end();
    }
}

impl NoticeSender {
    /// Ends what is under way, since nobody waits for it any longer; says how that ended.
    pub(crate) fn give_up(&mut self) -> Option<Input> {
        let under_way = self.under_way.take()?;
        under_way.end();
        let sent = match under_way.answer.recv_timeout(END_TIME_MAX) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err("it had not ended when the command did, and was ended".to_owned()),
        };
        Some(Input::Notified { notice: under_way.number, sent })
    }

    /// Sees to it that a notice is sent; says how that ended as soon as it is known.
    pub(crate) fn send(&mut self, project: &Project, run: &Run, notice: &DueNotice) -> Option<Input> {
        let number = notice.number;
        let sent = match &self.under_way {
            Some(under_way) if under_way.number == number => match under_way.answer.try_recv() {
                Ok(sent) => sent,
                Err(TryRecvError::Empty) => return None,
                Err(TryRecvError::Disconnected) => Err("it was given up".to_owned()),
            },
            Some(_) | None => match prepared(project, run, notice) {
                Ok(prepared) => {
                    let (sender, answer) = mpsc::channel();
                    let program = Arc::new(Mutex::new(ProgramState::NotStarted));
                    let shared = program.clone();
                    threads::spawn(move || drop(sender.send(prepared.perform(&shared))));
                    self.under_way = Some(NoticeUnderWay { number, answer, program });
                    return None;
                }
                Err(why) => Err(why),
            },
        };
        self.under_way = None;
        Some(Input::Notified { notice: number, sent })
    }
}

/// A program and what it reads.
struct PreparedNotice {
    command: Command,
    stdin: String,
    /// For the case that it is not there.
    program: String,
}

fn prepared(project: &Project, run: &Run, notice: &DueNotice) -> Result<PreparedNotice, String> {
    let id = format!("{}-{}", run.id, notice.number);
    let (program, words, stdin) = match &notice.way {
        NoticeWay::Command(script) => {
            let script = redact::whole_text(script)?;
            ("sh".to_owned(), vec!["-e".to_owned(), "-c".to_owned(), script], String::new())
        }
        NoticeWay::Desktop => {
            let words = ["--app-name=onward", "--", "onward", &notice.text];
            ("notify-send".to_owned(), words.map(str::to_owned).to_vec(), String::new())
        }
        NoticeWay::Webhook(address) => {
            let address = shell::fill(run, address).filter(|address| !address.is_empty());
            let address = address.ok_or("a variable that its address names is not set")?;
            let address = redact::whole_text(&address)?;
            if address.chars().any(|character| character.is_control() || character == '"' || character == '\\') {
                return Err("its address is none".to_owned());
            }
            let words = ["--config", "-"];
            ("curl".to_owned(), words.map(str::to_owned).to_vec(), curl_config(&address, &id, run, notice))
        }
    };
    let mut command = Command::new(&program);
    command.args(words).current_dir(shell::top(project, run)).env_clear().envs(environment(run, notice, &id));
    Ok(PreparedNotice { command, stdin, program })
}

/// The address and the document go through stdin: the list of processes shows neither.
fn curl_config(address: &str, id: &str, run: &Run, notice: &DueNotice) -> String {
    let document = json!({
        "id": id, "event": notice.occasion.as_str(), "run": run.id, "plan": run.started.plan_path,
        "phase": notice.phase, "text": notice.text, "at": notice.at,
    });
    let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
    format!(
        "url = \"{address}\"\nproto = \"=http,https\"\nfail\nsilent\nshow-error\ngloboff\nmax-time = {}\n\
         header = \"Content-Type: application/json\"\nheader = \"Idempotency-Key: {}\"\ndata-binary = \"{}\"\noutput = \"/dev/null\"\n",
        NOTICE_TIME_MAX.as_secs() - 2,
        quoted(id),
        quoted(&document.to_string()),
    )
}

fn environment(run: &Run, notice: &DueNotice, id: &str) -> Vec<(OsString, OsString)> {
    let ours = |name: &OsString| name.to_string_lossy().starts_with("ONWARD_");
    let inherited = std::env::vars_os().filter(|(name, _)| !ours(name));
    let phase = notice.phase.as_ref().map_or("", |phase| phase.as_str());
    let own = [
        ("ONWARD_RUN", run.id.as_str()),
        ("ONWARD_PHASE", phase),
        ("ONWARD_EVENT", notice.occasion.as_str()),
        ("ONWARD_TEXT", notice.text.as_str()),
        ("ONWARD_KEY", id),
    ];
    inherited.chain(own.map(|(name, value)| (name.into(), value.into()))).collect()
}

impl PreparedNotice {
    fn perform(mut self, state: &Mutex<ProgramState>) -> Result<(), String> {
        self.command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).process_group(0);
        let program = &self.program;
        let mut child =
            start(&mut self.command, state).map_err(|why| format!("the program {program} cannot be started: {why}"))?;
        if let Some(mut stdin) = child.stdin.take() {
            // A program that does not read says by its code whether that was a mistake.
            let _ = stdin.write_all(self.stdin.as_bytes());
        }
        let heard = child.stderr.take().map(|mut pipe| {
            let (sender, receiver) = mpsc::channel();
            threads::spawn(move || {
                let mut said = Vec::new();
                let _ = pipe.by_ref().take(SAID_BYTES_MAX).read_to_end(&mut said);
                drop(sender.send(String::from_utf8_lossy(&said).trim().to_owned()));
                // Read to its end: who says more is not to be killed by that, and told again.
                let _ = std::io::copy(&mut pipe, &mut std::io::sink());
            });
            receiver
        });
        let code = wait(&mut child, state)?;
        if code == Some(0) {
            return Ok(());
        }
        let said = heard.and_then(|said| said.recv_timeout(PIPE_TIME_MAX).ok());
        let said = said.filter(|said| !said.is_empty()).map(|said| format!(": {said}")).unwrap_or_default();
        Err(match code {
            Some(code) => format!("{program} exited with code {code}{said}"),
            None => format!("{program} was ended by a signal{said}"),
        })
    }
}

/// Starts it, unless it was given up before.
fn start(command: &mut Command, state: &Mutex<ProgramState>) -> std::io::Result<Child> {
    let mut state = locked(state);
    if *state == ProgramState::GivenUp {
        return Err(std::io::Error::other("it was given up"));
    }
    let child = command.spawn()?;
    if let Ok(group) = i32::try_from(child.id()) {
        *state = ProgramState::Started(Pid::from_raw(group));
    }
    Ok(child)
}

fn wait(child: &mut Child, state: &Mutex<ProgramState>) -> Result<Option<i32>, String> {
    let until = Instant::now() + NOTICE_TIME_MAX;
    loop {
        let mut now = locked(state);
        match child.try_wait() {
            Ok(Some(status)) => {
                *now = ProgramState::Over;
                return Ok(status.code());
            }
            Ok(None) if Instant::now() < until => {}
            Ok(None) => {
                if let ProgramState::Started(group) = *now {
                    let _ = killpg(group, Signal::SIGKILL);
                }
                *now = ProgramState::Over;
                let _ = child.wait();
                return Err(format!("it took longer than {} s", NOTICE_TIME_MAX.as_secs()));
            }
            // It says nothing about the program, which goes on.
            Err(why) if why.kind() == ErrorKind::Interrupted => {}
            Err(why) => return Err(why.to_string()),
        }
        drop(now);
        std::thread::sleep(LOOK_EVERY);
    }
}
