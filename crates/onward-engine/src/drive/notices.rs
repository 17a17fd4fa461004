//! Notices to people are sent beside the run: one at a time, each by a program of its own with a time limit, so that nothing waits
//! for whoever is told.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, TryRecvError};
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
const SAID_BYTES_MAX: u64 = 2_000;
/// A background child may hold the pipe.
const PIPE_TIME_MAX: Duration = Duration::from_millis(300);
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// The sender of notices.
#[derive(Default)]
pub(crate) struct NoticeSender {
    under_way: Option<(u32, Receiver<Result<(), String>>)>,
}

impl NoticeSender {
    /// Sees to it that a notice is sent; says how that ended as soon as it is known.
    pub(crate) fn send(&mut self, project: &Project, run: &Run, notice: &DueNotice) -> Option<Input> {
        let number = notice.number;
        let sent = match &self.under_way {
            Some((other, answer)) if *other == number => match answer.try_recv() {
                Ok(sent) => sent,
                Err(TryRecvError::Empty) => return None,
                Err(TryRecvError::Disconnected) => Err("it was given up".to_owned()),
            },
            Some(_) | None => match prepared(project, run, notice) {
                Ok(prepared) => {
                    let (sender, receiver) = mpsc::channel();
                    threads::spawn(move || drop(sender.send(prepared.perform())));
                    self.under_way = Some((number, receiver));
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
    fn perform(mut self) -> Result<(), String> {
        self.command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).process_group(0);
        let program = &self.program;
        let mut child =
            self.command.spawn().map_err(|why| format!("the program {program} cannot be started: {why}"))?;
        if let Some(mut stdin) = child.stdin.take() {
            // A program that does not read says by its code whether that was a mistake.
            let _ = stdin.write_all(self.stdin.as_bytes());
        }
        let heard = child.stderr.take().map(|pipe| {
            let (sender, receiver) = mpsc::channel();
            threads::spawn(move || {
                let mut said = Vec::new();
                let _ = pipe.take(SAID_BYTES_MAX).read_to_end(&mut said);
                drop(sender.send(String::from_utf8_lossy(&said).trim().to_owned()));
            });
            receiver
        });
        let code = wait(&mut child)?;
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

fn wait(child: &mut Child) -> Result<Option<i32>, String> {
    let until = Instant::now() + NOTICE_TIME_MAX;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status.code()),
            Ok(None) if Instant::now() < until => std::thread::sleep(LOOK_EVERY),
            Ok(None) => {
                if let Ok(group) = i32::try_from(child.id()) {
                    let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
                }
                let _ = child.wait();
                return Err(format!("it took longer than {} s", NOTICE_TIME_MAX.as_secs()));
            }
            Err(why) => return Err(why.to_string()),
        }
    }
}
