//! Tool calls that a person approves one by one. The client's hook asks before each of them. What it is told is what is on record:
//! the agent can write into the folder of its attempt, where only what the hook leaves for the driver lies.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use onward_core::agent::{
    AgentWork, CallHook, CallOrders, CallPlace, CallVerdict, ProposedCall, argument_against_asking, call_digest, judge,
};
use onward_core::id::{Attempt, PhaseId, RunId};
use onward_core::input::Posted;
use onward_core::run::agent_calls::AgentCalls;
use onward_core::run::agents;
use onward_store::kill_point::reached;
use onward_store::{listing, private};
use serde_json::{Value, json};

use crate::Onward;
use crate::attendant::{AttemptFolder, open_plain};
use crate::error::Error;

/// The event of the client at which the hook is called.
pub const CALL_EVENT: &str = "PreToolUse";
/// The flag before the folder of the attempt on the hook's command line.
pub const CALLS_FLAG: &str = "--calls";

/// By which versions before the journal had it marked that the client was given the answer.
const GIVEN: &str = "calls.given";
/// Names of calls that the hook refused, a line each: that they were refused is no failure of the agent.
const REFUSED: &str = "calls.refused";
/// `attempts`, the run, the phase and the number of the attempt.
const LEVELS: usize = 4;
/// A call that waits; one for each answer of the model.
const ASKED: &str = "calls.asked.";

const LEFT_BYTES_MAX: u64 = 64 << 10;
const ASKED_MAX: usize = 1_000;

/// The reply to a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallReply {
    /// It may be made.
    Allow,
    /// The client ends, and the call waits.
    Defer,
    /// It is not made, and the agent reads why.
    Deny(String),
}

impl CallReply {
    /// In the client's format.
    pub fn json(&self) -> String {
        let (decision, reason) = match self {
            Self::Allow => ("allow", "a person has approved it"),
            Self::Defer => ("defer", "a person is asked about it"),
            Self::Deny(reason) => ("deny", reason.as_str()),
        };
        json!({ "hookSpecificOutput": {
            "hookEventName": CALL_EVENT,
            "permissionDecision": decision,
            "permissionDecisionReason": reason,
        }})
        .to_string()
    }
}

/// The hook that is asked about the calls of an attempt; none where nothing is asked about.
pub(super) fn prepare(
    folder: &AttemptFolder,
    work: &AgentWork,
    calls: &AgentCalls,
) -> Result<Option<CallHook>, String> {
    let answered = calls.open.as_ref().filter(|call| call.answer.is_some());
    if work.ask.is_empty() && answered.is_none() && calls.rejected.is_empty() {
        return Ok(None);
    }
    if let Some(word) = argument_against_asking(&work.args) {
        return Err(format!("its argument {word} takes away the hook by which `ask` asks: leave out one of the two"));
    }
    let command = format!(
        "{} hook {CALL_EVENT} {CALLS_FLAG} {} || {{ echo 'onward cannot tell whether a person has to approve this call' >&2; exit 2; }}",
        quoted(&this_program()?),
        quoted(&text_of(folder.path())?),
    );
    let answered = answered.map(|call| call.tool.clone());
    Ok(Some(CallHook { command, ask: work.ask.clone(), answered }))
}

/// Where this program lies now. One that was replaced while it runs has a successor in its place.
fn this_program() -> Result<String, String> {
    let program = std::env::current_exe().map_err(|why| format!("this program cannot find itself: {why}"))?;
    let program = text_of(&program)?;
    let program = program.strip_suffix(" (deleted)").unwrap_or(&program).to_owned();
    if Path::new(&program).is_file() { Ok(program) } else { Err(format!("{program} is gone, and cannot be asked")) }
}

fn text_of(path: &Path) -> Result<String, String> {
    path.to_str().map(str::to_owned).ok_or_else(|| format!("{} is no text", path.display()))
}

