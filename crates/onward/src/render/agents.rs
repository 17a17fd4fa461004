//! Coding agents: how an attempt of theirs ended, and what they have cost.

use std::fmt::Write as _;

use onward_core::event::{AgentEnded, AgentHow};
use onward_core::view::{AgentRecord, CallRecord};

use super::safe;

/// Of a call's input in a question; all of it stands in `status --json`.
const ASKED_BYTES_MAX: usize = 8_000;

/// How an agent's attempt ended, where that says more than the code of its process.
pub(super) fn end(ended: &AgentEnded) -> Option<String> {
    let text = match &ended.how {
        AgentHow::Done => {
            let remaining = ended.remaining.as_deref()?;
            format!(
                "it says it is done, but this remains: {}",
                remaining.split_whitespace().collect::<Vec<_>>().join(" ")
            )
        }
        AgentHow::Limited { said, .. } => said.clone(),
        AgentHow::Overloaded { message } | AgentHow::NotLoggedIn { message } | AgentHow::Failed { message } => {
            message.clone()
        }
        AgentHow::Exhausted => "its context is full".to_owned(),
        AgentHow::SessionUnknown => {
            "its client does not know the session any more, and a new session begins with what is on record".to_owned()
        }
        AgentHow::SessionInUse => "another process works in its session".to_owned(),
        AgentHow::Interrupted => "it was interrupted".to_owned(),
        AgentHow::MaxTurns => "it took all its turns".to_owned(),
        AgentHow::Budget => "it spent its budget".to_owned(),
        // What is asked about it follows.
        AgentHow::Deferred { .. } => return None,
        AgentHow::NoResult => "it ended without a result".to_owned(),
    };
    Some(safe::line(&text))
}

/// The question whether an agent may make a call, with all of its input and how to answer.
pub(super) fn asked(phase: &str, call: &CallRecord, how: &str) -> String {
    let shown = safe::block(&call.input);
    let cut = &shown[..shown.floor_char_boundary(ASKED_BYTES_MAX)];
    let more = match shown.len() - cut.len() {
        0 => String::new(),
        bytes => format!("\n… and {bytes} bytes more; all of it: onward status --json, under agent.call.input"),
    };
    let input = format!("{cut}{more}").replace('\n', "\n      ");
    let mut out =
        format!("{phase} waits for an approval: its agent wants to use {}\n      {input}\n", safe::line(&call.tool));
    if let Some(reason) = &call.reason {
        let reason = safe::block(reason.trim_end()).replace('\n', "\n      ");
        let _ = writeln!(out, "    it said: {reason}");
    }
    let _ = writeln!(out, "    {}", safe::line(how));
    out
}

/// `claude-code, 6 turns, $0.95`.
pub(super) fn cost(agent: &AgentRecord) -> String {
    let turns = if agent.turns == 1 { "1 turn".to_owned() } else { format!("{} turns", agent.turns) };
    let cost = match (agent.cost_usd > 0.0, agent.cost_is_part) {
        (true, true) => format!(", at least ${:.2}", agent.cost_usd),
        (true, false) => format!(", ${:.2}", agent.cost_usd),
        (false, true) => ", nobody knows all that it cost".to_owned(),
        (false, false) => String::new(),
    };
    format!("{}, {turns}{cost}", safe::line(&agent.agent))
}
