//! `onward hook EVENT`: what an agent's client calls at the turns of its session. Never an error, never a long wait, and a word
//! only where the agent is to read it: what `PreCompact` prints would become instructions to whoever sums up.

use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use onward_core::exit;
use onward_engine::{AskingAttempt, CALL_EVENT, CALLS_FLAG, Onward, Project, heed_call};
use serde_json::Value;

use super::here;
use super::state::own_run;
use crate::args::HookArgs;
use crate::failure::Failure;
use crate::render;

/// The word on the command line.
pub(crate) const VERB: &str = "hook";

/// However long something hangs, the agent goes on after this time. A save that is cut off is taken up by whoever comes next.
const TIME_MAX: Duration = Duration::from_secs(1);
/// How long the client's message is waited for.
const INPUT_TIME_MAX: Duration = Duration::from_millis(500);
/// Bytes of it that are read; what is behind them is of no use here.
const INPUT_BYTES_MAX: u64 = 1 << 20;
/// The same of a call, whose input may be a whole file.
const CALL_BYTES_MAX: u64 = 64 << 20;
/// After this time a call is refused.
const CALL_TIME_MAX: Duration = Duration::from_secs(20);
/// With this code the client does not make the call, and its agent reads standard error.
const REFUSED: u8 = 2;
/// Documents may be nested, and the stack that the shell allows may be small.
const STACK_BYTES: usize = 16 << 20;

/// A command line that a client calls.
pub(crate) enum HookCall {
    Event(String),
    /// Whether a tool may be called, by what lies in this folder.
    ToolCall(PathBuf),
}

impl HookCall {
    /// The same, where the command line was read in full.
    pub(crate) fn from_args(args: &HookArgs) -> Self {
        match &args.calls {
            Some(folder) => Self::ToolCall(folder.clone()),
            None => Self::Event(args.event.clone()),
        }
    }
}

/// The event, where the command line is one of a hook: it is known before anything is set up.
pub(crate) fn call() -> Option<HookCall> {
    let mut words = std::env::args_os().skip(1);
    let event = words.next().filter(|word| word == VERB).and_then(|_| words.next())?;
    if event == CALL_EVENT && words.next().is_some_and(|word| word == CALLS_FLAG) {
        // Without a folder nothing can be read, and no call passes.
        return Some(HookCall::ToolCall(words.next().unwrap_or_default().into()));
    }
    let event = event.to_string_lossy().into_owned();
    (!event.starts_with('-')).then_some(HookCall::Event(event))
}

/// Does it, whatever comes.
pub(crate) fn heed(call: HookCall) -> u8 {
    std::panic::set_hook(Box::new(|_| {}));
    match call {
        HookCall::Event(event) => heed_event(event),
        HookCall::ToolCall(folder) => heed_tool_call(folder),
    }
}

/// Answers whether a tool may be called. Where that cannot be told it may not: the client takes the code for a no, and everything
/// else that goes wrong for a yes.
fn heed_tool_call(folder: PathBuf) -> u8 {
    let (done, is_done) = mpsc::channel();
    let started = thread::Builder::new().name(VERB.to_owned()).stack_size(STACK_BYTES).spawn(move || {
        let answer = asking().and_then(|asking| heed_call(&folder, &asking, &message(CALL_BYTES_MAX)));
        let _ = done.send(answer);
    });
    let answer = started.ok().and_then(|_| is_done.recv_timeout(CALL_TIME_MAX).ok());
    match answer {
        Some(Ok(None)) => exit::DONE,
        Some(Ok(Some(reply))) => {
            render::answer_bytes(reply.json().as_bytes());
            exit::DONE
        }
        Some(Err(why)) => refused(&why),
        None => refused("it took too long to find out"),
    }
}

/// The attempt in which the client works.
fn asking() -> Result<AskingAttempt, String> {
    let named = |name: &str| std::env::var(name).map_err(|_| format!("{name} is not set"));
    let attempt = named("ONWARD_ATTEMPT")?.parse().map_err(|_| "ONWARD_ATTEMPT is no number")?;
    Ok(AskingAttempt { run: named("ONWARD_RUN")?, phase: named("ONWARD_PHASE")?, attempt })
}

fn refused(why: &str) -> u8 {
    let why = render::safe::line(why);
    render::say(&format!("this call is not made, since nobody can tell whether a person has to approve it: {why}\n"));
    REFUSED
}

/// Says that all is well, whatever came of it.
fn heed_event(event: String) -> u8 {
    let (done, is_done) = mpsc::channel();
    let started = thread::Builder::new().name(VERB.to_owned()).stack_size(STACK_BYTES).spawn(move || {
        // The agent is told nothing of a failure: what it reports itself is answered with one.
        let _ = hook(&event);
        let _ = done.send(());
    });
    if started.is_ok() {
        let _ = is_done.recv_timeout(TIME_MAX);
    }
    exit::DONE
}

fn hook(event: &str) -> Result<(), Failure> {
    let from = here()?;
    let message = message(INPUT_BYTES_MAX);
    if Project::find(&from).is_none() {
        return Ok(());
    }
    match event {
        "SessionStart" => tell(&message),
        // Inside a phase its attendant and its driver keep the record.
        "PreCompact" | "Stop" | "StopFailure" | "SessionEnd" if own_run().is_none() => {
            Onward::work(&from)?.save_for_agent().map_err(Failure::from)
        }
        _ => Ok(()),
    }
}

/// Tells a session of the unfinished run: once, and again when its context was compacted.
fn tell(message: &Value) -> Result<(), Failure> {
    let compacted = message.get("source").and_then(Value::as_str) == Some("compact");
    let session = message.get("session_id").and_then(Value::as_str);
    let mut onward = Onward::look(&here()?)?;
    // The prompt of a phase has it already.
    let known = own_run().is_some() || session.is_some_and(|session| onward.was_told(session));
    if known && !compacted {
        return Ok(());
    }
    let text = match onward.unfinished_for_agent(render::agent_session::BRIEF_TOKENS).map_err(Failure::from) {
        Ok(None) => return Ok(()),
        Ok(Some((view, brief))) => render::agent_session::told(&view, &brief),
        Err(failure) if failure.code == exit::DAMAGED => render::agent_session::DAMAGED.to_owned(),
        Err(other) => return Err(other),
    };
    render::answer_bytes(text.as_bytes());
    if let Some(session) = session {
        let _ = onward.remember_told(session);
    }
    Ok(())
}

/// The client's message; null where there is none or it cannot be understood.
fn message(bytes_max: u64) -> Value {
    let (read, is_read) = mpsc::channel();
    let started = thread::Builder::new().spawn(move || {
        let mut text = Vec::new();
        let _ = io::stdin().lock().take(bytes_max).read_to_end(&mut text);
        let _ = read.send(text);
    });
    let text = started.ok().and_then(|_| is_read.recv_timeout(INPUT_TIME_MAX).ok());
    text.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or(Value::Null)
}