/// For a shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// The attempt that asks, as its environment names it. Its folder stands on the command line of the hook, which an agent does not
/// write, and says whether that is true.
#[derive(Clone, Debug)]
pub struct AskingAttempt {
    pub run: String,
    pub phase: String,
    pub attempt: u32,
}

/// Answers the client about one call; none: nobody wants to be asked. An error is for whoever must not let the call pass.
pub fn heed(folder: &Path, asking: &AskingAttempt, message: &Value) -> Result<Option<CallReply>, String> {
    let on_record = orders_on_record(folder, asking)?;
    heed_by(&on_record.orders, folder, message, &mut || {
        // By an attempt that an earlier version began the answer may have been given without a word in the journal.
        let marked = || fs::symlink_metadata(folder.join(GIVEN)).is_ok();
        if on_record.is_to_be_given && !marked() { give(folder, asking) } else { Ok(Gave::Before) }
    })
}

struct OnRecord {
    orders: CallOrders,
    /// A person's answer that the client was not given yet.
    is_to_be_given: bool,
}

/// The entries of `ask` in the plan of the run, and a person's answers.
fn orders_on_record(folder: &Path, asking: &AskingAttempt) -> Result<OnRecord, String> {
    let store = folder.ancestors().nth(LEVELS).ok_or("the folder of its attempt is none")?;
    let (run, phase) = (RunId::new(&asking.run), PhaseId::new(&asking.phase));
    if AttemptFolder::new(store, &run, &phase, Attempt(asking.attempt)).path() != folder {
        return Err("the attempt that asks is not the one whose folder this is".to_owned());
    }
    let top = store.parent().ok_or("the folder of its attempt lies in no project")?;
    let on_record = Onward::look_at(top).and_then(|mut onward| onward.load(&run));
    let run = on_record.map_err(|why| format!("what is to be asked about cannot be read: {why}"))?;
    let (_, state) = run.phases().find(|(one, _)| one.id == phase).ok_or("the run has no such phase")?;
    let planned = run.plan().phases.iter().find(|one| one.id == phase).and_then(agents::work);
    let work = planned.ok_or("the phase is not an agent's")?;
    if state.attempt.is_none() {
        return Err("no attempt of this phase is under way".to_owned());
    }
    let calls = state.agent.as_deref().map(|agent| agent.calls.clone()).unwrap_or_default();
    let approved = calls.approved().map(str::to_owned);
    let is_to_be_given = calls.open.as_ref().is_some_and(|call| call.answer.is_some() && !call.given);
    Ok(OnRecord { orders: CallOrders { ask: work.ask.clone(), approved, rejected: calls.rejected }, is_to_be_given })
}

/// Uses up an answer.
type Give<'a> = &'a mut dyn FnMut() -> Result<Gave, String>;

fn heed_by(orders: &CallOrders, folder: &Path, message: &Value, give: Give<'_>) -> Result<Option<CallReply>, String> {
    let text = |key: &str| message[key].as_str();
    let tool = text("tool_name").ok_or("the client does not say which tool it is")?;
    let input = &message["tool_input"];
    let place = place(input, text("cwd").unwrap_or("/"));
    let id = text("tool_use_id").unwrap_or_default();
    let cannot = |why: io::Error| format!("the answer cannot be written: {why}");
    let refused = |reason: String| {
        note_refused(folder, id).map_err(cannot)?;
        Ok(Some(CallReply::Deny(reason)))
    };
    let of_another = message["agent_id"].is_string();
    match judge(orders, &ProposedCall { tool, input, place }) {
        CallVerdict::NotAsked => Ok(None),
        CallVerdict::Rejected { why } => {
            // Where an approved call is to be handed over as well, this is an older one.
            if orders.approved.is_none() {
                give()?;
            }
            refused(why)
        }
        // The client cannot wait in there.
        CallVerdict::Approved | CallVerdict::Ask if of_another => refused(
            "A person has to approve this call, and can be asked by the main agent alone. Leave it out, and say in your answer \
             that the main agent is to make it itself."
                .to_owned(),
        ),
        CallVerdict::Approved if give()? == Gave::Now => Ok(Some(CallReply::Allow)),
        CallVerdict::Approved | CallVerdict::Ask => {
            let asked = AskedCall { id, digest: &call_digest(tool, input), turn: text("prompt_id").unwrap_or_default() };
            match ask(folder, &asked).map_err(cannot)? {
                CallTurn::ThisOne => Ok(Some(CallReply::Defer)),
                CallTurn::Another => refused(
                    "A person has to approve this call, and is asked about another one of yours first: one at a time. Make it \
                     again once that one is answered."
                        .to_owned(),
                ),
            }
        }
    }
}

/// Where the client works, and which file it really means.
fn place(input: &Value, folder: &str) -> CallPlace {
    let given = ["file_path", "notebook_path", "path"].iter().find_map(|key| input[*key].as_str());
    let whole = given.map(|path| Path::new(folder).join(path));
    // One that is to be made is where its folder is.
    let real = whole.and_then(|path| {
        let below = || Some(fs::canonicalize(path.parent()?).ok()?.join(path.file_name()?));
        fs::canonicalize(&path).ok().or_else(below)
    });
    CallPlace { folder: folder.to_owned(), real_path: real.and_then(|path| path.to_str().map(str::to_owned)) }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Gave {
    Now,
    Before,
}

/// Uses up the answer, on record before anybody hears of it. The agent can write into the folder of its attempt, so no mark there says
/// whether it was given.
fn give(folder: &Path, asking: &AskingAttempt) -> Result<Gave, String> {
    let top = folder.ancestors().nth(LEVELS + 1).ok_or("the folder of its attempt lies in no project")?;
    let posted = Posted::GiveCallAnswer { phase: PhaseId::new(&asking.phase), attempt: Attempt(asking.attempt) };
    let answered = Onward::work_at(top).and_then(|mut onward| onward.post(&RunId::new(&asking.run), posted));
    match answered {
        Ok(_) => {
            reached("call.after-given");
            Ok(Gave::Now)
        }
        // Another call of the same answer was first.
        Err(Error::RequestRefused { .. }) => Ok(Gave::Before),
        Err(why) => Err(format!("that the answer is given cannot be put on record: {why}")),
    }
}

struct AskedCall<'a> {
    id: &'a str,
    digest: &'a str,
    turn: &'a str,
}

enum CallTurn {
    ThisOne,
    Another,
}

/// One call of an answer waits: the client can go on with one alone.
fn ask(folder: &Path, asked: &AskedCall<'_>) -> io::Result<CallTurn> {
    let path = folder.join(format!("{ASKED}{}", &blake3::hash(asked.turn.as_bytes()).to_hex()[..16]));
    match private::create(&path) {
        Ok(mut file) => {
            file.write_all(json!({ "id": asked.id, "digest": asked.digest }).to_string().as_bytes())?;
            Ok(CallTurn::ThisOne)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let waits = read_left(&path).ok().and_then(|text| serde_json::from_str::<Value>(&text).ok());
            let same = waits.is_some_and(|known| known["id"] == asked.id && known["digest"] == asked.digest);
            Ok(if same { CallTurn::ThisOne } else { CallTurn::Another })
        }
        Err(error) => Err(error),
    }
}

fn note_refused(folder: &Path, id: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    // Several hooks may write at once.
    options.append(true).create(true).mode(0o600).custom_flags(libc::O_NOFOLLOW);
    options.open(folder.join(REFUSED))?.write_all(format!("{id}\n").as_bytes())
}

fn read_left(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    open_plain(path)?.take(LEFT_BYTES_MAX).read_to_string(&mut text)?;
    Ok(text)
}

/// All that the hook has left of an attempt.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallsLeft {
    /// Digests of the calls that wait, by the client's names for them.
    pub(crate) asked: BTreeMap<String, String>,
    pub(crate) refused: BTreeSet<String>,
}

pub(crate) fn left(folder: &AttemptFolder) -> CallsLeft {
    let names = listing::readable(folder.path()).into_iter().filter_map(|entry| entry.file_name().into_string().ok());
    let asked = names.filter(|name| name.starts_with(ASKED)).take(ASKED_MAX).filter_map(|name| {
        let known: Value = serde_json::from_str(&read_left(&folder.path().join(name)).ok()?).ok()?;
        Some((known["id"].as_str()?.to_owned(), known["digest"].as_str()?.to_owned()))
    });
    let refused = read_left(&folder.path().join(REFUSED)).unwrap_or_default();
    CallsLeft { asked: asked.collect(), refused: refused.lines().map(str::to_owned).collect() }
}

/// Whether an earlier version left a mark that it gave the client the answer; now the journal says so.
pub(crate) fn answer_was_given(folder: &AttemptFolder) -> bool {
    fs::symlink_metadata(folder.path().join(GIVEN)).is_ok()
}

#[cfg(test)]
mod tests {
    use onward_core::agent::RejectedCall;

    use super::*;

    fn message(id: &str, command: &str) -> Value {
        json!({
            "tool_name": "Bash", "tool_input": { "command": command }, "tool_use_id": id, "prompt_id": "p", "cwd": "/",
        })
    }

    fn orders() -> CallOrders {
        let digest = |command: &str| call_digest("Bash", &json!({ "command": command }));
        CallOrders {
            ask: vec!["Bash(git push:*)".to_owned()],
            approved: Some(digest("git push origin")),
            rejected: vec![RejectedCall { digest: digest("git push --force"), why: "never".to_owned() }],
        }
    }

    /// An approval is good for one call, a rejected one is refused each time, and of two that are to wait the second is put off.
    #[test]
    fn an_approval_is_good_for_one_call() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut given = 0;
        let mut give = || {
            given += 1;
            Ok(if given == 1 { Gave::Now } else { Gave::Before })
        };
        let mut heed = |id: &str, command: &str| {
            heed_by(&orders(), folder.path(), &message(id, command), &mut give).expect("an answer")
        };
        assert_eq!(heed("1", "make"), None);
        assert_eq!(heed("2", "git push origin"), Some(CallReply::Allow));
        assert_eq!(heed("3", "git push --force"), Some(CallReply::Deny("never".to_owned())));
        assert_eq!(heed("4", "git push origin"), Some(CallReply::Defer));
        assert!(matches!(heed("5", "git push other"), Some(CallReply::Deny(why)) if why.contains("one at a time")));
        let mut of_another = message("6", "git push other");
        of_another["agent_id"] = json!("sub");
        assert!(matches!(heed_by(&orders(), folder.path(), &of_another, &mut give), Ok(Some(CallReply::Deny(_)))));
        let attempt = AttemptFolder::at(folder.path().to_owned());
        assert_eq!(given, 2, "once for each time that the approved call is to be made");
        let left = left(&attempt);
        assert_eq!(left.asked["4"], orders().approved.expect("a digest"));
        assert_eq!(left.refused.iter().collect::<Vec<_>>(), ["3", "5", "6"]);
    }

    /// Nothing passes that cannot be read.
    #[test]
    fn what_cannot_be_read_lets_nothing_pass() {
        let folder = tempfile::tempdir().expect("a folder");
        let asking = AskingAttempt { run: "r".to_owned(), phase: "p".to_owned(), attempt: 1 };
        assert!(heed(folder.path(), &asking, &message("1", "make")).is_err(), "another attempt's folder");
        let attempt = AttemptFolder::new(folder.path(), &RunId::new("r"), &PhaseId::new("p"), Attempt(1));
        assert!(heed(attempt.path(), &asking, &message("1", "make")).is_err(), "no store");
        assert!(heed_by(&orders(), folder.path(), &Value::Null, &mut || Ok(Gave::Now)).is_err(), "no message");
    }
}
